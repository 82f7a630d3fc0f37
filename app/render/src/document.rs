//! Everything about one run, before it is rendered in a format.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use analysis::compare::{Comparison, Summary};
use analysis::expect::ExpectReport;
use analysis::gates::GatesReport;
use analysis::reports::Doctor;
use analysis::{ANALYSES, Analysis, AnalysisEntry, AnalysisError, Report, Scope, sentence};

use session::{Session, losses_in_words};
use trace_model::IssueKind;
use view::overview::ReportSource;

/// What the text format shows; other formats contain everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentView {
    /// One screen.
    Summary,
    /// Every table of every section.
    Tables,
    /// The first tables, and the titles of those that do not fit a screen.
    Screen,
    /// Data quality, import log, memory.
    Doctor,
}

/// The reports about one trace in one scope.
pub struct Document {
    pub session: Session,
    /// The scope of the reports.
    pub scope: Scope,
    /// What the text format shows.
    pub view: DocumentView,
    /// The gates, if requested.
    pub gated: Option<GatedDocument>,
    /// Rows of each table in texts, unless the user says how many.
    pub usual_rows: usize,
    /// The expectations, if these were judged.
    pub expected: Option<Arc<ExpectReport>>,
    /// The other side, if two programs are compared.
    pub second: Option<Session>,
    entries: Vec<&'static AnalysisEntry>,
    sections: OnceLock<Vec<ReportSection>>,
}

/// The gates of a run.
pub struct GatedDocument {
    /// Whether gates are set; false if only a format requires this section.
    pub are_set: bool,
    /// The result of the gates.
    pub report: GatesReport,
    /// The judged run.
    pub run: Summary,
    /// The comparison with the baseline.
    pub comparison: Option<Comparison>,
}

/// A report, or the reason why there is none.
pub struct ReportSection {
    /// Id of the analysis.
    pub id: &'static str,
    pub title: &'static str,
    pub result: Result<Arc<dyn Report>, AnalysisError>,
}

/// One file that was read.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub struct InputFile {
    /// Name without directories.
    pub name: String,
    /// Path as it was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The detected format.
    pub format: &'static str,
    /// The host that wrote it, if known.
    pub host: Option<String>,
    /// Size on disk.
    pub bytes: u64,
    /// What identifies its bytes: the algorithm, and the hash in hexadecimal digits. `None` if it cannot be read any more.
    pub fingerprint: Option<String>,
    /// SHA-256 of the file, if it was asked for and can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Facts that this format does not record.
    pub cannot_know: Vec<&'static str>,
}

/// Rows of each table in texts.
pub const USUAL_ROWS: usize = 10;

impl Document {
    /// A document of the reports `ids`.
    pub fn new(session: &Session, scope: Scope, ids: &[&str], view: DocumentView) -> Self {
        let entries = ANALYSES
            .iter()
            .filter(|entry| ids.contains(&entry.id))
            .collect();
        Self {
            session: session.clone(),
            scope,
            view,
            gated: None,
            usual_rows: USUAL_ROWS,
            expected: None,
            second: None,
            entries,
            sections: OnceLock::new(),
        }
    }

    /// A document of one report that is not in the list of analyses.
    pub fn of(
        session: &Session,
        scope: Scope,
        (id, title): (&'static str, &'static str),
        result: Result<Arc<dyn Report>, AnalysisError>,
    ) -> Self {
        let section = ReportSection { id, title, result };
        Self {
            sections: OnceLock::from(vec![section]),
            ..Self::new(session, scope, &[], DocumentView::Tables)
        }
    }

    /// What was lost, as a sentence; the page about the health of a capture says it itself, and answers about programs do.
    pub fn losses(&self) -> Option<String> {
        let model = self.session.model();
        let is_said = self.view == DocumentView::Doctor || model.has_programs_only();
        let lost = losses_in_words(model).filter(|_| !is_said);
        lost.map(|lost| sentence(&lost))
    }

    /// Whether it is about programs that did not run, in tables.
    pub fn has_no_run(&self) -> bool {
        self.session.model().has_programs_only() && self.view == DocumentView::Tables
    }

    /// The reports; computed on first use, because a screen needs only some of them.
    pub fn sections(&self) -> &[ReportSection] {
        self.sections.get_or_init(|| {
            let results = self.session.context(self.scope).reports_of(&self.entries);
            let section = |(entry, result): (&&AnalysisEntry, _)| ReportSection {
                id: entry.id,
                title: entry.title,
                result,
            };
            self.entries.iter().zip(results).map(section).collect()
        })
    }

    /// Why conclusions from this trace are doubtful, if they are.
    pub fn doubt(&self) -> Option<String> {
        let log = self.session.model().import_log();
        let lost = log.lost();
        if lost > 0 {
            return Some(session::lost_on_import(lost));
        }
        if log.count(IssueKind::SessionsApart) > 0 {
            return Some("the files are of sessions that are far apart".to_owned());
        }
        // The summary uses all reports; other views select reports by name.
        let asked = if self.view == DocumentView::Summary {
            &[]
        } else {
            self.sections()
        };
        asked.iter().find_map(|section| {
            section
                .result
                .as_ref()
                .err()
                .map(|why| format!("{}: {why}", section.id))
        })
    }

    /// Name of a file in the header: with its path if the user named a directory or pattern, because that does not show
    /// which run was read.
    pub fn name_of(&self, source: &trace_model::Source) -> String {
        let named = |path: &Path| self.session.path().is_none_or(|asked| asked == path);
        match &source.path {
            Some(path) if !named(path) => path.display().to_string(),
            _ => source.name.clone(),
        }
    }

    /// The files read, with fingerprints; of two programs those of the first one first.
    pub fn inputs(&self) -> Vec<InputFile> {
        std::iter::once(&self.session)
            .chain(&self.second)
            .flat_map(InputFile::all)
            .collect()
    }
}

impl InputFile {
    /// The files of a trace, with fingerprints.
    pub fn all(session: &Session) -> Vec<Self> {
        session
            .model()
            .sources()
            .iter()
            .map(|source| Self {
                name: source.name.clone(),
                path: source.path.as_ref().map(|path| path.display().to_string()),
                format: source.format,
                host: source.host.clone(),
                bytes: source.packed_bytes,
                fingerprint: session.fingerprint_of(source),
                sha256: session.sha256_of(source),
                cannot_know: source.cannot_know.clone(),
            })
            .collect()
    }
}

/// A scope as text.
pub fn scope_in_words(scope: Scope) -> String {
    match scope {
        Scope::WholeTrace => "whole trace".to_owned(),
        Scope::Range(range) => {
            let in_words = |time: trace_model::Timestamp, open: &str| match time.ps() {
                i64::MIN | i64::MAX => open.to_owned(),
                _ => time.since_origin().to_string(),
            };
            format!(
                "{} to {}",
                in_words(range.start, "the beginning"),
                in_words(range.end, "the end")
            )
        }
        Scope::Steps {
            first,
            last: u32::MAX,
        } => format!("steps from {first}"),
        Scope::Steps { first, last } if first == last => format!("step {first}"),
        Scope::Steps { first, last } => format!("steps {first} to {last}"),
    }
}

impl ReportSource for Document {
    fn with<A: Analysis, T>(&self, make: impl FnOnce(&A::Report) -> T) -> Option<T> {
        // The data quality always refers to the whole capture.
        let scope = if A::ID == Doctor::ID {
            Scope::WholeTrace
        } else {
            self.scope
        };
        self.session
            .report::<A>(scope)
            .ok()
            .map(|report| make(&report))
    }
}
