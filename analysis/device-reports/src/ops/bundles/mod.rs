//! The code of ops: utilization of each unit of a core in the compiler's schedule.
//!
//! The TPU compiler emits bundles, which are instructions that are issued together. Its dumps count the issue slots
//! of every unit that each bundle uses. A bundle counts once, however often the loops of a kernel run it: shares
//! refer to the code, not to time, and are never drawn on the timeline. For an op whose time is nearly all in one
//! unrolled inner loop (matrix products) both shares are nearly the same.
//!
//! The text of the code adds what the table of slots does not show: bundles without any instruction, products, waits for
//! copies. From all of it follows what limits the code ([`CodeLimit`]), by rules that hold for one pass over it.
//!
//! `VLOAD:FILL` and `VSTORE:SPILL` are those loads and stores that only restore and save registers. They are part of
//! `VLOAD` and `VSTORE`, and a smaller tile would not need them.

mod levers;

use facts::prelude::*;
use trace_model::{Bundles, Caveat, Source};

use crate::ops::op_stats::{OpRow, Ops};

pub use levers::CodeLimit;

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

/// Share above which something is what limits the code.
const MAJORITY: f64 = 50.0;
/// Share of the vector memory from which nothing else fits into it.
const FULL: f64 = 90.0;

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
    #[column]
    pub bundles: u64,
    /// Bundles without an instruction, in which the core waits; `None` without the text of the code.
    #[column("Empty")]
    pub empty_bundles: Option<u64>,
    /// Empty bundles as a share of its bundles.
    #[column("Empty share")]
    pub empty_percent: Option<Percent>,
    /// The last instruction before most of them.
    #[column]
    pub empty_after: Option<String>,
    /// Instructions that multiply on the matrix units.
    #[column("Products")]
    pub matmuls: Option<u64>,
    /// Instructions that wait for the end of a copy.
    #[column("DMA waits")]
    pub dma_waits: Option<u64>,
    /// Vector memory that it allocates; `None` without a report on it.
    #[column("VMEM")]
    pub vmem_bytes: Option<u64>,
    /// The vector memory that it allocates, as a share of what the core has.
    #[column("of VMEM")]
    pub vmem_percent: Option<Percent>,
    /// The part of it that holds saved registers.
    #[column("VMEM of spills")]
    pub vmem_spill_bytes: Option<u64>,
    /// What limits the code by its slots, registers and memory; `None` where nothing has a majority.
    #[column("Limited by", inferred)]
    pub limit: Option<CodeLimit>,
    /// The page that says what to try where this limits the code.
    #[column("Lever from", inferred)]
    pub lever_source: Option<&'static str>,
    /// What has the largest share of its bundles or slots, where that is no majority.
    #[column("Most of", inferred)]
    pub most: Option<CodeLimit>,
    /// The unit with the largest share of used slots.
    #[column]
    pub busiest: Option<String>,
    /// That share.
    #[column("its slots")]
    pub busiest_percent: Option<Percent>,
    /// Stores that save registers, if the dump counts them.
    #[column]
    pub spills: Option<u64>,
    /// Loads that restore registers, if the dump counts them.
    #[column]
    pub fills: Option<u64>,
    /// Vector registers that hold values at one time, before they are allocated; those that the core does not have are
    /// saved and restored.
    #[column(unit = Count)]
    pub live_registers: Option<u64>,
    /// Used issue slots of each unit, in percent of all its slots; a unit without slots is left out.
    pub slots_percent: BTreeMap<String, f64>,
    /// Self time of all executions; `None` of an op of a program whose time is not known.
    #[column("Self time (sum)", measured)]
    pub self_time_ps: Option<Picos>,
    /// Executions; `None` of an op without a time.
    #[column("Runs", measured)]
    pub occurrences: Option<u64>,
    /// The op that the code was emitted for, if that is another one.
    #[column("Code of")]
    pub shares_code_of: Option<String>,
    /// Program, with its id.
    #[column(measured)]
    pub program: Arc<str>,
}

