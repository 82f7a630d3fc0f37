//! Replays a heap: the live buffers at each point of the schedule.
//!
//! ```text
//! ALLOC a · ALLOC b · SHARE_WITH c = b · FREE a · FREE b · FREE c
//!     a      a + b         a + b           b        b        –      live bytes
//! ```

use std::collections::HashMap;

use hlo::{BufferAssignment, HeapEvent, HeapEventKind, HeapTrace};

/// Longest chain of buffers that share memory: real ones share directly with the first.
const LONGEST_CHAIN: usize = 64;

/// A point of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurvePoint {
    /// The instruction during which it happens.
    pub instruction: String,
    /// Bytes live after it.
    pub live_bytes: u64,
}

/// Result of replaying a heap.
#[derive(Debug, Default)]
pub(super) struct HeapReplay {
    /// Live bytes over the schedule: the last change of each instruction.
    pub curve: Vec<CurvePoint>,
    /// Most bytes live at once.
    pub peak_bytes: u64,
    /// The first instruction during which this maximum is reached.
    pub peak_instruction: String,
    /// Buffers live at that point, by id.
    pub live: Vec<u64>,
    /// Inconsistent events: of unknown buffers, or frees of buffers that are not live.
    pub odd_events: usize,
}

/// Replays `trace`.
pub(super) fn replay(assignment: &BufferAssignment, trace: &HeapTrace) -> HeapReplay {
    let mut out = HeapReplay::default();
    let mut heap = BufferHeap::new(assignment);
    let mut peak = None;
    for (index, event) in trace.events.iter().enumerate() {
        out.odd_events += usize::from(!heap.play(event));
        if heap.bytes > out.peak_bytes {
            (out.peak_bytes, peak) = (heap.bytes, Some(index));
        }
        match out.curve.last_mut() {
            Some(last) if last.instruction == event.instruction => last.live_bytes = heap.bytes,
            _ => {
                out.curve.push(CurvePoint {
                    instruction: event.instruction.clone(),
                    live_bytes: heap.bytes,
                });
            }
        }
    }
    if let Some(peak) = peak {
        let mut heap = BufferHeap::new(assignment);
        for event in trace.events.iter().take(peak + 1) {
            heap.play(event);
        }
        out.peak_instruction = trace
            .events
            .get(peak)
            .map(|event| event.instruction.clone())
            .unwrap_or_default();
        out.live = heap.users.into_keys().collect();
        out.live.sort_unstable();
    }
    out
}

struct BufferHeap<'a> {
    assignment: &'a BufferAssignment,
    /// Number of buffers that use the memory of each live buffer.
    users: HashMap<u64, u64>,
    /// The buffer whose memory a buffer uses, if not its own.
    shares: HashMap<u64, u64>,
    bytes: u64,
}

impl<'a> BufferHeap<'a> {
    fn new(assignment: &'a BufferAssignment) -> Self {
        Self {
            assignment,
            users: HashMap::new(),
            shares: HashMap::new(),
            bytes: 0,
        }
    }

    /// Whether the event was consistent.
    fn play(&mut self, event: &HeapEvent) -> bool {
        match event.kind {
            HeapEventKind::Alloc => {
                !self.users.contains_key(&event.buffer) && self.enter(event.buffer)
            }
            HeapEventKind::Free => {
                let owner = self.owner(event.buffer);
                self.shares.remove(&event.buffer);
                self.leave(owner)
            }
            HeapEventKind::ShareWith => {
                let owner = self.owner(event.shares_with);
                // A buffer shares memory once, and not with itself.
                if owner == event.buffer
                    || self.users.contains_key(&event.buffer)
                    || !self.enter(owner)
                {
                    return false;
                }
                self.shares.insert(event.buffer, owner).is_none()
            }
        }
    }

    fn owner(&self, buffer: u64) -> u64 {
        let next = |&buffer: &u64| self.shares.get(&buffer).copied();
        std::iter::successors(Some(buffer), next)
            .take(LONGEST_CHAIN)
            .last()
            .unwrap_or(buffer)
    }

    fn size(&self, buffer: u64) -> Option<u64> {
        self.assignment.buffer(buffer).map(|buffer| buffer.size)
    }

