//! What the window tells the page around it: its address, and what tests read instead of pixels.

use std::time::Duration;

use crate::prelude::*;

use crate::address::Place;
use crate::{App, platform};

/// What the window shows, for programs.
#[derive(Serialize)]
struct Published<'a> {
    /// Whether nothing is being computed.
    settled: bool,
    /// Processor time of the last frame in this program, in seconds.
    frame_s: Option<f32>,
    /// Bytes read and to read of a file that is being opened.
    loading: Option<(u64, u64)>,
    /// Files of the open traces.
    traces: Vec<String>,
    /// Number of slices of each.
    slices: Vec<usize>,
    /// Whether only a part of the trace is shown so far.
    is_first_look: bool,
    /// Names of the runs that the server lists.
    runs: Vec<&'a str>,
    /// The first sentence of the overview.
    verdict: Option<String>,
    /// The error on the screen.
    error: Option<&'a str>,
    tab: Option<&'a str>,
    /// Visible time in picoseconds.
    range_ps: Option<[i64; 2]>,
    /// Marked time in picoseconds.
    mark_ps: Option<[i64; 2]>,
    /// Texts of the notes.
    notes: Vec<&'a str>,
    /// Number of pinned tracks.
    pinned: usize,
    /// Name of the selected slice.
    selection: Option<String>,
    /// How many arguments it has.
    arguments: Option<usize>,
}

impl App {
    /// What the window shows, as JSON.
    pub(super) fn published(&self, frame_s: Option<f32>) -> String {
        let open = || {
            TraceSide::BOTH
                .into_iter()
                .filter_map(|side| self.trace_of(side))
        };
        let state = self.state();
        let selected = state
            .and_then(|state| state.place.selection)
            .zip(self.trace());
        let range = state.map(|state| state.place.time.range());
        let ends = |range: TimeRange| [range.start.ps(), range.end.ps()];
        let published = Published {
            settled: self.is_settled() && self.commands.is_empty(),
            frame_s,
            loading: self.loading.progress().map(Progress::bytes),
            traces: open().map(OpenTrace::name).collect(),
            slices: open().map(|trace| trace.model.slice_count()).collect(),
            is_first_look: self.is_first_look(),
            runs: self.runs.names().collect(),
            verdict: self
                .open_traces
                .as_ref()
                .and_then(|open| open.focused().verdict()),
            error: self.error.as_ref().map(|error| error.why.as_str()),
            tab: state.map(|state| state.tab.as_str()),
            range_ps: range.map(ends),
            mark_ps: state.and_then(|state| state.place.mark).map(ends),
            notes: state
                .into_iter()
                .flat_map(|state| &state.notes)
                .map(|note| note.text.as_str())
                .collect(),
            pinned: state.map_or(0, |state| state.pinned.len()),
            arguments: selected
                .and(self.open_traces.as_ref())
                .and_then(|open| open.focused().arguments()),
            selection: selected.map(|(slice, trace)| trace.model.slice(slice).name().to_owned()),
        };
        serde_json::to_string(&published).unwrap_or_default()
    }

    fn open_paths(&self) -> Vec<&Path> {
        TraceSide::BOTH
            .into_iter()
            .filter_map(|side| Some(&*self.trace_of(side)?.path))
            .collect()
    }

    /// What opens this view elsewhere: an address, or a command.
    pub(super) fn link_to_view(&self) -> Option<String> {
        let (state, trace) = self
            .state_of(TraceSide::A)
            .zip(self.trace_of(TraceSide::A))?;
        let place = Place::of(state, &trace.model).to_string();
        Some(platform::link(&self.open_paths(), &place))
    }

    /// Lets the address follow the view.
    pub(super) fn show_address(&mut self, ctx: &Context) {
        if !platform::IN_BROWSER {
            return;
        }
        let Some((state, trace)) = self.state().zip(self.trace()) else {
            return;
        };
        let place = Place::of(state, &trace.model);
        match self.address.follow(&place, ctx.input(|input| input.time)) {
            Ok(place) => {
                platform::show_address(&self.open_paths(), &place);
            }
            Err(Some(wait_s)) => ctx.request_repaint_after(Duration::from_secs_f64(wait_s + 0.01)),
            Err(None) => {}
        }
    }
}
