//! Merges the activities of all threads of a host into one sequence: at each instant the activity with the best rank;
//! of activities with the same rank, the one that started first.
//!
//! ```text
//! thread 1   user--------------------   wait----
//! thread 2        compile---    put---
//! together   user compile---usr put---  wait----
//! ```
//!
//! For each thread, only the next part and few started parts are held, so memory use depends on the number of
//! threads, not on their activity.

use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use facts::prelude::*;

use super::cause::{CausePriority, IdleCause};

/// The activity of a thread in a span.
#[derive(Clone, Copy)]
pub(super) struct ThreadSpan {
    pub range: TimeRange,
    pub rank: CausePriority,
    /// The event that shows it.
    pub label: LabelId,
}

/// A span in which a host did one thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HostActivity {
    pub range: TimeRange,
    pub cause: IdleCause,
    /// The event that shows it.
    pub label: LabelId,
}

/// The next part of a thread, one per thread. The first to start compares as the greatest.
struct NextThreadSpan {
    part: ThreadSpan,
    thread: usize,
    /// Start, rank, label and thread, in two words: a heap compares more often than it changes.
    key: Reverse<(Timestamp, u64)>,
}

impl NextThreadSpan {
    fn new(part: ThreadSpan, thread: usize) -> Self {
        let rank = part.rank.index() as u64;
        let label = part.label.index() as u64;
        // Labels have 32 bits; no host has 16 million threads.
        let order = rank << 56 | label << 24 | thread as u64 & 0xFF_FFFF;
        Self {
            key: Reverse((part.range.start, order)),
            part,
            thread,
        }
    }
}

impl Ord for NextThreadSpan {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for NextThreadSpan {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for NextThreadSpan {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for NextThreadSpan {}

/// See the module documentation.
pub(super) struct HostActivities<I> {
    /// The parts of each thread, in time order and without overlaps.
    threads: Vec<I>,
    coming: BinaryHeap<NextThreadSpan>,
    /// By rank: parts that have started and may not have ended, the first to start in front.
    active: [VecDeque<ThreadSpan>; CausePriority::COUNT],
    /// One bit per rank: whether its queue is not empty. Most are empty most of the time.
    filled: u32,
    now: Timestamp,
    /// The latest activity, which the next part may continue.
    last: Option<HostActivity>,
}

impl<I: Iterator<Item = ThreadSpan>> HostActivities<I> {
    pub fn new(threads: impl Iterator<Item = I>) -> Self {
        let mut threads: Vec<I> = threads.collect();
        let coming = threads
            .iter_mut()
            .enumerate()
            .filter_map(|(thread, parts)| Some(NextThreadSpan::new(parts.next()?, thread)))
            .collect();
        Self {
            threads,
            coming,
            active: Default::default(),
            filled: 0,
            now: Timestamp::MIN,
            last: None,
        }
    }

    /// The part that counts at present.
    fn best(&mut self) -> Option<ThreadSpan> {
        loop {
            let same = self.active.get_mut(self.filled.trailing_zeros() as usize)?;
            while let Some(&part) = same.front() {
                if part.range.end > self.now {
                    return Some(part);
                }
                same.pop_front();
            }
            self.filled &= self.filled - 1;
        }
    }

    /// Starts the part whose turn it is.
    fn begin(&mut self) {
        let Some(mut next) = self.coming.peek_mut() else {
            return;
        };
        let part = next.part;
        match self.threads[next.thread].next() {
            Some(part) => *next = NextThreadSpan::new(part, next.thread),
            None => drop(PeekMut::pop(next)),
        }
        let rank = part.rank.index();
        let same = &mut self.active[rank];
        // Parts of one thread end before the next one starts, so at least half of them have ended: they are behind
        // one that has not, or below a better rank.
        if same.len() >= 2 * self.threads.len() {
            same.retain(|part| part.range.end > self.now);
        }
        same.push_back(part);
        self.filled |= 1 << rank;
    }

