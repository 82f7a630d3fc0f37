//! Collects nodes with start and end from the lines of a log.

use importer_common::prelude::*;

use super::line::{AstraSimLine, AstraSimRoofline, NodeEvent};
use crate::chakra::graph::NodeKind;

/// An executed node; times in nanoseconds.
#[derive(Debug)]
pub(super) struct AstraSimNode {
    pub id: u64,
    pub name: String,
    pub kind: NodeKind,
    pub begin: i64,
    /// `None` until it ends.
    pub end: Option<i64>,
    pub roofline: Option<AstraSimRoofline>,
}

/// The nodes and statistics of one NPU.
#[derive(Debug, Default)]
pub(super) struct AstraSimNpu {
    /// In start order.
    pub nodes: Vec<AstraSimNode>,
    /// Final statistics of the simulator.
    pub statistics: Vec<(String, String)>,
    open: HashMap<u64, usize>,
    issued: BTreeSet<u64>,
    /// The last time in its log.
    pub now: i64,
    finished: bool,
}

/// One simulation run.
#[derive(Debug, Default)]
pub(super) struct AstraSimRun {
    pub npus: BTreeMap<u32, AstraSimNpu>,
    /// The compute node that the next roofline line refers to.
    issued_last: Option<(u32, usize)>,
    /// Whether a line of it is of a log, which says when the run is finished.
    is_logged: bool,
}

impl AstraSimRun {
    pub fn is_empty(&self) -> bool {
        self.npus.values().all(|npu| npu.nodes.is_empty())
    }

    /// Whether all NPUs finished.
    pub fn is_finished(&self) -> bool {
        !self.npus.is_empty() && self.npus.values().all(|npu| npu.finished)
    }

    /// Whether it has only the lines of nodes, without a log around them, and each node that started ended.
    pub fn is_closed(&self) -> bool {
        !self.is_logged && self.npus.values().all(|npu| npu.open.is_empty())
    }
}

/// All runs of a log; the last one is used.
#[derive(Debug, Default)]
pub(super) struct AstraSimRuns {
    pub last: AstraSimRun,
    pub earlier: usize,
}

impl AstraSimRuns {
    /// Handles a line. The error is the reason why the rest of the log is unusable.
    pub fn add(&mut self, line: AstraSimLine<'_>, out: &mut TraceBuilder) -> Result<(), String> {
        match line {
            AstraSimLine::Node(event) => return self.add_event(event, out),
            AstraSimLine::Roofline(roofline) => {
                let node = self.last.issued_last.take();
                let node = node
                    .and_then(|(sys, index)| self.last.npus.get_mut(&sys)?.nodes.get_mut(index));
                match node {
                    Some(node) => node.roofline = Some(roofline),
                    None => out.log(IssueKind::MalformedEvent, || {
                        "a roofline line without a compute node before it".to_owned()
                    }),
                }
            }
            AstraSimLine::Finished { sys } => {
                self.last.npus.entry(sys).or_default().finished = true;
            }
            AstraSimLine::Statistic { sys, name, value } => {
                let npu = self.last.npus.entry(sys).or_default();
                npu.statistics.push((name.to_owned(), value.to_owned()));
            }
            AstraSimLine::Broken => {
                out.log(IssueKind::MalformedEvent, || {
                    "a node line that cannot be read".to_owned()
                });
            }
        }
        Ok(())
    }

    fn add_event(&mut self, event: NodeEvent<'_>, out: &mut TraceBuilder) -> Result<(), String> {
        let npu = self.last.npus.entry(event.sys).or_default();
        if event.tick < npu.now {
            let again = event.begins && (npu.finished || npu.issued.contains(&event.node));
            if !again {
                return Err(format!(
                    "the time of sys {} decreases from {} to {}: are parts of a rotated log in the wrong order?",
                    event.sys, npu.now, event.tick
                ));
            }
            self.earlier += 1;
            self.last = AstraSimRun::default();
        }
        self.last.add(event, out);
        Ok(())
    }
}

impl AstraSimRun {
    fn add(&mut self, event: NodeEvent<'_>, out: &mut TraceBuilder) {
        self.is_logged |= event.is_logged;
        let npu = self.npus.entry(event.sys).or_default();
        npu.now = event.tick;
        let node = |end| AstraSimNode {
            id: event.node,
            name: event.name.to_owned(),
            kind: event.kind,
            begin: event.tick,
            end,
            roofline: None,
        };
        if event.begins {
            if npu.open.insert(event.node, npu.nodes.len()).is_some() {
                out.log(IssueKind::BeginWithoutEnd, || {
                    format!("sys {} node {} starts twice", event.sys, event.node)
                });
            }
            npu.issued.insert(event.node);
            self.issued_last =
                (event.kind == NodeKind::Compute).then_some((event.sys, npu.nodes.len()));
            npu.nodes.push(node(None));
        } else if let Some(begun) = npu
            .open
            .remove(&event.node)
            .and_then(|index| npu.nodes.get_mut(index))
        {
            begun.end = Some(event.tick);
        } else {
            // Skipped nodes end without having started.
            out.log(IssueKind::EndWithoutBegin, || {
                format!("sys {} node {}", event.sys, event.node)
            });
            npu.nodes.push(node(Some(event.tick)));
        }
    }
}
