//! Carries a view over to another run of the same program.

use crate::prelude::*;

use super::TraceSide;
use super::places::MatchingTracks;
use crate::state::{ReportScope, TreeItem, ViewCommand, ViewCommands, ViewState};

/// What shows in `to` what a view of `from` shows, as far as `to` has it: by name the pinned, folded and hidden tracks and the
/// selected slice, and the visible and the marked time, which are later in `to` by some time. Panels and search, which need no
/// trace, are [`ViewState::fitted_to`] it.
pub fn carried(
    state: &ViewState,
    from: &TraceModel,
    to: &TraceModel,
    later_by: Picos,
) -> ViewCommands {
    let matching = MatchingTracks::new(from, to);
    let track = |track| matching.track(TraceSide::A, track);
    let item = |item| matching.item(TraceSide::A, item);
    let mut out = Vec::new();
    let usual = ViewState::new(from).folded_groups;
    for group in from.group_ids() {
        let folded = state.folded_groups.contains(&group);
        // What nobody folded or unfolded is as it is usual there.
        if folded != usual.contains(&group)
            && let Some(TreeItem::Group(group)) = item(TreeItem::Group(group))
        {
            out.push(ViewCommand::FoldGroup(group, folded));
        }
    }
    let folded = state.folded_tracks.iter().filter_map(|&it| track(it));
    out.extend(folded.map(|track| ViewCommand::FoldTrack(track, true)));
    let open = state.open_tracks.iter().filter_map(|&it| track(it));
    out.extend(open.map(|track| ViewCommand::FoldTrack(track, false)));
    let hidden_groups = state.hidden_groups.iter().map(|&it| TreeItem::Group(it));
    let hidden_tracks = state.hidden_tracks.iter().map(|&it| TreeItem::Track(it));
    let hidden = hidden_groups.chain(hidden_tracks).filter_map(item);
    out.extend(hidden.map(|item| ViewCommand::Hide(item, true)));
    let pinned = state.pinned.iter().filter_map(|&it| track(it));
    out.extend(pinned.map(|track| ViewCommand::Pin(track, true)));
    out.push(ViewCommand::OrderDevices(state.device_order));
    if !matches!(state.scope, ReportScope::Range(_)) {
        out.push(ViewCommand::Scope(state.scope));
    }
    let (first, second) = (from.extent(), to.extent());
    let shifted = |range: TimeRange| TimeRange::new(range.start + later_by, range.end + later_by);
    // Before the mark, which a selection would clear.
    let selected = state
        .place
        .selection
        .and_then(|slice| same_slice(from, to, &matching, slice));
    out.extend(selected.map(ViewCommand::Select));
    if let Some(mark) = state.place.mark.map(shifted) {
        let tracks = matching.tracks(TraceSide::A, &state.mark_tracks);
        let has_tracks = tracks.is_empty() == state.mark_tracks.is_empty();
        if has_tracks && mark.overlaps(second) {
            out.push(ViewCommand::Mark(mark, tracks));
        }
    }
    // Last: other commands may move the view.
    let shown = state.place.time.range();
    if !shown.encloses(first) && shifted(shown).overlaps(second) {
        out.push(ViewCommand::Show(shifted(shown)));
    }
    out
}

/// The slice with the same name on the matching track: the same one of several, or the last.
fn same_slice(
    from: &TraceModel,
    to: &TraceModel,
    matching: &MatchingTracks,
    slice: SliceId,
) -> Option<SliceId> {
    let original = from.slice(slice);
    let track = matching.track(TraceSide::A, original.track())?;
    let before = from
        .slices_on(original.track())
        .filter(|other| other.name() == original.name() && other.start() < original.start());
    let alike = to
        .slices_on(track)
        .filter(|other| other.name() == original.name());
    let mut alike: Vec<_> = alike.map(|other| (other.start(), other.id())).collect();
    alike.sort_unstable();
    let index = before.count().min(alike.len().checked_sub(1)?);
    alike.get(index).map(|&(_, id)| id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sample_traces::text_trace;

    use super::*;

    const FIRST: &str = "
        @column 1us
        TPU:0 ops    : AABBAABB
        TPU:1 ops    : CCDDCCDD
        A = fusion.1 [loop fusion]
        B = fusion.2 [loop fusion]
        C = fusion.3 [loop fusion]
        D = fusion.4 [loop fusion]
        ";

    #[test]
    fn pins_and_selection_are_carried_over_by_name() {
        // One device more comes first, and the ops take longer.
        let second = "
            @column 1us
            host main    : ..pppp..........
            TPU:0 ops    : AAAABBBBAAAABBBB
            TPU:1 ops    : CCCCDDDDCCCCDDDD
            A = fusion.1 [loop fusion]
            B = fusion.2 [loop fusion]
            C = fusion.3 [loop fusion]
            D = fusion.4 [loop fusion]
            ";
        let (from, to) = (text_trace(FIRST), text_trace(second));
        let named = |model: &TraceModel, name: &str, nth: usize| {
            let mut all = model.all_slices().filter(|slice| slice.name() == name);
            all.nth(nth).unwrap().id()
        };
        let mut state = ViewState::new(&from);
        let chosen = named(&from, "fusion.4", 1);
        let pinned = from.slice(chosen).track();
        for command in [
            ViewCommand::Pin(pinned, true),
            ViewCommand::Select(chosen),
            ViewCommand::Mark(from.slice(chosen).range(), BTreeSet::from([pinned])),
        ] {
            state.apply(&command, &from);
        }
        let mut next = ViewState::new(&to);
        for command in carried(&state, &from, &to, to.extent().start - from.extent().start) {
            next.apply(&command, &to);
        }
        let same = named(&to, "fusion.4", 1);
        assert_eq!(next.place.selection, Some(same));
        assert_eq!(next.place.mark, state.place.mark, "it is kept beside it");
        assert_eq!(next.pinned, [to.slice(same).track()]);
        assert_ne!(next.pinned, state.pinned, "it has another number there");
        let gone = text_trace("@column 1us\nTPU:0 ops: AAAA\nA = fusion.1 [loop fusion]\n");
        let mut next = ViewState::new(&gone);
        for command in carried(&state, &from, &gone, Picos::ZERO) {
            next.apply(&command, &gone);
        }
        assert_eq!((next.place.selection, next.pinned.len()), (None, 0));
    }
}
