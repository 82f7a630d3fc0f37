//! Who a pressed key belongs to: the timeline, or the widget that has the focus.

use crate::prelude::*;
use egui::text_edit::TextEditState;

use crate::chord::Chord;

/// What has the keyboard focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFocus {
    /// No widget: all keys are for the timeline.
    Timeline,
    /// A button or another widget, reached with Tab: it is operated with a few keys.
    Widget,
    /// A text field: what is typed belongs to it.
    Text,
}

/// Actions that are also for who types, if their keys type nothing: they lead from one text field to another, show what was
/// found, or keep what was typed.
const WHILE_TYPING: [&str; 5] = [
    "palette",
    "search",
    "found-list",
    "filter-tracks",
    "save-session",
];

/// Actions that open a text field: what is typed after their keys belongs to it, even in the same frame.
const OPENS_FIELD: [&str; 8] = [
    "palette",
    "search",
    "found-list",
    "filter-tracks",
    "keep-mark",
    "open",
    "compare",
    "capture",
];

/// Whether an action opens a text field.
pub(super) fn opens_field(id: &str) -> bool {
    OPENS_FIELD.contains(&id)
}

impl KeyFocus {
    /// What has the focus in this frame.
    pub fn of(ctx: &Context) -> Self {
        match ctx.memory(egui::Memory::focused) {
            None => Self::Timeline,
            Some(_) if ctx.text_edit_focused() => Self::Text,
            Some(_) => Self::Widget,
        }
    }

    /// Makes a widget that waits for a key have all of them, as a text field has.
    pub fn give_all(ctx: &Context, id: Id) {
        TextEditState::default().store(ctx, id);
    }

    /// Whether the focus leaves this key alone that means the action `id`; `has_palette` says whether the palette is
    /// open, which keeps the focus.
    pub(super) fn leaves(self, chord: Chord, id: &str, has_palette: bool) -> bool {
        match self {
            Self::Timeline => true,
            Self::Widget => !operates(chord.key),
            Self::Text => {
                chord.types_nothing()
                    && WHILE_TYPING.contains(&id)
                    && (!has_palette || id == "palette")
            }
        }
    }

    /// Whether the focus leaves this key alone that is held to move the view.
    pub fn leaves_held(self, key: Key) -> bool {
        self == Self::Timeline || (self == Self::Widget && !operates(key))
    }
}

/// Whether a key operates a widget or moves the focus.
fn operates(key: Key) -> bool {
    use Key::{
        ArrowDown, ArrowLeft, ArrowRight, ArrowUp, End, Enter, Escape, Home, PageDown, PageUp,
        Space, Tab,
    };
    let all = [
        ArrowDown, ArrowLeft, ArrowRight, ArrowUp, End, Enter, Escape, Home, PageDown, PageUp,
        Space, Tab,
    ];
    all.contains(&key)
}
