//! What the report on serving holds.

use facts::prelude::*;
use math::quantile::of_sorted;

use super::names::ServingPhase;

/// Requests, batches and phases of a program that serves requests.
#[engine::reported]
pub struct ServingReport {
    /// Times of requests: queue, time to first token, time per output token, latency. Only those that the annotations
    /// name.
    pub latencies: Vec<ServingLatency>,
    /// Phases that are annotated, in the order of a request.
    pub phases: Vec<PhaseTimes>,
    /// Requests that begin in the scope, by their start; empty if no annotation has the id of a request.
    pub requests: Vec<ServedRequest>,
    /// Batches, by phase and the number of their requests.
    pub batches: Vec<BatchSize>,
    /// Steps of the engine, by phase; empty where neither frames of Python nor annotations show them.
    pub steps: Vec<EngineSteps>,
    /// Time in which devices ran no program between the first and the last step of the engine, by what the host did; the
    /// longest first.
    pub idle: Vec<EngineIdle>,
    /// What programs have to read from HBM.
    pub reads: Vec<ProgramReads>,
    /// Annotations that were read.
    pub annotations: Vec<ServingAnnotation>,
    /// Patterns of the user that no event matches, as `prefill=PATTERN`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmatched_patterns: Vec<String>,
    /// Whether no host was measured.
    #[serde(skip)]
    pub is_simulated: bool,
    /// Time of all programs in the scope, summed over devices: the denominator of `of_program_time_percent`.
    pub program_ps: Picos,
    /// Time of the programs that belong to no phase.
    pub other_program_ps: Picos,
    /// Part of the time to the first token in which requests waited in the queue, over all requests that record both.
    pub queue_of_first_token_percent: Option<Percent>,
    /// Part of the decode time of requests in which they ran no token of their own while a prefill ran.
    pub prefill_stall_percent: Option<Percent>,
}

/// A distribution of times.
#[engine::row(measured)]
#[derive(Copy)]
pub struct TimeDistribution {
    /// Number of values.
    #[column]
    pub count: usize,
    /// Arithmetic mean.
    #[column]
    pub mean_ps: f64,
    /// Median.
    #[column("p50")]
    pub p50_ps: f64,
    /// 90th percentile; `None` for fewer than 10 values.
    #[column("p90")]
    pub p90_ps: Option<f64>,
    /// 95th percentile; `None` for fewer than 20 values.
    #[column("p95")]
    pub p95_ps: Option<f64>,
    /// 99th percentile; `None` for fewer than 100 values.
    #[column("p99")]
    pub p99_ps: Option<f64>,
    /// Largest.
    #[column]
    pub max_ps: f64,
}

impl TimeDistribution {
    /// The distribution of times; `None` if there are none.
    pub(super) fn of(mut times: Vec<f64>) -> Option<Self> {
        times.sort_by(f64::total_cmp);
        let at_least =
            |count: usize, share: f64| of_sorted(&times, share).filter(|_| times.len() >= count);
        Some(Self {
            count: times.len(),
            mean_ps: times.iter().sum::<f64>() / times.len() as f64,
            p50_ps: of_sorted(&times, 0.5)?,
            p90_ps: at_least(10, 0.9),
            p95_ps: at_least(20, 0.95),
            p99_ps: at_least(100, 0.99),
            max_ps: *times.last()?,
        })
    }
}

/// One kind of latency.
#[engine::row(measured)]
pub struct ServingLatency {
    /// `queue`, `time to first token`, `time per output token`, `latency`.
    #[column("Time")]
    pub name: &'static str,
    /// Over the requests that record it.
    #[column(nested)]
    pub time: TimeDistribution,
}

