//! A compressed column of `i64`.
//!
//! Rows are cut into blocks. A block stores its minimum once and each value as the difference from it, in the fewest
//! whole bytes (0 to 8) that hold the block's largest difference:
//!
//! ```text
//! values      1000 1007 1300 1001        base 1000, two bytes a value
//! differences    0    7  300    1        → 00 00 | 07 00 | 2c 01 | 01 00
//! ```
//!
//! Slices of one lane resemble each other, so durations take three to five bytes
//! instead of eight, and a block of equal values takes none. Reading a row is one
//! load from its block, without a search and without decoding other rows.

use serde::{Deserialize, Serialize};

/// Number of rows of a block. With this size, the header costs an eighth of a byte per row.
const BLOCK: usize = 128;
/// Number of zero bytes after the last block, so that every value can be read as eight bytes.
const PADDING: usize = 8;

/// A full block.
#[derive(Debug, Serialize, Deserialize)]
struct PackedBlock {
    base: i64,
    /// Offset of the first byte times sixteen, plus the bytes per value.
    place: u64,
}

/// An append-only column of `i64`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct CompactColumn {
    blocks: Vec<PackedBlock>,
    #[serde(with = "crate::plain")]
    bytes: Vec<u8>,
    /// The last block while it is not full.
    tail: Vec<i64>,
    len: usize,
}

/// Calls the function for a width of 1 to 8 bytes: a loop for each width takes half of the instructions of one for all.
macro_rules! by_width {
    ($width:expr, $none:expr, $function:ident($($argument:expr),+)) => {
        match $width {
            0 => $none,
            1 => $function::<1>($($argument),+),
            2 => $function::<2>($($argument),+),
            3 => $function::<3>($($argument),+),
            4 => $function::<4>($($argument),+),
            5 => $function::<5>($($argument),+),
            6 => $function::<6>($($argument),+),
            7 => $function::<7>($($argument),+),
            _ => $function::<8>($($argument),+),
        }
    };
}

