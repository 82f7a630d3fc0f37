//! Converts events of lines to slices. Most of the import time is spent here: lines are decoded in parallel, each into
//! its own batch.
//!
//! ```text
//! XLine   1 id · 2 name · 3 timestamp (ns) · 4 events · 9 duration · 10 display id · 11 display name
//! XEvent  1 metadata id · 2 offset (ps) | 5 occurrences · 3 duration (ps) · 4 stats
//! ```

use std::ops::Range;

use importer_common::prelude::*;
use trace_model::wire::{BrokenMessage, WireCursor, WireValue, tag};
use trace_model::{FlowPoint, FlowRole, ImportLog, SliceBatch};

use super::counted::{CountedEvents, CountedLine};
use super::event::XPlaneEvent;
use super::flows::{XFlow, context_point};
use super::known::{EventNumber, Known};
use super::tables::{KnownStats, PlaneMetadata, StatValue};

/// Line timestamps above this are nanoseconds of the Unix epoch (otherwise the session would be three years long) and
/// are shifted towards zero.
pub(super) const EPOCH_LIKE_NS: i64 = 100_000_000_000_000_000;

/// Number of events of a line that are decoded together; longer lines are split among threads. It is a multiple of the
/// block size of packed columns, so that pieces can be joined without packing them again.
pub(super) const PIECE: usize = 1 << 16;

/// Tag of the events of a line.
pub(super) const EVENTS: u64 = tag::bytes(4);

/// A line without its events.
#[derive(Clone, Debug, Default)]
pub(super) struct LineOutline {
    pub id: i64,
    pub name: Range<usize>,
    pub timestamp_ns: i64,
    pub events: usize,
    /// The whole line.
    pub range: Range<usize>,
    /// Where every [`PIECE`]th event begins, without the first one.
    pieces: Vec<usize>,
    /// Position of damage; the rest of the line after it is lost.
    pub broken: Option<BrokenMessage>,
    display_id: i64,
    display_name: Range<usize>,
}

impl LineOutline {
    /// Reads the line at `range` up to any damage. Stops early if the import was cancelled.
    pub fn read(file: &[u8], range: Range<usize>, progress: &Progress) -> Self {
        let mut line = Self {
            range: range.clone(),
            ..Self::default()
        };
        let mut cursor = WireCursor::new(file, range);
        line.broken = line.read_fields(&mut cursor, progress).err();
        line
    }

    fn read_fields(
        &mut self,
        cursor: &mut WireCursor<'_>,
        progress: &Progress,
    ) -> Result<(), BrokenMessage> {
        let line = self;
        loop {
            let position = cursor.position();
            let Some(tag) = cursor.tag()? else {
                return Ok(());
            };
            if tag == EVENTS {
                cursor.length_delimited()?;
                if line.events > 0 && line.events.is_multiple_of(PIECE) {
                    if progress.check().is_err() {
                        return Ok(());
                    }
                    line.pieces.push(position);
                }
                line.events += 1;
                continue;
            }
            match cursor.field(tag, position)? {
                (1, WireValue::Varint(v)) => line.id = v as i64,
                (2, WireValue::Bytes(range)) => line.name = range,
                (3, WireValue::Varint(v)) => line.timestamp_ns = v as i64,
                (10, WireValue::Varint(v)) => line.display_id = v as i64,
                (11, WireValue::Bytes(range)) => line.display_name = range,
                _ => {}
            }
        }
    }

    /// The id to show.
    pub fn shown_id(&self) -> i64 {
        if self.display_id == 0 {
            self.id
        } else {
            self.display_id
        }
    }

    /// Position of the display name.
    pub fn shown_name(&self) -> Range<usize> {
        if self.display_name.is_empty() {
            self.name.clone()
        } else {
            self.display_name.clone()
        }
    }

    /// This line in pieces of at most [`PIECE`] events, in order.
    pub fn split(self) -> impl Iterator<Item = Self> {
        let starts = std::iter::once(self.range.start).chain(self.pieces.iter().copied());
        let ends = self
            .pieces
            .iter()
            .copied()
            .chain(std::iter::once(self.range.end));
        let ranges: Vec<_> = starts.zip(ends).map(|(start, end)| start..end).collect();
        let last = ranges.len() - 1;
        let whole = Self {
            pieces: Vec::new(),
            ..self
        };
        ranges.into_iter().enumerate().map(move |(index, range)| {
            let events = if index < last {
                PIECE
            } else {
                whole.events - index * PIECE
            };
            Self {
                events,
                range,
                ..whole.clone()
            }
        })
    }

    /// Time of offset 0, with `epoch_ns` as zero for lines that count from 1970.
    pub fn base_ps(&self, epoch_ns: i64) -> i64 {
        let epoch = if self.timestamp_ns >= EPOCH_LIKE_NS {
            epoch_ns
        } else {
            0
        };
        self.timestamp_ns.saturating_sub(epoch).saturating_mul(1000)
    }
}

