//! Traces drawn as text.
//!
//! ```
//! use sample_traces::text_trace;
//! use trace_model::*;
//!
//! let model = text_trace("
//!     steps  : 000000000011111111110
//!     modules: MMMMMMMMM.MMMMMMMMM
//!     ops    : AAAAAAAsccBBBBBBBd
//!            : ..ff
//!     async  : .......ssssssssss
//!     host python: PPPP
//!     TPU:1 ops  : BBBB
//!
//!     M = jit_step(7)
//!     A = while.3 [while]
//!     f = fusion.1 [convolution fusion] flops=2e9 hbm_read=4096 :: %fusion.1 = bf16[8]{0} fusion()
//!     s = all-gather-start.1 done=all-gather-done.1
//! ");
//! let core = model.tensor_cores()[0];
//! let ops = model.track_of_kind(core, TrackKind::Ops).unwrap();
//! let outer = model.slices_on(ops).next().unwrap();
//! assert_eq!((outer.name(), outer.dur()), ("while.3", Picos::from_ps(7_000)));
//! assert_eq!(outer.self_dur(), Picos::from_ps(5_000));
//! ```
//!
//! **Tracks.** Each line is a track, `name: picture`; a line without a name is one
//! level deeper on the track above. The picture starts one space after the last
//! colon; one column is 1 ns (`@column 1us` changes that). Blank lines and lines
//! that start with `#` are skipped. Names are `steps`, `modules`, `ops`, `async`,
//! `scopes`, `derived`, `lowlevel` (on `TPU:0`, or on the device in front of the name:
//! `TPU:1 ops`, `TPU:0 SC:1 ops` for a `SparseCore`), `host <thread>`, and
//! `counter <series>`, whose digits are values.
//!
//! **Slices.** A run of one letter is a slice; space and `.` are gaps. Two letters may
//! have the same name in the legend, to draw adjacent slices of the same name.
//!
//! **Legend.** `letter = name [category] key=value … :: HLO text`; only the name is
//! required. A letter without a legend is its own name. A step is named by its
//! digit. An op belongs to the module in which it starts. The word `instant` makes
//! every column of the letter a zero-length slice. A name can contain arguments,
//! as names of host events do: `f#graph_hash=1#`. Keys about the op: `flops`,
//! `model_flops`, `bytes`, `raw_bytes`, `hbm_read`, `hbm_write`, `vmem_read`,
//! `vmem_write` (`bytes` is the sum of these four if it is not given),
//! `symbol`, `tf`, `source`, `shape`. Keys about each slice: `run_id`, `group`,
//! `step`, `root`, `collective`, `ordinal`, `stall`, `transfer`, and `done` (name of
//! the done op of an asynchronous span; on `ops`, a flow leads to it).
//!
//! **Directives.** `@column 1us` sets the length of a column. `@device-clock 500ns` gives
//! the devices a clock of their own that is ahead by this time.
//! `@device flops=2e14 hbm=8e11 TPU v5 lite` sets the peaks and type of every device.

mod legend;

use std::collections::BTreeMap;

use trace_model::{
    DeviceInfo, FlowEnd, GroupId, GroupKind, Label, LabelId, Picos, ProgramId, SliceAttr, SliceKey,
    SliceRef, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel, TrackId, TrackKind,
};

use legend::{LegendEntry, PictureLegend};

/// The trace that `picture` draws.
///
/// # Panics
/// If the picture is invalid, because it is part of a test.
pub fn text_trace(picture: &str) -> TraceModel {
    text_builder(picture).finish()
}

/// `name begin-end`, in ns, of the slices of a track.
pub fn slices(model: &TraceModel, track: &str) -> Vec<String> {
    let of_track = |slice: &SliceRef<'_>| model.str(slice.track_ref().name) == track;
    let text = |slice: SliceRef<'_>| {
        let range = slice.range();
        format!(
            "{} {}-{}",
            slice.name(),
            range.start.ps() / 1000,
            range.end.ps() / 1000
        )
    };
    model.all_slices().filter(of_track).map(text).collect()
}

