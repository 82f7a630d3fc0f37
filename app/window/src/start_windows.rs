//! The windows that are open while no trace is.

use crate::prelude::*;

/// The windows that are open while no trace is.
#[derive(Default)]
pub struct StartWindows(BTreeSet<Panel>);

impl StartWindows {
    pub fn shows(&self, panel: Panel) -> bool {
        self.0.contains(&panel)
    }

    pub fn apply(&mut self, command: &ViewCommand) {
        match command {
            ViewCommand::ShowPanel(panel, true) => self.0.extend([*panel]),
            ViewCommand::ShowPanel(panel, false) => self.0.retain(|other| other != panel),
            ViewCommand::Deselect => self.0.clear(),
            _ => {}
        }
    }
}
