//! Serving: requests, batches and phases (queue, prefill, decode) of a program that answers requests.
//!
//! Nothing but annotations tells requests apart, so this report exists where a program names them: by the name of an
//! annotation, its arguments, or a pattern of the user (see [`ServingPhase`] and `docs/reports/serving.md`). Times of
//! requests are those of the host, times of programs those of the device.
//!
//! ```text
//! request 7   [------------------------------------]   latency
//! queue       [-------]
//! prefill              [------]                          its end is the first token
//! decode                        [--]    [--]    [--]     time per output token: from there to the end, per token
//! other prefill                     [--]                  what keeps request 7 waiting: a stall
//! ```
//!
//! Steps of the engine are told by annotations or by the frames of the Python tracer (`engine_steps`), so that captures of
//! some servers have a report without any annotation.
//!
//! A program belongs to the phase that its name says (`jit_prefill`), otherwise to the phase that was open when the host
//! launched it, if it was the only one.

mod annotations;
mod cache;
mod engine_steps;
mod names;
mod op_texts;
mod programs;
mod reads;
mod report;
mod requests;
mod servers;
mod table;
#[cfg(test)]
mod tests;

pub use names::ServingPhase;
pub use report::{
    BatchSize, CacheFrom, EngineIdle, EnginePart, EngineSteps, PhaseTimes, ProgramReads,
    ServedRequest, ServingAnnotation, ServingLatency, ServingReport, TimeDistribution, WeightsFrom,
};

use annotations::{Annotation, Annotations};
use engine_steps::Engines;
use names::phase_of_name;

use engine::Options;
use facts::prelude::*;
use programs::PhasePrograms;

/// Whether events of this name may be about requests.
pub(super) fn may_serve(name: &str, options: &Options) -> bool {
    phase_of_name(name, &options.serving).is_some()
}

/// The annotation that tells requests.
const ANNOTATE: &str = "jax.profiler.TraceAnnotation(\"prefill\", request_id=…)";

/// The analysis `serving`.
pub struct Serving;

impl Analysis for Serving {
    type Report = ServingReport;
    const ID: &str = "serving";
    const TITLE: &str = "Serving";

    fn run(cx: &Context<'_>) -> Result<ServingReport> {
        let scope = cx.host_window()?;
        let annotations = Annotations::find(cx);
        let served: &[Annotation] = if annotations.is_serving {
            &annotations.all
        } else {
            &[]
        };
        let engine = engine_steps::engine_steps(cx, served, scope)?;
        if !annotations.is_serving && engine.is_none() {
            let unmatched = match annotations.unmatched.join(" ") {
                none if none.is_empty() => none,
                patterns => format!("; no event of a host matches {patterns}"),
            };
            return Err(format!("no annotation names a prefill or a request: servers record them as {ANNOTATE}, other names are \
                 told with --serving PHASE=PATTERN{unmatched}").into());
        }
        let Engines { steps, idle } = engine.unwrap_or_default();
        let is_here = |annotation: &&Annotation| scope.contains(annotation.range.start);
        let programs = PhasePrograms::find(cx, served)?;
        let prefill: IntervalSet = of_phase(served, ServingPhase::Prefill)
            .map(|one| one.range)
            .collect();
        let requests = requests::requests(served, prefill, scope);
        let batches = requests::batches(served, scope);
        let is_empty = !served.iter().any(|annotation| is_here(&annotation));
        if requests.is_empty() && steps.is_empty() && is_empty {
            return Err("no request or phase begins in this part of the trace".into());
        }
        let phases = ServingPhase::ALL.into_iter().filter_map(|phase| {
            let spans = || {
                of_phase(served, phase)
                    .filter(is_here)
                    .map(|annotation| annotation.range)
            };
            let ran = programs.of(phase);
            Some(PhaseTimes {
                phase: phase.title(),
                time: TimeDistribution::of(spans().map(|span| span.dur().as_ps_f64()).collect())?,
                busy_ps: spans().collect::<IntervalSet>().measure(),
                programs: ran.map_or(0, |ran| ran.count),
                device_ps: ran.map(|ran| ran.time),
                of_program_time_percent: ran.and_then(|ran| Percent::of(ran.time, programs.all)),
            })
        });
        Ok(ServingReport {
            latencies: requests::latencies(&requests),
            phases: phases.collect(),
            batches,
            steps,
            idle,
            reads: reads::reads(cx)?,
            annotations: if annotations.is_serving {
                annotations.read.clone()
            } else {
                Vec::new()
            },
            is_simulated: cx.model.simulator().is_some(),
            unmatched_patterns: annotations.unmatched.clone(),
            program_ps: programs.all,
            other_program_ps: programs.other(),
            queue_of_first_token_percent: shares(&requests, |one| {
                Some((one.queue_ps?, one.first_token_ps?))
            }),
            prefill_stall_percent: shares(&requests, |one| {
                Some((one.prefill_stall_ps?, one.decode_ps?))
            }),
            requests,
        })
    }
}

fn of_phase(all: &[Annotation], phase: ServingPhase) -> impl Iterator<Item = &Annotation> {
    all.iter()
        .filter(move |annotation| annotation.phase == phase)
}

/// Sum of parts over sum of wholes, of the requests that have both.
fn shares(
    requests: &[ServedRequest],
    of: impl Fn(&ServedRequest) -> Option<(Picos, Picos)>,
) -> Option<Percent> {
    let both = || requests.iter().filter_map(&of);
    Percent::of(
        both().map(|(part, _)| part).sum(),
        both().map(|(_, whole)| whole).sum(),
    )
}
