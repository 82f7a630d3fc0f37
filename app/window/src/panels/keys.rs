//! The dialog that changes keys: all actions with their keys; press a key to assign it.

use super::prelude::*;
use egui::{Event, EventFilter};

use super::help::BESIDE;
use crate::chord::Chord;
use crate::command::Remap;
use crate::keys::{ACTIONS, Action, KeyFocus, Keys, LEAVE, can_mean};

/// State of the dialog between frames.
#[derive(Default)]
pub struct KeyEdit {
    filter: String,
    /// The action that waits for a key.
    waiting: Option<&'static str>,
    /// A key that is already assigned, with the action for which it was pressed.
    taken: Option<(&'static str, Chord)>,
    /// The action whose button loses the keyboard focus in the next frame: in this one, the timeline would still react
    /// to the key.
    leaving: Option<&'static str>,
}

/// The window with all actions by group.
pub fn keys_ui(
    ctx: &Context,
    keys: &Keys,
    settings: &Settings,
    changing: &mut KeyEdit,
    out: &mut AppCommands,
) {
    let mut open = true;
    dialog("Change keys").open(&mut open).anchor(Align2::CENTER_CENTER, Vec2::ZERO).show(ctx, |ui| {
        ui.set_width((ctx.content_rect().width() - BESIDE).min(620.0));
        ui.horizontal(|ui| {
            let width = ui.available_width() / 2.0;
            text_field(ui, &mut changing.filter, "Filter keys", "Filter by action or key", width);
            at_right(ui, |ui| {
                // Entries of actions that only another version knows are kept.
                let any = ACTIONS.iter().flat_map(|(_, actions)| *actions).any(|action| !keys.are_usual(action));
                ui
                    .add_enabled(any, Button::new("Reset all"))
                    .on_hover_text("Reset all keys to their defaults").sends(out, AppCommand::Remap(Remap::ResetAll));
            });
        });
        ui.separator();
        let height = ctx.content_rect().height() * 0.7;
        ScrollArea::both().max_height(height).min_scrolled_height(height).auto_shrink([false, true]).show(
            ui,
            |ui| {
                for (theme, actions) in ACTIONS {
                    theme_ui(ui, theme, actions, keys, settings, changing, out);
                }
            },
        );
        ui.separator();
        let about = "Letters mean positions on the keyboard, whatever the layout. Escape always closes.";
        ui.label(remark(about));
    });
    if !open {
        *changing = KeyEdit::default();
        out.push(ViewCommand::ShowPanel(Panel::Keys, false).into());
    }
}

fn theme_ui(
    ui: &mut Ui,
    theme: &str,
    actions: &'static [Action],
    keys: &Keys,
    settings: &Settings,
    changing: &mut KeyEdit,
    out: &mut AppCommands,
) {
    let wanted = changing.filter.to_lowercase();
    let fits = |action: &&Action| {
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        action.id != LEAVE
            && (wanted.is_empty()
                || has(action.title)
                || keys.of(action.id).any(|key| has(&key.shown())))
    };
    let mut shown = actions.iter().filter(fits).peekable();
    if shown.peek().is_none() {
        return;
    }
    ui.add_space(6.0);
    ui.label(
        RichText::new(theme)
            .strong()
            .color(theme::current(ui).text_strong),
    );
    for action in shown {
        let is_changed = settings.keys.contains_key(action.id) || !keys.are_usual(action);
        row_ui(ui, action, keys, is_changed, changing, out);
    }
}

/// An action on the left; its keys and buttons on the right.
fn row_ui(
    ui: &mut Ui,
    action: &'static Action,
    keys: &Keys,
    is_changed: bool,
    changing: &mut KeyEdit,
    out: &mut AppCommands,
) {
    ui.horizontal(|ui| {
        ui.set_min_height(22.0);
        ui.add_space(10.0);
        ui.label(action.title);
        at_right(ui, |ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            ui.add_space(8.0);
            add_ui(ui, action, keys, changing, out);
            if is_changed {
                let reset = ui.add(Button::new(remark("Reset")).frame(false));
                reset.labeled(Role::Button, format_args!("Reset keys: {}", action.title));
                reset
                    .on_hover_text("Reset to the default keys")
                    .sends(out, AppCommand::Remap(Remap::Reset(action.id)));
            }
            for chord in keys.of(action.id).collect::<Vec<_>>().into_iter().rev() {
                key_ui(ui, action, chord, out);
            }
        });
    });
    if let Some((id, chord)) = changing.taken
        && id == action.id
    {
        taken_ui(ui, action, chord, keys, changing, out);
    }
}

