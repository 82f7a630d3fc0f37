//! Every key of the app: one table, from which both the behaviour and the help
//! are made. Keys are physical, so that WASD lie together on every keyboard.

use egui::{Event, InputState, Key, Modifiers};

use super::Command;
use super::state::{Neighbour, Panel, ViewCommand, ViewState};

/// One line of the help.
pub struct Binding {
    /// As printed on the keys.
    pub keys: &'static str,
    /// What they do.
    pub about: &'static str,
}

/// What the help shows, in its order.
pub const HELP: &[(&str, &[Binding])] = &[
    (
        "Move",
        &[
            Binding { keys: "W / S", about: "Zoom in / out at the pointer (also + / −)" },
            Binding { keys: "A / D", about: "Pan left / right" },
            Binding { keys: "Shift, Alt", about: "with these: faster, finer" },
            Binding { keys: "↑ / ↓", about: "Scroll the tracks" },
            Binding { keys: "F", about: "Zoom to the selection; again: fill the view" },
            Binding { keys: "0 or Z", about: "Show the whole trace" },
            Binding { keys: "Alt+← / Alt+→", about: "Back / forth to where the view was" },
        ],
    ),
    (
        "Mouse",
        &[
            Binding { keys: "Wheel", about: "Scroll the tracks; with Ctrl: zoom; with Shift: pan" },
            Binding { keys: "Click", about: "Select; twice: select and zoom" },
            Binding { keys: "Drag", about: "Mark a range of time and measure it" },
            Binding { keys: "Shift, middle or right drag", about: "Pan" },
        ],
    ),
    (
        "Select",
        &[
            Binding { keys: "← / →  or  , / .", about: "Previous / next slice of the lane" },
            Binding { keys: "Ctrl+↑ / Ctrl+↓", about: "Slice around / inside" },
            Binding { keys: "[ / ]", about: "Follow an arrow back / forth" },
            Binding { keys: "Esc", about: "Select nothing" },
        ],
    ),
    (
        "Window",
        &[
            Binding { keys: "/ or Ctrl+F", about: "Search; Enter / Shift+Enter: next / previous" },
            Binding { keys: "Q", about: "Details" },
            Binding { keys: "Ctrl+B", about: "Overview" },
            Binding { keys: "Ctrl+O", about: "Open a file" },
            Binding { keys: "?", about: "This help" },
        ],
    ),
];

/// Commands of the keys that went down in this frame. Not to be called while a
/// text is being typed.
pub fn pressed(input: &InputState, state: Option<&ViewState>) -> Vec<Command> {
    input
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Key { key, physical_key, pressed: true, repeat, modifiers, .. } => {
                command_of(*key, physical_key.unwrap_or(*key), *modifiers, *repeat, state)
            }
            _ => None,
        })
        .collect()
}

fn command_of(
    key: Key,
    physical: Key,
    modifiers: Modifiers,
    repeat: bool,
    state: Option<&ViewState>,
) -> Option<Command> {
    if modifiers.command {
        match key {
            Key::O => return Some(Command::OpenDialog),
            Key::F => return Some(ViewCommand::ShowPanel(Panel::Search, true).into()),
            Key::B => return state.map(|state| toggle(state, Panel::Overview)),
            Key::ArrowUp => return Some(ViewCommand::Step(Neighbour::Parent).into()),
            Key::ArrowDown => return Some(ViewCommand::Step(Neighbour::Child).into()),
            _ => return None,
        }
    }
    let state = state?;
    if modifiers.alt {
        return match key {
            Key::ArrowLeft => Some(ViewCommand::Undo.into()),
            Key::ArrowRight => Some(ViewCommand::Redo.into()),
            _ => None,
        };
    }
    // What depends on the character, wherever its key lies.
    match key {
        Key::Questionmark => return Some(toggle(state, Panel::Help)),
        Key::Slash if modifiers.shift => return Some(toggle(state, Panel::Help)),
        Key::Slash => return Some(ViewCommand::ShowPanel(Panel::Search, true).into()),
        Key::Num0 => return Some(ViewCommand::Fit.into()),
        Key::OpenBracket => return Some(ViewCommand::FollowFlow(false).into()),
        Key::CloseBracket => return Some(ViewCommand::FollowFlow(true).into()),
        Key::ArrowLeft | Key::Comma => return Some(ViewCommand::Step(Neighbour::Previous).into()),
        Key::ArrowRight | Key::Period => return Some(ViewCommand::Step(Neighbour::Next).into()),
        Key::Backspace => return Some(ViewCommand::Undo.into()),
        Key::Escape if state.shows(Panel::Help) => return Some(ViewCommand::ShowPanel(Panel::Help, false).into()),
        Key::Escape if state.shows(Panel::Search) => return Some(ViewCommand::ShowPanel(Panel::Search, false).into()),
        Key::Escape => return Some(ViewCommand::Deselect.into()),
        _ => {}
    }
    if repeat {
        return None;
    }
    match physical {
        Key::F => Some(ViewCommand::Focus.into()),
        Key::Q => Some(toggle(state, Panel::Details)),
        // By its character: Z lies elsewhere on QWERTZ, and no finger rests on it.
        _ if key == Key::Z => Some(ViewCommand::Fit.into()),
        _ => None,
    }
}

fn toggle(state: &ViewState, panel: Panel) -> Command {
    ViewCommand::ShowPanel(panel, !state.shows(panel)).into()
}
