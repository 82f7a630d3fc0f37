//! Protocol Buffers' wire format, read in place: nothing is copied, nothing is allocated, and every position is an
//! offset into the whole file, so that a message can be read again later and an error can name its place.
//!
//! Encoding: <https://protobuf.dev/programming-guides/encoding/>. Groups (wire types 3 and 4) were deprecated before
//! `XPlane` existed and are treated as errors.

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

/// Walks the fields of one message.
#[derive(Clone, Debug)]
pub struct WireCursor<'a> {
    /// The file up to the end of the message.
    bytes: &'a [u8],
    at: usize,
}

impl<'a> WireCursor<'a> {
    /// The message at `range` of `file`; a range outside the file is empty.
    pub fn new(file: &'a [u8], range: Range<usize>) -> Self {
        let bytes = file.get(..range.end).unwrap_or_default();
        Self { bytes, at: range.start.min(bytes.len()) }
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
    #[expect(clippy::should_implement_trait, reason = "no iterator: after damage there is nothing more to read")]
    pub fn next(&mut self) -> Result<Option<(u32, WireValue)>, BrokenMessage> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let tag_at = self.at;
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).unwrap_or(0);
        if number == 0 || number >= 1 << 29 {
            return Err(BrokenMessage { at: tag_at, why: "a field number out of range" });
        }
        let value = match tag & 7 {
            0 => WireValue::Varint(self.varint()?),
            1 => WireValue::Fixed64(self.fixed64()?),
            2 => WireValue::Bytes(self.length_delimited()?),
            5 => {
                self.skip(4)?;
                WireValue::Fixed32
            }
            _ => return Err(BrokenMessage { at: tag_at, why: "a field of no known type" }),
        };
        Ok(Some((number, value)))
    }

    /// A base-128 varint.
    ///
    /// # Errors
    ///
    /// The number is cut off, or longer than ten bytes.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, BrokenMessage> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, BrokenMessage> {
        let mut value = 0_u64;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        for (i, &byte) in rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.at += i + 1;
                return Ok(value);
            }
        }
        let why =
            if rest.len() < 10 { "the file or a message ends inside a number" } else { "a number that never ends" };
        Err(BrokenMessage { at: self.at, why })
    }

    /// The range of a length-delimited string, byte array or message.
    ///
    /// # Errors
    ///
    /// The message ends before the length or the content does.
    #[inline]
    pub fn length_delimited(&mut self) -> Result<Range<usize>, BrokenMessage> {
        let at = self.at;
        let len = self.varint()?;
        let start = self.at;
        let end = usize::try_from(len).ok().and_then(|len| start.checked_add(len));
        match end.filter(|&end| end <= self.bytes.len()) {
            Some(end) => {
                self.at = end;
                Ok(start..end)
            }
            None => Err(BrokenMessage { at, why: "a length that reaches past its surroundings" }),
        }
    }

    fn fixed64(&mut self) -> Result<u64, BrokenMessage> {
        let at = self.at;
        self.skip(8)?;
        let bytes = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
        Ok(bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    fn skip(&mut self, len: usize) -> Result<(), BrokenMessage> {
        match self.at.checked_add(len).filter(|&end| end <= self.bytes.len()) {
            Some(end) => {
                self.at = end;
                Ok(())
            }
            None => Err(BrokenMessage { at: self.at, why: "the file or a message ends inside a number" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u32, WireValue)>, BrokenMessage> {
        let mut cursor = WireCursor::new(bytes, 0..bytes.len());
        let mut fields = Vec::new();
        while let Some(field) = cursor.next()? {
            fields.push(field);
        }
        Ok(fields)
    }

    #[test]
    fn every_wire_type_is_read_or_skipped() {
        let mut bytes = vec![0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 1, 2, 3, 4, 0x21];
        bytes.extend(1.5_f64.to_le_bytes());
        let fields = all(&bytes).unwrap();
        assert_eq!(fields[0], (1, WireValue::Varint(150)));
        assert_eq!(fields[1], (2, WireValue::Bytes(5..7)));
        assert_eq!(fields[2], (3, WireValue::Fixed32));
        assert_eq!(fields[3], (4, WireValue::Fixed64(1.5_f64.to_bits())));
    }

    #[test]
    fn reads_varints_up_to_64_bits() {
        let mut bytes = vec![0x08];
        bytes.extend([0xff; 9]);
        bytes.push(1);
        assert_eq!(all(&bytes).unwrap(), [(1, WireValue::Varint(u64::MAX))]);
    }

    #[test]
    fn errors_name_their_offset() {
        let place = |bytes: &[u8]| all(bytes).unwrap_err().at;
        assert_eq!(place(&[0x08, 0x80]), 1);
        assert_eq!(place(&[0x08, 1, 0x12, 5, 0]), 3);
        assert_eq!(place(&[0x0b]), 0);
        assert_eq!(place(&[0x00, 0x00]), 0);
        assert_eq!(place(&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), 1);
    }
}