/// A key, with a button to remove it.
fn key_ui(ui: &mut Ui, action: &'static Action, chord: Chord, out: &mut AppCommands) {
    let text = RichText::new(chord.shown())
        .monospace()
        .color(theme::current(ui).text_strong);
    let button = ui.add(Button::new(text).small());
    let label = format!("Remove {}: {}", chord.shown(), action.title);
    button.labeled(Role::Button, &label);
    button
        .on_hover_text("Click to remove this key")
        .sends(out, AppCommand::Remap(Remap::Remove(action.id, chord)));
}

/// The button that waits for a key.
fn add_ui(
    ui: &mut Ui,
    action: &'static Action,
    keys: &Keys,
    changing: &mut KeyEdit,
    out: &mut AppCommands,
) {
    let waits = changing.waiting == Some(action.id);
    let text = if waits {
        let what = if action.run.is_none() {
            "a key without Ctrl"
        } else {
            "a key"
        };
        RichText::new(format!("Press {what} (Esc cancels)")).color(theme::current(ui).accent)
    } else {
        RichText::new("+").weak()
    };
    let id = Id::unique(("add key", action.id));
    let button = ui.push_id(id, |ui| ui.add(Button::new(text).small())).inner;
    let label = if waits {
        "Press a key to assign".to_owned()
    } else {
        format!("Add a key: {}", action.title)
    };
    button.labeled(Role::Button, &label);
    if changing.leaving == Some(action.id) {
        changing.leaving = None;
        button.surrender_focus();
    }
    if !waits {
        if button.on_hover_text("Add a key: press it next").clicked() {
            (changing.waiting, changing.taken) = (Some(action.id), None);
            ui.ctx().request_repaint();
        }
        return;
    }
    // While it has the focus, no other widget handles keys, not even those that move the focus.
    button.request_focus();
    KeyFocus::give_all(ui.ctx(), button.id);
    let filter = EventFilter {
        tab: true,
        horizontal_arrows: true,
        vertical_arrows: true,
        escape: true,
    };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(button.id, filter));
    let pressed = ui.input(|i| {
        i.events.iter().find_map(|event| match event {
            Event::Key {
                key,
                physical_key,
                pressed: true,
                repeat: false,
                modifiers,
                ..
            } => {
                let chord = Chord::to_assign(*key, physical_key.unwrap_or(*key), *modifiers);
                Some((*key, chord.filter(|chord| can_mean(*chord, action))))
            }
            _ => None,
        })
    });
    let elsewhere = ui.input(|i| i.pointer.any_pressed()) && !button.contains_pointer();
    match pressed {
        Some((Key::Escape, _)) => changing.waiting = None,
        Some((_, Some(chord))) if keys.clashes(action.id, chord).is_empty() => {
            changing.waiting = None;
            out.push(AppCommand::Remap(Remap::Assign(action.id, chord)));
        }
        Some((_, Some(chord))) => {
            (changing.waiting, changing.taken) = (None, Some((action.id, chord)));
        }
        None if elsewhere => changing.waiting = None,
        // Keys that operate widgets are ignored, too.
        _ => {}
    }
    if changing.waiting.is_none() {
        changing.leaving = Some(action.id);
        ui.ctx().request_repaint();
    }
}

/// Shows what a key is already assigned to, and asks whether to reassign it.
fn taken_ui(
    ui: &mut Ui,
    action: &'static Action,
    chord: Chord,
    keys: &Keys,
    changing: &mut KeyEdit,
    out: &mut AppCommands,
) {
    let others = joined(
        keys.clashes(action.id, chord)
            .iter()
            .map(|other| other.title),
        "; ",
    );
    ui.horizontal_wrapped(|ui| {
        ui.add_space(24.0);
        let text = format!("{} is already used for: {others}", chord.shown());
        ui.colored_label(theme::current(ui).warning, text);
        if ui.button("Move it here").clicked() {
            changing.taken = None;
            out.push(AppCommand::Remap(Remap::Assign(action.id, chord)));
        }
        if ui.button("Leave it there").clicked() {
            changing.taken = None;
        }
    });
}
