//! What messages have in common.

use super::super::need::{MemoryShortage, NeededKind};

/// Letters of a field at most: a log may be anything.
const MOST_LETTERS: usize = 600;

/// What the compiler of kernels says.
pub(super) const KERNEL: &str = "would exceed memory (size=";

/// What the compiler says instead of tables, since libtpu 0.0.40.
pub(super) const RAN_OUT_ON: &str = "Ran out of memory on ";
/// What it says of programs with a part for the `SparseCore`s.
pub(super) const OF_CORES: &str = "TPU TensorCore Hbm usage: ";

/// A kind that is not there yet.
pub(super) fn add(out: &mut MemoryShortage, kind: &str, bytes: u64, padding_bytes: Option<u64>) {
    if bytes > 0 && out.kind(kind).is_none() && out.kinds.len() < 32 {
        out.kinds.push(NeededKind {
            kind: kind.to_owned(),
            bytes,
            padding_bytes,
        });
    }
}

pub(super) fn unknown(out: &mut MemoryShortage, what: &str) {
    let text = format!("{what}: the message does not know it");
    if !out.unknown.contains(&text) && out.unknown.len() < 16 {
        out.unknown.push(text);
    }
}

/// What stands between `mark` and the next `end`.
pub(super) fn quoted(text: &str, mark: &str, end: char) -> Option<String> {
    let (_, rest) = text.split_once(mark)?;
    let value = rest.split(end).next()?;
    (!value.is_empty()).then(|| limited(value))
}

pub(super) fn limited(text: &str) -> String {
    text.trim().chars().take(MOST_LETTERS).collect()
}
