//! Walking the messages of a program.

use std::ops::Range;

use trace_model::wire::{Broken, Cursor, Value};

/// Damage, and in which message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) message: &'static str,
    pub(super) at: usize,
    pub(super) why: &'static str,
}

/// The serialized program.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    /// Hands each field of the message at `range` to `field`.
    pub(super) fn walk(
        self,
        range: Range<usize>,
        message: &'static str,
        mut field: impl FnMut(u32, Value) -> Result<(), Damage>,
    ) -> Result<(), Damage> {
        let damage = |broken: Broken| Damage { message, at: broken.at, why: broken.why };
        let mut cursor = Cursor::new(self.0, range);
        while let Some((number, value)) = cursor.next().map_err(damage)? {
            field(number, value)?;
        }
        Ok(())
    }

    /// A text; what is not UTF-8 is replaced.
    pub(super) fn text(self, value: &Value) -> String {
        String::from_utf8_lossy(self.slice(value)).into_owned()
    }

    /// The bytes of a text or message; none for a number.
    pub(super) fn slice(self, value: &Value) -> &'a [u8] {
        match value {
            Value::Bytes(range) => self.0.get(range.clone()).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Appends a repeated number, packed or not.
    pub(super) fn numbers(self, value: &Value, message: &'static str, out: &mut Vec<u64>) -> Result<(), Damage> {
        match value {
            &Value::Varint(number) => out.push(number),
            Value::Bytes(range) => {
                // The last byte of each number is below 128.
                out.reserve_exact(self.slice(value).iter().filter(|&&byte| byte < 128).count());
                let mut cursor = Cursor::new(self.0, range.clone());
                while cursor.position() < range.end {
                    let damage = |broken: Broken| Damage { message, at: broken.at, why: broken.why };
                    out.push(cursor.varint().map_err(damage)?);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// A number; 0 for other values.
pub(super) fn number(value: &Value) -> u64 {
    match value {
        &Value::Varint(number) => number,
        _ => 0,
    }
}

/// Where a message lies; nowhere for numbers.
pub(super) fn range(value: &Value) -> Range<usize> {
    match value {
        Value::Bytes(range) => range.clone(),
        _ => 0..0,
    }
}
