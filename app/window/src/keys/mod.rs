//! Keyboard actions. One table defines keys, help, tooltips, the command palette and the key dialog. Letters are
//! physical keys, so that WASD lie together on every keyboard; other characters follow the keyboard layout.

mod actions;
mod focus;
mod remap;
mod synonyms;

use crate::prelude::*;
use egui::{Event, Modifiers};

pub use actions::{ACTIONS, Action, LEAVE, MOUSE};
pub use focus::KeyFocus;
pub use remap::remapped;
pub use synonyms::synonyms;

use crate::chord::Chord;
use crate::command::{AppCommand, AppCommands};
use actions::COMPARE;

/// The current key bindings.
#[derive(Debug)]
pub struct Keys {
    chords: Vec<(Chord, &'static str)>,
}

impl Default for Keys {
    fn default() -> Self {
        Self::new(&BTreeMap::new())
    }
}

impl Keys {
    /// The default bindings with those of some actions replaced. Invalid keys and keys that an action cannot have are
    /// ignored; replacements take precedence over defaults.
    pub fn new(replaced: &BTreeMap<String, Vec<String>>) -> Self {
        let actions = || ACTIONS.iter().flat_map(|(_, actions)| *actions);
        let own_of = |action: &'static Action| -> Option<Vec<(Chord, &'static str)>> {
            let by_user = replaced
                .get(action.id)
                .filter(|_| action.id != LEAVE)?
                .iter()
                .filter_map(|text| Chord::read(text))
                .filter(|chord| can_mean(*chord, action));
            Some(by_user.map(|chord| (chord, action.id)).collect())
        };
        let all_own: Vec<_> = actions().filter_map(own_of).flatten().collect();
        let is_free =
            |usual: &(Chord, &'static str)| !all_own.iter().any(|by_user| clash(*by_user, *usual));
        let usual = |action: &'static Action| {
            usual(action)
                .map(|chord| (chord, action.id))
                .filter(is_free)
                .collect::<Vec<_>>()
        };
        Self {
            chords: actions()
                .flat_map(|action| own_of(action).unwrap_or_else(|| usual(action)))
                .collect(),
        }
    }

    /// Keys of an action, for display.
    pub fn shown(&self, id: &str) -> String {
        joined(self.of(id).map(Chord::shown), "  ")
    }

    /// The held action of this key.
    pub fn held(&self, key: Key, physical: Key) -> Option<&'static str> {
        // Regardless of Shift and Alt, which change the speed.
        let chord = Chord::pressed(key, physical, Modifiers::NONE);
        let mut held = self.chords.iter().filter(|(_, id)| lasts(id));
        held.find(|(pressed, _)| pressed.key == chord.key && !pressed.command)
            .map(|&(_, id)| id)
    }

    /// Keys of an action.
    pub fn of(&self, id: &str) -> impl Iterator<Item = Chord> {
        self.chords
            .iter()
            .filter(move |(_, other)| *other == id)
            .map(|&(chord, _)| chord)
    }

    /// Whether an action has its default keys: not changed, and none taken by another action.
    pub fn are_usual(&self, action: &'static Action) -> bool {
        self.of(action.id).eq(usual(action))
    }

    /// Other actions that would share a key if it were assigned to `id`.
    pub fn clashes(&self, id: &str, chord: Chord) -> Vec<&'static Action> {
        let mut others: Vec<&'static str> = Vec::new();
        for &(known, other) in &self.chords {
            if other != id && clash((chord, id), (known, other)) && !others.contains(&other) {
                others.push(other);
            }
        }
        others.into_iter().filter_map(action_of).collect()
    }

    /// Makes the bindings available to everything that draws.
    pub fn install(self: &Arc<Self>, ctx: &Context) {
        ctx.data_mut(|data| data.insert_temp(Id::unique("keys"), Arc::clone(self)));
    }

    /// Commands of the keys pressed in this frame that do not belong to what has the focus, and the number of events up
    /// to the one after which a text field has it.
    pub fn pressed(
        &self,
        events: &[Event],
        focus: KeyFocus,
        state: Option<&ViewState>,
    ) -> (AppCommands, usize) {
        let has_palette = state.is_some_and(|state| state.shows(Panel::Palette));
        let action_of_event = |event: &Event| match event {
            Event::Key {
                key,
                physical_key,
                pressed: true,
                repeat,
                modifiers,
                ..
            } => {
                let chord = Chord::pressed(*key, physical_key.unwrap_or(*key), *modifiers);
                let id_of_action = self.chords.iter().find(|(bound, _)| bound.is(chord))?.1;
                if !focus.leaves(chord, id_of_action, has_palette) {
                    return None;
                }
                let steps = matches!(
                    id_of_action,
                    "previous"
                        | "next"
                        | "previous-of-name"
                        | "next-of-name"
                        | "undo"
                        | "redo"
                        | "zoom-in-once"
                        | "zoom-out-once"
                );
                (!repeat || steps).then_some(id_of_action)
            }
            _ => None,
        };
        let mut commands = Vec::new();
        for (index, event) in events.iter().enumerate() {
            let Some(id) = action_of_event(event) else {
                continue;
            };
            let Some(run) = action_of(id).and_then(|action| action.run) else {
                continue;
            };
            match state {
                Some(state) => commands.push(run(state)),
                None => commands.extend(without_trace(id)),
            }
            if focus::opens_field(id) {
                return (commands, index + 1);
            }
        }
        (commands, events.len())
    }
}

