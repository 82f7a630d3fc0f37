//! Why there is no report.

/// Why an analysis has no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// The trace lacks the data that the analysis needs.
    #[error("{0}")]
    NotApplicable(String),
    /// Nobody wants the report any more (see [`ReportCache::cancel`](crate::ReportCache::cancel)).
    #[error("cancelled")]
    Cancelled,
}

/// A result that is mostly that of an analysis.
pub type Result<T, E = AnalysisError> = std::result::Result<T, E>;

/// That the analysis does not apply, and why.
impl<T: Into<String>> From<T> for AnalysisError {
    fn from(why: T) -> Self {
        Self::NotApplicable(why.into())
    }
}
