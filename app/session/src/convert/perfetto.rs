//! Perfetto's protobuf trace (`perfetto.protos.Trace`): smaller than JSON, with a track for each lane. Perfetto counts in
//! nanoseconds, so times are rounded to that. Field numbers are those of `protos/perfetto/trace` in Perfetto's source.

use std::collections::HashMap;
use std::io::{self, Write};

use trace_model::{CounterSeries, SliceRef, TraceModel, TrackId};

use super::packets::PacketMessage;
use super::{category, overlaps, shift_ps, step_tracks};
use crate::files::PERFETTO_SEQUENCE;
use crate::open::Session;

/// `SEQ_INCREMENTAL_STATE_CLEARED`, and `SEQ_NEEDS_INCREMENTAL_STATE`.
const CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;
/// `TrackEvent.Type`.
const BEGIN: u64 = 1;
const END: u64 = 2;
const COUNTER: u64 = 4;
/// Descriptors of lanes and steps have ids after those of groups and tracks.
const LANES: u64 = 1 << 40;
const STEPS: u64 = 1 << 50;

/// Writes the whole timeline.
///
/// # Errors
///
/// `out` fails.
pub fn write(session: &Session, out: &mut impl Write) -> io::Result<()> {
    let model = session.whole_model();
    let mut trace = Packets {
        out,
        shift: shift_ps(model),
        names: HashMap::new(),
        is_first: true,
    };
    descriptors(model, &mut trace)?;
    let flows = FlowIds::new(model);
    for track in model.track_ids() {
        let is_apart = overlaps(model, track);
        for (lane, depth) in model.lanes(track).iter().zip(0..) {
            let uuid = if is_apart && depth > 0 {
                lane_id(track, depth)
            } else {
                track_id(model, track)
            };
            if is_apart && depth > 0 {
                let name = model.str(model.track(track).name);
                let about = PacketMessage::default()
                    .number(1, uuid)
                    .text(2, name)
                    .number(5, group_id(model, track));
                trace.descriptor(&about)?;
            }
            for slice in model.slices_of(lane).filter(|_| is_apart) {
                trace.begin(session, slice, uuid, &flows)?;
                trace.end(slice.range().end.ps(), uuid)?;
            }
        }
        if !is_apart {
            nested(session, track, &flows, &mut trace)?;
        }
    }
    for series in model.counters() {
        counter(model, series, &mut trace)?;
    }
    for (track, number) in step_tracks(session).into_iter().zip(0..) {
        let uuid = STEPS + number;
        let group = track.group.index() as u64 + 1;
        trace.descriptor(
            &PacketMessage::default()
                .number(1, uuid)
                .text(2, "Steps of Systole")
                .number(5, group),
        )?;
        for (range, step) in track.spans {
            let name = trace.name(&format!("Step {step}"))?;
            let event = PacketMessage::default()
                .number(9, BEGIN)
                .number(11, uuid)
                .number(10, name)
                .text(22, "step");
            trace.event(range.start.ps(), &event)?;
            trace.end(range.end.ps(), uuid)?;
        }
    }
    Ok(())
}

/// Slices of a track in the order of begins and ends.
fn nested<W: Write>(
    session: &Session,
    track: TrackId,
    flows: &FlowIds,
    trace: &mut Packets<'_, W>,
) -> io::Result<()> {
    let model = session.model();
    let uuid = track_id(model, track);
    let mut slices: Vec<SliceRef<'_>> = model.slices_on(track).collect();
    // A parent begins before its child.
    slices.sort_by_key(|slice| (slice.start(), slice.depth(), slice.range().end));
    let mut open: Vec<i64> = Vec::new();
    for slice in slices {
        // A slice of depth n has n open parents; all other slices that began have ended.
        while open.len() > slice.depth() as usize {
            if let Some(end) = open.pop() {
                trace.end(end, uuid)?;
            }
        }
        trace.begin(session, slice, uuid, flows)?;
        open.push(slice.range().end.ps());
    }
    open.into_iter()
        .rev()
        .try_for_each(|end| trace.end(end, uuid))
}

struct Packets<'a, W> {
    out: &'a mut W,
    shift: i64,
    names: HashMap<String, u64>,
    is_first: bool,
}

