//! Columns of numbers as little-endian bytes: reading them is a copy, where `postcard` would decode each number.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

use crate::pause::may_pause;
use crate::time::Timestamp;

/// Numbers that are read at a time: a few milliseconds of work.
const NUMBERS: usize = 1 << 18;

/// A number with a fixed size.
pub(crate) trait FixedSize: Copy {
    /// Its size in bytes.
    const SIZE: usize;
    fn write_all(values: &[Self]) -> Vec<u8>;
    /// `None` if the bytes are no whole numbers.
    fn read_all(bytes: &[u8]) -> Option<Vec<Self>>;
}

/// Loops over arrays of a fixed size, which compile to copying.
macro_rules! numbers {
    ($($number:ty),+) => { $(
        impl FixedSize for $number {
            const SIZE: usize = size_of::<Self>();
            fn write_all(values: &[Self]) -> Vec<u8> {
                let mut bytes = vec![0; values.len() * Self::SIZE];
                let (places, _) = bytes.as_chunks_mut::<{ size_of::<$number>() }>();
                for (place, value) in places.iter_mut().zip(values) {
                    *place = value.to_le_bytes();
                }
                bytes
            }
            fn read_all(bytes: &[u8]) -> Option<Vec<Self>> {
                let (numbers, rest) = bytes.as_chunks::<{ size_of::<$number>() }>();
                let mut values = Vec::with_capacity(numbers.len());
                for numbers in numbers.chunks(NUMBERS) {
                    values.extend(numbers.iter().map(|&bytes| Self::from_le_bytes(bytes)));
                    may_pause();
                }
                rest.is_empty().then_some(values)
            }
        }
    )+ };
}

numbers!(u8, u32, u64, i64, f64);

impl FixedSize for Timestamp {
    const SIZE: usize = 8;
    fn write_all(values: &[Self]) -> Vec<u8> {
        i64::write_all(&values.iter().map(|value| value.ps()).collect::<Vec<_>>())
    }
    fn read_all(bytes: &[u8]) -> Option<Vec<Self>> {
        Some(
            i64::read_all(bytes)?
                .into_iter()
                .map(Self::from_ps)
                .collect(),
        )
    }
}

/// For `#[serde(with = "plain")]`.
pub(crate) fn serialize<T: FixedSize, S: Serializer>(
    values: &[T],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(&T::write_all(values))
}

/// For `#[serde(with = "plain")]`.
pub(crate) fn deserialize<'de, T: FixedSize, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    from.deserialize_bytes(ColumnVisitor(PhantomData))
}

struct ColumnVisitor<T>(PhantomData<T>);

impl<T: FixedSize> Visitor<'_> for ColumnVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "numbers of {} bytes", T::SIZE)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
        T::read_all(bytes).ok_or_else(|| E::invalid_length(bytes.len(), &self))
    }
}
