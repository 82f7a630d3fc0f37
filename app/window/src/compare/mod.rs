//! Two open traces: A above, B below, and the comparison of both.

mod areas;
mod bar;
mod lane;
mod show;
mod timelines;
mod ui;

use crate::prelude::*;

use crate::command::ComparisonCommand;
use crate::jobs::{JobAnswer, WakeUi, Worker};
use crate::panels::comparison_tables::ComparisonTables;
use crate::workspace::Workspace;
use view::compare::{MatchingTracks, StepAlignment, TraceCorrespondence, ViewLink, steps_of_both};
use view::sessions::SavedSecondTrace;
use view::state::{COMPARE_TAB, first_view};

/// The second trace, and how it is linked to the first.
pub struct TraceComparison {
    /// Trace B, shown below A.
    pub second: Workspace,
    /// Set how the views are linked.
    pub link: ViewLink,
    compared: Worker<(), TraceCorrespondence>,
    /// Computes the matching steps, which are ready before the rest.
    steps: Worker<(), Arc<StepAlignment>>,
    /// The views were restored from a session, so only the user moves the leading one.
    is_restored: bool,
    places: MatchingTracks,
    tables: ComparisonTables,
    /// Share of the height that A takes.
    split: f32,
    /// Whether the tracks of both are in one list.
    is_interleaved: bool,
    /// Where the pointer was in the last frame.
    pointer: Option<(TraceSide, Timestamp)>,
    /// The side that receives mouse input while the pointer is over interleaved tracks.
    mouse: TraceSide,
}

impl TraceComparison {
    /// Links `second` to `first`.
    pub fn new(first: &mut Workspace, mut second: Workspace, wake: &WakeUi) -> Self {
        first.apply(&ViewCommand::ShowTab(COMPARE_TAB.to_owned()));
        second.state.share_window(&first.state);
        Self {
            places: MatchingTracks::new(&first.trace.model, &second.trace.model),
            second,
            link: ViewLink::default(),
            compared: Worker::new("comparison", wake),
            steps: Worker::new("steps of both", wake),
            is_restored: false,
            tables: ComparisonTables::default(),
            split: 0.5,
            is_interleaved: false,
            pointer: None,
            mouse: TraceSide::A,
        }
    }

    /// The state to save in a session.
    pub fn saved(&self) -> SavedSecondTrace {
        SavedSecondTrace {
            trace: self.second.trace.path.clone(),
            view: self.second.state.clone(),
            link: self.link.clone(),
            split: self.split,
            interleaved: self.is_interleaved,
        }
    }

    /// Whether the tracks of both are in one list.
    pub fn tracks_are_interleaved(&self) -> bool {
        self.is_interleaved
    }

    /// Restores the state saved in a session.
    pub fn restore(&mut self, first: &mut Workspace, saved: SavedSecondTrace) {
        self.second
            .apply(&ViewCommand::Restore(Box::new(saved.view)));
        first.state.share_window(&self.second.state);
        self.link = saved.link;
        self.split = if saved.split.is_finite() {
            saved.split.clamp(0.15, 0.85)
        } else {
            0.5
        };
        self.is_restored = true;
        self.is_interleaved = saved.interleaved;
        self.scroll_as_one(first, self.link.focus);
        // The following view may lie outside of its own trace, where the user cannot move it.
        self.follow(first, self.link.leader, false);
    }

    /// Progress of the comparison.
    pub fn progress(&self) -> Option<&Progress> {
        self.compared.progress()
    }

    /// The comparison, as far as it is computed.
    pub fn compared(&self) -> &JobAnswer<TraceCorrespondence> {
        self.compared.memo()
    }

    /// Takes finished results over.
    pub fn poll_jobs(&mut self, first: &mut Workspace) {
        self.second.poll_jobs();
        if self.steps.poll() && self.compared.latest().is_none() {
            self.meet(first);
        }
        if self.compared.poll() {
            let is_early = self.steps.latest().is_some();
            if self.link.lock == ViewLock::Step && self.alignment().is_empty() {
                self.link.set(ViewLock::Free);
            }
            let focus = self.link.focus;
            if let Some(highlighted) = self.of(first, focus).state.highlighted.clone() {
                self.highlight(first, focus, &highlighted);
            }
            // If steps were known before, the views are already aligned, and the user may have moved them since.
            if !is_early {
                self.meet(first);
            }
        }
    }

