//! What the length of steps depends on: the critical path of each step, summed up.

use device_reports::Steps;
use facts::prelude::*;
use trace_model::StringId;

use run_reports::IdleCause;

use crate::what_if::{CriticalPath, PathKind, SharedReplay, WaitsFor};

/// The analysis `critical_path`.
pub struct CriticalPaths;

/// The critical paths of the steps that statistics count, together.
#[engine::reported]
pub struct CriticalPathReport {
    /// The result, in one sentence.
    pub statement: String,
    /// Number of steps.
    pub steps: usize,
    /// Their lengths added up, each on the core that took longest: the denominator of all shares.
    pub length_ps: Picos,
    /// Kinds of time; they add up to the length.
    pub kinds: Vec<KindOnPath>,
    /// Devices and the time of their own ops; the rest of the length is collectives, and time in which nothing runs.
    pub devices: Vec<DeviceOnPath>,
    /// Ops, those with the most time on the path first.
    pub ops: Vec<OpOnPath>,
}

/// Time of one kind on the path.
#[engine::row(derived)]
#[derive(Copy)]
pub struct KindOnPath {
    /// What steps wait for.
    #[column("Waits for")]
    pub kind: PathKind,
    /// What the host did meanwhile, of time between programs; `None` where the report on gaps does not say.
    #[column("Host", inferred)]
    pub cause: Option<IdleCause>,
    /// Time of a step, the mean.
    #[column("Time per step")]
    pub each_ps: f64,
    /// Time in all steps.
    #[column]
    pub time_ps: Picos,
    /// Share of the steps.
    #[column("Of steps")]
    pub percent: Option<Percent>,
}

impl KindOnPath {
    fn waits_for(&self) -> WaitsFor {
        WaitsFor {
            kind: self.kind,
            cause: self.cause,
        }
    }
}

/// Time of one device on the path.
#[engine::row(derived)]
pub struct DeviceOnPath {
    /// Name of the device.
    #[column]
    pub device: String,
    /// Time of its ops in all steps, without collectives, which are of several devices.
    #[column]
    pub time_ps: Picos,
    /// Share of the steps.
    #[column("Of steps")]
    pub percent: Option<Percent>,
}

/// Time of one op on the path.
#[engine::row(derived)]
pub struct OpOnPath {
    /// Its name.
    #[column(id = "op")]
    pub name: Arc<str>,
    /// The op in the model.
    #[serde(skip)]
    pub op: Option<OpId>,
    /// What kind of work it is.
    #[column("Kind")]
    pub group: OpGroup,
    /// Time of a step, the mean.
    #[column("Time per step")]
    pub each_ps: f64,
    /// Time in all steps.
    #[column]
    pub time_ps: Picos,
    /// Share of the steps.
    #[column("Of steps")]
    pub percent: Option<Percent>,
    /// Executions of it that paths lead over.
    #[column("Runs")]
    pub occurrences: u64,
}

impl Analysis for CriticalPaths {
    type Report = CriticalPathReport;
    const ID: &str = "critical_path";
    const TITLE: &str = "Critical path";

    fn run(cx: &Context<'_>) -> Result<CriticalPathReport> {
        let steps = cx.report::<Steps>()?;
        if !steps.has_steps() {
            return Err("no steps were found here, so no step has a critical path".into());
        }
        let replay = cx.report::<SharedReplay>()?;
        let report = CriticalPathReport::of(cx, replay.critical_paths(cx, steps.counted()));
        if report.steps == 0 {
            let what = if cx.scope == Scope::WholeTrace {
                "no complete step after warm-up ran ops on a TPU device here, so there is no critical path"
            } else {
                "no complete step after warm-up lies whole in this part of the trace, so there is no critical path"
            };
            return Err(what.into());
        }
        Ok(report)
    }
}

/// Sums over pieces, of which there are as many as ops.
struct PathSums {
    /// A few, in no order.
    kinds: Vec<(WaitsFor, Picos)>,
    /// By group; `None` of those that are on no path.
    devices: Vec<Option<Picos>>,
    /// By label: time, and number of slices.
    labels: Vec<(Picos, u64)>,
}

impl PathSums {
    fn new(model: &TraceModel) -> Self {
        Self {
            kinds: Vec::new(),
            devices: vec![None; model.groups().len()],
            labels: vec![Default::default(); model.labels().len()],
        }
    }

    fn add_kind(&mut self, waits_for: WaitsFor, time: Picos) {
        match self.kinds.iter_mut().find(|(kind, _)| *kind == waits_for) {
            Some((_, sum)) => *sum += time,
            None => self.kinds.push((waits_for, time)),
        }
    }

