//! The code of ops: utilization of each unit of a core in the compiler's schedule.
//!
//! The TPU compiler emits bundles, which are instructions that are issued together. Its dumps count the issue slots
//! of every unit that each bundle uses. A bundle counts once, however often the loops of a kernel run it: shares
//! refer to the code, not to time, and are never drawn on the timeline. For an op whose time is nearly all in one
//! unrolled inner loop (matrix products) both shares are nearly the same.
//!
//! `VLOAD:FILL` and `VSTORE:SPILL` are those loads and stores that only restore and save registers. They are part of
//! `VLOAD` and `VSTORE`, and a smaller tile would not need them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::{Analysis, AnalysisError, Context, Percent, Table, Tabular};
use facts::sum_over::SumOver;
use math::unit::Unit;
use trace_model::{Bundles, OpId, Picos};

use crate::ops::op_stats::{OpRow, Ops};

/// The analysis `bundles`.
pub struct Code;

/// Every op whose code is known.
#[engine::reported]
pub struct CodeReport {
    /// By self time, the largest first.
    pub rows: Vec<CodeRow>,
    /// What times and amounts of all executions are sums over.
    pub sums_over: SumOver,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// One op of one program.
#[engine::row(compiler)]
pub struct CodeRow {
    /// The op.
    #[serde(skip)]
    pub op: Option<OpId>,
    /// Instruction name.
    #[column("Op", measured)]
    pub name: Arc<str>,
    /// Self time as a share of the windows of all cores.
    #[column("of window", measured)]
    pub self_of_total_percent: Option<Percent>,
    /// Number of bundles of its code.
    #[column("Bundles")]
    pub bundles: u64,
    /// The unit with the largest share of used slots.
    #[column("Busiest")]
    pub busiest: Option<String>,
    /// That share.
    #[column("its slots")]
    pub busiest_percent: Option<Percent>,
    /// Stores that save registers, if the dump counts them.
    #[column("Spills")]
    pub spills: Option<u64>,
    /// Loads that restore registers, if the dump counts them.
    #[column("Fills")]
    pub fills: Option<u64>,
    /// Used issue slots of each unit, in percent of all its slots; a unit without slots is left out.
    pub slots_percent: BTreeMap<String, f64>,
    /// Self time of all executions.
    #[column("Self time (sum)", measured)]
    pub self_time_ps: Picos,
    /// Executions.
    #[column("Runs", measured)]
    pub occurrences: u64,
    /// The op that the code was emitted for, if that is another one.
    #[column("Code of")]
    pub shares_code_of: Option<String>,
    /// Program, with its id.
    #[column("Program", measured)]
    pub program: Arc<str>,
}

/// Loads and stores caused by a lack of registers.
const FILL: &str = "VLOAD:FILL";
const SPILL: &str = "VSTORE:SPILL";

impl Analysis for Code {
    type Report = CodeReport;
    const ID: &'static str = "bundles";
    const TITLE: &'static str = "Code of ops";

