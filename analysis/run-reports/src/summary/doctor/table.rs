//! The tables of the health report.

use facts::clock_alignment::device_table;
use facts::prelude::*;

use super::DoctorReport;
use super::finding::severity_word;

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
            .remaining()
            .notes(
                self.findings
                    .is_empty()
                    .then(|| self.nothing_found().to_owned()),
            )
            .notes(self.not_applicable.map(str::to_owned))
            .build()
    }

    fn import_log_table(&self) -> Table {
        Table::of("import_log", "Import log", &self.issues)
            .measured("issue", "Issue", Unit::None, |issue| issue.kind.id())
            .measured("severity", "Severity", Unit::None, |issue| {
                severity_word(issue.kind.severity())
            })
            .measured("count", "Times", Unit::Count, |issue| issue.count)
            .measured("explanation", "What", Unit::None, |issue| {
                issue.kind.explain()
            })
            .measured("example", "For example", Unit::None, |issue| {
                issue.examples.first()
            })
            .note(match self.lost_events {
                0 => "Nothing is missing.".to_owned(),
                lost => format!("{lost} events, files and damaged parts of files are missing."),
            })
            .build()
    }

    fn sources_table(&self) -> Table {
        Table::of("sources", "Files", &self.sources)
            .remaining()
            .build()
    }

    fn facts_table(&self) -> Table {
        Table::of("facts", "Facts", &self.facts)
            .remaining()
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
