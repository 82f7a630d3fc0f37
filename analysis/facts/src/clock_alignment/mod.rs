//! Measures how far a device clock is from its host's, and corrects it.
//!
//! A program cannot start before the host has enqueued it, and the host cannot notice its end before it has ended.
//! Every pair of events bounds the shift `δ` that device times need:
//!
//! ```text
//! host    [enqueue]......................[completion]
//! device     ..δ..>[program]
//!         enqueue.begin ≤ program.begin + δ     program.end + δ ≤ completion.begin
//! ```
//!
//! Device times come in two bases: the timeline, to which the profiler has already mapped them, and the clock that
//! timed the ops. Usually both differ by a constant, and the shift applies to the timeline. If no shift puts the
//! timeline in order, a shift of the ops' clock may: on a real v6e capture the profiler's mapping is off by up to 198
//! ms, while one shift of the ops' own clock satisfies every launch and completion of 98 s within 0.1 ms. Then the
//! ops' clock is the base.
//!
//! The model stays as it was recorded. The shift is applied wherever device and host times are compared
//! ([`TraceFacts::programs_on_host`](super::TraceFacts::programs_on_host),
//! [`TraceFacts::to_host`](super::TraceFacts::to_host)), and never to a duration.

mod bounds;
mod hosts;
mod pairs;
mod table;

use engine::prelude::*;

use super::device_shift::shifted;
use bounds::LEAST_FOR_THIRDS;

pub use bounds::{ShiftBound, ShiftInterval, ShiftLine};
pub use hosts::HostOffset;
pub use pairs::{LaunchPair, LaunchPairs, PairedBy, TimedProgram, programs, timed_programs};
pub use table::device_table;

/// Clocks of all devices compared with those of their hosts.
#[engine::reported]
pub struct ClocksReport {
    /// Devices whose programs can be paired with host events, independent of the device selection.
    pub devices: Vec<ClockShift>,
    /// Offset of every host but the first against the first, from collectives that both run. It is applied only where
    /// executions are matched over hosts.
    pub hosts: Vec<HostOffset>,
    /// Programs with their host events, in the order of `devices`.
    #[serde(skip)]
    pub launches: Vec<LaunchPairs>,
    /// Index of each device in the list.
    #[serde(skip)]
    places: BTreeMap<GroupId, usize>,
    /// Index of each device in `launches`.
    #[serde(skip)]
    launch_places: BTreeMap<GroupId, usize>,
}

/// The relation between the clocks of a device and its host.
#[engine::titled]
pub enum ClockSync {
    /// Times can be compared as they were recorded.
    Aligned = "aligned",
    /// A constant shift puts everything in order.
    Shifted = "constant shift",
    /// Only a shift that grows with time does.
    Drifting = "drifting",
    /// No shift does: some programs seem to end after the host noticed their end.
    Poor = "poor sync",
}

/// The time base of a device.
#[engine::titled]
#[derive(Default)]
pub enum ClockBase {
    /// As the profiler mapped them to the timeline.
    #[default]
    Timeline = "timeline",
    /// By the clock that timed the ops.
    DeviceClock = "device clock",
}

/// The shift that one device needs.
#[engine::row(measured)]
pub struct ClockShift {
    /// Name of the device.
    #[column("Device")]
    pub core: String,
    /// The device.
    #[serde(skip)]
    pub group: GroupId,
    /// Executions that were paired with their launch.
    #[column("Launches")]
    pub pairs: usize,
    /// Executions whose end the host noticed.
    #[column]
    pub ends: usize,
    /// How executions were paired.
    #[column]
    pub paired_by: PairedBy,
    /// The time base that the shift applies to.
    #[column("Of", inferred)]
    pub base: ClockBase,
    /// The host events that bound the shift (`DoEnqueueProgram`, `CompleteCallbacks`).
    #[column("By")]
    pub evidence: Vec<String>,
    /// The shifts that all pairs allow.
    #[serde(flatten)]
    #[column(nested)]
    pub bounds: ShiftInterval,
    /// The correction: none if possible, else the smallest. If the clocks drift, at the middle of the pairs.
    #[column(inferred)]
    pub shift_ps: Picos,
    /// The conclusion from the bounds.
    #[column("Clocks", inferred)]
    pub sync: ClockSync,
    /// The shifts that the first third of the pairs allows; `None` with fewer than six.
    #[column("First third at least", id = "first_at_least_ps", with = |shift| Some(shift.first_third?.at_least_ps))]
    #[column("at most", id = "first_at_most_ps", with = |shift| shift.first_third?.at_most_ps)]
    pub first_third: Option<ShiftInterval>,
    /// The shifts that the last third of the pairs allows; `None` with fewer than six.
    #[column("Last third at least", id = "last_at_least_ps", with = |shift| Some(shift.last_third?.at_least_ps))]
    #[column("at most", id = "last_at_most_ps", with = |shift| shift.last_third?.at_most_ps)]
    pub last_third: Option<ShiftInterval>,
    /// The shift as a function of time, where no constant fits but a line does.
    #[column("Drift (ppm)", inferred, id = "drift_ppm", with = |shift| Some(shift.drift?.drift_ppm))]
    pub drift: Option<ShiftLine>,
}