    fn run(cx: &Context<'_>) -> Result<CodeReport, AnalysisError> {
        if cx.model.ops().iter().all(|op| op.bundles.is_none()) {
            let what = "no dump of the compiler's code was read: compile with LIBTPU_INIT_ARGS=\"--xla_jf_dump_to=DIR \
                        --xla_jf_dump_llo_text=true\" and name DIR with --llo, or lay it beside the HLO text";
            return Err(what.into());
        }
        let ops = cx.report::<Ops>()?;
        let described = |row: &OpRow| Some((row.op?, cx.model.op(row.op?).bundles.as_deref()?));
        let rows: Vec<CodeRow> = ops
            .rows
            .iter()
            .filter_map(|row| described(row).map(|(op, bundles)| code_row(cx, row, op, bundles)))
            .collect();
        let known = rows.iter().map(|row| row.self_time_ps).sum();
        let mut notes = vec![
            "percent of the issue slots of a unit in the code of an op; a bundle counts once, however often a loop runs \
             it: never a share of time"
                .to_owned(),
        ];
        if let Some(percent) = Percent::of(known, ops.op_time_ps) {
            notes.push(format!(
                "ops with known code take {percent:.1} of the time of all ops"
            ));
        }
        let spilling: Vec<&str> = rows
            .iter()
            .filter(|row| row.spills.max(row.fills) > Some(0))
            .map(|row| &*row.name)
            .collect();
        if !spilling.is_empty() {
            let more = if spilling.len() > SHOWN { " …" } else { "" };
            notes.push(format!(
                "{} of {} ({}{more}) run out of registers: their spills and fills are extra stores and loads",
                spilling.len(),
                engine::counted(rows.len(), "op"),
                spilling[..spilling.len().min(SHOWN)].join(", ")
            ));
        }
        Ok(CodeReport {
            rows,
            sums_over: ops.sums_over,
            notes,
        })
    }
}

/// Number of names that a note lists.
const SHOWN: usize = 5;

fn code_row(cx: &Context<'_>, row: &OpRow, op: OpId, bundles: &Bundles) -> CodeRow {
    let name = |unit: &trace_model::UnitSlots| cx.model.str(unit.unit).to_owned();
    let percents = bundles
        .units
        .iter()
        .filter_map(|unit| Some((name(unit), unit.percent(bundles.count)?)));
    let slots_percent: BTreeMap<String, f64> = percents.collect();
    // Spills and fills are part of the stores and loads.
    let whole = slots_percent
        .iter()
        .filter(|(unit, percent)| !unit.contains(':') && **percent > 0.0);
    let busiest = whole.max_by(|(_, a), (_, b)| a.total_cmp(b));
    let used = |wanted: &str| {
        bundles
            .units
            .iter()
            .find(|unit| cx.model.str(unit.unit) == wanted)
            .map(|unit| unit.used)
    };
    CodeRow {
        op: row.op,
        program: Arc::clone(&row.program),
        name: Arc::clone(&row.name),
        self_time_ps: row.self_time_ps,
        self_of_total_percent: row.self_of_total_percent,
        occurrences: row.occurrences,
        bundles: bundles.count,
        busiest: busiest.map(|(unit, _)| unit.clone()),
        busiest_percent: busiest.map(|(_, percent)| Percent(*percent)),
        fills: used(FILL),
        spills: used(SPILL),
        shares_code_of: (bundles.emitted_for != cx.model.op(op).name)
            .then(|| cx.model.str(bundles.emitted_for).to_owned()),
        slots_percent,
    }
}

/// Units that have a column; the JSON contains all of them.
const UNITS: [(&str, &str, &str); 9] = [
    ("MATMUL", "matmul_slots_percent", "MATMUL"),
    ("MATPUSH", "matpush_slots_percent", "MATPUSH"),
    ("VALU", "valu_slots_percent", "VALU"),
    ("VLOAD", "vload_slots_percent", "VLOAD"),
    ("VSTORE", "vstore_slots_percent", "VSTORE"),
    ("XLU", "xlu_slots_percent", "XLU"),
    ("EUP", "eup_slots_percent", "EUP"),
    ("VPOP", "vpop_slots_percent", "VPOP"),
    ("SALU", "salu_slots_percent", "SALU"),
];

impl Tabular for CodeReport {
    fn tables(&self) -> Vec<Table> {
        let mut notes = vec![self.sums_over.note()];
        notes.extend(self.notes.iter().cloned());
        let shown =
            |unit: &&String| UNITS.iter().any(|(name, ..)| name == *unit) || unit.contains(':');
        let others: BTreeSet<&String> = self
            .rows
            .iter()
            .flat_map(|row| row.slots_percent.keys())
            .filter(|unit| !shown(unit))
            .collect();
        if !others.is_empty() {
            let others: Vec<&str> = others.into_iter().map(String::as_str).collect();
            notes.push(format!(
                "units without a column (the JSON has them): {}",
                others.join(", ")
            ));
        }
        let table = Table::of("bundles", "Code of ops, by time", &self.rows)
            .declared(["name"])
            .derived(
                "self_time_each_ps",
                self.sums_over.self_time_title(),
                Unit::Picoseconds,
                |row| self.sums_over.each_ps(row.self_time_ps),
            )
            .declared([
                "self_of_total_percent",
                "bundles",
                "busiest",
                "busiest_percent",
                "spills",
                "fills",
            ]);
        let units = UNITS.into_iter().fold(table, |table, (unit, id, title)| {
            table.compiler(id, title, Unit::Percent, move |row| {
                row.slots_percent.get(unit).copied()
            })
        });
        vec![units.remaining().notes(notes).build()]
    }
}

#[cfg(test)]
mod tests {
    use engine::{Options, ReportCache, Scope};
    use trace_model::{
        GroupKind, Op, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel, TrackKind,
        UnitSlots,
    };

