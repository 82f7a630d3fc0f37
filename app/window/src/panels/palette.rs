//! The command palette: finds commands, reports, steps, times, tracks and ops.

use super::prelude::*;

use super::find::{PaletteEntry, begins, find, fits, hints};
use super::tabs::{TABS, tab::TabSubject};
use crate::keys::{self, Keys};

/// Height of a row.
const ROW: f32 = 26.0;
/// Largest height of the list.
const MOST_HEIGHT: f32 = 364.0;

/// The typed text and the chosen entry.
#[derive(Default)]
pub struct PaletteInput {
    text: String,
    chosen: usize,
    /// Search results in the trace, with the text and the number of steps that they were computed for.
    found: Option<(String, usize, Vec<PaletteEntry>)>,
}

impl PaletteInput {
    /// Everything that the text matches: entries of the trace, and commands.
    fn entries(&mut self, context: &PaletteContext<'_>) -> Vec<PaletteEntry> {
        let key = (self.text.as_str(), context.steps.len());
        if self
            .found
            .as_ref()
            .is_none_or(|(text, steps, _)| (text.as_str(), *steps) != key)
        {
            self.found = Some((
                self.text.clone(),
                key.1,
                find(&self.text, context.trace, context.steps),
            ));
        }
        let typed = self.text.trim().to_lowercase();
        // Both spellings find the commands about colours.
        let spelled = |word: &str| {
            if word.starts_with("color") {
                word.replacen("color", "colour", 1)
            } else {
                word.to_owned()
            }
        };
        let words: Vec<String> = typed.split_whitespace().map(spelled).collect();
        let tabs = TABS
            .iter()
            .filter(|tab| tab.subject != TabSubject::Other)
            .map(|tab| {
                let title = format!("Reports: {}", tab.title);
                let more = keys::synonyms(&format!("tab:{}", tab.id));
                (title, more, String::new(), tab.show().into())
            });
        let commands = keys::palette(context.keys, context.state, context.comparing)
            .into_iter()
            .map(|(action, keys, command)| {
                let more = keys::synonyms(action.id);
                (action.title.to_owned(), more, keys, command)
            });
        let commands = commands
            .chain(tabs)
            .filter(|(title, more, ..)| fits(&format!("{title} {more}"), &words));
        let mut commands: Vec<_> = commands.collect();
        // A word is more likely the beginning of one than its middle, and of a title than of a synonym.
        commands.sort_by_key(|(title, more, ..)| match () {
            () if begins(title, &words) => 0,
            () if begins(&format!("{title} {more}"), &words) => 1,
            () if fits(title, &words) => 2,
            () => 3,
        });
        let mut entries: Vec<PaletteEntry> = commands
            .into_iter()
            .map(|(title, _, note, command)| PaletteEntry {
                title,
                note,
                commands: vec![command],
            })
            .collect();
        entries.extend(hints(&words, context.trace, context.hints));
        let entries_found = self
            .found
            .as_ref()
            .map(|(.., entries_found)| entries_found.as_slice())
            .unwrap_or_default();
        // A time or a step was typed as such.
        let first = entries_found
            .iter()
            .take_while(|entry| entry.note.starts_with("time") || entry.note.starts_with("step"))
            .count();
        entries.splice(0..0, entries_found[..first].iter().cloned());
        entries.extend(entries_found[first..].iter().cloned());
        if !typed.is_empty()
            && let Some(rest) = entries.get_mut(first..)
        {
            // What begins with the text comes before what contains it.
            rest.sort_by_key(|entry| !entry.title.to_lowercase().starts_with(&typed));
        }
        entries
    }
}

/// What the palette searches.
#[derive(Clone, Copy)]
pub struct PaletteContext<'a> {
    pub keys: &'a Keys,
    pub trace: &'a OpenTrace,
    pub state: &'a ViewState,
    pub steps: &'a [StepBand],
    /// Those of the whole trace, if they are known.
    pub hints: &'a [Hint],
    /// Whether two traces are open.
    pub comparing: bool,
}

