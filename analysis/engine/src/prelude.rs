//! What most facts and reports name: `use engine::prelude::*`.

pub use math::grouped;
pub use math::intervals::IntervalSet;
pub use trace_model::prelude::*;

pub use crate::{
    Analysis, AnalysisError, Context, Fact, Metric, Percent, Provenance, Result, Scope, Table,
    Tabular, Threshold, Unit, counted,
};