/// Context for decoding lines.
pub(super) struct LineContext<'a> {
    pub tables: &'a PlaneMetadata,
    /// Label of each row of the event metadata.
    pub labels: &'a [LabelId],
    /// Label of events whose metadata is missing.
    pub unknown: LabelId,
    pub epoch_ns: i64,
    pub kind: TrackKind,
    /// The stats that are read.
    pub stats: &'a KnownStats,
    /// For each row of the event metadata, whether it is an op whose slices need no arguments; empty if all do.
    pub bare_ops: &'a [bool],
    /// For each row of the event metadata, whether its events are only counted; `None` if all are decoded.
    pub counted: Option<&'a [bool]>,
    pub progress: &'a Progress,
}

/// An aggregated event without a time.
pub(super) struct AggregateRow {
    pub label: LabelId,
    pub occurrences: u64,
    pub total: Picos,
    pub self_time: Option<Picos>,
    pub min: Option<Picos>,
}

/// The content of a decoded line.
#[derive(Default)]
pub(super) struct DecodedLine {
    pub batch: SliceBatch,
    pub aggregates: Vec<AggregateRow>,
    pub flow_points: Vec<FlowPoint>,
    /// Flows of slices on an async line.
    pub async_flows: Vec<(u32, XFlow)>,
    /// Sparse facts that are strings.
    pub texts: Vec<(SliceAttr, u32, StatValue)>,
    /// Slices that record memory use.
    pub memory: Vec<u32>,
    /// Events that were only counted.
    pub counted: Option<CountedLine>,
    pub log: ImportLog,
}

/// Decodes all parts of one line, without the events that are only counted if that makes no difference.
pub(super) fn decode(context: &LineContext<'_>, parts: &[LineOutline]) -> Result<DecodedLine> {
    if let Some(is_counted) = context.counted {
        let events = parts.iter().map(|part| part.events).sum();
        let mut counted = CountedEvents::new(is_counted, events);
        let decoded = decode_events(context, parts, Some(&mut counted))?;
        if let Some(counted) = counted.finish() {
            return Ok(DecodedLine {
                counted: Some(counted),
                ..decoded
            });
        }
    }
    decode_events(context, parts, None)
}

fn decode_events(
    context: &LineContext<'_>,
    parts: &[LineOutline],
    mut counted: Option<&mut CountedEvents<'_>>,
) -> Result<DecodedLine> {
    let file = context.tables.bytes();
    // How many are kept of those that are counted is not known.
    let events = parts.iter().map(|part| part.events);
    let slices = if counted.is_some() { 0 } else { events.sum() };
    let mut out = DecodedLine {
        batch: SliceBatch::with_capacity(slices, context.bare_ops.is_empty()),
        ..DecodedLine::default()
    };
    let mut event = XPlaneEvent::default();
    for part in parts {
        let base_ps = part.base_ps(context.epoch_ns);
        let mut cursor = WireCursor::new(file, part.range.clone());
        for count in 0_usize.. {
            if count.is_multiple_of(1 << 14) {
                context.progress.check()?;
            }
            let position = cursor.position();
            match next_event(&mut cursor, position) {
                // The damage is recorded in the outline.
                Ok(Next::End) | Err(_) => break,
                Ok(Next::Event(range)) => {
                    match event.read((context.tables, context.stats), context.kind, file, range) {
                        Ok(()) => out.add(
                            context,
                            base_ps,
                            &mut event,
                            position,
                            counted.as_deref_mut(),
                        ),
                        Err(broken) => out.log_broken(IssueKind::MalformedEvent, broken),
                    }
                }
                Ok(Next::Other) => {}
            }
        }
    }
    // This vector grew by doubling and is kept until all lines are decoded.
    out.flow_points.shrink_to_fit();
    Ok(out)
}

/// A field of a line.
enum Next {
    Event(Range<usize>),
    Other,
    End,
}

#[inline]
fn next_event(cursor: &mut WireCursor<'_>, position: usize) -> Result<Next, BrokenMessage> {
    match cursor.tag()? {
        Some(EVENTS) => cursor.length_delimited().map(Next::Event),
        Some(tag) => cursor.skip_value(tag, position).map(|()| Next::Other),
        None => Ok(Next::End),
    }
}

/// Completes a counter sample. The counter's number can be a stat of the event's metadata, or the id of the metadata
/// itself.
fn complete_counter(tables: &PlaneMetadata, metadata: u64, attrs: &mut Vec<(SliceAttr, i64)>) {
    attrs.push((SliceAttr::Instant, 1));
    if attrs.iter().all(|(attr, _)| *attr != SliceAttr::CounterId) {
        let id = tables
            .metadata_int(metadata, Known::Attr(SliceAttr::CounterId))
            .unwrap_or(metadata as i64);
        attrs.push((SliceAttr::CounterId, id));
    }
}

