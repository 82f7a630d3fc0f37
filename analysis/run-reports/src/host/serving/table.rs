//! The tables of the report on serving.

use engine::{Percent, Table, TableBuilder, Tabular};
use math::unit::Unit;

use super::report::{ServingReport, TimeDistribution};

impl Tabular for ServingReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = Vec::new();
        if !self.latencies.is_empty() {
            tables.push(self.latency_table());
        }
        tables.push(self.phase_table());
        if !self.requests.is_empty() {
            tables.push(self.request_table());
        }
        if !self.batches.is_empty() {
            tables.push(self.batch_table());
        }
        tables.push(self.annotation_table());
        tables
    }
}

const QUANTILES: &str = "p90 needs 10 values, p95 20, p99 100.";

impl ServingReport {
    fn latency_table(&self) -> Table {
        let table = Table::of(
            "serving_latencies",
            "Latencies of requests",
            &self.latencies,
        )
        .measured("name", "Time", Unit::None, |latency| latency.name);
        let mut notes = vec![format!(
            "Of {} that begin here; each time of those whose annotations tell it. {QUANTILES}",
            engine::counted(self.requests.len(), "request")
        )];
        notes.extend(self.queue_of_first_token_percent.map(|share| {
            format!(
                "Requests wait in the queue for {:.1} of the time to their first token.",
                Percent(share)
            )
        }));
        notes.extend(self.prefill_stall_percent.filter(|&share| share > 0.0).map(|share| {
            format!("Prefills keep requests waiting for {:.1} of the time after their first token.", Percent(share))
        }));
        distribution(table, |latency| latency.time)
            .notes(notes)
            .build()
    }

    fn phase_table(&self) -> Table {
        let table = Table::of("serving_phases", "Phases of serving", &self.phases).measured(
            "phase",
            "Phase",
            Unit::None,
            |phase| phase.phase,
        );
        distribution(table, |phase| phase.time)
            .measured("busy_ps", "Any open", Unit::Picoseconds, |phase| phase.busy_ps)
            .inferred("device_ps", "On devices", Unit::Picoseconds, |phase| phase.device_ps)
            .inferred("of_program_time_percent", "of programs", Unit::Percent, |phase| phase.of_program_time_percent)
            .inferred("programs", "Programs", Unit::Count, |phase| {
                phase.device_ps.map(|_| phase.programs)
            })
            .note(format!(
                "Times of annotations are by the clock of the host. On devices: programs that the phase launches, summed \
                 over devices; of programs: of the time of all of them. {QUANTILES}"
            ))
            .build()
    }

    fn request_table(&self) -> Table {
        let mut slowest: Vec<_> = self.requests.iter().collect();
        let length =
            |request: &super::ServedRequest| request.latency_ps.unwrap_or(request.length_ps());
        slowest.sort_by_key(|request| std::cmp::Reverse(length(request)));
        Table::of("serving_requests", "Requests, the longest first", slowest)
            .recorded("request", "Request", Unit::None, |request| &request.request)
            .measured("latency_ps", "Latency", Unit::Picoseconds, |request| request.latency_ps)
            .measured("queue_ps", "Queue", Unit::Picoseconds, |request| request.queue_ps)
            .measured("prefill_ps", "Prefill", Unit::Picoseconds, |request| request.prefill_ps)
            .measured("first_token_ps", "First token", Unit::Picoseconds, |request| request.first_token_ps)
            .measured("decode_ps", "Decode", Unit::Picoseconds, |request| request.decode_ps)
            .measured("decode_tokens", "Tokens", Unit::Count, |request| request.decode_tokens)
            .derived("per_token_ps", "per token", Unit::Picoseconds, |request| request.per_token_ps)
            .measured("prefill_stall_ps", "Prefill stall", Unit::Picoseconds, |request| request.prefill_stall_ps)
            .measured("start_ps", "Start", Unit::Picoseconds, |request| request.start_ps)
            .measured("length_ps", "Annotated", Unit::Picoseconds, super::ServedRequest::length_ps)
            .note(
                "First token: from the arrival to the end of the prefill. Tokens: those after the first. Prefill stall: \
                 time of decode in which only prefills ran.",
            )
            .build()
    }

    fn batch_table(&self) -> Table {
        let table = Table::of("serving_batches", "Batches by size", &self.batches)
            .recorded("phase", "Phase", Unit::None, |batch| batch.phase)
            .recorded("requests", "Requests", Unit::Count, |batch| batch.requests);
        distribution(table, |batch| batch.time)
            .recorded("tokens", "Tokens", Unit::Count, |batch| batch.tokens)
            .note(QUANTILES)
            .build()
    }

    fn annotation_table(&self) -> Table {
        Table::of(
            "serving_annotations",
            "Annotations that were read",
            &self.annotations,
        )
        .recorded("name", "Annotation", Unit::None, |annotation| {
            &annotation.name
        })
        .inferred("read_as", "Read as", Unit::None, |annotation| {
            annotation.read_as
        })
        .inferred("by", "By", Unit::None, |annotation| annotation.by)
        .measured("count", "Times", Unit::Count, |annotation| annotation.count)
        .note("In the whole trace. --serving PHASE=PATTERN tells other names.")
        .build()
    }
}

/// The columns of a distribution.
fn distribution<'a, R: Copy + 'a>(
    table: TableBuilder<'a, R>,
    of: impl Fn(R) -> TimeDistribution + Copy + 'a,
) -> TableBuilder<'a, R> {
    table
        .measured("count", "Count", Unit::Count, move |row| of(row).count)
        .measured("mean_ps", "Mean", Unit::Picoseconds, move |row| {
            of(row).mean_ps
        })
        .measured("p50_ps", "p50", Unit::Picoseconds, move |row| {
            of(row).p50_ps
        })
        .measured("p90_ps", "p90", Unit::Picoseconds, move |row| {
            of(row).p90_ps
        })
        .measured("p95_ps", "p95", Unit::Picoseconds, move |row| {
            of(row).p95_ps
        })
        .measured("p99_ps", "p99", Unit::Picoseconds, move |row| {
            of(row).p99_ps
        })
        .measured("max_ps", "Max", Unit::Picoseconds, move |row| {
            of(row).max_ps
        })
}
