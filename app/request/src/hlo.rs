//! Programs of the compiler: the list, the text of one, the neighbourhood of an instruction, a search, a diff.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::reports::hlo::{
    self, HloQuery, Neighbourhood, ProgramListing, Reach, chosen, find, listing, neighbourhood,
    programs_called, programs_with,
};
use analysis::{AnalysisError, Context, Report};
use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use session::Session;
use trace_model::{ProgramId, joined};

use crate::Warnings;
use crate::error::{RequestError, Result};

/// A question about programs; without one they are listed.
#[derive(Debug, Args, Deserialize, JsonSchema)]
#[command(next_help_heading = "Question")]
#[serde(default)]
pub struct HloRequest {
    /// The operands and users of this instruction, with what is fused into it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["text", "find", "diff"])]
    pub op: Option<String>,
    /// Steps from the instruction to its operands and users
    #[arg(long, value_name = "N", default_value_t = Self::default().radius, requires = "op")]
    pub radius: u32,
    /// At most this many instructions around it, and as many inside
    #[arg(long, value_name = "N", default_value_t = Self::default().most, requires = "op", value_parser = at_least_one)]
    pub most: usize,
    /// The text of a program, with the self time of each line
    #[arg(long, conflicts_with_all = ["find", "diff"])]
    pub text: bool,
    /// Instructions that contain all words; `name:`, `opcode:`, `shape:`, `source:`, `op_name:` and `groups:` look into one field
    #[arg(long, value_name = "WORDS", conflicts_with = "diff")]
    pub find: Option<String>,
    /// What differs from the program of the same name in another profile
    #[arg(long, value_name = "PATH")]
    pub diff: Option<PathBuf>,
    /// The program: a name, or a name with its id; by default the one that ran longest, or all for --find
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,
}

impl Default for HloRequest {
    fn default() -> Self {
        Self {
            op: None,
            radius: 2,
            most: 200,
            text: false,
            find: None,
            diff: None,
            program: None,
        }
    }
}

/// The answer to a question about programs.
pub enum HloAnswer {
    Around(Neighbourhood),
    Text(ProgramListing),
    Other(Arc<dyn Report>),
}

impl HloAnswer {
    /// The answer as a report.
    pub fn report(self) -> Arc<dyn Report> {
        match self {
            Self::Around(neighbourhood) => Arc::new(neighbourhood),
            Self::Text(text) => Arc::new(text),
            Self::Other(report) => report,
        }
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|&most| most > 0)
        .ok_or_else(|| "write a number from 1".to_owned())
}

impl HloRequest {
    /// Rejects several questions at once.
    pub fn check(&self) -> Result<()> {
        let asked = [
            self.op.is_some(),
            self.find.is_some(),
            self.text,
            self.diff.is_some(),
        ];
        if asked.into_iter().filter(|&asked| asked).count() > 1 {
            return Err(RequestError::Usage(
                "hlo: ask for one of op, find, text and diff".to_owned(),
            ));
        }
        Ok(())
    }

    /// The answer; `open` opens the other trace of a diff.
    pub fn answer<S: std::ops::Deref<Target = Session>>(
        &self,
        cx: &Context<'_>,
        open: impl FnOnce(&Path) -> Result<S>,
        warnings: &dyn Warnings,
    ) -> Result<Result<HloAnswer, AnalysisError>> {
        let wrong = |error: AnalysisError| RequestError::Usage(error.to_string());
        let wanted = self.program.as_deref();
        if let Some(name) = &self.op {
            let name = name.trim_start_matches('%');
            let programs = programs_with(cx, name, wanted).map_err(wrong)?;
            let program = the_first(cx, &programs, "that has this instruction", warnings)?;
            let reach = Reach {
                radius: self.radius,
                most: self.most,
            };
            return neighbourhood(cx, program, name, reach)
                .map(|answer| Ok(HloAnswer::Around(answer)))
                .map_err(wrong);
        }
        if self.text {
            let program = the_first(
                cx,
                &chosen(cx, wanted).map_err(wrong)?,
                called(cx, wanted),
                warnings,
            )?;
            return Ok(listing(cx, program).map(HloAnswer::Text));
        }
        let report: Arc<dyn Report> = if let Some(words) = &self.find {
            let query = HloQuery::parse(words);
            if query.is_empty() {
                return Err(RequestError::argument("find", "write a word"));
            }
            Arc::new(find(cx, &chosen(cx, wanted).map_err(wrong)?, &query))
        } else if let Some(path) = &self.diff {
            let other = open(path)?;
            let beside = other.context(cx.scope);
            let first = the_first(
                cx,
                &chosen(cx, wanted).map_err(wrong)?,
                called(cx, wanted),
                warnings,
            )?;
            let name = cx.model.str(cx.model.program(first).name);
            let second = chosen(&beside, Some(wanted.unwrap_or(name)));
            let second = second
                .or_else(|_| chosen(&beside, Some(name)))
                // A program that was renamed is still the other one.
                .or_else(|error| match wanted {
                    Some(_) => Err(error),
                    None => chosen(&beside, None),
                })
                .map_err(wrong)?;
            let second = the_first(&beside, &second, called(&beside, Some(name)), warnings)?;
            match hlo::diff((cx, first), (&beside, second)) {
                Ok(answer) => Arc::new(answer),
                Err(error) => return Ok(Err(error)),
            }
        } else {
            Arc::new(programs_called(cx, wanted).map_err(wrong)?)
        };
        Ok(Ok(HloAnswer::Other(report)))
    }
}

/// What the programs that can be chosen have in common.
fn called(cx: &Context<'_>, wanted: Option<&str>) -> &'static str {
    if wanted.is_some() {
        "that is called so"
    } else if cx.model.has_programs_only() {
        "that is smaller"
    } else {
        "that ran less"
    }
}

/// The first of several programs; a message names the others.
fn the_first(
    cx: &Context<'_>,
    programs: &[ProgramId],
    what: &str,
    warnings: &dyn Warnings,
) -> Result<ProgramId> {
    let titles: Vec<String> = programs
        .iter()
        .map(|&id| cx.model.program_title(id))
        .collect();
    if let [first, others @ ..] = &titles[..]
        && !others.is_empty()
    {
        const NAMED: usize = 5;
        let more = others.len().checked_sub(NAMED).filter(|&more| more > 0);
        let more = more.map_or_else(String::new, |more| format!(" and {more} more"));
        let others = joined(others.iter().take(NAMED), ", ");
        warnings.warn(&format!(
            "{first} is shown; --program chooses another {what}: {others}{more}"
        ));
    }
    programs
        .first()
        .copied()
        .ok_or_else(|| RequestError::Usage("the capture names no programs".to_owned()))
}