impl DecodedLine {
    #[inline]
    fn add(
        &mut self,
        context: &LineContext<'_>,
        base_ps: i64,
        event: &mut XPlaneEvent,
        position: usize,
        counted: Option<&mut CountedEvents<'_>>,
    ) {
        let row = context.tables.event_row(event.metadata);
        let label = row
            .and_then(|row| context.labels.get(row))
            .copied()
            .unwrap_or_else(|| {
                self.log.add(IssueKind::UnknownMetadata, || {
                    format!("event at byte {position} has metadata {}", event.metadata)
                });
                context.unknown
            });
        if event.dur_ps < 0 {
            self.log.add(IssueKind::BadDuration, || {
                format!("event at byte {position}: {} ps", event.dur_ps)
            });
        }
        let dur = Picos::from_ps(event.dur_ps.max(0));
        if let Some(occurrences) = event.get(EventNumber::Occurrences) {
            let time = |number| event.get(number).map(|ps| Picos::from_ps(ps.max(0)));
            let (self_time, min) = (
                time(EventNumber::SelfDuration),
                time(EventNumber::MinDuration),
            );
            self.aggregates.push(AggregateRow {
                label,
                occurrences: occurrences as u64,
                total: dur,
                self_time,
                min,
            });
            return;
        }
        let mut range = self.range(base_ps, event.offset_ps, dur, position);
        if event
            .attrs
            .iter()
            .any(|(attr, _)| *attr == SliceAttr::CounterValueBits)
        {
            complete_counter(context.tables, event.metadata, &mut event.attrs);
            // Hundreds of counters are read at the same time; as spans they would nest.
            range.end = range.start;
        }
        let device = event
            .get(EventNumber::DeviceStart)
            .zip(event.get(EventNumber::DeviceDuration))
            .map(|(start, dur)| {
                TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(dur.max(0)))
            });
        let is_plain = event.attrs.is_empty() && event.texts.is_empty();
        if let Some(counted) = counted {
            counted.see(range);
            if device.is_some() {
                counted.set_irregular();
            }
            if is_plain && row.is_some_and(|row| counted.count(row)) {
                return;
            }
        }
        let is_bare = is_plain && row.is_some_and(|row| context.bare_ops.get(row) == Some(&true));
        let index = self.batch.push(SliceSpec {
            range,
            label,
            args: (!is_bare).then_some(position as u64),
            device,
        });
        // Most events have none, and emptying empty vectors took a seventh of the time of these.
        if !is_plain {
            self.add_stats(event, index, position);
        }
        self.add_flows(context, event, index);
    }

    /// Adds what the stats of an event say of the slice `index`.
    fn add_stats(&mut self, event: &mut XPlaneEvent, index: u32, position: usize) {
        for (attr, value) in event.attrs.drain(..) {
            if attr == SliceAttr::DroppedTraces {
                self.log
                    .add_many(IssueKind::DroppedTraces, value.max(0) as u64, || {
                        format!("{value} at byte {position}")
                    });
            }
            // If a stat occurs twice, the last value counts.
            if attr == SliceAttr::MemoryAllocated && self.memory.last() != Some(&index) {
                self.memory.push(index);
            }
            self.batch.set_attr(index, attr, value);
        }
        self.texts.extend(
            event
                .texts
                .drain(..)
                .map(|(attr, text)| (attr, index, text)),
        );
    }

    fn add_flows(&mut self, context: &LineContext<'_>, event: &XPlaneEvent, index: u32) {
        if let Some(flow) = event
            .get(EventNumber::Flow)
            .map(|bits| XFlow::from_bits(bits as u64))
        {
            if context.kind == TrackKind::AsyncOps {
                self.async_flows.push((index, flow));
            } else {
                self.flow_points.extend(flow.points(index));
            }
        }
        let ends = [
            (
                EventNumber::Producer,
                EventNumber::ProducerType,
                FlowRole::Out,
            ),
            (
                EventNumber::Consumer,
                EventNumber::ConsumerType,
                FlowRole::In,
            ),
        ];
        for (id, context_type, role) in ends {
            if let Some(id) = event.get(id) {
                let context_type = event.get(context_type).unwrap_or_default() as u64;
                self.flow_points
                    .push(context_point(id as u64, context_type, role, index));
            }
        }
    }

    fn range(&mut self, base_ps: i64, offset_ps: i64, dur: Picos, position: usize) -> TimeRange {
        let start = base_ps.checked_add(offset_ps);
        if start
            .and_then(|start| start.checked_add(dur.ps()))
            .is_none()
        {
            self.log.add(IssueKind::TimeOutOfRange, || {
                format!("event at byte {position}: offset {offset_ps} ps")
            });
        }
        TimeRange::at(
            Timestamp::from_ps(start.unwrap_or_else(|| base_ps.saturating_add(offset_ps))),
            dur,
        )
    }

    fn log_broken(&mut self, kind: IssueKind, broken: BrokenMessage) {
        self.log.add(kind, || broken.to_string());
    }
}