    /// By op and name, because host-made slices have no op.
    fn ops(&self, model: &TraceModel) -> BTreeMap<(Option<OpId>, StringId), (Picos, u64)> {
        let mut out = BTreeMap::new();
        let seen = model.label_ids().zip(&self.labels);
        for (label, &(time, slices)) in seen.filter(|(_, (_, slices))| *slices > 0) {
            let label = model.label(label);
            let sums: &mut (Picos, u64) = out.entry((label.op, label.name)).or_default();
            sums.0 += time;
            sums.1 += slices;
        }
        out
    }
}

impl CriticalPathReport {
    fn of(cx: &Context<'_>, paths: impl Iterator<Item = CriticalPath>) -> Self {
        let model = cx.model;
        let mut steps = 0;
        let mut length_ps = Picos::ZERO;
        let mut sums = PathSums::new(model);
        // An op with inner ops is several pieces of a path.
        let mut seen = vec![false; model.slice_count()];
        for path in paths {
            steps += 1;
            length_ps += path.span.dur();
            for piece in cx.watched(&path.pieces) {
                let time = piece.range.dur();
                sums.add_kind(piece.waits_for, time);
                let Some(slice) = piece.slice else { continue };
                if piece.waits_for.kind != PathKind::Collective
                    && let Some(sum) = sums.devices.get_mut(piece.core.index())
                {
                    *sum.get_or_insert_default() += time;
                }
                let label = model.slice(slice).label_id().index();
                let (Some(own), Some(seen)) =
                    (sums.labels.get_mut(label), seen.get_mut(slice.index()))
                else {
                    continue;
                };
                own.0 += time;
                own.1 += u64::from(!std::mem::replace(seen, true));
            }
        }
        let each = |time: Picos| time.as_ps_f64() / steps.max(1) as f64;
        let share = |time: Picos| Percent::of(time, length_ps);
        let device = |(group, time): (GroupId, &Option<Picos>)| {
            time.map(|time| DeviceOnPath {
                device: model.device_name(group),
                time_ps: time,
                percent: share(time),
            })
        };
        let op =
            |(&(op, name), &(time, occurrences)): (&(Option<OpId>, _), &(Picos, u64))| OpOnPath {
                name: model.str(name).into(),
                op,
                group: op.map_or(OpGroup::Other, |op| cx.classes().class(op).group),
                each_ps: each(time),
                time_ps: time,
                percent: share(time),
                occurrences,
            };
        let mut kinds: Vec<_> = sums
            .kinds
            .iter()
            .map(|&(waits_for, time)| KindOnPath {
                kind: waits_for.kind,
                cause: waits_for.cause,
                each_ps: each(time),
                time_ps: time,
                percent: share(time),
            })
            .collect();
        kinds.sort_by_key(|row| (Reverse(row.time_ps), row.kind, row.cause));
        let mut ops: Vec<_> = sums.ops(model).iter().map(op).collect();
        largest_first(&mut ops, |op| op.time_ps, |op| &op.name);
        Self {
            statement: statement(&kinds, steps),
            steps,
            length_ps,
            kinds,
            devices: model
                .group_ids()
                .zip(&sums.devices)
                .filter_map(device)
                .collect(),
            ops,
        }
    }
}

/// Kinds with a smaller share of the steps are not named.
const NAMED: Percent = Percent(0.05);

fn statement(kinds: &[KindOnPath], steps: usize) -> String {
    // Of what the sentence leaves out, the table has every picosecond.
    let named = kinds.iter().filter_map(|row| {
        Some((
            row.waits_for(),
            row.percent.filter(|share| *share >= NAMED)?,
        ))
    });
    let parts = named.map(|(what, share)| format!("{} {share:.1}", what.title()));
    format!(
        "Critical path of {}, in shares of their length: {}",
        counted(steps, "step"),
        joined(parts, ", ")
    )
}

