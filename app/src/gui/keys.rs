//! Everything that can be done without a mouse: one table, from which keys, help and
//! the command palette are made. Letters are physical keys, so that WASD lie
//! together on every keyboard; signs are what the keyboard says they are.

use std::collections::BTreeMap;

use egui::{Event, InputState, Key, Modifiers};

use super::Command;
use super::pair::PairCommand;
use super::settings::ThemeChoice;
use crate::view::pair::{Lock, Side};
use crate::view::state::{ColorBy, Layer, MouseMode, Neighbour, Panel, ViewCommand, ViewState};
use crate::view::tabs::{self, TABS};

/// Something that can be done.
pub struct Action {
    /// Stable name, by which keys are remapped in the settings.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// Keys where nothing else is set.
    pub keys: &'static [&'static str],
    /// What it wants; `None` for what lasts as long as a key is held.
    pub run: Option<fn(&ViewState) -> Command>,
}

const fn action(
    id: &'static str,
    title: &'static str,
    keys: &'static [&'static str],
    run: fn(&ViewState) -> Command,
) -> Action {
    Action { id, title, keys, run: Some(run) }
}

const fn held(id: &'static str, title: &'static str, keys: &'static [&'static str]) -> Action {
    Action { id, title, keys, run: None }
}

fn toggle(state: &ViewState, panel: Panel) -> Command {
    ViewCommand::ShowPanel(panel, !state.shows(panel)).into()
}

fn toggle_layer(state: &ViewState, layer: Layer) -> Command {
    ViewCommand::ShowLayer(layer, !state.draws(layer)).into()
}

/// Theme of the actions that mean nothing while only one trace is open.
const COMPARE: &str = "Compare two runs";

