//! From the common timeline model to numbers with provenance.
//!
//! Every question is one [`Analysis`] in the list [`ANALYSES`]; its answer is a
//! plain struct that serialises and shows itself as tables. A number that cannot
//! be known is `None`, never 0; every percentage says of what. To add an
//! analysis: one file in `src`, one line in the list.

pub mod balance;
pub mod bound;
mod bounds;
pub mod buffers;
pub mod bundles;
pub mod busy;
mod cache;
pub mod chips;
pub mod clocks;
pub mod collectives;
pub mod compare;
pub mod compile;
mod counted;
pub mod dcn;
pub mod dispatch;
pub mod doctor;
pub mod expected;
mod fact;
pub mod facts;
pub mod gaps;
pub mod gates;
mod glob;
pub mod hardware_counters;
pub mod hints;
pub mod hlo;
pub mod ici;
pub mod input;
pub mod intervals;
pub mod json_text;
pub mod kernels;
pub mod loops;
pub mod matmuls;
pub mod memory;
mod name;
pub mod ops;
mod options;
pub mod overlap;
pub mod padding;
mod parallel;
pub mod peaks;
mod percent;
pub mod replay;
mod report;
pub mod roofline;
mod scope;
pub mod sparse_cores;
pub mod stats;
pub mod step_parts;
pub mod steps;
pub mod targets;
mod unit;
pub mod utilization;
pub mod verdict;

pub use trace_model::hlo_text;

pub use cache::{AnalysisEntry, Context, Cost, ReportCache, entry};
pub use counted::counted;
pub use fact::Fact;
pub use facts::TraceFacts;
pub use facts::category::{AsyncRole, CollectiveKind, OpClass, OpClasses, OpGroup};
pub use facts::shared_slice::Stretch;
pub use facts::window::{Window, measured_range};
pub use glob::glob;
pub use name::{Name, beginning, shortened};
pub use options::{HintOptions, Options, Suppression, Threshold};
pub use percent::Percent;
pub use report::{Cell, Column, Metric, Provenance, Report, Table, Tabular, Unit};
pub use scope::Scope;

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

/// Every analysis, in the order of a report.
#[rustfmt::skip]
pub static ANALYSES: &[AnalysisEntry] = &[
    entry::<verdict::Verdict>(),
    entry::<targets::Targets>(),
    entry::<hints::Hints>(),
    entry::<steps::Steps>(),
    entry::<step_parts::StepParts>(),
    entry::<busy::Devices>(),
    entry::<balance::Balance>(),
    entry::<utilization::Utilization>(),
    entry::<ops::Ops>(),
    entry::<roofline::Roofline>(),
    entry::<expected::Expected>(),
    entry::<matmuls::Matmuls>(),
    entry::<loops::Loops>(),
    entry::<kernels::Kernels>(),
    entry::<bundles::Code>(),
    entry::<hardware_counters::HardwareCounters>(),
    entry::<sparse_cores::SparseCores>(),
    entry::<overlap::Overlap>(),
    entry::<collectives::Collectives>(),
    entry::<dcn::Dcn>(),
    entry::<memory::Memory>(),
    entry::<buffers::Buffers>(),
    entry::<compile::Compile>(),
    entry::<gaps::Gaps>(),
    entry::<dispatch::Dispatch>(),
    entry::<input::Input>(),
    entry::<clocks::Clocks>(),
    entry::<doctor::Doctor>(),
];
