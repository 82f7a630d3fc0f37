//! Finding slices by text, over the whole trace.

use importers::Progress;
use trace_model::{SliceId, TraceModel};

/// How many slices a search lists; all are counted.
const LISTED: usize = 100_000;
/// Slices between two looks at whether the answer is still wanted.
const CHECK_EVERY: usize = 1 << 16;

/// What a search has found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// By label: whether it matches.
    pub labels: Vec<bool>,
    /// Matching slices by time, at most as many as are listed.
    pub slices: Vec<SliceId>,
    /// How many match.
    pub total: usize,
}

impl Found {
    /// The listed slice after (or before) `from`, going round at the ends, with
    /// its number counted from 1.
    pub fn next(&self, from: Option<SliceId>, forth: bool) -> Option<(usize, SliceId)> {
        let count = self.slices.len();
        let at = from.and_then(|from| self.slices.iter().position(|&slice| slice == from));
        let next = match (at, forth) {
            _ if count == 0 => return None,
            (None, true) => 0,
            (None, false) => count - 1,
            (Some(at), true) => (at + 1) % count,
            (Some(at), false) => (at + count - 1) % count,
        };
        Some((next + 1, self.slices[next]))
    }

    /// The number of a listed slice, counted from 1.
    pub fn number(&self, slice: Option<SliceId>) -> Option<usize> {
        self.slices.iter().position(|&found| Some(found) == slice).map(|at| at + 1)
    }
}

/// Slices whose name contains `text`, or whose op's category, framework name or
/// source line does; capital letters do not matter.
pub fn search(model: &TraceModel, text: &str, progress: &Progress) -> Result<Found, String> {
    let wanted = text.to_lowercase();
    let contains = |id| model.str(id).to_lowercase().contains(&wanted);
    let labels: Vec<bool> = model
        .labels()
        .iter()
        .map(|label| {
            contains(label.name)
                || label.op.is_some_and(|op| {
                    let op = model.op(op);
                    [op.category, op.framework_name, op.source].into_iter().flatten().any(contains)
                })
        })
        .collect();
    let mut found = Found { labels, ..Found::default() };
    for (i, slice) in model.all_slices().enumerate() {
        if i % CHECK_EVERY == 0 {
            progress.check().map_err(|error| error.to_string())?;
        }
        if found.labels[slice.label_id().index()] {
            found.total += 1;
            if found.slices.len() < LISTED {
                found.slices.push(slice.id());
            }
        }
    }
    found.slices.sort_by_key(|&slice| (model.slice(slice).start(), slice));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::{GroupKind, Op, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

    #[test]
    fn names_and_categories_are_searched_and_results_go_round() {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::Ops, 1, "ops");
        let name = builder.intern("psum.3");
        let category = builder.intern("all-reduce");
        let op = builder.op(Op { name, category: Some(category), ..Op::default() });
        for (name, op, start) in [("psum.3", Some(op), 20), ("All-Reduce.1", None, 10), ("fusion", None, 0)] {
            let label = builder.label(name, op);
            let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(start + 5));
            builder.add_slice(track, SliceSpec::new(range, label));
        }
        let model = builder.finish();
        let found = search(&model, "all-REDUCE", &Progress::new()).unwrap();
        let names: Vec<_> = found.slices.iter().map(|&slice| model.slice(slice).name()).collect();
        assert_eq!(names, ["All-Reduce.1", "psum.3"]);
        assert_eq!(found.total, 2);
        let first = found.next(None, true).unwrap();
        assert_eq!(first, (1, found.slices[0]));
        assert_eq!(found.next(Some(first.1), false), Some((2, found.slices[1])));
        assert_eq!(found.next(Some(found.slices[1]), true), Some(first));
        assert_eq!(found.number(Some(found.slices[1])), Some(2));
        assert_eq!(search(&model, "nothing", &Progress::new()).unwrap().next(None, true), None);
    }
}
