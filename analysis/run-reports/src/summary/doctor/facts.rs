//! Facts that files and devices record about themselves.

use std::borrow::Cow;
use std::collections::HashMap;

use facts::prelude::*;
use trace_model::ArgValue;

/// Maximum number of facts shown for each file, and for the devices of each file.
const MAX_FACTS: usize = 64;
/// Maximum number of characters shown of a name or a value.
const MAX_LETTERS: usize = 400;

/// A fact that a file or devices record about themselves (`clock`, `jax_version`).
#[engine::row(measured)]
pub struct CaptureFact {
    /// The file or the device; if several record the same fact, the first.
    #[column(with = Self::of_whom)]
    pub of: String,
    /// Number of others that record the same fact.
    pub others: usize,
    /// Name, as recorded.
    #[column("Fact")]
    pub name: String,
    /// Value, as recorded.
    #[column]
    pub value: String,
}

/// Facts of files, then of devices; facts that several record come first. A fact of devices that repeats one of files
/// is listed once.
pub(super) struct CaptureFacts {
    pub stated: Vec<CaptureFact>,
    /// Number of further facts.
    pub left_out: usize,
}

#[derive(Default)]
struct FactCollector<'a> {
    /// Facts with the first file or device that recorded each.
    stated: Vec<(FactOwner, CaptureFact)>,
    /// Number of further facts.
    left_out: usize,
    /// Index of each fact, and the last file or device that recorded it.
    known: HashMap<(&'a str, Cow<'a, str>), KnownParts>,
    /// Number of facts that may still be shown for this file.
    room: usize,
}

/// Whether it is a device, and its number among the others.
type FactOwner = (bool, usize);

struct KnownParts {
    at: usize,
    last: FactOwner,
}

impl CaptureFacts {
    pub fn of(cx: &Context<'_>) -> Self {
        let model = cx.model;
        let mut facts = FactCollector::default();
        for (file, source) in model.sources().iter().enumerate() {
            facts.room = MAX_FACTS;
            for (name, value) in &source.facts {
                facts.add((false, file), &source.name, name, Cow::Borrowed(value));
            }
        }
        let mut before = None;
        for (index, core) in cx.tensor_cores().into_iter().enumerate() {
            let group = model.group(core);
            if before.replace(group.source) != Some(group.source) {
                facts.room = MAX_FACTS;
            }
            // Binary data that cannot be read is not shown.
            let is_shown =
                |value: &ArgValue| !matches!(value, ArgValue::Opaque(_) | ArgValue::Null);
            for (name, value) in group.facts.iter().filter(|(_, value)| is_shown(value)) {
                let value = Cow::Owned(value.to_string());
                facts.add(
                    (true, index),
                    model.str(group.name),
                    model.str(*name),
                    value,
                );
            }
        }
        let FactCollector {
            mut stated,
            left_out,
            ..
        } = facts;
        stated.sort_by_key(|(owner, fact)| (*owner, Reverse(fact.others)));
        Self {
            stated: stated.into_iter().map(|(_, fact)| fact).collect(),
            left_out,
        }
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
        let name = shortened(key.0);
        let value = shortened(&key.1);
        self.known.insert(
            key,
            KnownParts {
                at: self.stated.len(),
                last: owner,
            },
        );
        self.stated.push((
            owner,
            CaptureFact {
                of: of.to_owned(),
                others: 0,
                name,
                value,
            },
        ));
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_LETTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl CaptureFact {
    /// The files or devices that record it, as text.
    #[must_use]
    pub fn of_whom(&self) -> String {
        match self.others {
            0 => self.of.clone(),
            1 => format!("{} and 1 other", self.of),
            others => format!("{} and {others} others", self.of),
        }
    }
}
