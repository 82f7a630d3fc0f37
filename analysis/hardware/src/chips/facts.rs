//! The quantities of a chip, and how they are read from a file.
//!
//! [`QUANTITIES`] lists every key with its unit and what values are possible: files are checked against it, tables are
//! made from it. To add a fact: one line here, and the numbers in `assets/chips.toml`.

use std::collections::BTreeMap;

use math::unit::Unit;
use serde::Serialize;
use toml::{Table, Value};

/// A quantity of a chip.
#[derive(Clone, Copy, Debug)]
pub struct ChipQuantity {
    /// The key in files, unit included.
    pub key: &'static str,
    /// Display name.
    pub title: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Plausible range of values.
    range: (f64, f64),
    /// Whether it is an integer.
    whole: bool,
    /// Whether every chip must have it.
    required: bool,
}

const fn rate(key: &'static str, title: &'static str, unit: Unit) -> ChipQuantity {
    ChipQuantity {
        key,
        title,
        unit,
        range: (1e3, 1e20),
        whole: false,
        required: false,
    }
}

const fn count(key: &'static str, title: &'static str, most: f64) -> ChipQuantity {
    ChipQuantity {
        key,
        title,
        unit: Unit::Count,
        range: (1.0, most),
        whole: true,
        required: false,
    }
}

const fn bytes(key: &'static str, title: &'static str) -> ChipQuantity {
    ChipQuantity {
        key,
        title,
        unit: Unit::Bytes,
        range: (1024.0, 1e15),
        whole: true,
        required: false,
    }
}

const fn number(key: &'static str, title: &'static str, range: (f64, f64)) -> ChipQuantity {
    ChipQuantity {
        key,
        title,
        unit: Unit::None,
        range,
        whole: false,
        required: false,
    }
}

const fn required(quantity: ChipQuantity) -> ChipQuantity {
    ChipQuantity {
        required: true,
        ..quantity
    }
}

/// Every key, in the order of tables.
#[rustfmt::skip]
pub static QUANTITIES: &[ChipQuantity] = &[
    required(count("cores", "TensorCores", 64.0)),
    required(count("devices", "Devices of a trace", 64.0)),
    required(count("mxus_per_core", "Matrix units of a core", 1024.0)),
    required(count("mxu_dim", "Rows and columns of a matrix unit", 65_536.0)),
    count("rows_per_cycle", "Rows that a matrix unit takes each cycle", 1024.0),
    number("clock_ghz", "Clock, GHz", (1e-3, 1e3)),
    required(rate("bf16_flops", "Peak in bf16", Unit::FlopPerSecond)),
    rate("int8_ops", "Peak in int8", Unit::FlopPerSecond),
    rate("fp8_flops", "Peak in fp8", Unit::FlopPerSecond),
    rate("int4_ops", "Peak in int4", Unit::FlopPerSecond),
    required(bytes("hbm_bytes", "HBM")),
    required(rate("hbm_bandwidth", "HBM bandwidth", Unit::BytesPerSecond)),
    required(bytes("vmem_bytes_per_core", "VMEM of a core")),
    rate("vmem_read_bandwidth", "VMEM reads", Unit::BytesPerSecond),
    rate("vmem_write_bandwidth", "VMEM writes", Unit::BytesPerSecond),
    bytes("cmem_bytes", "CMEM"),
    ChipQuantity { range: (0.0, 1024.0), ..count("sparse_cores", "SparseCores", 1024.0) },
    count("ici_links", "Links to other chips", 64.0),
    rate("ici_link_peak", "One way of a link, published", Unit::BytesPerSecond),
    rate("ici_link_achievable", "One way of a link, as achieved", Unit::BytesPerSecond),
    number("ici_hop_latency_us", "Latency of a link, µs", (1e-6, 1e6)),
    count("torus_dims", "Dimensions of the torus", 8.0),
    count("pod_chips", "Chips of the largest pod", 1e9),
    count("pod_shape", "Sides of the largest pod", 1e9),
    count("wrap_multiple", "A side wraps around at multiples of", 1e6),
    rate("dcn_bandwidth", "Data center network, per chip", Unit::BytesPerSecond),
    rate("pcie_bandwidth", "Host link, per chip", Unit::BytesPerSecond),
];

