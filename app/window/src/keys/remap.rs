//! Changes of key bindings.

use super::{Keys, action_of};
use crate::chord::Chord;
use crate::command::Remap;
use crate::prelude::*;

/// The replacements of default keys after a change. Entries of actions that this version does not know are kept.
pub fn remapped(
    replaced: &BTreeMap<String, Vec<String>>,
    wish: Remap,
) -> BTreeMap<String, Vec<String>> {
    let mut next = replaced.clone();
    match wish {
        Remap::ResetAll => next.retain(|id, _| action_of(id).is_none()),
        Remap::Remove(id, chord) => {
            let rest = Keys::new(&next)
                .of(id)
                .filter(|kept| *kept != chord)
                .collect();
            set(&mut next, id, rest);
        }
        Remap::Assign(id, chord) => {
            take(&mut next, id, chord);
            let mut chords: Vec<Chord> = Keys::new(&next)
                .of(id)
                .filter(|kept| !kept.is(chord))
                .collect();
            chords.push(chord);
            set(&mut next, id, chords);
        }
        Remap::Reset(id) => {
            next.remove(id);
            for chord in action_of(id).into_iter().flat_map(super::usual) {
                take(&mut next, id, chord);
            }
        }
    }
    next
}

/// Takes a key from every action but `id`.
fn take(replaced: &mut BTreeMap<String, Vec<String>>, id: &str, chord: Chord) {
    let keys = Keys::new(replaced);
    for other in keys.clashes(id, chord) {
        let clashes = |known: &Chord| super::clash((chord, id), (*known, other.id));
        set(
            replaced,
            other.id,
            keys.of(other.id).filter(|known| !clashes(known)).collect(),
        );
    }
}

/// Stores the keys of an action; default keys are not stored.
fn set(replaced: &mut BTreeMap<String, Vec<String>>, id: &str, chords: Vec<Chord>) {
    let usual: Vec<Chord> = action_of(id).into_iter().flat_map(super::usual).collect();
    if chords == usual {
        replaced.remove(id);
    } else {
        replaced.insert(id.to_owned(), chords.into_iter().map(Chord::text).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chord(text: &str) -> Chord {
        Chord::read(text).unwrap()
    }

    #[test]
    fn key_can_be_reassigned_and_restored() {
        let none = BTreeMap::from([("of-tomorrow".to_owned(), vec!["Ctrl+Y".to_owned()])]);
        // F is a key of the focus action; from now on it follows a flow arrow.
        let taken = remapped(&none, Remap::Assign("follow", chord("F")));
        let keys = Keys::new(&taken);
        assert_eq!(
            (keys.shown("focus").as_str(), keys.shown("follow").as_str()),
            ("", "]  F")
        );
        let back = remapped(&taken, Remap::Reset("focus"));
        let keys = Keys::new(&back);
        assert_eq!(
            (keys.shown("focus").as_str(), keys.shown("follow").as_str()),
            ("F", "]")
        );
        assert_eq!(
            back, none,
            "usual keys are not kept, and those of an unknown action stay"
        );
        assert_eq!(remapped(&taken, Remap::ResetAll), none);
    }

    #[test]
    fn held_key_is_reassigned_with_its_modifiers() {
        let keys = Keys::default();
        let others: Vec<&str> = keys
            .clashes("focus", chord("Shift+W"))
            .iter()
            .map(|other| other.id)
            .collect();
        assert_eq!(others, ["zoom-in"], "Shift and W zoom faster");
        assert!(keys.clashes("focus", chord("Ctrl+W")).is_empty());
        // W for panning left: zooming keeps its other keys.
        let taken = remapped(&BTreeMap::new(), Remap::Assign("pan-left", chord("W")));
        assert_eq!(Keys::new(&taken).shown("zoom-in"), "+  =");
    }

    #[test]
    fn keys_are_removed_one_by_one() {
        let less = remapped(&BTreeMap::new(), Remap::Remove("mark", chord("R")));
        assert_eq!(Keys::new(&less).shown("mark"), "M");
        let none = remapped(&less, Remap::Remove("mark", chord("M")));
        assert_eq!(Keys::new(&none).shown("mark"), "");
        let again = remapped(&none, Remap::Assign("mark", chord("M")));
        assert_eq!(
            remapped(&again, Remap::Assign("mark", chord("R"))),
            BTreeMap::new()
        );
    }
}
