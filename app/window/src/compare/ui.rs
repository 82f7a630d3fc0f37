//! The window below the toolbar while two traces are open.

use crate::prelude::*;

use super::{TraceComparison, bar};
use crate::command::AppCommands;
use crate::panels::context::OtherRun;
use crate::workspace::{Companion, FrameContext, Workspace};

impl TraceComparison {
    /// Draws everything below the toolbar.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        first: &mut Workspace,
        frame: FrameContext<'_>,
        out: &mut AppCommands,
    ) {
        bar::bar_ui(ui, self, first, out);
        let focus = self.link.focus;
        let focused = if focus == TraceSide::A {
            &*first
        } else {
            &self.second
        };
        let about = self.about(focused);
        let Self {
            second,
            compared,
            tables,
            ..
        } = self;
        let other = if focus == TraceSide::A {
            second.trace.clone()
        } else {
            first.trace.clone()
        };
        let other = OtherRun {
            trace: &other,
            side: focus,
            compared: compared.memo(),
        };
        let companion = Companion {
            tables,
            about,
            other,
        };
        let focused = if focus == TraceSide::A {
            &mut *first
        } else {
            second
        };
        focused.panels_ui(ui, frame, Some(companion), out);
        egui::CentralPanel::default()
            .frame(Frame::NONE)
            .show(ui, |ui| {
                self.timelines_ui(ui, first, frame, out);
            });
    }
}