/// A value with its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChipFact {
    /// Which of [`QUANTITIES`].
    pub key: &'static str,
    /// The number; several only for `pod_shape`.
    pub values: Vec<f64>,
    /// Source of the number: a name in the file's `sources`, or the file itself.
    pub source: String,
    /// Values from other sources.
    pub others: BTreeMap<String, f64>,
    /// Why this value was chosen over the others.
    pub ruling: Option<String>,
}

impl ChipFact {
    pub fn quantity(&self) -> Option<&'static ChipQuantity> {
        QUANTITIES.iter().find(|quantity| quantity.key == self.key)
    }
}

/// Facts of one chip by key.
pub(super) type ChipFacts = BTreeMap<&'static str, ChipFact>;

/// Why a chip file is rejected, with a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ChipError(pub(super) String);

/// Reads the facts of `table`; `not_facts` are keys that mean something else.
pub(super) fn read(
    table: &Table,
    not_facts: &[&str],
    default_source: &str,
) -> Result<ChipFacts, ChipError> {
    let mut facts = ChipFacts::new();
    for (key, value) in table {
        if not_facts.contains(&key.as_str()) {
            continue;
        }
        let Some(quantity) = QUANTITIES.iter().find(|quantity| quantity.key == key) else {
            let known = not_facts
                .iter()
                .copied()
                .chain(QUANTITIES.iter().map(|quantity| quantity.key));
            let known = trace_model::joined(known, ", ");
            return Err(ChipError(format!(
                "unknown key {key:?}; the keys are {known}"
            )));
        };
        facts.insert(quantity.key, fact(quantity, value, default_source)?);
    }
    Ok(facts)
}

/// Required quantities that are missing.
pub(super) fn missing(facts: &ChipFacts) -> Vec<&'static str> {
    let lacks = |quantity: &&ChipQuantity| quantity.required && !facts.contains_key(quantity.key);
    QUANTITIES
        .iter()
        .filter(lacks)
        .map(|quantity| quantity.key)
        .collect()
}

fn fact(
    quantity: &ChipQuantity,
    value: &Value,
    default_source: &str,
) -> Result<ChipFact, ChipError> {
    let wrong = |why: &str| ChipError(format!("{}: {why}", quantity.key));
    let plain = |value: &Value| {
        Ok(ChipFact {
            key: quantity.key,
            values: numbers(quantity, value)?,
            source: default_source.to_owned(),
            others: BTreeMap::new(),
            ruling: None,
        })
    };
    let Value::Table(table) = value else {
        return plain(value);
    };
    let number = table
        .get("value")
        .ok_or_else(|| wrong("write a number, or a table with `value`"))?;
    let mut fact = plain(number)?;
    for (key, value) in table {
        let text = || {
            value
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| wrong(&format!("`{key}` must be a text")))
        };
        match key.as_str() {
            "value" => {}
            "source" => fact.source = text()?,
            "ruling" => fact.ruling = Some(text()?),
            "others" => {
                let others = value
                    .as_table()
                    .ok_or_else(|| wrong("`others` must be a table of numbers by source"))?;
                for (source, value) in others {
                    fact.others
                        .insert(source.clone(), number_in(quantity, value)?);
                }
            }
            _ => {
                return Err(wrong(&format!(
                    "unknown key {key:?}; the keys are value, source, others, ruling"
                )));
            }
        }
    }
    Ok(fact)
}

fn numbers(quantity: &ChipQuantity, value: &Value) -> Result<Vec<f64>, ChipError> {
    match value {
        Value::Array(sides) if quantity.key == "pod_shape" && (1..=8).contains(&sides.len()) => {
            sides.iter().map(|side| number_in(quantity, side)).collect()
        }
        value => Ok(vec![number_in(quantity, value)?]),
    }
}

fn number_in(quantity: &ChipQuantity, value: &Value) -> Result<f64, ChipError> {
    let number = match value {
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        _ => {
            return Err(ChipError(format!(
                "{}: write a number, or a table with `value`",
                quantity.key
            )));
        }
    };
    let (least, most) = quantity.range;
    // Not a number is in no range.
    if !(least..=most).contains(&number) || quantity.whole && number.fract() != 0.0 {
        let kind = if quantity.whole {
            "a whole number"
        } else {
            "a number"
        };
        return Err(ChipError(format!(
            "{}: {number} is not {kind} from {least:e} to {most:e}",
            quantity.key
        )));
    }
    Ok(number)
}
