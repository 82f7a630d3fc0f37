//! The health report as tables.

use super::DoctorReport;
use crate::engine::counted;
use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::math::unit::Unit;
use crate::reports::host::clocks::device_table;

fn column(id: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { id, title, unit, provenance: Provenance::Measured }
}

fn severity(severity: trace_model::Severity) -> Cell {
    Cell::text(match severity {
        trace_model::Severity::Info => "info",
        trace_model::Severity::Warning => "warning",
        trace_model::Severity::Loss => "loss",
    })
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
        let row = |finding: &super::CaptureFinding| {
            vec![
                Cell::text(format!("{} {}", finding.id, finding.name)),
                severity(finding.severity),
                Cell::text(finding.message.clone()),
                Cell::text(finding.evidence.clone()),
                Cell::text(finding.cure),
            ]
        };
        Table {
            id: "findings",
            title: "Findings".to_owned(),
            columns: vec![
                column("finding", "Finding", Unit::None),
                column("severity", "Severity", Unit::None),
                column("message", "What", Unit::None),
                column("evidence", "Evidence", Unit::None),
                column("cure", "Cure", Unit::None),
            ],
            rows: self.findings.iter().map(row).collect(),
            notes: if self.findings.is_empty() { vec!["Nothing limits this capture.".to_owned()] } else { Vec::new() },
        }
    }

    fn import_log_table(&self) -> Table {
        let row = |issue: &trace_model::IssueCount| {
            vec![
                Cell::text(issue.kind.id()),
                severity(issue.kind.severity()),
                Cell::count(issue.count),
                Cell::text(issue.kind.explain()),
                issue.examples.first().map_or(Cell::Missing, Cell::text),
            ]
        };
        Table {
            id: "import_log",
            title: "Import log".to_owned(),
            columns: vec![
                column("issue", "Issue", Unit::None),
                column("severity", "Severity", Unit::None),
                column("count", "Times", Unit::Count),
                column("explanation", "What", Unit::None),
                column("example", "For example", Unit::None),
            ],
            rows: self.issues.iter().map(row).collect(),
            notes: vec![format!("{} events of the file are missing.", self.lost_events)],
        }
    }

    fn sources_table(&self) -> Table {
        let row = |source: &super::SourceFacts| {
            vec![
                Cell::text(source.name.clone()),
                Cell::text(source.format),
                source.host.clone().map_or(Cell::Missing, Cell::Text),
                source.session_ps.map_or(Cell::Missing, Cell::Int),
                Cell::text(source.cannot_know.join(", ")),
            ]
        };
        Table {
            id: "sources",
            title: "Files".to_owned(),
            columns: vec![
                column("name", "File", Unit::None),
                column("format", "Format", Unit::None),
                column("host", "Host", Unit::None),
                column("session_ps", "Session", Unit::Picoseconds),
                column("cannot_know", "Cannot tell", Unit::None),
            ],
            rows: self.sources.iter().map(row).collect(),
            notes: Vec::new(),
        }
    }

    fn facts_table(&self) -> Table {
        let row = |fact: &super::CaptureFact| {
            vec![Cell::text(fact.of_whom()), Cell::text(fact.name.clone()), Cell::text(fact.value.clone())]
        };
        Table {
            id: "facts",
            title: "Facts".to_owned(),
            columns: vec![
                column("of", "Of", Unit::None),
                column("name", "Fact", Unit::None),
                column("value", "Value", Unit::None),
            ],
            rows: self.facts.iter().map(row).collect(),
            notes: self.facts_note().into_iter().collect(),
        }
    }

    /// That there are more facts than are listed, where there are.
    #[must_use]
    pub fn facts_note(&self) -> Option<String> {
        (self.facts_left_out > 0).then(|| format!("{} more facts are not listed.", self.facts_left_out))
    }

    fn model_table(&self) -> Table {
        let per_slice = self.memory.slice_bytes + self.memory.arg_bytes;
        let rows = [
            ("slice columns", self.memory.slice_bytes, self.bytes_per_slice),
            ("argument handles", self.memory.arg_bytes, None),
            ("slice columns and argument handles", per_slice, None),
            ("texts", self.memory.string_bytes, None),
            ("counters", self.memory.counter_bytes, None),
        ];
        Table {
            id: "memory",
            title: "Memory of the model".to_owned(),
            columns: vec![
                column("what", "What", Unit::None),
                column("bytes", "Bytes", Unit::Bytes),
                column("bytes_per_slice", "Bytes per slice", Unit::None),
            ],
            rows: rows
                .iter()
                .map(|&(what, bytes, each)| vec![Cell::text(what), Cell::count(bytes as u64), Cell::maybe(each)])
                .collect(),
            notes: vec![format!(
                "{} on {} of {}.",
                counted(self.slices, "slice"),
                counted(self.tracks, "track"),
                counted(self.devices, "device")
            )],
        }
    }
}
