//! Which rows the slices of an area belong to.

use std::collections::{BTreeMap, BTreeSet};

use analysis::OpClasses;
use importers::Progress;
use rayon::prelude::{IntoParallelRefIterator as _, ParallelIterator as _};
use trace_model::{LabelId, SliceRef, Timestamp, TraceModel, TrackId, TrackKind};

use super::marked::{AreaGrouping, MarkedArea};
use crate::timeline::bands::{StepBand, step_at};

/// Slices between two checks for cancellation.
const CHECK_EVERY: usize = 1 << 14;

/// What decides with the kind of its track which row a slice belongs to.
#[derive(Clone, Copy)]
pub(super) struct RowKeys<'a> {
    pub(super) pivot: AreaGrouping,
    pub(super) steps: &'a [StepBand],
}

impl RowKeys<'_> {
    /// The number of the label, step or track. Slices in no step come after all steps.
    #[inline]
    pub(super) fn of(self, track: TrackId, label: LabelId, start: Timestamp) -> usize {
        match self.pivot {
            AreaGrouping::Name | AreaGrouping::Category | AreaGrouping::Module => label.index(),
            AreaGrouping::Step => step_at(self.steps, start).unwrap_or(self.steps.len()),
            AreaGrouping::Track => track.index(),
        }
    }
}

#[derive(Default)]
pub(super) struct AreaRows {
    /// Name, kind of the tracks and labels of each row.
    pub(super) rows: Vec<(String, &'static str, BTreeSet<LabelId>)>,
    /// The row of each key on tracks of a kind; [`NOWHERE`] without one.
    pub(super) of_keys: BTreeMap<TrackKind, Vec<u32>>,
    /// Tracks with slices.
    pub(super) tracks: usize,
}

/// No row.
const NOWHERE: u32 = u32::MAX;

impl AreaRows {
    /// Looks which labels occur. `tracks` are those of the area, by kind.
    pub(super) fn new(
        model: &TraceModel,
        classes: &OpClasses,
        area: &MarkedArea,
        keys: RowKeys<'_>,
        tracks: &[TrackId],
        progress: &Progress,
    ) -> Result<Self, String> {
        let found: Vec<FoundKeys<'_>> = tracks
            .par_iter()
            .try_fold(
                || FoundKeys::new(model, keys),
                |mut found, &track| {
                    found.add(track, area, progress)?;
                    Ok(found)
                },
            )
            .collect::<Result<_, String>>()?;
        let mut out = Self {
            tracks: found.iter().map(|found| found.tracks).sum(),
            ..Self::default()
        };
        let mut numbers: BTreeMap<(String, &'static str), u32> = BTreeMap::new();
        for (kind, key, label) in found
            .into_iter()
            .flat_map(|found| found.keys)
            .collect::<BTreeSet<_>>()
        {
            let of_kind = out.of_keys.entry(kind).or_default();
            if key >= of_kind.len() {
                of_kind.resize(key + 1, NOWHERE);
            }
            if of_kind[key] == NOWHERE {
                let name = (name_of(model, classes, keys, key, label), kind_title(kind));
                of_kind[key] = *numbers.entry(name.clone()).or_insert(out.rows.len() as u32);
                if of_kind[key] as usize == out.rows.len() {
                    out.rows.push((name.0, name.1, BTreeSet::new()));
                }
            }
            out.rows[of_kind[key] as usize].2.insert(label);
        }
        Ok(out)
    }
}

/// The keys of slices on some tracks.
struct FoundKeys<'a> {
    model: &'a TraceModel,
    keys_of: RowKeys<'a>,
    kind: Option<TrackKind>,
    /// The last key that was found with each label on tracks of this kind.
    last: Vec<Option<u32>>,
    keys: Vec<(TrackKind, usize, LabelId)>,
    tracks: usize,
}

impl<'a> FoundKeys<'a> {
    fn new(model: &'a TraceModel, keys_of: RowKeys<'a>) -> Self {
        Self {
            model,
            keys_of,
            kind: None,
            last: vec![None; model.labels().len()],
            keys: Vec::new(),
            tracks: 0,
        }
    }

    fn add(
        &mut self,
        track: TrackId,
        area: &MarkedArea,
        progress: &Progress,
    ) -> Result<(), String> {
        let (model, kind) = (self.model, self.model.track(track).kind);
        if self.kind.replace(kind) != Some(kind) {
            self.last.fill(None);
        }
        let mut has_slices = false;
        for lane in model.lanes(track) {
            // Only the first ones may have no length, at the very start.
            let outside = |slice: &SliceRef<'_>| slice.range().intersect(area.range).is_none();
            for (i, slice) in model
                .slices_in(lane, area.range)
                .skip_while(outside)
                .enumerate()
            {
                if i % CHECK_EVERY == 0 {
                    progress.check().map_err(|error| error.to_string())?;
                }
                has_slices = true;
                let label = slice.label_id();
                let key = self.keys_of.of(track, label, slice.start());
                let last = &mut self.last[label.index()];
                if *last != Some(key as u32) {
                    *last = Some(key as u32);
                    self.keys.push((kind, key, label));
                }
            }
        }
        self.tracks += usize::from(has_slices);
        Ok(())
    }
}

fn name_of(
    model: &TraceModel,
    classes: &OpClasses,
    keys: RowKeys<'_>,
    key: usize,
    label: LabelId,
) -> String {
    const NONE: &str = "(no op)";
    let op = model.label(label).op;
    match keys.pivot {
        AreaGrouping::Name => model.str(model.label(label).name).to_owned(),
        AreaGrouping::Category => op.map_or(NONE, |op| classes.category(op)).to_owned(),
        AreaGrouping::Module => {
            let program = op.and_then(|op| model.op(op).program);
            program.map_or_else(|| NONE.to_owned(), |program| model.program_title(program))
        }
        AreaGrouping::Step => keys
            .steps
            .get(key)
            .map_or_else(|| "(no step)".to_owned(), StepBand::name),
        AreaGrouping::Track => {
            let Some(track) = model.tracks().get(key) else {
                return String::new();
            };
            format!(
                "{} · {}",
                model.str(model.group(track.group).name),
                model.str(track.name)
            )
        }
    }
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
