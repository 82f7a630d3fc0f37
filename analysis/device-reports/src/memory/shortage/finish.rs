//! What follows from the needs that were read: sums by source line, fixes, a sentence.

use super::need::{MemoryShortage, NeededBuffer, NeededSource};
use super::size::binary;
use super::{fixes, text};
use facts::prelude::*;

/// Sorts the buffers, sums them by source line, finds fixes, and says it in a sentence.
pub(super) fn finished(mut of: MemoryShortage) -> MemoryShortage {
    of.buffers.sort_by_key(|buffer| Reverse(buffer.bytes));
    of.sources = by_source(&of.buffers);
    if of.over_bytes.is_none() {
        let both = of.needed_bytes.zip(of.capacity_bytes);
        let over = both.map(|(needed, there)| needed.saturating_sub(there));
        // What fits without padding, or as far as it is told, need not fit.
        of.over_bytes = over.filter(|&over| over > 0 || !(of.is_least || of.is_estimate));
    }
    if of.buffers.is_empty() {
        of.unknown
            .push("which buffers are needed: the message lists none".to_owned());
    } else if of.sources.is_empty() {
        of.unknown
            .push("which source lines need them: no buffer names one".to_owned());
    }
    of.fixes = fixes::fixes(&of);
    of.statement = text::statement(&of, binary);
    of
}

fn by_source(buffers: &[NeededBuffer]) -> Vec<NeededSource> {
    let sources = grouped(
        buffers
            .iter()
            .filter_map(|buffer| Some((buffer.source.as_deref()?, buffer))),
    );
    let mut sources: Vec<NeededSource> = sources
        .into_iter()
        .map(|(source, of_source)| NeededSource {
            source: source.to_owned(),
            buffers: of_source.len(),
            bytes: of_source
                .iter()
                .map(|it| it.bytes)
                .fold(0, u64::saturating_add),
            padding_bytes: of_source
                .iter()
                .try_fold(0_u64, |sum, it| Some(sum.saturating_add(it.padding_bytes?))),
        })
        .collect();
    largest_first(&mut sources, |row| row.bytes, |row| &row.source);
    sources
}
