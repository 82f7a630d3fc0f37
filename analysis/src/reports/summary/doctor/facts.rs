//! What files and devices say of themselves.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;
use trace_model::ArgValue;

use crate::engine::Context;

/// Facts that are shown of each file, and of the devices of each file.
const MAX_FACTS: usize = 64;
/// Letters of a name or a value that are shown.
const MAX_LETTERS: usize = 400;

/// Something that a file or devices say of themselves (`clock`, `jax_version`).
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CaptureFact {
    /// The file, or the device; the first of several that say the same.
    pub of: String,
    /// How many others say the same.
    pub others: usize,
    /// Name, as recorded.
    pub name: String,
    /// Value, as recorded.
    pub value: String,
}

/// Facts of files, then of devices, what several say first; what devices repeat of files is
/// there once.
pub(super) struct CaptureFacts {
    pub stated: Vec<CaptureFact>,
    /// How many more there are.
    pub left_out: usize,
}

#[derive(Default)]
struct FactCollector<'a> {
    /// With who said it first.
    stated: Vec<(FactOwner, CaptureFact)>,
    /// How many more there are.
    left_out: usize,
    /// Where each is, and who said it last.
    known: HashMap<(&'a str, Cow<'a, str>), KnownParts>,
    /// How many more may be shown of this file.
    room: usize,
}

/// Whether it is a device, and its number among the others.
type FactOwner = (bool, usize);

struct KnownParts {
    at: usize,
    last: FactOwner,
}

impl CaptureFacts {
    pub(super) fn of(cx: &Context<'_>) -> Self {
        let model = cx.model;
        let mut facts = FactCollector::default();
        for (file, source) in model.sources().iter().enumerate() {
            facts.room = MAX_FACTS;
            for (name, value) in &source.facts {
                facts.add((false, file), &source.name, name, Cow::Borrowed(value));
            }
        }
        let mut before = None;
        for (at, core) in cx.tensor_cores().into_iter().enumerate() {
            let group = model.group(core);
            if before.replace(group.source) != Some(group.source) {
                facts.room = MAX_FACTS;
            }
            // Of bytes that nobody can read there is nothing to show.
            let is_shown = |value: &ArgValue| !matches!(value, ArgValue::Opaque(_) | ArgValue::Null);
            for (name, value) in group.facts.iter().filter(|(_, value)| is_shown(value)) {
                let value = Cow::Owned(value.to_string());
                facts.add((true, at), model.str(group.name), model.str(*name), value);
            }
        }
        let FactCollector { mut stated, left_out, .. } = facts;
        stated.sort_by_key(|(owner, fact)| (*owner, Reverse(fact.others)));
        Self { stated: stated.into_iter().map(|(_, fact)| fact).collect(), left_out }
    }
}

impl<'a> FactCollector<'a> {
    fn add(&mut self, owner: FactOwner, of: &str, name: &'a str, value: Cow<'a, str>) {
        let key = (name, value);
        if let Some(known) = self.known.get_mut(&key) {
            let is_repeated = known.last == owner || known.last.0 != owner.0;
            if let Some((_, fact)) = self.stated.get_mut(known.at).filter(|_| !is_repeated) {
                fact.others += 1;
                known.last = owner;
            }
            return;
        }
        let Some(room) = self.room.checked_sub(1) else {
            self.left_out += 1;
            return;
        };
        self.room = room;
        let (name, value) = (shortened(key.0), shortened(&key.1));
        self.known.insert(key, KnownParts { at: self.stated.len(), last: owner });
        self.stated.push((owner, CaptureFact { of: of.to_owned(), others: 0, name, value }));
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_LETTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl CaptureFact {
    /// Who says it, in words.
    #[must_use]
    pub fn of_whom(&self) -> String {
        match self.others {
            0 => self.of.clone(),
            1 => format!("{} and 1 other", self.of),
            others => format!("{} and {others} others", self.of),
        }
    }
}
