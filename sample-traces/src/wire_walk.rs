//! The least that reading a protobuf takes: every field of every message is seen once, and nothing is made of it.

use std::ops::Range;

use trace_model::wire::{WireCursor, WireValue};

/// Number of fields below `range`, those of planes, lines and events included. Bytes that are no message end it, as texts
/// do: they count as far as they look like fields.
pub fn walk_fields(bytes: &[u8], range: Range<usize>) -> usize {
    let mut cursor = WireCursor::new(bytes, range);
    let mut fields = 0;
    while let Ok(Some((_, value))) = cursor.next() {
        fields += 1;
        if let WireValue::Bytes(range) = value {
            fields += walk_fields(bytes, range);
        }
    }
    fields
}
