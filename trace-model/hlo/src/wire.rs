//! Reads the messages of a program.

use std::ops::Range;

use trace_model::wire::{BrokenMessage, WireCursor, WireValue};

/// Damage, and the message that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HloDamage {
    pub message: &'static str,
    pub at: usize,
    pub why: &'static str,
}

/// The serialized program.
#[derive(Clone, Copy)]
pub(super) struct ProgramMessage<'a>(pub(super) &'a [u8]);

impl<'a> ProgramMessage<'a> {
    /// Passes each field of `message`, which the compiler calls `name`, to `field`.
    pub fn walk(
        self,
        message: &WireValue,
        name: &'static str,
        mut field: impl FnMut(u32, &WireValue) -> Result<(), HloDamage>,
    ) -> Result<(), HloDamage> {
        let mut cursor = WireCursor::new(self.0, range(message));
        while let Some((number, value)) = cursor.next().map_err(|it| damage(name, it))? {
            field(number, &value)?;
        }
        Ok(())
    }

    /// What `field` makes of the fields of `message`.
    pub fn read<T: Default>(
        self,
        message: &WireValue,
        name: &'static str,
        mut field: impl FnMut(&mut T, u32, &WireValue) -> Result<(), HloDamage>,
    ) -> Result<T, HloDamage> {
        let mut out = T::default();
        self.walk(message, name, |number, value| {
            field(&mut out, number, value)
        })?;
        Ok(out)
    }

    /// The numbers of the fields from 1 on; 0 where one is missing.
    pub fn first_numbers<const N: usize>(
        self,
        message: &WireValue,
        name: &'static str,
    ) -> Result<[u64; N], HloDamage> {
        let mut out = [0; N];
        self.walk(message, name, |field, value| {
            if let Some(slot) = out.get_mut((field as usize).wrapping_sub(1)) {
                *slot = number(value);
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// The numbers of a message that is a list: its field 1.
    pub fn list(self, message: &WireValue, name: &'static str) -> Result<Vec<u64>, HloDamage> {
        self.read(message, name, |out, field, value| match field {
            1 => self.numbers(value, name, out),
            _ => Ok(()),
        })
    }

    /// A string; invalid UTF-8 is replaced.
    pub fn text(self, value: &WireValue) -> String {
        String::from_utf8_lossy(self.slice(value)).into_owned()
    }

    /// The bytes of a string or message; empty for numbers.
    pub fn slice(self, value: &WireValue) -> &'a [u8] {
        match value {
            WireValue::Bytes(range) => self.0.get(range.clone()).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Appends a repeated number, packed or not.
    pub fn numbers(
        self,
        value: &WireValue,
        message: &'static str,
        out: &mut Vec<u64>,
    ) -> Result<(), HloDamage> {
        match value {
            &WireValue::Varint(number) => out.push(number),
            WireValue::Bytes(range) => {
                // The last byte of each number is below 128.
                out.reserve_exact(self.slice(value).iter().filter(|&&byte| byte < 128).count());
                let mut cursor = WireCursor::new(self.0, range.clone());
                while cursor.position() < range.end {
                    out.push(cursor.varint().map_err(|it| damage(message, it))?);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn damage(message: &'static str, broken: BrokenMessage) -> HloDamage {
    HloDamage {
        message,
        at: broken.at,
        why: broken.why,
    }
}

/// A number; 0 for other values.
pub(super) fn number(value: &WireValue) -> u64 {
    match value {
        &WireValue::Varint(number) => number,
        _ => 0,
    }
}

/// Position of a message; empty for numbers.
pub(super) fn range(value: &WireValue) -> Range<usize> {
    match value {
        WireValue::Bytes(range) => range.clone(),
        _ => 0..0,
    }
}