/// All actions by theme, in the order of the help.
#[rustfmt::skip]
pub const ACTIONS: &[(&str, &[Action])] = &[
    ("Move", &[
        held("zoom-in", "Zoom in at the pointer", &["W", "Plus", "Equals"]),
        held("zoom-out", "Zoom out at the pointer", &["S", "Minus"]),
        held("pan-left", "Pan left (Shift: faster, Alt: finer)", &["A"]),
        held("pan-right", "Pan right", &["D"]),
        held("scroll-up", "Scroll the tracks up", &["Up"]),
        held("scroll-down", "Scroll the tracks down", &["Down"]),
        action("focus", "Zoom to the selection; again: fill the view", &["F"], |_| ViewCommand::Focus.into()),
        action("fit", "Show the whole trace", &["0", "Z"], |_| ViewCommand::Fit.into()),
        action("undo", "Back to where the view was", &["Alt+Left", "Backspace"], |_| ViewCommand::Undo.into()),
        action("redo", "Forth again", &["Alt+Right"], |_| ViewCommand::Redo.into()),
    ]),
    ("Select", &[
        action("previous", "Previous slice of the lane", &["Left", "Comma"], |_| ViewCommand::Step(Neighbour::Previous).into()),
        action("next", "Next slice of the lane", &["Right", "Period"], |_| ViewCommand::Step(Neighbour::Next).into()),
        action("parent", "Slice around", &["Ctrl+Up"], |_| ViewCommand::Step(Neighbour::Parent).into()),
        action("child", "Slice inside", &["Ctrl+Down"], |_| ViewCommand::Step(Neighbour::Child).into()),
        action("follow", "Follow an arrow", &["CloseBracket"], |_| ViewCommand::FollowFlow(true).into()),
        action("follow-back", "Follow an arrow back", &["OpenBracket"], |_| ViewCommand::FollowFlow(false).into()),
        action("cycle-flow", "Choose the next arrow", &["Ctrl+CloseBracket"], |_| ViewCommand::CycleFlow(true).into()),
        action("cycle-flow-back", "Choose the previous arrow", &["Ctrl+OpenBracket"], |_| ViewCommand::CycleFlow(false).into()),
        action("mark", "Mark the time of the selection", &["M", "R"], |_| ViewCommand::MarkSelection(false).into()),
        action("keep-mark", "Keep the marked time as a note", &["Shift+M"], |_| ViewCommand::MarkSelection(true).into()),
        action("mark-all", "Mark the whole trace", &["Ctrl+A"], |_| ViewCommand::MarkAll.into()),
        action("isolate", "Draw only what was found, or all", &["I"], |state| ViewCommand::Isolate(!state.isolate).into()),
        action("leave", "Close the box, or select nothing", &["Escape"], leave),
    ]),
    ("Mouse", &[
        action("mouse-select", "Dragging marks an area of tracks", &["1"], |_| ViewCommand::Mouse(MouseMode::Select).into()),
        action("mouse-pan", "Dragging pans", &["2"], |_| ViewCommand::Mouse(MouseMode::Pan).into()),
        action("mouse-zoom", "Dragging zooms", &["3"], |_| ViewCommand::Mouse(MouseMode::Zoom).into()),
        action("mouse-time", "Dragging marks a time on all tracks", &["4"], |_| ViewCommand::Mouse(MouseMode::Time).into()),
    ]),
    ("Window", &[
        action("search", "Search; Enter / Shift+Enter: next / previous", &["Slash", "Ctrl+F"], |_| ViewCommand::ShowPanel(Panel::Search, true).into()),
        action("palette", "Everything that can be done", &["Ctrl+Shift+P", "F1"], |state| toggle(state, Panel::Palette)),
        action("filter-tracks", "Filter tracks by name", &["Ctrl+P", "Shift+T"], |_| Command::FilterTracks),
        action("details", "Details", &["Q"], |state| toggle(state, Panel::Details)),
        action("reports", "Reports", &["Ctrl+B"], |state| toggle(state, Panel::Reports)),
        action("wide", "Reports: most of the window, or a column", &["Ctrl+Shift+B"], |state| ViewCommand::WideReports(!state.wide_reports).into()),
        action("notes", "Notes", &["N"], |state| toggle(state, Panel::Notes)),
        action("grid", "Grid", &["G"], |state| toggle_layer(state, Layer::Grid)),
        action("help", "This help", &["Questionmark"], |state| toggle(state, Panel::Help)),
        action("open", "Open a file", &["Ctrl+O"], |_| Command::OpenDialog),
        action("compare", "Compare with another file", &[], |_| Command::CompareDialog),
        action("save-session", "Save view and notes as a session", &["Ctrl+S"], |_| Command::SaveSession(String::new())),
        action("save-svg", "Save the timeline as SVG", &[], |_| Command::SaveSvg),
        action("save-png", "Save the window as PNG", &[], |_| Command::SavePng),
    ]),
    (COMPARE, &[
        action("swap-focus", "Compare: keys and panels are about the other run", &["C"], |_| PairCommand::SwapFocus.into()),
        action("lock", "Compare: lock or unlock the two timelines", &["Shift+C"], |_| PairCommand::ToggleLock.into()),
        action("swap", "Compare: swap A and B", &["X"], |_| PairCommand::Swap.into()),
        action("lock-steps", "Compare: lock by steps", &[], |_| PairCommand::Lock(Lock::Step).into()),
        action("lock-ops", "Compare: lock by ops", &[], |_| PairCommand::Lock(Lock::Op).into()),
        action("lock-offset", "Compare: lock by an offset", &[], |_| PairCommand::Lock(Lock::Offset).into()),
        action("color-change", "Colour by change", &[], |_| ViewCommand::Color(ColorBy::Change).into()),
        action("compare-tab", "Reports: Compare", &[], |_| ViewCommand::ShowTab(tabs::COMPARE.to_owned()).into()),
        action("keep-a", "Compare: close B", &[], |_| PairCommand::Keep(Side::A).into()),
        action("keep-b", "Compare: close A", &[], |_| PairCommand::Keep(Side::B).into()),
    ]),
    ("View", &[
        action("fold-all", "Fold all tracks", &[], |_| ViewCommand::FoldAll(true).into()),
        action("unfold-all", "Unfold all tracks", &[], |_| ViewCommand::FoldAll(false).into()),
        action("show-all", "Show all hidden tracks", &[], |_| ViewCommand::ShowAllTracks.into()),
        action("minimap", "Minimap", &[], |state| toggle_layer(state, Layer::Minimap)),
        action("steps", "Bands of steps", &[], |state| toggle_layer(state, Layer::Steps)),
        action("arrows", "Arrows of the selected slice", &[], |state| toggle_layer(state, Layer::Arrows)),
        action("color-category", "Colour by kind of work", &[], |_| ViewCommand::Color(ColorBy::Category).into()),
        action("color-name", "Colour by name", &[], |_| ViewCommand::Color(ColorBy::Name).into()),
        action("color-module", "Colour by program", &[], |_| ViewCommand::Color(ColorBy::Module).into()),
        action("color-efficiency", "Colour by roofline efficiency", &[], |_| ViewCommand::Color(ColorBy::Efficiency).into()),
        action("dark", "Dark theme", &[], |_| Command::Theme(ThemeChoice::Dark)),
        action("light", "Light theme", &[], |_| Command::Theme(ThemeChoice::Light)),
    ]),
];

