//! Launch latency of programs, and how far the host is ahead of the device.
//!
//! ```text
//! host    [enqueue 1][enqueue 2]        [enqueue 3]
//! device             [program 1][program 2]          [program 3]
//!         |- latency -|
//! ahead   0           1                 0
//! ```
//!
//! Latency is from the start of the enqueue to the start of the program on the clock of the host
//! ([`facts::clock_alignment`]). The shift between the clocks is the smallest possible one: all latencies may be longer by
//! up to [`DeviceDispatch::uncertainty_ps`], or shorter by up to [`DeviceDispatch::shorter_by_ps`]. How far the
//! host is ahead is the number of programs that are enqueued but not finished when it enqueues another one; at zero,
//! the device has run out of work.

use facts::TimeWindow;
use facts::clock_alignment::{ClockShift, ClockSync, LaunchPairs, ShiftInterval};
use facts::device_shift::shifted;
use facts::prelude::*;
use facts::window::counts;
use math::quantile::quantile;

use crate::host::clocks::Clocks;
use crate::host::gaps::{DeviceGaps, Gaps, IdleCause, time_of};

/// The analysis `dispatch`.
pub struct Dispatch;

/// Dispatch of programs from hosts to devices.
#[engine::reported]
pub struct DispatchReport {
    /// Devices whose programs can be paired with host events.
    pub devices: Vec<DeviceDispatch>,
}

/// Dispatch of programs to one device.
#[engine::row(inferred)]
pub struct DeviceDispatch {
    /// Name of the device.
    #[column("Device", measured)]
    pub core: String,
    /// Number of executions paired with their launch, in the scope.
    #[column(measured)]
    pub launches: usize,
    /// Whether gaps matter, and dispatch fills them or the host is never ahead.
    #[column("Dispatch-bound", with = |device| if device.is_dispatch_bound { "yes" } else { "no" })]
    pub is_dispatch_bound: bool,
    /// Median time from the start of the launch to the start of the program.
    #[column("Latency")]
    pub latency_median_ps: Picos,
    /// How much longer all latencies can be, given the bounds on the clocks; `None` if no end of a program was
    /// noticed.
    #[column("plus up to", measured)]
    pub uncertainty_ps: Option<Picos>,
    /// How much shorter all latencies can be, given the bounds on the clocks.
    #[column("minus up to", measured)]
    pub shorter_by_ps: Picos,
    /// Median number of programs that are enqueued but not finished when another is enqueued.
    #[column("Ahead")]
    pub ahead_median: f64,
    /// The largest such number.
    pub ahead_max: u64,
    /// Share of the launches, except the first, at which the device was idle.
    #[column("Ran dry")]
    pub dry_percent: Option<Percent>,
    /// Median gap between programs; `None` with fewer than two programs.
    #[column("Gap", measured)]
    pub gap_median_ps: Option<Picos>,
    /// Median length of a program, by the clock of its ops.
    #[column("Program", measured)]
    pub program_median_ps: Picos,
    /// Share of the time between programs in which the host dispatches.
    #[column]
    pub dispatch_of_gaps_percent: Option<Percent>,
    /// The median gap as a share of the median program.
    #[column(measured)]
    pub gap_of_program_percent: Option<Percent>,
    /// The 90th percentile of the latencies.
    #[column("Latency 90 %")]
    pub latency_p90_ps: Picos,
    /// The longest latency.
    #[column("max")]
    pub latency_max_ps: Picos,
}

/// Gaps below this share of the program between them are negligible.
const GAPS_MATTER: Percent = Percent(5.0);
/// From this share of the gaps on, dispatch counts as their cause.
const MOSTLY: Percent = Percent(50.0);

impl Analysis for Dispatch {
    type Report = DispatchReport;
    const ID: &str = "dispatch";
    const TITLE: &str = "Dispatch";

    fn run(cx: &Context<'_>) -> Result<DispatchReport> {
        let clocks = cx.whole().report::<Clocks>()?;
        let gaps = cx.report::<Gaps>()?;
        let idle: BTreeMap<GroupId, &DeviceGaps> = gaps
            .devices
            .iter()
            .map(|device| (device.group, device))
            .collect();
        let mut devices = Vec::new();
        for core in cx.tensor_cores() {
            let (Some(launches), Some(shift)) = (clocks.launches_of(core), clocks.of(core)) else {
                continue;
            };
            let Some(window) = cx.window(core)? else {
                continue;
            };
            devices.extend(device(
                cx,
                core,
                &runs(cx, core, launches, window),
                shift,
                idle.get(&core).copied(),
            ));
        }
        if devices.is_empty() {
            let what =
                "no program in this part of the trace can be paired with its launch on the host";
            return Err(what.into());
        }
        Ok(DispatchReport { devices })
    }
}