    /// Adds the next part; ends the current one unless the new one continues it.
    fn join(&mut self, next: HostActivity) -> Option<HostActivity> {
        match &mut self.last {
            _ if next.range.is_empty() => None,
            Some(last)
                if last.range.end == next.range.start
                    && (last.cause, last.label) == (next.cause, next.label) =>
            {
                last.range.end = next.range.end;
                None
            }
            last => last.replace(next),
        }
    }
}

impl<I: Iterator<Item = ThreadSpan>> Iterator for HostActivities<I> {
    type Item = HostActivity;

    fn next(&mut self) -> Option<HostActivity> {
        loop {
            let best = self.best();
            let begins = self.coming.peek().map(|next| next.part.range.start);
            let from = self.now;
            self.now = match (best, begins) {
                (None, None) => return self.last.take(),
                (None, Some(begins)) => begins,
                (Some(part), begins) => {
                    begins.map_or(part.range.end, |begins| begins.min(part.range.end))
                }
            };
            if begins == Some(self.now) {
                self.begin();
            }
            let over = best.and_then(|part| {
                self.join(HostActivity {
                    range: TimeRange::new(from, self.now),
                    cause: part.rank.cause(),
                    label: part.label,
                })
            });
            if over.is_some() {
                return over;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sample_traces::text_trace;

    use super::*;

    const CAUSES: [IdleCause; 3] = [IdleCause::Compile, IdleCause::User, IdleCause::Wait];
    const UNTIL: i64 = 40;

    fn at(ps: i64) -> Timestamp {
        Timestamp::from_ps(ps)
    }

    /// Two labels, for parts of the same rank.
    fn labels() -> Vec<LabelId> {
        text_trace("host main: ab\n a = x\n b = y")
            .label_ids()
            .collect()
    }

    /// Parts from pauses and lengths, causes and labels.
    fn thread(spans: &[(i64, i64, usize, usize)], labels: &[LabelId]) -> Vec<ThreadSpan> {
        let mut now = 0;
        let part = |&(pause, length, cause, label): &(i64, i64, usize, usize)| {
            let from = now + pause;
            now = from + length;
            ThreadSpan {
                range: TimeRange::new(at(from), at(now)),
                rank: CausePriority::Cause(CAUSES[cause]),
                label: labels[label],
            }
        };
        spans.iter().map(part).collect()
    }

    proptest! {
        #[test]
        fn highest_priority_part_wins_at_each_instant(
            spans in prop::collection::vec(prop::collection::vec((0_i64..4, 1_i64..6, 0_usize..3, 0_usize..2), 0..6), 0..5)
        ) {
            let labels = labels();
            let threads: Vec<Vec<ThreadSpan>> = spans.iter().map(|spans| thread(spans, &labels)).collect();
            let best = |now: i64| {
                let parts = threads.iter().enumerate().flat_map(|(thread, parts)| parts.iter().map(move |part| (thread, part)));
                let active = parts.filter(|(_, part)| part.range.contains(at(now)));
                let best = active.min_by_key(|(thread, part)| (part.rank.index(), part.range.start, part.label, *thread));
                best.map(|(_, part)| (part.rank.cause(), part.label))
            };
            let doings: Vec<HostActivity> = HostActivities::new(threads.iter().map(|parts| parts.iter().copied())).collect();
            let found = |now: i64| {
                let doing = doings.iter().find(|doing| doing.range.contains(at(now)));
                doing.map(|doing| (doing.cause, doing.label))
            };
            for now in 0..UNTIL {
                prop_assert_eq!(found(now), best(now), "at {}", now);
            }
            let same = |pair: &[HostActivity]| (pair[0].cause, pair[0].label) == (pair[1].cause, pair[1].label);
            for pair in doings.windows(2) {
                let gap = pair[1].range.start - pair[0].range.end;
                prop_assert!(gap.ps() > 0 || gap.ps() == 0 && !same(pair), "{:?}", pair);
            }
        }
    }

    /// Parts below a better rank are not kept forever.
    #[test]
    fn ended_parts_are_dropped() {
        let labels = labels();
        let long = thread(&[(0, 1_000_000, 0, 0)], &labels);
        let short = thread(&vec![(1, 1, 2, 1); 10_000], &labels);
        let mut doings = HostActivities::new([long, short].into_iter().map(Vec::into_iter));
        assert_eq!(doings.by_ref().count(), 1);
        assert!(doings.active.iter().all(|same| same.capacity() <= 8));
    }
}
