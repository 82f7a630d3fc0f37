//! Live buffers by op, shape and size. The arguments of events are read from the file for the largest buffers only.

use facts::prelude::*;
use hlo::Shape;

use super::events::MemoryEvent;
use super::replay::SizeSums;

/// Allocations of one size.
#[engine::row(recorded)]
pub struct SizeClass {
    /// Bytes of each.
    #[column("Size")]
    pub bytes: i64,
    /// Number in the window.
    #[column("Allocated")]
    pub count: u64,
    /// Total bytes.
    #[column("Bytes in all", derived)]
    pub total_bytes: i64,
    /// Number of them that were released in the window.
    #[column]
    pub released: u64,
    /// Mean lifetime of the released ones.
    #[column(derived)]
    pub mean_lifetime_ps: Option<Picos>,
    /// The op of the first of them, if recorded.
    #[column("Op of the first")]
    pub op: Option<String>,
    /// The shape of the first of them, if recorded.
    #[column("Shape of the first")]
    pub shape: Option<String>,
}

/// Maximum number of buffers whose arguments are read from the file.
const NAMED: usize = 64;
/// Maximum number of rows in a list of sizes.
const SIZES: usize = 24;

/// Label of buffers from before the capture.
pub(super) const OLDER: &str = "older buffers";

/// Equal buffers, or a part of memory that is not a buffer.
#[engine::row(recorded)]
#[derive(Default)]
pub struct LiveBuffer {
    /// `buffer`, or another use of memory.
    #[column(derived)]
    pub what: String,
    /// The op that made the first of them, if recorded.
    #[column("Op of the first")]
    pub op: Option<String>,
    /// Shape with layout, if recorded.
    #[column]
    pub shape: Option<String>,
    /// Kind of buffer, if recorded (`temp`, `output`).
    #[column]
    pub region: Option<String>,
    /// Number of equal buffers.
    #[column]
    pub count: u64,
    /// Total bytes.
    #[column]
    pub bytes: i64,
    /// Requested bytes, if recorded.
    #[column("Asked for")]
    pub requested_bytes: Option<i64>,
    /// Bytes of their elements without padding, if the shape is known.
    #[column(derived, id = "padding_bytes", with = Self::padding_bytes)]
    #[column(derived, id = "padding_percent", with = Self::padding_percent)]
    pub element_bytes: Option<i64>,
    /// When the first of them was allocated, on the timeline.
    #[column]
    pub since_ps: Option<Timestamp>,
}

impl LiveBuffer {
    /// Its bytes that contain no element; `None` if the shape is unknown.
    pub fn padding_bytes(&self) -> Option<i64> {
        self.element_bytes
            .map(|elements| (self.bytes - elements).max(0))
    }

    /// Share of its bytes that contain no element; `None` if the shape is unknown.
    pub(crate) fn padding_percent(&self) -> Option<Percent> {
        let elements = self.element_bytes.filter(|_| self.bytes > 0)?;
        let padding = 1.0 - elements as f64 / self.bytes as f64;
        Some(Percent::of_fraction(padding.max(0.0)))
    }
}

/// Data from the arguments of an event.
#[derive(Default)]
struct AllocationLabels {
    op: Option<String>,
    shape: Option<String>,
    region: Option<String>,
}

impl AllocationLabels {
    fn read(model: &TraceModel, event: &MemoryEvent) -> Self {
        let mut words = Self::default();
        for arg in model.slice(event.slice).args().unwrap_or_default() {
            let text = arg
                .value
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned);
            match arg.name.as_str() {
                // The TPU runtime uses this name for every op.
                "tf_op" => words.op = text.filter(|text| text != "dummy"),
                "shape" => words.shape = text,
                "region_type" => words.region = text,
                _ => {}
            }
        }
        words
    }
}

/// Most bytes that the allocator has had in use up to `event`, including the time before the capture.
pub(super) fn lifetime_peak(model: &TraceModel, event: &MemoryEvent) -> Option<i64> {
    let args = model.slice(event.slice).args().unwrap_or_default();
    args.iter()
        .find(|arg| arg.name == "peak_bytes_in_use")?
        .value
        .as_i64()
        .filter(|&bytes| bytes >= 0)
}

/// Bytes of the allocations at `indices`.
pub(super) fn total(events: &[MemoryEvent], indices: &[usize]) -> i64 {
    indices
        .iter()
        .filter_map(|&index| events.get(index))
        .fold(0, |sum, event| sum.saturating_add(event.taken()))
}

