//! Chrome's trace events as JSON, which Perfetto, `chrome://tracing` and Systole read. Times are microseconds; as
//! numbers of 64 bits they are exact to the picosecond for captures of up to two hours.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};
use trace_model::{
    CounterSeries, GroupId, GroupKind, SliceAttr, SliceRef, StringId, TraceModel, TrackId,
    TrackKind, joined,
};

use super::{category, overlaps, shift_ps, step_tracks};
use crate::open::Session;

/// Thread of the steps of a process: above all others.
const STEPS_THREAD: usize = 0;

/// One event, with the fields that its phase has.
#[derive(Default, Serialize)]
#[serde(default)]
struct Event<'a> {
    ph: &'static str,
    pid: usize,
    tid: usize,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

/// Writes the whole timeline. Arguments of slices are read from the profile if `with_args`.
///
/// # Errors
///
/// `out` fails.
pub fn write(session: &Session, with_args: bool, out: &mut impl Write) -> io::Result<()> {
    let model = session.whole_model();
    let mut events = EventWriter {
        out,
        shift: shift_ps(model),
        is_first: true,
    };
    write!(events.out, "{{\"displayTimeUnit\":\"ns\",")?;
    let hosts: BTreeSet<_> = model
        .sources()
        .iter()
        .map(|source| source.host.as_ref())
        .collect();
    // Several are told by the names of their planes.
    if let (Some(Some(host)), 1) = (hosts.first(), hosts.len()) {
        write!(events.out, "\"host_name\":{},", json!(host))?;
    }
    write!(events.out, "\"otherData\":")?;
    serde_json::to_writer(&mut *events.out, &about(model))?;
    events.out.write_all(b",\"traceEvents\":[\n")?;
    names(session, &mut events)?;
    for track in model.track_ids() {
        // Ops that overlap by rounding alone stay on their thread, as in exports of XProf: it is the thread of the ops.
        let is_apart = model.track(track).kind != TrackKind::Ops && overlaps(model, track);
        for slice in model.slices_on(track) {
            events.slice(session, slice, is_apart, with_args)?;
        }
    }
    for series in model.counters() {
        events.counter(session, series)?;
    }
    for (id, flow) in model.flows().iter().enumerate() {
        for (ph, slice) in [("s", model.slice(flow.from)), ("f", model.slice(flow.to))] {
            let (pid, tid) = (
                process_id(slice.track_ref().group),
                thread_id(slice.track()),
            );
            let ts = Some(events.micros(slice.start().ps()));
            let (cat, id, bp) = (Some("flow"), Some(id), Some("e"));
            events.push(&Event {
                ph,
                pid,
                tid,
                name: "flow",
                cat,
                ts,
                id,
                bp,
                ..Event::default()
            })?;
        }
    }
    for track in step_tracks(session) {
        for (range, number) in track.spans {
            let (ts, dur) = (
                Some(events.micros(range.start.ps())),
                Some(micros(range.dur().ps())),
            );
            let (pid, name) = (process_id(track.group), format!("Step {number}"));
            let args = Map::from_iter([("step".to_owned(), json!(number))]);
            let (tid, cat) = (STEPS_THREAD, Some("step"));
            events.push(&Event {
                ph: "X",
                pid,
                tid,
                name: &name,
                cat,
                ts,
                dur,
                args,
                ..Event::default()
            })?;
        }
    }
    events.out.write_all(b"\n]}\n")
}

/// Where the times are from, so that they never pass for measured ones.
fn about(model: &TraceModel) -> Value {
    let mut about = Map::from_iter([("tool".to_owned(), json!("systole"))]);
    if let Some(simulator) = model.simulator() {
        let caveats = model.sources().iter().flat_map(|source| &source.caveats);
        let names: BTreeSet<String> = caveats
            .filter_map(|caveat| Some(json!(caveat).as_str()?.to_owned()))
            .collect();
        let names = names.into_iter();
        about.insert("badge".to_owned(), json!(model.badge()));
        about.insert("simulator".to_owned(), json!(simulator));
        about.insert("caveats".to_owned(), json!(joined(names, ",")));
    }
    Value::Object(about)
}

fn names<W: Write>(session: &Session, events: &mut EventWriter<'_, W>) -> io::Result<()> {
    let model = session.model();
    let mut about = |name: &str, pid: usize, tid: usize, key: &str, value: Value| {
        let args = Map::from_iter([(key.to_owned(), value)]);
        events.push(&Event {
            ph: "M",
            pid,
            tid,
            name,
            args,
            ..Event::default()
        })
    };
    for (order, group) in model.group_ids().enumerate() {
        // What is named before its planes is no process of its own.
        if model.group(group).kind == GroupKind::Host && model.tracks_of(group).is_empty() {
            continue;
        }
        about(
            "process_name",
            process_id(group),
            0,
            "name",
            json!(process_name(model, group)),
        )?;
        about(
            "process_sort_index",
            process_id(group),
            0,
            "sort_index",
            json!(order),
        )?;
    }
    for (order, track) in model.track_ids().enumerate() {
        let (pid, tid) = (process_id(model.track(track).group), thread_id(track));
        about(
            "thread_name",
            pid,
            tid,
            "name",
            json!(model.str(model.track(track).name)),
        )?;
        about(
            "thread_sort_index",
            pid,
            tid,
            "sort_index",
            json!(order + 1),
        )?;
    }
    for track in step_tracks(session) {
        about(
            "thread_name",
            process_id(track.group),
            STEPS_THREAD,
            "name",
            json!("Steps of Systole"),
        )?;
    }
    Ok(())
}