    /// Starts the jobs whose results are needed.
    pub fn ask_jobs(&mut self, first: &Workspace) {
        self.second.ask_jobs();
        if self.compared.key().is_some() {
            return;
        }
        let (a, b) = (first.trace.clone(), self.second.trace.clone());
        self.steps.ask((), {
            let (a, b) = (a.clone(), b.clone());
            move |_| steps_of_both(&a, &b)
        });
        self.compared.ask((), move |progress| {
            TraceCorrespondence::new(&a, &b, progress)
        });
    }

    /// Whether nothing is being computed.
    pub fn is_settled(&self) -> bool {
        self.second.is_settled() && !self.compared.is_running() && !self.steps.is_running()
    }

    /// Exchanges A and B and compares again: the signs of all changes flip.
    pub fn swap(&mut self, first: &mut Workspace, wake: &WakeUi) {
        std::mem::swap(first, &mut self.second);
        self.places = MatchingTracks::new(&first.trace.model, &self.second.trace.model);
        self.link.focus = self.link.focus.other();
        self.link.leader = self.link.leader.other();
        self.link.offset = -self.link.offset;
        self.compared = Worker::new("comparison", wake);
        self.steps = Worker::new("steps of both", wake);
        self.tables.forget();
        self.split = 1.0 - self.split;
    }

    /// Carries out a command about the two traces.
    pub fn link(&mut self, first: &mut Workspace, command: &ComparisonCommand) {
        match command {
            ComparisonCommand::Focus(side) => self.link.focus = *side,
            ComparisonCommand::SwapFocus => self.link.focus = self.link.focus.other(),
            ComparisonCommand::Lock(lock) => self.lock(first, *lock),
            ComparisonCommand::ToggleLock => {
                self.link.toggle();
                self.lock(first, self.link.lock);
            }
            ComparisonCommand::Offset(offset) => {
                self.link.set(ViewLock::Offset);
                self.link.offset = second_later(first, &self.second) + *offset;
                self.follow(first, TraceSide::A, false);
            }
            ComparisonCommand::Interleave => {
                self.is_interleaved = !self.is_interleaved;
                // The list is now twice as long, or half: keeps about the same rows visible.
                let share = if self.is_interleaved { 2.0 } else { 0.5 };
                for side in TraceSide::BOTH {
                    self.of(first, side).state.place.scroll *= share;
                }
                self.scroll_as_one(first, self.link.focus);
            }
            ComparisonCommand::Split(share) => self.split = share.clamp(0.15, 0.85),
            ComparisonCommand::ShowSteps(from, count) => self.show_steps(first, *from, *count),
            ComparisonCommand::ShowOps(rows) => self.show_ops(first, rows),
            ComparisonCommand::Stop => self.compared.cancel(),
            ComparisonCommand::Resume => self.compared.clear(),
            ComparisonCommand::Swap | ComparisonCommand::Keep(_) => {}
        }
    }

    /// Locks the views at their current relative position, unless steps define how they align.
    fn lock(&mut self, first: &mut Workspace, lock: ViewLock) {
        // Without steps, the current relative position is the only thing to lock.
        let lock = if lock == ViewLock::Step && self.alignment().is_empty() {
            ViewLock::Offset
        } else {
            lock
        };
        if lock != ViewLock::Step {
            let (a, b) = (first.state.place.time, self.second.state.place.time);
            self.link.offset = b.time_at(0.0) - a.time_at(0.0);
        }
        self.link.set(lock);
        self.follow(first, self.link.focus, false);
    }

