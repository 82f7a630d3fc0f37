//! Operator CSVs of `NeuSim`: `<run>_prefill.csv` and `<run>_decode.csv`, `<run>.csv`
//! with both, and `<run>.json` with the chip.
//!
//! - Times are whole nanoseconds of **one** execution; `Count` is the number of executions.
//!   A block is a sequence of rows with equal `Count`.
//! - Times and `flops_util` are by the clock of the rows, and not by that of the chip's JSON where the two differ.
//! - `hbm_bw_GBps` of the chip is in GiB/s (the times prove it), `ici_bw_GBps` in 1e9 bytes/s.
//! - `Bounded-by` is Compute also if VMEM is the bound; the times of the parts show the difference.
//! - `FLOP Count` of `FlashAttention` does not include its matrix products, so its work is not known.
//!
//! Ignored but kept as arguments: energy, power, DVFS and tiles.
//!
//! Written from the output of `NeuSim` for llama3-8b on TPU v5e, v5p and v6e.

use std::io::Read as _;

use importer_common::csv_table::{CsvRow, CsvTable};
use importer_common::prelude::*;
use importer_common::simulated::product_text;
use serde_json::Value;

use super::program::{CostBlock, CostedDevice, CostedProgram, OpCost};
use super::table::{CostTableContent, OpCostTable};

/// Tables of `NeuSim`.
pub static NEUSIM: OpCostTable = OpCostTable {
    format: &TraceFormat {
        id: "neusim",
        title: "NeuSim operator CSV",
        extensions: &["csv"],
        markers: &[],
        about: "What NeuSim computes for each operator of a model on a TPU: times of its parts, FLOPs, bytes, what bounds \
                it; peaks from the JSON beside it.",
    },
    simulator: "NeuSim",
    columns: &[
        b"OpType",
        b"Count",
        b"Bounded-by",
        b"Execution time",
        b"ICI/NVLink time",
    ],
    beside,
    read,
};

const PARTS: [&str; 5] = ["MXU", "VPU", "VMEM", "HBM", "ICI"];
const PART_COLUMNS: [&str; 5] = [
    "MXU time",
    "VPU time",
    "Vmem time",
    "Memory time",
    "ICI/NVLink time",
];
/// The clocks of the matrix units and of HBM, in GHz, by which an operator was computed; older tables do not have them.
const CLOCKS: [&str; 2] = ["DVFS SA Frequency (GHz)", "DVFS HBM Frequency (GHz)"];
const GIB: f64 = 1_073_741_824.0;
/// Maximum size of the chip's JSON file, which usually has a few kilobytes.
const MAX_JSON: u64 = 1 << 20;

/// What the rows say of [`CLOCKS`].
type RowClocks = BTreeSet<String>;

/// The name of a table without its ending, and that of the run.
fn stems(name: &str) -> (&str, &str) {
    let stem = name.trim_end_matches(".gz").trim_end_matches(".csv");
    (
        stem,
        ["_prefill", "_decode"]
            .iter()
            .find_map(|phase| stem.strip_suffix(phase))
            .unwrap_or(stem),
    )
}

fn beside(name: &str) -> Vec<String> {
    let (stem, run) = stems(name);
    vec![
        format!("{stem}_prefill.csv"),
        format!("{stem}_decode.csv"),
        format!("{run}.json"),
    ]
}

