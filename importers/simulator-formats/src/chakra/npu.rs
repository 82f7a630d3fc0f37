//! Writes executed nodes as tracks of a device.

use importer_common::prelude::*;
use importer_common::simulated::{label_of_op, op_with_costs};
use importer_common::waits::add_waits;
use trace_model::{FlowEnd, SliceKey};

use super::graph::NodeKind;

/// An executed node.
#[derive(Debug)]
pub(crate) struct NodeExecution {
    pub id: u64,
    pub name: String,
    pub kind: NodeKind,
    pub is_on_host: bool,
    /// Start in nanoseconds.
    pub begin: i64,
    pub end: i64,
    /// Whether its end is not recorded.
    pub is_open: bool,
    pub costs: Option<NodeCosts>,
    pub message: Option<ChakraMessage>,
    /// Ids of the nodes it depends on.
    pub needs: Vec<u64>,
}

/// The costs of a compute node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeCosts {
    pub flops: u64,
    pub bytes: u64,
}

/// The data of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ChakraMessage {
    pub pattern: ChakraCollective,
    /// For an all-gather one part, otherwise the whole input.
    pub bytes: u64,
}

/// Collective patterns that exist in HLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ChakraCollective {
    AllReduce,
    AllGather,
    AllToAll,
    ReduceScatter,
}

impl ChakraCollective {
    const ALL: [Self; 4] = [
        Self::AllReduce,
        Self::AllGather,
        Self::AllToAll,
        Self::ReduceScatter,
    ];

    /// From the number in `et_def.proto`.
    pub fn from_number(number: u64) -> Option<Self> {
        Some(match number {
            0 => Self::AllReduce,
            2 => Self::AllGather,
            6 => Self::AllToAll,
            7 => Self::ReduceScatter,
            _ => return None,
        })
    }

    fn hlo(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::AllToAll => "all-to-all",
            Self::ReduceScatter => "reduce-scatter",
        }
    }

    fn in_name(name: &str) -> Option<Self> {
        let plain: String = name
            .chars()
            .filter(char::is_ascii_alphabetic)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        Self::ALL
            .into_iter()
            .find(|pattern| plain.contains(&pattern.hlo().replace('-', "")))
    }
}

/// Everything about one NPU.
#[derive(Debug, Default)]
pub(crate) struct ChakraNpu {
    pub rank: u32,
    pub nodes: Vec<NodeExecution>,
    pub device: DeviceInfo,
    pub facts: Vec<(String, String)>,
    /// Number of NPUs, if known; all of them take part in each collective.
    pub of: Option<usize>,
}

struct NpuTracks {
    compute: TrackId,
    communication: TrackId,
    remote: TrackId,
    host: TrackId,
}

/// Builds a device: compute nodes become its ops, everything else spans in flight; while nothing computes and something
/// is in flight, the device waits.
pub(crate) fn write(npu: &ChakraNpu, out: &mut TraceBuilder) {
    let core = out.group(
        None,
        GroupKind::TensorCore { ordinal: npu.rank },
        &format!("NPU {}", npu.rank),
    );
    out.set_device(core, npu.device.clone());
    for (name, value) in &npu.facts {
        out.set_group_fact(core, name, ArgValue::Text(value.clone()));
    }
    let tracks = NpuTracks {
        compute: out.track(core, TrackKind::Ops, 1, "Compute"),
        communication: out.track(core, TrackKind::AsyncOps, 2, "Communication"),
        remote: out.track(core, TrackKind::AsyncOps, 3, "Remote memory"),
        host: out.track(core, TrackKind::Other, 4, "CPU"),
    };
    let mut busy = Vec::new();
    let mut in_flight = Vec::new();
    let mut slices: HashMap<u64, SliceKey> = HashMap::new();
    let mut labels = ChakraLabels {
        npu,
        known: HashMap::new(),
    };
    for node in npu
        .nodes
        .iter()
        .filter(|node| node.kind != NodeKind::Metadata)
    {
        let Some(range) = range(node, out) else {
            continue;
        };
        let track = tracks.of(node);
        let label = labels.of(node, out);
        let slice = out.add_slice(track, SliceSpec::new(range, label));
        slices.insert(node.id, slice);
        if node.is_open {
            out.set_attr(slice, SliceAttr::Unterminated, 1);
        }
        if track == tracks.compute {
            busy.push(range);
        } else if track != tracks.host {
            let wait = wait_label(node, out);
            let done = out.label_ref(wait).name;
            out.set_attr(slice, SliceAttr::DoneOp, done.index() as i64);
            in_flight.push((range, wait));
        }
    }
    let mut arrow = 0;
    for node in &npu.nodes {
        for (from, to) in node
            .needs
            .iter()
            .filter_map(|need| slices.get(need).zip(slices.get(&node.id)))
        {
            out.add_flow(FlowEnd::Slice(*from), FlowEnd::Slice(*to), arrow);
            arrow += 1;
        }
    }
    add_waits(&mut busy, in_flight, tracks.compute, out);
}

impl NpuTracks {
    fn of(&self, node: &NodeExecution) -> TrackId {
        match node.kind {
            _ if node.is_on_host => self.host,
            NodeKind::Compute | NodeKind::Metadata => self.compute,
            NodeKind::RemoteLoad | NodeKind::RemoteStore => self.remote,
            NodeKind::Send | NodeKind::Receive | NodeKind::Collective => self.communication,
        }
    }
}

