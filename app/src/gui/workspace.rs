//! One open trace in the window: its state, its timeline, its panels, and the
//! work that goes on for them in the background.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{CentralPanel, Frame, Panel as EguiPanel, Ui};
use importers::Progress;
use trace_model::{Arg, SliceId};

use super::Command;
use super::jobs::{Wake, Worker};
use super::panels::{details, help, legend, overview, search as search_panel, welcome};
use super::search::{self, Found};
use super::state::{Panel, ViewCommand, ViewState};
use super::timeline::Timeline;
use super::trace::OpenTrace;

/// One open trace.
pub struct Workspace {
    /// The trace.
    pub trace: OpenTrace,
    /// What is seen of it.
    pub state: ViewState,
    timeline: Timeline,
    overview: Worker<(), overview::Overview>,
    args: Worker<SliceId, Vec<Arg>>,
    search: Worker<String, Found>,
    typed: String,
}

impl Workspace {
    /// A fresh view of `trace`.
    pub fn new(trace: OpenTrace, wake: &Wake) -> Self {
        let state = ViewState::new(&trace.model);
        Self {
            trace,
            state,
            timeline: Timeline::default(),
            overview: Worker::new("overview", Arc::clone(wake)),
            args: Worker::new("arguments", Arc::clone(wake)),
            search: Worker::new("search", Arc::clone(wake)),
            typed: String::new(),
        }
    }

    /// Takes in what has been computed.
    pub fn poll_jobs(&mut self) {
        self.overview.poll();
        self.args.poll();
        self.search.poll();
    }

    /// Asks for what the state needs; what has been asked before costs nothing.
    pub fn ask_jobs(&mut self) {
        if self.state.shows(Panel::Overview) {
            let session = self.trace.session.clone();
            self.overview.ask((), move |_| Ok(overview::Overview::compute(&session)));
        }
        if let Some(slice) = self.state.place.selection {
            let model = Arc::clone(&self.trace.model);
            self.args.ask(slice, move |_| model.slice(slice).args());
        }
        if self.state.search.is_empty() {
            self.search.clear();
        } else {
            let (model, text) = (Arc::clone(&self.trace.model), self.state.search.clone());
            self.search.ask(text.clone(), move |progress| search::search(&model, &text, progress));
        }
    }

    /// Whether nothing is being computed.
    pub fn is_settled(&self) -> bool {
        !(self.overview.memo().is_running() || self.args.memo().is_running() || self.search.memo().is_running())
    }

    /// Draws everything below the toolbar.
    pub fn ui(&mut self, ui: &mut Ui, loading: Option<(&PathBuf, &Progress)>, out: &mut Vec<Command>) {
        let mut wanted: Vec<ViewCommand> = Vec::new();
        if let Some((path, progress)) = loading {
            EguiPanel::top("loading").show(ui, |ui| welcome::progress_ui(ui, path, progress, out));
        }
        if self.state.shows(Panel::Search) {
            EguiPanel::top("search").show(ui, |ui| {
                search_panel::search_ui(ui, &self.trace, &self.state, &mut self.typed, self.search.memo(), &mut wanted);
            });
        }
        EguiPanel::bottom("legend").exact_size(26.0).show(ui, |ui| {
            legend::legend_ui(ui, &self.trace, &self.state, &mut wanted);
        });
        if self.state.shows(Panel::Overview) {
            EguiPanel::right("overview").default_size(420.0).size_range(280.0..=900.0).show(ui, |ui| {
                overview::overview_ui(ui, &self.trace, self.overview.memo(), &mut wanted);
            });
        }
        if self.state.shows(Panel::Details) {
            EguiPanel::bottom("details").resizable(true).default_size(220.0).size_range(100.0..=600.0).show(ui, |ui| {
                details::details_ui(ui, &self.trace, &self.state, self.args.memo(), &mut wanted);
            });
        }
        let matches = self.search.memo().latest().map_or(&[][..], |found| &found.labels);
        CentralPanel::default().frame(Frame::NONE).show(ui, |ui| {
            if self.trace.tree.nodes().is_empty() {
                welcome::nothing_inside_ui(ui, &self.trace);
            } else {
                self.timeline.ui(ui, &self.trace, &self.state, matches, &mut wanted);
            }
        });
        if self.state.shows(Panel::Help) {
            help::help_ui(ui.ctx(), &mut wanted);
        }
        out.extend(wanted.into_iter().map(Command::from));
    }
}
