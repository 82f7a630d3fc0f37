//! Notes about time ranges; saved with a session.

use egui::{Context, Role, ScrollArea, TextEdit, Window};

use super::widgets::{ResponseExt as _, close_button};
use crate::keys::hint;
use crate::times::time;
use view::state::{Note, Panel, ViewCommand, ViewState};

pub fn notes_ui(ctx: &Context, state: &ViewState, out: &mut Vec<ViewCommand>) {
    let mut open = true;
    let window = Window::new("Notes")
        .open(&mut open)
        .default_width(340.0)
        .collapsible(false);
    window
        .anchor(egui::Align2::LEFT_BOTTOM, [12.0, -60.0])
        .show(ctx, |ui| {
            if state.notes.is_empty() {
                ui.label("No notes yet.");
                ui.weak(hint(
                    ui.ctx(),
                    "Mark a time (drag over the tracks), then save it",
                    "keep-mark",
                ));
            }
            ScrollArea::vertical().max_height(260.0).show(ui, |ui| {
                for (i, note) in state.notes.iter().enumerate() {
                    note_ui(ui, i, note, out);
                }
            });
            if let Some(range) = state.place.mark
                && ui.button("Add a note for the marked time").clicked()
            {
                out.push(ViewCommand::AddNote(Note {
                    range,
                    text: String::new(),
                }));
            }
        });
    if !open {
        out.push(ViewCommand::ShowPanel(Panel::Notes, false));
    }
}

fn note_ui(ui: &mut egui::Ui, i: usize, note: &Note, out: &mut Vec<ViewCommand>) {
    ui.horizontal(|ui| {
        let at = note.range.start.since_origin();
        if ui
            .link(time(at))
            .on_hover_text(format!("Show {}", time(note.range.dur())))
            .clicked()
        {
            out.push(ViewCommand::ShowAround(note.range));
        }
        let mut text = note.text.clone();
        let field = ui.add(
            TextEdit::singleline(&mut text)
                .hint_text("note text")
                .desired_width(190.0),
        );
        field.labeled(Role::TextInput, format_args!("Note {}", i + 1));
        if field.changed() {
            out.push(ViewCommand::EditNote(i, text));
        }
        if close_button(ui, format_args!("Remove note {}", i + 1)).clicked() {
            out.push(ViewCommand::RemoveNote(i));
        }
    });
}