impl CompactColumn {
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            blocks: Vec::with_capacity(rows / BLOCK),
            ..Self::default()
        }
    }

    /// Makes room for this number of further rows that take as many bytes as those so far.
    pub fn reserve(&mut self, rows: usize) {
        let bytes = self.bytes.len() as u128 * rows as u128 / self.len.max(1) as u128;
        self.bytes.reserve_exact(bytes as usize + PADDING);
        self.blocks.reserve_exact(rows / BLOCK + 1);
    }

    #[inline]
    pub fn push(&mut self, value: i64) {
        self.tail.push(value);
        self.len += 1;
        if self.tail.len() == BLOCK {
            self.seal();
        }
    }

    /// Adds all of `values`.
    pub fn extend_from_slice(&mut self, values: &[i64]) {
        let (first, rest) = values.split_at(values.len().min((BLOCK - self.tail.len()) % BLOCK));
        for &value in first {
            self.push(value);
        }
        let blocks = rest.chunks_exact(BLOCK);
        self.tail.extend_from_slice(blocks.remainder());
        self.len += rest.len();
        for block in blocks {
            self.pack(block);
        }
    }

    /// All values.
    pub fn to_vec(&self) -> Vec<i64> {
        let mut out = vec![0; self.len];
        self.read(0, &mut out);
        out
    }

    #[inline]
    pub fn get(&self, row: usize) -> i64 {
        let Some(block) = self.blocks.get(row / BLOCK) else {
            return self.tail[row - self.blocks.len() * BLOCK];
        };
        let width = (block.place & 15) as usize;
        let from = (block.place >> 4) as usize + (row % BLOCK) * width;
        // There always are eight bytes: PADDING of them follow the last value.
        let eight = self.bytes[from..]
            .first_chunk()
            .copied()
            .unwrap_or_default();
        block
            .base
            .wrapping_add((u64::from_le_bytes(eight) & mask(width)) as i64)
    }

    /// Copies the values from row `from` on, as many as `out` takes.
    pub fn read(&self, from: usize, out: &mut [i64]) {
        let mut row = from;
        let mut rest = out;
        while !rest.is_empty() {
            let Some(block) = self.blocks.get(row / BLOCK) else {
                let in_tail = row - self.blocks.len() * BLOCK;
                rest.copy_from_slice(&self.tail[in_tail..in_tail + rest.len()]);
                return;
            };
            let in_block = row % BLOCK;
            let (now, later) = rest.split_at_mut(rest.len().min(BLOCK - in_block));
            let width = (block.place & 15) as usize;
            let from = (block.place >> 4) as usize + in_block * width;
            let bytes = &self.bytes[from..from + now.len() * width];
            by_width!(
                width,
                now.fill(block.base),
                unpack_from(bytes, now, block.base)
            );
            row += now.len();
            rest = later;
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds all of `other`. Blocks move as they are if the last block is full.
    pub fn extend(&mut self, other: &Self) {
        let whole = other.blocks.len() * BLOCK <= other.len;
        if !self.tail.is_empty() || !self.len.is_multiple_of(BLOCK) || !whole {
            self.extend_from_slice(&other.to_vec());
            return;
        }
        if !other.blocks.is_empty() {
            self.bytes
                .truncate(self.bytes.len().saturating_sub(PADDING));
            let offset = (self.bytes.len() as u64) << 4;
            self.blocks
                .extend(other.blocks.iter().map(|block| PackedBlock {
                    base: block.base,
                    place: block.place + offset,
                }));
            self.bytes.extend_from_slice(&other.bytes);
        }
        self.tail.extend_from_slice(&other.tail);
        self.len += other.len;
    }

    /// A lower and an upper bound of all values. For an empty column, the lower bound exceeds the upper one.
    pub fn bounds(&self) -> (i64, i64) {
        let blocks = self.blocks.iter().map(|block| {
            let width = (block.place & 15) as usize;
            let most = i64::try_from(mask(width))
                .map_or(i64::MAX, |spread| block.base.saturating_add(spread));
            (block.base, most)
        });
        let tail = self.tail.iter().map(|&value| (value, value));
        blocks
            .chain(tail)
            .fold((i64::MAX, i64::MIN), |(a, b), (least, most)| {
                (a.min(least), b.max(most))
            })
    }

    /// Whether every row can be read.
    pub fn is_sound(&self) -> bool {
        let in_blocks = self.len.checked_sub(self.tail.len());
        let fits = |(rows, block): (usize, &PackedBlock)| {
            let (width, from) = (block.place & 15, block.place >> 4);
            let end = from.checked_add(rows as u64 * width + PADDING as u64);
            width <= 8 && end.is_some_and(|end| end <= self.bytes.len() as u64)
        };
        in_blocks.is_some_and(|rows| {
            let rows_of = |block: usize| BLOCK.min(rows.saturating_sub(block * BLOCK));
            rows.div_ceil(BLOCK) == self.blocks.len()
                && (0..self.blocks.len())
                    .map(rows_of)
                    .zip(&self.blocks)
                    .all(fits)
        })
    }

    /// Replaces the values of some rows, in the order of the rows. The column is rebuilt once for all of them.
    pub fn replace(&mut self, fixes: impl Iterator<Item = (u32, i64)>) {
        let mut replaced = Self::with_capacity(self.len);
        let mut fixes = fixes.peekable();
        for row in 0..self.len {
            let fixed = fixes.next_if(|&(fixed, _)| fixed as usize == row);
            replaced.push(fixed.map_or_else(|| self.get(row), |(_, value)| value));
        }
        *self = replaced;
    }

    /// Adds `value` until there are `len` rows.
    pub fn resize(&mut self, len: usize, value: i64) {
        while self.len() < len {
            self.push(value);
        }
    }

    pub fn heap_bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<PackedBlock>()
            + self.bytes.capacity()
            + self.tail.capacity() * 8
    }

    /// Packs the last rows and frees unused capacity. Nothing may be pushed afterwards.
    pub fn freeze(&mut self) {
        if !self.tail.is_empty() {
            self.seal();
        }
        self.blocks.shrink_to_fit();
        self.bytes.shrink_to_fit();
        self.tail.shrink_to_fit();
    }

    /// Moves the tail into a block.
    fn seal(&mut self) {
        let mut tail = std::mem::take(&mut self.tail);
        self.pack(&tail);
        tail.clear();
        self.tail = tail;
    }

    /// Adds a block of these values.
    fn pack(&mut self, values: &[i64]) {
        let (least, most) = values
            .iter()
            .fold((i64::MAX, i64::MIN), |(a, b), &v| (a.min(v), b.max(v)));
        // Exact for any two i64: the difference is taken modulo 2^64 and is never negative.
        let spread = most.wrapping_sub(least) as u64;
        let width = (u64::BITS - spread.leading_zeros()).div_ceil(8) as usize;
        let from = self.bytes.len().saturating_sub(PADDING);
        self.blocks.push(PackedBlock {
            base: least,
            place: ((from as u64) << 4) | width as u64,
        });
        self.bytes.resize(from + values.len() * width + PADDING, 0);
        let bytes = &mut self.bytes[from..];
        by_width!(width, {}, pack_as(bytes, values, least));
    }
}

