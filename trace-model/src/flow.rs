//! Flows between slices. They are linked on first use, because half of the events of a host can be ends of flows, and
//! linking them took a fifth of the import time even if no flow was shown.

use std::sync::{Mutex, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::locked;
use crate::pause::LongList;
use crate::slices::SliceId;

/// One flow, for example from a launch to the launched program or from a start op to its done op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Flow {
    /// Slice at which the flow starts.
    pub from: SliceId,
    /// Slice at which the flow ends.
    pub to: SliceId,
    /// Id as recorded.
    pub id: u64,
}

/// Which end of a flow a slice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FlowRole {
    /// The flow starts here.
    Out,
    /// The flow ends here.
    In,
}

/// One end of a flow, recorded with a key that both ends share: an id and its class. A consumer belongs to the latest
/// producer with the same key before it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FlowPoint {
    id: u64,
    /// Index in the batch of the track, or row in the slice table.
    index: u32,
    class: u16,
    role: FlowRole,
}

impl FlowPoint {
    /// An end on the slice at `index` of a batch.
    pub fn new(id: u64, class: u16, role: FlowRole, index: u32) -> Self {
        Self {
            id,
            index,
            class,
            role,
        }
    }

    /// Id and class, which both ends of a flow share.
    pub fn key(&self) -> (u64, u16) {
        (self.id, self.class)
    }

    /// Which end it is.
    pub fn role(&self) -> FlowRole {
        self.role
    }

    /// Index of its slice in the batch.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Changes the index of its slice.
    pub fn move_to(&mut self, index: u32) {
        self.index = index;
    }
}

/// Flows before they are linked.
#[derive(Default, Serialize)]
pub(crate) struct UnlinkedFlows {
    /// Flows with known ends, in any order.
    pub known: Vec<Flow>,
    /// Ends of flows of each file, by track; their indices are rows of the slice table.
    pub points: Vec<Vec<Vec<FlowPoint>>>,
}

/// The flows of a model, linked on first use.
#[derive(Default)]
pub(crate) struct Flows {
    unlinked: Mutex<UnlinkedFlows>,
    /// Sorted by `from`.
    linked: OnceLock<Vec<Flow>>,
    /// Indices into `linked`, sorted by `to`.
    by_end: OnceLock<Vec<u32>>,
}

impl Flows {
    pub fn new(unlinked: UnlinkedFlows) -> Self {
        Self {
            unlinked: Mutex::new(unlinked),
            ..Self::default()
        }
    }

    /// All flows, sorted; `starts` holds the start of each slice. Runs on one thread, because a thread-pool task that
    /// waits here could execute another task that also requests flows, which would be a deadlock.
    pub fn linked(&self, starts: &[i64]) -> &[Flow] {
        self.linked.get_or_init(|| {
            let mut unlinked = locked(&self.unlinked);
            let UnlinkedFlows {
                known: mut flows,
                points,
            } = std::mem::take(&mut *unlinked);
            for points in points {
                link(points, starts, &mut flows);
            }
            let mut flows = sorted(flows, starts.len());
            flows.dedup();
            flows.shrink_to_fit();
            flows
        })
    }

    /// Indices into the linked flows, sorted by the slice at which they end, then by the slice at which they start.
    pub fn by_end(&self, starts: &[i64]) -> &[u32] {
        self.by_end.get_or_init(|| {
            // Flows are already sorted by their start, so flows with equal ends are sorted by position.
            let ends = (0_u64..)
                .zip(self.linked(starts))
                .map(|(position, flow)| u64::from(flow.to.0) << 32 | position);
            let mut ends: Vec<u64> = ends.collect();
            ends.sort_unstable();
            ends.into_iter().map(|end| end as u32).collect()
        })
    }
}

impl Flows {
    /// Whether all slices at which flows start or end are below `rows`.
    pub fn rows_are_below(&self, rows: usize) -> bool {
        let unlinked = locked(&self.unlinked);
        let is_below = |row: u32| (row as usize) < rows;
        unlinked
            .known
            .iter()
            .all(|flow| is_below(flow.from.0) && is_below(flow.to.0))
            && unlinked
                .points
                .iter()
                .flatten()
                .flatten()
                .all(|point| is_below(point.index))
    }
}

/// Linked flows are saved as flows with known ends, others as they are.
impl Serialize for Flows {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let unlinked = locked(&self.unlinked);
        if !unlinked.known.is_empty() || !unlinked.points.is_empty() {
            return unlinked.serialize(to);
        }
        drop(unlinked);
        // They are linked, will be linked in a moment by another thread, or there are none.
        let known = self.linked.get_or_init(Vec::new).clone();
        UnlinkedFlows {
            known,
            points: Vec::new(),
        }
        .serialize(to)
    }
}

impl<'de> Deserialize<'de> for Flows {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        /// [`UnlinkedFlows`], of which a trace has millions.
        #[derive(Deserialize)]
        struct SavedFlows {
            known: LongList<Flow>,
            points: Vec<Vec<LongList<FlowPoint>>>,
        }
        let SavedFlows { known, points } = SavedFlows::deserialize(from)?;
        let points = points
            .into_iter()
            .map(|tracks| tracks.into_iter().map(|points| points.0).collect());
        Ok(Self::new(UnlinkedFlows {
            known: known.0,
            points: points.collect(),
        }))
    }
}

