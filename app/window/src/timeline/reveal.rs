//! Scrolls to a slice that the state asks to show.

use crate::prelude::*;

use view::timeline::layout::LayoutWindow;
use view::timeline::tree;
use view::timeline::tree::{LANE, TrackRow};

/// The slice that begins first in the uppermost of the drawn tracks where one begins in a range.
pub fn first_in_sight(trace: &OpenTrace, list: &DrawList, range: TimeRange) -> Option<SliceId> {
    let model = &trace.model;
    let begins = |slice: &SliceRef<'_>| range.contains(slice.start());
    let first = |row: &TrackRow| {
        let TreeItem::Track(track) = trace.tree.node(row.node).item else {
            return None;
        };
        let firsts = model
            .lanes(track)
            .iter()
            .take(row.lanes)
            .filter_map(|lane| model.slices_in(lane, range).find(begins));
        Some(firsts.min_by_key(|slice| (slice.start(), slice.id()))?.id())
    };
    list.rows_in(0.0, f32::INFINITY).find_map(first)
}

/// Scrolls to the slice or track that `state` asks for, unfolding groups and showing hidden tracks.
pub fn reveal(
    trace: &OpenTrace,
    state: &ViewState,
    window: &LayoutWindow<'_>,
    out: &mut ViewCommands,
) {
    let (item, depth) = match (state.reveal, state.reveal_track) {
        (Some(slice), _) => {
            let slice = trace.model.slice(slice);
            (TreeItem::Track(slice.track()), slice.depth())
        }
        (None, Some(item)) => (item, 0),
        (None, None) => return,
    };
    let scroll = window.scroll;
    let Some((row, stays)) = trace.tree.row_of_item(window.rows, item, scroll) else {
        let TreeItem::Track(track) = item else {
            return reveal_derived(trace, state, scroll, out);
        };
        let before = out.len();
        let hiding = trace.tree.hidden_by(&trace.model, track, state);
        out.extend(
            hiding
                .into_iter()
                .map(|group| ViewCommand::FoldGroup(group, false)),
        );
        let mut group = Some(trace.model.track(track).group);
        while let Some(id) = group {
            if state.hides(TreeItem::Group(id)) {
                out.push(ViewCommand::Hide(TreeItem::Group(id), false));
            }
            group = trace.model.group(id).parent;
        }
        if state.hides(TreeItem::Track(track)) {
            out.push(ViewCommand::Hide(TreeItem::Track(track), false));
        }
        if !state.track_filter.is_empty() {
            out.push(ViewCommand::FilterTracks(String::new()));
        }
        if out.len() == before {
            // No row, although nothing hides the track.
            out.push(ViewCommand::Revealed(scroll));
        }
        return;
    };
    if let TreeItem::Track(track) = item
        && row.hidden > 0
        && depth as usize >= row.lanes
    {
        out.push(ViewCommand::FoldTrack(track, false));
        return;
    }
    let y = row.y + depth as f32 * (LANE + tree::GAP);
    let (margin, top) = (LANE * 2.0, window.rows.pinned_height());
    // The counterpart must be visible, too.
    let height = if row.is_joined {
        row.height + LANE
    } else {
        LANE
    };
    let by = if stays {
        0.0
    } else if y < top + margin {
        y - margin - top
    } else if y + height > window.height - margin {
        // The slice itself must not be scrolled out at the top.
        (y + height + margin - window.height).min(y - margin - top)
    } else {
        0.0
    };
    // Also if nothing moves, because this command clears the request.
    out.push(ViewCommand::Revealed((scroll + by).max(0.0)));
}

/// Shows a derived track that has no row: one that was just added has none before the next frame.
fn reveal_derived(trace: &OpenTrace, state: &ViewState, scroll: f32, out: &mut ViewCommands) {
    if !state.track_filter.is_empty() {
        out.push(ViewCommand::FilterTracks(String::new()));
    } else if trace.tree.queries() == state.queries {
        out.push(ViewCommand::Revealed(scroll));
    }
}
