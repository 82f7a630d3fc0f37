//! Reports: they can be serialized and shown as tables.

use std::any::Any;

use math::unit::Unit;
use serde::Serialize;

use super::provenance::Provenance;
use crate::json_text::{JsonText, TruncatedList};
use crate::table::Table;

/// A number with its unit, reference and provenance.
#[engine::reported]
pub struct Metric {
    /// Stable name, snake case with its unit (`mxu_util_on_mxu_ops_percent`).
    pub id: &'static str,
    /// Display name.
    pub title: &'static str,
    /// The number; `None` if it cannot be known from this capture.
    pub value: Option<f64>,
    /// Whether it is a lower bound, because a considerable part of the work is unknown; the note names that part.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_lower_bound: bool,
    /// Unit of the value.
    pub unit: Unit,
    /// The reference: what 100 % is, or the interval over which it was taken: `window × 4 cores × 918 TFLOP/s`.
    pub of: String,
    /// Provenance of the number.
    pub provenance: Provenance,
    /// Why it is missing, or a caution about it.
    pub note: Option<String>,
}

/// A report as tables.
pub trait Tabular {
    /// The tables, most important first.
    fn tables(&self) -> Vec<Table>;
    /// The list of which only a part was asked for, if rows are missing after it.
    fn cut(&self) -> Option<TruncatedList> {
        None
    }
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
        out.value(self, path)?;
        out.cut(path, self.cut());
        Ok(())
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}
