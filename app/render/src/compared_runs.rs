//! What is known of a comparison that is shown.

use crate::prelude::*;

/// Everything to show about a comparison.
#[derive(Clone, Copy)]
pub struct ComparedRuns<'a> {
    /// Runs of the base.
    pub base: &'a [Summary],
    /// Runs of the candidate.
    pub cand: &'a [Summary],
    pub comparison: &'a Comparison,
    /// The gates, if any.
    pub gates: Option<&'a GatesReport>,
    /// The candidate as named by the user.
    pub trace: &'a Path,
    /// What the user asked for.
    pub shown: ShownTables<'a>,
}

/// Which tables of a comparison are shown, where not all of them are data to be processed.
#[derive(Clone, Copy, Debug, Default)]
pub enum ShownTables<'a> {
    /// What is to be read first.
    #[default]
    Screen,
    /// All of them.
    All,
    /// Those with these ids.
    Only(&'a [String]),
    /// The chain of causes in full, and its tables.
    Why,
}

/// The tables of the chain of causes.
const CHAIN: [&str; 5] = [
    "environment",
    "program_sums",
    "program_diff",
    "why",
    "causes",
];

impl ComparedRuns<'_> {
    /// The tables below the chain of causes, without those that it says in full: `listed` differences of the environment.
    pub fn tables_below_chain(&self, listed: usize) -> Vec<Table> {
        let is_said = |id: &str| match id {
            "causes" => true,
            "environment" => self.comparison.environment.len() <= listed,
            _ => false,
        };
        self.chosen_tables()
            .into_iter()
            .filter(|table| !is_said(table.id))
            .collect()
    }

    pub fn chosen_tables(&self) -> Vec<Table> {
        let mut tables = self.comparison.tables();
        match self.shown {
            ShownTables::Screen | ShownTables::All => {}
            ShownTables::Only(ids) => tables.retain(|table| ids.iter().any(|id| id == table.id)),
            ShownTables::Why => tables.retain(|table| CHAIN.contains(&table.id)),
        }
        tables
    }
}
