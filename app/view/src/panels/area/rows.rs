//! Which rows the slices of some tracks belong to.

use std::collections::HashMap;
use std::hash::Hash;

use crate::prelude::*;
use rayon::prelude::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::marked::AreaGrouping;
use crate::timeline::bands::{StepBand, step_at};

/// Name of the row of slices without an op, or of ops without a program.
const NONE: &str = "(no op)";
/// No row.
const NOWHERE: u32 = u32::MAX;

/// The rows: one for each name and kind of tracks. A key is the number of a label, step or track.
pub(super) struct AreaRows {
    pub(super) pivot: AreaGrouping,
    steps: Arc<[StepBand]>,
    /// By key: which of the names it has.
    names: Vec<u32>,
    /// By kind of tracks and name: the row; [`NOWHERE`] if no slice can belong to it.
    of_kinds: BTreeMap<TrackKind, Vec<u32>>,
    /// For each row the kind of its tracks, and the first key with its name.
    rows: Vec<(TrackKind, u32)>,
}

/// The rows of slices on one track.
#[derive(Clone, Copy)]
pub(super) struct AreaRowsOnTrack<'a> {
    rows: &'a AreaRows,
    track: TrackId,
    of_names: &'a [u32],
}

impl AreaRows {
    /// The rows of slices on `tracks`.
    pub(super) fn new(
        model: &TraceModel,
        classes: &OpClasses,
        steps: &Arc<[StepBand]>,
        pivot: AreaGrouping,
        tracks: &[TrackId],
    ) -> Self {
        let mut rows = Self {
            pivot,
            steps: Arc::clone(steps),
            names: Vec::new(),
            of_kinds: BTreeMap::new(),
            rows: Vec::new(),
        };
        let labels = model.labels().iter();
        let firsts = match pivot {
            AreaGrouping::Name => rows.number(labels.map(|label| label.name)),
            AreaGrouping::Category => {
                rows.number(labels.map(|label| label.op.map_or(NONE, |op| classes.category(op))))
            }
            AreaGrouping::Module => rows.number(labels.map(|label| program_of(model, label.op))),
            AreaGrouping::Step => {
                let names: Vec<_> = (0..=steps.len()).map(|key| step_name(steps, key)).collect();
                rows.number(names.into_iter())
            }
            AreaGrouping::Track => {
                rows.number(model.track_ids().map(|track| track_name(model, track)))
            }
        };
        for (kind, occurs) in rows.occurring(model, tracks, firsts.len()) {
            let of_kind = occurs.into_iter().zip(&firsts).map(|(occurs, &first)| {
                if !occurs {
                    return NOWHERE;
                }
                rows.rows.push((kind, first));
                rows.rows.len() as u32 - 1
            });
            let of_kind = of_kind.collect();
            rows.of_kinds.insert(kind, of_kind);
        }
        rows
    }

    /// Numbers the names of all keys; returns the first key with each.
    fn number<N: Hash + Eq>(&mut self, names: impl Iterator<Item = N>) -> Vec<u32> {
        let mut numbers: HashMap<N, u32> = HashMap::new();
        let mut firsts = Vec::new();
        for (key, name) in (0..).zip(names) {
            let number = *numbers.entry(name).or_insert(firsts.len() as u32);
            if number as usize == firsts.len() {
                firsts.push(key);
            }
            self.names.push(number);
        }
        firsts
    }

    /// By kind of tracks: which of the names can occur.
    fn occurring(
        &self,
        model: &TraceModel,
        tracks: &[TrackId],
        names: usize,
    ) -> BTreeMap<TrackKind, Vec<bool>> {
        let of_label = |occurs: &mut Vec<bool>, label: LabelId| {
            occurs[self.names[label.index()] as usize] = true;
        };
        let mut all: BTreeMap<TrackKind, Vec<bool>> = BTreeMap::new();
        for of_kind in tracks.chunk_by(|&a, &b| model.track(a).kind == model.track(b).kind) {
            let none = || vec![false; names];
            let add = |mut occurs: Vec<bool>, &track: &TrackId| {
                let rows = |lane| {
                    let mut slices = model.slices_of(lane);
                    let count = slices.len();
                    slices
                        .next()
                        .map_or(0..0, |first| first.id().index()..first.id().index() + count)
                };
                match self.pivot {
                    AreaGrouping::Step => occurs.fill(true),
                    AreaGrouping::Track => occurs[self.names[track.index()] as usize] = true,
                    _ => model
                        .lanes(track)
                        .iter()
                        .flat_map(|lane| model.labels_of(rows(lane)))
                        .for_each(|label| of_label(&mut occurs, label)),
                }
                occurs
            };
            let both = |mut one: Vec<bool>, other: Vec<bool>| {
                one.iter_mut().zip(other).for_each(|(a, b)| *a |= b);
                one
            };
            if let Some(&first) = of_kind.first() {
                let occurs = of_kind.par_iter().fold(none, add).reduce(none, both);
                all.insert(model.track(first).kind, occurs);
            }
        }
        all
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows of slices on a track, which is one of those that the rows were made for.
    pub(super) fn of_track(&self, model: &TraceModel, track: TrackId) -> AreaRowsOnTrack<'_> {
        let of_names = self.of_kinds.get(&model.track(track).kind);
        AreaRowsOnTrack {
            rows: self,
            track,
            of_names: of_names.map_or(&[], Vec::as_slice),
        }
    }

