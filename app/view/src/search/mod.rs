//! Searches slices in the whole trace.

mod first;
mod order;
mod query;
mod table;

use std::ops::Range;

use crate::prelude::*;
use rayon::prelude::{
    IntoParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _,
};
use trace_model::Label;

use self::first::{FirstSlices, first_in_time};

pub use order::{OrderBy, order};
pub use query::{FIELDS, Query};
pub use table::table;

use crate::state::ViewState;
use crate::timeline::highlighted::Highlighted;

/// Maximum number of listed slices; all are counted. A list of this length takes 34 MB.
const LISTED: usize = 2_000_000;
/// Slices that one task looks at, between two checks for cancellation.
const CHUNK: usize = 1 << 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchFor {
    Text(String),
    Labels(Arc<BTreeSet<LabelId>>),
}

impl SearchFor {
    /// The search of a view: what is highlighted, else the typed query.
    pub fn of(state: &ViewState) -> Option<Self> {
        match &state.highlighted {
            Some(highlighted) => Some(Self::Labels(Arc::clone(&highlighted.labels))),
            None if state.search.is_empty() => None,
            None => Some(Self::Text(state.search.clone())),
        }
    }
}

#[derive(Debug, Default)]
pub struct SearchResults {
    /// Matching slices in time order, those that start at the same time by id; the first ones, up to the limit.
    pub slices: Vec<SliceId>,
    /// The matching slices by id.
    pub highlighted: Highlighted,
    pub total: usize,
}

impl SearchResults {
    /// The listed slice after (or before) `from`, wrapping around, with its number counted from 1.
    pub fn next(
        &self,
        model: &TraceModel,
        from: Option<SliceId>,
        forth: bool,
    ) -> Option<(usize, SliceId)> {
        let count = self.slices.len();
        let place = self.place(model, from);
        let next = match (place, forth) {
            _ if count == 0 => return None,
            (None, true) => 0,
            (None, false) => count - 1,
            (Some(place), true) => (place + 1) % count,
            (Some(place), false) => (place + count - 1) % count,
        };
        Some((next + 1, self.slices[next]))
    }

    /// The number of a listed slice, counted from 1.
    pub fn number(&self, model: &TraceModel, slice: Option<SliceId>) -> Option<usize> {
        self.place(model, slice).map(|place| place + 1)
    }

    fn place(&self, model: &TraceModel, slice: Option<SliceId>) -> Option<usize> {
        let in_time = |slice: SliceId| (model.slice(slice).start(), slice);
        let wanted = in_time(slice?);
        self.slices
            .binary_search_by_key(&wanted, |&slice| in_time(slice))
            .ok()
    }
}

/// Runs the search on all CPU cores. The error is a sentence.
pub fn search(
    model: &TraceModel,
    classes: &OpClasses,
    wanted: &SearchFor,
    progress: &Progress,
) -> Result<SearchResults, String> {
    match wanted {
        SearchFor::Labels(labels) => {
            let mut is_wanted = vec![false; model.labels().len()];
            for label in labels.iter() {
                if let Some(wanted) = is_wanted.get_mut(label.index()) {
                    *wanted = true;
                }
            }
            collect(model, progress, &is_wanted, |_| true, None)
        }
        SearchFor::Text(text) => {
            let query = Query::read(text)?;
            let has = |label: &Label| query.has_label(model, classes, *label);
            let labels: Vec<bool> = model.labels().par_iter().map(has).collect();
            let limits = Some(&query).filter(|query| query.limits_durations());
            collect(
                model,
                progress,
                &labels,
                |track| query.has_track(model, track),
                limits,
            )
        }
    }
}

/// The slices with wanted labels, on wanted tracks, and of the lengths that a query limits.
fn collect(
    model: &TraceModel,
    progress: &Progress,
    labels: &[bool],
    is_wanted_track: impl Fn(TrackId) -> bool,
    limits: Option<&Query>,
) -> Result<SearchResults, String> {
    let tracks: Vec<bool> = model.track_ids().map(is_wanted_track).collect();
    let chunks: Vec<_> = model
        .all_lanes()
        .iter()
        .filter(|lane| tracks[lane.track.index()])
        .flat_map(|lane| {
            let rows = model.lane_rows(lane);
            rows.clone()
                .step_by(CHUNK)
                .map(move |from| (lane.track, from..(from + CHUNK).min(rows.end)))
        })
        .collect();
    let of_chunk = |(track, rows)| {
        progress.check().map_err(|error| error.to_string())?;
        let mut slices = with_labels(model, rows, labels);
        if let Some(query) = limits {
            slices.retain(|&slice| query.allows(length(model, track, slice)));
        }
        Ok(slices)
    };
    let by_chunk: Vec<Vec<SliceId>> = chunks
        .into_par_iter()
        .map(of_chunk)
        .collect::<Result<_, String>>()?;
    let total = by_chunk.iter().map(Vec::len).sum();
    let FirstSlices { in_time, by_id } = first_in_time(model, &by_chunk, LISTED);
    Ok(SearchResults {
        slices: in_time,
        highlighted: Highlighted::new(model, by_id),
        total,
    })
}

