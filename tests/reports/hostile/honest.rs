//! Finds impossible numbers in reports: negative durations, shares outside of 0 to 100 %,
//! and values that are not numbers.
//!
//! The kind of a number follows from its name (`_ps`, `percent`, as in the schemas) or from the
//! unit of its row or column. JSON has no `NaN`: it is written as `null` where the schema
//! requires a number. An op that exceeds a peak is marked as such (`beyond_peak_of`, or a
//! negative time above the roofline), and its rates are in no sum.

use analysis::{Cell, Report, Unit};
use serde_json::Value;

/// Points in time and differences, which can be negative. All other names that end in `_ps` are durations.
const SIGNED_TIMES: &[&str] = &[
    // Positions.
    "start_ps",
    "end_ps",
    "functions.first_ps",
    "functions.last_ps",
    "functions: first_ps",
    "functions: last_ps",
    // By how much the clock of a device is ahead of the host's.
    "at_least_ps",
    "at_most_ps",
    "shift_ps",
    // Differences between a slow step and others, by part: the parts add up to the whole.
    "change_ps",
    // Negative for an op that is recorded as faster than the limits of its device.
    "above_ps",
    "above_each_ps",
];

/// Percentages that are not a part of a whole.
const NO_SHARES: &[&str] = &[
    // Of the mean, and of the median.
    "cv_percent",
    "imbalance_percent",
    // As `change_ps` and `above_ps`.
    "change_percent",
    "above_of_op_time_percent",
    "table slow_steps: percent",
    // Gaps between programs, as a share of a program.
    "gap_of_program_percent",
    // Rates above a peak are shown for the op, and its row in the JSON is marked.
    "table ops: flops_percent",
    "table ops: hbm_percent",
    "table op_costs: vmem_read_percent",
    "table op_costs: vmem_write_percent",
    "table roofline: flops_percent",
    "table roofline: hbm_percent",
    "table roofline_steps: flops_percent",
    "table roofline_steps: hbm_percent",
    "table expected: efficiency_percent",
];

/// Sums of shares differ from the whole by rounding.
const ROUNDING: f64 = 1e-6;

/// Units as reports write them.
const PICOS: &str = "picoseconds";
const PERCENT: &str = "percent";
/// Rates in percent of a peak.
const RATES: &[&str] = &[
    "efficiency_percent",
    "flops_percent",
    "hbm_percent",
    "cmem_read_percent",
    "cmem_write_percent",
    "vmem_read_percent",
    "vmem_write_percent",
];
/// Names of percentages.
const UNITS: [(&str, &str); 2] = [("_ps", PICOS), ("percent", PERCENT)];

pub struct Schema(Value);

impl Schema {
    pub fn new() -> Self {
        Self(render::json::schema())
    }

    /// The impossible numbers of a report, each with its path.
    pub fn dishonest(&self, id: &str, report: &dyn Report) -> Vec<String> {
        let document = self
            .0
            .pointer(&format!("/properties/reports/properties/{id}"));
        let fields = self.leaves(document.into_iter().collect());
        let fields = fields
            .into_iter()
            .filter_map(|leaf| leaf["properties"].get("report"))
            .collect();
        let mut found = Vec::new();
        self.check(fields, &report.json(), "", &mut found);
        check_tables(report, &mut found);
        found
    }

    /// The properties in schemas, with references and alternatives resolved.
    fn leaves<'a>(&'a self, schemas: Vec<&'a Value>) -> Vec<&'a Value> {
        let (mut open, mut found) = (schemas, Vec::new());
        while let Some(schema) = open.pop() {
            let target = schema["$ref"]
                .as_str()
                .and_then(|path| self.0.pointer(path.strip_prefix('#')?));
            let options = ["anyOf", "oneOf", "allOf"]
                .iter()
                .filter_map(|key| schema[*key].as_array())
                .flatten();
            let before = open.len();
            open.extend(target.into_iter().chain(options));
            if open.len() == before {
                found.push(schema);
            }
        }
        found
    }

