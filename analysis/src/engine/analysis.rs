//! The question that a report answers.

use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};

use super::{Context, Report, Tabular};

/// Answers one question about a trace.
pub trait Analysis {
    /// The answer.
    type Report: Tabular + serde::Serialize + schemars::JsonSchema + Send + Sync + 'static;
    /// Stable name, used on the command line and in JSON.
    const ID: &'static str;
    /// Name for people.
    const TITLE: &'static str;
    /// Computes the answer within the scope of `cx`.
    fn run(cx: &Context<'_>) -> Result<Self::Report, AnalysisError>;
}

/// Why an analysis has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// The trace lacks what the question is about.
    #[error("{0}")]
    NotApplicable(String),
}

/// An analysis without its types, for lists.
pub struct AnalysisEntry {
    /// Stable name.
    pub id: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Computes the report, or takes it from the cache.
    pub run: fn(&Context<'_>) -> Result<Arc<dyn Report>, AnalysisError>,
    /// What the report looks like as JSON.
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
