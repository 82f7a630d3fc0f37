//! In-flight spans of asynchronous ops.
//!
//! A core's op track shows an asynchronous op as a short `-start` (the issue) and a `-done` (the wait that was not
//! hidden). The span between them, in which the copy or collective is in flight, belongs on a separate track, which
//! profilers often record for one core only and JSON exports drop. It can be reconstructed without loss:
//!
//! ```text
//! ops  : [copy-start]  [fusion.1][fusion.2]  [copy-done]
//! async: [---------------- copy-start ------------------]
//! ```
//!
//! Input: finished op and module tracks of a builder. Output: the async track of
//! every core that lacks one. If a core has a recorded async track, only the spans
//! on the device clock are added, because the profiler does not record them.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};
use hlo::HloText;
use rayon::prelude::{IntoParallelRefIterator as _, ParallelIterator as _};
use trace_model::{
    FlowEnd, GroupId, GroupKind, IssueKind, LabelId, OpId, SliceAttr, SliceBatch, SliceKey,
    SliceSpec, StringId, TimeRange, Timestamp, TraceBuilder, TrackId, TrackKind,
};

/// Name of the track that profilers give to in-flight spans.
pub(crate) const ASYNC_TRACK: &str = "Async XLA Ops";

/// Completes the async tracks of all cores of the file being imported. Call it
/// once, after all slices of the file were added.
pub fn complete(builder: &mut TraceBuilder) {
    let source = builder.current_source();
    let is_core = |&id: &GroupId| {
        let group = &builder.groups()[id.index()];
        group.source == source
            && matches!(
                group.kind,
                GroupKind::TensorCore { .. } | GroupKind::SparseCore { .. }
            )
    };
    let cores: Vec<CoreTracks> = builder
        .group_ids()
        .filter(is_core)
        .filter_map(|id| CoreTracks::of(builder, id))
        .collect();
    let roles = RolesByLabel::of(builder, cores.iter().map(|core| core.ops));
    let of_all: Vec<Vec<AsyncPair>> = cores
        .par_iter()
        .map(|core| pair_up(builder, core, &roles))
        .collect();
    for (core, pairs) in cores.into_iter().zip(of_all) {
        match core.recorded {
            Some(track) if !builder.batch(track).is_empty() => {
                add_device_clock(builder, &core, track, &pairs);
            }
            recorded => add_spans(builder, &core, recorded, &pairs),
        }
        link(builder, &core, &pairs);
    }
}

/// The tracks of one core.
struct CoreTracks {
    group: GroupId,
    ops: TrackId,
    modules: Option<TrackId>,
    recorded: Option<TrackId>,
}

impl CoreTracks {
    fn of(builder: &TraceBuilder, group: GroupId) -> Option<Self> {
        let find = |kind| {
            builder
                .tracks_in(group)
                .find(|(_, track)| track.kind == kind)
                .map(|(id, _)| id)
        };
        let ops = find(TrackKind::Ops)?;
        Some(Self {
            group,
            ops,
            modules: find(TrackKind::Modules),
            recorded: find(TrackKind::AsyncOps),
        })
    }
}

/// One asynchronous op: indices of its halves in the batch of the op track.
struct AsyncPair {
    start: Option<u32>,
    done: Option<u32>,
    /// End of the span of an op without `-done`.
    cut: Option<Timestamp>,
}

/// The start or the end of an asynchronous op.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AsyncHalf {
    Start,
    Done,
}

/// What pairing needs to know about a label.
struct HalfRole {
    half: AsyncHalf,
    /// The opcode without `-start` or `-done` (`copy`, `all-gather`), for pairing in order.
    family: StringId,
    /// Op name.
    name: StringId,
    /// Names of starts that this end may belong to, best first.
    starts: Vec<StringId>,
    /// Whether no start is named, so that ends of a family are paired in the order of its starts.
    in_order: bool,
    /// Whether something other than the op's name shows that it is a start or an end.
    certain: bool,
}

