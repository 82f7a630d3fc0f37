//! The command palette.

use egui::{Align2, Context, Key, RichText, ScrollArea, TextEdit, Window};

use crate::gui::AppCommand;
use crate::gui::keys::{self, Keys};
use crate::view::state::{Panel, ViewCommand, ViewState};

/// The typed text and the chosen entry.
#[derive(Default)]
pub struct PaletteInput {
    text: String,
    chosen: usize,
}

/// The input field and the matching commands.
pub fn palette_ui(
    ctx: &Context,
    keys: &Keys,
    state: &ViewState,
    comparing: bool,
    typed: &mut PaletteInput,
    out: &mut Vec<AppCommand>,
) {
    let mut done = false;
    let window = Window::new("Commands").collapsible(false).resizable(false).title_bar(false);
    window.anchor(Align2::CENTER_TOP, [0.0, 80.0]).fixed_size([460.0, 360.0]).show(ctx, |ui| {
        let label = ui.label(RichText::new("Search commands").small().weak());
        let field = ui.add(TextEdit::singleline(&mut typed.text).desired_width(f32::INFINITY)).labelled_by(label.id);
        field.request_focus();
        if field.changed() {
            typed.chosen = 0;
        }
        let words: Vec<String> = typed.text.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let fits = |title: &str| words.iter().all(|word| title.to_lowercase().contains(word));
        let found: Vec<_> =
            keys::palette(keys, state, comparing).into_iter().filter(|(title, ..)| fits(title)).collect();
        let (enter, escape, down, up) = ui.input(|i| {
            let pressed = |key| i.key_pressed(key);
            (pressed(Key::Enter), pressed(Key::Escape), pressed(Key::ArrowDown), pressed(Key::ArrowUp))
        });
        typed.chosen = (typed.chosen + usize::from(down)).min(found.len().saturating_sub(1));
        typed.chosen = typed.chosen.saturating_sub(usize::from(up));
        done = escape;
        ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            if found.is_empty() {
                ui.weak("No command matches.");
            }
            for (i, (title, keys, command)) in found.into_iter().enumerate() {
                let chosen = i == typed.chosen;
                let response = ui
                    .horizontal(|ui| {
                        let response = ui.selectable_label(chosen, title);
                        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                            ui.label(RichText::new(keys).monospace().size(11.5).weak());
                        });
                        response
                    })
                    .inner;
                if chosen && (down || up) {
                    response.scroll_to_me(None);
                }
                if response.clicked() || (chosen && enter) {
                    out.push(command);
                    done = true;
                }
            }
        });
    });
    if done {
        *typed = PaletteInput::default();
        out.insert(0, ViewCommand::ShowPanel(Panel::Palette, false).into());
    }
}
