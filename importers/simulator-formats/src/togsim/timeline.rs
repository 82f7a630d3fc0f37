//! Converts a run to one device per core.

use importer_common::cycles::CycleClock;
use importer_common::prelude::*;
use importer_common::simulated::{label_of_op, track_at};
use importer_common::waits::add_waits;
use trace_model::Label;

use super::line::TogSimUnit;
use super::run::{InstructionSpan, TogSimCore, TogSimRun};

/// Maximum number of kernels that are written for all cores together. The log does not contain
/// which core runs which kernel, so each core has all of them.
const MAX_KERNELS: usize = if cfg!(test) { 8 } else { 1 << 20 };
/// Cancellation is checked once per this many spans.
const SPANS_A_CHECK: usize = 1 << 12;

/// Creates a device for every core.
pub(super) fn write(
    run: &TogSimRun,
    clock: CycleClock,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<()> {
    let is_shown = |core: &&TogSimCore| !core.spans.is_empty() || !run.kernels.is_empty();
    let shown = run.cores.values().filter(is_shown).count();
    let with_kernels = (MAX_KERNELS / run.kernels.len().max(1)).clamp(1, shown.max(1));
    let without = (shown - with_kernels.min(shown)) as u64;
    let kernels = run.kernels.len();
    out.log_mut().add_many(IssueKind::SourceSkipped, without, || {
        format!("cores without kernels: there are {kernels}, shown on the first {with_kernels} cores only")
    });
    for (number, core) in &run.cores {
        let what = || {
            format!(
                "core {number}: the log lacks lines, or instructions were skipped: {}",
                core.only_ended
            )
        };
        out.log_mut()
            .add_many(IssueKind::EndWithoutBegin, core.only_ended, what);
    }
    let labels: Vec<LabelId> = run
        .kernels
        .iter()
        .map(|kernel| {
            out.label_of(Label {
                name: kernel.name,
                op: None,
            })
        })
        .collect();
    for (index, (number, core)) in run
        .cores
        .iter()
        .filter(|(_, core)| is_shown(core))
        .enumerate()
    {
        progress.check()?;
        let group = out.group(
            None,
            GroupKind::TensorCore { ordinal: *number },
            &format!("core {number}"),
        );
        out.set_device(
            group,
            DeviceInfo {
                type_name: Some("PyTorchSim core".to_owned()),
                ..DeviceInfo::default()
            },
        );
        if let Some(cycles) = run.ended {
            for (name, value) in &core.statistics {
                // The value refers to the whole run, as the simulator prints it.
                let value = value.replacen(" %", &format!(" % of {cycles} cycles"), 1);
                out.set_group_fact(group, name, ArgValue::Text(value));
            }
        }
        if core.only_ended > 0 {
            let value = format!(
                "{} instructions: skipped, or the log lacks lines",
                core.only_ended
            );
            out.set_group_fact(group, "ends without a begin", ArgValue::Text(value));
        }
        let mut writer = TogSimTimeline {
            out,
            group,
            clock,
            now: run.now,
            tracks: BTreeMap::new(),
            labels: HashMap::new(),
        };
        if index < with_kernels {
            writer.kernels(run, &labels);
        }
        let overlaps = writer.core(core, progress)?;
        overlaps.log(*number, out);
    }
    Ok(())
}

struct TogSimTimeline<'a> {
    out: &'a mut TraceBuilder,
    group: GroupId,
    clock: CycleClock,
    now: i64,
    /// Tracks of units, in display order.
    tracks: BTreeMap<(TogSimUnit, u32), TrackId>,
    labels: HashMap<StringId, LabelId>,
}

