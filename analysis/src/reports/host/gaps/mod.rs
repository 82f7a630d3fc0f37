//! Idle time of devices between programs, and its causes on the host.
//!
//! ```text
//! device   |  before first  |program| between |program|  after last  |
//! host        [compile    ]  [wait]   [put][dispatch]
//! ```
//!
//! Idle spans between programs are brought to the clock of the host
//! ([`crate::facts::clock_alignment`]) and cut by what it does there ([`IdleCause`]): the parts add up
//! to the idle time exactly. Idle time *within* programs is measured by the clock of
//! the ops and stands apart: the host is not asked then.

mod activity;
mod cause;
mod device;
mod inside;
mod main_cause;
mod merge;
mod steps;
mod table;
mod tally;
#[cfg(test)]
mod tests;

use serde::{Serialize, Serializer};
use std::sync::Arc;
use trace_model::{GroupId, Picos, SourceId, TimeRange, Timestamp};

pub(crate) use activity::HostEventKinds;
pub use cause::IdleCause;
pub use inside::InsidePrograms;

use device::GapCollector;
use tally::ReportNames;

use crate::engine::{Analysis, AnalysisError, Context, Percent, counted};
use crate::engine::{Metric, Provenance};
use crate::facts::host_class::host_threads;
use crate::facts::steps::StepsReport;
use crate::math::intervals::IntervalSet;
use crate::math::unit::Unit;
use crate::reports::ops::op_stats::percent;
use crate::reports::steps::step_times::Steps;

/// The analysis `gaps`.
pub struct Gaps;

/// When devices ran no program, and why.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct GapsReport {
    /// What it comes to, in a sentence.
    pub statement: String,
    /// Headline numbers.
    pub metrics: Vec<Metric>,
    /// Every `TensorCore` that ran a program in the scope.
    pub devices: Vec<DeviceGaps>,
}

/// Where an idle span lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GapPlace {
    /// Before the first program of the capture.
    BeforeFirst,
    /// Between two programs.
    Between,
    /// After the last program of the capture.
    AfterLast,
}

impl GapPlace {
    /// Display name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::BeforeFirst => "before first",
            Self::Between => "between",
            Self::AfterLast => "after last",
        }
    }
}

/// Idle time with one cause.
#[derive(Clone, Debug, PartialEq)]
pub struct CauseTime {
    /// The cause.
    pub cause: IdleCause,
    /// How long.
    pub time_ps: i64,
    /// The host event that says so for most of that time.
    pub(crate) top: Option<EventTime>,
}

impl CauseTime {
    /// The host event that says so for most of that time.
    pub fn event(&self) -> Option<&str> {
        self.top.as_ref().map(|top| &*top.name)
    }
    /// For how much of it.
    pub fn event_ps(&self) -> Option<i64> {
        self.top.as_ref().map(|top| top.time_ps)
    }
}

/// Time of host events of one name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EventTime {
    pub name: Arc<str>,
    pub time_ps: i64,
}

/// Idle time with one cause, as JSON.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "CauseTime")]
struct WrittenCauseTime<'a> {
    /// The cause.
    cause: IdleCause,
    /// How long.
    time_ps: i64,
    /// The host event that says so for most of that time.
    event: Option<&'a str>,
    /// For how much of it.
    event_ps: Option<i64>,
}

impl Serialize for CauseTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { cause, time_ps, .. } = *self;
        WrittenCauseTime { cause, time_ps, event: self.event(), event_ps: self.event_ps() }.serialize(serializer)
    }
}

impl schemars::JsonSchema for CauseTime {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        WrittenCauseTime::schema_name()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        WrittenCauseTime::json_schema(generator)
    }
}

