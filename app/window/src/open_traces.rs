//! The open traces: one, or two side by side.

use crate::prelude::*;

use crate::command::ComparisonCommand;
use crate::compare::TraceComparison;
use crate::jobs::WakeUi;
use crate::panels::tabs::tab_of_report;
use crate::panels::widgets::{ResponseExt as _, dialog};
use crate::workspace::{FrameContext, Workspace};
use crate::{AppCommand, AppCommands};
use view::sessions::SavedSecondTrace;

/// One trace or two. Keys and panels apply to the focused one.
pub struct OpenWorkspaces {
    first: Workspace,
    comparison: Option<TraceComparison>,
    wake: WakeUi,
}

impl OpenWorkspaces {
    pub fn new(first: Workspace, wake: &WakeUi) -> Self {
        Self {
            first,
            comparison: None,
            wake: WakeUi::clone(wake),
        }
    }

    /// Adds or replaces the second trace. `saved` is its state in a session.
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

    pub fn focus(&self) -> TraceSide {
        self.comparison
            .as_ref()
            .map_or(TraceSide::A, |comparison| comparison.link.focus)
    }

    /// One of the traces; `None` if there is no second trace.
    pub fn side(&self, side: TraceSide) -> Option<&Workspace> {
        match side {
            TraceSide::A => Some(&self.first),
            TraceSide::B => self
                .comparison
                .as_ref()
                .map(|comparison| &comparison.second),
        }
    }

    pub fn focused(&self) -> &Workspace {
        self.side(self.focus()).unwrap_or(&self.first)
    }

    /// Changes the view of one side and the linked parts of the other.
    pub fn apply(&mut self, side: TraceSide, command: &ViewCommand) {
        match &mut self.comparison {
            Some(comparison) => comparison.apply(&mut self.first, side, command),
            None => self.first.apply(command),
        }
    }

    /// Opens the tab of a report, at its tables.
    pub fn show_report(&mut self, id: &'static str) {
        let (side, tab) = (self.focus(), tab_of_report(id));
        self.apply(side, &tab.show());
        let workspace = match (side, &mut self.comparison) {
            (TraceSide::B, Some(comparison)) => &mut comparison.second,
            _ => &mut self.first,
        };
        workspace.memory.show_report(tab, id);
    }

    /// Takes the peaks of a chip for devices that record none. A comparison keeps its assumptions.
    pub fn assume_chip(&mut self, chip: &str, wake: &WakeUi) {
        if self.comparison.is_none() {
            self.first.assume_chip(chip, wake);
        }
    }

    /// Pins the track below the pointer, or unpins it.
    pub fn pin_hovered(&mut self) {
        for side in TraceSide::BOTH {
            let Some(workspace) = self.side(side) else {
                continue;
            };
            if let Some(track) = workspace.hovered_track() {
                let pinned = workspace.state.pinned.contains(&track);
                self.apply(side, &ViewCommand::Pin(track, !pinned));
            }
        }
    }

    /// Carries out a command about two traces; does nothing with one.
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

    /// Closes the other side.
    fn keep(&mut self, side: TraceSide) {
        let Some(comparison) = self.comparison.take() else {
            return;
        };
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

    /// Takes finished results over.
    pub fn poll_jobs(&mut self) {
        self.first.poll_jobs();
        if let Some(comparison) = &mut self.comparison {
            comparison.poll_jobs(&mut self.first);
        }
    }

    /// Starts the jobs whose results are needed; jobs already started cost nothing.
    pub fn ask_jobs(&mut self) {
        self.first.ask_jobs();
        if let Some(comparison) = &mut self.comparison {
            comparison.ask_jobs(&self.first);
        }
    }

    /// Whether nothing is being computed.
    pub fn is_settled(&self) -> bool {
        self.first.is_settled()
            && self
                .comparison
                .as_ref()
                .is_none_or(TraceComparison::is_settled)
    }

    /// Draws everything below the toolbar.
    pub fn ui(&mut self, ui: &mut Ui, frame: FrameContext<'_>, out: &mut AppCommands) {
        match &mut self.comparison {
            Some(comparison) => comparison.ui(ui, &mut self.first, frame, out),
            None => self.first.ui(ui, frame, out),
        }
    }
}

/// Asks what to do with a file that was dropped while a trace is open.
pub fn dropped_ui(ui: &Ui, paths: &[PathBuf], out: &mut AppCommands) {
    let [path, ..] = paths else { return };
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    dialog("Dropped file")
        .anchor(Align2::CENTER_CENTER, Vec2::ZERO)
        .show(ui.ctx(), |ui| {
            ui.label(name.as_ref());
            ui.horizontal(|ui| {
                if ui.button("Compare with the open one").clicked() {
                    out.push(AppCommand::Compare(path.clone()));
                }
                if ui.button("Open instead").clicked() {
                    out.push(AppCommand::Open(path.clone()));
                }
                ui.button("Cancel")
                    .sends(out, AppCommand::Dropped(Vec::new()));
            });
        });
}
