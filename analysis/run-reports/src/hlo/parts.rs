//! What one program consists of.

use facts::prelude::*;

use super::contents::ProgramContents;
use super::sums::{LOWER_LIMITS, ProgramPart};
use super::{TimedProgram, chosen};

/// The sums of the program that ran longest, or of the largest one.
#[engine::reported]
pub struct ProgramParts {
    /// Name with its id.
    pub program: String,
    /// Its sums, per execution.
    pub rows: Vec<ProgramPart>,
    /// What to know when reading them.
    pub notes: Vec<String>,
}

/// What the program that ran longest consists of.
///
/// # Errors
///
/// The capture holds none.
pub fn program_parts(cx: &Context<'_>) -> Result<ProgramParts> {
    let all = chosen(cx, None)?;
    let program = TimedProgram::of(cx, all.first().copied().ok_or(super::NO_PROGRAMS)?)?;
    let contents = ProgramContents::in_capture(cx, program.program, &program.module);
    let mut notes = program.notes;
    if all.len() > 1 {
        let others = counted(all.len() - 1, "more program");
        notes.push(format!("Not shown: {others}; systole hlo lists all."));
    }
    if let Err(why) = &contents.peak {
        notes.push(format!("Peak memory is unknown: {why}."));
    }
    notes.extend(contents.is_least.then(|| LOWER_LIMITS.to_owned()));
    notes.extend(contents.doubts());
    if !program.module.is_scheduled() && contents.fusions.is_empty() {
        notes.push(
            "Not compiled: nothing is fused, so that the traffic is what each instruction alone would move."
                .to_owned(),
        );
    }
    if cx.model.recorded_slices() == 0 {
        let name_it = if all.len() > 1 {
            "when it is named alone and"
        } else {
            "where"
        };
        notes.push(format!(
            "No times: a program was read, not a run of it. Scheduled HLO text is played {name_it} its path names the chip \
             (v4, v5e, v5p, v6e) and the compiler estimated its instructions (estimated_cycles)."
        ));
    }
    Ok(ProgramParts {
        program: program.title,
        rows: contents.parts(),
        notes,
    })
}

impl Tabular for ProgramParts {
    fn tables(&self) -> Vec<Table> {
        let title = format!("{}: sums of one execution", self.program);
        let table = Table::of("program_parts", title, &self.rows).remaining();
        vec![table.notes(self.notes.clone()).build()]
    }
}