/// Reads the table, or the two tables that it consists of.
fn read(
    source: &InputSource,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<CostTableContent> {
    let (stem, run) = stems(source.name());
    let part = |phase: &str| source.beside(&format!("{stem}_{phase}.csv"));
    let chip = source.beside(&format!("{run}.json"));
    let (mut programs, mut clocks) = (Vec::new(), RowClocks::new());
    if let (Some(prefill), Some(decode)) = (part("prefill"), part("decode")) {
        let name = source.name();
        out.log(IssueKind::Duplicate, || {
            format!("{name} repeats the rows of its prefill and decode; these were read")
        });
        for (phase, source) in [("prefill", prefill), ("decode", decode)] {
            programs.push(program(phase, &source, &mut clocks, progress, out)?);
        }
    } else {
        let name = stem
            .strip_prefix(run)
            .filter(|phase| !phase.is_empty())
            .map_or(stem, |phase| &phase[1..]);
        programs.push(program(name, source, &mut clocks, progress, out)?);
    }
    if chip.is_none() {
        let wanted = format!("no {run}.json beside the table: the peaks of the chip are not known");
        out.log(IssueKind::UnknownMetadata, || wanted);
    }
    Ok((programs, device(chip.as_ref(), &clocks, out)))
}

/// Columns that every row needs; older tables do not have [`EINSUM`].
const NEEDED: [&str; 8] = [
    "Name",
    "OpType",
    "Count",
    "Execution time",
    "FLOP Count",
    "Bytes accessed",
    "Input Tensor Shapes",
    "Op Code",
];
const EINSUM: [&str; 4] = [
    "einsum_B_size",
    "einsum_M_size",
    "einsum_N_size",
    "einsum_K_size",
];

fn program(
    name: &str,
    source: &InputSource,
    clocks: &mut RowClocks,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<CostedProgram> {
    let table = CsvTable::read(source, NEUSIM.format.title, progress, out)?;
    table.require(&NEEDED)?;
    table.require(&PART_COLUMNS)?;
    let mut blocks: Vec<CostBlock> = Vec::new();
    for row in table.rows() {
        let (passes, cost) = match cost(row, out) {
            Ok(program) => program,
            Err(what) => {
                out.log(IssueKind::MalformedEvent, || what);
                continue;
            }
        };
        let said = CLOCKS.into_iter().map(|column| row.text(column));
        clocks.extend(said.filter(|clock| !clock.is_empty()).map(str::to_owned));
        match blocks.last_mut().filter(|block| block.passes == passes) {
            Some(block) => block.costs.push(cost),
            None => blocks.push(CostBlock {
                passes,
                costs: vec![cost],
            }),
        }
    }
    if blocks.is_empty() {
        return Err(table.malformed(format!("{}: no operator row can be read", table.file())));
    }
    Ok(CostedProgram {
        name: name.to_owned(),
        blocks,
    })
}

fn cost(row: CsvRow<'_>, out: &mut TraceBuilder) -> Result<(u64, OpCost), String> {
    let passes = row.count("Count")?;
    if passes == 0 {
        return Err(row.wrong("\"Count\" is 0: the operator never runs"));
    }
    let ps = |column| {
        let ns = row.count(column)? as i64;
        ns.checked_mul(1000)
            .ok_or_else(|| row.wrong(&format!("{ns} ns is longer than a timeline")))
    };
    let time_ps = ps("Execution time")?;
    let mut parts_ps = Vec::new();
    for column in PART_COLUMNS {
        let part = ps(column)?;
        if part > time_ps {
            out.log(IssueKind::ImplausibleValue, || {
                row.wrong("a part takes longer than its operator; it was shortened")
            });
        }
        parts_ps.push(part.min(time_ps));
    }
    if time_ps == 0 {
        return Err(row.wrong("the operator takes no time"));
    }
    let mut optional = |column| match row.count(column) {
        Ok(count) => Some(count),
        Err(what) => {
            out.log(IssueKind::ImplausibleValue, || what);
            None
        }
    };
    let code = row.text("Op Code");
    let (flops, hbm_bytes) = (optional("FLOP Count"), optional("Bytes accessed"));
    let flops = flops.filter(|_| code != FLASH_ATTENTION);
    let cost = OpCost {
        name: row.text("Name").to_owned(),
        description: row.text("Description").to_owned(),
        category: category(row.text("OpType"), code, parts_ps[0] > 0),
        time_ps,
        parts_ps,
        flops,
        hbm_bytes,
        hlo_text: product(row, flops),
        args: row.args(),
    };
    Ok((passes, cost))
}

/// The op code of kernels whose products are not counted.
const FLASH_ATTENTION: &str = "FlashAttention";

/// The category, decided by the op code because reduce-scatters have the type of VPU work.
fn category(kind: &str, code: &str, uses_mxu: bool) -> &'static str {
    match code {
        "AllGather" => "all-gather",
        "ReduceScatter" => "reduce-scatter",
        "AllReduce" => "all-reduce",
        "AllToAll" => "all-to-all",
        _ if code.starts_with("InterChipComm") || kind == "ICINoCompute" => "collective",
        // A kernel with several products and a softmax.
        FLASH_ATTENTION => "custom-call",
        // Small products run on the VPU, regardless of their type.
        _ if uses_mxu => "dot",
        _ => "loop fusion",
    }
}

/// The product as HLO text, if the operator computes nothing else.
fn product(row: CsvRow<'_>, flops: Option<u64>) -> Option<String> {
    let [b, m, n, k] = EINSUM.map(|column| row.count(column).ok().filter(|&size| size > 0));
    let (b, m, n, k) = (b?, m?, n?, k?);
    let operations = [2, b, m, n, k]
        .into_iter()
        .try_fold(1_u64, u64::checked_mul)?;
    if Some(operations) != flops {
        return None;
    }
    let dtype = match row.text("Input Tensor Shapes").split(':').next()? {
        "DT_BFLOAT16" => "bf16",
        "DT_FLOAT" => "f32",
        "DT_INT8" => "s8",
        _ => return None,
    };
    Some(if b == 1 {
        product_text(dtype, [m, k, n])
    } else {
        format!(
            "%dot = {dtype}[{b},{m},{n}]{{2,1,0}} dot({dtype}[{b},{m},{k}]{{2,1,0}} %lhs, \
             {dtype}[{b},{k},{n}]{{2,1,0}} %rhs), lhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, \
             rhs_batch_dims={{0}}, rhs_contracting_dims={{1}}"
        )
    })
}

/// The chip, from the JSON file next to the table.
fn device(chip: Option<&InputSource>, clocks: &RowClocks, out: &mut TraceBuilder) -> CostedDevice {
    let read = |source: &InputSource| {
        // The limit applies to the unpacked text, because a small gzip file can unpack to any size.
        let mut text = Vec::new();
        source
            .reader()
            .take(MAX_JSON + 1)
            .read_to_end(&mut text)
            .map_err(|error| error.to_string())?;
        if text.len() as u64 > MAX_JSON {
            return Err("larger than any chip".to_owned());
        }
        serde_json::from_slice::<Value>(&text).map_err(|error| error.to_string())
    };
    let chip = chip
        .map(|source| read(source).map_err(|error| format!("{}: {error}", source.name())))
        .transpose();
    let chip = chip.unwrap_or_else(|what| {
        out.log(IssueKind::UnknownMetadata, || what);
        None
    });
    let mut device = CostedDevice {
        parts: &PARTS,
        ..CostedDevice::default()
    };
    let Some(chip) = chip else { return device };
    let number = |key: &str| {
        chip.get(key)
            .and_then(Value::as_f64)
            .filter(|&number| number > 0.0 && number < 1e12)
    };
    let said = number("freq_GHz");
    let ghz = clock(said, clocks, out);
    // All parts of the chip are faster at a faster clock: the times of memory and links prove it.
    let faster = ghz.zip(said).map_or(1.0, |(ghz, said)| ghz / said);
    let arrays = number("num_sa").zip(number("sa_dim"));
    let multipliers = arrays.map(|(arrays, side)| arrays * side * side);
    device.info = DeviceInfo {
        type_name: chip
            .get("name")
            .and_then(Value::as_str)
            .map(|name| format!("TPU v{name}")),
        peak_flops: multipliers
            .zip(ghz)
            .map(|(multipliers, ghz)| 2.0 * multipliers * ghz * 1e9),
        peak_hbm_bytes: number("hbm_bw_GBps").map(|gib| gib * GIB * faster),
        matrix_unit: number("sa_dim").map(|side| side as u32),
        ..DeviceInfo::default()
    };
    let wanted = [
        "model_name",
        "num_chips",
        "tensor_parallelism_degree",
        "pipeline_parallelism_degree",
    ];
    for key in wanted.into_iter().chain([
        "global_batch_size",
        "input_seqlen",
        "output_seqlen",
        "freq_GHz",
        "ici_bw_GBps",
    ]) {
        if let Some(value) = chip
            .get(key)
            .filter(|value| value.is_string() || value.is_number())
        {
            device.facts.push((
                key.to_owned(),
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned),
            ));
        }
    }
    device
}

/// The clock of the peaks, in GHz: the one that all rows were computed at, or else that of the chip. Peaks at another
/// clock than that of the times are exceeded, or never reached.
fn clock(of_chip: Option<f64>, clocks: &RowClocks, out: &mut TraceBuilder) -> Option<f64> {
    let mut of_rows = clocks.iter().map(|clock| clock.parse().ok());
    let of_rows: Option<f64> = of_rows
        .next()
        .flatten()
        .filter(|_| of_rows.next().is_none());
    let of_rows = of_rows.filter(|ghz| *ghz > 0.0 && *ghz < 1e3);
    let differ = |(chip, rows): &(f64, f64)| chip.to_bits() != rows.to_bits();
    if let Some((chip, rows)) = of_chip.zip(of_rows).filter(differ) {
        out.log(IssueKind::ImplausibleValue, || {
            format!("the chip's clock of {chip} GHz: all rows were computed at {rows} GHz, and so are the peaks")
        });
    }
    of_rows.or(of_chip)
}