/// The name of a plane; that of its host is put in front where there are several, as in XProf's viewer.
fn process_name(model: &TraceModel, group: GroupId) -> String {
    let name = model.str(model.group(group).name);
    let is_host = |group: GroupId| model.group(group).kind == GroupKind::Host;
    let mut around = std::iter::successors(model.group(group).parent, |&group| {
        model.group(group).parent
    });
    match around.find(|&group| is_host(group)) {
        Some(host) if model.group_ids().filter(|&group| is_host(group)).count() > 1 => {
            format!("{} {name}", model.str(model.group(host).name))
        }
        _ => name.to_owned(),
    }
}

struct EventWriter<'a, W> {
    out: &'a mut W,
    shift: i64,
    is_first: bool,
}

impl<W: Write> EventWriter<'_, W> {
    fn push(&mut self, event: &Event<'_>) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            self.out.write_all(b",\n")?;
        }
        serde_json::to_writer(&mut *self.out, event)?;
        Ok(())
    }

    /// A point in time of the timeline.
    fn micros(&self, ps: i64) -> f64 {
        micros(ps.saturating_add(self.shift))
    }

    fn slice(
        &mut self,
        session: &Session,
        slice: SliceRef<'_>,
        is_apart: bool,
        with_args: bool,
    ) -> io::Result<()> {
        let track = slice.track();
        let (pid, tid) = (
            process_id(session.model().track(track).group),
            thread_id(track),
        );
        let (cat, name) = (
            category(session, slice).map(analysis::OpGroup::title),
            slice.name(),
        );
        let recorded = with_args.then(|| crate::tables::arguments(slice)).flatten();
        let mut args: Map<String, Value> = recorded
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        if session.model().track(track).kind == TrackKind::Ops {
            self.add_facts(session, slice, with_args, &mut args);
        } else {
            // Those of a transfer in flight are the times of the op that starts it.
            args.retain(|name, _| {
                !matches!(name.as_str(), "device_offset_ps" | "device_duration_ps")
            });
        }
        let (ts, end) = (
            Some(self.micros(slice.start().ps())),
            Some(self.micros(slice.range().end.ps())),
        );
        if !is_apart {
            let dur = Some(micros(slice.dur().ps()));
            return self.push(&Event {
                ph: "X",
                pid,
                tid,
                name,
                cat,
                ts,
                dur,
                args,
                ..Event::default()
            });
        }
        // Overlapping slices of one thread are asynchronous events, each with an id of its own.
        let (id, cat) = (Some(slice.id().index()), cat.or(Some("async")));
        self.push(&Event {
            ph: "b",
            pid,
            tid,
            name,
            cat,
            ts,
            id,
            args,
            ..Event::default()
        })?;
        self.push(&Event {
            ph: "e",
            pid,
            tid,
            name,
            cat,
            ts: end,
            id,
            ..Event::default()
        })
    }

    /// Adds the facts of an op, under the names that `XProf` writes and Systole reads again.
    fn add_facts(
        &self,
        session: &Session,
        slice: SliceRef<'_>,
        with_texts: bool,
        args: &mut Map<String, Value>,
    ) {
        let model = session.model();
        let mut add = |name: &str, value: Option<Value>| {
            if let (Some(value), false) = (value, args.contains_key(name)) {
                args.insert(name.to_owned(), value);
            }
        };
        if let Some(range) = slice.device_range() {
            add(
                "device_offset_ps",
                Some(json!(range.start.ps().saturating_add(self.shift))),
            );
            add("device_duration_ps", Some(json!(range.dur().ps())));
        }
        let Some(op) = slice.op().map(|op| model.op(op)) else {
            return;
        };
        let number = |of_slice: SliceAttr, of_op: Option<u64>| {
            slice
                .attr(of_slice)
                .map(|value| json!(value))
                .or_else(|| of_op.map(|value| json!(value)))
        };
        let text = |id: Option<StringId>| id.map(|id| json!(model.str(id)));
        add("hlo_category", text(op.category));
        add("flops", number(SliceAttr::Flops, op.flops));
        add("model_flops", number(SliceAttr::ModelFlops, op.model_flops));
        add(
            "bytes_accessed",
            number(SliceAttr::Bytes, op.bytes_accessed),
        );
        add(
            "raw_bytes_accessed",
            op.raw_bytes_accessed.map(|bytes| json!(bytes)),
        );
        if with_texts {
            add("long_name", text(op.hlo_text));
            add("shape_with_layout", text(op.shape));
            add("tf_op", text(op.framework_name));
            add("source", text(op.source));
            add("source_stack", text(op.source_stack));
        }
    }

    fn counter(&mut self, session: &Session, series: &CounterSeries) -> io::Result<()> {
        let model = session.model();
        let track = model.track(series.track());
        let (pid, name) = (process_id(track.group), model.str(track.name));
        let unit = series.unit().map_or("value", |unit| model.str(unit));
        for (range, value) in series.samples() {
            let (ts, args) = (
                Some(self.micros(range.start.ps())),
                Map::from_iter([(unit.to_owned(), json!(value))]),
            );
            self.push(&Event {
                ph: "C",
                pid,
                name,
                ts,
                args,
                ..Event::default()
            })?;
        }
        Ok(())
    }
}

fn micros(ps: i64) -> f64 {
    ps as f64 / 1e6
}

fn process_id(group: GroupId) -> usize {
    group.index() + 1
}

fn thread_id(track: TrackId) -> usize {
    track.index() + 1
}
