//! Notices: messages that are not errors.

use super::prelude::*;
use egui::{Area, Order};

use crate::theme::theme_of;

/// Seconds until a passing notice disappears.
const PASSES: f64 = 6.0;

/// Above the tracks, in the middle.
fn card(ctx: &Context, content: impl FnOnce(&mut Ui)) {
    let area = Area::new(Id::unique("notice"))
        .order(Order::Foreground)
        .anchor(Align2::CENTER_BOTTOM, [0.0, -84.0]);
    area.show(ctx, |ui| {
        let frame = Frame::popup(ui.style()).inner_margin(egui::Margin::symmetric(12, 8));
        frame.show(ui, |ui| ui.horizontal(content));
    });
}

/// A message at the bottom of the window.
#[derive(Debug)]
pub struct PassingNotice {
    text: String,
    passes: bool,
    /// When it was first shown.
    since: Option<f64>,
}

impl PassingNotice {
    /// Disappears after a while.
    pub fn passing(text: String) -> Self {
        Self {
            text,
            passes: true,
            since: None,
        }
    }

    /// Stays until it is dismissed.
    pub fn lasting(text: String) -> Self {
        Self {
            text,
            passes: false,
            since: None,
        }
    }

    pub fn ui(&mut self, ctx: &Context, out: &mut AppCommands) {
        let theme = theme_of(ctx.global_style().visuals.dark_mode);
        let now = ctx.input(|i| i.time);
        let left = PASSES - (now - *self.since.get_or_insert(now));
        card(ctx, |ui| {
            ui.colored_label(theme.text_strong, &self.text);
            ui.button("Dismiss").sends(out, AppCommand::DismissNotice);
        });
        if self.passes && left <= 0.0 {
            out.push(AppCommand::DismissNotice);
        } else if self.passes {
            ctx.request_repaint_after(std::time::Duration::from_secs_f64(left));
        }
    }
}
