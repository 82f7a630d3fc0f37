//! Where an overview gets its reports from.

use analysis::Analysis;

/// Reports by their types.
pub trait ReportSource {
    /// Applies a function to a report, if the report is ready.
    fn with<A: Analysis, T>(&self, make: impl FnOnce(&A::Report) -> T) -> Option<T>;
}
