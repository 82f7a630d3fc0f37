//! Flows: events `s`, `t`, `f`, and slices that carry a `bind_id`.
//!
//! ```text
//! s ────▶ t ────▶ f        equal category, name and id
//! out ───▶ in+out ───▶ in  equal bind_id; a flow can have several ends
//! ```

use importer_common::prelude::*;
use trace_model::{FlowEnd, SliceKey};

use super::event::RawEvent;
use super::number;
use super::places::TrackTable;
use super::stack::StackedEvents;
use super::threads::ThreadId;

/// One end of a flow.
struct FlowEventEnd {
    chain: u32,
    at: Timestamp,
    sequence: u32,
    thread: ThreadId,
    place: FlowAnchor,
    arrives: bool,
    leaves: bool,
}

/// The slice of the thread that it is attached to.
#[derive(Clone, Copy)]
pub(super) enum FlowAnchor {
    Enclosing,
    Next,
    /// Index in the thread's batch.
    Slice(u32),
    /// Index in the thread's stack.
    Begin(u32),
}

/// The ends of all flows.
#[derive(Default)]
pub(super) struct FlowEvents {
    points: Vec<FlowEventEnd>,
    chains: HashMap<Vec<u8>, u32>,
    /// Recorded ids, by chain.
    ids: Vec<u64>,
}

impl FlowEvents {
    fn chain(&mut self, parts: &[&[u8]], id: &[u8]) -> u32 {
        let key = parts.join(&0);
        let next = self.ids.len() as u32;
        *self.chains.entry(key).or_insert_with(|| {
            self.ids.push(id_number(id));
            next
        })
    }

    /// Adds a flow event.
    pub fn add(
        &mut self,
        event: &RawEvent<'_>,
        id: &[u8],
        time: Timestamp,
        sequence: u32,
        thread: ThreadId,
    ) {
        let cat = event.get_text(b"cat").unwrap_or_default();
        let chain = self.chain(&[b"flow", cat, event.name.raw, id], id);
        let (arrives, leaves) = match event.ph {
            b's' => (false, true),
            b't' => (true, true),
            _ => (true, false),
        };
        let next = event.ph == b'f' && event.get_text(b"bp") != Some(b"e");
        let place = if next {
            FlowAnchor::Next
        } else {
            FlowAnchor::Enclosing
        };
        self.points.push(FlowEventEnd {
            chain,
            at: time,
            sequence,
            thread,
            place,
            arrives,
            leaves,
        });
    }

    /// Adds the flow of a slice or begin event that carries a `bind_id`.
    pub fn bind(
        &mut self,
        event: &RawEvent<'_>,
        time: Timestamp,
        sequence: u32,
        thread: ThreadId,
        place: FlowAnchor,
    ) {
        let Some(id) = event.get_text(b"bind_id") else {
            return;
        };
        let is = |key| event.get(key).is_some_and(super::json::JsonValue::is_true);
        let (arrives, leaves) = (is(b"flow_in"), is(b"flow_out"));
        if arrives || leaves {
            let chain = self.chain(&[b"bind", id], id);
            self.points.push(FlowEventEnd {
                chain,
                at: time,
                sequence,
                thread,
                place,
                arrives,
                leaves,
            });
        }
    }
}

/// The number in an id such as `7`, `"7"` or `"0x402"`; for other strings, a hash.
fn id_number(id: &[u8]) -> u64 {
    let hex = id
        .strip_prefix(b"0x")
        .and_then(|hex| std::str::from_utf8(hex).ok());
    hex.and_then(|hex| u64::from_str_radix(hex, 16).ok())
        .or_else(|| number::integer(id).map(|id| id as u64))
        // FNV-1a gives the same result in every run, unlike a seeded hash.
        .unwrap_or_else(|| {
            id.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| {
                (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
            })
        })
}

/// Adds all flows, once slices have tracks.
pub(super) fn build(
    mut flows: FlowEvents,
    builder: &mut TraceBuilder,
    places: &TrackTable,
    offsets: &[u32],
    stacks: &[Option<StackedEvents>],
) {
    flows
        .points
        .sort_by_key(|point| (point.chain, point.at, point.sequence));
    let resolve = |point: &FlowEventEnd| {
        let track = places.track_of(point.thread)?;
        match point.place {
            FlowAnchor::Enclosing => Some(FlowEnd::Enclosing(track, point.at)),
            FlowAnchor::Next => Some(FlowEnd::NextAfter(track, point.at)),
            FlowAnchor::Slice(index) => Some(FlowEnd::Slice(SliceKey::new(
                track,
                offsets[point.thread as usize] + index,
            ))),
            FlowAnchor::Begin(index) => {
                stacks.get(point.thread as usize)?.as_ref()?.flow_end(index)
            }
        }
    };
    for chain in flows.points.chunk_by(|a, b| a.chain == b.chain) {
        let id = flows
            .ids
            .get(chain[0].chain as usize)
            .copied()
            .unwrap_or_default();
        let (mut from, mut used) = (None, true);
        for point in chain {
            let end = resolve(point);
            if point.arrives {
                match (from, end) {
                    (Some(from), Some(to)) => builder.add_flow(from, to, id),
                    _ => builder.log(IssueKind::FlowWithoutEnd, || {
                        format!("flow {id} has an end but no start")
                    }),
                }
                used = true;
            }
            if point.leaves {
                if !used {
                    builder.log(IssueKind::FlowWithoutEnd, || {
                        format!("flow {id} has a start but no end")
                    });
                }
                (from, used) = (end, false);
            }
        }
        if !used {
            builder.log(IssueKind::FlowWithoutEnd, || {
                format!("flow {id} has a start but no end")
            });
        }
    }
}
