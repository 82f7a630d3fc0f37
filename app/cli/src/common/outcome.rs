//! Outcomes of commands.

/// The outcome of a command that completed.
pub enum CommandOutcome {
    /// Success.
    Done,
    /// The trace is too incomplete for a conclusion, and `--strict` was given.
    Inconclusive(String),
    /// A result exceeds `--fail-on` or a gate.
    Failed {
        /// The reason.
        why: String,
        /// The exit code.
        code: u8,
    },
}
