//! Reads layers from the reports.

use importer_common::csv_table::{CsvRow, CsvTable};
use importer_common::names::TakenNames;
use importer_common::prelude::*;
use trace_model::Arg;

use super::inputs::ScaleSimTopology;
use super::layer::{STREAMS, ScaleSimAccess, ScaleSimLayer, ScaleSimTraffic};

/// The column that only v3 has, not v2.
pub(super) const WITH_PREFETCH: &str = "Total Cycles (incl. prefetch)";

/// Maximum percentage; rounding can lead to slightly more than 100.
const MAX_PERCENT: f64 = 100.5;

/// Reads the reports. A row that cannot be read is left out and logged.
pub(super) fn read(
    compute: &CsvTable,
    access: Option<&CsvTable>,
    out: &mut TraceBuilder,
) -> Result<Vec<ScaleSimLayer>> {
    compute.require(&[
        "LayerID",
        "Total Cycles",
        "Stall Cycles",
        "Overall Util %",
        "Mapping Efficiency %",
    ])?;
    let mut layers = Vec::new();
    for row in compute.rows() {
        match layer(row, out) {
            Ok(layer) => layers.push(layer),
            Err(what) => out.log(IssueKind::MalformedEvent, || what),
        }
    }
    if layers.is_empty() {
        let what = "no layer row can be read; did the simulation finish?";
        return Err(compute.malformed(format!("{}: {what}", compute.file())));
    }
    // Layers are looked up by id.
    layers.sort_by_key(|layer: &ScaleSimLayer| layer.id);
    let all = layers.len();
    layers.dedup_by_key(|layer| layer.id);
    let twice = all - layers.len();
    if twice > 0 {
        out.log(IssueKind::Duplicate, || {
            format!(
                "{}: {twice} duplicate layer rows; the first of each layer counts",
                compute.file()
            )
        });
    }
    for (index, layer) in layers
        .iter()
        .enumerate()
        .filter(|(index, layer)| layer.id != *index as u64)
        .take(1)
    {
        let id = layer.id;
        out.log(IssueKind::MalformedEvent, || {
            format!("{}: layer {index} is missing, {id} follows", compute.file())
        });
    }
    match access {
        Some(access) => read_access(access, &mut layers, out)?,
        None => out.log(IssueKind::UnknownMetadata, || {
            "no DETAILED_ACCESS_REPORT.csv beside the report: DRAM traffic is not shown".to_owned()
        }),
    }
    Ok(layers)
}

fn layer(row: CsvRow<'_>, out: &mut TraceBuilder) -> Result<ScaleSimLayer, String> {
    let id = row.count("LayerID")?;
    let cycles = row.count("Total Cycles")? as i64;
    let stalls = row.count("Stall Cycles").map_or_else(
        |what| {
            out.log(IssueKind::ImplausibleValue, || what);
            0
        },
        |stalls| (stalls as i64).min(cycles),
    );
    let mut percent = |column| match row.number(column) {
        Ok(percent) if (0.0..=MAX_PERCENT).contains(&percent) => Some(percent),
        Ok(percent) => {
            out.log(IssueKind::ImplausibleValue, || {
                row.wrong(&format!("a utilization of {percent} %"))
            });
            None
        }
        Err(what) => {
            out.log(IssueKind::ImplausibleValue, || what);
            None
        }
    };
    let (overall, mapping) = (percent("Overall Util %"), percent("Mapping Efficiency %"));
    let name = format!("layer {id}");
    Ok(ScaleSimLayer {
        id,
        name,
        cycles,
        stalls,
        overall,
        mapping,
        access: None,
        rows: vec![row.args()],
        sizes: None,
    })
}

fn read_access(
    table: &CsvTable,
    layers: &mut [ScaleSimLayer],
    out: &mut TraceBuilder,
) -> Result<()> {
    table.require(&["LayerID"])?;
    let mut columns = Vec::new();
    for stream in STREAMS {
        let verb = if stream.is_written { "Writes" } else { "Reads" };
        for memory in ["SRAM", "DRAM"] {
            let column = |what| format!("{memory} {} {what}", stream.report_name);
            let names = ["Start Cycle", "Stop Cycle", verb].map(column);
            table.require(&names.each_ref().map(String::as_str))?;
            columns.push(names);
        }
    }
    let traffic = |row: CsvRow<'_>, [first, last, words]: &[String; 3]| {
        let traffic = ScaleSimTraffic {
            first: row.whole(first)?,
            last: row.whole(last)?,
            words: row.count(words)?,
        };
        let in_order = traffic.first <= traffic.last || traffic.words == 0;
        in_order
            .then_some(traffic)
            .ok_or_else(|| row.wrong("a stop cycle before its start cycle"))
    };
    let read = |row: CsvRow<'_>| -> Result<(u64, [ScaleSimAccess; 3]), String> {
        let mut access: [ScaleSimAccess; 3] = Default::default();
        for (access, columns) in access.iter_mut().zip(columns.chunks_exact(2)) {
            (access.sram, access.dram) = (traffic(row, &columns[0])?, traffic(row, &columns[1])?);
        }
        Ok((row.count("LayerID")?, access))
    };
    for row in table.rows() {
        match read(row) {
            Ok((id, access)) => {
                let layer = layers.binary_search_by_key(&id, |layer| layer.id).ok();
                match layer.and_then(|index| layers.get_mut(index)) {
                    Some(layer) if layer.access.is_none() => {
                        layer.rows.push(row.args().without("LayerID"));
                        layer.access = Some(access);
                    }
                    Some(_) => {
                        out.log(IssueKind::Duplicate, || {
                            row.wrong("a duplicate row of this layer; the first counts")
                        });
                    }
                    None => out.log(IssueKind::UnknownMetadata, || {
                        row.wrong("no such layer in the compute report")
                    }),
                }
            }
            Err(what) => out.log(IssueKind::MalformedEvent, || what),
        }
    }
    for layer in layers.iter().filter(|layer| layer.access.is_none()) {
        let id = layer.id;
        out.log(IssueKind::UnknownMetadata, || {
            format!(
                "{} has no row for layer {id}: no DRAM traffic",
                table.file()
            )
        });
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
            layer.sizes = Some(Arg {
                name: "sizes".to_owned(),
                value: ArgValue::Text(row.sizes.clone()),
            });
        }
        layer.name = taken.distinct(std::mem::take(&mut layer.name), "layer", layer.id);
    }
}

/// Marks counts that are too large to be numbers of words.
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
