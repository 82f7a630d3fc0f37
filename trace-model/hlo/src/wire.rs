//! Reads the messages of a program.

use std::ops::Range;

use trace_model::wire::{BrokenMessage, WireCursor, WireValue};

/// Damage, and the message that contains it.
#[derive(Clone, Copy, Debug)]
pub(super) struct HloDamage {
    pub message: &'static str,
    pub at: usize,
    pub why: &'static str,
}

/// The value of a field of the serialized program.
#[derive(Clone)]
pub(super) struct ProtoValue<'a> {
    program: &'a [u8],
    value: WireValue,
    /// What the compiler calls the message that has the field.
    inside: &'static str,
}

impl<'a> ProtoValue<'a> {
    /// The message at `range` of a program.
    pub fn message(program: &'a [u8], range: Range<usize>) -> Self {
        Self {
            program,
            value: WireValue::Bytes(range),
            inside: "HloProto",
        }
    }

    /// Passes each field of this message, which the compiler calls `name`, to `field`.
    pub fn walk(
        &self,
        name: &'static str,
        mut field: impl FnMut(u32, &Self) -> Result<(), HloDamage>,
    ) -> Result<(), HloDamage> {
        let mut cursor = WireCursor::new(self.program, self.range());
        while let Some((number, value)) = cursor.next().map_err(|it| damage(name, it))? {
            let value = Self {
                value,
                inside: name,
                ..*self
            };
            field(number, &value)?;
        }
        Ok(())
    }

    /// What `field` makes of the fields of this message.
    pub fn read<T: Default>(
        &self,
        name: &'static str,
        mut field: impl FnMut(&mut T, u32, &Self) -> Result<(), HloDamage>,
    ) -> Result<T, HloDamage> {
        let mut out = T::default();
        self.walk(name, |number, value| field(&mut out, number, value))?;
        Ok(out)
    }

    /// The numbers of the fields from 1 on; 0 where one is missing.
    pub fn first_numbers<const N: usize>(&self, name: &'static str) -> Result<[u64; N], HloDamage> {
        let mut out = [0; N];
        self.walk(name, |field, value| {
            if let Some(slot) = out.get_mut((field as usize).wrapping_sub(1)) {
                *slot = value.number();
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// The numbers of a message that is a list: its field 1.
    pub fn list(&self, name: &'static str) -> Result<Vec<u64>, HloDamage> {
        self.read(name, |out, field, value| match field {
            1 => value.numbers(out),
            _ => Ok(()),
        })
    }

    /// A string; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.slice()).into_owned()
    }

    /// The bytes of a string or message; empty for numbers.
    pub fn slice(&self) -> &'a [u8] {
        self.program.get(self.range()).unwrap_or_default()
    }

    /// Whether it is a string or message.
    pub fn is_bytes(&self) -> bool {
        matches!(self.value, WireValue::Bytes(_))
    }

    /// A number; 0 for other values.
    pub fn number(&self) -> u64 {
        match self.value {
            WireValue::Varint(number) => number,
            _ => 0,
        }
    }

    /// Position of a message; empty for numbers.
    pub fn range(&self) -> Range<usize> {
        match &self.value {
            WireValue::Bytes(range) => range.clone(),
            _ => 0..0,
        }
    }

    /// Appends a repeated number, packed or not.
    pub fn numbers(&self, out: &mut Vec<u64>) -> Result<(), HloDamage> {
        match &self.value {
            &WireValue::Varint(number) => out.push(number),
            WireValue::Bytes(range) => {
                // The last byte of each number is below 128.
                out.reserve_exact(self.slice().iter().filter(|&&byte| byte < 128).count());
                let mut cursor = WireCursor::new(self.program, range.clone());
                while cursor.position() < range.end {
                    out.push(cursor.varint().map_err(|it| damage(self.inside, it))?);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What is wrong with this message, which the compiler calls `message`.
    pub fn damage(&self, message: &'static str, why: &'static str) -> HloDamage {
        HloDamage {
            message,
            at: self.range().start,
            why,
        }
    }
}

fn damage(message: &'static str, broken: BrokenMessage) -> HloDamage {
    HloDamage {
        message,
        at: broken.at,
        why: broken.why,
    }
}
