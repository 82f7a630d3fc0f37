//! The critical paths of all steps as a track.

use std::collections::{BTreeMap, HashMap};

use analysis::reports::steps::step_times::Steps;
use analysis::what_if::{CriticalPath, PathKind, PathPiece, SharedReplay};
use analysis::{AnalysisError, Context, OpGroup, TraceFacts as _};
use trace_model::{GroupId, LabelId, Picos, TimeRange, Timestamp, TraceModel};

use super::{DerivedData, DerivedLane, DerivedName, DerivedSlice};
use crate::palette::ColorKey;

/// The critical path of one step, summed up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathOfStep {
    /// Its place on the timeline.
    pub range: TimeRange,
    /// Its number in the reports.
    pub number: u32,
    /// Its length, on the device that took longest.
    pub length: Picos,
    /// Time by kind, the longest first; they add up to the length.
    pub kinds: Vec<(PathKind, Picos)>,
}

/// The critical paths of all complete steps; `colors` are those of labels.
pub fn critical_path(cx: &Context<'_>, colors: &[ColorKey]) -> Result<DerivedData, AnalysisError> {
    let steps = cx.report::<Steps>()?;
    if !steps.has_steps() {
        return Ok(DerivedData::unknown(
            "no steps were found, so no step has a critical path",
        ));
    }
    let paths = cx
        .report::<SharedReplay>()?
        .critical_paths(cx.model, &steps.steps);
    if paths.is_empty() {
        return Ok(DerivedData::unknown(
            "no complete step ran ops on a TPU device, so there is no critical path",
        ));
    }
    let mut track = PathTrack::default();
    let mut clocks: HashMap<GroupId, DrawnClock> = HashMap::new();
    for path in &paths {
        let clock = match clocks.entry(path.slowest) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(DrawnClock::of(cx, path.slowest)?)
            }
        };
        let step = steps.steps.iter().find(|step| step.number == path.step);
        let shown = step
            .and_then(|step| step.span_on(path.slowest))
            .map(|span| span.range)
            .unwrap_or_default();
        track.add(cx.model, path, (clock, shown), colors);
    }
    Ok(track.data())
}

/// Places of the ops of a core: by the clock that timed them, and on the timeline.
struct DrawnClock(Vec<(Timestamp, Timestamp)>);

impl DrawnClock {
    fn of(cx: &Context<'_>, core: GroupId) -> Result<Self, AnalysisError> {
        let time = cx.core_time(core)?;
        let segments = time.iter().flat_map(|time| time.segments.iter());
        let place = |segment: &analysis::facts::core_time::SelfTimeSegment| {
            let shown = super::scopes::on_timeline(cx.model, segment.slice, segment.range);
            [
                (segment.range.start, shown.start),
                (segment.range.end, shown.end),
            ]
        };
        Ok(Self(cx.watched(segments).flat_map(place).collect()))
    }

    /// A time by the clock of the ops, on the timeline: between two places time passes evenly.
    fn shown(&self, at: Timestamp, within: TimeRange, span: TimeRange) -> Timestamp {
        if at <= span.start {
            return within.start;
        }
        if at >= span.end {
            return within.end;
        }
        let after = self.0.partition_point(|&(timed, _)| timed <= at);
        let before = after
            .checked_sub(1)
            .and_then(|before| self.0.get(before))
            .filter(|(timed, _)| *timed >= span.start);
        let &(from, shown_from) = before.unwrap_or(&(span.start, within.start));
        let &(to, shown_to) = self
            .0
            .get(after)
            .filter(|(timed, _)| *timed <= span.end)
            .unwrap_or(&(span.end, within.end));
        let share = (at - from).fraction_of(to - from).unwrap_or(0.0);
        let passed = (shown_to - shown_from).ps() as f64 * share;
        (shown_from + Picos::from_ps(passed.round() as i64)).clamp(within.start, within.end)
    }
}

/// The track that is being made.
#[derive(Default)]
struct PathTrack {
    names: Vec<DerivedName>,
    /// By label, or kind of time without an op, and by device where it is not the one that took longest.
    numbers: HashMap<(Result<LabelId, PathKind>, Option<GroupId>), u32>,
    slices: Vec<DerivedSlice>,
    steps: Vec<PathOfStep>,
}

impl PathTrack {
    fn add(
        &mut self,
        model: &TraceModel,
        path: &CriticalPath,
        (clock, within): (&DrawnClock, TimeRange),
        colors: &[ColorKey],
    ) {
        let mut kinds: BTreeMap<PathKind, Picos> = BTreeMap::new();
        for piece in &path.pieces {
            trace_model::may_pause();
            let time = piece.range.dur();
            *kinds.entry(piece.kind).or_default() += time;
            let ends =
                [piece.range.start, piece.range.end].map(|at| clock.shown(at, within, path.span));
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
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_by_key(|&(kind, time)| (std::cmp::Reverse(time), kind));
        self.steps.push(PathOfStep {
            range: within,
            number: path.step,
            length: path.span.dur(),
            kinds,
        });
    }

    fn name(
        &mut self,
        model: &TraceModel,
        piece: &PathPiece,
        label: Option<LabelId>,
        slowest: GroupId,
    ) -> u32 {
        let elsewhere = (piece.core != slowest).then_some(piece.core);
        let key = (label.ok_or(piece.kind), elsewhere);
        let names = &mut self.names;
        *self.numbers.entry(key).or_insert_with(|| {
            let own = match label {
                Some(label) => model.str(model.label(label).name),
                None => piece.kind.title(),
            };
            let name = match elsewhere {
                Some(core) => {
                    let device = model.device_name(core);
                    let device = device.strip_prefix("/device:").unwrap_or(&device);
                    format!("{own} on {device}")
                }
                None => own.to_owned(),
            };
            names.push(DerivedName::new(name));
            (names.len() - 1) as u32
        })
    }

    fn data(mut self) -> DerivedData {
        self.slices.sort_by_key(|slice| slice.range.start);
        self.steps.sort_by_key(|step| step.range.start);
        DerivedData {
            names: self.names,
            lanes: vec![DerivedLane::from(self.slices)],
            steps: self.steps,
            ..DerivedData::default()
        }
    }
}

impl DerivedData {
    /// The critical path of the step that runs at a time.
    pub fn step_at(&self, at: Timestamp) -> Option<&PathOfStep> {
        let after = self.steps.partition_point(|step| step.range.start <= at);
        self.steps
            .get(after.checked_sub(1)?)
            .filter(|step| step.range.contains(at))
    }

    /// The time of a slice on the critical path of a step.
    pub fn time_on_path(&self, step: &PathOfStep, slice: trace_model::SliceId) -> Picos {
        let slices = self.lanes.first().map_or(&[][..], DerivedLane::slices);
        let from = slices.partition_point(|own| own.range.start < step.range.start);
        let until = slices.partition_point(|own| own.range.start <= step.range.end);
        let own = slices.get(from..until.max(from)).unwrap_or_default().iter();
        own.filter(|own| own.slice == Some(slice))
            .map(|own| own.time)
            .sum()
    }
}
