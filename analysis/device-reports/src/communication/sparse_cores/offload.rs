//! Ops that offload work to a `SparseCore`, and the activity of the `TensorCore` meanwhile.

use facts::prelude::*;
use facts::self_time_segments;
use facts::window::{counts, part_in};

/// Work handed over by one start op.
#[engine::row(measured)]
pub struct Offload {
    /// The start op.
    #[column("Handed over by")]
    pub op: String,
    /// Self time of done ops, in which the `TensorCore` waited. `None` if no done op was found.
    #[column]
    pub waited_ps: Option<Picos>,
    /// Time in which `SparseCores` worked.
    #[column("SparseCore work")]
    pub sparse_ps: Picos,
    /// Share of that time in which the `TensorCore` computed.
    #[column("hidden")]
    pub hidden_percent: Option<Percent>,
    /// Time in which `SparseCores` worked while the `TensorCore` computed.
    #[column]
    pub hidden_ps: Picos,
    /// Time from the start op to the end of the done op.
    #[column]
    pub in_flight_ps: Picos,
    /// Number of executions whose work was found, and whose start op begins in the scope.
    #[column("Runs")]
    pub occurrences: u64,
    /// Programs that executed the work on `SparseCores`.
    #[column("SparseCore program")]
    pub runs: Vec<String>,
    /// Its program, with the id.
    #[column]
    pub program: Option<String>,
    /// The done ops, which wait for the work.
    #[serde(skip)]
    pub done: BTreeSet<OpId>,
}

/// Sums over the executions of one start op.
#[derive(Default)]
struct OffloadSums {
    occurrences: u64,
    runs: BTreeSet<String>,
    sparse_ps: Picos,
    hidden_ps: Picos,
    in_flight_ps: Picos,
    waited_ps: Option<Picos>,
    done: BTreeSet<OpId>,
}

/// All offloads of the scope by start op, and the number of those whose work was not found.
pub(super) fn offloads(
    cx: &Context<'_>,
    classes: &OpClasses,
    cores: &[(GroupId, Option<GroupId>)],
) -> Result<(Vec<Offload>, u64)> {
    let model = cx.model;
    let mut sums: BTreeMap<LabelId, OffloadSums> = BTreeMap::new();
    let mut unmatched = 0;
    let devices: BTreeSet<GroupId> = cores.iter().filter_map(|(_, device)| *device).collect();
    for device in devices {
        let Some(window) = cx.window(device)? else {
            continue;
        };
        let Some(ops) = model.track_of_kind(device, TrackKind::Ops) else {
            continue;
        };
        let starts = starts(model, device);
        if starts.is_empty() {
            continue;
        }
        let own_cores: Vec<GroupId> = cores
            .iter()
            .filter(|(_, parent)| *parent == Some(device))
            .map(|(core, _)| *core)
            .collect();
        let targets = OffloadTargets::of(model, &own_cores);
        let by_device = [device]
            .iter()
            .chain(&own_cores)
            .all(|&core| has_device_clock(model, core));
        let span = |slice: SliceRef<'_>| {
            if by_device {
                slice.measured_range()
            } else {
                slice.range()
            }
        };
        let compute = compute(model.slices_on(ops), classes, span);
        // Of what a border of the scope cuts, the part inside counts.
        let inside = if by_device {
            window.measured
        } else {
            window.range
        };
        for start in starts
            .into_iter()
            .filter(|start| span(*start).start < inside.end)
        {
            let counts = counts(cx, window, start);
            let Some(program) = targets.find(start) else {
                unmatched += u64::from(counts);
                continue;
            };
            let done = done_of(model, classes, start);
            let end = done.map_or(span(start).end, |done| span(done).end);
            let in_flight = span(start)
                .hull(TimeRange::new(end, end))
                .intersect(inside)
                .unwrap_or_default();
            let work = work(model, program, span).intersect(&IntervalSet::of(inside));
            if !counts && in_flight.is_empty() && work.is_empty() {
                continue;
            }
            let sum = sums.entry(start.label_id()).or_default();
            sum.occurrences += u64::from(counts);
            sum.runs.insert(program.name().to_owned());
            sum.sparse_ps += work.measure();
            sum.hidden_ps += work.intersect(&compute).measure();
            sum.in_flight_ps += in_flight.dur();
            if let Some(done) = done {
                let waited = part_in(cx, window, done).min(done.self_dur());
                *sum.waited_ps.get_or_insert_default() += waited;
                sum.done.extend(done.op());
            }
        }
    }
    Ok((rows(model, &sums), unmatched))
}