/// Like [`text_trace`], but returns the builder so that a test can add more.
///
/// # Panics
/// If the picture is invalid, because it is part of a test.
pub fn text_builder(picture: &str) -> TraceBuilder {
    let mut painter = PicturePainter {
        out: TraceBuilder::new(),
        column: Picos::from_ps(trace_model::time::PS_PER_NS),
        ..PicturePainter::default()
    };
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for line in picture
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        if let Some(directive) = line.strip_prefix('@') {
            painter.direct(directive);
        } else if !painter.legend.add(line) {
            let (name, cells) = line
                .rsplit_once(':')
                .unwrap_or_else(|| panic!("no colon in {line:?}"));
            let name = name.trim();
            let name = if name.is_empty() {
                rows.last()
                    .unwrap_or_else(|| panic!("nothing above {line:?}"))
                    .0
            } else {
                name
            };
            rows.push((name, cells.strip_prefix(' ').unwrap_or(cells)));
        }
    }
    // Modules first, because they determine the program of an op.
    let (modules, others): (Vec<_>, Vec<_>) =
        rows.iter().partition(|(name, _)| name.ends_with("modules"));
    for &(name, cells) in modules.into_iter().chain(others) {
        painter.paint(name, cells);
    }
    painter.out
}

#[derive(Default)]
struct PicturePainter {
    out: TraceBuilder,
    column: Picos,
    device_clock: Option<Picos>,
    device: Option<DeviceInfo>,
    legend: PictureLegend,
    /// Program executions on each device.
    modules: BTreeMap<GroupId, Vec<(TimeRange, ProgramId)>>,
    /// Start ops whose done op has not been drawn yet: track, name of the done op, slice of the start op.
    pending: Vec<(TrackId, String, SliceKey)>,
}

/// A run of one letter.
struct CharacterRun {
    letter: char,
    range: TimeRange,
}

impl PicturePainter {
    fn direct(&mut self, directive: &str) {
        let (name, rest) = directive.split_once(' ').unwrap_or((directive, ""));
        let time = || {
            rest.parse()
                .unwrap_or_else(|error| panic!("@{directive}: {error}"))
        };
        match name {
            "column" => self.column = time(),
            "device-clock" => self.device_clock = Some(time()),
            "device" => {
                let entry = LegendEntry::parse(rest);
                self.device = Some(DeviceInfo {
                    type_name: (!entry.name.is_empty()).then(|| entry.name.clone()),
                    peak_flops: entry.number("flops"),
                    peak_hbm_bytes: entry.number("hbm"),
                    ..DeviceInfo::default()
                });
            }
            _ => panic!("unknown directive @{directive}"),
        }
    }

    fn paint(&mut self, name: &str, cells: &str) {
        let (group, track, kind) = self.track(name);
        for run in runs(cells, self.column) {
            let entry = self.legend.get(run.letter);
            match kind {
                TrackKind::Counter => {
                    let value = run
                        .letter
                        .to_digit(10)
                        .unwrap_or_else(|| panic!("{:?} is no digit", run.letter));
                    self.out.add_counter_sample(
                        track,
                        run.range.start,
                        Some(run.range.dur()),
                        f64::from(value),
                    );
                }
                _ if entry.has("instant") => {
                    let mut at = run.range.start;
                    while at < run.range.end {
                        self.slice(group, track, kind, TimeRange::new(at, at), &entry);
                        at = at + self.column;
                    }
                }
                _ => self.slice(group, track, kind, run.range, &entry),
            }
        }
    }

    fn slice(
        &mut self,
        group: GroupId,
        track: TrackId,
        kind: TrackKind,
        range: TimeRange,
        entry: &LegendEntry,
    ) {
        let label = self.label(group, kind, range, entry);
        let on_device = !matches!(kind, TrackKind::HostThread);
        let device = self
            .device_clock
            .filter(|_| on_device)
            .map(|ahead| TimeRange::new(range.start + ahead, range.end + ahead));
        let key = self.out.add_slice(
            track,
            SliceSpec {
                device,
                ..SliceSpec::new(range, label)
            },
        );
        for (attr, value) in entry.attrs(&mut self.out) {
            self.out.set_attr(key, attr, value);
        }
        if kind == TrackKind::Ops {
            if let Some(at) = self
                .pending
                .iter()
                .position(|(on, done, _)| *on == track && *done == entry.name)
            {
                let (_, _, start) = self.pending.remove(at);
                self.out.add_flow(
                    FlowEnd::Slice(start),
                    FlowEnd::Slice(key),
                    self.pending.len() as u64,
                );
            }
            self.pending
                .extend(entry.done().map(|done| (track, done.to_owned(), key)));
        }
        if range.is_empty() {
            self.out.set_attr(key, SliceAttr::Instant, 1);
        }
        if let (TrackKind::Steps, Ok(number)) = (kind, entry.name.parse()) {
            self.out.set_attr(key, SliceAttr::GroupId, number);
        }
    }

