//! The time of each device by category, and its idle time.
//!
//! Every picosecond of a core's window belongs to the group of the innermost op
//! that ran, or to idle; the groups add up to the window. Waiting shows as such:
//! the self time of `copy-done` and its like is time in which the core waited for
//! a transfer, whatever `XProf` calls it.
//!
//! Gaps between programs are on the timeline, because programs have no other
//! clock; everything else is by the clock that timed the ops. The two are never
//! combined.

use facts::CoreTime;
use facts::prelude::*;
use facts::window::{counts, has_ops, ran_nothing, slices_of_window};
use math::stats::median;
use trace_model::SliceSpans;

/// The device-time analysis.
pub struct Devices;

impl Analysis for Devices {
    type Report = DevicesReport;
    const ID: &str = "devices";
    const TITLE: &str = "Device time";

    fn run(cx: &Context<'_>) -> Result<DevicesReport> {
        let mut cores = Vec::new();
        for core in cx.tensor_cores() {
            cores.extend(cx.core_time(core)?.map(|time| core_report(cx, &time)));
        }
        if cores.is_empty() {
            return Err("no TPU device recorded anything here".into());
        }
        Ok(DevicesReport { cores })
    }
}

/// The time of devices by category.
#[engine::reported]
pub struct DevicesReport {
    /// Every `TensorCore` that recorded something in the scope.
    pub cores: Vec<CoreReport>,
}

/// The time of one core by category.
#[engine::row(measured)]
pub struct CoreReport {
    /// Name of the device.
    #[column("Device")]
    pub core: String,
    /// Which device.
    pub group: GroupId,
    /// Length of the window: the denominator of all shares.
    #[column]
    pub window_ps: Picos,
    /// Time with an op on the core: the sum of all groups but idle. `None` if the capture has no ops.
    #[column("Ops")]
    #[column("Ops", id = "op_percent", with = |core| core.percent(core.op_time_ps))]
    pub op_time_ps: Option<Picos>,
    /// Time without one.
    #[column(id = "idle_percent", with = |core| core.percent(core.idle_ps))]
    pub idle_ps: Option<Picos>,
    /// Self time by group of ops; with idle it adds up to the window.
    #[column(id = "copy_wait_percent", with = |core| core.percent(core.copy_wait_ps()))]
    pub groups: Vec<GroupTime>,
    /// Union of program executions, on the timeline; `None` if not recorded.
    pub program_ps: Option<Picos>,
    /// Program executions that start in the window.
    #[column]
    pub programs: u64,
    /// Time between programs.
    #[column(nested)]
    pub gaps: Option<IdleGaps>,
    /// Waiting for the other cores to start a program (`barrier-cores`).
    pub barrier_ps: Option<Picos>,
}

/// Self time of a group of ops.
#[engine::row(measured)]
#[derive(Copy)]
pub struct GroupTime {
    /// Which group.
    #[column("Kind")]
    pub group: OpGroup,
    /// How long.
    #[column("Self time")]
    pub time_ps: Picos,
    /// Share of the window.
    #[column("Of window")]
    pub percent: Percent,
}

/// Gaps between consecutive programs of a core.
#[engine::row(measured)]
pub struct IdleGaps {
    /// How many.
    pub count: usize,
    /// All of them.
    pub total_ps: Picos,
    /// The middle one.
    #[column("Median gap", id = "gap_median_ps")]
    pub median_ps: Picos,
    /// The longest.
    #[column("Largest gap", id = "gap_largest_ps")]
    pub largest_ps: Picos,
    /// Start of the longest gap.
    pub largest_start_ps: Timestamp,
    /// The program before the longest.
    #[column("between", id = "gap_largest_where", with = |gaps| format!("{} → {}", gaps.largest_after, gaps.largest_before))]
    pub largest_after: String,
    /// The program after the longest.
    pub largest_before: String,
}

impl CoreReport {
    /// Self time of a group.
    pub fn time(&self, group: OpGroup) -> Picos {
        self.groups
            .iter()
            .filter(|entry| entry.group == group)
            .map(|entry| entry.time_ps)
            .sum::<Picos>()
    }

    /// Time waiting for copies; `None` without ops.
    fn copy_wait_ps(&self) -> Option<Picos> {
        self.op_time_ps?;
        Some(self.time(OpGroup::AsyncWait))
    }