    fn enter(&mut self, buffer: u64) -> bool {
        let Some(size) = self.size(buffer) else {
            return false;
        };
        let users = self.users.entry(buffer).or_insert(0);
        *users += 1;
        if *users == 1 {
            self.bytes = self.bytes.saturating_add(size);
        }
        true
    }

    fn leave(&mut self, buffer: u64) -> bool {
        let Some(users) = self.users.get_mut(&buffer) else {
            return false;
        };
        *users -= 1;
        if *users == 0 {
            self.users.remove(&buffer);
            self.bytes = self.bytes.saturating_sub(self.size(buffer).unwrap_or(0));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use hlo::LogicalBuffer;

    use super::*;

    fn played(events: &[(HeapEventKind, u64, u64)]) -> HeapReplay {
        // Buffer n has 10^n bytes.
        let buffer = |id: u64| LogicalBuffer {
            id,
            size: 10_u64.pow(id as u32),
            ..LogicalBuffer::default()
        };
        let assignment = BufferAssignment {
            buffers: (0..4).map(buffer).collect(),
            ..BufferAssignment::default()
        };
        let events = events
            .iter()
            .enumerate()
            .map(|(index, &(kind, buffer, shares_with))| HeapEvent {
                kind,
                buffer,
                shares_with,
                instruction: format!("op.{index}"),
            });
        replay(
            &assignment,
            &HeapTrace {
                events: events.collect(),
                ..HeapTrace::default()
            },
        )
    }

    use HeapEventKind::{Alloc, Free, ShareWith};

    fn curve(replay: &HeapReplay) -> Vec<u64> {
        replay.curve.iter().map(|point| point.live_bytes).collect()
    }

    #[test]
    fn shared_buffer_lives_until_its_last_user() {
        let played = played(&[
            (Alloc, 0, 0),
            (Alloc, 1, 0),
            (ShareWith, 2, 1),
            (Free, 0, 0),
            (Free, 1, 0),
            (Free, 2, 0),
        ]);
        assert_eq!(curve(&played), [1, 11, 11, 10, 10, 0]);
        assert_eq!(
            (played.peak_bytes, played.peak_instruction.as_str()),
            (11, "op.1")
        );
        assert_eq!((played.live, played.odd_events), (vec![0, 1], 0));
    }

    #[test]
    fn sharing_extends_the_life_of_a_freed_buffer() {
        let played = played(&[
            (ShareWith, 2, 1),
            (ShareWith, 3, 2),
            (Free, 2, 0),
            (Free, 3, 0),
        ]);
        assert_eq!(curve(&played), [10, 10, 10, 0]);
        assert_eq!((played.peak_bytes, played.live), (10, vec![1]));
    }

    #[test]
    fn unmatched_heap_events_are_counted_and_skipped() {
        let played = played(&[
            (Free, 0, 0),
            (Alloc, 9, 0),
            (Alloc, 1, 0),
            (Alloc, 1, 0),
            (ShareWith, 1, 1),
            (ShareWith, 2, 9),
            (Free, 1, 0),
            (Free, 1, 0),
        ]);
        assert_eq!(curve(&played), [0, 0, 10, 10, 10, 10, 0, 0]);
        assert_eq!(played.odd_events, 6);
    }

    #[test]
    fn cyclic_sharing_terminates() {
        let played = played(&[
            (ShareWith, 1, 2),
            (ShareWith, 2, 1),
            (ShareWith, 1, 2),
            (Free, 2, 0),
            (Free, 1, 0),
        ]);
        assert_eq!(played.curve.last().map(|point| point.live_bytes), Some(0));
    }

    #[test]
    fn changes_in_one_instruction_are_one_point() {
        let mut events = vec![];
        for (kind, buffer) in [(Alloc, 2), (Free, 2), (Alloc, 1)] {
            events.push(HeapEvent {
                kind,
                buffer,
                instruction: "fusion".to_owned(),
                ..HeapEvent::default()
            });
        }
        let buffer = |id: u64| LogicalBuffer {
            id,
            size: id,
            ..LogicalBuffer::default()
        };
        let assignment = BufferAssignment {
            buffers: (0..4).map(buffer).collect(),
            ..BufferAssignment::default()
        };
        let played = replay(
            &assignment,
            &HeapTrace {
                events,
                ..HeapTrace::default()
            },
        );
        assert_eq!((curve(&played), played.peak_bytes), (vec![1], 2));
    }
}