/// How much larger than the applied shift the true one may be, and how much smaller.
fn uncertainty(shift: &ClockShift) -> (Option<Picos>, Picos) {
    let (at_least, at_most) = (shift.bounds.at_least_ps, shift.bounds.at_most_ps);
    match (shift.sync, shift.drift) {
        (_, Some(line)) => (at_most.map(|_| line.slack_ps), line.slack_ps),
        (ClockSync::Poor, None) => {
            let apart = at_most.map(|at_most| (at_least - at_most).clamped());
            (apart, apart.unwrap_or_default())
        }
        _ => room(shift.bounds, shift.shift_ps),
    }
}

/// How far a shift is below the largest one that is possible, and above the smallest.
fn room(possible: ShiftInterval, shift_ps: Picos) -> (Option<Picos>, Picos) {
    let above = possible
        .at_most_ps
        .map(|at_most| (at_most - shift_ps).clamped());
    (above, (shift_ps - possible.at_least_ps).clamped())
}

/// An execution paired with its launch.
struct ProgramRun {
    /// Begin of the launch.
    enqueued: Timestamp,
    /// The program on the clock of the host.
    ran: TimeRange,
    /// By the clock of its ops.
    length_ps: Picos,
    in_scope: bool,
}

/// All executions that have a launch, in the order of the launches.
fn runs(
    cx: &Context<'_>,
    core: GroupId,
    launches: &LaunchPairs,
    window: TimeWindow,
) -> Vec<ProgramRun> {
    let run = |pair: &facts::clock_alignment::LaunchPair| {
        let program = cx.model.slice(pair.program);
        ProgramRun {
            enqueued: cx.model.slice(pair.host).start(),
            ran: cx.to_host(core, program.range()),
            length_ps: shifted(cx.model, core, program.range()).dur(),
            in_scope: counts(cx, window, program),
        }
    };
    let mut runs: Vec<ProgramRun> = launches.begins.iter().map(run).collect();
    runs.sort_by_key(|run| (run.enqueued, run.ran.start));
    runs
}

/// For each launch the number of programs that were enqueued before and have not ended by then.
fn ahead(runs: &[ProgramRun]) -> Vec<u64> {
    let mut ends: Vec<Timestamp> = runs.iter().map(|run| run.ran.end).collect();
    ends.sort_unstable();
    runs.iter()
        .enumerate()
        .map(|(k, run)| k.saturating_sub(ends.partition_point(|&end| end <= run.enqueued)) as u64)
        .collect()
}

fn device(
    cx: &Context<'_>,
    core: GroupId,
    runs: &[ProgramRun],
    shift: &ClockShift,
    idle: Option<&DeviceGaps>,
) -> Option<DeviceDispatch> {
    let name = cx.model.device_name(core);
    let (uncertainty_ps, shorter_by_ps) = uncertainty(shift);
    let in_scope = || runs.iter().filter(|run| run.in_scope);
    let latencies: Vec<f64> = in_scope()
        .map(|run| (run.ran.start - run.enqueued).as_ps_f64())
        .collect();
    let lengths: Vec<f64> = in_scope().map(|run| run.length_ps.as_ps_f64()).collect();
    let time_at = |times: &[f64], share| quantile(times, share).map(|ps| Picos::from_ps(ps as i64));
    let all: Vec<(&ProgramRun, u64)> = runs
        .iter()
        .zip(ahead(runs))
        .filter(|(run, _)| run.in_scope)
        .collect();
    let depths: Vec<f64> = all.iter().map(|(_, depth)| *depth as f64).collect();
    let dry = all.iter().skip(1).filter(|(_, depth)| *depth == 0).count();
    let dry_percent = math::stats::percent(dry as i64, all.len() as i64 - 1).map(Percent);
    let program_median_ps = time_at(&lengths, 0.5)?;
    let mut spans: Vec<TimeRange> = in_scope().map(|run| run.ran).collect();
    spans.sort_by_key(|span| span.start);
    let between: Vec<f64> = spans
        .windows(2)
        .map(|pair| (pair[1].start - pair[0].end).clamped().as_ps_f64())
        .collect();
    let gap_median_ps = time_at(&between, 0.5);
    let gap_of_program_percent = gap_median_ps.and_then(|gap| Percent::of(gap, program_median_ps));
    let dispatch_of_gaps_percent = idle.and_then(|device| {
        let dispatch = time_of(&device.between, IdleCause::Dispatch);
        Percent::of(dispatch, device.between_ps())
    });
    let at_least = |share: Option<Percent>, limit| share.is_some_and(|share| share >= limit);
    Some(DeviceDispatch {
        core: name,
        launches: latencies.len(),
        latency_median_ps: time_at(&latencies, 0.5)?,
        latency_p90_ps: time_at(&latencies, 0.9)?,
        latency_max_ps: time_at(&latencies, 1.0)?,
        uncertainty_ps,
        shorter_by_ps,
        ahead_median: quantile(&depths, 0.5)?,
        ahead_max: all.iter().map(|(_, depth)| *depth).max()?,
        dry_percent,
        program_median_ps,
        gap_median_ps,
        gap_of_program_percent,
        dispatch_of_gaps_percent,
        is_dispatch_bound: at_least(gap_of_program_percent, GAPS_MATTER)
            && (at_least(dispatch_of_gaps_percent, MOSTLY) || at_least(dry_percent, MOSTLY)),
    })
}