impl ClockShift {
    /// The correction as a [`DeviceToHostClock`].
    pub fn clock(&self) -> DeviceToHostClock {
        let constant = ShiftLine {
            shift_ps: self.shift_ps,
            ..ShiftLine::default()
        };
        DeviceToHostClock {
            base: self.base,
            line: self.drift.unwrap_or(constant),
        }
    }
}

/// Converts times of one device to the clock of its host.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceToHostClock {
    /// The time base of its input.
    pub base: ClockBase,
    line: ShiftLine,
}

impl DeviceToHostClock {
    /// Converts a time in this base to the host's clock.
    pub fn to_host(self, time: Timestamp) -> Timestamp {
        let ShiftLine {
            shift_ps,
            at_ps,
            drift_ppm,
            ..
        } = self.line;
        let drift = Picos::from_ps((drift_ppm * 1e-6 * (time - at_ps).as_ps_f64()) as i64);
        time + shift_ps + drift
    }

    /// Converts a span with the given place on the timeline and by the clock of the ops.
    pub(crate) fn span_to_host(
        self,
        range: TimeRange,
        measured: impl FnOnce() -> TimeRange,
    ) -> TimeRange {
        let range = if self.base == ClockBase::DeviceClock {
            measured()
        } else {
            range
        };
        TimeRange::new(self.to_host(range.start), self.to_host(range.end))
    }
}

pub(crate) fn device_clock(cx: &Context<'_>, core: GroupId) -> DeviceToHostClock {
    cx.fact::<ClocksReport>()
        .of(core)
        .map(ClockShift::clock)
        .unwrap_or_default()
}

pub(super) fn to_host(cx: &Context<'_>, core: GroupId, range: TimeRange) -> TimeRange {
    with_clock(cx.model, device_clock(cx, core), core, range)
}

fn with_clock(
    model: &TraceModel,
    clock: DeviceToHostClock,
    core: GroupId,
    range: TimeRange,
) -> TimeRange {
    clock.span_to_host(range, || shifted(model, core, range))
}

/// Converts spans of a core to the clock of the first host, to find what belongs together on several.
#[derive(Clone, Copy, Debug)]
pub struct SharedClock {
    core: GroupId,
    clock: DeviceToHostClock,
    /// How much later the clock of its host is.
    offset: Picos,
}

impl SharedClock {
    /// `None` if there is only one host, or nothing tells how their clocks differ: spans stay as they were recorded.
    pub fn of(cx: &Context<'_>, core: GroupId) -> Option<Self> {
        let hosts = &cx.fact::<ClocksReport>().hosts;
        let host = cx.model.host_of(core);
        let offset = hosts.iter().find(|offset| offset.id == host);
        (!hosts.is_empty()).then(|| Self {
            core,
            clock: device_clock(cx, core),
            offset: offset.map_or(Picos::ZERO, |host| host.offset_ps),
        })
    }

    /// A span by the shared clock.
    pub fn convert(&self, cx: &Context<'_>, range: TimeRange) -> TimeRange {
        let range = with_clock(cx.model, self.clock, self.core, range);
        TimeRange::new(range.start - self.offset, range.end - self.offset)
    }
}

pub(super) fn programs_on_host<'a>(
    cx: &Context<'a>,
    core: GroupId,
) -> Vec<(SliceRef<'a>, TimeRange)> {
    let clock = device_clock(cx, core);
    if clock.base == ClockBase::Timeline {
        return programs(cx.model, core)
            .into_iter()
            .map(|program| {
                (
                    program,
                    clock.span_to_host(program.range(), || program.range()),
                )
            })
            .collect();
    }
    let timed = timed_programs(cx, core);
    timed
        .iter()
        .map(|timed| {
            let range = clock.span_to_host(timed.range, || timed.measured);
            (cx.model.slice(timed.program), range)
        })
        .collect()
}

impl ClocksReport {
    /// The shift of one device; `None` if nothing pairs its programs with the host.
    pub fn of(&self, core: GroupId) -> Option<&ClockShift> {
        self.devices.get(*self.places.get(&core)?)
    }

