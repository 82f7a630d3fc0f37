//! Steps of an engine that serves requests, and what the host does in them while devices run no program.
//!
//! A step is a call of the engine's loop that the Python tracer records, an annotation `engine_step`, or where there is
//! neither, an annotation of a batch or of a phase. Parts of steps are told by the names of functions and annotations;
//! what is called inside belongs to them.
//!
//! ```text
//! step      [-------------][----------]
//! part       sss llll mmm    oooooo      scheduler, launch, sampling, copy to the host
//! programs        PPPPPPPPP PP     PPP
//! idle      ......         .  .....      by the part at that time
//! ```

use facts::host_class::{classify, stripped};
use facts::prelude::*;
use facts::{PythonFrame, self_time_segments};
use trace_model::SourceId;

use super::annotations::Annotation;
use super::names::{ServingPhase, words};
use super::report::{EngineIdle, EnginePart, EngineSteps, TimeDistribution};

/// Those that names tell. Of parts on several threads the first one counts: waiting explains least.
const NAMED: [EnginePart; 6] = [
    EnginePart::Scheduler,
    EnginePart::Inputs,
    EnginePart::Launch,
    EnginePart::Sampling,
    EnginePart::CopyToHost,
    EnginePart::NoRequest,
];

/// What an event is for an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EngineEvent {
    Step,
    Part(EnginePart),
}

impl EngineEvent {
    /// The event of this name. Functions are those of vLLM (`vllm/v1/engine/core.py`), tpu-inference
    /// (`runner/tpu_runner.py`), and SGLang-JAX (`srt/managers/scheduler.py`).
    fn of_name(name: &str) -> Option<Self> {
        use EnginePart as P;
        let name = stripped(name);
        if let Some(frame) = PythonFrame::of(name) {
            let part = match (frame.file, frame.function) {
                ("core.py", "_process_engine_step") => return Some(Self::Step),
                ("core.py", "_process_input_queue") => P::NoRequest,
                ("scheduler.py", "run_batch" | "execute_model")
                | ("tpu_runner.py", "execute_model" | "_execute_model") => P::Launch,
                ("scheduler.py", function) if !function.starts_with("event_loop") => P::Scheduler,
                ("tpu_runner.py", "sample_tokens" | "_sample_from_logits") => P::Sampling,
                ("tpu_runner.py", "get_output") => P::CopyToHost,
                ("tpu_runner.py", function) if function.starts_with("_prepare_inputs") => P::Inputs,
                ("persistent_batch_manager.py", _) => P::Inputs,
                _ => return Self::of_runtime(name),
            };
            return Some(Self::Part(part));
        }
        if classify(name) != HostClass::User {
            return Self::of_runtime(name);
        }
        let words = words(name);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let part = match *words.as_slice() {
            ["engine", "step"] => return Some(Self::Step),
            ["schedule" | "scheduler" | "scheduling"] => P::Scheduler,
            ["prepare", "inputs"] => P::Inputs,
            ["execute" | "run", "model", ..] | ["forward", "batch", ..] => P::Launch,
            ["sample" | "sampling"] | ["sample", "tokens"] => P::Sampling,
            ["get", "output"] | ["copy", "to", "host"] => P::CopyToHost,
            ["wait", "for", "requests"] => P::NoRequest,
            _ => return None,
        };
        Some(Self::Part(part))
    }

    /// What the runtime records inside the functions of any engine.
    fn of_runtime(name: &str) -> Option<Self> {
        let is_sampler =
            name.starts_with("PjitFunction(sample") || name.starts_with("PjitFunction(_sample");
        let part = match classify(name) {
            _ if is_sampler => EnginePart::Sampling,
            HostClass::DeviceToHost => EnginePart::CopyToHost,
            HostClass::HostToDevice => EnginePart::Inputs,
            _ => return None,
        };
        Some(Self::Part(part))
    }
}

/// Steps of engines by phase, and the time without programs in them.
#[derive(Default)]
pub(super) struct Engines {
    pub steps: Vec<EngineSteps>,
    pub idle: Vec<EngineIdle>,
}

