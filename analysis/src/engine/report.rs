//! What every report can do: be serialised, and be shown as tables.

use std::any::Any;

use serde::{Deserialize, Serialize};
use trace_model::Picos;

use crate::engine::json_text::JsonText;
use crate::hardware::peaks::{Peak, PeakSource};
use crate::math::unit::Unit;

/// Where a number comes from. Printed wherever the number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// Timed by the hardware or the host.
    Measured,
    /// Said by the profiler as such (plane statistic, hardware counter).
    Profile,
    /// By the compiler's cost model.
    StaticCost,
    /// Computed from measured times and compiler costs.
    Derived,
    /// The same, against a peak that the capture does not record: the published one
    /// of its chip, or that of the chip that the user names.
    AssumedPeak,
    /// Concluded by a rule that can be wrong.
    Inferred,
}

impl Provenance {
    /// Of a utilization that uses `peak`: one from a table of chips is assumed.
    pub fn of_peak(peak: Option<Peak>) -> Self {
        match peak.map(|peak| peak.source) {
            Some(PeakSource::Assumed | PeakSource::Published) => Self::AssumedPeak,
            _ => Self::Derived,
        }
    }

    /// For people, in a word or two.
    pub fn title(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Profile => "recorded",
            Self::StaticCost => "compiler",
            Self::Derived => "derived",
            Self::AssumedPeak => "assumed",
            Self::Inferred => "inferred",
        }
    }
}

/// A number with everything that is needed to believe it.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Metric {
    /// Stable name, snake case with its unit (`mxu_util_on_mxu_ops_percent`).
    pub id: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// The number; `None` if it cannot be known from this capture.
    pub value: Option<f64>,
    /// Of the value.
    pub unit: Unit,
    /// What 100 % is, or over what it was taken: `window × 4 cores × 918 TFLOP/s`.
    pub of: String,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Why it is missing, or what to beware of.
    pub note: Option<String>,
}

/// One column of a [`Table`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Column {
    /// Stable name, snake case, unit as suffix (`self_time_ps`).
    pub id: &'static str,
    /// Heading for people.
    pub title: &'static str,
    /// Of every cell.
    pub unit: Unit,
    /// Where the numbers come from.
    pub provenance: Provenance,
}

impl Column {
    /// The title, marked where the numbers use an assumed peak ([`Table::mark`] explains).
    pub fn heading(&self) -> String {
        let mark = if self.provenance == Provenance::AssumedPeak { "†" } else { "" };
        format!("{}{mark}", self.title)
    }
}

/// One cell of a [`Table`].
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// Cannot be known; never shown as 0.
    Missing,
    /// Text.
    Text(String),
    /// An integer in the column's unit.
    Int(i64),
    /// A number in the column's unit.
    Float(f64),
}

impl Cell {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
    /// A length of time.
    pub fn time(time: Picos) -> Self {
        Self::Int(time.ps())
    }
    /// A count.
    pub fn count(count: u64) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }
    /// A number, or [`Cell::Missing`].
    pub fn maybe(value: Option<f64>) -> Self {
        value.map_or(Self::Missing, Self::Float)
    }
}

/// Rows of a report, ready to be printed, exported or shown.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Table {
    /// Stable name.
    pub id: &'static str,
    /// Heading for people.
    pub title: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, best first; each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// What to know when reading it (denominators, exclusions).
    pub notes: Vec<String>,
}

impl Table {
    /// What the mark in headings means, where one is marked.
    pub fn mark(&self) -> Option<&'static str> {
        let marked = self.columns.iter().any(|column| column.provenance == Provenance::AssumedPeak);
        marked.then_some("† against an assumed peak: this capture does not record it")
    }
}

/// A report as tables.
pub trait Tabular {
    /// The tables, most important first.
    fn tables(&self) -> Vec<Table>;
}

/// Any report, for code that treats all alike.
pub trait Report: Send + Sync {
    /// The tables, most important first.
    fn tables(&self) -> Vec<Table>;
    /// All fields as JSON.
    fn json(&self) -> serde_json::Value;
    /// All fields, at `path` of a document that is being written; long lists are cut as it says.
    ///
    /// # Errors
    /// A value that JSON cannot hold.
    fn write_json(&self, out: &mut JsonText, path: &[&str]) -> serde_json::Result<()>;
    /// The concrete report.
    fn as_any(&self) -> &dyn Any;
}

impl<T: Tabular + Serialize + Send + Sync + 'static> Report for T {
    fn tables(&self) -> Vec<Table> {
        Tabular::tables(self)
    }
    fn json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or(serde_json::Value::Null)
    }
    fn write_json(&self, out: &mut JsonText, path: &[&str]) -> serde_json::Result<()> {
        out.value(self, path)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}
