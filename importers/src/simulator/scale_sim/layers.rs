//! Layers as the reports describe them.

use trace_model::{Arg, ArgValue, IssueKind, TraceBuilder};

use super::dram_trace::DramTraceCounts;
use super::inputs::ScaleSimTopology;
use crate::common::csv_table::{CsvRow, CsvTable, RowArgs};
use crate::common::names::TakenNames;
use crate::input::ImportError;

/// The column that tells v3 from v2.
pub(super) const WITH_PREFETCH: &str = "Total Cycles (incl. prefetch)";

/// Percentages are computed in floating point.
const MAX_PERCENT: f64 = 100.5;

/// One of the three streams of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScaleSimStream {
    /// `IFMAP`, as the reports and traces call it.
    pub(super) name: &'static str,
    /// As [`ScaleSimStream::name`] in `DETAILED_ACCESS_REPORT.csv`.
    report_name: &'static str,
    /// Whether the array writes it.
    pub(super) is_written: bool,
}

/// Inputs, weights and results.
pub(super) const STREAMS: [ScaleSimStream; 3] = [
    ScaleSimStream { name: "IFMAP", report_name: "IFMAP", is_written: false },
    ScaleSimStream { name: "FILTER", report_name: "Filter", is_written: false },
    ScaleSimStream { name: "OFMAP", report_name: "OFMAP", is_written: true },
];

/// What a stream does in one memory, in cycles of the layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ScaleSimTraffic {
    pub(super) first: i64,
    /// Included.
    pub(super) last: i64,
    pub(super) words: u64,
}

/// The traffic of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct ScaleSimAccess {
    pub(super) sram: ScaleSimTraffic,
    pub(super) dram: ScaleSimTraffic,
    /// What the DRAM trace holds, where there is one.
    pub(super) counted: Option<DramTraceCounts>,
    /// The report counts more than is possible, and there is no trace with the actual number.
    pub(super) is_padded: bool,
}

impl ScaleSimAccess {
    /// Words to or from DRAM; `None` if only a count with padding is known.
    pub(super) fn dram_words(&self) -> Option<u64> {
        self.counted.as_ref().map(|counted| counted.words).or((!self.is_padded).then_some(self.dram.words))
    }
}

/// One layer.
#[derive(Clone, Debug, Default)]
pub(super) struct ScaleSimLayer {
    /// Number in the reports.
    pub(super) id: u64,
    pub(super) name: String,
    /// Cycles of the array.
    pub(super) cycles: i64,
    pub(super) stalls: i64,
    /// Percent of all multipliers in all cycles.
    pub(super) overall: Option<f64>,
    /// Percent of the multipliers that data is mapped to.
    pub(super) mapping: Option<f64>,
    /// In the order of [`STREAMS`].
    pub(super) access: Option<[ScaleSimAccess; 3]>,
    /// What the reports say.
    pub(super) rows: Vec<RowArgs>,
    /// What it computes, for people.
    pub(super) sizes: Option<Arg>,
}

impl ScaleSimLayer {
    /// Cycles × share of the multipliers: the multiplications, once their number is known.
    pub(super) fn busy_cycles(&self) -> Option<f64> {
        Some(self.cycles as f64 * self.overall? / 100.0)
    }

    /// Cycles that the array waits for the first data.
    pub(super) fn prefetch(&self) -> i64 {
        let firsts = self.reads().map(|access| access.dram.first);
        firsts.min().map_or(0, |first| (-first).max(0))
    }

    /// From the first compute cycle until everything is done.
    pub(super) fn end(&self) -> i64 {
        let ends =
            self.access.iter().flatten().filter(|access| access.dram.words > 0).map(|access| access.dram.last + 1);
        ends.max().unwrap_or(0).max(self.cycles)
    }

    fn reads(&self) -> impl Iterator<Item = &ScaleSimAccess> {
        let all = self.access.iter().flatten().zip(STREAMS);
        all.filter(|(access, stream)| !stream.is_written && access.dram.words > 0).map(|(access, _)| access)
    }
}

/// Reads the reports. A row that cannot be read is left out and logged.
pub(super) fn read(
    compute: &CsvTable,
    access: Option<&CsvTable>,
    out: &mut TraceBuilder,
) -> Result<Vec<ScaleSimLayer>, ImportError> {
    let columns =
        compute.columns(["LayerID", "Total Cycles", "Stall Cycles", "Overall Util %", "Mapping Efficiency %"])?;
    let mut layers = Vec::new();
    for row in compute.rows() {
        match layer(row, columns, out) {
            Ok(layer) => layers.push(layer),
            Err(what) => out.log(IssueKind::MalformedEvent, || what),
        }
    }
    if layers.is_empty() {
        let what = "no row of a layer can be read; did the simulation finish?";
        return Err(compute.malformed(format!("{}: {what}", compute.file())));
    }
    // Layers are found by their ids.
    layers.sort_by_key(|layer: &ScaleSimLayer| layer.id);
    let all = layers.len();
    layers.dedup_by_key(|layer| layer.id);
    let twice = all - layers.len();
    if twice > 0 {
        out.log(IssueKind::Duplicate, || {
            format!("{}: {twice} more rows of layers that have one; the first counts", compute.file())
        });
    }
    for (at, layer) in layers.iter().enumerate().filter(|(at, layer)| layer.id != *at as u64).take(1) {
        let id = layer.id;
        out.log(IssueKind::MalformedEvent, || format!("{}: layer {at} is missing, {id} follows", compute.file()));
    }
    match access {
        Some(access) => read_access(access, &mut layers, out)?,
        None => out.log(IssueKind::UnknownMetadata, || {
            "no DETAILED_ACCESS_REPORT.csv beside the report: DRAM traffic is not shown".to_owned()
        }),
    }
    Ok(layers)
}

