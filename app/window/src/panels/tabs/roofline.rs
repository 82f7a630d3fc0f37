//! The roofline and its tables.

use super::prelude::*;

use crate::panels::roofline::{RooflinePlot, roofline_ui};

pub const TAB: Tab = Tab {
    id: "roofline",
    title: "Roofline",
    reports: Some(&["roofline"]),
    icon: "line 0.05 0.05 0.05 0.95 0.95 0.95; line 0.14 0.78 0.52 0.25 0.95 0.25; dot 0.68 0.55 0.07",
    panel: |_| Box::new(RooflinePlot::default()),
    ..TABLES
};

impl TabPanel for RooflinePlot {
    fn ui(&mut self, ui: &mut Ui, mut tab: TabContent<'_>) {
        roofline_ui(ui, tab.context, self, tab.view);
        tab.tables_ui(ui);
    }
}
