//! Reads the Protocol Buffers wire format in place, without copies or allocations. Every position is an offset into the
//! whole file, so that a message can be read again later and an error can name its place.
//!
//! Encoding: <https://protobuf.dev/programming-guides/encoding/>. Groups (wire types 3 and 4) were deprecated before
//! `XPlane` existed and are treated as errors.

use std::fmt;
use std::ops::Range;

/// A field value, in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireValue {
    /// Integers, booleans and enums.
    Varint(u64),
    /// Eight bytes: doubles.
    Fixed64(u64),
    /// Strings, bytes and messages.
    Bytes(Range<usize>),
    /// Four bytes; not used by `XPlane`.
    Fixed32,
}

/// Why and where a message cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenMessage {
    /// Offset into the file.
    pub at: usize,
    /// Description of the error.
    pub why: &'static str,
}

impl fmt::Display for BrokenMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.why)
    }
}

/// Tags, as [`WireCursor::tag`] returns them.
pub mod tag {
    /// Tag of the field `number` if its value is a varint.
    pub const fn varint(number: u64) -> u64 {
        number << 3
    }

    /// Tag of the field `number` if its value takes eight bytes.
    pub const fn fixed64(number: u64) -> u64 {
        number << 3 | 1
    }

    /// Tag of the field `number` if its value is a string, a byte array or a message.
    pub const fn bytes(number: u64) -> u64 {
        number << 3 | 2
    }
}

/// The number of the field that has this tag, which begins at `position`.
#[inline]
fn field_number(tag: u64, position: usize) -> Result<u32, BrokenMessage> {
    match u32::try_from(tag >> 3) {
        Ok(number) if number != 0 && number < 1 << 29 => Ok(number),
        _ => Err(BrokenMessage {
            at: position,
            why: "a field number out of range",
        }),
    }
}

/// The top bit of each byte, which is set in all bytes of a number except the last.
const TOP_BITS: u64 = 0x8080_8080_8080_8080;

/// The lowest `bits` of a word, without the top bit of each byte.
#[inline]
fn sevens(word: u64, bits: u32) -> u64 {
    let word = word & (u64::MAX >> (64 - bits)) & !TOP_BITS;
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

/// A number as it is on the wire, in a word that can hold more.
#[derive(Clone, Copy, Debug)]
pub struct WireNumber {
    word: u64,
    /// How many of its lowest bits the number takes.
    bits: u32,
}

impl WireNumber {
    /// The number.
    #[inline]
    pub fn get(self) -> u64 {
        sevens(self.word, self.bits)
    }
}

/// Iterates over the fields of one message.
#[derive(Debug)]
pub struct WireCursor<'a> {
    /// The whole file. The bytes after the message allow its last numbers to be read as a word, too.
    file: &'a [u8],
    at: usize,
    /// End of the message, within the file.
    end: usize,
}

impl<'a> WireCursor<'a> {
    /// The message at `range` of `file`; a range outside the file is empty.
    #[inline]
    pub fn new(file: &'a [u8], range: Range<usize>) -> Self {
        let end = if range.end <= file.len() {
            range.end
        } else {
            0
        };
        Self {
            file,
            at: range.start.min(end),
            end,
        }
    }

