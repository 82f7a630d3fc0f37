//! Lines from what differs in the environment to the milliseconds, and what they do not explain.

use engine::sentence;
use facts::prelude::*;

use super::run_loop::signed;

/// Stands between the parts of a line.
pub(super) const BETWEEN: &str = " · ";

/// Why the step changed, as far as the runs tell.
#[engine::reported]
pub struct CauseChain {
    /// In what the environments differ, as far as both sides are known.
    pub candidates: Vec<String>,
    /// The groups of ops that moved most.
    pub lines: Vec<CauseLine>,
    /// The change of the mean step that no line explains.
    pub unexplained_ps: f64,
    /// How much that is of what the parts of the mean step moved.
    pub unexplained_percent: Option<Percent>,
    /// What the parts of the mean step moved, up and down: their changes without signs.
    pub moved_ps: f64,
    /// What may be concluded from differences of the environment.
    pub note: String,
}

/// A group of ops that moved.
#[engine::row(derived)]
pub struct CauseLine {
    /// The whole line.
    pub text: String,
    /// What became of the instructions: `fusion.12 split in three`.
    #[column("What happened")]
    pub instructions: String,
    /// File and line of the op with the most time, without folders.
    #[column]
    pub source: Option<String>,
    /// How much longer the mean step takes because of it.
    #[column]
    pub change_ps: f64,
}

impl CauseLine {
    /// What happened, where, and how much longer it takes: the line without what differs in the environment.
    pub fn moved(&self) -> String {
        let parts = [
            Some(self.instructions.clone()),
            self.source.clone(),
            Some(signed(self.change_ps)),
        ];
        joined(parts.into_iter().flatten(), BETWEEN)
    }
}

impl CauseChain {
    /// The lines as a table.
    pub(super) fn table(&self) -> Table {
        Table::of("causes", "From cause to milliseconds", &self.lines)
            .remaining()
            .note(self.ending(self.lines.len()))
            .build()
    }

    /// What the first `shown` lines leave open: `Not explained by these lines: −0.2 ms of +10 ms that the mean step
    /// changed.` Where its parts moved against each other, the change may be less than that: then of all that moved.
    pub fn unexplained(&self, shown: usize) -> String {
        let lines = self.lines.iter().map(|line| line.change_ps);
        let all: f64 = lines.clone().sum::<f64>() + self.unexplained_ps;
        let explained: f64 = lines.take(shown).sum();
        let unexplained = all - explained;
        let of = if unexplained.abs() <= all.abs() {
            format!("{} that the mean step changed", signed(all))
        } else {
            let moved = Picos::rounded(self.moved_ps);
            format!("{moved} that the parts of the mean step moved, up and down")
        };
        let unexplained = signed(unexplained);
        format!("Not explained by these lines: {unexplained} of {of}.")
    }

    /// What the first `shown` lines do not explain, and what may be concluded.
    pub fn ending(&self, shown: usize) -> String {
        format!("{} {}", self.unexplained(shown), sentence(&self.note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_not_shown_explain_nothing() {
        let line = CauseLine {
            text: String::new(),
            instructions: String::new(),
            source: None,
            change_ps: 1e9,
        };
        let mut chain = CauseChain {
            candidates: Vec::new(),
            lines: vec![line; 4],
            unexplained_ps: 1e9,
            unexplained_percent: None,
            moved_ps: 5e9,
            note: String::new(),
        };
        let said = |shown| chain.unexplained(shown);
        assert!(said(4).contains("+1.000 ms of +5.000 ms"), "{}", said(4));
        assert!(said(3).contains("+2.000 ms of +5.000 ms"), "{}", said(3));
        // Parts that moved against each other may leave more open than the step changed.
        chain.lines[0].change_ps = -3.5e9;
        chain.moved_ps = 7.5e9;
        let said = chain.unexplained(4);
        let moved = "+1.000 ms of 7.500 ms that the parts of the mean step moved, up and down";
        assert!(said.contains(moved), "{said}");
    }
}