/// The input field and what it finds.
pub fn palette_ui(
    ctx: &Context,
    context: PaletteContext<'_>,
    typed: &mut PaletteInput,
    out: &mut AppCommands,
) {
    let mut done = false;
    let window = dialog("Commands").title_bar(false);
    let width = 560.0_f32.min(ctx.content_rect().width() - 40.0);
    let shown = window
        .anchor(Align2::CENTER_TOP, [0.0, 76.0])
        .show(ctx, |ui| {
            ui.set_width(width);
            let about = "Commands, reports, hints, tracks, ops, steps (step 40), times (48.93 s)";
            let label = ui.label(remark(about));
            let field = ui
                .add(TextEdit::singleline(&mut typed.text).desired_width(f32::INFINITY))
                .labelled_by(label.id);
            field.labeled(Role::TextInput, "Search commands");
            field.request_focus();
            if field.changed() {
                typed.chosen = 0;
            }
            let entries = typed.entries(&context);
            let (enter, escape, down, up) = ui.input(|i| {
                let pressed = |key| i.key_pressed(key);
                (
                    pressed(Key::Enter),
                    pressed(Key::Escape),
                    pressed(Key::ArrowDown),
                    pressed(Key::ArrowUp),
                )
            });
            typed.chosen = (typed.chosen + usize::from(down)).min(entries.len().saturating_sub(1));
            typed.chosen = typed.chosen.saturating_sub(usize::from(up));
            done = escape;
            // As high as what is found, so that little of the timeline is covered.
            let height = MOST_HEIGHT.min(ctx.content_rect().height() - 150.0);
            ScrollArea::vertical()
                .auto_shrink([false, true])
                .max_height(height)
                .show(ui, |ui| {
                    ui.spacing_mut().item_spacing.y = 0.0;
                    if entries.is_empty() {
                        ui.weak("Nothing matches.");
                    }
                    for (i, entry) in entries.into_iter().enumerate() {
                        let chosen = i == typed.chosen;
                        let response = row_ui(ui, &entry, chosen);
                        if chosen && (down || up) {
                            response.scroll_to_me(None);
                        }
                        if response.clicked() || (chosen && enter) {
                            out.extend(entry.commands);
                            done = true;
                        }
                    }
                });
        });
    // A click on anything else is meant for that.
    let clicked = ctx.input(|i| {
        if i.pointer.any_click() {
            i.pointer.interact_pos()
        } else {
            None
        }
    });
    done |=
        clicked.is_some_and(|pos| shown.is_some_and(|shown| !shown.response.rect.contains(pos)));
    if done {
        *typed = PaletteInput::default();
        out.insert(0, ViewCommand::ShowPanel(Panel::Palette, false).into());
    }
}

/// One entry over the whole width.
fn row_ui(ui: &mut Ui, entry: &PaletteEntry, chosen: bool) -> Response {
    let theme = theme::current(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    response.labeled_choice(Role::Button, chosen, &entry.title);
    if !ui.is_rect_visible(rect) {
        return response;
    }
    let painter = ui.painter_at(rect);
    if chosen {
        painter.rect_filled(rect, 4.0, theme.accent.gamma_multiply(0.3));
    } else if response.hovered() {
        painter.rect_filled(rect, 4.0, theme.raised);
    }
    let room = rect.width() - 20.0;
    let right = rect.right_center() - vec2(10.0, 0.0);
    let note = elided(
        &painter,
        right,
        Align2::RIGHT_CENTER,
        &entry.note,
        room * 0.55,
        &small_font(),
        theme.text_weak,
    );
    let left = rect.left_center() + vec2(10.0, 0.0);
    let color = if chosen {
        theme.text_strong
    } else {
        theme.text
    };
    elided_name(
        &painter,
        left,
        &entry.title,
        room - note.x - 12.0,
        &FontId::proportional(13.0),
        color,
    );
    response
}