impl TogSimTimeline<'_> {
    fn track(&mut self, kind: TrackKind, place: i64, name: &str) -> TrackId {
        track_at(place, self.group, kind, name, self.out)
    }

    /// Adds operators as programs. If there are several schedulers, the log does not contain
    /// which one a core belongs to.
    fn kernels(&mut self, run: &TogSimRun, labels: &[LabelId]) {
        let track = self.track(TrackKind::Modules, 1, "Kernels");
        for (kernel, label) in run.kernels.iter().zip(labels) {
            let span = (kernel.start.unwrap_or(kernel.end), kernel.end);
            self.clock
                .add_slice("a kernel", span, (track, *label), self.out);
        }
        if run.kernels.is_empty() {
            let label = self.out.label("PyTorchSim run", None);
            self.clock
                .add_slice("the run", (0, self.now), (track, label), self.out);
        }
    }

    fn core(&mut self, core: &TogSimCore, progress: &Progress) -> Result<OverlapLanes> {
        let ops = self.track(TrackKind::Ops, 2, "Compute");
        let flights = self.track(TrackKind::AsyncOps, 3, "Loads and stores");
        let (mut moved, mut unended) = (Vec::new(), 0);
        let mut computed: Vec<(TimeRange, LabelId)> = Vec::new();
        for (index, span) in core.spans.iter().enumerate() {
            if index % SPANS_A_CHECK == 0 {
                progress.check()?;
            }
            let end = span.end.unwrap_or(self.now);
            let Some(range) = self
                .clock
                .range_of("an instruction", span.begin, end, self.out)
            else {
                continue;
            };
            let label = self.label(span);
            let track = if span.unit.moves_data() {
                flights
            } else {
                self.unit_track(span)
            };
            let slice = self.out.add_slice(track, SliceSpec::new(range, label));
            if span.end.is_none() {
                self.out.set_attr(slice, SliceAttr::Unterminated, 1);
                unended += 1;
            }
            if span.unit.moves_data() {
                let wait = self.wait_label(span);
                let done = self.out.label_ref(wait).name;
                self.out
                    .set_attr(slice, SliceAttr::DoneOp, done.index() as i64);
                moved.push((range, wait));
            } else {
                computed.push((range, label));
            }
        }
        let log = self.out.log_mut();
        log.add_many(IssueKind::BeginWithoutEnd, unended, || {
            "instructions without an end".to_owned()
        });
        Ok(self.ops(ops, computed, moved))
    }

    /// Adds the core's ops one after the other. Because units work in parallel, each op is shown
    /// from the end of the previous one, if that is before its own end.
    fn ops(
        &mut self,
        track: TrackId,
        mut computed: Vec<(TimeRange, LabelId)>,
        moved: Vec<(TimeRange, LabelId)>,
    ) -> OverlapLanes {
        let mut overlaps = OverlapLanes::default();
        computed.sort_by_key(|(range, _)| (range.start, range.end));
        let mut busy: Vec<TimeRange> = Vec::with_capacity(computed.len());
        for (range, label) in computed {
            let free = busy.last().map_or(range.start, |last| last.end);
            let begin = range.start.max(free);
            if begin < range.end {
                let rest = TimeRange::new(begin, range.end);
                self.out.add_slice(track, SliceSpec::new(rest, label));
                busy.push(rest);
                overlaps.shortened += u64::from(begin > range.start);
            } else {
                overlaps.hidden += u64::from(!range.is_empty());
            }
        }
        add_waits(&mut busy, moved, track, self.out);
        overlaps
    }

    fn unit_track(&mut self, span: &InstructionSpan) -> TrackId {
        if let Some(track) = self.tracks.get(&(span.unit, span.array)) {
            return *track;
        }
        let (sort, name) = match span.unit {
            TogSimUnit::Array => (
                10 + i64::from(span.array),
                format!("Systolic array {}", span.array),
            ),
            TogSimUnit::Vector => (4, "Vector unit".to_owned()),
            _ => (5, "Cross-lane unit".to_owned()),
        };
        let track = self.track(TrackKind::Derived, sort, &name);
        self.tracks.insert((span.unit, span.array), track);
        track
    }

    fn label(&mut self, span: &InstructionSpan) -> LabelId {
        let category = match span.unit {
            TogSimUnit::Array => "dot",
            TogSimUnit::Vector | TogSimUnit::CrossLane => "loop fusion",
            TogSimUnit::Load | TogSimUnit::Store => "copy-start",
        };
        let name = self.out.str(span.name).to_owned();
        let name = match span.unit {
            TogSimUnit::Load => format!("load {name}"),
            TogSimUnit::Store => format!("store {name}"),
            _ => name,
        };
        self.op_label(&name, category)
    }

    /// The label of the op that waits for a load or a store.
    fn wait_label(&mut self, span: &InstructionSpan) -> LabelId {
        let verb = if span.unit == TogSimUnit::Load {
            "load"
        } else {
            "store"
        };
        let name = format!("wait {verb} {}", self.out.str(span.name));
        self.op_label(&name, "copy-done")
    }

    fn op_label(&mut self, name: &str, category: &'static str) -> LabelId {
        let text = self.out.intern(name);
        if let Some(label) = self.labels.get(&text) {
            return *label;
        }
        let label = label_of_op(name, Some(category), Op::default(), self.out);
        self.labels.insert(text, label);
        label
    }
}

/// Numbers of instructions that ran in parallel with others.
#[derive(Default)]
struct OverlapLanes {
    /// Instructions that are shown from the end of another one.
    shortened: u64,
    /// Instructions that are not shown because they end before another one.
    hidden: u64,
}

impl OverlapLanes {
    fn log(&self, core: u32, out: &mut TraceBuilder) {
        let log = out.log_mut();
        log.add_many(IssueKind::ScheduleOverlaps, self.shortened, || {
            format!(
                "core {core}: instructions that overlap others and are drawn on Compute from their end ({})",
                self.shortened
            )
        });
        log.add_many(IssueKind::ScheduleOverlaps, self.hidden, || {
            format!(
                "core {core}: instructions that are hidden on Compute by longer ones ({})",
                self.hidden
            )
        });
    }
}