fn layer(row: CsvRow<'_>, columns: [usize; 5], out: &mut TraceBuilder) -> Result<ScaleSimLayer, String> {
    let [id, cycles, stalls, overall, mapping] = columns;
    let id = row.count(id)?;
    let cycles = row.count(cycles)? as i64;
    let stalls = row.count(stalls).map_or_else(
        |what| {
            out.log(IssueKind::ImplausibleValue, || what);
            0
        },
        |stalls| (stalls as i64).min(cycles),
    );
    let mut percent = |column| match row.number(column) {
        Ok(percent) if (0.0..=MAX_PERCENT).contains(&percent) => Some(percent),
        Ok(percent) => {
            out.log(IssueKind::ImplausibleValue, || row.wrong(&format!("a utilization of {percent} %")));
            None
        }
        Err(what) => {
            out.log(IssueKind::ImplausibleValue, || what);
            None
        }
    };
    let (overall, mapping) = (percent(overall), percent(mapping));
    let name = format!("layer {id}");
    Ok(ScaleSimLayer { id, name, cycles, stalls, overall, mapping, access: None, rows: vec![row.args()], sizes: None })
}

fn read_access(table: &CsvTable, layers: &mut [ScaleSimLayer], out: &mut TraceBuilder) -> Result<(), ImportError> {
    let [id_column] = table.columns(["LayerID"])?;
    let mut columns = Vec::new();
    for stream in STREAMS {
        let verb = if stream.is_written { "Writes" } else { "Reads" };
        for memory in ["SRAM", "DRAM"] {
            let column = |what| format!("{memory} {} {what}", stream.report_name);
            let names = [column("Start Cycle"), column("Stop Cycle"), column(verb)];
            columns.push(table.columns([&names[0], &names[1], &names[2]])?);
        }
    }
    let traffic = |row: CsvRow<'_>, [first, last, words]: [usize; 3]| {
        let traffic = ScaleSimTraffic { first: row.whole(first)?, last: row.whole(last)?, words: row.count(words)? };
        let in_order = traffic.first <= traffic.last || traffic.words == 0;
        in_order.then_some(traffic).ok_or_else(|| row.wrong("a stop cycle before its start cycle"))
    };
    let read = |row: CsvRow<'_>| -> Result<(u64, [ScaleSimAccess; 3]), String> {
        let mut access: [ScaleSimAccess; 3] = Default::default();
        for (access, columns) in access.iter_mut().zip(columns.chunks_exact(2)) {
            (access.sram, access.dram) = (traffic(row, columns[0])?, traffic(row, columns[1])?);
        }
        Ok((row.count(id_column)?, access))
    };
    for row in table.rows() {
        match read(row) {
            Ok((id, access)) => {
                let layer = layers.binary_search_by_key(&id, |layer| layer.id).ok();
                match layer.and_then(|at| layers.get_mut(at)) {
                    Some(layer) if layer.access.is_none() => {
                        layer.rows.push(row.args().without(id_column));
                        layer.access = Some(access);
                    }
                    Some(_) => {
                        out.log(IssueKind::Duplicate, || row.wrong("another row of this layer; the first counts"));
                    }
                    None => out.log(IssueKind::UnknownMetadata, || row.wrong("no such layer in the compute report")),
                }
            }
            Err(what) => out.log(IssueKind::MalformedEvent, || what),
        }
    }
    for layer in layers.iter().filter(|layer| layer.access.is_none()) {
        let id = layer.id;
        out.log(IssueKind::UnknownMetadata, || format!("{} has no row for layer {id}: no DRAM traffic", table.file()));
    }
    Ok(())
}

/// Names layers by the topology, and makes equal names unique.
pub(super) fn name(layers: &mut [ScaleSimLayer], topology: Option<&ScaleSimTopology>) {
    let mut taken = TakenNames::default();
    for layer in layers {
        let row = topology.and_then(|topology| topology.layer(layer.id));
        if let Some(row) = row {
            row.name.clone_into(&mut layer.name);
            layer.sizes = Some(Arg { name: "sizes".to_owned(), value: ArgValue::Text(row.sizes.clone()) });
        }
        layer.name = taken.distinct(std::mem::take(&mut layer.name), "layer", layer.id);
    }
}

/// Marks counts that cannot be counts of words.
pub(super) fn leave_out_padded(layers: &mut [ScaleSimLayer], out: &mut TraceBuilder) {
    for layer in layers {
        let ScaleSimLayer { id, access, .. } = layer;
        for (access, stream) in access.iter_mut().flatten().zip(STREAMS) {
            let (reported, sram) = (access.dram.words, access.sram.words);
            if let Some(counted) = access.counted.as_ref().map(|counted| counted.words) {
                if counted != reported {
                    out.log(IssueKind::PaddedCounts, || {
                        format!(
                            "layer {id} {}: the report says {reported} words, its trace holds {counted}",
                            stream.name
                        )
                    });
                }
            } else if !stream.is_written && reported > sram {
                access.is_padded = true;
                out.log(IssueKind::PaddedCounts, || {
                    let name = stream.name;
                    format!(
                        "layer {id} {name}: {reported} words from DRAM but only {sram} from SRAM; no trace to count"
                    )
                });
            }
        }
    }
}