/// The command of an action while no trace is open.
fn without_trace(id: &str) -> Option<AppCommand> {
    match id {
        "open" => Some(AppCommand::OpenDialog),
        #[cfg(not(target_arch = "wasm32"))]
        "capture" => Some(AppCommand::CaptureDialog),
        "help" => Some(ViewCommand::ShowPanel(Panel::Help, true).into()),
        "keys" => Some(ViewCommand::ShowPanel(Panel::Keys, true).into()),
        LEAVE => Some(ViewCommand::Deselect.into()),
        _ => None,
    }
}

/// The action with this name.
pub fn action_of(id: &str) -> Option<&'static Action> {
    ACTIONS
        .iter()
        .flat_map(|(_, actions)| *actions)
        .find(|action| action.id == id)
}

/// The keys of an action, for menus and tooltips; empty where it has none.
pub fn shown_keys(ctx: &Context, id: &str) -> String {
    let keys = ctx.data(|data| data.get_temp::<Arc<Keys>>(Id::unique("keys")));
    keys.map_or_else(String::new, |keys| {
        joined(keys.of(id).map(Chord::shown), ", ")
    })
}

/// The description of a button with its keys.
pub fn hint(ctx: &Context, about: &str, id: &str) -> String {
    let shown = shown_keys(ctx, id);
    if shown.is_empty() {
        about.to_owned()
    } else {
        format!("{about} ({shown})")
    }
}

/// An entry of a menu, with the keys of an action beside it.
pub fn menu_entry(ui: &mut Ui, label: &str, id: &str) -> Response {
    let response = ui.add(Button::new(label).shortcut_text(shown_keys(ui.ctx(), id)));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, label));
    response
}

/// Entries of the command palette: the action, its keys and its command, for one open trace or two.
pub fn palette(
    keys: &Keys,
    state: &ViewState,
    comparing: bool,
) -> Vec<(&'static Action, String, AppCommand)> {
    let actions = ACTIONS
        .iter()
        .filter(|(theme, _)| comparing || *theme != COMPARE)
        .flat_map(|(_, actions)| *actions);
    actions
        // The pointer is over the palette, so there is no track below it.
        .filter(|action| !["palette", "pin", LEAVE].contains(&action.id))
        .filter_map(|action| Some((action, keys.shown(action.id), action.run?(state))))
        .collect()
}

/// Default keys of an action.
fn usual(action: &'static Action) -> impl Iterator<Item = Chord> {
    action.keys.iter().filter_map(|text| Chord::read(text))
}

