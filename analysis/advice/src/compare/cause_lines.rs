//! Lines from what differs in the environment to the milliseconds, and what they do not explain.

use engine::{Percent, Table};
use serde::Serialize;

use super::run_loop::signed;

/// Why the step changed, as far as the runs tell.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CauseChain {
    /// In what the environments differ, as far as both sides are known.
    pub candidates: Vec<String>,
    /// The groups of ops that moved most.
    pub lines: Vec<CauseLine>,
    /// The change of the mean step that no line explains.
    pub unexplained_ps: f64,
    /// How much of the change of the mean step that is.
    pub unexplained_percent: Option<Percent>,
    /// What may be concluded from differences of the environment.
    pub note: String,
}

/// A group of ops that moved.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, engine::Columns)]
#[columns(derived)]
pub struct CauseLine {
    /// The whole line.
    pub text: String,
    /// What became of the instructions: `fusion.12 split in three`.
    #[column("What happened")]
    pub instructions: String,
    /// File and line of the op with the most time, without folders.
    #[column("Source")]
    pub source: Option<String>,
    /// How much longer the mean step takes because of it.
    #[column("Change")]
    pub change_ps: f64,
}

impl CauseChain {
    /// The lines as a table.
    pub(super) fn table(&self) -> Table {
        let ending =
            [self.unexplained(), self.note.clone()].map(|text| format!("{}.", capitalised(&text)));
        Table::of("causes", "From cause to milliseconds", &self.lines)
            .remaining()
            .notes(ending)
            .build()
    }

    /// `not explained by these lines: −0.2 ms of +10 ms that the mean step changed`
    pub fn unexplained(&self) -> String {
        let explained: f64 = self.lines.iter().map(|line| line.change_ps).sum();
        format!(
            "not explained by these lines: {} of {} that the mean step changed",
            signed(self.unexplained_ps),
            signed(explained + self.unexplained_ps)
        )
    }
}

/// With a capital letter.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
