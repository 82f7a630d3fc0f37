//! The critical paths of all steps as a track.

use std::collections::HashMap;

use crate::prelude::*;
use analysis::facts::Step;
use analysis::reports::Steps;
use analysis::what_if::{CriticalPath, PathPiece, SharedReplay, WaitsFor};
use analysis::{AnalysisError, Context, TraceFacts as _};
use trace_model::short_device_name;

use super::{DerivedData, DerivedLane, DerivedName, DerivedSlice};
use crate::palette::ColorKey;

/// The critical path of one step, summed up.
#[derive(Debug)]
pub struct PathOfStep {
    /// Its place on the timeline.
    pub range: TimeRange,
    /// Its number in the reports.
    pub number: u32,
    /// Its length, on the device that took longest.
    pub length: Picos,
    /// Time by what it waits for, the longest first; they add up to the length.
    pub kinds: Vec<(WaitsFor, Picos)>,
}

/// The critical paths of all complete steps; `colors` are those of labels.
pub fn critical_path(cx: &Context<'_>, colors: &[ColorKey]) -> Result<DerivedData, AnalysisError> {
    let steps = cx.report::<Steps>()?;
    if !steps.has_steps() {
        return Ok(DerivedData::unknown(
            "no steps were found, so no step has a critical path",
        ));
    }
    let replay = cx.report::<SharedReplay>()?;
    let mut paths = replay.critical_paths(cx, &steps.steps).peekable();
    if paths.peek().is_none() {
        return Ok(DerivedData::unknown(
            "no complete step ran ops on a TPU device, so there is no critical path",
        ));
    }
    let mut track = PathTrack::default();
    // Paths are in the order of steps.
    let mut all_steps = steps.steps.iter();
    let mut clocks: HashMap<GroupId, DrawnClock> = HashMap::new();
    for path in paths {
        let clock = match clocks.entry(path.slowest) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(DrawnClock::of(cx, path.slowest)?)
            }
        };
        let step = all_steps.find(|step| step.number == path.step);
        let shown = step
            .and_then(|step| step.span_on(path.slowest))
            .map(|span| span.range)
            .unwrap_or_default();
        track.add(cx.model, &path, (clock, shown), colors);
        track.add_spans(cx.model, step);
    }
    Ok(track.data())
}

/// Places of the ops of a core: by the clock that timed them, and on the timeline.
struct DrawnClock(Vec<(Timestamp, Timestamp)>);

impl DrawnClock {
    fn of(cx: &Context<'_>, core: GroupId) -> Result<Self, AnalysisError> {
        let time = cx.core_time(core)?;
        let segments = time.iter().flat_map(|time| time.segments.iter());
        let place = |segment: analysis::facts::core_time::SelfTimeSegment| {
            let shown = super::scopes::on_timeline(cx.model, segment.slice, segment.range);
            [
                (segment.range.start, shown.start),
                (segment.range.end, shown.end),
            ]
        };
        Ok(Self(cx.watched(segments).flat_map(place).collect()))
    }

    /// A time by the clock of the ops, on the timeline: between two places time passes evenly.
    fn shown(&self, time: Timestamp, within: TimeRange, span: TimeRange) -> Timestamp {
        if time <= span.start {
            return within.start;
        }
        if time >= span.end {
            return within.end;
        }
        let after = self.0.partition_point(|&(timed, _)| timed <= time);
        let &(from, shown_from) = after
            .checked_sub(1)
            .and_then(|before| self.0.get(before))
            .filter(|(timed, _)| *timed >= span.start)
            .unwrap_or(&(span.start, within.start));
        let &(to, shown_to) = self
            .0
            .get(after)
            .filter(|(timed, _)| *timed <= span.end)
            .unwrap_or(&(span.end, within.end));
        let share = (time - from).fraction_of(to - from).unwrap_or(0.0);
        let passed = (shown_to - shown_from).ps() as f64 * share;
        (shown_from + Picos::from_ps(passed.round() as i64)).clamp(within.start, within.end)
    }
}

/// The track that is being made.
#[derive(Default)]
struct PathTrack {
    names: Vec<DerivedName>,
    /// By label, or kind of time without an op, and by device where it is not the one that took longest.
    numbers: HashMap<(Result<LabelId, WaitsFor>, Option<GroupId>), u32>,
    slices: Vec<DerivedSlice>,
    steps: PathsOfSteps,
}