impl Tabular for DispatchReport {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("dispatch", "From launch to program", &self.devices)
            .remaining()
            .note(
                "Latency is from the start of the launch on the host to the start of the program, on the clock of the \
                 host, median; the true values may be longer by “plus up to” and shorter by “minus up to”. Ahead: programs launched but not finished when another one is launched (median). Ran dry: launches that found none.",
            )
            .note(
                "Dispatch-bound: the median gap is at least 5 % of the median program, and dispatch takes half of the \
                 time between programs, or half of the launches found the device idle.",
            );
        vec![table.build()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(enqueued: i64, start: i64, end: i64) -> ProgramRun {
        let at = Timestamp::from_ps;
        ProgramRun {
            enqueued: at(enqueued),
            ran: TimeRange::new(at(start), at(end)),
            length_ps: Picos::from_ps(end - start),
            in_scope: true,
        }
    }

    #[test]
    fn run_ahead_counts_enqueued_unfinished_programs() {
        // Two at once, a third while the second runs, and one to an idle device.
        let runs = [
            run(0, 10, 20),
            run(1, 20, 30),
            run(25, 30, 40),
            run(50, 60, 70),
            run(70, 71, 72),
        ];
        assert_eq!(ahead(&runs), [0, 1, 1, 0, 0]);
    }

    fn report(model: &TraceModel) -> Result<DispatchReport> {
        let (options, reports) = (engine::Options::default(), engine::ReportCache::default());
        let cx = Context {
            model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        cx.report::<Dispatch>()
            .map(|report| report.as_ref().clone())
    }

    /// If there are as many launches as programs on the only device, they are paired in order. With the smallest
    /// shift the shortest latency is 0; the longest is 2 ns more.
    #[test]
    fn host_that_never_runs_ahead_is_the_bottleneck() {
        let model = sample_traces::text_trace(
            "
            modules  : ...AA.....AA.......AA
            host main: .LL....LL......LL....
            A = jit_f(1)
            L = X::ExecuteLaunch
            ",
        );
        let device = report(&model).unwrap().devices[0].clone();
        assert_eq!(
            (
                device.launches,
                device.latency_median_ps.ps(),
                device.latency_max_ps.ps()
            ),
            (3, 3_000, 4_000)
        );
        assert_eq!(
            (
                device.uncertainty_ps,
                device.ahead_median,
                device.dry_percent
            ),
            (None, 0.0, Some(Percent(100.0)))
        );
        assert_eq!(
            (device.program_median_ps, device.gap_median_ps),
            (Picos::from_ps(2_000), Some(Picos::from_ps(6_000)))
        );
        assert!(device.is_dispatch_bound);
    }

    /// With a clock ahead of the host's, the smallest shift is the one at which the last program ends as late as it can.
    #[test]
    fn latencies_may_be_shorter_where_the_clock_is_ahead() {
        let ps = Picos::from_ps;
        let room = |at_least, at_most, shift| {
            let possible = ShiftInterval {
                at_least_ps: ps(at_least),
                at_most_ps: Some(ps(at_most)),
            };
            room(possible, ps(shift))
        };
        assert_eq!(room(-320, -297, -297), (Some(ps(0)), ps(23)));
        assert_eq!(room(120, 150, 120), (Some(ps(30)), ps(0)));
        assert_eq!(room(-10, 10, 0), (Some(ps(10)), ps(10)));
    }

    #[test]
    fn queued_programs_are_not_a_problem() {
        let model = sample_traces::text_trace(
            "
            modules  : ....AAAAAAAAAA.AAAAAAAAAAAAA
            host main: LLM.........................
            A = jit_f(1)
            L = X::ExecuteLaunch
            M = Y::ExecuteLaunch
            ",
        );
        let device = report(&model).unwrap().devices[0].clone();
        assert_eq!(
            (device.launches, device.ahead_max, device.dry_percent),
            (2, 1, Some(Percent(0.0)))
        );
        assert_eq!(device.gap_median_ps, Some(Picos::from_ps(1_000)));
        assert!(!device.is_dispatch_bound);
        assert_eq!(device.latency_max_ps.ps(), 13_000);
    }

    #[test]
    fn not_applicable_without_launches() {
        assert!(report(&sample_traces::text_trace("modules: AA.BB")).is_err());
    }
}