    /// Host events of the executions of one device.
    pub fn launches_of(&self, core: GroupId) -> Option<&LaunchPairs> {
        self.launches.get(*self.launch_places.get(&core)?)
    }
}

impl Fact for ClocksReport {
    fn find(cx: &Context<'_>) -> Self {
        let launches = pairs::launches(cx.model);
        let devices: Vec<ClockShift> = launches
            .iter()
            .filter_map(|launches| clock_shift(cx, launches))
            .collect();
        let places: BTreeMap<GroupId, usize> = devices
            .iter()
            .enumerate()
            .map(|(place, shift)| (shift.group, place))
            .collect();
        let shift = |core| devices.get(*places.get(&core)?);
        let clock = |core| shift(core).map(ClockShift::clock).unwrap_or_default();
        let hosts = hosts::host_offsets(cx, |core, range| {
            with_clock(cx.model, clock(core), core, range)
        });
        let launch_places = launches
            .iter()
            .enumerate()
            .map(|(place, pairs)| (pairs.core, place))
            .collect();
        Self {
            devices,
            hosts,
            launches,
            places,
            launch_places,
        }
    }
}

/// The shift of one device: for the timeline if a shift puts that in order, else for the clock of its ops if a shift
/// puts that in order.
fn clock_shift(cx: &Context<'_>, launches: &LaunchPairs) -> Option<ClockShift> {
    let model = cx.model;
    let on_timeline = fit(model, launches, ClockBase::Timeline, |program| {
        model.slice(program).range()
    })?;
    if on_timeline.sync < ClockSync::Drifting {
        return Some(on_timeline);
    }
    let timed = timed_programs(cx, launches.core);
    let by_ops = fit(model, launches, ClockBase::DeviceClock, |program| {
        let range = model.slice(program).range();
        let index = timed.binary_search_by_key(&(range.start, program), |timed| {
            (timed.range.start, timed.program)
        });
        index.map_or_else(
            |_| shifted(model, launches.core, range),
            |index| timed[index].measured,
        )
    });
    by_ops
        .filter(|by_ops| by_ops.sync < on_timeline.sync)
        .or(Some(on_timeline))
}

fn fit(
    model: &TraceModel,
    launches: &LaunchPairs,
    base: ClockBase,
    span: impl Fn(SliceId) -> TimeRange,
) -> Option<ClockShift> {
    let bound = |time: Timestamp, host: SliceId| ShiftBound {
        at_ps: time,
        shift_ps: model.slice(host).start() - time,
    };
    let lower: Vec<ShiftBound> = launches
        .begins
        .iter()
        .map(|pair| bound(span(pair.program).start, pair.host))
        .collect();
    let upper: Vec<ShiftBound> = launches
        .ends
        .iter()
        .map(|pair| bound(span(pair.program).end, pair.host))
        .collect();
    let bounds = ShiftInterval::of(&lower, &upper)?;
    let drift = if bounds.is_empty() {
        bounds::line(&lower, &upper)
    } else {
        None
    };
    let shift_ps = drift.map_or_else(|| bounds.choice_ps(), |line| line.shift_ps);
    let ((first, last), (first_ends, last_ends)) = (bounds::thirds(&lower), bounds::thirds(&upper));
    let third = |lower: &[ShiftBound], upper: &[ShiftBound]| {
        (launches.begins.len() >= LEAST_FOR_THIRDS)
            .then(|| ShiftInterval::of(lower, upper))
            .flatten()
    };
    Some(ClockShift {
        core: model.device_name(launches.core),
        group: launches.core,
        pairs: lower.len(),
        ends: upper.len(),
        paired_by: launches.paired_by,
        base,
        evidence: evidence(model, launches),
        bounds,
        shift_ps,
        sync: match (bounds.is_empty(), drift.is_some()) {
            (true, true) => ClockSync::Drifting,
            (true, false) => ClockSync::Poor,
            (false, _) if shift_ps == Picos::ZERO => ClockSync::Aligned,
            (false, _) => ClockSync::Shifted,
        },
        first_third: third(first, first_ends),
        last_third: third(last, last_ends),
        drift,
    })
}

/// Names of the host events, launches before ends.
fn evidence(model: &TraceModel, launches: &LaunchPairs) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for side in [&launches.begins, &launches.ends] {
        let mut host_names: Vec<&str> = side
            .iter()
            .map(|pair| model.slice(pair.host).name())
            .collect();
        host_names.sort_unstable();
        host_names.dedup();
        names.extend(host_names.into_iter().map(str::to_owned));
    }
    names
}
