//! A key with its modifiers: parsing, matching and display.

use crate::prelude::*;
use egui::Modifiers;

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chord {
    pub(super) key: Key,
    pub(super) command: bool,
    shift: bool,
    pub(super) alt: bool,
}

impl Chord {
    /// Parses `Ctrl+Shift+P`; `None` if it is not a key.
    pub fn read(text: &str) -> Option<Self> {
        let mut parts: Vec<&str> = text.split('+').map(str::trim).collect();
        let key = Key::from_name(parts.pop()?)?;
        let mut chord = Self {
            key,
            command: false,
            shift: false,
            alt: false,
        };
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

    /// The form used in the settings file.
    pub fn text(self) -> String {
        format!("{}{}", self.modifiers(), self.key.name())
    }

    /// The pressed key as a binding; `None` for keys that move the focus or operate widgets.
    pub fn to_assign(key: Key, physical: Key, modifiers: Modifiers) -> Option<Self> {
        let chord = Self::pressed(key, physical, modifiers);
        let is_taken = matches!(chord.key, Key::Escape | Key::Tab | Key::Enter | Key::Space);
        // For all other keys Shift is part of typing the character.
        let shift = chord.shift && (is_letter(chord.key) || is_arrow(chord.key));
        (!is_taken).then_some(Self { shift, ..chord })
    }

    pub fn pressed(key: Key, physical: Key, modifiers: Modifiers) -> Self {
        let key = match (key, physical) {
            // On layouts that swap Y and Z, Z is the key labelled Z, because it is not one of the WASD keys.
            (Key::Z, Key::Y) | (Key::Y, Key::Z) => key,
            // On other layouts Shift and another key may produce the slash.
            (Key::Slash, Key::Slash) if modifiers.shift => Key::Questionmark,
            _ if is_letter(physical) => physical,
            _ => key,
        };
        Self {
            key,
            command: modifiers.command,
            shift: modifiers.shift,
            alt: modifiers.alt,
        }
    }

    /// Whether both are the same key. Shift matters only if it does not select another character.
    pub fn is(self, other: Self) -> bool {
        let shift = self.shift == other.shift || !(is_letter(self.key) || is_arrow(self.key));
        self.key == other.key && self.command == other.command && self.alt == other.alt && shift
    }

    /// Whether it neither types nor edits text: a function key, or one with Ctrl.
    pub(super) fn types_nothing(self) -> bool {
        let is_function = self
            .key
            .name()
            .strip_prefix('F')
            .is_some_and(|number| number.parse::<u8>().is_ok());
        self.command || is_function
    }

    pub fn shown(self) -> String {
        let name = self.key.symbol_or_name();
        // Not every font has the other symbols.
        self.modifiers()
            + if name.is_ascii() {
                name
            } else {
                self.key.name()
            }
    }

    fn modifiers(self) -> String {
        let all = [
            (self.command, "Ctrl+"),
            (self.alt, "Alt+"),
            (self.shift, "Shift+"),
        ];
        all.into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, name)| name)
            .collect()
    }
}

fn is_letter(key: Key) -> bool {
    let name = key.name();
    name.len() == 1 && name.chars().all(|c| c.is_ascii_uppercase())
}

fn is_arrow(key: Key) -> bool {
    matches!(
        key,
        Key::ArrowLeft | Key::ArrowRight | Key::ArrowUp | Key::ArrowDown
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_chords_round_trip() {
        for &key in Key::ALL {
            for (command, alt, shift) in [
                (false, false, false),
                (true, false, true),
                (true, true, false),
            ] {
                let chord = Chord {
                    key,
                    command,
                    shift,
                    alt,
                };
                assert_eq!(Chord::read(&chord.text()), Some(chord), "{}", chord.text());
            }
        }
    }

    #[test]
    fn rejects_widget_keys_and_shift_with_symbols() {
        for key in [Key::Escape, Key::Tab, Key::Enter, Key::Space] {
            assert_eq!(Chord::to_assign(key, key, Modifiers::CTRL), None);
        }
        let question = Chord::to_assign(Key::Slash, Key::Slash, Modifiers::SHIFT).unwrap();
        assert_eq!(question.text(), "Questionmark");
        let letter = Chord::to_assign(Key::E, Key::E, Modifiers::SHIFT).unwrap();
        assert_eq!(letter.text(), "Shift+E");
    }

    #[test]
    fn slash_is_recognized_with_shift() {
        let german = Chord::pressed(Key::Slash, Key::Num7, Modifiers::SHIFT);
        assert!(
            german.is(Chord::read("Slash").unwrap()),
            "{}",
            german.text()
        );
        assert_eq!(
            Chord::to_assign(Key::Slash, Key::Num7, Modifiers::SHIFT)
                .unwrap()
                .text(),
            "Slash"
        );
    }
}