    fn check(&self, schemas: Vec<&Value>, value: &Value, at: &str, found: &mut Vec<String>) {
        let leaves = self.leaves(schemas);
        match value {
            Value::Null => {
                let number = leaves.iter().any(|leaf| is_a(leaf, "number"));
                let may_be_missing = leaves
                    .iter()
                    .any(|leaf| is_a(leaf, "null") || leaf.get("type").is_none());
                if number && !may_be_missing {
                    found.push(format!("{at} is not finite"));
                }
            }
            Value::Array(items) => {
                let of_items: Vec<_> = leaves.iter().filter_map(|leaf| leaf.get("items")).collect();
                for item in items {
                    self.check(of_items.clone(), item, at, found);
                }
            }
            Value::Object(fields) => {
                let row = (
                    fields.get("id").and_then(Value::as_str),
                    fields.get("unit").and_then(Value::as_str),
                );
                let is_impossible = fields
                    .get("above_ps")
                    .and_then(Value::as_f64)
                    .is_some_and(|above| above < 0.0)
                    || fields
                        .get("beyond_peak_of")
                        .is_some_and(|limit| !limit.is_null());
                for (name, field) in fields
                    .iter()
                    .filter(|(name, _)| !is_impossible || !is_rate(name))
                {
                    let named: Vec<_> = leaves
                        .iter()
                        .filter_map(|leaf| leaf["properties"].get(name))
                        .collect();
                    if let ((Some(id), Some(unit)), Some(number)) = (row, field.as_f64()) {
                        found.extend(wrong(unit, &format!("{at}.{name} of {id}"), number));
                    }
                    // Values of a map have the unit in the name of the map, and so have bounds.
                    let path = if named.is_empty() || ["low", "high"].contains(&name.as_str()) {
                        at.to_owned()
                    } else {
                        format!("{at}.{name}")
                    };
                    let of_map = leaves
                        .iter()
                        .filter_map(|leaf| leaf.get("additionalProperties"));
                    let described = if named.is_empty() {
                        of_map.collect()
                    } else {
                        named
                    };
                    self.check(described, field, &path, found);
                }
            }
            Value::Number(number) => {
                let name = at.rsplit('.').next().unwrap_or(at);
                let unit = UNITS.iter().find(|(ending, _)| name.ends_with(ending));
                found.extend(unit.and_then(|(_, unit)| wrong(unit, at, number.as_f64()?)));
            }
            Value::Bool(_) | Value::String(_) => {}
        }
    }
}

/// The quantities in which an op exceeds a peak.
fn is_rate(name: &str) -> bool {
    name == "memories" || RATES.contains(&name)
}

fn is_a(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::String(only) => only == kind,
        Value::Array(kinds) => kinds.iter().any(|one| one == kind),
        _ => false,
    }
}

/// Why a number is impossible.
fn wrong(unit: &str, at: &str, number: f64) -> Option<String> {
    let whole = -ROUNDING..=100.0 + ROUNDING;
    let is_one_of = |names: &[&str]| names.iter().any(|name| at.ends_with(name));
    match unit {
        _ if !number.is_finite() => Some(format!("{at} is not finite")),
        PICOS if number < 0.0 && !is_one_of(SIGNED_TIMES) => Some(format!("{at} is {number} ps")),
        PERCENT if !whole.contains(&number) && !is_one_of(NO_SHARES) => {
            Some(format!("{at} is {number} %"))
        }
        _ => None,
    }
}

/// Checks the tables of a report.
fn check_tables(report: &dyn Report, found: &mut Vec<String>) {
    for table in report.tables() {
        for row in &table.rows {
            if row.len() != table.columns.len() {
                found.push(format!(
                    "table {}: {} cells in {} columns",
                    table.id,
                    row.len(),
                    table.columns.len()
                ));
            }
            for (cell, column) in row.iter().zip(&table.columns) {
                let number = match cell {
                    Cell::Int(number) => *number as f64,
                    Cell::Float(number) => *number,
                    Cell::Missing | Cell::Text(_) => continue,
                };
                let unit = match column.unit {
                    Unit::Picoseconds => PICOS,
                    Unit::Percent => PERCENT,
                    _ => "",
                };
                found.extend(wrong(
                    unit,
                    &format!("table {}: {}", table.id, column.id),
                    number,
                ));
            }
        }
    }
}