    /// A time as a share of the window.
    fn percent(&self, time: Option<Picos>) -> Option<Percent> {
        let window = self.window_ps.ps().max(1) as f64;
        Some(Percent(100.0 * time?.as_ps_f64() / window))
    }
}

/// Barriers of these lengths are the cost of the event itself.
const EMPTY_BARRIERS_PS: [i64; 2] = [0, 1_250];

fn core_report(cx: &Context<'_>, time: &CoreTime) -> CoreReport {
    let model = cx.model;
    let window = time.window.dur();
    // A device that ran nothing is idle; of one that recorded programs only, nobody knows.
    let has_ops = has_ops(model, time.core) || ran_nothing(model, time.core);
    let idle = window - time.busy_time();
    let mut times = [Picos::ZERO; OpGroup::ALL.len()];
    for segment in &time.segments {
        times[segment.class.group.index()] += segment.range.dur();
    }
    times[OpGroup::Idle.index()] = idle;
    let mut groups: Vec<GroupTime> = OpGroup::ALL
        .into_iter()
        .map(|group| {
            let time_ps = times[group.index()];
            GroupTime {
                group,
                time_ps,
                percent: Percent::of_fraction(time_ps.fraction_of(window).unwrap_or_default()),
            }
        })
        .filter(|entry| entry.time_ps > Picos::ZERO)
        .collect();
    if !has_ops {
        groups.clear();
    }
    let inside = |kind| {
        let tracks = model.tracks_of_kind(time.core, kind);
        tracks.flat_map(|track| slices_of_window(cx, track, time.window))
    };
    let mut programs: Vec<SliceSpans<'_>> = inside(TrackKind::Modules).collect();
    programs.sort_by_key(|spans| spans.shown.start);
    let program_set: IntervalSet = programs.iter().map(|spans| spans.shown).collect();
    let barriers = inside(TrackKind::DeviceScopes)
        .filter(|spans| spans.slice.name() == "barrier-cores")
        .filter(|spans| !EMPTY_BARRIERS_PS.contains(&spans.slice.measured_dur().ps()))
        .map(|spans| spans.measured.dur());
    CoreReport {
        core: model.device_name(time.core),
        group: time.core,
        window_ps: window,
        op_time_ps: has_ops.then_some(window - idle),
        idle_ps: has_ops.then_some(idle),
        groups,
        program_ps: (!programs.is_empty()).then(|| program_set.measure()),
        programs: programs
            .iter()
            .filter(|spans| counts(cx, time.window, spans.slice))
            .count() as u64,
        gaps: gaps(&programs),
        barrier_ps: barriers.reduce(|a, b| a + b),
    }
}