/// One phase.
#[engine::row(measured)]
pub struct PhaseTimes {
    /// The phase.
    #[column]
    pub phase: &'static str,
    /// Its annotations, by the clock of the host.
    #[column(nested)]
    pub time: TimeDistribution,
    /// Time in which at least one of them was open.
    #[column("Any open")]
    pub busy_ps: Picos,
    /// Their time on the devices, summed over devices; `None` if no program belongs to it.
    #[column("On devices", inferred)]
    pub device_ps: Option<Picos>,
    /// Share of the time of all programs.
    #[column("of programs", inferred)]
    pub of_program_time_percent: Option<Percent>,
    /// Programs that belong to it.
    #[column(inferred, with = |phase| phase.device_ps.map(|_| phase.programs))]
    pub programs: u64,
}

/// A request.
#[engine::row(measured)]
pub struct ServedRequest {
    /// Its id, as recorded.
    #[column(recorded)]
    pub request: String,
    /// Length of its own annotation; `None` if it has none.
    #[column]
    pub latency_ps: Option<Picos>,
    /// Time before its first prefill; `None` if its arrival was not recorded.
    #[column]
    pub queue_ps: Option<Picos>,
    /// From the start of its first prefill to the end of its last.
    #[column]
    pub prefill_ps: Option<Picos>,
    /// From its arrival to the end of its prefill; `None` if one of the two was not recorded.
    #[column]
    pub first_token_ps: Option<Picos>,
    /// From the end of its prefill to the end of its last token.
    #[column]
    pub decode_ps: Option<Picos>,
    /// Tokens generated after the first; `None` if the annotations do not count them.
    #[column("Tokens")]
    pub decode_tokens: Option<u64>,
    /// `decode_ps / decode_tokens`.
    #[column("per token", derived)]
    pub per_token_ps: Option<f64>,
    /// Part of `decode_ps` in which no token of it ran while the prefill of any request did.
    #[column]
    pub prefill_stall_ps: Option<Picos>,
    /// Start of its first annotation, on the timeline.
    #[column]
    pub start_ps: Timestamp,
    /// End of its last annotation, on the timeline.
    #[column("Annotated", id = "length_ps", with = Self::length_ps)]
    pub end_ps: Timestamp,
    /// The spans to draw: phase, start and end on the timeline.
    #[serde(skip)]
    pub spans: Vec<(ServingPhase, TimeRange)>,
    /// Its longest annotation.
    #[serde(skip)]
    pub slice: Option<SliceId>,
}

impl ServedRequest {
    /// From the start of its first annotation to the end of its last.
    pub fn length_ps(&self) -> Picos {
        self.end_ps - self.start_ps
    }

    /// The range on the timeline.
    pub fn range(&self) -> TimeRange {
        TimeRange::new(self.start_ps, self.end_ps)
    }
}

/// Batches of a phase with the same number of requests.
#[engine::row(recorded)]
pub struct BatchSize {
    /// Their phase; `batch` if they mix phases or do not say it.
    #[column]
    pub phase: &'static str,
    /// Requests of each.
    #[column]
    pub requests: usize,
    /// From the start of its first part to the end of its last, if it runs in several (the stages of a pipeline).
    #[column(nested)]
    pub time: TimeDistribution,
    /// Tokens of all of them; `None` if not recorded.
    #[column]
    pub tokens: Option<u64>,
}

/// What an engine does in a part of a step.
#[engine::titled]
pub enum EnginePart {
    /// It chooses the requests of the next batch, and notes the results of the last one.
    Scheduler,
    /// It fills the inputs of the batch and copies them to the devices.
    Inputs = "inputs of the batch",
    /// It launches the model.
    Launch = "launch of the model",
    /// It chooses tokens.
    Sampling,
    /// It waits for results and copies them to the host.
    CopyToHost = "device-to-host copy",
    /// It waits for requests.
    NoRequest = "waiting for requests",
    /// It is in a step, and nothing else is known.
    OtherInStep = "other, in a step",
    /// Nothing was recorded.
    Nothing = "nothing recorded",
}

