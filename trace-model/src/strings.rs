//! Interned strings: each distinct string is stored once, in one arena.

use std::borrow::Cow;
use std::hash::BuildHasher as _;

use hashbrown::DefaultHashBuilder;
use hashbrown::HashTable;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A string in a [`StringTable`]; valid only for that table.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct StringId(u32);

impl StringId {
    /// The empty string, which every table holds.
    pub const EMPTY: Self = Self(0);

    /// Row number, for side tables indexed by string.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The string in row `row`, for ids that were stored as numbers; the empty one if there is no such row.
    pub fn from_index(row: i64) -> Self {
        Self(u32::try_from(row).unwrap_or_default())
    }
}

/// All strings of a model.
#[derive(Debug)]
pub struct StringTable {
    arena: String,
    /// End of string `i` in the arena; it starts at the end of string `i - 1`.
    ends: Vec<usize>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Default for StringTable {
    fn default() -> Self {
        let mut table = Self {
            arena: String::new(),
            ends: Vec::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        };
        table.intern("");
        table
    }
}

impl StringTable {
    /// Interns `text` and returns its id.
    pub fn intern(&mut self, text: &str) -> StringId {
        let hash = self.hasher.hash_one(text);
        let (arena, ends) = (&self.arena, &self.ends);
        if let Some(&id) = self
            .index
            .find(hash, |&id| text_at(arena, ends, id) == text)
        {
            return StringId(id);
        }
        let id = u32::try_from(self.ends.len()).unwrap_or(0);
        self.arena.push_str(text);
        self.ends.push(self.arena.len());
        let (arena, ends, hasher) = (&self.arena, &self.ends, &self.hasher);
        self.index
            .insert_unique(hash, id, |&id| hasher.hash_one(text_at(arena, ends, id)));
        StringId(id)
    }

    /// The id of `text`, if it is in the table.
    pub fn find(&self, text: &str) -> Option<StringId> {
        let hash = self.hasher.hash_one(text);
        self.index
            .find(hash, |&id| text_at(&self.arena, &self.ends, id) == text)
            .map(|&id| StringId(id))
    }

    /// The string of `id`; empty if the id is out of range.
    pub fn get(&self, id: StringId) -> &str {
        if id.index() < self.ends.len() {
            text_at(&self.arena, &self.ends, id.0)
        } else {
            ""
        }
    }

    /// Number of distinct strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether only the empty string is stored.
    pub fn is_empty(&self) -> bool {
        self.ends.len() <= 1
    }

    /// Every string with its id, in order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (StringId, &str)> {
        (0..self.ends.len() as u32).map(|id| (StringId(id), text_at(&self.arena, &self.ends, id)))
    }

    /// Bytes of heap memory in use.
    pub fn heap_bytes(&self) -> usize {
        self.arena.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + self.index.allocation_size()
    }
}

/// What a snapshot holds of a table: each text and where it ends.
#[derive(Serialize, Deserialize)]
struct SavedStrings<'a> {
    #[serde(borrow)]
    arena: Cow<'a, str>,
    ends: Cow<'a, [usize]>,
}

impl Serialize for StringTable {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        SavedStrings {
            arena: Cow::Borrowed(&self.arena),
            ends: Cow::Borrowed(&self.ends),
        }
        .serialize(to)
    }
}

impl<'de> Deserialize<'de> for StringTable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let SavedStrings { arena, ends } = SavedStrings::deserialize(from)?;
        let is_text = ends.first() == Some(&0)
            && ends.is_sorted()
            && ends.last() == Some(&arena.len())
            && ends.iter().all(|&end| arena.is_char_boundary(end));
        if !is_text {
            return Err(D::Error::custom("strings that do not fit their text"));
        }
        let (arena, ends) = (arena.into_owned(), ends.into_owned());
        let hasher = DefaultHashBuilder::default();
        let hash = |&id: &u32| hasher.hash_one(text_at(&arena, &ends, id));
        let mut index = HashTable::with_capacity(ends.len());
        for id in 0..u32::try_from(ends.len()).map_err(D::Error::custom)? {
            index.insert_unique(hash(&id), id, hash);
        }
        Ok(Self {
            arena,
            ends,
            index,
            hasher,
        })
    }
}

fn text_at<'a>(arena: &'a str, ends: &[usize], id: u32) -> &'a str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &arena[start..ends[id]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_share_an_id() {
        let mut table = StringTable::default();
        let a = table.intern("fusion.12");
        let b = table.intern("copy-done");
        assert_eq!(table.intern("fusion.12"), a);
        assert_ne!(a, b);
        assert_eq!(table.get(b), "copy-done");
        assert_eq!(table.intern(""), StringId::EMPTY);
        assert_eq!(table.find("missing"), None);
        assert_eq!(table.len(), 3);
    }

    #[test]
    fn ids_survive_growth() {
        let mut table = StringTable::default();
        let ids: Vec<_> = (0..10_000)
            .map(|i| table.intern(&format!("op.{i}")))
            .collect();
        for (i, id) in ids.into_iter().enumerate() {
            assert_eq!(table.get(id), format!("op.{i}"));
        }
    }
}