    /// Changes the view of one side, and the linked parts of the other.
    pub fn apply(&mut self, first: &mut Workspace, side: TraceSide, command: &ViewCommand) {
        if *command == ViewCommand::EndGesture
            && self.link.lock != ViewLock::Free
            && side != self.link.leader
        {
            // This side only follows while the user moves the other one.
            let leader = self.link.leader;
            if self.of(first, leader).state.in_gesture() {
                return;
            }
        }
        let workspace = self.of(first, side);
        let (before, tracks) = (
            workspace.state.place,
            Arc::clone(&workspace.state.mark_tracks),
        );
        workspace.apply(command);
        let (after, in_gesture) = (workspace.state.place, workspace.state.in_gesture());
        let marks = after.mark != before.mark || workspace.state.mark_tracks != tracks;
        let picks = matches!(
            command,
            ViewCommand::Select(_)
                | ViewCommand::GoTo(_)
                | ViewCommand::Mark(..)
                | ViewCommand::MarkAs(..)
                | ViewCommand::Deselect
        );
        if picks {
            self.link.focus = side;
        }
        let linked = self.link.lock != ViewLock::Free;
        match side {
            TraceSide::A => self.second.state.share_window(&first.state),
            TraceSide::B => first.state.share_window(&self.second.state),
        }
        let scrolls = matches!(command, ViewCommand::ScrollTo(_));
        if linked && scrolls {
            self.link.leader = side;
        }
        if let Some(mirrored) = self
            .places
            .mirrored(side, command)
            .filter(|_| linked || !scrolls)
        {
            self.of(first, side.other()).apply(&mirrored);
        }
        if *command == ViewCommand::EndGesture && linked {
            self.of(first, side.other()).apply(command);
        }
        // The whole of either trace is marked already.
        if marks && *command != ViewCommand::MarkAll {
            self.mark_counterpart(first, side);
        }
        let other = self.of(first, side.other());
        if *command == ViewCommand::ScopeToMark && other.state.place.mark.is_some() {
            // Reports of both sides cover the marked time.
            other.apply(command);
        }
        if let ViewCommand::Highlight(Some(highlighted)) = command {
            self.highlight(first, side, highlighted);
        }
        let mut met = false;
        if after.selection != before.selection {
            match after.selection {
                Some(slice) => met = self.select_partner(first, side, slice),
                None => self.of(first, side.other()).state.place.selection = None,
            }
        }
        if after.time != before.time || met {
            self.follow(first, side, in_gesture);
        }
        if matches!(command, ViewCommand::GoTo(_)) {
            self.keep_in_sight(first, side);
        }
        self.scroll_as_one(first, side);
    }

    /// Interleaved tracks share one scroll position: that of `side`, unless it has to reveal a slice.
    fn scroll_as_one(&mut self, first: &mut Workspace, side: TraceSide) {
        if self.is_interleaved {
            let state = &self.of(first, side).state;
            let (scroll, reveals) = (state.place.scroll, state.reveal.is_some());
            let other = &mut self.of(first, side.other()).state;
            other.place.scroll = scroll;
            other.reveal = other.reveal.filter(|_| !reveals);
        }
    }

    /// Marks on the other side the range that corresponds to the mark on this side.
    fn mark_counterpart(&mut self, first: &mut Workspace, side: TraceSide) {
        let alignment = self.alignment();
        if self.link.lock == ViewLock::Free && alignment.is_empty() {
            return;
        }
        let state = &self.of(first, side).state;
        let (mark, view, tracks) = (
            state.place.mark,
            state.place.time,
            Arc::clone(&state.mark_tracks),
        );
        let range = mark.and_then(|range| self.link.counterpart(side, &view, range, &alignment));
        let theirs = self.places.tracks(side, &tracks);
        let other = self.of(first, side.other());
        match range {
            // An empty list would mean all tracks, but the other side has none of the marked ones.
            Some(range) if theirs.is_empty() == tracks.is_empty() => {
                other.apply(&ViewCommand::Mark(range, theirs));
            }
            _ => {
                let mark = other.state.place.mark;
                if mark.is_some_and(|mark| other.state.scope == ReportScope::Range(mark)) {
                    other.apply(&ViewCommand::Scope(ReportScope::Capture));
                }
                other.state.place.mark = None;
                (other.state.mark_tracks, other.state.mark_note) = (Arc::default(), Arc::default());
            }
        }
    }

