//! The tables of the report on serving.

use facts::prelude::*;

use super::ANNOTATE;
use super::names::ServingPhase;
use super::report::{ServedRequest, ServingReport};

impl Tabular for ServingReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = Table::filled([
            self.latency_table(),
            self.phase_table(),
            self.step_table(),
            self.idle_table(),
            self.read_table(),
            self.request_table(),
            self.batch_table(),
        ]);
        if !self.annotations.is_empty() || !self.unmatched_patterns.is_empty() {
            tables.push(self.annotation_table());
        }
        tables
    }
}

const QUANTILES: &str = "p90 needs 10 values, p95 20, p99 100.";

impl ServingReport {
    fn latency_table(&self) -> Table {
        let mut notes = vec![format!(
            "Of {} here; each time of those whose annotations tell it. {QUANTILES}",
            match self.requests.len() {
                1 => "1 request that begins".to_owned(),
                count => format!("{} that begin", counted(count, "request")),
            }
        )];
        notes.extend(self.queue_of_first_token_percent.map(|share| {
            format!("Requests wait in the queue for {share:.1} of the time to their first token.")
        }));
        notes.extend(self.prefill_stall_percent.filter(|share| *share > Percent(0.0)).map(|share| {
            format!("Prefills keep requests waiting for {share:.1} of the time after their first token.")
        }));
        Table::of(
            "serving_latencies",
            "Latencies of requests",
            &self.latencies,
        )
        .remaining()
        .notes(notes)
        .build()
    }

    fn phase_table(&self) -> Table {
        Table::of("serving_phases", "Phases of serving", &self.phases)
            .remaining()
            .note(if self.is_simulated {
                QUANTILES.to_owned()
            } else {
                format!(
                    "Times of annotations are by the clock of the host. On devices: programs that the phase launches, \
                     summed over devices; of programs: of the time of all of them. {QUANTILES}"
                )
            })
            .build()
    }

    fn step_table(&self) -> Table {
        let untold = self.annotations.is_empty().then(|| {
            format!("Nothing tells requests, phases and tokens: {ANNOTATE} around each prefill and each decode does")
        });
        let unread = self.reads.is_empty().then_some(
            "What weights and the cache of keys and values take is not known: the capture holds no program with its parameters.",
        );
        Table::of("serving_steps", "Steps of the engine", &self.steps)
            .remaining()
            .note(format!(
                "By the clock of the host: calls of the engine's loop or annotations engine_step, else annotations of batches \
                 and phases. To next: median from start to start. {QUANTILES}"
            ))
            .notes(untold)
            .notes(unread.map(str::to_owned))
            .build()
    }

    fn idle_table(&self) -> Table {
        Table::of(
            "serving_idle",
            "No program between steps of the engine, by what the host did",
            &self.idle,
        )
        .remaining()
        .note(
            "From the first step to the end of the last, summed over devices. The innermost function or annotation whose name \
             is known counts; of several threads the one that explains most. It was going on at that time, and need not be \
             the cause: a program may be in the queue already.",
        )
        .build()
    }

    fn read_table(&self) -> Table {
        Table::of("serving_reads", "What programs read from HBM", &self.reads)
            .remaining()
            .note(
                "Weights: parameters that share no memory with results; of those that are only gathered or sliced, what is \
                 taken. Updated: those that do, as a cache of keys and values, of which a step reads what its requests have. \
                 A step that reads all of its weights takes at least their time; with experts or other branches it may read \
                 fewer. KV cache: keys and values that attention reads, in the mean of the executions.",
            )
            .notes(self.reads.iter().map(|reads| reads.finding.clone()))
            .build()
    }

    fn request_table(&self) -> Table {
        let mut slowest: Vec<_> = self.requests.iter().collect();
        let length = |request: &ServedRequest| request.latency_ps.unwrap_or(request.length_ps());
        slowest.sort_by_key(|request| Reverse(length(request)));
        Table::of("serving_requests", "Requests, the longest first", slowest)
            .remaining()
            .note(
                "First token: from the arrival to the end of the prefill. Tokens: those after the first. Prefill stall: \
                 time of decode in which only prefills ran.",
            )
            .build()
    }

    fn batch_table(&self) -> Table {
        let annotated: usize = self
            .phases
            .iter()
            .filter(|phase| phase.phase == ServingPhase::Batch.title())
            .map(|phase| phase.time.count)
            .sum();
        let batches: usize = self.batches.iter().map(|batch| batch.time.count).sum();
        let joined = (annotated > batches).then(|| {
            format!(
                "Each batch counts once, from its first stage to the end of its last: {batches} batches of {annotated} \
                 annotations."
            )
        });
        Table::of("serving_batches", "Batches by size", &self.batches)
            .remaining()
            .notes(joined)
            .note(QUANTILES)
            .build()
    }

    fn annotation_table(&self) -> Table {
        Table::of(
            "serving_annotations",
            "Annotations that were read",
            &self.annotations,
        )
        .remaining()
        .note("In the whole trace. --serving PHASE=PATTERN tells other names.")
        .notes(
            self.unmatched_patterns
                .iter()
                .map(|pattern| format!("No event of a host matches --serving {pattern}.")),
        )
        .build()
    }
}