/// The idle time of one device.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct DeviceGaps {
    /// Name of the device.
    pub core: String,
    /// Which device.
    #[serde(skip)]
    pub group: GroupId,
    /// On the clock of the host: the denominator.
    pub window_ps: i64,
    /// Union of programs.
    pub program_ps: i64,
    /// Programs that ran in the window.
    pub programs: u64,
    /// The rest of the window: the sum of `before`, `between` and `after`.
    pub idle_ps: i64,
    /// Gaps between programs.
    pub count: u64,
    /// Idle time before the first program, by cause.
    pub before: Vec<CauseTime>,
    /// Idle time between programs, by cause.
    pub between: Vec<CauseTime>,
    /// Idle time after the last program, by cause.
    pub after: Vec<CauseTime>,
    /// The longest gaps, the longest first; at most 100.
    pub gaps: Vec<Gap>,
    /// Idle time within each step.
    pub steps: Vec<StepGaps>,
    /// Idle time within programs; `None` without ops.
    pub inside: Option<InsidePrograms>,
    /// When it was idle because the host compiled, on the clock of the host.
    #[serde(skip)]
    pub compiling: IntervalSet,
}

/// One idle span.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Gap {
    /// Where it lies.
    pub place: GapPlace,
    /// Where it starts on the timeline as recorded: the end of the program before it.
    pub start_ps: i64,
    /// How long.
    pub length_ps: i64,
    /// The step that it starts in.
    pub step: Option<u32>,
    /// The program before it.
    pub after: Option<Arc<str>>,
    /// The program after it.
    pub before: Option<Arc<str>>,
    /// What the host did meanwhile; adds up to the length.
    pub causes: Vec<CauseTime>,
}

impl Gap {
    /// On the timeline as recorded.
    pub(crate) fn range(&self) -> TimeRange {
        let end = self.start_ps.saturating_add(self.length_ps);
        TimeRange::new(Timestamp::from_ps(self.start_ps), Timestamp::from_ps(end))
    }
}

/// Idle time within one step.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct StepGaps {
    /// Number of the step.
    pub step: u32,
    /// Its length on the clock of the host: the denominator.
    pub length_ps: i64,
    /// Idle time by cause.
    pub causes: Vec<CauseTime>,
}

impl StepGaps {
    /// Idle time of the step.
    pub(crate) fn idle_ps(&self) -> i64 {
        self.causes.iter().map(|part| part.time_ps).sum::<Picos>().ps()
    }
    /// Of which for one cause.
    pub(crate) fn time_ps(&self, cause: IdleCause) -> i64 {
        time_of(&self.causes, cause)
    }
}

fn time_of(causes: &[CauseTime], cause: IdleCause) -> i64 {
    causes.iter().filter(|part| part.cause == cause).map(|part| part.time_ps).sum::<Picos>().ps()
}

impl DeviceGaps {
    /// Idle time in one place, by cause.
    pub fn at(&self, place: GapPlace) -> &[CauseTime] {
        match place {
            GapPlace::BeforeFirst => &self.before,
            GapPlace::Between => &self.between,
            GapPlace::AfterLast => &self.after,
        }
    }
    /// Idle time with one cause, wherever it lies.
    pub fn time_ps(&self, cause: IdleCause) -> i64 {
        let places = [GapPlace::BeforeFirst, GapPlace::Between, GapPlace::AfterLast].into_iter();
        places.map(|place| time_of(self.at(place), cause)).sum::<Picos>().ps()
    }
    /// Idle time between programs.
    pub(crate) fn between_ps(&self) -> i64 {
        self.between.iter().map(|part| part.time_ps).sum::<Picos>().ps()
    }
}

impl Analysis for Gaps {
    type Report = GapsReport;
    const ID: &'static str = "gaps";
    const TITLE: &'static str = "Device gaps";

    fn run(cx: &Context<'_>) -> Result<GapsReport, AnalysisError> {
        let model = cx.model;
        let cores = cx.tensor_cores();
        if cores.is_empty() {
            let what = "no TPU device was recorded, so there are no gaps to explain: capture on a TPU, with its device \
                        traced";
            return Err(AnalysisError::NotApplicable(what.to_owned()));
        }
        let steps = cx.report::<Steps>().ok();
        let mut devices = Vec::new();
        let host = |core: &GroupId| model.group(*core).source;
        // The devices of a host follow each other.
        for cores in cores.chunk_by(|one, next| host(one) == host(next)) {
            devices.extend(devices_of(cx, host(&cores[0]), cores, steps.as_deref())?);
        }
        if devices.is_empty() {
            let what = "no device recorded a program execution here (line XLA Modules), so there is nothing between \
                        programs to explain";
            return Err(AnalysisError::NotApplicable(what.to_owned()));
        }
        let has_host = host_threads(model).next().is_some();
        Ok(GapsReport { statement: statement(&devices, has_host), metrics: metrics(&devices), devices })
    }
}