    /// Offset of the next field.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next field and its number; `None` at the end of the message.
    ///
    /// # Errors
    ///
    /// The tag or its value is damaged or cut off.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "no iterator: after damage there is nothing more to read"
    )]
    pub fn next(&mut self) -> Result<Option<(u32, WireValue)>, BrokenMessage> {
        let position = self.at;
        let Some(tag) = self.tag()? else {
            return Ok(None);
        };
        self.field(tag, position).map(Some)
    }

    /// The next tag: eight times the number of the field, plus the wire type of its value. `None` at the end of the
    /// message.
    ///
    /// Readers of the many small messages of a line compare tags with [`tag`] constants and pass all other tags to
    /// [`Self::skip_value`], which takes a third of the instructions of [`Self::next`].
    ///
    /// # Errors
    ///
    /// The tag is cut off.
    #[inline]
    pub fn tag(&mut self) -> Result<Option<u64>, BrokenMessage> {
        if self.at >= self.end {
            Ok(None)
        } else {
            self.varint().map(Some)
        }
    }

    /// Skips the value of a field that has this `tag`, which begins at `tag_at`.
    ///
    /// # Errors
    ///
    /// The tag or the value is damaged or cut off.
    #[inline(never)]
    pub fn skip_value(&mut self, tag: u64, tag_at: usize) -> Result<(), BrokenMessage> {
        self.field(tag, tag_at).map(|_| ())
    }

    /// Number and value of the field that has this `tag`, which begins at `tag_at`.
    ///
    /// # Errors
    ///
    /// The tag or the value is damaged or cut off.
    #[inline]
    pub fn field(&mut self, tag: u64, tag_at: usize) -> Result<(u32, WireValue), BrokenMessage> {
        Ok((field_number(tag, tag_at)?, self.value(tag, tag_at)?))
    }

    #[inline]
    fn value(&mut self, tag: u64, tag_at: usize) -> Result<WireValue, BrokenMessage> {
        Ok(match tag & 7 {
            0 => WireValue::Varint(self.varint()?),
            1 => WireValue::Fixed64(self.fixed64()?),
            2 => WireValue::Bytes(self.length_delimited()?),
            5 => {
                self.skip(4)?;
                WireValue::Fixed32
            }
            _ => {
                return Err(BrokenMessage {
                    at: tag_at,
                    why: "a field of no known type",
                });
            }
        })
    }

    /// A base-128 varint.
    ///
    /// # Errors
    ///
    /// The number is cut off, or longer than ten bytes.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, BrokenMessage> {
        match self.file.get(self.at) {
            Some(&byte) if byte < 0x80 && self.at < self.end => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    /// Nearly all numbers have at most eight bytes and are read as one word: the first byte without its top bit ends
    /// the number, and three steps join the groups of seven bits.
    #[inline]
    fn long_varint(&mut self) -> Result<u64, BrokenMessage> {
        let Some(word) = self
            .file
            .get(self.at..)
            .and_then(|rest| rest.first_chunk::<8>())
        else {
            return self.any_varint();
        };
        let word = u64::from_le_bytes(*word);
        let ends = !word & TOP_BITS;
        let bits = ends.trailing_zeros() + 1;
        if ends == 0 || self.at + bits as usize / 8 > self.end {
            return self.any_varint();
        }
        self.at += bits as usize / 8;
        Ok(sevens(word, bits))
    }

    /// Reads the next field if it has this `tag` and a number of at most eight bytes. For any other field, intact or
    /// not, returns `None` and reads nothing.
    ///
    /// For fields in an order that is known: takes half of the instructions of [`Self::tag`] and [`Self::varint`].
    #[inline]
    pub fn number(&mut self, tag: u64) -> Option<u64> {
        let [first, number @ ..] = self.file.get(self.at..)?.first_chunk::<9>()?;
        if u64::from(*first) != tag {
            return None;
        }
        let word = u64::from_le_bytes(*number);
        let ends = !word & TOP_BITS;
        let bits = ends.trailing_zeros() + 1;
        let after = self.at + 1 + bits as usize / 8;
        if ends == 0 || after > self.end {
            return None;
        }
        self.at = after;
        Some(sevens(word, bits))
    }

    /// Reads the next field if it has this `tag` and is a message of two numbers, field 1 and one other field. Returns
    /// the number of field 1, the tag of the other field, and its number. For any other field, intact or not, returns
    /// `None` and reads nothing.
    ///
    /// Most messages of a capture have this form, and of most the number does not matter. This takes a quarter of the
    /// instructions of a loop over the fields.
    #[inline]
    pub fn pair(&mut self, tag: u64) -> Option<(u64, u64, WireNumber)> {
        // What follows the message often looks like one more field.
        if self.at >= self.end {
            return None;
        }
        let [first, message @ ..] = self.file.get(self.at..)?.first_chunk::<17>()?;
        let [head, _] = message.as_chunks::<8>().0 else {
            return None;
        };
        // Length, tag of field 1, its number in one byte or two, another tag. All of them are below 128.
        let head = u64::from_le_bytes(*head);
        let more = head >> 23 & 1;
        let other = head >> (24 + 8 * more) & 0xff;
        if u64::from(*first) != tag
            || head & 0xff80 != 0x0800
            || (head >> 31 & more) != 0
            || other < 0x10
            || other & 0x87 != 0
        {
            return None;
        }
        let id = (head >> 16 & 0x7f) | ((head >> 24 & 0x7f) * more) << 7;
        let start = 4 + more as usize;
        let word = u64::from_le_bytes(*message.get(start..)?.first_chunk::<8>()?);
        let ends = !word & TOP_BITS;
        let bits = ends.trailing_zeros() + 1;
        let len = start + bits as usize / 8;
        let after = self.at + 1 + len;
        if ends == 0 || len != 1 + (head & 0x7f) as usize || after > self.end {
            return None;
        }
        self.at = after;
        Some((id, other, WireNumber { word, bits }))
    }

    #[cold]
    fn any_varint(&mut self) -> Result<u64, BrokenMessage> {
        let mut value = 0_u64;
        let rest = self.file.get(self.at..self.end).unwrap_or_default();
        for (i, &byte) in rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.at += i + 1;
                return Ok(value);
            }
        }
        let why = if rest.len() < 10 {
            "the file or a message ends inside a number"
        } else {
            "a number that never ends"
        };
        Err(BrokenMessage { at: self.at, why })
    }

    /// Reads eight bytes: a double.
    ///
    /// # Errors
    ///
    /// The message ends before them.
    #[inline]
    pub fn fixed64(&mut self) -> Result<u64, BrokenMessage> {
        let position = self.at;
        self.skip(8)?;
        let bytes = self
            .file
            .get(position..)
            .and_then(|rest| rest.first_chunk::<8>());
        Ok(bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    /// Reads the range of a length-delimited string, byte array or message.
    ///
    /// # Errors
    ///
    /// The message ends before the length or the content does.
    #[inline]
    pub fn length_delimited(&mut self) -> Result<Range<usize>, BrokenMessage> {
        let position = self.at;
        let len = self.varint()?;
        let start = self.at;
        let end = usize::try_from(len)
            .ok()
            .and_then(|len| start.checked_add(len));
        match end.filter(|&end| end <= self.end) {
            Some(end) => {
                self.at = end;
                Ok(start..end)
            }
            None => Err(BrokenMessage {
                at: position,
                why: "a length that reaches past its surroundings",
            }),
        }
    }

    fn skip(&mut self, len: usize) -> Result<(), BrokenMessage> {
        match self.at.checked_add(len).filter(|&end| end <= self.end) {
            Some(end) => {
                self.at = end;
                Ok(())
            }
            None => Err(BrokenMessage {
                at: self.at,
                why: "the file or a message ends inside a number",
            }),
        }
    }
}

#[cfg(test)]
mod tests;
