//! Chakra execution traces (`<prefix>.<rank>.et`): the graph of one NPU's work. Simulators read it; converters derive
//! it from a run.
//!
//! It is a graph and not a timeline. If it is opened alone, each node starts as early as its dependencies allow, with
//! one node at a time on each unit. The result is the longest path, without contention between NPUs. Recorded starts
//! are used if the file has them.
//!
//! Durations are whole microseconds on the clock of a host. Graphs written by hand have none; their nodes are drawn
//! with a length of one microsecond.
//!
//! Ignored: tensors, process groups, and all attributes except costs and messages.

pub(crate) mod graph;
pub(crate) mod npu;
mod schedule;

use importer_common::prelude::*;
use importer_common::simulated::describe;
use trace_model::Caveat;

use graph::{ChakraGraph, ChakraNode};
use npu::{ChakraCollective, ChakraMessage, ChakraNpu, NodeCosts, NodeExecution};

/// The importer of this module.
#[derive(Debug)]
pub struct ChakraImporter;

static FORMAT: TraceFormat = TraceFormat {
    id: "chakra",
    title: "Chakra execution trace",
    extensions: &["et"],
    markers: &[],
    about: "Graphs of work for simulators (<prefix>.<rank>.et), drawn along their longest path.",
};

impl Importer for ChakraImporter {
    fn format(&self) -> &'static TraceFormat {
        &FORMAT
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        DetectionConfidence::certain_if(graph::begins(head))
    }

    fn name_tells(&self) -> bool {
        // The file name contains the rank.
        true
    }

    fn import(
        &self,
        source: &InputSource,
        _options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<()> {
        let content = source.content(progress)?;
        let graph = graph::read((*content.bytes).as_ref());
        if let (true, Some(broken)) = (graph.nodes.is_empty(), graph.broken) {
            let what = format!("{}; no part of the graph can be read", broken.why);
            return Err(FORMAT.malformed(broken.at as u64, what));
        }
        note_damage(&graph, content.damage, out);
        let schedule =
            schedule::schedule(&graph.nodes).map_err(|what| FORMAT.malformed(0, what))?;
        if schedule.dangling > 0 {
            out.log(IssueKind::FlowWithoutEnd, || {
                format!(
                    "{} dependencies on nodes that are missing",
                    schedule.dangling
                )
            });
        }
        let simulator = "the longest path through a Chakra graph";
        describe(
            simulator,
            &["contention between NPUs", "steps", "peaks of the NPU"],
            out,
        );
        let described = out.source_mut();
        described.caveats = vec![Caveat::Predicted];
        if schedule.has_lengths {
            described.caveats.push(Caveat::GivenDurations);
        } else {
            described.caveats.push(Caveat::PlaceholderTimes);
            described
                .cannot_know
                .push("durations of nodes (each is drawn 1 µs long)");
        }
        described
            .facts
            .push(("schema version".to_owned(), graph.version));
        let spans = graph.nodes.iter().zip(&schedule.spans);
        let nodes = spans
            .filter_map(|(node, span)| ran(node, *span, out))
            .collect();
        npu::write(
            &ChakraNpu {
                rank: rank(source.name()),
                nodes,
                ..ChakraNpu::default()
            },
            out,
        );
        Ok(())
    }
}

fn note_damage(graph: &ChakraGraph, damage: Option<String>, out: &mut TraceBuilder) {
    let broken = graph
        .broken
        .map(|broken| format!("{} at byte {}", broken.why, broken.at));
    if let Some(what) = damage.or(broken) {
        out.log(IssueKind::TruncatedFile, || {
            format!("{what}; nodes read: {}", graph.nodes.len())
        });
    }
}

fn ran(
    node: &ChakraNode,
    (begin, end): (u64, u64),
    out: &mut TraceBuilder,
) -> Option<NodeExecution> {
    let ns = |micros: u64| {
        i64::try_from(micros)
            .ok()
            .and_then(|micros| micros.checked_mul(1000))
            .unwrap_or(i64::MAX)
    };
    let Some(kind) = node.kind else {
        out.log(IssueKind::MalformedEvent, || {
            format!("node {} has no known type", node.id)
        });
        return None;
    };
    Some(NodeExecution {
        id: node.id,
        name: node.name.clone(),
        kind,
        is_on_host: node.is_on_host,
        begin: ns(begin),
        end: ns(end),
        is_open: false,
        costs: costs(node),
        message: message(node),
        needs: node.needs.clone(),
    })
}

/// Costs of a compute node, if both numbers are given.
pub(crate) fn costs(node: &ChakraNode) -> Option<NodeCosts> {
    node.flops
        .zip(node.bytes)
        .map(|(flops, bytes)| NodeCosts { flops, bytes })
}

/// The data that a collective moves.
pub(crate) fn message(node: &ChakraNode) -> Option<ChakraMessage> {
    let pattern = node.pattern.and_then(ChakraCollective::from_number)?;
    Some(ChakraMessage {
        pattern,
        bytes: node.message_bytes?,
    })
}

/// The number before the file extension; 0 if there is none.
pub(crate) fn rank(name: &str) -> u32 {
    let stem = name.trim_end_matches(".gz").trim_end_matches(".et");
    stem.rsplit('.')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
