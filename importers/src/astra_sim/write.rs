//! From nodes to tracks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trace_model::{
    Access, ArgValue, DeviceInfo, GroupKind, IssueKind, LabelId, MemoryAccess, MemorySpace, Op, SliceAttr, SliceSpec,
    TimeRange, Timestamp, TraceBuilder, TrackId, TrackKind,
};

use super::line::{NodeKind, Roofline};
use super::nodes::{Node, Npu, Run};

/// Makes a device of every NPU.
pub(super) fn write(run: Run, out: &mut TraceBuilder) {
    if !run.is_finished() {
        let unfinished = "the log ends before the run does: nodes without an end reach to its last line";
        out.log(IssueKind::TruncatedFile, || unfinished.to_owned());
    }
    for (sys, npu) in run.npus {
        write_npu(sys, &npu, out);
    }
}

fn write_npu(sys: u32, npu: &Npu, out: &mut TraceBuilder) {
    let core = out.group(None, GroupKind::TensorCore { ordinal: sys }, &format!("NPU {sys}"));
    out.set_device(core, device(npu));
    for (name, value) in &npu.statistics {
        out.set_group_fact(core, name, ArgValue::Text(value.clone()));
    }
    let compute = out.track(core, TrackKind::Ops, 1, "Compute");
    let communication = out.track(core, TrackKind::AsyncOps, 2, "Communication");
    let remote = out.track(core, TrackKind::AsyncOps, 3, "Remote memory");

    let mut busy = Vec::new();
    let mut in_flight = Vec::new();
    for node in &npu.nodes {
        let Some(range) = range(node, npu.now, out) else { continue };
        let track = match node.kind {
            NodeKind::Metadata => continue,
            NodeKind::Compute => compute,
            NodeKind::RemoteLoad | NodeKind::RemoteStore => remote,
            NodeKind::Send | NodeKind::Receive | NodeKind::Collective => communication,
        };
        let label = label(node, out);
        let slice = out.add_slice(track, SliceSpec::new(range, label));
        if node.end.is_none() {
            out.set_attr(slice, SliceAttr::Unterminated, 1);
        }
        if track == compute {
            busy.push(range);
            add_costs(node.roofline.as_ref(), label, slice, out);
        } else {
            let wait = wait_label(node, out);
            let done = out.label_ref(wait).name;
            out.set_attr(slice, SliceAttr::DoneOp, done.index() as i64);
            in_flight.push((range, wait));
        }
    }
    add_waits(&busy, in_flight, compute, out);
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

/// Nanoseconds to the timeline; `None`, logged, beyond what it can hold.
fn range(node: &Node, last: i64, out: &mut TraceBuilder) -> Option<TimeRange> {
    let ps = |ns: i64| ns.checked_mul(1000).map(Timestamp::from_ps);
    let both = ps(node.begin).zip(ps(node.end.unwrap_or(last)));
    if both.is_none() {
        out.log(IssueKind::TimeOutOfRange, || format!("{} begins at {} ns", node.name, node.begin));
    }
    both.map(|(begin, end)| TimeRange::new(begin, end))
}

fn label(node: &Node, out: &mut TraceBuilder) -> LabelId {
    let category = match node.kind {
        NodeKind::Compute => is_matmul(&node.name).then(|| "dot".to_owned()),
        NodeKind::RemoteLoad | NodeKind::RemoteStore => Some("copy-start".to_owned()),
        // In HLO, too, their names say that they begin.
        NodeKind::Send => Some("send".to_owned()),
        NodeKind::Receive => Some("recv".to_owned()),
        NodeKind::Collective => Some(format!("{}-start", collective(&node.name))),
        NodeKind::Metadata => None,
    };
    let (name, category) = (out.intern(&node.name), category.map(|category| out.intern(&category)));
    let costs = node.roofline.as_ref();
    let op = out.op(Op {
        name,
        category,
        flops: costs.map(|costs| costs.flops),
        model_flops: costs.map(|costs| costs.flops),
        bytes_accessed: costs.map(|costs| costs.bytes),
        memory: costs.map(hbm).into_iter().collect(),
        ..Op::default()
    });
    out.label(&node.name, Some(op))
}

fn hbm(costs: &Roofline) -> MemoryAccess {
    MemoryAccess { space: MemorySpace::Hbm, access: Access::Unknown, bytes: costs.bytes }
}

/// Costs of this execution, where another node of that name costs something else.
fn add_costs(costs: Option<&Roofline>, label: LabelId, slice: trace_model::SliceKey, out: &mut TraceBuilder) {
    let known = out.label_ref(label).op.and_then(|op| out.op_ref(op).flops);
    if let Some(costs) = costs.filter(|costs| known != Some(costs.flops)) {
        for (attr, value) in
            [(SliceAttr::Flops, costs.flops), (SliceAttr::ModelFlops, costs.flops), (SliceAttr::Bytes, costs.bytes)]
        {
            out.set_attr(slice, attr, i64::try_from(value).unwrap_or(i64::MAX));
        }
    }
}

/// The op on which the device waits for a node.
fn wait_label(node: &Node, out: &mut TraceBuilder) -> LabelId {
    let category = match node.kind {
        NodeKind::RemoteLoad | NodeKind::RemoteStore => "copy-done".to_owned(),
        NodeKind::Send => "send-done".to_owned(),
        NodeKind::Receive => "recv-done".to_owned(),
        _ => format!("{}-done", collective(&node.name)),
    };
    let text = format!("wait {}", node.name);
    let (name, category) = (out.intern(&text), out.intern(&category));
    let op = out.op(Op { name, category: Some(category), ..Op::default() });
    out.label(&text, Some(op))
}

/// Where nothing computes, the device waits for what ends first of all in flight.
fn add_waits(busy: &[TimeRange], mut in_flight: Vec<(TimeRange, LabelId)>, track: TrackId, out: &mut TraceBuilder) {
    in_flight.sort_by_key(|(range, _)| range.start);
    let mut busy: Vec<TimeRange> = busy.to_vec();
    busy.sort_by_key(|range| range.start);
    let end = in_flight.iter().map(|(range, _)| range.end).max().unwrap_or(Timestamp::ZERO);
    let mut coming = in_flight.iter().peekable();
    let mut ends: BinaryHeap<Reverse<(Timestamp, LabelId)>> = BinaryHeap::new();
    let mut at = in_flight.first().map_or(Timestamp::ZERO, |(range, _)| range.start);
    let mut next_busy = busy.into_iter().peekable();
    while at < end {
        while let Some(range) = next_busy.next_if(|range| range.start <= at) {
            at = at.max(range.end);
        }
        let free_until = next_busy.peek().map_or(end, |range| range.start.min(end));
        while let Some(&(range, wait)) = coming.next_if(|(range, _)| range.start <= at) {
            ends.push(Reverse((range.end, wait)));
        }
        while ends.peek().is_some_and(|Reverse((end, _))| *end <= at) {
            ends.pop();
        }
        let begins = coming.peek().map_or(end, |(range, _)| range.start);
        let Some(&Reverse((until, wait))) = ends.peek() else {
            at = begins.min(end);
            continue;
        };
        let until = until.min(free_until);
        if until > at {
            let slice = out.add_slice(track, SliceSpec::new(TimeRange::new(at, until), wait));
            out.set_attr(slice, SliceAttr::Reconstructed, 1);
        }
        at = until;
    }
}

/// The simulator does not say which nodes multiply matrices, but workloads are named for it.
fn is_matmul(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["matmul", "gemm", "einsum", "linear", "conv"].iter().any(|word| name.contains(word))
}

/// The pattern by the name of the node; `collective` where that does not say.
fn collective(name: &str) -> &'static str {
    let plain: String = name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect();
    let known = ["all-gather", "all-reduce", "reduce-scatter", "all-to-all"];
    known.into_iter().find(|kind| plain.contains(&kind.replace('-', ""))).unwrap_or("collective")
}