/// Loads and stores caused by a lack of registers.
const FILL: &str = "VLOAD:FILL";
const SPILL: &str = "VSTORE:SPILL";

impl Analysis for Code {
    type Report = CodeReport;
    const ID: &str = "bundles";
    const TITLE: &str = "Code of ops";

    fn run(cx: &Context<'_>) -> Result<CodeReport> {
        if cx.model.ops().iter().all(|op| op.bundles.is_none()) {
            let mut sources = cx.model.sources().iter();
            if let Some(why) = sources.find_map(|source| source.fact(Source::NOT_PLAYED)) {
                let what = format!("no op of this program is known, because {why}");
                return Err(AnalysisError::NotApplicable(what));
            }
            let what = "no code of these ops was read: compile with LIBTPU_INIT_ARGS=\"--xla_jf_dump_to=DIR \
                        --xla_jf_dump_llo_text=true\" and name DIR with --llo, or lay it beside the HLO text; where that \
                        was done, systole doctor says why";
            return Err(what.into());
        }
        let ops = cx.report::<Ops>()?;
        let timed = ops
            .rows
            .iter()
            .filter_map(|row| code_row(cx, Some(row), row.op?));
        let rows: Vec<CodeRow> = timed
            .chain(
                untimed(cx)
                    .into_iter()
                    .filter_map(|op| code_row(cx, None, op)),
            )
            .collect();
        let known = rows.iter().filter_map(|row| row.self_time_ps).sum();
        let mut notes = vec![
            "percent of the issue slots of a unit in the code of an op; a bundle counts once, however often a loop runs \
             it: never a share of time"
                .to_owned(),
        ];
        let without_time = rows.iter().filter(|row| row.self_time_ps.is_none()).count();
        let rest = match without_time {
            0 => String::new(),
            count => format!(
                "; {} without a known time not included",
                counted(count, "op")
            ),
        };
        if let Some(percent) =
            Percent::of(known, ops.op_time_ps).filter(|_| without_time < rows.len())
        {
            notes.push(format!(
                "ops with known code take {percent:.1} of the time of all ops{rest}"
            ));
        }
        let limits: BTreeSet<CodeLimit> = rows.iter().filter_map(|row| row.limit).collect();
        notes.extend(limits.into_iter().map(CodeLimit::advice));
        let spilling: Vec<&str> = rows
            .iter()
            .filter(|row| row.spills.max(row.fills) > Some(0))
            .map(|row| &*row.name)
            .collect();
        if !spilling.is_empty() {
            let more = if spilling.len() > SHOWN { " …" } else { "" };
            notes.push(format!(
                "{} of {} ({}{more}) run out of registers: their spills and fills are extra stores and loads, and smaller \
                 blocks in the body of the kernel need fewer",
                spilling.len(),
                counted(rows.len(), "op"),
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

/// Ops of a predicted program that run without a known time: kernels of which the compiler estimates nothing.
fn untimed(cx: &Context<'_>) -> Vec<OpId> {
    if !cx.model.has_caveat(Caveat::Predicted) {
        return Vec::new();
    }
    // Also of devices and lanes that are not asked for.
    let slices = cx.watched(cx.model.all_slices());
    let timed: BTreeSet<OpId> = slices.filter_map(SliceRef::op).collect();
    cx.model.op_ids().filter(|op| !timed.contains(op)).collect()
}

/// The row of an op whose code is known; without a row of times nothing is known of its time.
fn code_row(cx: &Context<'_>, row: Option<&OpRow>, op: OpId) -> Option<CodeRow> {
    let facts = cx.model.op(op);
    let bundles: &Bundles = facts.bundles.as_deref()?;
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
    let spills = used(SPILL);
    let fills = used(FILL);
    let text = bundles.text.as_ref();
    let empty = text.and_then(|text| percent(text.empty, bundles.count));
    let vmem = bundles.vmem;
    let of_vmem = vmem.and_then(|vmem| percent(vmem.bytes, vmem.limit_bytes?));
    let of_all = |part: Option<u64>, whole| percent(part?, used(whole)?);
    let saved = [of_all(spills, "VSTORE"), of_all(fills, "VLOAD")];
    let is_major = |share: &Percent| share.0 > MAJORITY;
    let by_unit = busiest.and_then(|(unit, share)| Some((CodeLimit::of_unit(unit)?, *share)));
    let by_empty = empty
        .filter(|share| share.0 > 0.0)
        .map(|share| (CodeLimit::Waiting, share.0));
    let most = by_empty
        .into_iter()
        .chain(by_unit)
        .max_by(|(_, a), (_, b)| a.total_cmp(b));
    let spills_most = saved.iter().flatten().any(is_major);
    let is_full = of_vmem.is_some_and(|share| share.0 >= FULL);
    // What has no free slots limits the code, however many registers are saved in slots that are free.
    let limit = match most.filter(|(_, share)| is_major(&Percent(*share))) {
        Some((CodeLimit::LoadsAndStores, _)) | None if spills_most => Some(CodeLimit::Registers),
        Some((CodeLimit::Waiting, _)) | None if is_full => Some(CodeLimit::Vmem),
        most => most.map(|(limit, _)| limit),
    };
    let most = most.map(|(most, _)| most).filter(|_| limit.is_none());
    let program = || facts.program.map(|program| cx.model.program_title(program));
    Some(CodeRow {
        op: Some(op),
        program: row.map_or_else(
            || Arc::from(program().unwrap_or_default()),
            |row| Arc::clone(&row.program),
        ),
        name: row.map_or_else(
            || Arc::from(cx.model.str(facts.name)),
            |row| Arc::clone(&row.name),
        ),
        self_time_ps: row.map(|row| row.self_time_ps),
        self_of_total_percent: row.and_then(|row| row.self_of_total_percent),
        occurrences: row.map(|row| row.occurrences),
        bundles: bundles.count,
        busiest: busiest.map(|(unit, _)| unit.clone()),
        busiest_percent: busiest.map(|(_, percent)| Percent(*percent)),
        empty_bundles: text.map(|text| text.empty),
        empty_percent: empty,
        empty_after: text
            .and_then(|text| text.stalls.first())
            .map(|stall| cx.model.str(stall.after).to_owned()),
        matmuls: text.map(|text| text.matmuls),
        dma_waits: text.map(|text| text.dma_waits),
        vmem_bytes: vmem.map(|vmem| vmem.bytes),
        vmem_percent: of_vmem,
        vmem_spill_bytes: vmem.map(|vmem| vmem.spill_bytes),
        limit,
        lever_source: limit.map(CodeLimit::source),
        most,
        live_registers: bundles.live_registers,
        fills,
        spills,
        shares_code_of: (bundles.emitted_for != facts.name)
            .then(|| cx.model.str(bundles.emitted_for).to_owned()),
        slots_percent,
    })
}

fn percent(part: u64, whole: u64) -> Option<Percent> {
    Percent::ratio(part as f64, whole as f64)
}

/// Units that have a column; the JSON contains all of them. Products are of `MXU` in older dumps.
const UNITS: [(&str, &str, &str); 10] = [
    ("MXU", "mxu_slots_percent", "MXU"),
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
            notes.push(format!(
                "units without a column (the JSON has them): {}",
                joined(others, ", ")
            ));
        }
        let table = Table::of("bundles", "Code of ops, by time", &self.rows)
            .declared(["name"])
            .derived(
                "self_time_each_ps",
                self.sums_over.self_time_title(),
                Unit::Picoseconds,
                |row| Some(self.sums_over.each_ps(row.self_time_ps?)),
            )
            .declared([
                "self_of_total_percent",
                "bundles",
                "limit",
                "most",
                "empty_percent",
                "busiest",
                "busiest_percent",
                "spills",
                "fills",
                "live_registers",
                "vmem_bytes",
                "vmem_percent",
                "matmuls",
                "dma_waits",
                "empty_after",
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
mod tests;