/// Steps of engines in one phase.
#[engine::row(measured)]
pub struct EngineSteps {
    /// The phase that annotations in the step say; `not told` without any.
    #[column(inferred)]
    pub phase: &'static str,
    /// Their times on the host.
    #[column(nested)]
    pub time: TimeDistribution,
    /// Median time from the start of a step to that of the next.
    #[column]
    pub to_next_ps: Option<f64>,
    /// Tokens of all of them; `None` unless each says how many.
    #[column(recorded)]
    pub tokens: Option<u64>,
}

/// Time without programs in which the engine did one thing.
#[engine::row(inferred)]
pub struct EngineIdle {
    /// What the host did.
    #[column("Meanwhile")]
    pub part: EnginePart,
    /// Time, summed over devices.
    #[column("No program")]
    pub time_ps: Picos,
    /// Share of all time without programs.
    #[column("of it")]
    pub of_idle_percent: Option<Percent>,
    /// Share of the time from the first step to the end of the last.
    #[column("of all steps")]
    pub of_steps_percent: Option<Percent>,
}

/// Where the weights of a program are known from.
#[engine::titled]
pub enum WeightsFrom {
    /// Parameters of the program.
    Program,
    /// Operands of its ops that are parameters by their names, where the capture holds no program: at least these.
    OpTexts = "texts of ops",
}

/// Where it is known from what a program reads of a cache of keys and values.
#[engine::titled]
pub enum CacheFrom {
    /// Its attention kernel declares bytes; queries and results are among them.
    Declared = "declared by the kernel",
    /// The shapes of its attention kernel tell the length of the sequences.
    Shapes = "shapes of the kernel",
    /// The lengths of sequences are values, which captures do not hold.
    NotKnown = "lengths not recorded",
    /// It updates no parameter, and has no attention kernel that reads a cache.
    NoCache = "no cache seen",
}

/// What a program has to read from HBM in each execution.
#[engine::row(inferred)]
pub struct ProgramReads {
    /// The program.
    #[column(measured)]
    pub program: Arc<str>,
    /// Executions, on all devices.
    #[column("Runs", measured)]
    pub occurrences: u64,
    /// Mean time of one.
    #[column("Mean", measured)]
    pub mean_time_ps: f64,
    /// Inputs on one device that it reads and does not update: weights.
    #[column("Weights")]
    pub weight_bytes: u64,
    /// Inputs that it updates, as a cache of keys and values, of which it may read a part.
    #[column(compiler)]
    pub updated_bytes: u64,
    /// What it reads of a cache of keys and values in the mean; `None` if it is not known or there is none.
    #[column("KV cache")]
    pub cache_bytes: Option<u64>,
    /// Where that is known from, or why it is not.
    #[column("KV cache by")]
    pub cache_from: CacheFrom,
    /// The most that it can read of the cache, where it is not known how much it does.
    #[column("KV cache, at most")]
    pub most_cache_bytes: Option<u64>,
    /// Time to read all weights once at the peak of HBM.
    #[column("Weights take")]
    pub least_time_ps: Option<f64>,
    /// Time to read all weights once, as a share of the mean time.
    #[column("of its time")]
    pub least_percent: Option<Percent>,
    /// Time to read weights and cache at the peak of HBM; `None` if what is read of the cache is not known.
    #[column("With KV cache")]
    pub bound_time_ps: Option<f64>,
    /// Time to read weights and cache, as a share of the mean time.
    #[column("of its time, with KV cache")]
    pub bound_percent: Option<Percent>,
    /// Where the weights are known from.
    #[column("Weights by")]
    pub weights_from: WeightsFrom,
    /// What the figures say together.
    pub finding: String,
}

/// Annotations of one name.
#[engine::row(recorded)]
pub struct ServingAnnotation {
    /// The name; `…` for numbers.
    #[column("Annotation")]
    pub name: String,
    /// The phase that it was taken for.
    #[column(inferred)]
    pub read_as: &'static str,
    /// Why: by its name, an argument, or a pattern of the user.
    #[column(inferred)]
    pub by: &'static str,
    /// How many there are in the trace.
    #[column("Times", measured)]
    pub count: u64,
}