/// What the mouse does, for the help.
pub const MOUSE: &[(&str, &str)] = &[
    ("Wheel", "Scroll the tracks; with Ctrl: zoom; with Shift: pan"),
    ("Click", "Select; twice: select and zoom"),
    ("Ctrl+click", "Light up all of the same name, beside what is lit; again: no more"),
    ("Drag", "Mark an area and sum it up; its edges can be dragged (Alt: do not snap)"),
    ("Drag on the ruler", "Mark a time on all tracks"),
    ("Shift, Space, middle or right drag", "Pan"),
    ("P over a track", "Pin it to the top; right-click its name for more"),
];

/// Escape: the innermost thing that is open.
fn leave(state: &ViewState) -> Command {
    for panel in [Panel::Palette, Panel::Help, Panel::Search] {
        if state.shows(panel) {
            return ViewCommand::ShowPanel(panel, false).into();
        }
    }
    ViewCommand::Deselect.into()
}

/// Everything for the command palette: title, keys, and what it does; of one open trace or two.
pub fn palette(keys: &Keys, state: &ViewState, comparing: bool) -> Vec<(String, String, Command)> {
    let themes = ACTIONS.iter().filter(|(theme, _)| comparing || *theme != COMPARE);
    let actions = themes.flat_map(|(_, actions)| *actions);
    let mut all: Vec<_> = actions
        .filter(|action| action.id != "palette" && action.id != "leave")
        .filter_map(|action| Some((action.title.to_owned(), keys.shown(action.id), action.run?(state))))
        .collect();
    for tab in &TABS {
        let command = ViewCommand::ShowTab(tab.id.to_owned()).into();
        all.push((format!("Reports: {}", tab.title), String::new(), command));
    }
    all
}

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chord {
    key: Key,
    command: bool,
    shift: bool,
    alt: bool,
}

impl Chord {
    /// `Ctrl+Shift+P` as typed; `None` where it is no key.
    pub fn read(text: &str) -> Option<Self> {
        let mut parts: Vec<&str> = text.split('+').map(str::trim).collect();
        let key = Key::from_name(parts.pop()?)?;
        let mut chord = Self { key, command: false, shift: false, alt: false };
        for part in parts {
            match part.to_ascii_lowercase().as_str() {
                "ctrl" | "cmd" => chord.command = true,
                "shift" => chord.shift = true,
                "alt" => chord.alt = true,
                _ => return None,
            }
        }
        Some(chord)
    }

    /// What was pressed.
    pub fn pressed(key: Key, physical: Key, modifiers: Modifiers) -> Self {
        let key = match (key, physical) {
            // Where the two letters have changed places, Z is what says Z: no finger rests on it.
            (Key::Z, Key::Y) | (Key::Y, Key::Z) => key,
            (Key::Slash, _) if modifiers.shift => Key::Questionmark,
            _ if is_letter(physical) => physical,
            _ => key,
        };
        Self { key, command: modifiers.command, shift: modifiers.shift, alt: modifiers.alt }
    }

    /// Whether it is the same; Shift counts only where it does not make another sign.
    fn is(self, other: Self) -> bool {
        let shift = self.shift == other.shift || !(is_letter(self.key) || is_arrow(self.key));
        self.key == other.key && self.command == other.command && self.alt == other.alt && shift
    }

    fn shown(self) -> String {
        let mut text = String::new();
        for (is, name) in [(self.command, "Ctrl+"), (self.alt, "Alt+"), (self.shift, "Shift+")] {
            if is {
                text.push_str(name);
            }
        }
        text + match self.key {
            Key::ArrowLeft => "←",
            Key::ArrowRight => "→",
            Key::ArrowUp => "↑",
            Key::ArrowDown => "↓",
            // Not every font has the other signs.
            key if key.symbol_or_name().is_ascii() => key.symbol_or_name(),
            key => key.name(),
        }
    }
}

