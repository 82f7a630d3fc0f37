//! Reads `xla.ShapeProto`.

use crate::syntax::{ArrayShape, MAX_DEPTH, Shape, dtype_of_number};

use super::super::wire::{HloDamage, ProtoValue};

const SHAPE: &str = "ShapeProto";
const LAYOUT: &str = "LayoutProto";

/// The shape in a message.
pub(super) fn read(message: &ProtoValue<'_>, depth: usize) -> Result<Shape<'static>, HloDamage> {
    if depth > MAX_DEPTH {
        return Err(message.damage(SHAPE, "tuples nested too deeply"));
    }
    let (mut array, mut parts) = (ArrayShape::default(), Vec::new());
    message.walk(SHAPE, |field, value| {
        match field {
            2 => array.dtype = dtype_of_number(value.number()),
            3 => value.numbers(&mut array.dims)?,
            4 => parts.push(read(value, depth + 1)?),
            5 => read_layout(value, &mut array)?,
            _ => {}
        }
        Ok(())
    })?;
    match array.dtype {
        "tuple" => Ok(Shape::Tuple(parts)),
        "" => Err(message.damage(SHAPE, "a shape without a type")),
        _ => Ok(Shape::Array(array)),
    }
}

fn read_layout(message: &ProtoValue<'_>, array: &mut ArrayShape<'static>) -> Result<(), HloDamage> {
    message.walk(LAYOUT, |field, value| {
        match field {
            1 => value.numbers(&mut array.minor_to_major)?,
            6 => array.tiles.push(value.list(LAYOUT)?),
            7 => array.packed_bits = Some(value.number()).filter(|&bits| bits > 0),
            8 => array.memory_space = value.number(),
            _ => {}
        }
        Ok(())
    })
}
