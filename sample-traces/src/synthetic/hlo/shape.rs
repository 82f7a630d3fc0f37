//! Converts shapes from text to protobuf messages.

use crate::write::ProtoMessage;

/// Numbers of `xla.PrimitiveType`.
const TYPES: [(&str, u64); 5] = [
    ("pred", 1),
    ("s32", 4),
    ("u32", 8),
    ("f32", 11),
    ("bf16", 16),
];
const TUPLE: u64 = 13;

/// Writes `bf16[8,128]{1,0:T(8,128)(2,1)S(1)}`, or a tuple of such.
pub(super) fn write(text: &str, out: &mut ProtoMessage) {
    if let Some(parts) = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'))
    {
        out.uint(2, TUPLE);
        for part in parts.split(", ") {
            out.message(4, |part_out| write(part, part_out));
        }
        return;
    }
    let (element, rest) = text.split_once('[').unwrap_or((text, "]"));
    let (dimensions, layout) = rest.split_once(']').unwrap_or((rest, ""));
    out.uint(
        2,
        TYPES
            .iter()
            .find(|(name, _)| *name == element)
            .map_or(0, |&(_, number)| number),
    );
    out.packed(3, numbers(dimensions));
    if let Some(layout) = layout.strip_prefix('{') {
        out.message(5, |out| write_layout(layout.trim_end_matches('}'), out));
    }
}

fn numbers(list: &str) -> impl Iterator<Item = u64> {
    list.split(',').filter_map(|number| number.parse().ok())
}

/// `1,0:T(8,128)(2,1)S(1)`.
fn write_layout(layout: &str, out: &mut ProtoMessage) {
    let (order, rest) = layout.split_once(':').unwrap_or((layout, ""));
    out.packed(1, numbers(order));
    let mut space = 0;
    let mut is_tile = false;
    for group in rest.split(')').filter(|group| !group.is_empty()) {
        let (letter, list) = group.split_once('(').unwrap_or(("", group));
        is_tile = letter == "T" || letter.is_empty() && is_tile;
        if is_tile {
            out.message(6, |tile| tile.packed(1, numbers(list)));
        } else if letter == "S" {
            space = list.parse().unwrap_or(0);
        }
    }
    out.uint(8, space);
}
