//! Reads what loops are counted by: constants, elements of tuples, comparisons.

use trace_model::wire::WireValue;

use super::super::wire::{HloDamage, ProgramMessage, number};
use crate::counter::{Comparison, CounterPart};

/// What loops are counted by.
pub(super) fn read_counter(
    bytes: ProgramMessage<'_>,
    field: u32,
    value: &WireValue,
    counter: &mut CounterPart,
) -> Result<(), HloDamage> {
    match field {
        8 => {
            if let Some(number) = whole_number(bytes, value)? {
                *counter = CounterPart::Constant(number);
            }
        }
        13 => *counter = u32::try_from(number(value)).map_or(*counter, CounterPart::Element),
        63 => {
            let direction = Comparison::parse(&bytes.text(value));
            *counter = direction.map_or(*counter, CounterPart::Compare);
        }
        _ => {}
    }
    Ok(())
}

/// The value of an `xla.LiteralProto` that is one whole number of 32 or 64 bits.
fn whole_number(bytes: ProgramMessage<'_>, message: &WireValue) -> Result<Option<i64>, HloDamage> {
    const LITERAL: &str = "LiteralProto";
    let (mut out, mut is_one) = (None, true);
    bytes.walk(message, LITERAL, |field, value| {
        if (4..=7).contains(&field) {
            // A number has at most ten bytes, and long arrays are not read.
            let is_short = bytes.slice(value).len() <= 10;
            let mut numbers = Vec::new();
            if is_short {
                bytes.numbers(value, LITERAL, &mut numbers)?;
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