fn rows(model: &TraceModel, sums: &BTreeMap<LabelId, OffloadSums>) -> Vec<Offload> {
    let mut rows: Vec<Offload> = sums
        .iter()
        .map(|(&label, sums)| {
            let label = model.label(label);
            let program = label.op.and_then(|op| model.op(op).program);
            Offload {
                op: model.str(label.name).to_owned(),
                program: program.map(|program| model.program_title(program)),
                runs: sums.runs.iter().cloned().collect(),
                occurrences: sums.occurrences,
                sparse_ps: sums.sparse_ps,
                hidden_ps: sums.hidden_ps,
                hidden_percent: Percent::of(sums.hidden_ps, sums.sparse_ps),
                in_flight_ps: sums.in_flight_ps,
                waited_ps: sums.waited_ps,
                done: sums.done.clone(),
            }
        })
        .collect();
    rows.sort_by(|a, b| {
        (b.waited_ps, b.sparse_ps)
            .cmp(&(a.waited_ps, a.sparse_ps))
            .then_with(|| a.op.cmp(&b.op))
    });
    rows
}

/// Start ops of a device, in time order.
fn starts(model: &TraceModel, device: GroupId) -> Vec<SliceRef<'_>> {
    let on_device = |slice: &SliceRef<'_>| {
        let track = slice.track_ref();
        track.group == device && track.kind == TrackKind::Ops
    };
    let mut starts: Vec<_> = model
        .slices_with(SliceAttr::OffloadStart)
        .map(|(slice, _)| slice)
        .filter(on_device)
        .collect();
    // Older runtimes only record the core.
    if starts.is_empty() {
        starts = model
            .slices_with(SliceAttr::OffloadCore)
            .map(|(slice, _)| slice)
            .filter(on_device)
            .collect();
    }
    starts.sort_by_key(|slice| (slice.start(), slice.id()));
    starts
}

fn has_device_clock(model: &TraceModel, core: GroupId) -> bool {
    let ops = model.track_of_kind(core, TrackKind::Ops);
    ops.is_some_and(|track| model.slices_on(track).all(|op| op.device_range().is_some()))
}

/// The spans in which the core computes, by one clock.
fn compute<'a>(
    ops: impl Iterator<Item = SliceRef<'a>>,
    classes: &OpClasses,
    span: impl Fn(SliceRef<'a>) -> TimeRange,
) -> IntervalSet {
    let segments = ops.map(|op| SelfTimeSegment {
        range: span(op),
        slice: op.id(),
        class: classes.class_of(op.op()),
    });
    self_time_segments(segments.collect())
        .iter()
        .filter(|segment| segment.class.is_compute())
        .map(|segment| segment.range)
        .collect()
}

/// Programs of the `SparseCores` of one device, among which offloaded work is searched.
struct OffloadTargets<'a> {
    model: &'a TraceModel,
    /// Programs by number of the core and of the start, in time order.
    by_number: BTreeMap<(i64, i64), Vec<SliceRef<'a>>>,
    /// Programs by number of the core only.
    by_core: BTreeMap<i64, Vec<SliceRef<'a>>>,
}