/// A range in nanoseconds on the timeline; if it does not fit, `None`, and it is logged.
fn range(node: &NodeExecution, out: &mut TraceBuilder) -> Option<TimeRange> {
    let ps = |ns: i64| ns.checked_mul(1000).map(Timestamp::from_ps);
    let both = ps(node.begin).zip(ps(node.end));
    if both.is_none() {
        out.log(IssueKind::BeyondTimeline, || {
            format!("{} begins at {} ns", node.name, node.begin)
        });
    }
    both.map(|(begin, end)| TimeRange::new(begin, end))
}

/// Labels of one NPU. Nodes with the same name are one op if they do the same work.
struct ChakraLabels<'a> {
    npu: &'a ChakraNpu,
    known: HashMap<NodeWork, LabelId>,
}

/// Name, kind, costs and data of a node, which identify an op.
type NodeWork = (StringId, NodeKind, Option<NodeCosts>, Option<ChakraMessage>);

impl ChakraLabels<'_> {
    fn of(&mut self, node: &NodeExecution, out: &mut TraceBuilder) -> LabelId {
        let work = (out.intern(&node.name), node.kind, node.costs, node.message);
        *self
            .known
            .entry(work)
            .or_insert_with(|| label(node, self.npu, out))
    }
}

fn label(node: &NodeExecution, npu: &ChakraNpu, out: &mut TraceBuilder) -> LabelId {
    let wanted = op_of(node, npu.of, out);
    let (id, rank) = (node.id, npu.rank);
    // Nodes with the same name but other work, here or on another NPU, are a different op.
    let same = |op: &Op| {
        let work = |op: &Op| (op.category, op.hlo_text, op.flops, op.bytes_accessed);
        work(op) == work(&wanted)
    };
    let names = [node.name.clone(), format!("{} (node {id})", node.name)].into_iter();
    // A recorded name can look like any of these, too.
    let others =
        (0..).map(|ticks| format!("{} (NPU {rank}, node {id}){}", node.name, "'".repeat(ticks)));
    for name in names.chain(others) {
        let text = out.intern(&name);
        // Looked up first, because adding would fill in missing facts of the other op.
        let known = out.find_op(None, text);
        if known.is_none_or(|op| same(out.op_ref(op))) {
            let op = known.unwrap_or_else(|| {
                out.op(Op {
                    name: text,
                    ..wanted.clone()
                })
            });
            return out.label(&name, Some(op));
        }
    }
    unreachable!("there are more names than ops")
}

fn op_of(node: &NodeExecution, participants: Option<usize>, out: &mut TraceBuilder) -> Op {
    let category = match node.kind {
        NodeKind::Compute => is_matmul(&node.name).then(|| "dot".to_owned()),
        NodeKind::RemoteLoad | NodeKind::RemoteStore => Some("copy-start".to_owned()),
        // In HLO, too, `send` and `recv` are start ops.
        NodeKind::Send => Some("send".to_owned()),
        NodeKind::Receive => Some("recv".to_owned()),
        NodeKind::Collective => Some(format!("{}-start", pattern(node))),
        NodeKind::Metadata => None,
    };
    let text = node
        .message
        .zip(participants)
        .and_then(|(message, of)| hlo(&node.name, message, of as u64));
    let (name, category) = (
        out.intern(&node.name),
        category.map(|category| out.intern(&category)),
    );
    let hlo_text = text.map(|text| out.intern(&text));
    Op {
        name,
        category,
        hlo_text,
        ..op_with_costs(
            node.costs.map(|costs| costs.flops),
            node.costs.map(|costs| costs.bytes),
        )
    }
}

/// The collective as HLO text, from which analyses take its size. All devices take part.
fn hlo(name: &str, message: ChakraMessage, of: u64) -> Option<String> {
    let (bytes, op) = (message.bytes, message.pattern.hlo());
    let (input, output) = match message.pattern {
        ChakraCollective::AllReduce | ChakraCollective::AllToAll => (bytes, bytes),
        ChakraCollective::AllGather => (bytes, bytes.checked_mul(of)?),
        ChakraCollective::ReduceScatter => (bytes, bytes.checked_div(of)?),
    };
    let name: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    Some(format!(
        "%{name} = (u8[{input}]{{0}}, u8[{output}]{{0}}) {op}-start(u8[{input}]{{0}} %input), replica_groups=[1,{of}]<=[{of}]"
    ))
}

/// The label of waiting for a node.
fn wait_label(node: &NodeExecution, out: &mut TraceBuilder) -> LabelId {
    let category = match node.kind {
        NodeKind::RemoteLoad | NodeKind::RemoteStore => "copy-done".to_owned(),
        NodeKind::Send => "send-done".to_owned(),
        NodeKind::Receive => "recv-done".to_owned(),
        _ => format!("{}-done", pattern(node)),
    };
    let text = format!("wait {}", node.name);
    label_of_op(&text, Some(&category), Op::default(), out)
}

/// Whether a node is a matrix product, judged by its name, because the graph does not contain this.
pub(crate) fn is_matmul(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["matmul", "gemm", "einsum", "linear", "conv", "::mm"]
        .iter()
        .any(|word| name.contains(word))
}

/// The pattern as recorded, or from the name; `collective` if neither is known.
fn pattern(node: &NodeExecution) -> &'static str {
    let recorded = node.message.map(|message| message.pattern);
    recorded
        .or_else(|| ChakraCollective::in_name(&node.name))
        .map_or("collective", ChakraCollective::hlo)
}