/// Starts that have no end yet.
#[derive(Default)]
struct PendingStarts {
    by_name: HashMap<StringId, Vec<u32>>,
    by_family: HashMap<StringId, VecDeque<u32>>,
    /// All of them in time order, with [`HalfRole::certain`].
    all: Vec<(u32, bool)>,
    taken: HashSet<u32>,
}

impl PendingStarts {
    fn push(&mut self, index: u32, role: &HalfRole) {
        self.by_name.entry(role.name).or_default().push(index);
        self.by_family
            .entry(role.family)
            .or_default()
            .push_back(index);
        self.all.push((index, role.certain));
    }

    /// The start that `role` ends: by name the latest one, because loops repeat names; by family the first one.
    fn take(&mut self, role: &HalfRole) -> Option<u32> {
        let Self {
            by_name,
            by_family,
            taken,
            ..
        } = self;
        for name in &role.starts {
            while let Some(index) = by_name.get_mut(name).and_then(Vec::pop) {
                if taken.insert(index) {
                    return Some(index);
                }
            }
        }
        let queue = by_family.get_mut(&role.family).filter(|_| role.in_order)?;
        while let Some(index) = queue.pop_front() {
            if taken.insert(index) {
                return Some(index);
            }
        }
        None
    }
}

/// Walks the ops in time order, one program execution after the other.
fn pair_up(builder: &TraceBuilder, core: &CoreTracks, roles: &RolesByLabel) -> Vec<AsyncPair> {
    if roles.are_none() {
        return Vec::new();
    }
    let ops = builder.batch(core.ops);
    let mut order: Vec<u32> = (0..ops.len() as u32)
        .filter(|&i| roles.get(ops.label(i)).is_some())
        .collect();
    // On the timeline, a start op and its done op can start at the same instant.
    let half = |i: u32| roles.get(ops.label(i)).map(|role| role.half);
    order.sort_by_key(|&i| {
        let start = ops.range(i).start;
        (
            ops.device_range(i).map_or(start, |device| device.start),
            start,
            half(i),
            i,
        )
    });
    let mut modules: Vec<TimeRange> = core.modules.map_or_else(Vec::new, |track| {
        let modules = builder.batch(track);
        (0..modules.len() as u32)
            .map(|i| modules.range(i))
            .collect()
    });
    modules.sort_by_key(|module| (module.start, module.end));
    let last_end = order
        .iter()
        .map(|&i| ops.range(i).end)
        .max()
        .unwrap_or_default();

    let mut pairs = Vec::new();
    let mut pending = PendingStarts::default();
    let mut begun = 0;
    for index in order {
        let Some(role) = roles.get(ops.label(index)) else {
            continue;
        };
        let now = ops.range(index).start;
        let before = begun;
        while modules.get(begun).is_some_and(|module| module.start <= now) {
            begun += 1;
        }
        if begun != before && before > 0 {
            cut_off(&mut pending, modules[before - 1].end, &mut pairs);
        }
        match role.half {
            AsyncHalf::Start => pending.push(index, role),
            AsyncHalf::Done => match pending.take(role) {
                Some(start) => pairs.push(AsyncPair {
                    start: Some(start),
                    done: Some(index),
                    cut: None,
                }),
                None if role.certain => pairs.push(AsyncPair {
                    start: None,
                    done: Some(index),
                    cut: None,
                }),
                None => {}
            },
        }
    }
    let end = begun
        .checked_sub(1)
        .map_or(last_end, |module| modules[module].end);
    cut_off(&mut pending, end, &mut pairs);
    pairs
}

/// Ends spans that are still in flight when their program ends.
fn cut_off(pending: &mut PendingStarts, time: Timestamp, pairs: &mut Vec<AsyncPair>) {
    let pending = std::mem::take(pending);
    let open = pending
        .all
        .iter()
        .filter(|&&(index, certain)| certain && !pending.taken.contains(&index));
    pairs.extend(open.map(|&(index, _)| AsyncPair {
        start: Some(index),
        done: None,
        cut: Some(time),
    }));
}

