//! Small widgets that many panels have.

use std::fmt::Display;

use egui::{Align, Button, Layout, Response, RichText, Role, Ui, WidgetInfo};

use crate::keys::hint;

/// What widgets say of themselves.
pub trait ResponseExt {
    /// Names an enabled widget for screen readers.
    fn labeled(&self, role: Role, label: impl Display);

    /// Describes a widget, with the keys of the action that does the same.
    #[must_use]
    fn hint(self, about: &str, action: &str) -> Self;

    /// Sends a command on a click.
    fn sends<T>(&self, out: &mut Vec<T>, command: impl Into<T>);
}

impl ResponseExt for Response {
    fn labeled(&self, role: Role, label: impl Display) {
        self.widget_info(|| WidgetInfo::labeled(role, true, label.to_string()));
    }

    fn hint(self, about: &str, action: &str) -> Self {
        let text = hint(&self.ctx, about, action);
        self.on_hover_text(text)
    }

    fn sends<T>(&self, out: &mut Vec<T>, command: impl Into<T>) {
        if self.clicked() {
            out.push(command.into());
        }
    }
}

/// A remark: small and weak.
pub fn remark(text: impl Into<String>) -> RichText {
    RichText::new(text).small().weak()
}

/// A cross without a frame.
pub fn close_button(ui: &mut Ui, label: impl Display) -> Response {
    let response = ui.add(Button::new("×").frame(false));
    response.labeled(Role::Button, label);
    response
}

/// Content at the right end of a line, from right to left.
pub fn at_right<R>(ui: &mut Ui, content: impl FnOnce(&mut Ui) -> R) -> R {
    ui.with_layout(Layout::right_to_left(Align::Center), content)
        .inner
}
