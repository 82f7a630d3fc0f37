//! Reports: they can be serialized and shown as tables.

use std::any::Any;

use serde::{Deserialize, Serialize};
use trace_model::Picos;

use crate::engine::json_text::JsonText;
use crate::hardware::peaks::{Peak, PeakSource};
use crate::math::unit::Unit;

/// Where a number comes from. It is printed with the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// Timed by the hardware or the host.
    Measured,
    /// Recorded by the profiler (plane statistic, hardware counter).
    Profile,
    /// From the compiler's cost model.
    StaticCost,
    /// Computed from measured times and compiler costs.
    Derived,
    /// Derived with a peak that the capture does not record: the published one of its chip, or that of the chip that
    /// the user names.
    AssumedPeak,
    /// Inferred by a rule that can be wrong.
    Inferred,
}

impl Provenance {
    /// The provenance of a utilization that uses `peak`: peaks from a table of chips are assumed.
    pub fn of_peak(peak: Option<Peak>) -> Self {
        match peak.map(|peak| peak.source) {
            Some(PeakSource::Assumed | PeakSource::Published) => Self::AssumedPeak,
            _ => Self::Derived,
        }
    }

    /// Display name, one or two words.
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

/// A number with its unit, reference and provenance.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Metric {
    /// Stable name, snake case with its unit (`mxu_util_on_mxu_ops_percent`).
    pub id: &'static str,
    /// Display name.
    pub title: &'static str,
    /// The number; `None` if it cannot be known from this capture.
    pub value: Option<f64>,
    /// Unit of the value.
    pub unit: Unit,
    /// The reference: what 100 % is, or the interval over which it was taken: `window × 4 cores × 918 TFLOP/s`.
    pub of: String,
    /// Provenance of the number.
    pub provenance: Provenance,
    /// Why it is missing, or a caution about it.
    pub note: Option<String>,
}

/// One column of a [`Table`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Column {
    /// Stable name, snake case, unit as suffix (`self_time_ps`).
    pub id: &'static str,
    /// Display heading.
    pub title: &'static str,
    /// Unit of every cell.
    pub unit: Unit,
    /// Provenance of the numbers.
    pub provenance: Provenance,
}

impl Column {
    /// The title, with a mark if the numbers use an assumed peak ([`Table::mark`] explains it).
    pub fn heading(&self) -> String {
        let mark = if self.provenance == Provenance::AssumedPeak { "†" } else { "" };
        format!("{}{mark}", self.title)
    }
}

/// One cell of a [`Table`].
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// Unknown; never shown as 0.
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

/// A table of a report, ready to be printed, exported or shown.
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
    /// Notes for the reader (denominators, exclusions).
    pub notes: Vec<String>,
}

impl Table {
    /// Explanation of the mark in headings, if one is marked.
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

/// Any report, for generic code.
pub trait Report: Send + Sync {
    /// The tables, most important first.
    fn tables(&self) -> Vec<Table>;
    /// All fields as JSON.
    fn json(&self) -> serde_json::Value;
    /// Writes all fields at `path` of a JSON document; long lists are truncated as `out` is configured.
    ///
    /// # Errors
    ///
    /// A value that JSON cannot represent.
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
