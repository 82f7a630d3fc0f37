//! Reads what loops are counted by: constants, elements of tuples, comparisons.

use super::super::wire::{HloDamage, ProtoValue};
use crate::counter::{CompareDirection, CounterPart};

/// What loops are counted by.
pub(super) fn read_counter(
    field: u32,
    value: &ProtoValue<'_>,
    counter: &mut CounterPart,
) -> Result<(), HloDamage> {
    match field {
        8 => {
            if let Some(number) = whole_number(value)? {
                *counter = CounterPart::Constant(number);
            }
        }
        13 => *counter = u32::try_from(value.number()).map_or(*counter, CounterPart::Element),
        63 => {
            let direction = CompareDirection::parse(&value.text());
            *counter = direction.map_or(*counter, CounterPart::Compare);
        }
        _ => {}
    }
    Ok(())
}

/// The value of an `xla.LiteralProto` that is one whole number of 32 or 64 bits.
fn whole_number(message: &ProtoValue<'_>) -> Result<Option<i64>, HloDamage> {
    let (mut out, mut is_one) = (None, true);
    message.walk("LiteralProto", |field, value| {
        if (4..=7).contains(&field) {
            // A number has at most ten bytes, and long arrays are not read.
            let is_short = value.slice().len() <= 10;
            let mut numbers = Vec::new();
            if is_short {
                value.numbers(&mut numbers)?;
            }
            match numbers[..] {
                [one] if out.is_none() => out = Some(one as i64),
                _ => is_one = false,
            }
        }
        Ok(())
    })?;
    Ok(out.filter(|_| is_one))
}
