//! Arguments of host events, and those that stand in their names.

use facts::prelude::*;
use trace_model::ArgValue;

/// A text or a whole number.
pub(super) fn plain_text(value: ArgValue) -> Option<String> {
    match value {
        ArgValue::Text(text) => Some(text),
        ArgValue::Int(_) | ArgValue::Uint(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Arguments in the name of an event: `#module=jit_f,program_id=3#`.
pub(super) fn decorations(slice: SliceRef<'_>) -> impl Iterator<Item = (&str, &str)> {
    let decoration = slice
        .name()
        .split_once('#')
        .map_or("", |(_, suffix)| suffix);
    decoration
        .split(['#', ','])
        .filter_map(|pair| pair.split_once('='))
}
