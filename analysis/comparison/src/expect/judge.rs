//! Judges expectations.

use facts::prelude::*;
use run_reports::hlo::{TimedProgram, chosen};

use super::condition::{Condition, Expectation, ExpectationError};
use super::profile;
use super::program::JudgedProgram;
use super::report::{Answer, ExpectReport};

/// Judges all expectations on a profile or a program.
///
/// # Errors
///
/// An expectation has no condition, or several.
pub fn judge(
    cx: &Context<'_>,
    expectations: &[Expectation],
) -> Result<ExpectReport, ExpectationError> {
    let mut programs: BTreeMap<ProgramId, Result<JudgedProgram, String>> = BTreeMap::new();
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    for expected in expectations {
        let condition = expected.condition()?;
        let (answer, program) = match &condition {
            Condition::CompilesInSteps(wanted) => (profile::compiles_in_steps(cx, *wanted), None),
            Condition::ShareOf(scope) => (profile::share_of(cx, scope, expected), None),
            _ => of_program(cx, (expected, &condition), &mut programs, &mut notes),
        };
        rows.push(answer.judged(&expected.name, program));
    }
    Ok(ExpectReport::of(rows, notes))
}

/// The answer about a program, and its title if there is one.
fn of_program(
    cx: &Context<'_>,
    (expected, condition): (&Expectation, &Condition),
    programs: &mut BTreeMap<ProgramId, Result<JudgedProgram, String>>,
    notes: &mut Vec<String>,
) -> (Answer, Option<String>) {
    let wanted = expected.program.as_deref();
    let candidates = match chosen(cx, wanted) {
        Ok(candidates) => candidates,
        Err(error) => return (Answer::unknown(error.to_string()), None),
    };
    let Some(&id) = candidates.first() else {
        return (Answer::unknown("the file names no programs"), None);
    };
    let title = cx.model.program_title(id);
    if candidates.len() > 1 {
        notes.push(which_of_several(cx, wanted, candidates.len(), &title));
    }
    let read = programs.entry(id).or_insert_with(|| {
        let timed = TimedProgram::of(cx, id).map_err(|error| error.to_string())?;
        Ok(JudgedProgram::new(cx, timed))
    });
    let answer = match read {
        Ok(program) => {
            notes.extend(program.timed.notes.iter().cloned());
            program.answer(expected, condition)
        }
        Err(why) => Answer::unknown(why.clone()),
    };
    (answer, Some(title))
}

/// Which program is judged where an expectation fits several.
fn which_of_several(cx: &Context<'_>, wanted: Option<&str>, count: usize, title: &str) -> String {
    let what = match wanted {
        None => "Expectations that name no program".to_owned(),
        Some(wanted) => format!("Expectations of program = {wanted:?}"),
    };
    let why = if cx.model.has_programs_only() {
        "the largest"
    } else {
        "the one that ran longest"
    };
    format!(
        "{what} are about {title}, {why} of {count} that they fit; program = \"…\" chooses another."
    )
}