fn is_letter(key: Key) -> bool {
    let name = key.name();
    name.len() == 1 && name.chars().all(|c| c.is_ascii_uppercase())
}

fn is_arrow(key: Key) -> bool {
    matches!(key, Key::ArrowLeft | Key::ArrowRight | Key::ArrowUp | Key::ArrowDown)
}

/// Which keys do what.
#[derive(Clone, Debug, PartialEq)]
pub struct Keys {
    chords: Vec<(Chord, &'static str)>,
}

impl Default for Keys {
    fn default() -> Self {
        Self::new(&BTreeMap::new())
    }
}

impl Keys {
    /// The usual ones, with those of some actions replaced. What is no key counts for nothing.
    pub fn new(replaced: &BTreeMap<String, Vec<String>>) -> Self {
        let mut chords = Vec::new();
        for action in ACTIONS.iter().flat_map(|(_, actions)| *actions) {
            match replaced.get(action.id) {
                Some(own) => chords.extend(own.iter().filter_map(|text| Some((Chord::read(text)?, action.id)))),
                None => chords.extend(action.keys.iter().filter_map(|text| Some((Chord::read(text)?, action.id)))),
            }
        }
        Self { chords }
    }

    /// Keys of an action, for people.
    pub fn shown(&self, id: &str) -> String {
        let own = self.chords.iter().filter(|(_, other)| *other == id);
        own.map(|(chord, _)| chord.shown()).collect::<Vec<_>>().join("  ")
    }

    /// The action that lasts as long as this key is held.
    pub fn held(&self, key: Key, physical: Key) -> Option<&'static str> {
        // Whatever Shift and Alt are: they change the pace.
        let chord = Chord::pressed(key, physical, Modifiers::NONE);
        let found = self.chords.iter().find(|(own, _)| own.key == chord.key && !own.command && !own.alt)?;
        let mut held = ACTIONS.iter().flat_map(|(_, actions)| *actions).filter(|action| action.run.is_none());
        held.find(|action| action.id == found.1).map(|action| action.id)
    }

    /// Commands of the keys that went down in this frame. Not to be called while a
    /// text is being typed.
    pub fn pressed(&self, input: &InputState, state: Option<&ViewState>) -> Vec<Command> {
        let events = input.events.iter().filter_map(|event| match event {
            Event::Key { key, physical_key, pressed: true, repeat, modifiers, .. } => {
                let chord = Chord::pressed(*key, physical_key.unwrap_or(*key), *modifiers);
                let found = self.chords.iter().find(|(own, _)| own.is(chord))?.1;
                let steps = matches!(found, "previous" | "next" | "undo" | "redo");
                (!repeat || steps).then_some(found)
            }
            _ => None,
        });
        let mut commands = Vec::new();
        for id in events {
            let action = ACTIONS.iter().flat_map(|(_, actions)| *actions).find(|action| action.id == id);
            let Some(run) = action.and_then(|action| action.run) else { continue };
            match state {
                Some(state) => commands.push(run(state)),
                None if id == "open" => commands.push(Command::OpenDialog),
                None => {}
            }
        }
        commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_a_key_and_does_one_thing() {
        let keys = Keys::default();
        let named: usize = ACTIONS.iter().flat_map(|(_, actions)| *actions).map(|action| action.keys.len()).sum();
        assert_eq!(keys.chords.len(), named);
        for (i, (chord, id)) in keys.chords.iter().enumerate() {
            for (other, other_id) in &keys.chords[i + 1..] {
                assert!(!chord.is(*other), "{id} and {other_id} share {}", chord.shown());
            }
        }
    }

    #[test]
    fn letters_go_by_their_place_and_keys_can_be_replaced() {
        // The key at the place of W says Z on a French keyboard.
        let keys = Keys::default();
        assert_eq!(keys.held(Key::Z, Key::W), Some("zoom-in"));
        let german = Chord::pressed(Key::Z, Key::Y, Modifiers::NONE);
        assert!(german.is(Chord::read("Z").unwrap()));
        assert_eq!(keys.held(Key::Q, Key::A), Some("pan-left"));
        let own = Keys::new(&BTreeMap::from([("focus".to_owned(), vec!["Ctrl+E".to_owned(), "nonsense".to_owned()])]));
        assert_eq!(own.shown("focus"), "Ctrl+E");
    }
}
