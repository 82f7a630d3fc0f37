//! Lists whose parts several reports share.

use std::ops::{Deref, Range};
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// A part of a shared list: the report of a part of a trace shares rows with the report of the whole trace.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedSlice<T> {
    all: Arc<[T]>,
    range: Range<usize>,
}

impl<T: Clone> SharedSlice<T> {
    /// The rows that `keep` accepts; shared if they are contiguous.
    pub(crate) fn part(&self, keep: impl Fn(&T) -> bool) -> Self {
        let from = self.iter().position(&keep).unwrap_or(0);
        let to = self.iter().rposition(&keep).map_or(from, |last| last + 1);
        if !self[from..to].iter().all(&keep) {
            return self.iter().filter(|row| keep(row)).cloned().collect::<Vec<T>>().into();
        }
        Self { all: Arc::clone(&self.all), range: self.range.start + from..self.range.start + to }
    }
}

impl<T> From<Vec<T>> for SharedSlice<T> {
    fn from(all: Vec<T>) -> Self {
        Self { range: 0..all.len(), all: all.into() }
    }
}

impl<T> Deref for SharedSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.all.get(self.range.clone()).unwrap_or_default()
    }
}

impl<'a, T> IntoIterator for &'a SharedSlice<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Serialize> Serialize for SharedSlice<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.deref().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_part_lies_in_the_whole() {
        let all = SharedSlice::from(vec![1, 2, 3, 4, 5]);
        let part = all.part(|&n| n > 1);
        assert_eq!((&part[..], &part.part(|&n| n < 4)[..]), (&[2, 3, 4, 5][..], &[2, 3][..]));
        assert!(all.part(|&n| n > 5).is_empty());
        assert_eq!(all.part(|&n| n % 2 == 1)[..], [1, 3, 5]);
        assert!(Arc::ptr_eq(&all.all, &part.all));
    }
}