/// The slices with wanted labels. Which rows match cannot be predicted, so each is written and only counted if it does.
fn with_labels(model: &TraceModel, rows: Range<usize>, labels: &[bool]) -> Vec<SliceId> {
    const BLOCK: usize = 256;
    let mut slices = Vec::new();
    for from in rows.clone().step_by(BLOCK) {
        let (mut matching, mut count) = ([SliceId::from_index(0); BLOCK], 0);
        for (row, label) in (from..).zip(model.labels_of(from..(from + BLOCK).min(rows.end))) {
            matching[count] = SliceId::from_index(row);
            count += usize::from(labels[label.index()]);
        }
        slices.extend_from_slice(&matching[..count]);
    }
    slices
}

/// The length that lists show.
fn length(model: &TraceModel, track: TrackId, slice: SliceId) -> Picos {
    let slice = model.slice(slice);
    match model.track(track).kind {
        TrackKind::Steps | TrackKind::Modules => measured_range(slice, model).dur(),
        // The same, but without looking for the track.
        _ => slice.measured_dur(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::{GroupKind, Op, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

    fn model() -> TraceModel {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let core = builder.group(
            Some(host),
            GroupKind::TensorCore { ordinal: 1 },
            "/device:TPU:1",
        );
        let tracks = [
            builder.track(core, TrackKind::Ops, 1, "XLA Ops"),
            builder.track(host, TrackKind::HostThread, 2, "python"),
        ];
        let name = builder.intern("psum.3");
        let category = builder.intern("all-reduce");
        let op = builder.op(Op {
            name,
            category: Some(category),
            ..Op::default()
        });
        let slices = [
            ("psum.3", Some(op), 20, 0),
            ("All-Reduce.1", None, 10, 1),
            ("fusion", None, 0, 0),
        ];
        for (name, op, start, track) in slices {
            let label = builder.label(name, op);
            let range = TimeRange::new(
                Timestamp::from_ps(start),
                Timestamp::from_ps(start + 5 + start / 10),
            );
            builder.add_slice(tracks[track], SliceSpec::new(range, label));
        }
        builder.finish()
    }

    fn names(model: &TraceModel, text: &str) -> Vec<String> {
        let found = search(
            model,
            &OpClasses::new(model),
            &SearchFor::Text(text.to_owned()),
            &Progress::new(),
        )
        .unwrap();
        found
            .slices
            .iter()
            .map(|&slice| model.slice(slice).name().to_owned())
            .collect()
    }

    #[test]
    fn searches_names_and_categories_and_wraps_around() {
        let model = model();
        assert_eq!(names(&model, "all-REDUCE"), ["All-Reduce.1", "psum.3"]);
        let found = search(
            &model,
            &OpClasses::new(&model),
            &SearchFor::Text("reduce".to_owned()),
            &Progress::new(),
        )
        .unwrap();
        assert_eq!(found.total, 2);
        let first = found.next(&model, None, true).unwrap();
        assert_eq!(first, (1, found.slices[0]));
        assert_eq!(
            found.next(&model, Some(first.1), false),
            Some((2, found.slices[1]))
        );
        assert_eq!(found.next(&model, Some(found.slices[1]), true), Some(first));
        assert_eq!(found.number(&model, Some(found.slices[1])), Some(2));
        assert!(found.highlighted.ids().is_sorted());
        let nothing = search(
            &model,
            &OpClasses::new(&model),
            &SearchFor::Text("nothing".to_owned()),
            &Progress::new(),
        )
        .unwrap();
        assert_eq!(nothing.next(&model, None, true), None);
    }

    #[test]
    fn search_filters_by_field_pattern_duration_and_device() {
        let model = model();
        assert_eq!(names(&model, "cat:reduce"), ["psum.3"]);
        assert_eq!(
            names(&model, "cat:collective"),
            ["psum.3"],
            "as the legend calls it"
        );
        assert_eq!(names(&model, "collective"), Vec::<String>::new());
        assert_eq!(names(&model, "name:reduce"), ["All-Reduce.1"]);
        assert_eq!(names(&model, r"/^psum\.\d$/"), ["psum.3"]);
        assert_eq!(names(&model, "dur>5ps"), ["All-Reduce.1", "psum.3"]);
        assert_eq!(names(&model, "dur>5ps core:1"), ["psum.3"]);
        assert_eq!(names(&model, "core:11"), Vec::<String>::new());
        assert_eq!(names(&model, "track:python"), ["All-Reduce.1"]);
        assert_eq!(names(&model, "track:tpu -name:fusion"), ["psum.3"]);
        let fusion = model
            .all_slices()
            .find(|s| s.name() == "fusion")
            .unwrap()
            .label_id();
        let labels = SearchFor::Labels(Arc::new(BTreeSet::from([fusion])));
        assert_eq!(
            search(&model, &OpClasses::new(&model), &labels, &Progress::new())
                .unwrap()
                .total,
            1
        );
    }
}
