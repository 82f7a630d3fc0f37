//! Maps ids to row numbers. Ids are small and dense in most files, 64-bit fingerprints in others.

use importer_common::prelude::*;

const NONE: u32 = u32::MAX;

/// An immutable map; small ids are an index, others are hashed.
#[derive(Debug, Default)]
pub(super) struct IdMap {
    dense: Vec<u32>,
    sparse: HashMap<u64, u32>,
}

impl IdMap {
    /// Maps each id to its position; the last of equal ids wins.
    pub fn new(ids: &[u64]) -> Self {
        // The size is bounded by the input: never more than a few slots per entry.
        let limit = ids.len() as u64 * 4 + 64;
        let largest = ids.iter().copied().filter(|&id| id < limit).max();
        let mut map = Self {
            dense: vec![NONE; largest.map_or(0, |id| id as usize + 1)],
            sparse: HashMap::new(),
        };
        for (row, &id) in ids.iter().enumerate() {
            match map.dense.get_mut(id as usize).filter(|_| id < limit) {
                Some(slot) => *slot = row as u32,
                None => {
                    map.sparse.insert(id, row as u32);
                }
            }
        }
        map
    }

    /// Rows of the small ids, by id; an invalid row number for unused ids.
    pub fn dense(&self) -> &[u32] {
        &self.dense
    }

    /// The row of `id`.
    #[inline]
    pub fn get(&self, id: u64) -> Option<usize> {
        let row = match usize::try_from(id).ok().and_then(|id| self.dense.get(id)) {
            Some(&row) if row != NONE => row,
            _ if self.sparse.is_empty() => return None,
            _ => *self.sparse.get(&id)?,
        };
        Some(row as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_huge_ids_are_found() {
        let ids = [0, 3, u64::MAX, 9_646_411_105_960_254_074, 70, 3];
        let map = IdMap::new(&ids);
        assert_eq!(map.get(0), Some(0));
        assert_eq!(map.get(3), Some(5));
        assert_eq!(map.get(u64::MAX), Some(2));
        assert_eq!(map.get(9_646_411_105_960_254_074), Some(3));
        assert_eq!(map.get(70), Some(4));
        assert_eq!(
            (map.get(1), map.get(71), map.get(u64::MAX - 1)),
            (None, None, None)
        );
        assert!(map.dense.len() <= 4 * ids.len() + 64);
    }
}