/// Links the ends of one file.
fn link(points: Vec<Vec<FlowPoint>>, starts: &[i64], flows: &mut Vec<Flow>) {
    let (mut producers, consumers) = sorted_points(points);
    let start = |point: &FlowPoint| starts[point.index as usize];
    // Both lists are sorted by key, so groups with equal keys are found in one pass.
    let mut rest = &mut producers[..];
    for consumers in consumers.chunk_by(|a, b| a.key() == b.key()) {
        let Some(key) = consumers.first().map(FlowPoint::key) else {
            continue;
        };
        let skipped = rest.iter().take_while(|point| point.key() < key).count();
        let same = rest[skipped..]
            .iter()
            .take_while(|point| point.key() == key)
            .count();
        let (group, behind) = rest.split_at_mut(skipped + same);
        rest = behind;
        let group = &mut group[skipped..];
        if group.len() > 1 {
            // The sort is stable: producers with the same start stay in file order.
            group.sort_by_key(start);
        }
        for consumer in consumers {
            let before = match group.len() {
                0 | 1 => 0,
                _ => group
                    .partition_point(|producer| start(producer) <= start(consumer))
                    .saturating_sub(1),
            };
            let Some(producer) = group.get(before) else {
                continue;
            };
            if producer.index != consumer.index {
                flows.push(Flow {
                    from: SliceId(producer.index),
                    to: SliceId(consumer.index),
                    id: consumer.id,
                });
            }
        }
    }
}

/// Producers and consumers, each sorted by key. The ids of a track mostly ascend, so a stable sort has little more to
/// do than merging the tracks.
fn sorted_points(points: Vec<Vec<FlowPoint>>) -> (Vec<FlowPoint>, Vec<FlowPoint>) {
    let all: usize = points.iter().map(Vec::len).sum();
    let outs = points
        .iter()
        .flatten()
        .filter(|point| point.role == FlowRole::Out)
        .count();
    let (mut producers, mut consumers) = (Vec::with_capacity(outs), Vec::with_capacity(all - outs));
    for point in points.into_iter().flatten() {
        if point.role == FlowRole::Out {
            &mut producers
        } else {
            &mut consumers
        }
        .push(point);
    }
    producers.sort_by_key(FlowPoint::key);
    consumers.sort_by_key(FlowPoint::key);
    (producers, consumers)
}

/// Sorts flows. Their first slices are row numbers below `rows`, so a radix sort needs two or three passes, a tenth of
/// the instructions of a comparison sort. Few flows share a first slice.
fn sorted(mut flows: Vec<Flow>, rows: usize) -> Vec<Flow> {
    const BITS: u32 = 11;
    const BUCKETS: usize = 1 << BITS;

    if flows.len() < BUCKETS {
        flows.sort_unstable();
        return flows;
    }
    let mut sorted = flows.clone();
    for shift in (0..u32::BITS)
        .step_by(BITS as usize)
        .take_while(|&shift| rows >> shift > 0)
    {
        let bucket = |flow: &Flow| (flow.from.0 >> shift) as usize % BUCKETS;
        let mut next = [0_usize; BUCKETS];
        for flow in &flows {
            next[bucket(flow)] += 1;
        }
        let mut first = 0;
        for count in &mut next {
            first += std::mem::replace(count, first);
        }
        for flow in &flows {
            let place = &mut next[bucket(flow)];
            sorted[*place] = *flow;
            *place += 1;
        }
        std::mem::swap(&mut flows, &mut sorted);
    }
    for same in flows.chunk_by_mut(|a, b| a.from == b.from) {
        same.sort_unstable();
    }
    flows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_sorted_at_any_count() {
        for (count, rows) in [
            (0, 1),
            (10, 5),
            (5_000, 3),
            (20_000, 5_000_000),
            (9_000, 1 << 22),
        ] {
            let row = |i: u64, factor: u64| SliceId((i.wrapping_mul(factor) % rows as u64) as u32);
            let flow = |i: u64| Flow {
                from: row(i, 2_654_435_761),
                to: row(i, 40_503),
                id: i % 7,
            };
            let flows: Vec<Flow> = (0..count).map(flow).collect();
            let mut expected = flows.clone();
            expected.sort_unstable();
            assert_eq!(sorted(flows, rows), expected);
        }
    }

    #[test]
    fn consumer_pairs_with_the_latest_earlier_producer() {
        let starts = [0, 10, 20, 30, 40, 50];
        let point = |id, class, role, index| FlowPoint::new(id, class, role, index);
        let one = vec![
            point(7, 0, FlowRole::Out, 3),
            point(7, 0, FlowRole::Out, 0),
            point(9, 0, FlowRole::Out, 1),
        ];
        let other = vec![
            point(7, 0, FlowRole::In, 1),
            point(7, 0, FlowRole::In, 5),
            point(7, 1, FlowRole::In, 4),
            point(9, 0, FlowRole::In, 1),
        ];
        let flows = Flows::new(UnlinkedFlows {
            known: Vec::new(),
            points: vec![vec![one.clone(), other.clone()]],
        });
        let ends = |flows: &[Flow]| {
            flows
                .iter()
                .map(|flow| (flow.from.0, flow.to.0, flow.id))
                .collect::<Vec<_>>()
        };
        assert_eq!(ends(flows.linked(&starts)), [(0, 1, 7), (3, 5, 7)]);
        assert_eq!(flows.by_end(&starts), [0, 1]);
        // Keys of different files have nothing in common.
        let flows = Flows::new(UnlinkedFlows {
            known: Vec::new(),
            points: vec![vec![one], vec![other]],
        });
        assert_eq!(ends(flows.linked(&starts)), []);
    }
}