    fn label(
        &mut self,
        group: GroupId,
        kind: TrackKind,
        range: TimeRange,
        entry: &LegendEntry,
    ) -> LabelId {
        match kind {
            TrackKind::Modules => {
                let program = entry.program(&mut self.out);
                self.modules
                    .entry(group)
                    .or_default()
                    .push((range, program));
                self.out.label(&entry.name, None)
            }
            TrackKind::Ops | TrackKind::AsyncOps => {
                let modules = self.modules.get(&group).map_or(&[][..], Vec::as_slice);
                let program = modules
                    .iter()
                    .find(|(span, _)| span.contains(range.start))
                    .map(|&(_, program)| program);
                let op = entry.op(program, &mut self.out);
                let op = self.out.op(op);
                let name = self.out.op_ref(op).name;
                self.out.label_of(Label { name, op: Some(op) })
            }
            _ => self.out.label(&entry.name, None),
        }
    }

    /// The track called `name`, with its group.
    fn track(&mut self, name: &str) -> (GroupId, TrackId, TrackKind) {
        let machine = self.out.group(None, GroupKind::Host, "text");
        let (first, rest) = name.split_once(' ').unwrap_or((name, ""));
        if first == "host" {
            let group = self
                .out
                .group(Some(machine), GroupKind::HostProcess, "/host:CPU");
            let thread = if rest.is_empty() { "python" } else { rest };
            return (
                group,
                self.out.track(group, TrackKind::HostThread, 0, thread),
                TrackKind::HostThread,
            );
        }
        let (ordinal, rest) = numbered("TPU:", name).unwrap_or((0, name));
        let core_name = format!("/device:TPU:{ordinal}");
        let mut group =
            self.out
                .group(Some(machine), GroupKind::TensorCore { ordinal }, &core_name);
        if self.out.group_mut(group).device.is_none()
            && let Some(device) = self.device.clone()
        {
            self.out.set_device(group, device);
        }
        let (sparse, rest) =
            numbered("SC:", rest).map_or((None, rest), |(core, rest)| (Some(core), rest));
        if let Some(core) = sparse {
            let kind = GroupKind::SparseCore { ordinal: core };
            group = self
                .out
                .group(Some(group), kind, &format!("{core_name} SparseCore {core}"));
        }
        if let Some(series) = rest.strip_prefix("counter") {
            return (
                group,
                self.out.track(group, TrackKind::Counter, 9, series.trim()),
                TrackKind::Counter,
            );
        }
        let (kind, id, title) = match rest {
            "steps" => (TrackKind::Steps, 1, "Steps"),
            "modules" => (
                TrackKind::Modules,
                2,
                if sparse.is_some() {
                    "Sparse Core Modules"
                } else {
                    "XLA Modules"
                },
            ),
            "ops" => (
                TrackKind::Ops,
                3,
                if sparse.is_some() {
                    "Sparse Core Ops"
                } else {
                    "XLA Ops"
                },
            ),
            "async" => (TrackKind::AsyncOps, 4, "Async XLA Ops"),
            "scopes" => (TrackKind::DeviceScopes, 5, "XLA TraceMe"),
            "derived" => (TrackKind::Derived, 6, "Framework Ops"),
            "lowlevel" => (TrackKind::LowLevel, 7, "Tensor Core"),
            _ => panic!("no track is called {name:?}"),
        };
        (group, self.out.track(group, kind, id, title), kind)
    }
}

/// `TPU:3 ops` → 3 and `ops`.
fn numbered<'a>(prefix: &str, name: &'a str) -> Option<(u32, &'a str)> {
    let (number, rest) = name.strip_prefix(prefix)?.split_once(' ')?;
    Some((number.parse().ok()?, rest.trim()))
}

fn runs(cells: &str, column: Picos) -> Vec<CharacterRun> {
    let at = |index: usize| Timestamp::from_ps(index as i64 * column.ps());
    let mut runs: Vec<CharacterRun> = Vec::new();
    let mut before = None;
    for (index, letter) in cells.chars().enumerate() {
        let (start, end) = (at(index), at(index + 1));
        match runs.last_mut() {
            _ if matches!(letter, ' ' | '.') => {}
            Some(run) if before == Some(letter) => run.range.end = end,
            _ => runs.push(CharacterRun {
                letter,
                range: TimeRange::new(start, end),
            }),
        }
        before = Some(letter);
    }
    runs
}

#[cfg(test)]
mod tests;