/// Writes the lowest `WIDTH` bytes of the difference of each value from `least`.
fn pack_as<const WIDTH: usize>(bytes: &mut [u8], values: &[i64], least: i64) {
    for (place, value) in bytes.as_chunks_mut::<WIDTH>().0.iter_mut().zip(values) {
        if let Some(low) = value.wrapping_sub(least).to_le_bytes().first_chunk() {
            *place = *low;
        }
    }
}

/// Reads what [`pack_as`] wrote.
fn unpack_from<const WIDTH: usize>(bytes: &[u8], out: &mut [i64], least: i64) {
    for (value, low) in out.iter_mut().zip(bytes.as_chunks::<WIDTH>().0) {
        let mut eight = [0; 8];
        if let Some(place) = eight.first_chunk_mut() {
            *place = *low;
        }
        *value = least.wrapping_add(i64::from_le_bytes(eight));
    }
}

/// The low `width` bytes.
fn mask(width: usize) -> u64 {
    const MASKS: [u64; 16] = {
        let mut masks = [u64::MAX; 16];
        let mut width = 0;
        while width < 8 {
            masks[width] = (1 << (8 * width)) - 1;
            width += 1;
        }
        masks
    };
    MASKS[width % 16]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: impl IntoIterator<Item = i64>) -> CompactColumn {
        let mut column = CompactColumn::default();
        values.into_iter().for_each(|value| column.push(value));
        column
    }

    #[test]
    fn round_trips_every_i64() {
        let edges = [
            0,
            1,
            -1,
            i64::MAX,
            i64::MIN,
            i64::from(i32::MAX),
            i64::from(i32::MIN),
            1 << 40,
        ];
        for span in 1..=edges.len() {
            // Blocks with few extreme values are narrow; a block with all of them has the full width.
            let value = |i: usize| edges[(i / 50) % span].wrapping_add((i % 3) as i64);
            let column = column((0..1_000).map(value));
            assert_eq!(column.len(), 1_000);
            for i in 0..1_000 {
                assert_eq!(column.get(i), value(i), "row {i} of {span} edges");
            }
        }
    }

    #[test]
    fn round_trips_every_block_width() {
        for width in 0..=8_u32 {
            let most = if width == 8 {
                i64::MAX
            } else {
                (1_i64 << (8 * width)) - 1
            };
            let values = || (0..300).map(move |i| if i % 2 == 0 { 0 } else { most });
            let column = column(values());
            assert!(
                values()
                    .enumerate()
                    .all(|(i, value)| column.get(i) == value),
                "{width} bytes"
            );
        }
    }

    #[test]
    fn equal_values_take_no_bytes_and_similar_values_take_few() {
        let mut equal = column((0..12_800).map(|_| 7_000_000_000_000));
        let mut similar = column((0..12_800).map(|i| 7_000_000_000_000 + i % 200));
        equal.freeze();
        similar.freeze();
        assert!(equal.heap_bytes() < 2_000, "{}", equal.heap_bytes());
        assert!(
            similar.heap_bytes() < 12_800 + 2_000,
            "{}",
            similar.heap_bytes()
        );
    }

    #[test]
    fn joins_columns() {
        let mut both = column(0..200);
        both.extend(&column(1_000..1_200));
        both.resize(402, -1);
        both.freeze();
        assert_eq!(both.len(), 402);
        assert_eq!(
            (both.get(199), both.get(200), both.get(399), both.get(401)),
            (199, 1_000, 1_199, -1)
        );
    }

    #[test]
    fn joins_columns_of_any_length() {
        let lens = [0_i64, 1, 127, 128, 129, 255, 256, 300];
        for (first, second, frozen) in lens
            .iter()
            .flat_map(|&a| lens.map(|b| (a, b, (a + b) % 2 == 0)))
        {
            let value = |i: i64| i * i * if i % 5 == 0 { -1 } else { 1_000_003 };
            let expected: Vec<i64> = (0..first + second).map(value).collect();
            let mut other = column((first..first + second).map(value));
            if frozen {
                other.freeze();
            }
            let mut blocks = column((0..first).map(value));
            blocks.extend(&other);
            let mut slices = column((0..first).map(value));
            slices.extend_from_slice(&other.to_vec());
            for mut joined in [blocks, slices] {
                joined.extend_from_slice(&[7]);
                assert_eq!(joined.len(), expected.len() + 1);
                joined.freeze();
                assert_eq!(
                    joined.to_vec().split_last(),
                    Some((&7, &expected[..])),
                    "{first} and {second}"
                );
                assert!((0..expected.len()).all(|row| joined.get(row) == expected[row]));
            }
        }
    }
}