/// A step of an engine.
#[derive(Clone, Copy)]
struct EngineStep {
    range: TimeRange,
    track: TrackId,
    /// Whether it is an annotation of a batch or a phase: those of other threads say nothing of it.
    is_annotation: bool,
}

/// The engines of one host.
#[derive(Default)]
struct HostEngines {
    steps: Vec<EngineStep>,
    parts: BTreeMap<EnginePart, IntervalSet>,
}

/// Steps and idle time of engines in `scope`; `None` if nothing shows steps while devices were recorded.
pub(super) fn engine_steps(
    cx: &Context<'_>,
    annotations: &[Annotation],
    scope: TimeRange,
) -> Result<Option<Engines>> {
    let cores = cx.tensor_cores();
    if cores.is_empty() {
        return Ok(None);
    }
    let Some(mut hosts) = hosts(cx, annotations) else {
        return Ok(None);
    };
    let has_steps = hosts.values().any(|host| !host.steps.is_empty());
    if !has_steps {
        // Batches and phases are steps where nothing else is.
        for annotation in annotations {
            use ServingPhase as P;
            if matches!(annotation.phase, P::Batch | P::Prefill | P::Decode) {
                let host = hosts.entry(annotation.source).or_default();
                host.steps.push(EngineStep {
                    range: annotation.range,
                    track: annotation.track,
                    is_annotation: true,
                });
            }
        }
    }
    for host in hosts.values_mut() {
        host.keep_outermost();
        host.steps.retain(|step| scope.contains(step.range.start));
    }
    hosts.retain(|_, host| !host.steps.is_empty());
    if hosts.is_empty() {
        return Ok(None);
    }
    let mut idle: BTreeMap<EnginePart, Picos> = BTreeMap::new();
    let mut all = Picos::ZERO;
    let mut without = Picos::ZERO;
    for core in cores {
        let Some(host) = hosts.get(&cx.model.group(core).source) else {
            continue;
        };
        let steps: IntervalSet = host.steps.iter().map(|step| step.range).collect();
        let recorded = cx.window_on_host(core)?;
        let Some(window) = steps.hull().and_then(|hull| hull.intersect(recorded?)) else {
            continue;
        };
        let programs: IntervalSet = cx
            .programs_on_host(core)
            .into_iter()
            .map(|(_, range)| range)
            .collect();
        let mut rest = IntervalSet::of(window).subtract(&programs);
        all += window.dur();
        without += rest.measure();
        let named = NAMED.iter().map(|part| (*part, host.parts.get(part)));
        for (part, when) in named.chain([(EnginePart::OtherInStep, Some(&steps))]) {
            if let Some(when) = when {
                *idle.entry(part).or_default() += rest.intersect(when).measure();
                rest = rest.subtract(when);
            }
        }
        *idle.entry(EnginePart::Nothing).or_default() += rest.measure();
    }
    let mut idle: Vec<EngineIdle> = idle
        .into_iter()
        .filter(|(_, time)| *time > Picos::ZERO)
        .map(|(part, time_ps)| EngineIdle {
            part,
            time_ps,
            of_idle_percent: Percent::of(time_ps, without),
            of_steps_percent: Percent::of(time_ps, all),
        })
        .collect();
    largest_first(&mut idle, |row| row.time_ps, |row| &row.part);
    Ok(Some(Engines {
        steps: by_phase(cx, &hosts, annotations),
        idle,
    }))
}

impl HostEngines {
    /// Sorts steps by start, without those inside another one on their thread.
    fn keep_outermost(&mut self) {
        self.steps
            .sort_by_key(|step| (step.range.start, Reverse(step.range.end)));
        let mut ends: BTreeMap<TrackId, Timestamp> = BTreeMap::new();
        self.steps.retain(|step| {
            let end = ends.entry(step.track).or_insert(step.range.start);
            let is_inside = step.range.end <= *end && step.range.start < *end;
            if !is_inside {
                *end = step.range.end;
            }
            !is_inside
        });
    }
}

