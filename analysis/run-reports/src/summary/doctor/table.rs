//! The tables of the health report.

use engine::{Table, Tabular, counted};
use facts::clock_alignment::device_table;
use math::unit::Unit;

use super::DoctorReport;

fn severity(severity: trace_model::Severity) -> &'static str {
    match severity {
        trace_model::Severity::Info => "info",
        trace_model::Severity::Warning => "warning",
        trace_model::Severity::Loss => "loss",
    }
}

impl Tabular for DoctorReport {
    fn tables(&self) -> Vec<Table> {
        vec![
            self.findings_table(),
            self.import_log_table(),
            self.sources_table(),
            self.facts_table(),
            self.model_table(),
            device_table(&self.clock_shifts),
        ]
    }
}

impl DoctorReport {
    fn findings_table(&self) -> Table {
        Table::of("findings", "Findings", &self.findings)
            .measured("finding", "Finding", Unit::None, |finding| {
                format!("{} {}", finding.id, finding.name)
            })
            .measured("severity", "Severity", Unit::None, |finding| {
                severity(finding.severity)
            })
            .measured("message", "What", Unit::None, |finding| &finding.message)
            .measured("evidence", "Evidence", Unit::None, |finding| {
                &finding.evidence
            })
            .measured("cure", "Fix", Unit::None, |finding| finding.cure)
            .notes(
                self.findings
                    .is_empty()
                    .then(|| "Nothing limits this capture.".to_owned()),
            )
            .build()
    }

    fn import_log_table(&self) -> Table {
        Table::of("import_log", "Import log", &self.issues)
            .measured("issue", "Issue", Unit::None, |issue| issue.kind.id())
            .measured("severity", "Severity", Unit::None, |issue| {
                severity(issue.kind.severity())
            })
            .measured("count", "Times", Unit::Count, |issue| issue.count)
            .measured("explanation", "What", Unit::None, |issue| {
                issue.kind.explain()
            })
            .measured("example", "For example", Unit::None, |issue| {
                issue.examples.first()
            })
            .note(format!(
                "{} events of the file are missing.",
                self.lost_events
            ))
            .build()
    }

    fn sources_table(&self) -> Table {
        Table::of("sources", "Files", &self.sources)
            .measured("name", "File", Unit::None, |source| &source.name)
            .measured("format", "Format", Unit::None, |source| source.format)
            .measured("host", "Host", Unit::None, |source| &source.host)
            .measured("session_ps", "Session", Unit::Picoseconds, |source| {
                source.session_ps
            })
            .measured("cannot_know", "Not recorded", Unit::None, |source| {
                source.cannot_know.join(", ")
            })
            .build()
    }

    fn facts_table(&self) -> Table {
        Table::of("facts", "Facts", &self.facts)
            .measured("of", "Of", Unit::None, super::CaptureFact::of_whom)
            .measured("name", "Fact", Unit::None, |fact| &fact.name)
            .measured("value", "Value", Unit::None, |fact| &fact.value)
            .notes(self.facts_note())
            .build()
    }

    /// A note that there are more facts than are listed, if there are.
    #[must_use]
    pub fn facts_note(&self) -> Option<String> {
        match self.facts_left_out {
            0 => None,
            1 => Some("1 more fact is not listed.".to_owned()),
            n => Some(format!("{n} more facts are not listed.")),
        }
    }

    fn model_table(&self) -> Table {
        let per_slice = self.memory.slice_bytes + self.memory.arg_bytes;
        let rows = [
            (
                "slice columns",
                self.memory.slice_bytes,
                self.bytes_per_slice,
            ),
            ("argument handles", self.memory.arg_bytes, None),
            ("slice columns and argument handles", per_slice, None),
            ("texts", self.memory.string_bytes, None),
            ("counters", self.memory.counter_bytes, None),
        ];
        Table::of("memory", "Memory of the model", rows)
            .measured("what", "What", Unit::None, |(what, ..)| what)
            .measured("bytes", "Bytes", Unit::Bytes, |(_, bytes, _)| bytes)
            .measured(
                "bytes_per_slice",
                "Bytes per slice",
                Unit::None,
                |(.., each)| each,
            )
            .note(format!(
                "{} on {} of {}.",
                counted(self.slices, "slice"),
                counted(self.tracks, "track"),
                counted(self.devices, "device")
            ))
            .build()
    }
}
