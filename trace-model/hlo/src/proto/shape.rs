//! Reads `xla.ShapeProto`.

use crate::syntax::{ArrayShape, MAX_DEPTH, Shape, dtype_of_number};
use trace_model::wire::WireValue;

use super::super::wire::{HloDamage, ProgramMessage, number, range};

const SHAPE: &str = "ShapeProto";
const LAYOUT: &str = "LayoutProto";

/// The shape in a message.
pub(super) fn read(
    bytes: ProgramMessage<'_>,
    message: &WireValue,
    depth: usize,
) -> Result<Shape<'static>, HloDamage> {
    let at = range(message).start;
    if depth > MAX_DEPTH {
        return Err(HloDamage {
            message: SHAPE,
            at,
            why: "tuples nested too deeply",
        });
    }
    let (mut array, mut parts) = (ArrayShape::default(), Vec::new());
    bytes.walk(message, SHAPE, |field, value| {
        match field {
            2 => array.dtype = dtype_of_number(number(value)),
            3 => bytes.numbers(value, SHAPE, &mut array.dims)?,
            4 => parts.push(read(bytes, value, depth + 1)?),
            5 => read_layout(bytes, value, &mut array)?,
            _ => {}
        }
        Ok(())
    })?;
    match array.dtype {
        "tuple" => Ok(Shape::Tuple(parts)),
        "" => Err(HloDamage {
            message: SHAPE,
            at,
            why: "a shape without a type",
        }),
        _ => Ok(Shape::Array(array)),
    }
}

fn read_layout(
    bytes: ProgramMessage<'_>,
    message: &WireValue,
    array: &mut ArrayShape<'static>,
) -> Result<(), HloDamage> {
    bytes.walk(message, LAYOUT, |field, value| {
        match field {
            1 => bytes.numbers(value, LAYOUT, &mut array.minor_to_major)?,
            6 => {
                array.tiles.push(bytes.list(value, LAYOUT)?);
            }
            7 => array.packed_bits = Some(number(value)).filter(|&bits| bits > 0),
            8 => array.memory_space = number(value),
            _ => {}
        }
        Ok(())
    })
}