/// Steps and parts of the engines of each host; `None` if neither a name nor an annotation can be a step.
fn hosts(cx: &Context<'_>, annotations: &[Annotation]) -> Option<BTreeMap<SourceId, HostEngines>> {
    let model = cx.model;
    let events: Vec<Option<EngineEvent>> = model
        .labels()
        .iter()
        .map(|label| {
            let is_op = label.op.is_some();
            (!is_op).then(|| EngineEvent::of_name(model.str(label.name)))?
        })
        .collect();
    if annotations.is_empty() && !events.contains(&Some(EngineEvent::Step)) {
        return None;
    }
    let event = |label: LabelId| events.get(label.index()).copied().flatten();
    let mut hosts: BTreeMap<SourceId, HostEngines> = BTreeMap::new();
    for track in host_threads(model) {
        let source = model.group(model.track(track).group).source;
        let mut named: Vec<(SliceRef<'_>, EnginePart)> = Vec::new();
        for slice in cx.watched(model.slices_on(track)) {
            match event(slice.label_id()) {
                Some(EngineEvent::Step) => {
                    hosts.entry(source).or_default().steps.push(EngineStep {
                        range: slice.range(),
                        track,
                        is_annotation: false,
                    });
                }
                Some(EngineEvent::Part(part)) => named.push((slice, part)),
                None => {}
            }
        }
        let spans = named.iter().map(|(slice, _)| SelfTimeSegment {
            range: slice.range(),
            slice: slice.id(),
            class: OpClass::default(),
        });
        let part_of: BTreeMap<_, _> = named
            .iter()
            .map(|(slice, part)| (slice.id(), *part))
            .collect();
        let by_part = grouped(
            self_time_segments(spans.collect())
                .into_iter()
                .filter_map(|segment| Some((*part_of.get(&segment.slice)?, segment.range))),
        );
        let host = hosts.entry(source).or_default();
        for (part, ranges) in by_part {
            let when: IntervalSet = ranges.into_iter().collect();
            let known = host.parts.entry(part).or_default();
            *known = known.union(&when);
        }
    }
    Some(hosts)
}

/// Steps by what the annotations inside them say.
fn by_phase(
    cx: &Context<'_>,
    hosts: &BTreeMap<SourceId, HostEngines>,
    annotations: &[Annotation],
) -> Vec<EngineSteps> {
    #[derive(Default)]
    struct Times {
        steps: Vec<f64>,
        to_next: Vec<f64>,
        tokens: Option<u64>,
        counted: usize,
    }
    let mut phases: BTreeMap<&str, Times> = BTreeMap::new();
    let mut of_host: BTreeMap<SourceId, Vec<&Annotation>> = BTreeMap::new();
    for annotation in annotations {
        let those = of_host.entry(annotation.source).or_default();
        those.push(annotation);
    }
    for (source, host) in hosts {
        let those = of_host.get(source).map_or(&[][..], Vec::as_slice);
        for (index, step) in cx.watched(host.steps.iter().enumerate()) {
            // They are sorted by start.
            let before = |time: Timestamp| those.partition_point(|one| one.range.start < time);
            let inside = &those[before(step.range.start)..before(step.range.end)];
            let inside = inside
                .iter()
                .copied()
                .filter(|one| !step.is_annotation || one.track == step.track);
            let (phase, tokens) = phase(inside);
            let step = step.range;
            let times = phases.entry(phase).or_default();
            times.steps.push(step.dur().as_ps_f64());
            let next = host.steps.get(index + 1);
            let next = next.map(|next| next.range.start - step.start);
            times.to_next.extend(next.map(Picos::as_ps_f64));
            times.counted += usize::from(tokens.is_some());
            times.tokens = match (times.tokens, tokens) {
                (Some(sum), Some(tokens)) => sum.checked_add(tokens),
                (sum, tokens) => sum.or(tokens),
            };
        }
    }
    let rows = phases.into_iter().filter_map(|(phase, times)| {
        let count = times.steps.len();
        Some(EngineSteps {
            phase,
            to_next_ps: TimeDistribution::of(times.to_next).map(|time| time.p50_ps),
            tokens: times.tokens.filter(|_| times.counted == count),
            time: TimeDistribution::of(times.steps)?,
        })
    });
    rows.collect()
}

/// The phase of a step by its annotations, and its tokens if all of them are counted. Threads that name the same requests, or
/// none, describe the same batch.
fn phase<'a>(inside: impl Iterator<Item = &'a Annotation>) -> (&'static str, Option<u64>) {
    let mut prefill = false;
    let mut decode = false;
    let mut mixed = false;
    let mut threads: BTreeMap<TrackId, Vec<&Annotation>> = BTreeMap::new();
    for annotation in inside {
        match annotation.phase {
            ServingPhase::Prefill => prefill = true,
            ServingPhase::Decode => decode = true,
            ServingPhase::Batch => mixed |= annotation.is_mixed && annotation.all_tokens.is_some(),
            _ => continue,
        }
        threads
            .entry(annotation.track)
            .or_default()
            .push(annotation);
    }
    let mut batches: BTreeMap<BTreeSet<&str>, Option<u64>> = BTreeMap::new();
    for thread in threads.into_values() {
        let ids: BTreeSet<&str> = thread
            .iter()
            .flat_map(|one| &one.ids)
            .map(String::as_str)
            .collect();
        let tokens = tokens_of_thread(thread);
        let known = batches.entry(ids).or_insert(tokens);
        *known = (*known).max(tokens);
    }
    let without_ids = batches.remove(&BTreeSet::new());
    let mut named = batches.into_values();
    let named = named.try_fold(None, |sum: Option<u64>, tokens| {
        let sum = sum.unwrap_or(0).checked_add(tokens?)?;
        Some(Some(sum))
    });
    let tokens = match (without_ids, named) {
        (_, None) => None,
        (Some(without), Some(named)) => without.max(named),
        (None, Some(named)) => named,
    };
    let phase = match (prefill, decode, mixed) {
        (_, _, true) | (true, true, _) => "mixed",
        (true, ..) => ServingPhase::Prefill.title(),
        (_, true, _) => ServingPhase::Decode.title(),
        _ => "not told",
    };
    (phase, tokens)
}

