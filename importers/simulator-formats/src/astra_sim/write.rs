//! Converts a run, with its graphs if they are found, to devices.

use std::path::{Path, PathBuf};

use importer_common::prelude::*;
use input::ImportError;
use input::source::file_name;
use trace_model::Caveat;

use super::line::AstraSimRoofline;
use super::network;
use super::nodes::{AstraSimNode, AstraSimNpu, AstraSimRun};
use crate::chakra;
use crate::chakra::graph::{self, ChakraGraph};
use crate::chakra::npu::{self, NodeCosts, NodeExecution};

/// Makes a device of every NPU.
pub(super) fn write(
    run: AstraSimRun,
    source: &InputSource,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<()> {
    if !run.is_finished() && !run.is_closed() {
        let unfinished = "the log ends before the run: unfinished nodes are drawn to its last line";
        out.log(IssueKind::TruncatedFile, || unfinished.to_owned());
    }
    let graphs = graphs_beside(source, &run, out);
    let of = Some(run.npus.len());
    let network = network::find(source, run.npus.len(), out);
    if let Some(network) = &network {
        out.source_mut()
            .facts
            .push(("network".to_owned(), network.describe()));
    }
    let links = network.and_then(|network| network.links());
    if links.is_some() {
        out.source_mut().caveats.push(Caveat::ModelledLinks);
    }
    let mut has_graphs = false;
    for (rank, npu) in run.npus {
        // Graphs are read one at a time, because a run can have thousands.
        let graph = match graphs.get(&rank) {
            Some(path) => graph_of(path, &npu, progress, out)?,
            None => None,
        };
        has_graphs |= graph.is_some();
        let device = DeviceInfo {
            links: links.clone(),
            ..device(&npu)
        };
        let nodes = nodes(&npu, graph.as_ref());
        npu::write(
            &npu::ChakraNpu {
                rank,
                nodes,
                device,
                facts: npu.statistics,
                of,
            },
            out,
        );
    }
    if !has_graphs {
        out.source_mut()
            .cannot_know
            .extend(["message sizes", "dependencies of nodes"]);
    }
    Ok(())
}

/// Nodes with their times and the facts from the graph.
fn nodes(npu: &AstraSimNpu, graph: Option<&ChakraGraph>) -> Vec<NodeExecution> {
    let described: HashMap<u64, &graph::ChakraNode> = graph
        .into_iter()
        .flat_map(|graph| &graph.nodes)
        .map(|node| (node.id, node))
        .collect();
    let ran = |node: &AstraSimNode| {
        let described = described.get(&node.id);
        let costs = node.roofline.map(|costs| NodeCosts {
            flops: costs.flops,
            bytes: costs.bytes,
        });
        NodeExecution {
            id: node.id,
            name: node.name.clone(),
            kind: node.kind,
            is_on_host: described.is_some_and(|node| node.is_on_host),
            begin: node.begin,
            end: node.end.unwrap_or(npu.now),
            is_open: node.end.is_none(),
            costs: costs.or_else(|| described.and_then(|node| chakra::costs(node))),
            message: described.and_then(|node| chakra::message(node)),
            needs: described.map(|node| node.needs.clone()).unwrap_or_default(),
        }
    };
    npu.nodes.iter().map(ran).collect()
}

/// The peaks, derived from the roofline of the node that comes closest to each.
fn device(npu: &AstraSimNpu) -> DeviceInfo {
    let rooflines = || npu.nodes.iter().filter_map(|node| node.roofline);
    let nearest = |share: fn(&AstraSimRoofline) -> f64| {
        rooflines().max_by(|a, b| share(a).total_cmp(&share(b)))
    };
    DeviceInfo {
        type_name: Some("ASTRA-sim NPU".to_owned()),
        peak_flops: nearest(|roofline| roofline.compute).and_then(|roofline| roofline.peaks().0),
        peak_hbm_bytes: nearest(|roofline| roofline.memory).and_then(|roofline| roofline.peaks().1),
        ..DeviceInfo::default()
    }
}

/// Graph files by rank, in the directory of the log or its parent; only of ranks that ran. Empty if a rank has several
/// files.
fn graphs_beside(
    source: &InputSource,
    run: &AstraSimRun,
    out: &mut TraceBuilder,
) -> BTreeMap<u32, PathBuf> {
    let Some(paths) = source
        .folders()
        .map(|folder| source.files_in(folder, &["et"], usize::MAX))
        .find(|paths| !paths.is_empty())
    else {
        return BTreeMap::new();
    };
    let mut graphs = BTreeMap::new();
    for path in paths {
        let rank = chakra::rank(&file_name(&path));
        if !run.npus.contains_key(&rank) {
            let ran = run.npus.len();
            let why = || {
                format!(
                    "{}: {ran} NPUs ran, and none of them is rank {rank}",
                    file_name(&path)
                )
            };
            out.log(IssueKind::SourceSkipped, why);
        } else if let Some(other) = graphs.insert(rank, path.clone()) {
            let why = || {
                format!(
                    "{} and {} are both rank {rank}: no graph was read",
                    file_name(&other),
                    file_name(&path)
                )
            };
            out.log(IssueKind::SourceSkipped, why);
            return BTreeMap::new();
        }
    }
    graphs
}

/// The graph of an NPU, if it matches the run. Problems are logged; the only error is cancellation.
fn graph_of(
    path: &Path,
    npu: &AstraSimNpu,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<Option<ChakraGraph>> {
    let file = file_name(path);
    // The limits for unpacking gzip also hold for these files.
    let content = match InputSource::open(path).and_then(|source| source.content(progress)) {
        Ok(content) => content,
        Err(ImportError::Cancelled) => return Err(ImportError::Cancelled),
        Err(error) => {
            out.log(IssueKind::SourceSkipped, || format!("{file}: {error}"));
            return Ok(None);
        }
    };
    let graph = graph::read((*content.bytes).as_ref());
    let broken = graph
        .broken
        .map(|broken| format!("{} at byte {}", broken.why, broken.at));
    let damage = content.damage.or(broken);
    let fits = fits(&graph, npu);
    match (fits, damage) {
        // The readable part contains all nodes that ran.
        (true, Some(what)) => {
            let nodes = graph.nodes.len();
            out.log(IssueKind::TruncatedFile, || {
                format!("{file}: {what}; nodes read: {nodes}")
            });
        }
        (false, Some(what)) => out.log(IssueKind::SourceSkipped, || format!("{file}: {what}")),
        (false, None) => {
            out.log(IssueKind::SourceSkipped, || {
                format!("{file}: its nodes differ from those of the run")
            });
        }
        (true, None) => {}
    }
    Ok(fits.then_some(graph))
}

/// Whether every node of the run is in the graph, by id and name.
fn fits(graph: &ChakraGraph, npu: &AstraSimNpu) -> bool {
    let names: HashMap<u64, &str> = graph
        .nodes
        .iter()
        .map(|node| (node.id, node.name.as_str()))
        .collect();
    npu.nodes
        .iter()
        .all(|node| names.get(&node.id).is_some_and(|name| *name == node.name))
}
