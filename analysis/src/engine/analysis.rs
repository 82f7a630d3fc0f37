//! Analyses: each computes one report.

use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};

use super::{Context, Report, Tabular};

/// Computes one report about a trace.
pub trait Analysis {
    /// The report.
    type Report: Tabular + serde::Serialize + schemars::JsonSchema + Send + Sync + 'static;
    /// Stable name, used on the command line and in JSON.
    const ID: &'static str;
    /// Display name.
    const TITLE: &'static str;
    /// Computes the report in the scope of `cx`.
    ///
    /// # Errors
    ///
    /// The trace lacks what the question is about; the error says what.
    fn run(cx: &Context<'_>) -> Result<Self::Report, AnalysisError>;
}

/// Why an analysis has no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// The trace lacks the data that the analysis needs.
    #[error("{0}")]
    NotApplicable(String),
}

/// An analysis without its types, for the registry.
pub struct AnalysisEntry {
    /// Stable name.
    pub id: &'static str,
    /// Display name.
    pub title: &'static str,
    /// Computes the report or takes it from the cache.
    pub run: fn(&Context<'_>) -> Result<Arc<dyn Report>, AnalysisError>,
    /// JSON schema of the report.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

/// The entry of one analysis.
pub const fn entry<A: Analysis>() -> AnalysisEntry {
    AnalysisEntry {
        id: A::ID,
        title: A::TITLE,
        run: |cx| cx.report::<A>().map(|report| report as _),
        schema: SchemaGenerator::subschema_for::<A::Report>,
    }
}