    /// Highlights the matching ops on the other side.
    fn highlight(
        &mut self,
        first: &mut Workspace,
        side: TraceSide,
        highlighted: &HighlightedLabels,
    ) {
        let Some(compared) = self.compared.latest() else {
            // Earlier highlights of the other side are unrelated.
            return self
                .of(first, side.other())
                .apply(&ViewCommand::Highlight(None));
        };
        let traces = [&first.trace, &self.second.trace];
        let across = |&label: &LabelId| compared.partners.across(side, label, traces);
        let counterparts = highlighted.labels.iter().flat_map(across);
        let command = ViewCommand::highlight(&highlighted.title, counterparts);
        self.of(first, side.other()).apply(&command);
    }

    /// Keeps the partner of a selected op visible: if locked steps put it outside the view, the lock switches to ops.
    fn keep_in_sight(&mut self, first: &mut Workspace, side: TraceSide) {
        let start = |workspace: &Workspace| {
            Some(
                workspace
                    .trace
                    .model
                    .slice(workspace.state.place.selection?)
                    .range(),
            )
        };
        let other = if side == TraceSide::A {
            &self.second
        } else {
            &*first
        };
        let Some(theirs) = start(other) else { return };
        let view = other.state.place.time.range();
        if self.link.lock != ViewLock::Step || view.encloses(theirs) || theirs.encloses(view) {
            return;
        }
        if let (Some(a), Some(b)) = (start(first), start(&self.second)) {
            self.link.set(ViewLock::Op);
            self.link.offset = b.start - a.start;
            self.follow(first, side, false);
        }
    }

    /// Selects the counterpart of a slice; returns true if the views should align there.
    fn select_partner(&mut self, first: &mut Workspace, side: TraceSide, slice: SliceId) -> bool {
        let Some(compared) = self.compared.latest() else {
            return false;
        };
        let traces = [&first.trace, &self.second.trace];
        let partner =
            compared
                .partners
                .partner(side, slice, traces, &compared.alignment, &self.places);
        let starts = |own_start: SliceId, other: SliceId| {
            let own_start = traces[side.index()].model.slice(own_start).start();
            (
                own_start,
                traces[side.other().index()].model.slice(other).start(),
            )
        };
        let starts = partner.map(|partner| starts(slice, partner));
        let other = self.of(first, side.other());
        let Some(partner) = partner else {
            other.state.place.selection = None;
            return false;
        };
        other.apply(&ViewCommand::Reveal(partner));
        let Some((own_start, other)) = starts.filter(|_| self.link.lock == ViewLock::Op) else {
            return false;
        };
        self.link.offset = if side == TraceSide::A {
            other - own_start
        } else {
            own_start - other
        };
        true
    }

    /// Moves the other side to the position that corresponds to the view of `leader`.
    fn follow(&mut self, first: &mut Workspace, leader: TraceSide, in_gesture: bool) {
        self.link.leader = leader;
        let view = self.of(first, leader).state.place.time;
        if let Some(shift) = self.link.shift(leader, &view, &self.alignment()) {
            let look = ViewCommand::Look {
                time: view.shifted(shift),
                in_gesture,
            };
            let other = self.of(first, leader.other());
            if other.state.place.time != view.shifted(shift) {
                other.apply(&look);
            }
        }
    }

    /// Shows all matching steps once they are known, unless the user has moved the view. After restoring a session,
    /// only the side without the focus follows.
    fn meet(&mut self, first: &mut Workspace) {
        if self.is_restored {
            return self.follow(first, self.link.leader, false);
        }
        let whole = |workspace: &Workspace| {
            workspace.state.place.time == first_view(&workspace.trace.model)
        };
        if whole(first) && whole(&self.second) {
            self.show_steps(first, 0, self.alignment().steps().len());
        } else {
            self.follow(first, self.link.leader, false);
        }
    }

    fn alignment(&self) -> Arc<StepAlignment> {
        self.compared
            .latest()
            .map(|compared| &compared.alignment)
            .or(self.steps.latest())
            .cloned()
            .unwrap_or_default()
    }

    fn of<'a>(&'a mut self, first: &'a mut Workspace, side: TraceSide) -> &'a mut Workspace {
        match side {
            TraceSide::A => first,
            TraceSide::B => &mut self.second,
        }
    }
}

/// The time of B that is as far from the beginning of B as a time of A is from the beginning of A.
fn second_later(first: &Workspace, second: &Workspace) -> Picos {
    second.trace.model.extent().start - first.trace.model.extent().start
}