/// Whether a key can be assigned to an action: Escape is reserved, and held keys are ignored while Ctrl is down.
pub fn can_mean(chord: Chord, action: &Action) -> bool {
    chord.key != Key::Escape && !(chord.command && action.run.is_none())
}

/// Whether an action lasts while its key is held.
fn lasts(id: &str) -> bool {
    action_of(id).is_some_and(|action| action.run.is_none())
}

/// Whether one key press could mean two actions. Held actions also use their key with Shift and Alt, which change the
/// speed.
fn clash(a: (Chord, &str), b: (Chord, &str)) -> bool {
    let takes = |held: (Chord, &str), other: Chord| {
        lasts(held.1) && held.0.key == other.key && !held.0.command && !other.command
    };
    a.0.is(b.0) || takes(a, b.0) || takes(b, a.0)
}

/// Takes keys and texts out of the events of a frame that come after the first `used`, without the text of the last key of
/// those.
pub fn typed_later(events: &mut Vec<Event>, used: usize) -> Vec<Event> {
    let is_typed = |event: &Event| matches!(event, Event::Text(_) | Event::Key { .. });
    let mut later = events.split_off(used.min(events.len()));
    let text_of_key = later
        .iter()
        .position(|event| matches!(event, Event::Text(_) | Event::Key { pressed: true, .. }))
        .filter(|&index| matches!(later.get(index), Some(Event::Text(_))));
    if let Some(text_of_key) = text_of_key {
        later.remove(text_of_key);
    }
    let (typed, others) = later.into_iter().partition(is_typed);
    events.extend::<Vec<_>>(others);
    typed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_keys_are_valid_and_unique() {
        let keys = Keys::default();
        let named: usize = ACTIONS
            .iter()
            .flat_map(|(_, actions)| *actions)
            .map(|action| action.keys.len())
            .sum();
        assert_eq!(keys.chords.len(), named);
        for (i, (chord, id)) in keys.chords.iter().enumerate() {
            for (other, other_id) in &keys.chords[i + 1..] {
                assert!(
                    !clash((*chord, id), (*other, other_id)),
                    "{id} and {other_id} share {}",
                    chord.shown()
                );
            }
        }
    }

    #[test]
    fn letters_use_physical_keys_and_can_be_remapped() {
        // On a French keyboard the key at the position of W is labelled Z.
        let keys = Keys::default();
        assert_eq!(keys.held(Key::Z, Key::W), Some("zoom-in"));
        let german = Chord::pressed(Key::Z, Key::Y, Modifiers::NONE);
        assert!(german.is(Chord::read("Z").unwrap()));
        assert_eq!(keys.held(Key::Q, Key::A), Some("pan-left"));
        let own = Keys::new(&BTreeMap::from([(
            "focus".to_owned(),
            vec!["Ctrl+E".to_owned(), "nonsense".to_owned()],
        )]));
        assert_eq!(own.shown("focus"), "Ctrl+E");
        let own = Keys::new(&BTreeMap::from([
            ("zoom-in".to_owned(), vec!["Ctrl+B".to_owned()]),
            (LEAVE.to_owned(), vec!["Q".to_owned()]),
            (
                "notes".to_owned(),
                vec!["Escape".to_owned(), "F".to_owned()],
            ),
        ]));
        assert_eq!(
            (own.shown("zoom-in"), own.shown("reports")),
            (String::new(), "Ctrl+B".to_owned())
        );
        assert_eq!(
            (own.shown(LEAVE).as_str(), own.shown("details").as_str()),
            ("Escape", "Q")
        );
        assert_eq!(
            (own.shown("notes").as_str(), own.shown("focus").as_str()),
            ("F", ""),
            "one press means one thing"
        );
        // A letter with Shift while another letter is held: the held key still works.
        let own = Keys::new(&BTreeMap::from([(
            "fit".to_owned(),
            vec!["Ctrl+W".to_owned()],
        )]));
        assert_eq!(own.held(Key::W, Key::W), Some("zoom-in"));
    }
}
