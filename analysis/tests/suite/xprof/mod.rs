//! What the comparisons with `XProf` share: the captures, its answers, closeness.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::path::PathBuf;

use analysis::{Context, Options, ReportCache, Scope};
use serde_json::Value;
use trace_model::TraceModel;

use crate::capture::open_model;

/// Bytes per second of one GiB/s, as `XProf` shows bandwidths.
pub const GIB: f64 = 1_073_741_824.0;

/// The real captures, or `None`, said once, where this machine has none.
pub fn corpus() -> Option<PathBuf> {
    Some(crate::capture::corpus()?.join("tpu"))
}

pub fn open(name: &str) -> Option<TraceModel> {
    open_model(&format!("tpu/{name}"))
}

/// One answer of `XProf`: the rows of a table, by column id.
pub struct Rows {
    columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

pub fn xprof(capture: &str, tool: &str) -> Value {
    let path = corpus()
        .unwrap()
        .join("xprof")
        .join(capture)
        .join(format!("{tool}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub fn rows_of(table: &Value) -> Rows {
    let columns = table["cols"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["id"].as_str().unwrap().to_owned());
    let cells = |row: &Value| {
        row["c"]
            .as_array()
            .unwrap()
            .iter()
            .map(|cell| cell["v"].clone())
            .collect()
    };
    let rows = table["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(cells)
        .collect();
    Rows {
        columns: columns.collect(),
        rows,
    }
}

impl Rows {
    pub fn get<'a>(&self, row: &'a [Value], column: &str) -> &'a Value {
        &row[self
            .columns
            .iter()
            .position(|id| id == column)
            .unwrap_or_else(|| panic!("no column {column}"))]
    }

    pub fn number(&self, row: &[Value], column: &str) -> f64 {
        self.get(row, column).as_f64().unwrap()
    }

    pub fn text<'a>(&self, row: &'a [Value], column: &str) -> &'a str {
        self.get(row, column).as_str().unwrap()
    }
}

pub fn near(ours: f64, theirs: f64, relative: f64, what: &str) {
    let scale = ours.abs().max(theirs.abs()).max(f64::MIN_POSITIVE);
    assert!(
        (ours - theirs).abs() / scale <= relative,
        "{what}: ours {ours}, XProf {theirs}"
    );
}

pub fn report<A: analysis::Analysis>(
    model: &TraceModel,
    options: &Options,
) -> std::sync::Arc<A::Report> {
    let reports = ReportCache::default();
    Context {
        model,
        scope: Scope::WholeTrace,
        options,
        reports: &reports,
    }
    .report::<A>()
    .unwrap()
}
