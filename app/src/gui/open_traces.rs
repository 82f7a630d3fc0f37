//! What is open: one trace, or two side by side.

use std::path::PathBuf;

use egui::{Align2, Ui, Window};
use importers::Progress;

use crate::gui::AppCommand;
use crate::gui::command::ComparisonCommand;
use crate::gui::compare::TraceComparison;
use crate::gui::jobs::WakeUi;
use crate::gui::keys::Keys;
use crate::gui::sessions::SavedSecondTrace;
use crate::gui::settings::Settings;
use crate::gui::workspace::Workspace;
use crate::view::compare::TraceSide;
use crate::view::state::ViewCommand;

/// One or two traces. Keys and panels are about the one in focus.
pub struct OpenTraces {
    first: Workspace,
    comparison: Option<TraceComparison>,
    wake: WakeUi,
}

impl OpenTraces {
    /// One trace.
    pub fn new(first: Workspace, wake: &WakeUi) -> Self {
        Self { first, comparison: None, wake: WakeUi::clone(wake) }
    }

    /// Puts a second trace beside the first; it takes the place of one that was
    /// there. `saved` is how it was kept in a session.
    pub fn compare_with(&mut self, second: Workspace, saved: Option<SavedSecondTrace>) {
        let mut comparison = TraceComparison::new(&mut self.first, second, &self.wake);
        if let Some(saved) = saved {
            comparison.restore(&mut self.first, saved);
        }
        self.comparison = Some(comparison);
    }

    /// The second trace and how it is linked.
    pub fn comparison(&self) -> Option<&TraceComparison> {
        self.comparison.as_ref()
    }

    /// The side that keys and panels are about.
    pub fn focus(&self) -> TraceSide {
        self.comparison.as_ref().map_or(TraceSide::A, |comparison| comparison.link.focus)
    }

    /// One of the traces; `None` for a second one that is not there.
    pub fn side(&self, side: TraceSide) -> Option<&Workspace> {
        match side {
            TraceSide::A => Some(&self.first),
            TraceSide::B => self.comparison.as_ref().map(|comparison| &comparison.second),
        }
    }

    /// The trace that keys and panels are about.
    pub fn focused(&self) -> &Workspace {
        self.side(self.focus()).unwrap_or(&self.first)
    }

    /// Changes what is seen of one side, and of the other what is linked to it.
    pub fn apply(&mut self, side: TraceSide, command: &ViewCommand) {
        match &mut self.comparison {
            Some(comparison) => comparison.apply(&mut self.first, side, command),
            None => self.first.apply(command),
        }
    }

    /// Pins the track below the pointer, or does so no more.
    pub fn pin_hovered(&mut self) {
        for side in TraceSide::BOTH {
            let Some(own) = self.side(side) else { continue };
            if let Some(track) = own.hovered_track() {
                let pinned = own.state.pinned.contains(&track);
                self.apply(side, &ViewCommand::Pin(track, !pinned));
            }
        }
    }

    /// Changes how two traces are linked; means nothing to one.
    pub fn link(&mut self, command: &ComparisonCommand) {
        match command {
            ComparisonCommand::Keep(side) => self.keep(*side),
            ComparisonCommand::Swap => {
                if let Some(comparison) = &mut self.comparison {
                    comparison.swap(&mut self.first, &self.wake);
                }
            }
            command => {
                if let Some(comparison) = &mut self.comparison {
                    comparison.link(&mut self.first, command);
                }
            }
        }
    }

    /// Goes on with one of two.
    fn keep(&mut self, side: TraceSide) {
        let Some(comparison) = self.comparison.take() else { return };
        let window = if comparison.link.focus == TraceSide::A {
            self.first.state.clone()
        } else {
            comparison.second.state.clone()
        };
        if side == TraceSide::B {
            self.first = comparison.second;
        }
        self.first.state.share_window(&window);
        self.first.alone();
    }

    /// Takes in what has been computed.
    pub fn poll_jobs(&mut self) {
        self.first.poll_jobs();
        if let Some(comparison) = &mut self.comparison {
            comparison.poll_jobs(&mut self.first);
        }
    }

    /// Asks for what is needed; what has been asked before costs nothing.
    pub fn ask_jobs(&mut self) {
        self.first.ask_jobs();
        if let Some(comparison) = &mut self.comparison {
            comparison.ask_jobs(&self.first);
        }
    }

    /// Whether nothing is being computed.
    pub fn is_settled(&self) -> bool {
        self.first.is_settled() && self.comparison.as_ref().is_none_or(TraceComparison::is_settled)
    }

    /// Draws everything below the toolbar.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        settings: &Settings,
        keys: &Keys,
        loading: Option<(&PathBuf, &Progress)>,
        out: &mut Vec<AppCommand>,
    ) {
        match &mut self.comparison {
            Some(comparison) => comparison.ui(ui, &mut self.first, settings, keys, loading, out),
            None => self.first.ui(ui, settings, keys, loading, out),
        }
    }
}

/// A file was dropped while one is open: what it is for.
pub fn dropped_ui(ui: &Ui, paths: &[PathBuf], out: &mut Vec<AppCommand>) {
    let [path, ..] = paths else { return };
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let window = Window::new("Dropped file").collapsible(false).resizable(false);
    window.anchor(Align2::CENTER_CENTER, egui::Vec2::ZERO).show(ui.ctx(), |ui| {
        ui.label(name.as_ref());
        ui.horizontal(|ui| {
            if ui.button("Compare with the open one").clicked() {
                out.push(AppCommand::Compare(path.clone()));
            }
            if ui.button("Open instead").clicked() {
                out.push(AppCommand::Open(path.clone()));
            }
            if ui.button("Cancel").clicked() {
                out.push(AppCommand::Dropped(Vec::new()));
            }
        });
    });
}
