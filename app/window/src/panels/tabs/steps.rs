//! The times of steps, and the heat map of devices and steps or the tables.

use super::prelude::*;

use crate::panels::heat_map::{HeatMapState, choice_ui, heat_map_ui};
use crate::panels::steps::{StepsState, steps_ui};

pub const TAB: Tab = Tab {
    id: "steps",
    title: "Steps",
    reports: Some(&["steps", "step_parts", "critical_path", "balance"]),
    subject: TabSubject::Capture,
    icon: "bar 0.06 0.5 0.21 0.95; bar 0.31 0.25 0.46 0.95; bar 0.56 0.4 0.71 0.95; bar 0.81 0.1 0.96 0.95",
    panel: |_| Box::new(StepsPanel::default()),
    ..TABLES
};

#[derive(Default)]
struct StepsPanel {
    steps: StepsState,
    heat: HeatMapState,
}

impl TabPanel for StepsPanel {
    fn forget_made(&mut self) {
        self.heat.forget_made();
    }

    fn show_tables(&mut self) {
        self.heat.is_open = false;
    }

    fn ui(&mut self, ui: &mut Ui, mut tab: TabContent<'_>) {
        steps_ui(ui, tab.context, &mut self.steps, tab.view);
        if choice_ui(ui, tab.context, &mut self.heat) {
            heat_map_ui(ui, tab.context, &mut self.heat, tab.view);
        } else {
            tab.tables_ui(ui);
        }
    }
}
