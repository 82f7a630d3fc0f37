//! One memory over time: its use and its contents.

use std::collections::HashMap;

use facts::prelude::*;

use super::events::MemoryEvent;

/// Indices of events; of the allocations that are live, by address.
type LiveAllocations = HashMap<i64, usize>;

/// Allocations of one size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SizeSums {
    pub count: u64,
    pub released: u64,
    /// Sum of the lifetimes of released ones.
    pub lifetime: Picos,
    /// The first of these allocations.
    pub example: usize,
}

/// Results of the events of a memory in a window.
#[derive(Debug, Default)]
pub(super) struct AllocationReplay {
    /// Event with the highest use; it can be the last one before the window.
    pub peak: Option<usize>,
    /// Time of that event, inside the window.
    pub peak_at: Timestamp,
    /// Event with the highest fragmentation.
    pub most_fragmented: Option<usize>,
    /// First and last event that applies in the window.
    pub first: Option<usize>,
    pub last: Option<usize>,
    /// Mean use; each sample is weighted by its duration.
    pub mean_used: Option<f64>,
    /// Allocations live at the peak, largest first.
    pub live_at_peak: Vec<usize>,
    /// Allocations of the window that are live at its end, largest first.
    pub kept: Vec<usize>,
    pub allocations: u64,
    pub releases: u64,
    pub allocated_bytes: i64,
    pub requested_bytes: i64,
    /// Bytes beyond the requested size, of allocations that record both.
    pub rounding_bytes: i64,
    /// Releases whose allocation was not recorded.
    pub unknown_releases: u64,
    /// Allocations at an address whose release was not recorded.
    pub lost_releases: u64,
    pub sizes: BTreeMap<i64, SizeSums>,
}

/// Replays `events`, sorted by time; only events in `window` count, but earlier allocations are live in it.
pub(super) fn replay(events: &[MemoryEvent], window: TimeRange) -> AllocationReplay {
    let from = events.partition_point(|event| event.at < window.start);
    let to = events.partition_point(|event| event.at <= window.end);
    let mut out = AllocationReplay::default();
    out.find_extremes(events, from, to, window);
    let mut live = LiveAllocations::new();
    for (index, event) in events.iter().enumerate().take(to) {
        let counts = index >= from;
        if event.is_allocation {
            out.allocate(events, &mut live, index, counts);
        } else {
            out.release(events, &mut live, event, from, counts);
        }
        if out.peak == Some(index) {
            out.live_at_peak = largest_first(events, live.values().copied());
        }
    }
    out.kept = largest_first(events, live.into_values().filter(|&index| index >= from));
    out
}

/// The allocations that are live after all of `events`, largest first.
pub(super) fn live_after(events: &[MemoryEvent]) -> Vec<usize> {
    let mut live = LiveAllocations::new();
    for (index, event) in events.iter().enumerate() {
        let Some(address) = event.address() else {
            continue;
        };
        if event.is_allocation {
            live.insert(address, index);
        } else {
            live.remove(&address);
        }
    }
    largest_first(events, live.into_values())
}

impl AllocationReplay {
    /// The values of the last event before the window apply from its start.
    fn find_extremes(&mut self, events: &[MemoryEvent], from: usize, to: usize, window: TimeRange) {
        let begin = from.saturating_sub(1);
        let mut weighted = (0.0, 0.0);
        let held = events.get(begin..to).unwrap_or_default();
        for (offset, event) in held.iter().enumerate() {
            let index = begin + offset;
            let start = event.at.max(window.start);
            let end = held
                .get(offset + 1)
                .map_or(window.end, |next| next.at)
                .max(start);
            let weight = (end - start).as_ps_f64();
            weighted = (
                weighted.0 + weight * event.used() as f64,
                weighted.1 + weight,
            );
            if self
                .peak
                .and_then(|peak| events.get(peak))
                .is_none_or(|peak| event.used() > peak.used())
            {
                (self.peak, self.peak_at) = (Some(index), start);
            }
            let most = self
                .most_fragmented
                .and_then(|most| events.get(most)?.fragmentation());
            if event.fragmentation() > most {
                self.most_fragmented = Some(index);
            }
        }
        if !held.is_empty() {
            (self.first, self.last) = (Some(begin), Some(to - 1));
        }
        self.mean_used = (weighted.1 > 0.0).then(|| weighted.0 / weighted.1);
    }

    fn allocate(
        &mut self,
        events: &[MemoryEvent],
        live: &mut LiveAllocations,
        index: usize,
        counts: bool,
    ) {
        let Some(event) = events.get(index) else {
            return;
        };
        let lost = event
            .address()
            .is_some_and(|address| live.insert(address, index).is_some());
        if !counts {
            return;
        }
        self.allocations += 1;
        self.lost_releases += u64::from(lost);
        self.allocated_bytes = self.allocated_bytes.saturating_add(event.taken());
        self.requested_bytes = self
            .requested_bytes
            .saturating_add(event.requested().unwrap_or(event.taken()));
        if let (Some(size), Some(requested)) = (event.size(), event.requested()) {
            self.rounding_bytes = self
                .rounding_bytes
                .saturating_add((size - requested).max(0));
        }
        let sums = self.sizes.entry(event.taken()).or_insert(SizeSums {
            example: index,
            ..SizeSums::default()
        });
        sums.count += 1;
    }

    fn release(
        &mut self,
        events: &[MemoryEvent],
        live: &mut LiveAllocations,
        event: &MemoryEvent,
        from: usize,
        counts: bool,
    ) {
        let index = event.address().and_then(|address| live.remove(&address));
        if !counts {
            return;
        }
        self.releases += 1;
        let Some((index, allocation)) = index.and_then(|index| Some((index, events.get(index)?)))
        else {
            self.unknown_releases += 1;
            return;
        };
        // An allocation from before the window does not count in its sizes.
        if index >= from
            && let Some(sums) = self.sizes.get_mut(&allocation.taken())
        {
            sums.released += 1;
            sums.lifetime += event.at - allocation.at;
        }
    }
}

fn largest_first(events: &[MemoryEvent], indices: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut indices: Vec<usize> = indices.collect();
    indices
        .sort_unstable_by_key(|&index| (Reverse(events.get(index).map(MemoryEvent::taken)), index));
    indices
}
