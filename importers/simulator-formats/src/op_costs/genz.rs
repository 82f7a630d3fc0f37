//! Operator tables of `GenZ` (`*_model_df.csv`).
//!
//! - `(msec)` are milliseconds of one execution, `(MB)` are MiB, `(MFLOP)` is 1e6
//!   operations. Columns of cycles assume 1 GHz for every chip and are ignored.
//! - The rows between `Repeat` and `EndRepeat` run as often as these two rows state.
//! - The table names no chip. Peaks follow from its rows: operations divided by compute
//!   time, and bytes divided by memory time. Bytes are limited to those that fit into the
//!   memory time, because `Total Data` includes data that stays on the chip.
//!
//! Written from the output of `GenZ` for llama3-8b, prefill and decode.

use importer_common::csv_table::{CsvRow, CsvTable};
use importer_common::prelude::*;

use super::program::{CostBlock, CostedDevice, CostedProgram, OpCost};
use super::table::{CostTableContent, OpCostTable};

/// Tables of `GenZ`.
pub static GENZ: OpCostTable = OpCostTable {
    format: &TraceFormat {
        id: "genz",
        title: "GenZ operator CSV",
        extensions: &["csv"],
        markers: &[],
        about: "What GenZ computes for each operator of a model: compute, memory and communication time, FLOPs, bytes.",
    },
    simulator: "GenZ",
    columns: &[
        b"Layer Name",
        b"Op Type",
        b"Bound",
        b"Latency (msec)",
        b"Num ops (MFLOP)",
    ],
    beside: |_name| Vec::new(),
    read,
};

const PARTS: [&str; 3] = ["Compute", "HBM", "ICI"];
const MIB: f64 = 1_048_576.0;
const PS_PER_MS: f64 = 1e9;
/// Maximum duration of a row (about an hour and a half of simulated time).
const MAX_MS: f64 = 5e6;

/// Reads the table.
fn read(
    source: &InputSource,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<CostTableContent> {
    let table = CsvTable::read(source, GENZ.format.title, progress, out)?;
    table.require(&[
        "Layer Name",
        "Op Type",
        "Dimension",
        "Latency (msec)",
        "Num ops (MFLOP)",
        "Total Data (MB)",
        "Compute time (msec)",
        "Memory time (msec)",
        "Communication time (msec)",
    ])?;
    let mut blocks = blocks(&table, out);
    if blocks.is_empty() {
        return Err(table.malformed(format!("{}: no operator row can be read", table.file())));
    }
    let info = DeviceInfo {
        peak_flops: peak(&blocks, |cost| cost.flops, 0, f64::max),
        // Some of the data of a fused op stays on the chip, so its rate is too high.
        peak_hbm_bytes: peak(&blocks, |cost| cost.hbm_bytes, 1, f64::min),
        ..DeviceInfo::default()
    };
    if let Some(peak) = info.peak_hbm_bytes {
        for cost in blocks.iter_mut().flat_map(|block| &mut block.costs) {
            let moved = (cost.parts_ps.get(1).map_or(0.0, |&time| time as f64) * 1e-12 * peak)
                .round() as u64;
            cost.hbm_bytes = cost.hbm_bytes.map(|bytes| bytes.min(moved));
        }
    }
    let stem = source
        .name()
        .trim_end_matches(".gz")
        .trim_end_matches(".csv")
        .trim_end_matches("_model_df");
    let facts = vec![(
        "peaks".to_owned(),
        "as the costs of the rows imply".to_owned(),
    )];
    Ok((
        vec![CostedProgram {
            name: stem.to_owned(),
            blocks,
        }],
        CostedDevice {
            info,
            parts: &PARTS,
            facts,
        },
    ))
}

/// The rows in blocks that repeat.
fn blocks(table: &CsvTable, out: &mut TraceBuilder) -> Vec<CostBlock> {
    let mut blocks: Vec<CostBlock> = Vec::new();
    let mut repeats = None;
    let mut begins = true;
    for row in table.rows() {
        match row.text("Op Type") {
            "Repeat" => {
                repeats = row.count("Dimension").ok().filter(|&passes| passes > 0);
                if repeats.is_none() {
                    out.log(IssueKind::MalformedEvent, || {
                        row.wrong("no repetition count; one is assumed")
                    });
                }
                begins = true;
            }
            "EndRepeat" => (repeats, begins) = (None, true),
            _ => match cost(row) {
                Ok(cost) => {
                    let passes = repeats.unwrap_or(1);
                    if std::mem::take(&mut begins) {
                        blocks.push(CostBlock {
                            passes,
                            costs: Vec::new(),
                        });
                    }
                    if let Some(block) = blocks.last_mut() {
                        block.costs.push(cost);
                    }
                }
                Err(what) => out.log(IssueKind::MalformedEvent, || what),
            },
        }
    }
    blocks
}

/// A peak of the device: of the rates of all rows that are long enough, the one that is chosen.
fn peak(
    blocks: &[CostBlock],
    work: fn(&OpCost) -> Option<u64>,
    part: usize,
    choose: fn(f64, f64) -> f64,
) -> Option<f64> {
    let costs = || blocks.iter().flat_map(|block| &block.costs);
    let time = |cost: &OpCost| cost.parts_ps.get(part).copied().unwrap_or(0);
    // The last digit of a short time is a large share of it.
    let longest = costs()
        .filter(|cost| work(cost).is_some())
        .map(time)
        .max()
        .unwrap_or(0);
    let rates = costs()
        .filter(|cost| time(cost) >= longest / 100)
        .filter_map(|cost| {
            let seconds = time(cost) as f64 * 1e-12;
            Some(work(cost)? as f64 / seconds).filter(|rate| rate.is_finite() && *rate > 0.0)
        });
    rates.reduce(choose)
}

fn cost(row: CsvRow<'_>) -> Result<OpCost, String> {
    let ps = |column| {
        let ms = row.number(column)?;
        let valid = (0.0..=MAX_MS).contains(&ms);
        valid
            .then_some((ms * PS_PER_MS).round() as i64)
            .ok_or_else(|| row.wrong(&format!("{ms} ms is not a valid time")))
    };
    let amount = |column, scale: f64| {
        let amount = row.number(column)? * scale;
        let valid = (0.0..9e18).contains(&amount);
        valid
            .then_some(amount.round() as u64)
            .ok_or_else(|| row.wrong("an impossible amount"))
    };
    let time_ps = ps("Latency (msec)")?;
    let parts = [
        ps("Compute time (msec)")?,
        ps("Memory time (msec)")?,
        ps("Communication time (msec)")?,
    ];
    let name = row.text("Layer Name");
    let is_collective = row.text("Op Type") == "Sync";
    let known = |amount: u64| (!is_collective).then_some(amount);
    Ok(OpCost {
        name: name.to_owned(),
        category: if is_collective {
            collective(name)
        } else {
            "dot"
        },
        time_ps,
        parts_ps: parts.map(|part| part.min(time_ps)).to_vec(),
        flops: known(amount("Num ops (MFLOP)", 1e6)?),
        hbm_bytes: known(amount("Total Data (MB)", MIB)?),
        args: row.args(),
        ..OpCost::default()
    })
}

/// The pattern in the last word of `MHA AR`, `classifier_AG`.
fn collective(name: &str) -> &'static str {
    match name.rsplit([' ', '_']).next().unwrap_or_default() {
        "AR" => "all-reduce",
        "AG" => "all-gather",
        "RS" => "reduce-scatter",
        "A2A" => "all-to-all",
        _ => "collective",
    }
}