impl<W: Write> Packets<'_, W> {
    fn packet(&mut self, packet: PacketMessage) -> io::Result<()> {
        let flags = if std::mem::take(&mut self.is_first) {
            CLEARED | NEEDS_STATE
        } else {
            NEEDS_STATE
        };
        let packet = packet.number(10, PERFETTO_SEQUENCE).number(13, flags);
        self.out
            .write_all(&PacketMessage::default().message(1, &packet).into_bytes())
    }

    fn descriptor(&mut self, descriptor: &PacketMessage) -> io::Result<()> {
        self.packet(PacketMessage::default().message(60, descriptor))
    }

    fn event(&mut self, ps: i64, event: &PacketMessage) -> io::Result<()> {
        let nanoseconds = u64::try_from(ps.saturating_add(self.shift)).unwrap_or(0) / 1000;
        self.packet(
            PacketMessage::default()
                .number(8, nanoseconds)
                .message(11, event),
        )
    }

    fn begin(
        &mut self,
        session: &Session,
        slice: SliceRef<'_>,
        uuid: u64,
        flows: &FlowIds,
    ) -> io::Result<()> {
        let name = self.name(slice.name())?;
        let mut event = PacketMessage::default()
            .number(9, BEGIN)
            .number(11, uuid)
            .number(10, name);
        if let Some(category) = category(session, slice) {
            event = event.text(22, category.title());
        }
        let row = slice.id().index();
        for id in flows.from.get(&row).into_iter().flatten() {
            event = event.fixed(47, *id);
        }
        for id in flows.to.get(&row).into_iter().flatten() {
            event = event.fixed(48, *id);
        }
        self.event(slice.start().ps(), &event)
    }

    fn end(&mut self, ps: i64, uuid: u64) -> io::Result<()> {
        self.event(
            ps,
            &PacketMessage::default().number(9, END).number(11, uuid),
        )
    }

    /// The number of a name, which is written once.
    fn name(&mut self, name: &str) -> io::Result<u64> {
        if let Some(&id) = self.names.get(name) {
            return Ok(id);
        }
        let id = self.names.len() as u64 + 1;
        self.names.insert(name.to_owned(), id);
        let event_name = PacketMessage::default().number(1, id).text(2, name);
        self.packet(
            PacketMessage::default().message(12, &PacketMessage::default().message(2, &event_name)),
        )?;
        Ok(id)
    }
}

/// Ids of the flows that start and end at slices, by their rows.
struct FlowIds {
    from: HashMap<usize, Vec<u64>>,
    to: HashMap<usize, Vec<u64>>,
}

impl FlowIds {
    fn new(model: &TraceModel) -> Self {
        let (mut from, mut to) = (HashMap::<_, Vec<u64>>::new(), HashMap::<_, Vec<u64>>::new());
        for (flow, id) in model.flows().iter().zip(1..) {
            from.entry(flow.from.index()).or_default().push(id);
            to.entry(flow.to.index()).or_default().push(id);
        }
        Self { from, to }
    }
}

fn group_id(model: &TraceModel, track: TrackId) -> u64 {
    model.track(track).group.index() as u64 + 1
}

fn track_id(model: &TraceModel, track: TrackId) -> u64 {
    (model.groups().len() + track.index()) as u64 + 1
}

fn lane_id(track: TrackId, depth: u64) -> u64 {
    LANES + ((track.index() as u64) << 16) + depth
}

fn descriptors<W: Write>(model: &TraceModel, trace: &mut Packets<'_, W>) -> io::Result<()> {
    for group in model.group_ids() {
        let id = group.index() as u64 + 1;
        let process = PacketMessage::default()
            .number(1, id)
            .text(6, &model.device_name(group));
        trace.descriptor(&PacketMessage::default().number(1, id).message(3, &process))?;
    }
    for track in model.track_ids() {
        let name = model.str(model.track(track).name);
        let descriptor = PacketMessage::default()
            .number(1, track_id(model, track))
            .text(2, name);
        let descriptor = descriptor.number(5, group_id(model, track));
        let series = model.counter(track);
        let unit = series
            .and_then(CounterSeries::unit)
            .map_or("", |unit| model.str(unit));
        let counter = PacketMessage::default().text(6, unit);
        let descriptor = if series.is_some() {
            descriptor.message(8, &counter)
        } else {
            descriptor
        };
        trace.descriptor(&descriptor)?;
    }
    Ok(())
}

fn counter<W: Write>(
    model: &TraceModel,
    series: &CounterSeries,
    trace: &mut Packets<'_, W>,
) -> io::Result<()> {
    for (range, value) in series.samples() {
        let uuid = track_id(model, series.track());
        trace.event(
            range.start.ps(),
            &PacketMessage::default()
                .number(9, COUNTER)
                .number(11, uuid)
                .double(44, value),
        )?;
    }
    Ok(())
}