    use super::*;

    fn report_of(model: &TraceModel) -> Result<CodeReport, AnalysisError> {
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context {
            model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        cx.report::<Code>().map(|report| report.as_ref().clone())
    }

    /// Ops one after the other, with the given lengths, and the code of `dot` where given.
    fn trace(ops: &[(&str, i64, Option<[u64; 3]>)]) -> TraceModel {
        let mut builder = TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
        let track = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
        let mut now = 0;
        for (name, len, used) in ops {
            let units = ["MATMUL", "VSTORE", "VSTORE:SPILL"].map(|unit| builder.intern(unit));
            let slots = |(unit, (used, per_bundle))| UnitSlots {
                unit,
                used,
                per_bundle,
            };
            let emitted_for = builder.intern("dot");
            let bundles = used.map(|used| Bundles {
                count: 10,
                units: units
                    .into_iter()
                    .zip(used.into_iter().zip([4, 1, 1]))
                    .map(slots)
                    .collect(),
                emitted_for,
            });
            let name_id = builder.intern(name);
            let op = builder.op(Op {
                name: name_id,
                bundles: bundles.map(Box::new),
                ..Op::default()
            });
            let label = builder.label(name, Some(op));
            let range = TimeRange::new(Timestamp::from_ps(now), Timestamp::from_ps(now + len));
            builder.add_slice(track, SliceSpec::new(range, label));
            now += len;
        }
        builder.finish()
    }

    #[test]
    fn shares_are_of_the_bundle_slots() {
        let report = report_of(&trace(&[
            ("dot", 30, Some([38, 5, 5])),
            ("add", 60, Some([0, 6, 0])),
            ("copy", 10, None),
        ]))
        .unwrap();
        let row = |at: usize| {
            let row: &CodeRow = &report.rows[at];
            (
                &*row.name,
                row.busiest.as_deref(),
                row.busiest_percent.map(|share| share.0),
                row.spills,
                row.fills,
            )
        };
        assert_eq!(row(0), ("add", Some("VSTORE"), Some(60.0), Some(0), None));
        // Spills are stores: 5 of 10 slots, and all of them due to a lack of registers.
        assert_eq!(row(1), ("dot", Some("MATMUL"), Some(95.0), Some(5), None));
        assert_eq!(report.rows[0].shares_code_of.as_deref(), Some("dot"));
        assert_eq!(
            (report.rows[1].shares_code_of.as_deref(), report.rows.len()),
            (None, 2)
        );
        assert!(
            report.notes.iter().any(|note| note.contains("90.0 %")),
            "{:?}",
            report.notes
        );
        assert!(
            report
                .notes
                .iter()
                .any(|note| note.contains("1 of 2 ops (dot) run out of registers")),
            "{:?}",
            report.notes
        );
    }

    #[test]
    fn not_applicable_without_a_dump() {
        let error = report_of(&trace(&[("dot", 1, None)]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("--llo"), "{error}");
        // Code without bundles has no shares.
        let mut model = trace(&[("dot", 1, Some([0, 0, 0]))]);
        assert_eq!(report_of(&model).unwrap().rows[0].busiest, None);
        model = trace(&[]);
        assert!(report_of(&model).is_err());
    }
}