    /// Kind of the tracks of a row.
    pub(super) fn kind(&self, row: usize) -> TrackKind {
        self.rows[row].0
    }

    /// Whether slices with this label can belong to a row.
    pub(super) fn may_have(&self, row: usize, label: LabelId) -> bool {
        match self.pivot {
            AreaGrouping::Name | AreaGrouping::Category | AreaGrouping::Module => {
                self.names[label.index()] == self.names[self.rows[row].1 as usize]
            }
            AreaGrouping::Step | AreaGrouping::Track => true,
        }
    }

    /// Name of a row, and what its tracks contain.
    pub(super) fn title(
        &self,
        model: &TraceModel,
        classes: &OpClasses,
        row: usize,
    ) -> (String, &'static str) {
        let (kind, key) = self.rows[row];
        let key = key as usize;
        let op = || model.labels().get(key).and_then(|label| label.op);
        let name = match self.pivot {
            AreaGrouping::Name => model
                .labels()
                .get(key)
                .map(|label| model.str(label.name))
                .unwrap_or_default()
                .to_owned(),
            AreaGrouping::Category => op().map_or(NONE, |op| classes.category(op)).to_owned(),
            AreaGrouping::Module => program_of(model, op()),
            AreaGrouping::Step => step_name(&self.steps, key),
            AreaGrouping::Track => {
                let track = model.track_ids().nth(key);
                track.map_or_else(String::new, |track| track_name(model, track))
            }
        };
        (name, kind_title(kind))
    }
}

impl AreaRowsOnTrack<'_> {
    /// The row of a slice on the track.
    #[inline]
    pub(super) fn of(self, label: LabelId, start: Timestamp) -> u32 {
        let AreaRows {
            pivot,
            steps,
            names,
            ..
        } = self.rows;
        let key = match pivot {
            AreaGrouping::Name | AreaGrouping::Category | AreaGrouping::Module => label.index(),
            // Slices in no step come after all steps.
            AreaGrouping::Step => step_at(steps, start).unwrap_or(steps.len()),
            AreaGrouping::Track => self.track.index(),
        };
        self.of_names[names[key] as usize]
    }
}

fn program_of(model: &TraceModel, op: Option<OpId>) -> String {
    let program = op.and_then(|op| model.op(op).program);
    program.map_or_else(|| NONE.to_owned(), |program| model.program_title(program))
}

fn step_name(steps: &[StepBand], key: usize) -> String {
    steps
        .get(key)
        .map_or_else(|| "(no step)".to_owned(), StepBand::name)
}

fn track_name(model: &TraceModel, track: TrackId) -> String {
    let track = model.track(track);
    format!(
        "{} · {}",
        model.str(model.group(track.group).name),
        model.str(track.name)
    )
}

/// What the tracks of a kind contain, for areas with several kinds.
fn kind_title(kind: TrackKind) -> &'static str {
    match kind {
        TrackKind::Steps => "steps",
        TrackKind::Modules => "programs",
        TrackKind::Ops => "ops",
        TrackKind::AsyncOps => "asynchronous ops",
        TrackKind::DeviceScopes => "device scopes",
        TrackKind::Derived => "derived",
        TrackKind::LowLevel => "instructions",
        TrackKind::HostThread => "host threads",
        TrackKind::Stream => "GPU streams",
        TrackKind::Async => "asynchronous events",
        TrackKind::Counter => "counters",
        TrackKind::Other => "other tracks",
    }
}
