//! Event names: each distinct one is processed once.
//!
//! Besides its label, a name caches the arguments of recent events. Most events repeat them exactly, and comparing a
//! kilobyte is faster than parsing it.

use std::hash::BuildHasher as _;

use hashbrown::{DefaultHashBuilder, HashTable};
use importer_common::names::{NO_NAME, is_null};
use importer_common::prelude::*;

use super::json::JsonString;

/// Longer arguments are not cached.
const MAX_MEMO: usize = 64 << 10;
/// Maximum size of the cache.
const MEMO_BUDGET: usize = 64 << 20;
/// Maximum number of cached arguments per name; ops of several programs share names.
const MEMOS: usize = 4;

/// Numbers of an op, by the indices that `facts` defines.
pub(super) type OpNumbers = [Option<i64>; 6];

/// A name, by its row in [`NameTable`].
pub(super) type NameId = u32;

/// A suffix of arguments up to the closing brace, and the facts in it.
pub(super) struct ArgumentMemo {
    /// The deduplicated name, which writers put first.
    before: Box<[u8]>,
    bytes: Box<[u8]>,
    pub texts: Option<u32>,
    pub numbers: OpNumbers,
}

#[derive(Default)]
struct NameEntry {
    start: usize,
    len: u32,
    label: Option<LabelId>,
    /// Number of reads that found no matching entry.
    misses: u32,
    memos: Vec<ArgumentMemo>,
}

/// All names of a file.
#[derive(Default)]
pub(super) struct NameTable {
    arena: Vec<u8>,
    rows: Vec<NameEntry>,
    index: HashTable<NameId>,
    hasher: DefaultHashBuilder,
    memo_bytes: usize,
}

impl NameTable {
    /// The id of a name as written.
    #[inline]
    pub fn id(&mut self, name: JsonString<'_>) -> NameId {
        let hash = self.hasher.hash_one(name.raw);
        let (arena, rows) = (&self.arena, &self.rows);
        let known = self.index.find(hash, |&id| {
            rows.get(id as usize)
                .is_some_and(|n| n.raw(arena) == name.raw)
        });
        if let Some(&id) = known {
            return id;
        }
        self.add(name, hash)
    }

    #[cold]
    fn add(&mut self, name: JsonString<'_>, hash: u64) -> NameId {
        let id = self.rows.len() as NameId;
        let start = self.arena.len();
        self.arena.extend_from_slice(name.raw);
        self.rows.push(NameEntry {
            start,
            len: name.raw.len() as u32,
            ..NameEntry::default()
        });
        let (arena, rows, hasher) = (&self.arena, &self.rows, &self.hasher);
        self.index.insert_unique(hash, id, |&id| {
            hasher.hash_one(rows[id as usize].raw(arena))
        });
        id
    }

    /// The label of a name without an op; the flag tells whether its text was repaired.
    #[inline]
    pub fn label(
        &mut self,
        id: NameId,
        name: JsonString<'_>,
        builder: &mut TraceBuilder,
    ) -> (LabelId, bool) {
        if let Some(label) = self.rows[id as usize].label {
            return (label, false);
        }
        let (text, mended) = name.decode();
        let label = builder.label(if is_null(&text) { NO_NAME } else { &text }, None);
        self.rows[id as usize].label = Some(label);
        (label, mended)
    }

    /// The cached facts of arguments that continue with `rest`, with their length.
    #[inline]
    pub fn recall(&self, id: NameId, before: &[u8], rest: &[u8]) -> Option<(&ArgumentMemo, usize)> {
        let memos = &self.rows[id as usize].memos;
        let same_before = |memo: &ArgumentMemo| {
            memo.before.len() == before.len() && (before.is_empty() || *memo.before == *before)
        };
        let fits = |memo: &&ArgumentMemo| rest.starts_with(&memo.bytes) && same_before(memo);
        memos.iter().find(fits).map(|memo| (memo, memo.bytes.len()))
    }

    /// Caches arguments from a position to their closing brace, starting with the second event of a name.
    pub fn remember(
        &mut self,
        id: NameId,
        before: &[u8],
        bytes: &[u8],
        texts: Option<u32>,
        numbers: OpNumbers,
    ) {
        let name = &mut self.rows[id as usize];
        name.misses += 1;
        if name.misses == 1 || bytes.len() > MAX_MEMO || self.memo_bytes + bytes.len() > MEMO_BUDGET
        {
            return;
        }
        let memo = ArgumentMemo {
            before: before.into(),
            bytes: bytes.into(),
            texts,
            numbers,
        };
        self.memo_bytes += bytes.len();
        if name.memos.len() < MEMOS {
            name.memos.push(memo);
        } else {
            let oldest = name.misses as usize % MEMOS;
            self.memo_bytes -= name.memos[oldest].bytes.len();
            name.memos[oldest] = memo;
        }
    }
}

impl NameEntry {
    fn raw<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        &arena[self.start..self.start + self.len as usize]
    }
}