impl PathTrack {
    fn add(
        &mut self,
        model: &TraceModel,
        path: &CriticalPath,
        (clock, within): (&DrawnClock, TimeRange),
        colors: &[ColorKey],
    ) {
        let mut kinds: BTreeMap<WaitsFor, Picos> = BTreeMap::new();
        for piece in &path.pieces {
            trace_model::may_pause();
            let time = piece.range.dur();
            *kinds.entry(piece.waits_for).or_default() += time;
            let ends = [piece.range.start, piece.range.end]
                .map(|time| clock.shown(time, within, path.span));
            let label = piece.slice.map(|slice| model.slice(slice).label_id());
            let color = label.and_then(|label| colors.get(label.index()).copied());
            let slice = DerivedSlice {
                range: TimeRange::new(ends[0], ends[1].max(ends[0])),
                time,
                name: self.name(model, piece, label, path.slowest),
                color: color.unwrap_or(ColorKey::of_group(OpGroup::Idle)),
                slice: piece.slice,
            };
            self.slices.push(slice);
            if let Some(slice) = piece.slice {
                self.steps.add_piece(slice, path.step, time);
            }
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_by_key(|&(kind, time)| (Reverse(time), kind));
        self.steps.steps.push(PathOfStep {
            range: within,
            number: path.step,
            length: path.span.dur(),
            kinds,
        });
    }

    /// When a step runs on each device.
    fn add_spans(&mut self, model: &TraceModel, step: Option<&Step>) {
        let Some(step) = step else { return };
        for span in &step.spans {
            if matches!(model.group(span.group).kind, GroupKind::TensorCore { .. }) {
                let of_device = self.steps.spans.entry(span.group).or_default();
                of_device.push((span.range, step.number));
            }
        }
    }

    fn name(
        &mut self,
        model: &TraceModel,
        piece: &PathPiece,
        label: Option<LabelId>,
        slowest: GroupId,
    ) -> u32 {
        let elsewhere = (piece.core != slowest).then_some(piece.core);
        let key = (label.ok_or(piece.waits_for), elsewhere);
        let names = &mut self.names;
        *self.numbers.entry(key).or_insert_with(|| {
            let op_name = match label {
                Some(label) => model.str(model.label(label).name).to_owned(),
                None => piece.waits_for.title(),
            };
            let name = match elsewhere {
                Some(core) => {
                    let device = model.device_name(core);
                    let device = short_device_name(&device);
                    format!("{op_name} on {device}")
                }
                None => op_name,
            };
            names.push(DerivedName::new(name));
            (names.len() - 1) as u32
        })
    }

    fn data(mut self) -> DerivedData {
        self.slices.sort_by_key(|slice| slice.range.start);
        self.steps.sort();
        DerivedData {
            names: self.names,
            lanes: vec![DerivedLane::from(self.slices)],
            paths: self.steps,
            ..DerivedData::default()
        }
    }
}

/// The critical paths of all steps, by time, by slice and by device.
#[derive(Debug, Default)]
pub struct PathsOfSteps {
    /// In time order on the devices that took longest.
    steps: Vec<PathOfStep>,
    /// Slices on paths, in their order: the number of the step, and the time on its path.
    pieces: Vec<(SliceId, u32, Picos)>,
    /// By device: when steps run there, in time order.
    spans: BTreeMap<GroupId, Vec<(TimeRange, u32)>>,
}

impl PathsOfSteps {
    fn add_piece(&mut self, slice: SliceId, step: u32, time: Picos) {
        // An op with inner ops is several pieces.
        match self.pieces.last_mut() {
            Some((last_slice, of, sum)) if (*last_slice, *of) == (slice, step) => *sum += time,
            _ => self.pieces.push((slice, step, time)),
        }
    }

    fn sort(&mut self) {
        self.steps.sort_by_key(|step| step.range.start);
        self.pieces.sort_unstable();
        self.pieces.dedup_by(|next, kept| {
            let is_same = (next.0, next.1) == (kept.0, kept.1);
            if is_same {
                kept.2 += next.2;
            }
            is_same
        });
        for spans in self.spans.values_mut() {
            spans.sort_unstable_by_key(|(range, step)| (range.start, *step));
        }
    }

    /// That of the step that runs at a time on the device that took longest.
    pub fn at(&self, time: Timestamp) -> Option<&PathOfStep> {
        let after = self.steps.partition_point(|step| step.range.start <= time);
        let step = self.steps.get(after.checked_sub(1)?)?;
        Some(step).filter(|step| step.range.contains(time))
    }

    /// That of the step of a slice, and the time of the slice on it: the step whose path leads over it, else the one that
    /// its device runs meanwhile.
    pub fn of(&self, slice: SliceRef<'_>, group: GroupId) -> Option<(&PathOfStep, Picos)> {
        let from = self
            .pieces
            .partition_point(|(of_piece, ..)| *of_piece < slice.id());
        let on_path = self
            .pieces
            .get(from)
            .filter(|(of_piece, ..)| *of_piece == slice.id());
        let (number, time) = if let Some(&(_, number, time)) = on_path {
            (number, time)
        } else {
            let spans = self.spans.get(&group)?;
            let after = spans.partition_point(|(range, _)| range.start <= slice.start());
            let &(range, number) = spans.get(after.checked_sub(1)?)?;
            range
                .contains(slice.start())
                .then_some((number, Picos::ZERO))?
        };
        let step = self.steps.iter().find(|step| step.number == number)?;
        Some((step, time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::{Options, Scope};
    use sample_traces::text_trace;
    use session::Session;

    #[test]
    fn slices_belong_to_the_step_of_their_own_device() {
        // The second device is three ns behind the first.
        let model = text_trace(
            "
            TPU:0 steps: 0000001111111...
            TPU:0 ops  : AARRRRBBBBBBB...
            TPU:1 steps: ...000000111111.
            TPU:1 ops  : ...CCCERRDDDDDD.
            0 = 0
            1 = 1
            A = fusion.1 [loop fusion]
            B = fusion.2 [loop fusion]
            C = fusion.3 [loop fusion]
            D = fusion.4 [loop fusion]
            E = fusion.5 [loop fusion]
            R = all-reduce.1 [all-reduce]
            ",
        );
        let session = Session::from_model(model, Options::default());
        let cx = session.context(Scope::WholeTrace);
        let data = critical_path(&cx, &[]).unwrap();
        let of = |name: &str| {
            let slice = cx.model.all_slices().find(|slice| slice.name() == name);
            let slice = slice.unwrap();
            let group = cx.model.track(slice.track()).group;
            let found = data.paths.of(slice, group);
            found.map(|(step, time)| (step.number, time.ps() / 1_000))
        };
        let found = ["fusion.1", "fusion.2", "fusion.3", "fusion.4", "fusion.5"].map(of);
        // The last one begins when the first device is in the next step already.
        let expected = [(0, 2), (1, 7), (0, 0), (1, 0), (0, 0)].map(Some);
        assert_eq!(found, expected);
    }
}