/// The roles of labels that start or end an asynchronous op, by number of the label, because every op is looked up: one list
/// for all cores, which is no longer than that of the labels, however many cores a file has.
struct RolesByLabel(Vec<Option<Box<HalfRole>>>);

impl RolesByLabel {
    fn of(builder: &mut TraceBuilder, tracks: impl Iterator<Item = TrackId>) -> Self {
        let mut labels: Vec<Option<LabelId>> = Vec::new();
        for batch in tracks.map(|track| builder.batch(track)) {
            for label in (0..batch.len() as u32).map(|i| batch.label(i)) {
                if label.index() >= labels.len() {
                    labels.resize(label.index() + 1, None);
                }
                labels[label.index()] = Some(label);
            }
        }
        let role = |label: Option<LabelId>| role(builder, label?).map(Box::new);
        Self(labels.into_iter().map(role).collect())
    }

    fn get(&self, label: LabelId) -> Option<&HalfRole> {
        self.0.get(label.index())?.as_deref()
    }

    fn are_none(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

fn role(builder: &mut TraceBuilder, label: LabelId) -> Option<HalfRole> {
    let label = builder.label_ref(label);
    let op = label.op.map(|op| builder.op_ref(op));
    let name_id = op.map_or(label.name, |op| op.name);
    let name = builder.str(name_id);
    let text = op
        .and_then(|op| op.hlo_text)
        .and_then(|text| HloText::parse(builder.str(text)));
    let category = op
        .and_then(|op| op.category)
        .map(|category| builder.str(category));

    let by_opcode = text
        .as_ref()
        .and_then(|text| half(text.opcode))
        .or_else(|| category.and_then(half));
    // A fusion can be one half of a collective; only its name shows it.
    let opaque = text
        .as_ref()
        .is_none_or(|text| matches!(text.opcode, "fusion" | "custom-call" | "call"));
    let by_name = || {
        if opaque {
            half(without_suffix(name))
        } else {
            None
        }
    };
    let certain = by_opcode.is_some() || (text.is_none() && category.is_none());
    let (half, family) = by_opcode.or_else(by_name)?;

    let family = family.to_owned();
    let in_order = !text
        .iter()
        .flat_map(HloText::operand_names)
        .any(|operand| operand.contains("-start"));
    let mut starts = Vec::new();
    if half == AsyncHalf::Done {
        starts.extend(
            text.iter()
                .flat_map(HloText::operand_names)
                .map(str::to_owned),
        );
        starts.push(name.replacen("-done", "-start", 1));
    }
    let starts = starts.iter().map(|start| builder.intern(start)).collect();
    Some(HalfRole {
        half,
        family: builder.intern(&family),
        name: name_id,
        starts,
        in_order,
        certain,
    })
}

/// Parses an opcode, category or name as the start or end of an asynchronous op, with its family.
fn half(word: &str) -> Option<(AsyncHalf, &str)> {
    let word = word.strip_prefix("host ").unwrap_or(word);
    if let Some(family) = word.strip_suffix("-start") {
        return Some((AsyncHalf::Start, family));
    }
    if let Some(family) = word.strip_suffix("-done") {
        return Some((AsyncHalf::Done, family));
    }
    matches!(word, "send" | "recv").then_some((AsyncHalf::Start, word))
}

/// The name without the numbers at its end: `copy-start` of `copy-start.12` and of `copy-start.1.2`.
fn without_suffix(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// Fills the async track of a core from pairs.
fn add_spans(
    builder: &mut TraceBuilder,
    core: &CoreTracks,
    recorded: Option<TrackId>,
    pairs: &[AsyncPair],
) {
    if pairs.is_empty() {
        return;
    }
    let track =
        recorded.unwrap_or_else(|| builder.track(core.group, TrackKind::AsyncOps, 0, ASYNC_TRACK));
    builder.share_arg_source(core.ops, track);
    let mut spans = SliceBatch::default();
    for pair in pairs {
        let ops = builder.batch(core.ops);
        let (start, done) = (
            pair.start.map(|i| ops.spec(i)),
            pair.done.map(|i| ops.spec(i)),
        );
        let Some(span) = span(start, done, pair.cut) else {
            continue;
        };
        let index = spans.push(span);
        spans.set_attr(index, SliceAttr::Reconstructed, 1);
        if let Some(done) = done {
            let name = op_name(builder, done.label);
            spans.set_attr(index, SliceAttr::DoneOp, name.index() as i64);
        }
        if pair.cut.is_some() {
            spans.set_attr(index, SliceAttr::Unterminated, 1);
        }
        let kind = match (pair.start, pair.done) {
            (Some(_), Some(_)) => continue,
            (None, _) => IssueKind::AsyncWithoutStart,
            (_, None) => IssueKind::AsyncUnterminated,
        };
        let name = builder.label_name(span.label).to_owned();
        builder.log(kind, || format!("{name:?} at {} ps", span.range.start.ps()));
    }
    builder.append(track, spans);
}

/// From the start of the start op to the end of the done op, on both clocks.
fn span(
    start: Option<SliceSpec>,
    done: Option<SliceSpec>,
    cut: Option<Timestamp>,
) -> Option<SliceSpec> {
    match (start, done) {
        (Some(start), Some(done)) => {
            let device = start
                .device
                .zip(done.device)
                .map(|(s, d)| TimeRange::new(s.start, d.end.max(s.end)));
            let range = TimeRange::new(start.range.start, done.range.end.max(start.range.end));
            Some(SliceSpec {
                range,
                device,
                ..start
            })
        }
        (Some(start), None) => {
            let range = TimeRange::new(start.range.start, cut?.max(start.range.end));
            // The length of the cut-off span on the device clock is unknown, so the timeline's length is used.
            let device = start
                .device
                .map(|device| TimeRange::at(device.start, range.dur().max(device.dur())));
            Some(SliceSpec {
                range,
                device,
                ..start
            })
        }
        (None, done) => done,
    }
}

fn op_name(builder: &TraceBuilder, label: LabelId) -> StringId {
    let label = builder.label_ref(label);
    label.op.map_or(label.name, |op| builder.op_ref(op).name)
}

/// Adds the device clock to recorded spans that lack it, from the start and done ops: every span gets that of the start
/// op with its name.
fn add_device_clock(
    builder: &mut TraceBuilder,
    core: &CoreTracks,
    track: TrackId,
    pairs: &[AsyncPair],
) {
    let (ops, recorded) = (builder.batch(core.ops), builder.batch(track));
    let mut by_start: HashMap<(OpId, Timestamp), TimeRange> = HashMap::new();
    for pair in pairs {
        let (Some(start), Some(done)) = (pair.start, pair.done) else {
            continue;
        };
        let span = span(Some(ops.spec(start)), Some(ops.spec(done)), None);
        let Some((span, op)) = span.zip(builder.label_ref(ops.label(start)).op) else {
            continue;
        };
        if let Some(device) = span.device {
            by_start.insert((op, span.range.start), device);
        }
    }
    let clock: Vec<Option<TimeRange>> = (0..recorded.len() as u32)
        .map(|i| {
            let of_ops = || {
                by_start
                    .get(&(
                        builder.label_ref(recorded.label(i)).op?,
                        recorded.range(i).start,
                    ))
                    .copied()
            };
            recorded.device_range(i).or_else(of_ops)
        })
        .collect();
    builder.batch_mut(track).set_device_clock(&clock);
}

/// Adds a flow from every start to its end.
fn link(builder: &mut TraceBuilder, core: &CoreTracks, pairs: &[AsyncPair]) {
    for (id, pair) in pairs.iter().enumerate() {
        if let (Some(start), Some(done)) = (pair.start, pair.done) {
            let end = |index| FlowEnd::Slice(SliceKey::new(core.ops, index));
            builder.add_flow(end(start), end(done), id as u64);
        }
    }
}

#[cfg(test)]
mod tests;
