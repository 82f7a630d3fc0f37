//! The use of memory: tables, the recorded use over time, the buffers that the compiler placed.

use super::prelude::*;

use crate::panels::memory_curve::{MemoryCurveState, memory_curve_ui};
use crate::panels::memory_map::{MemoryMapState, MemoryView, choice_ui, memory_map_ui};

pub const TAB: Tab = Tab {
    id: "memory",
    title: "Memory",
    reports: Some(&["memory", "buffers", "memory_need"]),
    icon: "frame 0.2 0.12 0.8 0.88; line 0.02 0.28 0.2 0.28; line 0.8 0.28 0.98 0.28; line 0.02 0.5 0.2 0.5; \
           line 0.8 0.5 0.98 0.5; line 0.02 0.72 0.2 0.72; line 0.8 0.72 0.98 0.72",
    panel: |wake| {
        Box::new(MemoryPanel {
            map: MemoryMapState::new(wake),
            curve: MemoryCurveState::new(wake),
        })
    },
    ..TABLES
};

struct MemoryPanel {
    map: MemoryMapState,
    curve: MemoryCurveState,
}

impl TabPanel for MemoryPanel {
    fn poll(&mut self, _is_open: bool) {
        self.map.poll();
        self.curve.poll();
    }

    fn is_settled(&self) -> bool {
        self.map.is_settled() && self.curve.is_settled()
    }

    fn show_tables(&mut self) {
        self.map.view = MemoryView::Tables;
    }

    fn ui(&mut self, ui: &mut Ui, mut tab: TabContent<'_>) {
        match choice_ui(ui, &mut self.map) {
            MemoryView::Tables => tab.tables_ui(ui),
            MemoryView::Recorded => {
                memory_curve_ui(ui, tab.context, &mut self.curve, tab.out, tab.view);
            }
            MemoryView::Planned => {
                memory_map_ui(ui, tab.context, &mut self.map, tab.out, tab.view);
            }
        }
    }
}
