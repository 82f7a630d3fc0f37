//! Hardware counters: on the line `_counters_` of a plane an event is a sample; its name is the series, its stat the
//! value, and the stat's name the unit.

use std::ops::Range;

use importer_common::names;
use importer_common::prelude::*;
use trace_model::wire::{BrokenMessage, WireCursor, WireValue};

use super::known::Known;
use super::lines::LineOutline;
use super::tables::{PlaneMetadata, StatValue, stat};

/// One sample as recorded.
#[derive(Default)]
struct CounterSample {
    metadata: u64,
    offset_ps: i64,
    dur_ps: i64,
    value: Option<(f64, u64)>,
}

/// Adds the samples of a counter line, one track per series; `ends` are the ends of the core's ops.
pub(super) fn add(
    builder: &mut TraceBuilder,
    group: GroupId,
    ends: &OpEnds,
    tables: &PlaneMetadata,
    labels: &[LabelId],
    line: &LineOutline,
    epoch_ns: i64,
) {
    let mut tracks: HashMap<LabelId, TrackId> = HashMap::new();
    let mut held: BTreeMap<TrackId, Vec<HeldValue>> = BTreeMap::new();
    let mut cursor = WireCursor::new(tables.bytes(), line.range.clone());
    // Damage was already logged with the outline.
    while let Ok(Some(field)) = cursor.next() {
        let (4, WireValue::Bytes(range)) = field else {
            continue;
        };
        let sample = match read(tables, range) {
            Ok(sample) => sample,
            Err(broken) => {
                builder.log(IssueKind::MalformedEvent, || broken.to_string());
                continue;
            }
        };
        let label = tables
            .event_row(sample.metadata)
            .and_then(|row| labels.get(row))
            .copied();
        let (Some(label), Some((value, unit))) = (label, sample.value) else {
            builder.log(IssueKind::UnknownMetadata, || {
                format!("a counter sample of series {}", sample.metadata)
            });
            continue;
        };
        if !value.is_finite() {
            builder.log(IssueKind::MalformedEvent, || {
                format!("a counter sample is {value}")
            });
            continue;
        }
        let at = Timestamp::from_ps(line.base_ps(epoch_ns).saturating_add(sample.offset_ps));
        let dur = Picos::from_ps(sample.dur_ps).clamped();
        let track = *tracks.entry(label).or_insert_with(|| {
            let name = builder.label_name(label).to_owned();
            let track = builder.track(group, TrackKind::Counter, line.shown_id(), &name);
            builder.track_mut(track).sort = names::track_sort(TrackKind::Counter);
            track
        });
        held.entry(track)
            .or_default()
            .push(HeldValue { at, dur, value });
        if let Some(unit) = tables
            .stat_name(unit)
            .filter(|_| tables.known(unit) != Known::Attr(SliceAttr::CounterValueBits))
        {
            builder.set_counter_unit(track, unit);
        }
    }
    for (track, mut values) in held {
        values.sort_by_key(|held| held.at);
        end_with_ops(&mut values, ends, builder);
        for HeldValue { at, dur, value } in values {
            builder.add_counter_sample(track, at, Some(dur), value);
        }
    }
}

/// A sample with the time for which it holds.
struct HeldValue {
    at: Timestamp,
    dur: Picos,
    value: f64,
}

/// Ends samples with the op in which they were taken if their length cannot be true: the last one of a kernel can have an
/// absolute time as its length. Others are left as they are: series of the chip (temperature, power) do not end with ops.
fn end_with_ops(values: &mut [HeldValue], ends: &OpEnds, builder: &mut TraceBuilder) {
    let next: Vec<Option<Timestamp>> = (1..=values.len())
        .map(|next| values.get(next).map(|held| held.at))
        .collect();
    let fits = |held: &HeldValue, next: Timestamp| TimeRange::at(held.at, held.dur).end <= next;
    let pairs = values.iter().zip(&next);
    let longest = pairs
        .filter(|(held, next)| next.is_some_and(|next| fits(held, next)))
        .map(|(held, _)| held.dur)
        .max();
    for (held, next) in values.iter_mut().zip(next) {
        let can_be_true = match next {
            Some(next) => fits(held, next),
            None => Some(held.dur) <= longest,
        };
        if let Some(end) = ends.after(held.at).filter(|_| !can_be_true)
            && TimeRange::at(held.at, held.dur).end > end
        {
            builder.log(IssueKind::CounterClipped, || {
                format!("sample at {} ps lasted {} ps", held.at.ps(), held.dur.ps())
            });
            held.dur = end - held.at;
        }
    }
}

fn read(tables: &PlaneMetadata, range: Range<usize>) -> Result<CounterSample, BrokenMessage> {
    let mut sample = CounterSample::default();
    let mut cursor = WireCursor::new(tables.bytes(), range);
    while let Some(field) = cursor.next()? {
        match field {
            (1, WireValue::Varint(v)) => sample.metadata = v,
            (2, WireValue::Varint(v)) => sample.offset_ps = v as i64,
            (3, WireValue::Varint(v)) => sample.dur_ps = v as i64,
            (4, WireValue::Bytes(range)) => {
                let (id, value) = stat(tables.bytes(), range)?;
                let number = match value {
                    StatValue::Text(_)
                    | StatValue::Ref(_)
                    | StatValue::Bytes(_)
                    | StatValue::None => None,
                    ref value => tables.float(value),
                };
                // The counter value takes precedence over other numeric stats.
                if sample.value.is_none()
                    || tables.known(id) == Known::Attr(SliceAttr::CounterValueBits)
                {
                    sample.value = number.map(|number| (number, id)).or(sample.value);
                }
            }
            _ => {}
        }
    }
    Ok(sample)
}

/// Maximum number of preceding ops to search for the one that contains a sample. Further back there are only loops,
/// which do not limit samples.
const NEIGHBOURS: usize = 64;

/// Ends of the ops of a core.
#[derive(Default)]
pub(super) struct OpEnds {
    /// By start, longer first.
    ops: Vec<TimeRange>,
}

impl OpEnds {
    pub fn new(builder: &TraceBuilder, track: TrackId) -> Self {
        let batch = builder.batch(track);
        let mut ops: Vec<TimeRange> = (0..batch.len() as u32).map(|i| batch.range(i)).collect();
        ops.sort_unstable_by_key(|op| (op.start, Reverse(op.end)));
        Self { ops }
    }

    /// End of the innermost op around `time`.
    fn after(&self, time: Timestamp) -> Option<Timestamp> {
        let before = self.ops.partition_point(|op| op.start <= time);
        // Ops nest, so the latest one that is still open is the innermost.
        let open = self
            .ops
            .get(..before)?
            .iter()
            .rev()
            .take(NEIGHBOURS)
            .find(|op| op.contains(time));
        open.map(|op| op.end)
    }
}
