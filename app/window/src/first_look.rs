//! A first look at a large file: its first devices are shown while the rest is being read, and the whole trace takes their
//! place, in the same view. Reports, searches and sums wait for it, because they would be wrong.

use crate::prelude::*;

use crate::App;
use crate::command::AppCommand;
#[cfg(not(target_arch = "wasm32"))]
use crate::loader::{EarlyTrace, LoadJob};
use crate::open_traces::OpenWorkspaces;
use crate::workspace::Workspace;
use view::compare::carried;
use view::timeline::trace::FirstLookLoader;

/// Whether a command is about a trace of which everything is known.
fn needs_all(command: &AppCommand) -> bool {
    matches!(
        command,
        AppCommand::Save(_) | AppCommand::SavePicture(..) | AppCommand::SaveSession(_)
    )
}

/// Gives a workspace the view of another one, whose trace is earlier by some time.
pub fn keep_view_of(open: &Workspace, workspace: &mut Workspace, later_by: Picos) {
    workspace.apply(&ViewCommand::Restore(Box::new(open.state.clone())));
    let (from, to) = (&open.trace.model, &workspace.trace.model);
    for command in carried(&open.state, from, to, later_by) {
        workspace.apply(&command);
    }
}

impl App {
    /// Takes over a job that loads the first trace already, which is opened next.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn with_early(self, loading: LoadJob, early: EarlyTrace) -> Self {
        Self {
            loading,
            early,
            is_loading_early: true,
            ..self
        }
    }

    /// Shows a part of large files while they are being read.
    #[must_use]
    pub fn with_first_look(mut self, first_look: FirstLookLoader) -> Self {
        self.loaders.first_look = Some(first_look);
        self
    }

    /// The open trace, as long as it is a first look.
    fn first_look(&self) -> Option<&Workspace> {
        let open = self.open_traces.as_ref()?.side(TraceSide::A);
        open.filter(|open| open.is_first_look())
    }

    /// Whether only a part of the trace is shown so far.
    pub fn is_first_look(&self) -> bool {
        self.first_look().is_some()
    }

    /// Shows the first look, if it has come before the trace and nothing else is open or waits for the whole trace.
    pub(super) fn poll_first_look(&mut self) {
        let Some(trace) = locked(&self.early).take() else {
            return;
        };
        let waits = self.restore.is_some() || self.next.is_some() || self.address.wants();
        if self.open_traces.is_some() || waits || !self.loading.is_running() {
            return;
        }
        let mut workspace = Workspace::new(trace, &self.wake);
        workspace.apply(&ViewCommand::Paint(self.settings.colors));
        self.open_traces = Some(OpenWorkspaces::new(workspace, &self.wake));
    }

    /// Closes it: the rest does not come.
    pub(super) fn leave_first_look(&mut self) {
        if self.is_first_look() {
            self.open_traces = None;
        }
    }

    /// Gives the whole trace the view of the first look at it.
    pub(super) fn keep_first_look(&self, workspace: &mut Workspace) {
        let Some(look) = self.first_look() else {
            return;
        };
        keep_view_of(look, workspace, Picos::ZERO);
        workspace.apply(&ViewCommand::ScrollTo(look.state.place.scroll));
    }

    /// Whether a command has to wait until everything is read, which is said.
    pub(super) fn must_wait(&mut self, command: &AppCommand) -> bool {
        let waits = needs_all(command) && self.is_first_look();
        if waits {
            let text = "The file is still being read: do this again when all of it is shown";
            self.tell(text);
        }
        waits
    }

    /// Compares the trace at a path with the open one once that is there; whether that is not now.
    pub(super) fn compares_later(&mut self, path: &Path) -> bool {
        let is_later = self.is_first_look();
        if is_later {
            self.next = Some(crate::QueuedTrace {
                path: path.to_owned(),
                saved: None,
            });
        }
        is_later
    }
}
