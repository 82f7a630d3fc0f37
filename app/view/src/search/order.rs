//! Sorting of search results.

use crate::prelude::*;

use super::SearchResults;
use crate::{state::TreeItem, timeline::tree::TrackTree};

/// The sort key; ties are sorted by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderBy {
    #[default]
    Time,
    Duration,
    Name,
    /// Track, in display order.
    Track,
}

/// Positions in [`SearchResults::slices`], sorted. The error is a sentence.
pub fn order(
    model: &TraceModel,
    tree: &TrackTree,
    results: &SearchResults,
    by: OrderBy,
    descending: bool,
    progress: &Progress,
) -> Result<Vec<u32>, String> {
    let slice = |number: u32| {
        results
            .slices
            .get(number as usize)
            .map(|&slice| model.slice(slice))
    };
    let names = if by == OrderBy::Name {
        ranks_of_names(model)
    } else {
        Vec::new()
    };
    let mut tracks = vec![
        usize::MAX;
        if by == OrderBy::Track {
            model.tracks().len()
        } else {
            0
        }
    ];
    for (rank, node) in tree.nodes().iter().enumerate() {
        if let TreeItem::Track(track) = node.item
            && let Some(slot) = tracks.get_mut(track.index())
        {
            *slot = rank;
        }
    }
    let key = |number: u32| -> i64 {
        let Some(slice) = slice(number) else { return 0 };
        match by {
            OrderBy::Time => i64::from(number),
            OrderBy::Duration => measured_range(slice, model).dur().ps(),
            OrderBy::Name => names
                .get(slice.label_id().index())
                .copied()
                .map_or(0, i64::from),
            OrderBy::Track => tracks
                .get(slice.track().index())
                .map_or(0, |&rank| rank as i64),
        }
    };
    let keys: Vec<i64> = (0..results.slices.len() as u32).map(key).collect();
    progress.check().map_err(|error| error.to_string())?;
    let mut order: Vec<u32> = (0..results.slices.len() as u32).collect();
    let key = |number: &u32| keys.get(*number as usize).copied().unwrap_or(0);
    if descending {
        order.sort_by_key(|number| Reverse(key(number)));
    } else {
        order.sort_by_key(key);
    }
    Ok(order)
}

/// For each label, the alphabetical rank of its name; equal names have the same rank.
fn ranks_of_names(model: &TraceModel) -> Vec<u32> {
    let labels = model.labels();
    let name = |index: u32| {
        labels
            .get(index as usize)
            .map_or("", |label| model.str(label.name))
    };
    let mut order: Vec<u32> = (0..labels.len() as u32).collect();
    order.sort_by(|&a, &b| name(a).cmp(name(b)));
    let mut ranks = vec![0; labels.len()];
    let mut rank = 0;
    for (i, &index) in order.iter().enumerate() {
        if i > 0
            && order
                .get(i - 1)
                .is_some_and(|&before| name(before) != name(index))
        {
            rank += 1;
        }
        if let Some(slot) = ranks.get_mut(index as usize) {
            *slot = rank;
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{SearchFor, search};
    use trace_model::{GroupKind, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

    #[test]
    fn found_slices_are_sorted() {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let tracks = [1, 2]
            .map(|id| builder.track(host, TrackKind::HostThread, id, &format!("thread {id}")));
        for (name, start, end, track) in [
            ("b", 0, 30, 1),
            ("a", 10, 20, 0),
            ("b", 40, 50, 0),
            ("c", 60, 100, 1),
        ] {
            let label = builder.label(name, None);
            let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
            builder.add_slice(tracks[track], SliceSpec::new(range, label));
        }
        let model = builder.finish();
        let tree = TrackTree::new(&model);
        let found = search(
            &model,
            &OpClasses::new(&model),
            &SearchFor::Text("dur>0ps".to_owned()),
            &Progress::new(),
        )
        .unwrap();
        let order = |by, descending| {
            let order = order(&model, &tree, &found, by, descending, &Progress::new()).unwrap();
            order
                .iter()
                .map(|&at| model.slice(found.slices[at as usize]).start().ps())
                .collect::<Vec<_>>()
        };
        assert_eq!(order(OrderBy::Time, false), [0, 10, 40, 60]);
        assert_eq!(order(OrderBy::Time, true), [60, 40, 10, 0]);
        assert_eq!(
            order(OrderBy::Duration, true),
            [60, 0, 10, 40],
            "equals by time"
        );
        assert_eq!(order(OrderBy::Name, false), [10, 0, 40, 60]);
        assert_eq!(order(OrderBy::Name, true), [60, 0, 40, 10]);
        assert_eq!(order(OrderBy::Track, false), [10, 40, 0, 60]);
    }
}
