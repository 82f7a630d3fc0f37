//! Answers about programs of the compiler as documents.

use crate::prelude::*;
use analysis::reports::hlo::{ProgramDiff, program_parts};
use analysis::{AnalysisError, Report};
use importers::holds_programs_only;

use crate::common::args::OutputArgs;
use crate::common::loading::Loading;
use crate::common::outcome::CommandOutcome;
use crate::common::output;
use crate::common::stderr::Stderr;

/// An answer, and the session that it is about.
pub struct ProgramAnswer {
    pub session: Session,
    /// The other program of a comparison.
    pub second: Option<Session>,
    pub scope: Scope,
    pub result: Result<Arc<dyn Report>, AnalysisError>,
}

/// Id and title of answers.
const TITLE: (&str, &str) = ("hlo", "Programs");

/// What the largest program consists of.
pub fn document(session: &Session, scope: Scope) -> Document {
    let result =
        program_parts(&session.context(scope)).map(|report| Arc::new(report) as Arc<dyn Report>);
    Document::of(session, scope, TITLE, result)
}

/// Two programs that have no times to compare; `None` if a path holds a profile, or if both programs have predicted times.
pub fn pair(first: &Path, second: &Path, loading: &Loading<'_>) -> Result<Option<[Session; 2]>> {
    let import = loading.import(None);
    let is_program = |path| holds_programs_only(path, &import, &Progress::new());
    if !is_program(first) || !is_program(second) {
        return Ok(None);
    }
    let open = |path: &Path| loading.open_programs(path, None, true);
    let both = [open(first)?, open(second)?];
    let is_without_times = both.iter().any(|one| one.model().has_programs_only());
    Ok(is_without_times.then_some(both))
}

/// What differs between them.
pub fn diff([first, second]: &[Session; 2], stderr: &Stderr) -> Result<ProgramAnswer> {
    let scope = Scope::WholeTrace;
    Ok(ProgramAnswer {
        session: first.clone(),
        second: Some(second.clone()),
        scope,
        result: answers::diff_of(first, scope, second, stderr)?,
    })
}

impl ProgramAnswer {
    /// What differs, if that was found.
    pub fn diff(&self) -> Option<&ProgramDiff> {
        let report = self.result.as_ref().ok()?;
        report.as_any().downcast_ref()
    }

    /// What differs; if it was not found, a warning says why.
    pub fn diff_or_warning(&self, stderr: &Stderr) -> Option<ProgramDiff> {
        if let Err(why) = &self.result {
            stderr.warn(&format!("instructions are not compared: {why}"));
        }
        self.diff().cloned()
    }
}

/// Writes an answer in every format that is asked for.
pub fn write(
    answer: ProgramAnswer,
    output: &OutputArgs,
    guard: &OutputGuard,
    stderr: &Stderr,
) -> Result<CommandOutcome> {
    let failed = answer.result.as_ref().err().map(AnalysisError::to_string);
    let is_diff = answer.diff().is_some();
    let mut document = Document::of(&answer.session, answer.scope, TITLE, answer.result);
    document.second = answer.second;
    if is_diff {
        // Two tables and what to know of them stay on one screen.
        document.usual_rows = render::ROWS_OF_DIFF;
    }
    output::write(&document, output, guard, stderr)?;
    Ok(output.outcome(failed))
}
