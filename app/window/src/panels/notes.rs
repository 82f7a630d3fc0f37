//! Notes about time ranges; saved with a session.

use super::prelude::*;
use egui::Window;
use egui::text::{CCursor, CCursorRange};

use crate::keys::KeyFocus;
use view::state::Note;

pub fn notes_ui(ctx: &Context, state: &ViewState, out: &mut ViewCommands) {
    let mut open = true;
    let window = Window::new("Notes")
        .open(&mut open)
        .default_width(340.0)
        .collapsible(false);
    window
        .anchor(Align2::LEFT_BOTTOM, [12.0, -60.0])
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

fn field_id(note: usize) -> Id {
    Id::unique(("note", note))
}

/// The note whose field gets the focus once it is drawn.
fn edited_id() -> Id {
    Id::unique("edited note")
}

/// Lets the text of a note be typed.
pub fn edit(ctx: &Context, note: usize) {
    ctx.data_mut(|data| data.insert_temp(edited_id(), note));
    ctx.memory_mut(|memory| memory.request_focus(field_id(note)));
    KeyFocus::give_all(ctx, field_id(note));
}

/// Gives the field the focus that was wanted for it, and selects its text.
fn take_focus(ui: &Ui, note: usize, field: &Response, text: &str) {
    if kept::<usize>(ui, edited_id()) != Some(note) {
        return;
    }
    field.request_focus();
    if ui.is_sizing_pass() {
        // It only measures, and the field cannot keep the focus.
        return;
    }
    ui.data_mut(|data| data.remove::<usize>(edited_id()));
    let mut state = TextEdit::load_state(ui.ctx(), field.id).unwrap_or_default();
    let [start, end] = [0, text.chars().count()].map(CCursor::new);
    state
        .cursor
        .set_char_range(Some(CCursorRange::two(start, end)));
    TextEdit::store_state(ui.ctx(), field.id, state);
    field.scroll_to_me(None);
}

fn note_ui(ui: &mut Ui, i: usize, note: &Note, out: &mut ViewCommands) {
    ui.horizontal(|ui| {
        let start = note.range.start.since_origin();
        ui.link(time(start))
            .on_hover_text(format!("Show {}", time(note.range.dur())))
            .sends(out, ViewCommand::ShowAround(note.range));
        let mut text = note.text.clone();
        let field = ui.add(
            TextEdit::singleline(&mut text)
                .id(field_id(i))
                .hint_text("note text")
                .desired_width(190.0),
        );
        field.labeled(Role::TextInput, format_args!("Note {}", i + 1));
        take_focus(ui, i, &field, &note.text);
        if field.changed() {
            out.push(ViewCommand::EditNote(i, text));
        }
        close_button(ui, format_args!("Remove note {}", i + 1))
            .sends(out, ViewCommand::RemoveNote(i));
    });
}
