//! One step, and a class of steps that run the same programs.

use engine::prelude::*;
use math::stats::Stats;

use crate::clock_alignment::device_clock;

/// One step.
#[engine::row(measured)]
#[derive(Default)]
pub struct Step {
    /// Its number, which `--steps` selects.
    #[column(id = "step", unit = None)]
    pub number: u32,
    /// Its recorded name.
    #[column("Recorded as")]
    pub label: String,
    /// The recorded number, where it is not its own because numbers repeat.
    pub recorded: Option<u32>,
    /// Begin on the first core, on the timeline.
    #[column("Begin")]
    pub start_ps: Timestamp,
    /// Longest span over the cores, by the clock that timed their ops.
    #[column]
    pub time_ps: Picos,
    /// From the start to the start of the next step, on the slowest core, by the same clock; `None` for the last.
    #[column("Begin to begin")]
    pub interval_ps: Option<Picos>,
    /// Time of compilation on the host during the step.
    #[column("Compiling")]
    pub compile_ps: Picos,
    /// The core (or host) with the longest span, if there are several.
    #[column]
    pub slowest: Option<Arc<str>>,
    /// Whether it is only partly in the capture, and so excluded from the statistics.
    pub is_partial: bool,
    /// Whether it is a warm-up step, by the options or because it is slow and compiles. Excluded from the statistics.
    pub is_warmup: bool,
    /// Whether it is unusually slow: modified z above 3.5 and more than 1.3 × the median of its class.
    #[column(id = "remark", with = Self::remark)]
    pub is_outlier: bool,
    /// Its class: an index of the report's classes.
    pub class: usize,
    /// Modified z-score of its time in its class; `None` for classes of fewer than
    /// three steps.
    #[column("Modified z")]
    pub z: Option<f64>,
    /// Reason why the statistics exclude it.
    #[column("Left out as")]
    pub left_out: Option<String>,
    /// Its span on each core or host, in the order of these.
    pub spans: Vec<StepSpan>,
    /// Cores or hosts whose part of it is cut or missing.
    #[serde(skip)]
    pub partial_on: Vec<GroupId>,
    /// Devices whose ops in it the file does not hold to the end: its length on them is known, its parts are not.
    #[serde(skip)]
    pub cut_on: Vec<GroupId>,
}

/// A step on one core or host.
#[engine::reported]
#[derive(Copy)]
pub struct StepSpan {
    /// The core or host.
    pub group: GroupId,
    /// Span on the timeline.
    pub range: TimeRange,
    /// Span on the clock that timed its ops; step times use it.
    pub measured: TimeRange,
}

impl StepSpan {
    /// Its span by the clock of the host.
    pub fn on_host(&self, cx: &Context<'_>) -> TimeRange {
        device_clock(cx, self.group).span_to_host(self.range, || self.measured)
    }
}

impl Step {
    /// From the first start to the last end; `None` without spans.
    pub fn range(&self) -> Option<TimeRange> {
        self.spans
            .iter()
            .map(|span| span.range)
            .reduce(TimeRange::hull)
    }

    /// `7`; `7 (recorded as 3)` where recorded numbers repeat.
    pub fn title(&self) -> String {
        let recorded = self
            .recorded
            .map_or_else(String::new, |recorded| format!(" (recorded as {recorded})"));
        format!("{}{recorded}", self.number)
    }

    /// Its span on a core or host.
    pub fn span_on(&self, group: GroupId) -> Option<&StepSpan> {
        let index = self.spans.partition_point(|span| span.group < group);
        self.spans.get(index).filter(|span| span.group == group)
    }

    /// Whether the host compiles for more than half of it.
    pub fn mostly_compiles(&self) -> bool {
        self.compile_ps.ps() > self.time_ps.ps() / 2
    }
}

/// Steps that do the same work.
#[engine::reported]
pub struct StepClass {
    /// `A`, `B` …
    pub id: String,
    /// The functions that its steps run, or their marker.
    pub title: String,
    /// Number of its steps, including excluded ones.
    pub steps: usize,
    /// Statistics of `time_ps` over its complete steps after warm-up.
    pub time: Option<Stats>,
    /// Statistics of `interval_ps` over the same steps.
    pub interval: Option<Stats>,
}

/// Span of a step on the host clock, for comparison with host events.
pub fn on_host(cx: &Context<'_>, spans: &[StepSpan]) -> Option<TimeRange> {
    spans
        .iter()
        .map(|span| span.on_host(cx))
        .reduce(TimeRange::hull)
}