/// Gaps between programs in time order; `None` with fewer than two programs.
fn gaps(programs: &[SliceSpans<'_>]) -> Option<IdleGaps> {
    let gaps: Vec<(TimeRange, SliceRef<'_>, SliceRef<'_>)> = programs
        .windows(2)
        .map(|pair| {
            (
                TimeRange::new(pair[0].shown.end, pair[1].shown.start),
                pair[0].slice,
                pair[1].slice,
            )
        })
        .collect();
    let lengths: Vec<f64> = gaps.iter().map(|(gap, ..)| gap.dur().as_ps_f64()).collect();
    let (largest, after, before) = gaps.iter().min_by_key(|(gap, ..)| Reverse(gap.dur()))?;
    Some(IdleGaps {
        count: gaps.iter().filter(|(gap, ..)| !gap.is_empty()).count(),
        total_ps: gaps.iter().map(|(gap, ..)| gap.dur()).sum(),
        median_ps: Picos::from_ps(median(&lengths)? as i64),
        largest_ps: largest.dur(),
        largest_start_ps: largest.start,
        largest_after: after.name().to_owned(),
        largest_before: before.name().to_owned(),
    })
}

impl Tabular for DevicesReport {
    fn tables(&self) -> Vec<Table> {
        let devices = Table::of("devices", "Devices", &self.cores)
            .declared([
                "core",
                "window_ps",
                "op_time_ps",
                "op_percent",
                "idle_percent",
                "copy_wait_percent",
            ])
            .remaining()
            .note("Percentages are of the window: from its first op or step to the end of the last (of a device that is away for long, of the others of its host), \
                 or the part of it that is looked at. Gaps are between programs.")
            .build();
        let rows = self
            .cores
            .iter()
            .flat_map(|core| core.groups.iter().map(move |entry| (core, entry)));
        let groups = Table::of("device_time", "Device time by kind of op", rows)
            .declared_by(|(core, _)| core, ["core"])
            .declared_by(|(_, entry)| entry, ["group", "time_ps", "percent"])
            .note("The kinds of one device add up to its window.")
            .build();
        vec![devices, groups]
    }
}

#[cfg(test)]
mod tests {
    use engine::{Options, ReportCache, Scope};
    use sample_traces::text_trace;
    use trace_model::TraceModel;

    use super::*;

    fn report(model: &TraceModel, scope: Scope) -> Result<DevicesReport> {
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context {
            model,
            scope,
            options: &options,
            reports: &reports,
        };
        cx.report::<Devices>().map(|report| report.as_ref().clone())
    }

    const OFFLOAD: &str = "
        @device-clock 500ns
        modules: AAAAAAAAAA..BBBBBB....CC
        ops    : sffccccccc..aaaddd....gg
        A = jit_f(1)
        B = jit_g(2)
        C = jit_h(3)
        s = copy-start.1 [copy-start]
        c = copy-done.1 [copy-done]
        f = fusion.1 [convolution fusion]
        a = all-reduce.1 [all-reduce]
        d = infeed.1 [infeed]
        g = fusion.2 [loop fusion]
    ";

    #[test]
    fn groups_and_waiting_sum_to_the_window() {
        let report = report(&text_trace(OFFLOAD), Scope::WholeTrace).unwrap();
        let core = &report.cores[0];
        assert_eq!(
            (
                core.window_ps.ps(),
                core.op_time_ps.map(Picos::ps),
                core.idle_ps.map(Picos::ps)
            ),
            (24_000, Some(18_000), Some(6_000))
        );
        assert_eq!(
            core.groups.iter().map(|entry| entry.time_ps).sum::<Picos>(),
            core.window_ps
        );
        let time = |group| core.time(group).ps();
        assert_eq!(time(OpGroup::MatMul), 2_000);
        assert_eq!(time(OpGroup::AsyncWait), 7_000);
        assert_eq!(time(OpGroup::Collective), 3_000);
        assert_eq!(time(OpGroup::HostIo), 3_000);
        assert_eq!(time(OpGroup::Vector), 2_000);
        assert_eq!(time(OpGroup::DataMovement), 1_000);
    }

    #[test]
    fn gaps_between_programs_have_locations() {
        let report = report(&text_trace(OFFLOAD), Scope::WholeTrace).unwrap();
        let gaps = report.cores[0].gaps.clone().unwrap();
        assert_eq!(
            (
                gaps.count,
                gaps.total_ps.ps(),
                gaps.median_ps.ps(),
                gaps.largest_ps.ps()
            ),
            (2, 6_000, 3_000, 4_000)
        );
        assert_eq!(
            (gaps.largest_after.as_str(), gaps.largest_before.as_str()),
            ("jit_g(2)", "jit_h(3)")
        );
        assert_eq!(
            (
                report.cores[0].program_ps.map(Picos::ps),
                report.cores[0].programs
            ),
            (Some(18_000), 3)
        );
    }

    #[test]
    fn adjacent_ranges_sum_to_the_whole() {
        let model = text_trace(OFFLOAD);
        let at = Timestamp::from_ps;
        let part = |from, to| {
            report(&model, Scope::Range(TimeRange::new(at(from), at(to))))
                .unwrap()
                .cores[0]
                .clone()
        };
        let (whole, head, tail) = (part(0, 24_000), part(0, 5_500), part(5_500, 24_000));
        for group in OpGroup::ALL {
            assert_eq!(
                whole.time(group),
                head.time(group) + tail.time(group),
                "{group:?}"
            );
        }
    }

    #[test]
    fn capture_without_ops_has_no_device_time() {
        let report_without_ops = report(
            &text_trace("modules: MM.MM\n M = jit_f(1)"),
            Scope::WholeTrace,
        )
        .unwrap();
        assert_eq!(
            (
                report_without_ops.cores[0].op_time_ps,
                report_without_ops.cores[0].idle_ps
            ),
            (None, None)
        );
        assert!(report(&text_trace("host main: aa"), Scope::WholeTrace).is_err());
    }
}