/// Tokens of the annotations on one thread; `None` if one counts none and neither do those inside it. An annotation that
/// counts its tokens counts those of the annotations inside it.
fn tokens_of_thread(mut annotations: Vec<&Annotation>) -> Option<u64> {
    annotations.sort_by_key(|one| (one.range.start, Reverse(one.range.end)));
    let mut sum = 0_u64;
    let mut counted_until = None;
    // The end of each open annotation without tokens, and whether one inside it has some.
    let mut open: Vec<(Timestamp, bool)> = Vec::new();
    for one in annotations {
        while let Some(&(end, has_tokens)) = open.last()
            && end <= one.range.start
        {
            if !has_tokens {
                return None;
            }
            open.pop();
        }
        if counted_until.is_some_and(|end| one.range.start < end) {
            continue;
        }
        if let Some(tokens) = one.all_tokens {
            sum = sum.checked_add(tokens)?;
            counted_until = Some(one.range.end);
            for (_, has_tokens) in &mut open {
                *has_tokens = true;
            }
        } else {
            open.push((one.range.end, false));
        }
    }
    open.into_iter()
        .all(|(_, has_tokens)| has_tokens)
        .then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_steps_and_parts() {
        use EnginePart as P;
        let part = |part| Some(EngineEvent::Part(part));
        for (name, expected) in [
            ("$core.py:985 _process_engine_step", Some(EngineEvent::Step)),
            ("engine_step 7", Some(EngineEvent::Step)),
            ("$core.py:958 _process_input_queue", part(P::NoRequest)),
            ("$scheduler.py:227 schedule", part(P::Scheduler)),
            ("$scheduler.py:9 run_batch", part(P::Launch)),
            ("$scheduler.py:9 event_loop_overlap", None),
            ("$tpu_runner.py:125 get_output", part(P::CopyToHost)),
            ("$tpu_runner.py:1203 _prepare_inputs", part(P::Inputs)),
            ("np.asarray(jax.Array)", part(P::CopyToHost)),
            ("PjitFunction(sample)", part(P::Sampling)),
            ("schedule", part(P::Scheduler)),
            ("execute_model: 3 reqs, 514 toks", part(P::Launch)),
            ("forward_batch_generation 12", part(P::Launch)),
            ("sample_tokens", part(P::Sampling)),
            ("$core.py:1 main", None),
            ("train step", None),
        ] {
            assert_eq!(EngineEvent::of_name(name), expected, "{name}");
        }
    }
}