impl Tabular for CriticalPathReport {
    fn tables(&self) -> Vec<Table> {
        let of = "% is of the lengths of the steps, each on the device that took longest.";
        vec![
            Table::of("critical_path", "Critical path by kind", &self.kinds)
                .remaining()
                .note(format!("{}.", self.statement))
                .note(
                    "Pieces follow each other from the beginning of a step to its end, and add up to its length. Who came \
                     last to a collective is inferred from how long the others waited. What the host did between programs \
                     is that of the report gaps, by its clock.",
                )
                .note(of)
                .build(),
            Table::of("critical_path_ops", "Critical path by op", &self.ops)
                .remaining()
                .note(of)
                .build(),
            Table::of("critical_path_devices", "Critical path by device", &self.devices)
                .remaining()
                .note("Collectives, and time in which nothing runs, belong to no device.")
                .note(of)
                .build(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use engine::{Options, ReportCache};
    use sample_traces::text_trace;
    use trace_model::{TimeRange, Timestamp};

    use super::*;

    /// The report of a part of a trace, from and until so many ns.
    fn report(picture: &str, part: Option<(i64, i64)>) -> Result<CriticalPathReport, String> {
        let model = text_trace(picture);
        let (options, reports) = (Options::default(), ReportCache::default());
        let ns = |ns: i64| Timestamp::from_ps(ns * 1_000);
        let cx = Context {
            model: &model,
            scope: part.map_or(Scope::WholeTrace, |(from, until)| {
                Scope::Range(TimeRange::new(ns(from), ns(until)))
            }),
            options: &options,
            reports: &reports,
        };
        CriticalPaths::run(&cx).map_err(|error| error.to_string())
    }

    #[test]
    fn steps_cut_by_the_range_have_no_path() {
        let picture = "
            steps: 0000011111
            ops  : AAAAABBBBB
            0 = 0
            1 = 1
            A = fusion.1 [loop fusion]
            B = fusion.2 [loop fusion]
            ";
        let whole = report(picture, None).unwrap();
        assert_eq!((whole.steps, whole.length_ps.ps()), (2, 10_000));
        let part = report(picture, Some((2, 10))).unwrap();
        assert_eq!((part.steps, part.length_ps.ps()), (1, 5_000));
        let kinds: Vec<_> = part
            .kinds
            .iter()
            .map(|row| (row.kind, row.time_ps.ps()))
            .collect();
        assert_eq!(kinds, [(PathKind::Compute, 5_000)]);
        let none = report(picture, Some((2, 8))).unwrap_err();
        assert!(none.contains("lies whole in this part"), "{none}");
    }

    /// Between the programs the host copies to the device for 2 ns and compiles for 1 ns; within the second one no op runs
    /// for 1 ns.
    #[test]
    fn time_between_programs_has_the_causes_of_the_gaps() {
        let picture = "
            steps    : 0000000000
            modules  : MM....NNNN
            ops      : AA....B.BB
            host main: ..pp.c....
            0 = 0
            M = f
            N = g
            A = fusion.1 [loop fusion]
            B = fusion.2 [loop fusion]
            p = batched_device_put
            c = backend_compile
            ";
        let found = report(picture, None).unwrap();
        let kinds: Vec<_> = found
            .kinds
            .iter()
            .map(|row| (row.waits_for().title(), row.time_ps.ps() / 1_000))
            .collect();
        let expected = [
            ("ops", 5),
            ("between programs: host to device", 2),
            ("between programs: compiling", 1),
            ("between programs: nothing recorded", 1),
            ("idle in programs", 1),
        ];
        assert_eq!(kinds, expected.map(|(title, ns)| (title.to_owned(), ns)));
        let sum: Picos = found.kinds.iter().map(|row| row.time_ps).sum();
        assert_eq!(sum, found.length_ps);
        assert!(
            found
                .statement
                .contains("between programs: host to device 20.0 %"),
            "{}",
            found.statement
        );
    }

    /// Each program runs for 1 ns before its first op and after its last one.
    #[test]
    fn a_program_runs_before_its_first_op_and_after_its_last_one() {
        let picture = "
            steps  : 000000000
            modules: MMMM..NNN
            ops    : .AA....B.
            0 = 0
            M = f
            N = g
            A = fusion.1 [loop fusion]
            B = fusion.2 [loop fusion]
            ";
        let mut kinds: BTreeMap<PathKind, i64> = BTreeMap::new();
        for row in report(picture, None).unwrap().kinds {
            *kinds.entry(row.kind).or_default() += row.time_ps.ps() / 1_000;
        }
        let expected = [
            (PathKind::Compute, 3),
            (PathKind::BetweenPrograms, 2),
            (PathKind::Idle, 4),
        ];
        assert_eq!(kinds, expected.into());
    }

    #[test]
    fn an_op_with_inner_ops_runs_once() {
        let picture = "
            steps: 0000000
            ops  : WWWWWWW
                 : .ff.ff.
            0 = 0
            W = while.1 [while]
            f = fusion.1 [loop fusion]
            ";
        let ops = report(picture, None).unwrap().ops;
        let runs: Vec<_> = ops
            .iter()
            .map(|op| (&*op.name, op.time_ps.ps(), op.occurrences))
            .collect();
        assert_eq!(runs, [("fusion.1", 4_000, 2), ("while.1", 3_000, 1)]);
    }
}
