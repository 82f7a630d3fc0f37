//! The search field and its results; also shows what a table or hint highlighted.

use super::prelude::*;

use super::{frame, icons};
use view::search::{FIELDS, SearchResults};
use view::state::FOUND_TAB;

/// Id of the input field; of two traces only the focused one shows it.
pub fn field_id() -> Id {
    Id::unique("search field")
}

/// The bar over the timeline, at its lower end: the ruler and the minimap stay in sight.
pub fn floating_ui(
    ui: &Ui,
    model: &TraceModel,
    state: &ViewState,
    typed: &mut String,
    answer: &JobAnswer<Arc<SearchResults>>,
    out: &mut ViewCommands,
) {
    frame::floating_ui(ui, "search", |ui| {
        search_ui(ui, model, state, typed, answer, out);
    });
}

/// The input field with buttons that go from match to match.
fn search_ui(
    ui: &mut Ui,
    model: &TraceModel,
    state: &ViewState,
    typed: &mut String,
    answer: &JobAnswer<Arc<SearchResults>>,
    out: &mut ViewCommands,
) {
    ui.horizontal_wrapped(|ui| {
        let escape = ui.input(|i| i.key_pressed(Key::Escape));
        let mut step = None;
        let mut left = false;
        if state.shows(Panel::Search) {
            (step, left) = field_ui(ui, typed, out);
        } else if let Some(highlighted) = &state.highlighted {
            ui.label("Highlighted");
            let title: String = highlighted.title.chars().take(40).collect();
            ui.strong(title).on_hover_text(&highlighted.title);
        }
        for (label, about, forth) in [
            ("Previous", "Previous (Shift+Enter)", false),
            ("Next", "Next (Enter)", true),
        ] {
            if icons::button(ui, (label, true, false), 12.0, icons::arrow(forth))
                .on_hover_text(about)
                .clicked()
            {
                step = Some(forth);
            }
        }
        if let (Some(forth), Some(results)) = (step, answer.latest())
            && let Some((_, slice)) = results.next(model, state.place.selection, forth)
        {
            out.push(ViewCommand::GoTo(slice));
        }
        ui.selectable_label(state.isolate, "Isolate")
            .hint("Show only these slices", "isolate")
            .sends(out, ViewCommand::Isolate(!state.isolate));
        outcome_ui(ui, model, state, answer);
        if answer.latest().is_some_and(|results| results.total > 0) && state.is_searching() {
            let list = ui.button("List").hint("List all results", "found-list");
            if list.clicked() {
                out.push(ViewCommand::ShowTab(FOUND_TAB.to_owned()));
            }
        }
        let close = close_button(ui, "Close search");
        if close.on_hover_text("Close (Esc)").clicked() || (escape && left) {
            out.push(ViewCommand::Highlight(None));
            out.push(ViewCommand::ShowPanel(Panel::Search, false));
        }
    });
}

/// The input field; returns the step to make and whether the field lost the focus.
fn field_ui(ui: &mut Ui, typed: &mut String, out: &mut ViewCommands) -> (Option<bool>, bool) {
    let hint = "name, category, source, cat:copy, dur>100us, core:3, /regex/";
    let field = TextEdit::singleline(typed)
        .id(field_id())
        .hint_text(hint)
        .desired_width(230.0);
    let field = ui.add(field);
    field.labeled(Role::TextInput, "Search text");
    if ui.is_sizing_pass() {
        // In a layout pass that only measures, the field cannot keep the requested focus.
        field.request_focus();
    }
    let (enter, shift) = ui.input(|i| (i.key_pressed(Key::Enter), i.modifiers.shift));
    if field.changed() {
        if typed.starts_with('>') {
            typed.clear();
            out.push(ViewCommand::ShowPanel(Panel::Search, false));
            out.push(ViewCommand::ShowPanel(Panel::Palette, true));
        }
        out.push(ViewCommand::Search(typed.trim().to_owned()));
    }
    let step = (field.lost_focus() && enter).then_some(!shift);
    if step.is_some() {
        field.request_focus();
    }
    let left = field.lost_focus();
    field.on_hover_ui(|ui| {
        ui.label("All words must be found; -word must not. \"in quotes\" is one word, /regex/ a pattern.");
        for (name, others, about) in FIELDS {
            ui.label(format!("{name}:…  (or {})  {about}", others.join(", ")));
        }
        ui.label("dur>100us, dur<=1ms: how long");
        ui.label("> opens the command palette");
    });
    (step, left)
}

fn outcome_ui(
    ui: &mut Ui,
    model: &TraceModel,
    state: &ViewState,
    answer: &JobAnswer<Arc<SearchResults>>,
) {
    match answer {
        _ if state.search.is_empty() && state.highlighted.is_none() => {
            drop(ui.weak("over the whole trace"));
        }
        JobAnswer::Running { .. } => drop(ui.weak("searching …")),
        JobAnswer::Failed { error, .. } => {
            drop(ui.colored_label(ui.visuals().warn_fg_color, error));
        }
        JobAnswer::Empty => {}
        JobAnswer::Ready(results) if results.total == 0 => {
            ui.colored_label(ui.visuals().warn_fg_color, "no match");
        }
        JobAnswer::Ready(results) => {
            drop(ui.label(count_text(model, results, state.place.selection)));
        }
    }
}

/// The number of matches, and which of them is selected.
pub fn count_text(
    model: &TraceModel,
    results: &SearchResults,
    selected: Option<SliceId>,
) -> String {
    let total = group_digits(results.total as u64);
    let text = match results.number(model, selected) {
        Some(number) => format!("{} / {total}", group_digits(number as u64)),
        None => counted(results.total as u64, "slice"),
    };
    if results.slices.len() < results.total {
        format!(
            "{text}, the first {} listed",
            group_digits(results.slices.len() as u64)
        )
    } else {
        text
    }
}
