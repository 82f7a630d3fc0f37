//! Small widgets that many panels have.

use std::fmt::Display;

use crate::prelude::*;
use egui::text::LayoutJob;
use egui::{AsIdSalt, FontFamily, FontSelection, Grid, RectAlign, Tooltip, WidgetText, Window};

use crate::keys::hint;
use crate::theme;

/// What widgets say of themselves.
pub trait ResponseExt {
    /// Names an enabled widget for screen readers.
    fn labeled(&self, role: Role, label: impl Display);

    /// Names an enabled widget that is on or off for screen readers.
    fn labeled_choice(&self, role: Role, is_on: bool, label: impl Display);

    /// Describes a widget, with the keys of the action that does the same.
    #[must_use]
    fn hint(self, about: &str, action: &str) -> Self;

    /// Like [`Self::hint`], but above the widget: what is read lies below.
    #[must_use]
    fn hint_above(self, about: &str, action: &str) -> Self;

    /// Explains a widget at the left of it, where it covers none of its neighbours in a column.
    #[must_use]
    fn hint_left(self, content: impl FnOnce(&mut Ui)) -> Self;

    /// Sends a command on a click.
    fn sends<T>(&self, out: &mut Vec<T>, command: impl Into<T>);

    /// Sends a command on a click, and closes the menu.
    fn chooses<T>(&self, ui: &Ui, out: &mut Vec<T>, command: impl Into<T>);
}

/// Choices beside each other: a click on one makes it the value.
pub fn choices_ui<T: PartialEq>(
    ui: &mut Ui,
    value: &mut T,
    choices: impl IntoIterator<Item = (T, &'static str)>,
) {
    ui.spacing_mut().item_spacing.x = 2.0;
    for (choice, title) in choices {
        ui.selectable_value(value, choice, title);
    }
}

/// What was kept at an id, in this run of the program.
pub fn kept<T: 'static + Clone + Send + Sync>(ui: &Ui, id: Id) -> Option<T> {
    ui.data(|data| data.get_temp(id))
}

/// Keeps a value at an id for the next frames.
pub fn keep<T: 'static + Clone + Send + Sync>(ui: &Ui, id: Id, value: T) {
    ui.data_mut(|data| data.insert_temp(id, value));
}

impl ResponseExt for Response {
    fn labeled(&self, role: Role, label: impl Display) {
        self.widget_info(|| WidgetInfo::labeled(role, true, label.to_string()));
    }

    fn labeled_choice(&self, role: Role, is_on: bool, label: impl Display) {
        self.widget_info(|| WidgetInfo::selected(role, true, is_on, label.to_string()));
    }

    fn hint(self, about: &str, action: &str) -> Self {
        let text = hint(&self.ctx, about, action);
        self.on_hover_text(text)
    }

    fn hint_above(self, about: &str, action: &str) -> Self {
        let text = hint(&self.ctx, about, action);
        let mut tooltip = Tooltip::for_enabled(&self);
        let beside = [
            RectAlign::TOP_START,
            RectAlign::TOP_END,
            RectAlign::BOTTOM_START,
        ];
        tooltip.popup = tooltip.popup.align(beside[0]).align_alternatives(&beside);
        tooltip.show(|ui| ui.label(text));
        self
    }

    fn hint_left(self, content: impl FnOnce(&mut Ui)) -> Self {
        let mut tooltip = Tooltip::for_enabled(&self);
        let beside = [
            RectAlign::LEFT,
            RectAlign::LEFT_START,
            RectAlign::LEFT_END,
            RectAlign::RIGHT,
        ];
        tooltip.popup = tooltip.popup.align(beside[0]).align_alternatives(&beside);
        tooltip.show(content);
        self
    }

    fn sends<T>(&self, out: &mut Vec<T>, command: impl Into<T>) {
        if self.clicked() {
            out.push(command.into());
        }
    }

    fn chooses<T>(&self, ui: &Ui, out: &mut Vec<T>, command: impl Into<T>) {
        if self.clicked() {
            out.push(command.into());
            ui.close();
        }
    }
}

/// A remark: small and weak.
pub fn remark(text: impl Into<String>) -> RichText {
    RichText::new(text).small().weak()
}

/// A sentence of which no line ends between a number and its unit; it is read out with ordinary spaces. What stands in
/// backquotes is code.
pub fn sentence_ui(ui: &mut Ui, text: &str, look: impl Fn(RichText) -> RichText) -> Response {
    let mut shown = LayoutJob::default();
    let whole = with_whole_quantities(text);
    for (part, is_code) in with_code(&whole) {
        let mut part = look(RichText::new(part));
        if is_code {
            part = part.family(FontFamily::Monospace);
        }
        part.append_to(
            &mut shown,
            ui.style(),
            FontSelection::Default,
            Align::Center,
        );
    }
    let response = ui.add(Label::new(shown).wrap());
    response.labeled(Role::Label, text.replace('\u{a0}', " ").replace('`', ""));
    response
}

