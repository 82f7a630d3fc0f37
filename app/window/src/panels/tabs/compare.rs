//! What changed between two traces.

use super::prelude::*;

use view::state::COMPARE_TAB;

pub const TAB: Tab = Tab {
    id: COMPARE_TAB,
    title: "Compare",
    subject: TabSubject::Other,
    icon: "frame 0.05 0.05 0.65 0.65; frame 0.35 0.35 0.95 0.95",
    is_offered: |context| context.other.is_some(),
    panel: |_| Box::new(ComparisonPanel),
    ..TABLES
};

struct ComparisonPanel;

impl TabPanel for ComparisonPanel {
    fn ui(&mut self, ui: &mut Ui, tab: TabContent<'_>) {
        if let (Some(other), Some(tables)) = (tab.context.other, tab.comparison) {
            let selected = tab.context.selected().map(SliceRef::name);
            tables.ui(ui, other.compared, selected, tab.out);
        }
    }
}
