//! Judges expectations.

use std::collections::BTreeMap;

use device_reports::hlo::{TimedProgram, chosen};
use engine::Context;
use trace_model::ProgramId;

use super::condition::{Condition, Expectation, ExpectationError};
use super::program::JudgedProgram;
use super::report::{Answer, ExpectReport};
use super::{profile, report::JudgedExpectation};

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
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    for expected in expectations {
        let condition = expected.condition()?;
        let of_run = match &condition {
            Condition::CompilesInSteps(wanted) => Some(profile::compiles_in_steps(cx, *wanted)),
            Condition::ShareOf(scope) => Some(profile::share_of(cx, scope, expected)),
            _ => None,
        };
        rows.push(match of_run {
            Some(answer) => answer.judged(&expected.name, None),
            None => of_program(cx, (expected, &condition), &mut programs, &mut notes),
        });
    }
    Ok(ExpectReport::of(rows, notes))
}

fn of_program(
    cx: &Context<'_>,
    (expected, condition): (&Expectation, &Condition),
    programs: &mut BTreeMap<ProgramId, Result<JudgedProgram, String>>,
    notes: &mut Vec<String>,
) -> JudgedExpectation {
    let wanted = expected.program.as_deref();
    let id = match chosen(cx, wanted).map(|found| found.first().copied()) {
        Ok(Some(id)) => id,
        Ok(None) => {
            return Answer::unknown("the file names no programs").judged(&expected.name, None);
        }
        Err(error) => return Answer::unknown(error.to_string()).judged(&expected.name, None),
    };
    let title = cx.model.program_title(id);
    let read = programs.entry(id).or_insert_with(|| {
        let timed = TimedProgram::of(cx, id).map_err(|error| error.to_string())?;
        Ok(JudgedProgram::new(cx, timed))
    });
    match read {
        Ok(program) => {
            notes.extend(program.timed.notes.iter().cloned());
            program
                .answer(expected, condition)
                .judged(&expected.name, Some(title))
        }
        Err(why) => Answer::unknown(why.clone()).judged(&expected.name, Some(title)),
    }
}