/// The parts of a text, and whether each is code: what stands in backquotes. In letters of different widths the two
/// dashes of a flag look like a long one.
fn with_code(text: &str) -> impl Iterator<Item = (&str, bool)> {
    // A quote that none closes is no code.
    let is_closed = text.matches('`').count().is_multiple_of(2);
    let parts = text.splitn(if is_closed { usize::MAX } else { 1 }, '`');
    parts
        .enumerate()
        .map(|(nth, part)| (part, nth % 2 == 1))
        .filter(|(part, _)| !part.is_empty())
}

/// A small and weak sentence, of which no line ends between a number and its unit.
pub fn remark_ui(ui: &mut Ui, text: &str) -> Response {
    sentence_ui(ui, text, |text| text.small().weak())
}

/// The text with a space that is not broken between each number and its unit.
pub fn with_whole_quantities(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    for (number, word) in text.split(' ').enumerate() {
        if number > 0 {
            let is_number = whole.ends_with(|c: char| c.is_ascii_digit());
            whole.push(if is_number && is_unit(word) {
                '\u{a0}'
            } else {
                ' '
            });
        }
        whole += word;
    }
    whole
}

/// Whether a word is a unit of what reports measure, with or without punctuation.
fn is_unit(word: &str) -> bool {
    const BASE: [&str; 6] = ["B", "B/s", "iB", "FLOP", "FLOP/s", "FLOP/B"];
    const WHOLE: [&str; 8] = ["%", "s", "ms", "µs", "ns", "ps", "min", "h"];
    let word = word.trim_end_matches(['.', ',', ';', ':', ')']);
    let base = word.trim_start_matches(['k', 'K', 'M', 'G', 'T', 'P', 'E']);
    WHOLE.contains(&word) || (word.len() <= base.len() + 1 && BASE.contains(&base))
}

/// A check box with an edge that is seen on every ground.
pub fn check_box(ui: &mut Ui, is_on: &mut bool, text: impl Into<WidgetText>) -> Response {
    let (theme, usual) = (theme::current(ui), ui.visuals().widgets.inactive);
    let inactive = &mut ui.visuals_mut().widgets.inactive;
    inactive.bg_fill = theme.canvas;
    inactive.bg_stroke = Stroke::new(1.0, theme.text_weak);
    let text: WidgetText = text.into();
    let response = ui.checkbox(is_on, text);
    ui.visuals_mut().widgets.inactive = usual;
    response
}

/// A field of one line, with what it takes while it is empty.
pub fn text_field(ui: &mut Ui, text: &mut String, label: &str, hint: &str, width: f32) -> Response {
    let field = TextEdit::singleline(text).hint_text(hint);
    let response = ui.add(field.desired_width(width));
    response.labeled(Role::TextInput, label);
    response
}

/// A cross without a frame.
pub fn close_button(ui: &mut Ui, label: impl Display) -> Response {
    let response = ui.add(Button::new("×").frame(false));
    response.labeled(Role::Button, label);
    response
}

/// A window over the others that keeps its size.
pub fn dialog(title: &str) -> Window<'static> {
    Window::new(title).collapsible(false).resizable(false)
}

/// Content at the right end of a line, from right to left.
pub fn at_right<R>(ui: &mut Ui, content: impl FnOnce(&mut Ui) -> R) -> R {
    ui.with_layout(Layout::right_to_left(Align::Center), content)
        .inner
}

/// Rows of names and values.
pub fn value_grid(ui: &mut Ui, id: impl AsIdSalt, rows: impl FnOnce(&mut Ui)) {
    Grid::new(id)
        .num_columns(2)
        .spacing([14.0, 3.0])
        .show(ui, rows);
}

/// A row of a grid: a name, and a value that can be copied.
pub fn value_row(ui: &mut Ui, name: &str, value: impl Into<WidgetText>, about: &str) {
    ui.weak(name);
    let value = Label::new(value).selectable(true).truncate();
    if about.is_empty() {
        ui.add(value);
    } else {
        ui.add(value.show_tooltip_when_elided(false))
            .on_hover_text(about);
    }
    ui.end_row();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stands_in_backquotes() {
        let parts: Vec<_> = with_code("Leave out `--warmup 2`, then `x`").collect();
        let expected = [
            ("Leave out ", false),
            ("--warmup 2", true),
            (", then ", false),
            ("x", true),
        ];
        assert_eq!(parts, expected);
    }

    #[test]
    fn quantities_are_not_broken() {
        for (text, whole) in [
            ("12.3 ms of 4 steps", "12.3~ms of 4 steps"),
            ("(35.8 % of 69.81 ms)", "(35.8~% of 69.81~ms)"),
            (
                "needs 186.4 MB, 3 GiB; 1.2 TFLOP/s",
                "needs 186.4~MB, 3~GiB; 1.2~TFLOP/s",
            ),
            ("8 Bytes and 4 stages", "8 Bytes and 4 stages"),
            ("", ""),
        ] {
            assert_eq!(with_whole_quantities(text).replace('\u{a0}', "~"), whole);
        }
    }
}
