//! Rows of the report on idle time of devices.

use std::sync::Arc;

use engine::Metric;
use math::intervals::IntervalSet;
use serde::{Serialize, Serializer};
use trace_model::{GroupId, Picos, TimeRange, Timestamp};

use super::cause::IdleCause;
use super::inside::InsidePrograms;

/// Idle time of devices, with causes.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct GapsReport {
    /// The result, in one sentence.
    pub statement: String,
    /// Headline numbers.
    pub metrics: Vec<Metric>,
    /// Every `TensorCore` that ran a program in the scope.
    pub devices: Vec<DeviceGaps>,
}

/// The position of an idle span.
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
    /// Duration.
    pub time_ps: i64,
    /// The host event that covers most of that time.
    pub(crate) top: Option<EventTime>,
}

impl CauseTime {
    /// The host event that covers most of that time.
    pub fn event(&self) -> Option<&str> {
        self.top.as_ref().map(|top| &*top.name)
    }
    /// How much of it the event covers.
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
pub(super) struct WrittenCauseTime<'a> {
    /// The cause.
    cause: IdleCause,
    /// Duration.
    time_ps: i64,
    /// The host event that covers most of that time.
    event: Option<&'a str>,
    /// How much of it the event covers.
    event_ps: Option<i64>,
}

impl Serialize for CauseTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { cause, time_ps, .. } = *self;
        WrittenCauseTime {
            cause,
            time_ps,
            event: self.event(),
            event_ps: self.event_ps(),
        }
        .serialize(serializer)
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
    /// The device.
    #[serde(skip)]
    pub group: GroupId,
    /// Length of the window on the clock of the host: the denominator.
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
    /// The spans in which it was idle because the host compiled, on the clock of the host.
    #[serde(skip)]
    pub compiling: IntervalSet,
}

/// One idle span.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Gap {
    /// Its position.
    pub place: GapPlace,
    /// Start on the timeline as recorded: the end of the program before it.
    pub start_ps: i64,
    /// Duration.
    pub length_ps: i64,
    /// The step that it starts in.
    pub step: Option<u32>,
    /// The program before it.
    pub after: Option<Arc<str>>,
    /// The program after it.
    pub before: Option<Arc<str>>,
    /// Host activity in the meantime; adds up to the length.
    pub causes: Vec<CauseTime>,
}

impl Gap {
    /// On the timeline as recorded.
    pub fn range(&self) -> TimeRange {
        let end = self.start_ps.saturating_add(self.length_ps);
        TimeRange::new(Timestamp::from_ps(self.start_ps), Timestamp::from_ps(end))
    }
    /// The recorded activity with the most of it, if anything was recorded.
    pub(super) fn main(&self) -> Option<&CauseTime> {
        self.recorded()
            .min_by_key(|part| (std::cmp::Reverse(part.time_ps), part.cause))
    }
    /// The other recorded activities with at least `least` of its time.
    pub(super) fn others(&self, least: f64) -> impl Iterator<Item = &CauseTime> {
        let main = self.main().map(|part| part.cause);
        let is_long = move |part: &&CauseTime| part.time_ps as f64 >= least * self.length_ps as f64;
        self.recorded()
            .filter(move |part| Some(part.cause) != main)
            .filter(is_long)
    }
    /// The part in which nothing was recorded.
    pub(super) fn unexplained_ps(&self) -> i64 {
        time_of(&self.causes, IdleCause::Unknown)
    }
    fn recorded(&self) -> impl Iterator<Item = &CauseTime> {
        self.causes
            .iter()
            .filter(|part| part.cause != IdleCause::Unknown)
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
        self.causes
            .iter()
            .map(|part| part.time_ps)
            .sum::<Picos>()
            .ps()
    }
    /// The part with one cause.
    pub fn time_ps(&self, cause: IdleCause) -> i64 {
        time_of(&self.causes, cause)
    }
}

pub(super) fn time_of(causes: &[CauseTime], cause: IdleCause) -> i64 {
    causes
        .iter()
        .filter(|part| part.cause == cause)
        .map(|part| part.time_ps)
        .sum::<Picos>()
        .ps()
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
    /// Idle time with one cause, at any position.
    pub fn time_ps(&self, cause: IdleCause) -> i64 {
        let places = [
            GapPlace::BeforeFirst,
            GapPlace::Between,
            GapPlace::AfterLast,
        ]
        .into_iter();
        places
            .map(|place| time_of(self.at(place), cause))
            .sum::<Picos>()
            .ps()
    }
    /// Idle time between programs.
    pub fn between_ps(&self) -> i64 {
        self.between
            .iter()
            .map(|part| part.time_ps)
            .sum::<Picos>()
            .ps()
    }
}
