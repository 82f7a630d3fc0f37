//! A column of `i64` that spends four bytes on the usual small value.
//!
//! Durations in profiles are mostly under 2 ms (`i32::MAX` picoseconds). A value
//! that does not fit goes to a sorted side list. The column widens to plain
//! `i64` where the side list would cost more, so a row never costs more than
//! eight bytes.

/// Marks a row whose value is in the side list.
const ELSEWHERE: i32 = i32::MIN;

/// An append-only column of `i64`.
#[derive(Debug, Default)]
pub(crate) struct CompactColumn {
    narrow: Vec<i32>,
    /// `(row, value)` of the rows that hold [`ELSEWHERE`], sorted by row.
    elsewhere: Vec<(u32, i64)>,
    /// Used instead of the other two once it is the smaller form.
    wide: Option<Vec<i64>>,
}

impl CompactColumn {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self { narrow: Vec::with_capacity(rows), ..Self::default() }
    }

    pub(crate) fn push(&mut self, value: i64) {
        if let Some(wide) = &mut self.wide {
            wide.push(value);
            return;
        }
        match i32::try_from(value) {
            Ok(small) if small != ELSEWHERE => self.narrow.push(small),
            _ => {
                self.elsewhere.push((self.narrow.len() as u32, value));
                self.narrow.push(ELSEWHERE);
                self.widen_if_smaller();
            }
        }
    }

    pub(crate) fn get(&self, row: usize) -> i64 {
        if let Some(wide) = &self.wide {
            return wide[row];
        }
        match self.narrow[row] {
            ELSEWHERE => match self.elsewhere.binary_search_by_key(&(row as u32), |&(r, _)| r) {
                Ok(i) => self.elsewhere[i].1,
                Err(_) => i64::from(ELSEWHERE),
            },
            small => i64::from(small),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.wide.as_ref().map_or(self.narrow.len(), Vec::len)
    }

    /// Adds all of `other`.
    pub(crate) fn extend(&mut self, other: &Self) {
        for row in 0..other.len() {
            self.push(other.get(row));
        }
    }

    /// Adds `value` until there are `len` rows.
    pub(crate) fn resize(&mut self, len: usize, value: i64) {
        while self.len() < len {
            self.push(value);
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.narrow.capacity() * 4
            + self.elsewhere.capacity() * size_of::<(u32, i64)>()
            + self.wide.as_ref().map_or(0, |wide| wide.capacity() * 8)
    }

    pub(crate) fn shrink(&mut self) {
        self.narrow.shrink_to_fit();
        self.elsewhere.shrink_to_fit();
        if let Some(wide) = &mut self.wide {
            wide.shrink_to_fit();
        }
    }

    /// Sixteen bytes for every row elsewhere against four saved on every row.
    fn widen_if_smaller(&mut self) {
        const WORTH_IT: usize = 1024;
        if self.elsewhere.len() > WORTH_IT && self.elsewhere.len() * 4 > self.narrow.len() {
            let wide = (0..self.narrow.len()).map(|row| self.get(row)).collect();
            *self = Self { narrow: Vec::new(), elsewhere: Vec::new(), wide: Some(wide) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_i64_comes_back_in_both_forms() {
        let edges = [0, 1, -1, i64::MAX, i64::MIN, i64::from(i32::MAX), i64::from(i32::MIN), 1 << 40];
        let mut few_large = CompactColumn::default();
        let mut many_large = CompactColumn::default();
        for i in 0..40_000_i64 {
            let edge = edges[i as usize % edges.len()];
            few_large.push(if i % 1000 == 0 { edge } else { i });
            many_large.push(edge);
        }
        assert!(few_large.wide.is_none());
        assert!(many_large.wide.is_some());
        for i in 0..40_000_i64 {
            let edge = edges[i as usize % edges.len()];
            assert_eq!(few_large.get(i as usize), if i % 1000 == 0 { edge } else { i });
            assert_eq!(many_large.get(i as usize), edge);
        }
        assert_eq!(many_large.len(), 40_000);
    }
}
