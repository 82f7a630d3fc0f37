//! The earliest time of each node of a graph: after its dependencies, one node at a time per unit. A lower bound for
//! this order, not a prediction.

use std::collections::BinaryHeap;

use importer_common::prelude::*;

use super::graph::{ChakraNode, NodeKind};

/// Length of each node if the graph has no lengths.
const UNIT_US: u64 = 1;

/// Start and end of each node, in µs.
pub(super) struct ChakraSchedule {
    pub spans: Vec<(u64, u64)>,
    /// Whether lengths are known; otherwise all nodes take one microsecond.
    pub has_lengths: bool,
    /// Number of dependencies on missing nodes.
    pub dangling: usize,
}

/// Schedules all nodes. The error names nodes that wait for each other.
pub(super) fn schedule(nodes: &[ChakraNode]) -> Result<ChakraSchedule, String> {
    let has_lengths = nodes.iter().any(|node| node.duration_us > 0);
    let length = |node: &ChakraNode| {
        if has_lengths {
            node.duration_us
        } else {
            UNIT_US
        }
    };
    if nodes.iter().any(|node| node.start_us > 0) {
        // Recorded times, not computed ones.
        let span = |node: &ChakraNode| (node.start_us, node.start_us.saturating_add(length(node)));
        return Ok(ChakraSchedule {
            spans: nodes.iter().map(span).collect(),
            has_lengths,
            dangling: 0,
        });
    }
    let index: HashMap<u64, usize> = nodes
        .iter()
        .enumerate()
        .map(|(index, node)| (node.id, index))
        .collect();
    let mut waiting = vec![0_usize; nodes.len()];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut dangling = 0;
    for (number, node) in nodes.iter().enumerate() {
        for need in &node.needs {
            match index.get(need) {
                Some(&needed) => {
                    after[needed].push(number);
                    waiting[number] += 1;
                }
                None => dangling += 1,
            }
        }
    }
    let mut ready: BinaryHeap<Reverse<(u64, usize)>> = waiting
        .iter()
        .enumerate()
        .filter(|(_, waiting)| **waiting == 0)
        .map(|(number, _)| Reverse((0, number)))
        .collect();
    let mut earliest = vec![0_u64; nodes.len()];
    let mut spans: Vec<Option<(u64, u64)>> = vec![None; nodes.len()];
    let mut free = [0_u64; UNITS];
    while let Some(Reverse((at_us, number))) = ready.pop() {
        let node = &nodes[number];
        let free = &mut free[unit(node)];
        let begin = at_us.max(*free);
        let end = begin.saturating_add(length(node));
        *free = end;
        spans[number] = Some((begin, end));
        for &next in &after[number] {
            earliest[next] = earliest[next].max(end);
            waiting[next] -= 1;
            if waiting[next] == 0 {
                ready.push(Reverse((earliest[next], next)));
            }
        }
    }
    let ring: Vec<u64> = nodes
        .iter()
        .zip(&spans)
        .filter(|(_, span)| span.is_none())
        .map(|(node, _)| node.id)
        .collect();
    if !ring.is_empty() {
        return Err(format!(
            "{} nodes form a dependency cycle, among them {}",
            ring.len(),
            joined(ring.iter().take(5), ", ")
        ));
    }
    Ok(ChakraSchedule {
        spans: spans.into_iter().flatten().collect(),
        has_lengths,
        dangling,
    })
}

const UNITS: usize = 4;

/// The unit that a node occupies.
fn unit(node: &ChakraNode) -> usize {
    match node.kind {
        Some(NodeKind::Compute) if !node.is_on_host => 0,
        Some(NodeKind::Send | NodeKind::Receive | NodeKind::Collective) => 1,
        Some(NodeKind::RemoteLoad | NodeKind::RemoteStore) => 2,
        _ => 3,
    }
}
