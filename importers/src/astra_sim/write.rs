//! From a run, and the graphs that it was made of where they lie beside, to devices.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;
use trace_model::{DeviceInfo, IssueKind, TraceBuilder};

use super::line::Roofline;
use super::nodes::{Node, Npu, Run};
use crate::chakra::graph::{self, Graph};
use crate::chakra::npu::{self, Costs, Ran};
use crate::{Progress, Source, chakra};

/// Makes a device of every NPU.
pub(super) fn write(run: Run, source: &Source, progress: &Progress, out: &mut TraceBuilder) {
    if !run.is_finished() {
        let unfinished = "the log ends before the run does: nodes without an end reach to its last line";
        out.log(IssueKind::TruncatedFile, || unfinished.to_owned());
    }
    let graphs = graphs_beside(source, progress, out);
    if graphs.is_empty() {
        out.source_mut().cannot_know.extend(["sizes of messages", "dependencies of nodes"]);
    }
    let of = Some(run.npus.len());
    for (rank, npu) in run.npus {
        let graph = graphs.get(&rank).filter(|graph| fits(graph, &npu));
        if graph.is_none() && graphs.contains_key(&rank) {
            out.log(IssueKind::SourceSkipped, || format!("the graph of rank {rank} has other nodes than the run"));
        }
        let device = device(&npu);
        let nodes = nodes(&npu, graph);
        npu::write(&npu::Npu { rank, nodes, device, facts: npu.statistics, of }, out);
    }
}

/// Nodes with their times, and what the graph says of them.
fn nodes(npu: &Npu, graph: Option<&Graph>) -> Vec<Ran> {
    let described: HashMap<u64, &graph::Node> =
        graph.into_iter().flat_map(|graph| &graph.nodes).map(|node| (node.id, node)).collect();
    let ran = |node: &Node| {
        let described = described.get(&node.id);
        let costs = node.roofline.map(|costs| Costs { flops: costs.flops, bytes: costs.bytes });
        Ran {
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

/// The peaks, from the roofline of the node that comes nearest to each.
fn device(npu: &Npu) -> DeviceInfo {
    let rooflines = || npu.nodes.iter().filter_map(|node| node.roofline);
    let nearest = |share: fn(&Roofline) -> f64| rooflines().max_by(|a, b| share(a).total_cmp(&share(b)));
    DeviceInfo {
        type_name: Some("ASTRA-sim NPU".to_owned()),
        peak_flops: nearest(|roofline| roofline.compute).and_then(|roofline| roofline.peaks().0),
        peak_hbm_bytes: nearest(|roofline| roofline.memory).and_then(|roofline| roofline.peaks().1),
        ..DeviceInfo::default()
    }
}

/// Graphs by rank, in the directory of the log or the one around it. Nothing where
/// there are graphs of several workloads.
fn graphs_beside(source: &Source, progress: &Progress, out: &mut TraceBuilder) -> BTreeMap<u32, Graph> {
    let log_in = source.path().and_then(Path::parent);
    let folders = log_in.into_iter().chain(log_in.and_then(Path::parent));
    let Some(paths) = folders.map(graphs_in).find(|paths| !paths.is_empty()) else { return BTreeMap::new() };
    let mut graphs = BTreeMap::new();
    let count = paths.len();
    for path in paths {
        // Its limits on what a gzip may unpack to hold for files beside, too.
        let Ok((file, content)) = Source::open(&path).and_then(|file| Ok((file.clone(), file.content(progress)?)))
        else {
            continue;
        };
        graphs.insert(chakra::rank(file.name()), graph::read((*content.bytes).as_ref()));
    }
    if graphs.len() < count {
        out.log(IssueKind::SourceSkipped, || format!("{count} graphs beside the log belong to several workloads"));
        return BTreeMap::new();
    }
    graphs
}

fn graphs_in(folder: &Path) -> Vec<PathBuf> {
    let is_graph = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "et");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_graph)
        .collect();
    paths.sort();
    paths
}

/// Whether every node of the run is in the graph, by number and name.
fn fits(graph: &Graph, npu: &Npu) -> bool {
    let names: HashMap<u64, &str> = graph.nodes.iter().map(|node| (node.id, node.name.as_str())).collect();
    npu.nodes.iter().all(|node| names.get(&node.id).is_some_and(|name| *name == node.name))
}
