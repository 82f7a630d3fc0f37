//! Rows of the report on idle time of devices.

use facts::prelude::*;

use super::cause::IdleCause;
use super::inside::InsidePrograms;

/// Idle time of devices, with causes.
#[engine::reported]
pub struct GapsReport {
    /// The result, in one sentence.
    pub statement: String,
    /// Headline numbers.
    pub metrics: Vec<Metric>,
    /// Every `TensorCore` that ran a program in the scope.
    pub devices: Vec<DeviceGaps>,
}

/// The position of an idle span.
#[engine::titled]
pub enum GapPlace {
    /// Before the first program of the capture.
    BeforeFirst,
    /// Between two programs; in chosen steps, all of it.
    Between,
    /// After the last program of the capture.
    AfterLast,
}

/// Idle time with one cause.
#[engine::reported]
pub struct CauseTime {
    /// The cause.
    pub cause: IdleCause,
    /// Duration.
    pub time_ps: Picos,
    /// The host event that covers most of that time.
    pub event: Option<Arc<str>>,
    /// How much of it the event covers.
    pub event_ps: Option<Picos>,
}

/// The idle time of one device.
#[engine::row(measured)]
pub struct DeviceGaps {
    /// Name of the device.
    #[column("Device")]
    pub core: String,
    /// The device.
    #[serde(skip)]
    pub group: GroupId,
    /// Whether its host was recorded: else it is unknown what the host did.
    #[serde(skip)]
    pub has_host: bool,
    /// Length of the window on the clock of the host: the denominator.
    #[column]
    pub window_ps: Picos,
    /// Union of programs.
    pub program_ps: Picos,
    /// Programs that ran in the window.
    #[column]
    pub programs: u64,
    /// The rest of the window: the sum of `before`, `between` and `after`.
    #[column("No program")]
    pub idle_ps: Picos,
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
    /// All idle time by cause: spans on the clock of the host, in time order.
    #[serde(skip)]
    pub spans: Vec<IdleSpanCause>,
}

/// A span in which a device was idle for one reason, on the clock of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleSpanCause {
    /// When.
    pub range: TimeRange,
    /// Why.
    pub cause: IdleCause,
}

/// One idle span.
#[engine::row(measured)]
pub struct Gap {
    /// Its position.
    pub place: GapPlace,
    /// Start on the timeline as recorded: the end of the program before it.
    #[column("Begin")]
    pub start_ps: Timestamp,
    /// Duration.
    #[column]
    pub length_ps: Picos,
    /// Host activity in the meantime; adds up to the length.
    #[column("Host", inferred, id = "cause", with = Self::cause)]
    #[column("Of gap", id = "cause_percent", with = |gap| Percent::of(gap.main()?.time_ps, gap.length_ps))]
    #[column(id = "unexplained_percent", with = Self::unexplained)]
    #[column("Mostly", inferred, id = "event", with = |gap| gap.main()?.event.as_deref())]
    #[column(inferred, id = "also", with = Self::also)]
    pub causes: Vec<CauseTime>,
    /// The step that it starts in.
    #[column(unit = None)]
    pub step: Option<u32>,
    /// The program before it.
    #[column]
    pub after: Option<Arc<str>>,
    /// The program after it.
    #[column]
    pub before: Option<Arc<str>>,
}

/// Other activities with a smaller share of a gap are not named.
const NAMED: f64 = 0.01;

impl Gap {
    /// On the timeline as recorded.
    pub fn range(&self) -> TimeRange {
        TimeRange::at(self.start_ps, self.length_ps)
    }
    /// The recorded activity with the most of it, if anything was recorded.
    fn main(&self) -> Option<&CauseTime> {
        self.recorded()
            .min_by_key(|part| (Reverse(part.time_ps), part.cause))
    }
    fn cause(&self) -> IdleCause {
        self.main().map_or(IdleCause::Unknown, |top| top.cause)
    }
    /// The other recorded activities with a share that is worth its name.
    fn also(&self) -> Option<String> {
        let cause = self.cause();
        let least = NAMED * self.length_ps.as_ps_f64();
        let others: Vec<String> = self
            .recorded()
            .filter(|part| part.cause != cause && part.time_ps.as_ps_f64() >= least)
            .map(|part| {
                let event = part.event.as_ref();
                let event = event.map_or_else(String::new, |event| format!(" ({event})"));
                format!("{} {}{event}", part.cause.title(), part.time_ps)
            })
            .collect();
        (!others.is_empty()).then(|| others.join(", "))
    }
    /// The share in which nothing was recorded.
    fn unexplained(&self) -> Option<Percent> {
        Percent::of(time_of(&self.causes, IdleCause::Unknown), self.length_ps)
    }
    fn recorded(&self) -> impl Iterator<Item = &CauseTime> {
        self.causes
            .iter()
            .filter(|part| part.cause != IdleCause::Unknown)
    }
}

/// Idle time within one step.
#[engine::reported]
pub struct StepGaps {
    /// Number of the step.
    pub step: u32,
    /// Its length on the clock of the host: the denominator.
    pub length_ps: Picos,
    /// Idle time by cause.
    pub causes: Vec<CauseTime>,
}

impl StepGaps {
    /// Idle time of the step.
    pub(crate) fn idle_ps(&self) -> Picos {
        self.causes.iter().map(|part| part.time_ps).sum()
    }
    /// The part with one cause.
    pub fn time_ps(&self, cause: IdleCause) -> Picos {
        time_of(&self.causes, cause)
    }
}

pub(in crate::host) fn time_of(causes: &[CauseTime], cause: IdleCause) -> Picos {
    causes
        .iter()
        .filter(|part| part.cause == cause)
        .map(|part| part.time_ps)
        .sum()
}

impl DeviceGaps {
    /// The spans in which it was idle because the host compiled, on the clock of the host.
    pub fn compiling(&self) -> IntervalSet {
        let compiling = self
            .spans
            .iter()
            .filter(|span| span.cause == IdleCause::Compile);
        compiling.map(|span| span.range).collect()
    }
    /// Idle time in one place, by cause.
    pub fn at(&self, place: GapPlace) -> &[CauseTime] {
        match place {
            GapPlace::BeforeFirst => &self.before,
            GapPlace::Between => &self.between,
            GapPlace::AfterLast => &self.after,
        }
    }
    /// Idle time with one cause, at any position.
    pub fn time_ps(&self, cause: IdleCause) -> Picos {
        [&self.before, &self.between, &self.after]
            .map(|causes| time_of(causes, cause))
            .into_iter()
            .sum()
    }
    /// Idle time between programs.
    pub fn between_ps(&self) -> Picos {
        self.between.iter().map(|part| part.time_ps).sum()
    }
}