/// The gaps of the devices of one host.
fn devices_of(
    cx: &Context<'_>,
    host: SourceId,
    cores: &[GroupId],
    steps: Option<&StepsReport>,
) -> Result<Vec<DeviceGaps>, AnalysisError> {
    let watches = cores.iter().filter_map(|&core| GapCollector::new(cx, core, steps).transpose());
    let mut watches: Vec<GapCollector<'_>> = watches.collect::<Result<_, _>>()?;
    let mut names = ReportNames::new(cx.model);
    // None where no device has a gap.
    if let Some(from) = watches.iter().filter_map(GapCollector::next_gap).min() {
        for doing in cx.fact::<HostEventKinds>().doings(cx.model, host, from) {
            for watch in &mut watches {
                watch.see(&doing, &mut names);
            }
            if watches.iter().all(|watch| watch.next_gap().is_none()) {
                break;
            }
        }
    }
    let finish = |watch: GapCollector<'_>| {
        let gaps = watch.finish(&mut names);
        Ok(DeviceGaps { inside: inside::inside_programs(cx, gaps.group)?, ..gaps })
    };
    watches.into_iter().map(finish).collect()
}

/// Causes that make up less of the idle time are not worth a clause.
const WORTH_SAYING_PERCENT: f64 = 10.0;

fn statement(devices: &[DeviceGaps], has_host: bool) -> String {
    let sum = |get: &dyn Fn(&DeviceGaps) -> i64| devices.iter().map(get).fold(0, i64::saturating_add);
    let (idle, window) = (sum(&|device| device.idle_ps), sum(&|device| device.window_ps));
    let share = percent(idle, window).unwrap_or_default();
    // Not “100.0 %” where something ran.
    let digits = if share > 99.9 { 3 } else { 1 };
    let mut text = format!("No program runs for {share:.digits$} % of the window");
    if !has_host {
        return text + "; no host thread was recorded, so the reasons are not known";
    }
    let mut parts: Vec<(i64, IdleCause)> =
        IdleCause::ALL.into_iter().map(|cause| (sum(&|device| device.time_ps(cause)), cause)).collect();
    parts.sort_by_key(|&(time, cause)| (std::cmp::Reverse(time), cause));
    let parts: Vec<String> = parts
        .into_iter()
        .filter_map(|(time, cause)| Some((percent(time, idle)?, cause)))
        .filter(|(share, _)| *share >= WORTH_SAYING_PERCENT)
        .map(|(share, cause)| format!("{} {:.1}", cause.title(), Percent(share)))
        .collect();
    if !parts.is_empty() {
        text = format!("{text}; of that the host shows {}", parts.join(", "));
    }
    text
}

fn metrics(devices: &[DeviceGaps]) -> Vec<Metric> {
    let sum = |get: fn(&DeviceGaps) -> i64| devices.iter().map(get).fold(0, i64::saturating_add);
    let of = format!("window × {}, on the clock of the host", counted(devices.len(), "device"));
    let metric = |id, title, part, whole, of: &str| Metric {
        id,
        title,
        value: percent(part, whole),
        unit: Unit::Percent,
        of: of.to_owned(),
        provenance: Provenance::Measured,
        note: None,
    };
    let window = sum(|device| device.window_ps);
    let mut out = vec![
        metric("gaps_percent", "No program running", sum(|device| device.idle_ps), window, &of),
        metric("gaps_between_percent", "of which between programs", sum(DeviceGaps::between_ps), window, &of),
    ];
    let inside: Vec<&InsidePrograms> = devices.iter().filter_map(|device| device.inside.as_ref()).collect();
    let total = |of: fn(&InsidePrograms) -> i64| inside.iter().map(|inside| of(inside)).sum::<Picos>().ps();
    let (idle, program) = (total(|inside| inside.idle_ps), total(|inside| inside.program_ps));
    out.push(Metric {
        note: Some("by the device clock; independent of the host".to_owned()),
        ..metric("gaps_inside_percent", "No op within programs", idle, program, "time of programs")
    });
    out
}
