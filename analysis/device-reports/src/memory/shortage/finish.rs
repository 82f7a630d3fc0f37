//! What follows from the needs that were read: sums by source line, fixes, a sentence.

use super::need::{MemoryShortage, NeededBuffer, NeededSource};
use super::{fixes, text};

/// Sorts the buffers, sums them by source line, finds fixes, and says it in a sentence.
pub(super) fn finished(mut of: MemoryShortage) -> MemoryShortage {
    of.buffers
        .sort_by_key(|buffer| std::cmp::Reverse(buffer.bytes));
    of.sources = by_source(&of.buffers);
    if of.over_bytes.is_none() {
        let both = of.needed_bytes.zip(of.capacity_bytes);
        of.over_bytes = both.map(|(needed, there)| needed.saturating_sub(there));
    }
    if of.buffers.is_empty() {
        of.unknown
            .push("which buffers are needed: the message lists none".to_owned());
    } else if of.sources.is_empty() {
        of.unknown
            .push("which source lines need them: no buffer names one".to_owned());
    }
    of.fixes = fixes::fixes(&of);
    of.statement = text::statement(&of);
    of
}

fn by_source(buffers: &[NeededBuffer]) -> Vec<NeededSource> {
    let mut sources: std::collections::BTreeMap<&str, NeededSource> =
        std::collections::BTreeMap::new();
    for buffer in buffers {
        let Some(source) = buffer.source.as_deref() else {
            continue;
        };
        let sum = sources.entry(source).or_default();
        sum.buffers += 1;
        sum.bytes = sum.bytes.saturating_add(buffer.bytes);
        sum.padding_bytes = sum
            .padding_bytes
            .saturating_add(buffer.padding_bytes.unwrap_or(0));
    }
    let mut sources: Vec<NeededSource> = sources
        .into_iter()
        .map(|(source, sum)| NeededSource {
            source: source.to_owned(),
            ..sum
        })
        .collect();
    sources.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.source.cmp(&b.source)));
    sources
}
