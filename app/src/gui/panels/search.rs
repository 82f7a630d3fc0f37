//! The search box and its results.

use egui::{Key, RichText, TextEdit, Ui};

use crate::gui::jobs::Memo;
use crate::gui::search::Found;
use crate::gui::state::{Panel, ViewCommand, ViewState};
use crate::gui::timeline::tree::group_digits;
use crate::gui::trace::OpenTrace;

/// A line to type into, and the way from match to match.
pub fn search_ui(
    ui: &mut Ui,
    trace: &OpenTrace,
    state: &ViewState,
    typed: &mut String,
    found: &Memo<Found>,
    out: &mut Vec<ViewCommand>,
) {
    ui.add_space(2.0);
    ui.horizontal(|ui| {
        let label = ui.label("Search");
        let edit =
            TextEdit::singleline(typed).hint_text("name, category, framework name or source line").desired_width(360.0);
        let field = ui.add(edit).labelled_by(label.id);
        let (enter, escape, shift) =
            ui.input(|i| (i.key_pressed(Key::Enter), i.key_pressed(Key::Escape), i.modifiers.shift));
        if field.changed() {
            out.push(ViewCommand::Search(typed.trim().to_owned()));
        }
        if ui.memory(|memory| memory.focused().is_none()) && !escape && !field.lost_focus() {
            field.request_focus();
        }
        let mut step = (field.lost_focus() && enter).then_some(!shift);
        if step.is_some() {
            field.request_focus();
        }
        step = if ui.button("Previous").on_hover_text("Shift+Enter").clicked() { Some(false) } else { step };
        step = if ui.button("Next").on_hover_text("Enter").clicked() { Some(true) } else { step };
        if let (Some(forth), Some(found)) = (step, found.latest())
            && let Some((_, slice)) = found.next(state.place.selection, forth)
        {
            out.push(ViewCommand::GoTo(slice));
        }
        outcome_ui(ui, state, found);
        if ui.button("Close").on_hover_text("Esc").clicked() || (escape && field.lost_focus()) {
            typed.clear();
            out.push(ViewCommand::Search(String::new()));
            out.push(ViewCommand::ShowPanel(Panel::Search, false));
        }
        let _ = trace;
    });
    ui.add_space(2.0);
}

fn outcome_ui(ui: &mut Ui, state: &ViewState, found: &Memo<Found>) {
    match found {
        _ if state.search.is_empty() => drop(ui.weak("over the whole trace")),
        Memo::Running { .. } => drop(ui.weak("searching …")),
        Memo::Failed { error, .. } => drop(ui.label(error)),
        Memo::Empty => {}
        Memo::Ready(found) if found.total == 0 => {
            ui.label(RichText::new("nothing of that name").color(ui.visuals().warn_fg_color));
        }
        Memo::Ready(found) => {
            let total = group_digits(found.total as u64);
            let text = match found.number(state.place.selection) {
                Some(number) => format!("{} / {total}", group_digits(number as u64)),
                None => format!("{total} slices"),
            };
            let more = found.slices.len() < found.total;
            let text = if more {
                format!("{text}, the first {} listed", group_digits(found.slices.len() as u64))
            } else {
                text
            };
            ui.label(text);
        }
    }
}