impl<'a> OffloadTargets<'a> {
    fn of(model: &'a TraceModel, cores: &[GroupId]) -> Self {
        let mut targets = Self {
            model,
            by_number: BTreeMap::new(),
            by_core: BTreeMap::new(),
        };
        for &core in cores {
            let GroupKind::SparseCore { ordinal } = model.group(core).kind else {
                continue;
            };
            let Some(track) = model.track_of_kind(core, TrackKind::Modules) else {
                continue;
            };
            let mut programs: Vec<SliceRef<'a>> = model.slices_on(track).collect();
            programs.sort_by_key(|program| (program.start(), program.id()));
            for program in programs {
                if let Some(number) = program.attr(SliceAttr::OffloadStart) {
                    targets
                        .by_number
                        .entry((i64::from(ordinal), number))
                        .or_default()
                        .push(program);
                }
                targets
                    .by_core
                    .entry(i64::from(ordinal))
                    .or_default()
                    .push(program);
            }
        }
        targets
    }

    /// The program that executes the work of `start`.
    fn find(&self, start: SliceRef<'_>) -> Option<SliceRef<'a>> {
        let number = start.attr(SliceAttr::OffloadStart);
        let core = start.attr(SliceAttr::OffloadCore);
        self.by_flow(start).or_else(|| {
            let core = core?;
            let numbered = number.and_then(|number| self.by_number.get(&(core, number)));
            let programs = numbered.or_else(|| self.by_core.get(&core))?;
            // The mapping of clocks is not exact: a program may appear to start slightly early.
            let next = programs.partition_point(|program| program.range().end <= start.start());
            let counted = start
                .attr(SliceAttr::OffloadExecution)
                .and_then(|index| usize::try_from(index).ok())
                .and_then(|index| numbered?.get(index))
                .copied();
            counted
                .filter(|program| program.range().end > start.start())
                .or_else(|| programs.get(next).copied())
        })
    }

    /// The program around the target of the flow to the work, if the runtime recorded one.
    fn by_flow(&self, start: SliceRef<'_>) -> Option<SliceRef<'a>> {
        let targets = self
            .model
            .flows_from(start.id())
            .iter()
            .map(|flow| self.model.slice(flow.to));
        targets.into_iter().find_map(|target| {
            let group = target.track_ref().group;
            if !matches!(self.model.group(group).kind, GroupKind::SparseCore { .. }) {
                return None;
            }
            let modules = self.model.track_of_kind(group, TrackKind::Modules)?;
            self.model.slice_at(modules, target.start())
        })
    }
}

/// The spans in which the program works: its ops if there are any, otherwise all of it.
fn work(
    model: &TraceModel,
    program: SliceRef<'_>,
    span: impl Fn(SliceRef<'_>) -> TimeRange,
) -> IntervalSet {
    let ops = model.track_of_kind(program.track_ref().group, TrackKind::Ops);
    let lanes = ops.map(|track| model.lanes(track)).unwrap_or_default();
    let inside: IntervalSet = lanes
        .iter()
        .flat_map(|lane| model.slices_in(lane, program.range()))
        .filter(|op| program.range().contains(op.start()))
        .map(span)
        .collect();
    if inside.is_empty() && ops.is_none() {
        IntervalSet::of(program.range())
    } else {
        inside
    }
}

/// The op that waits for the work of `start`: the target of its flow, otherwise the next done op.
fn done_of<'a>(
    model: &'a TraceModel,
    classes: &OpClasses,
    start: SliceRef<'a>,
) -> Option<SliceRef<'a>> {
    let is_done = |slice: &SliceRef<'_>| {
        let class: OpClass = classes.class_of(slice.op());
        class.is_done() || slice.name().contains("done")
    };
    let arrows = model
        .flows_from(start.id())
        .iter()
        .map(|flow| model.slice(flow.to));
    let linked = arrows
        .filter(|slice| slice.track() == start.track())
        .find(|slice| is_done(slice));
    linked.or_else(|| {
        const FURTHER: usize = 10_000;
        let after = TimeRange::new(start.range().end, model.extent().end);
        let lane = model.lane_of(start.id());
        model
            .slices_in(lane, after)
            .take(FURTHER)
            .find(|slice| is_done(slice))
    })
}