/// The buffers at `indices`, largest first, equal ones combined; the small rest only as a sum.
pub(super) fn buffers(
    model: &TraceModel,
    events: &[MemoryEvent],
    indices: &[usize],
) -> Vec<LiveBuffer> {
    let (named, rest) = indices.split_at(indices.len().min(NAMED));
    let mut out: Vec<LiveBuffer> = Vec::new();
    let mut each: Vec<i64> = Vec::new();
    for event in named.iter().filter_map(|&index| events.get(index)) {
        let words = AllocationLabels::read(model, event);
        let elements = words
            .shape
            .as_deref()
            .and_then(Shape::parse)
            .and_then(|shape| shape.bytes())
            .and_then(|bytes| i64::try_from(bytes).ok());
        let alike = out.iter().zip(&each).position(|(row, &bytes)| {
            // Layers of a model differ only in their ops; without shapes the op is the only distinction.
            let same = words.shape.is_some() || row.op == words.op;
            bytes == event.taken() && same && row.shape == words.shape && row.region == words.region
        });
        if let Some(row) = alike.and_then(|index| out.get_mut(index)) {
            row.count += 1;
            row.bytes = row.bytes.saturating_add(event.taken());
            row.requested_bytes = sum(row.requested_bytes, event.requested());
            row.element_bytes = sum(row.element_bytes, elements);
            row.since_ps = row.since_ps.min(Some(event.at));
            continue;
        }
        each.push(event.taken());
        out.push(LiveBuffer {
            what: "buffer".to_owned(),
            op: words.op,
            shape: words.shape,
            region: words.region,
            count: 1,
            bytes: event.taken(),
            requested_bytes: event.requested(),
            element_bytes: elements,
            since_ps: Some(event.at),
        });
    }
    if !rest.is_empty() {
        out.push(LiveBuffer {
            what: "smaller buffers".to_owned(),
            count: rest.len() as u64,
            bytes: total(events, rest),
            ..LiveBuffer::default()
        });
    }
    out.sort_by_key(|row| Reverse(row.bytes));
    out
}

fn sum(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.zip(b).map(|(a, b)| a.saturating_add(b))
}

/// The content of the memory at `peak`, largest first: programs, buffers, and allocations from before the capture.
pub(super) fn at_peak(
    model: &TraceModel,
    events: &[MemoryEvent],
    peak: &MemoryEvent,
    live: &[usize],
) -> Vec<LiveBuffer> {
    let mut out = buffers(model, events, live);
    let row = |what: &str, bytes| LiveBuffer {
        what: what.to_owned(),
        count: 1,
        bytes,
        ..LiveBuffer::default()
    };
    let earlier = peak.allocated.saturating_sub(total(events, live));
    if peak.reserved > 0 {
        out.push(row("programs (stack)", peak.reserved));
    }
    if earlier > 0 {
        out.push(row(OLDER, earlier));
    }
    out.sort_by_key(|row| Reverse(row.bytes));
    out
}

/// The sizes with the most bytes in total.
pub(super) fn sizes(
    model: &TraceModel,
    events: &[MemoryEvent],
    sizes: &BTreeMap<i64, SizeSums>,
) -> Vec<SizeClass> {
    let mut rows: Vec<(i64, i64, &SizeSums)> = sizes
        .iter()
        .map(|(&bytes, sums)| {
            (
                bytes.saturating_mul(i64::try_from(sums.count).unwrap_or(i64::MAX)),
                bytes,
                sums,
            )
        })
        .collect();
    rows.sort_by_key(|&(total, bytes, _)| Reverse((total, bytes)));
    rows.truncate(SIZES);
    let class = |(total_bytes, bytes, sums): (i64, i64, &SizeSums)| {
        let words = events
            .get(sums.example)
            .map(|event| AllocationLabels::read(model, event))
            .unwrap_or_default();
        SizeClass {
            bytes,
            count: sums.count,
            total_bytes,
            released: sums.released,
            mean_lifetime_ps: i64::try_from(sums.released)
                .ok()
                .and_then(|n| sums.lifetime.ps().checked_div(n))
                .map(Picos::from_ps),
            op: words.op,
            shape: words.shape,
        }
    };
    rows.into_iter().map(class).collect()
}
