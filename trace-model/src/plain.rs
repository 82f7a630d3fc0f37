//! Columns of numbers as little-endian bytes: reading them is a copy, where `postcard` would decode each number.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

use crate::time::Timestamp;

/// A number with a fixed size.
pub(crate) trait FixedSize: Copy {
    /// Its size in bytes.
    const SIZE: usize;
    fn write(self, to: &mut Vec<u8>);
    /// Reads [`Self::SIZE`] bytes.
    fn read(from: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($number:ty),+) => { $(
        impl FixedSize for $number {
            const SIZE: usize = size_of::<Self>();
            fn write(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            fn read(from: &[u8]) -> Self {
                let mut bytes = [0; size_of::<Self>()];
                bytes.copy_from_slice(from);
                Self::from_le_bytes(bytes)
            }
        }
    )+ };
}

numbers!(u8, u32, u64, i64, f64);

impl FixedSize for Timestamp {
    const SIZE: usize = 8;
    fn write(self, to: &mut Vec<u8>) {
        self.ps().write(to);
    }
    fn read(from: &[u8]) -> Self {
        Self::from_ps(i64::read(from))
    }
}

/// For `#[serde(with = "plain")]`.
pub(crate) fn serialize<T: FixedSize, S: Serializer>(values: &[T], to: S) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::with_capacity(values.len() * T::SIZE);
    for &value in values {
        value.write(&mut bytes);
    }
    to.serialize_bytes(&bytes)
}

/// For `#[serde(with = "plain")]`.
pub(crate) fn deserialize<'de, T: FixedSize, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_bytes(ColumnVisitor(PhantomData))
}

struct ColumnVisitor<T>(PhantomData<T>);

impl<T: FixedSize> Visitor<'_> for ColumnVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "numbers of {} bytes", T::SIZE)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
        let numbers = bytes.chunks_exact(T::SIZE);
        if !numbers.remainder().is_empty() {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        Ok(numbers.map(T::read).collect())
    }
}
