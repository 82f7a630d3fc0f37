//! Tables of the timeline beside slices and tracks: files, counters, flows.

use std::borrow::Cow;
use std::sync::Arc;

use analysis::{Provenance, Unit};
use trace_model::{CounterSeries, Source, TimeRange, TraceModel};

use super::data::{DataTable, Field};
use super::tracks::TrackNames;

/// The table of files that the trace was read from.
pub(super) fn sources(model: &TraceModel) -> DataTable {
    fn source(all: &TraceModel, row: usize) -> Option<&Source> {
        all.sources().get(row)
    }
    let unix = Unit::None;
    let about = "One row per file that the trace was read from.";
    DataTable::of(
        "sources",
        about,
        model.sources().len(),
        Arc::new(model.clone()),
    )
    .id(
        "file",
        "name without directories",
        Field::Text(|all, row| Some(Cow::Borrowed(&*source(all, row)?.name))),
    )
    .id(
        "format",
        "id of the format",
        Field::Text(|all, row| Some(Cow::Borrowed(source(all, row)?.format))),
    )
    .id(
        "host",
        "host that wrote it",
        Field::Text(|all, row| source(all, row)?.host.as_deref().map(Cow::Borrowed)),
    )
    .fact(
        "bytes",
        "size on disk",
        Unit::Bytes,
        Provenance::Measured,
        Field::Int(|all, row| i64::try_from(source(all, row)?.packed_bytes).ok()),
    )
    .fact(
        "started_unix_ns",
        "when the capture started, nanoseconds since 1970",
        unix,
        Provenance::Profile,
        Field::Int(|all, row| source(all, row)?.started_unix_ns),
    )
    .fact(
        "stopped_unix_ns",
        "when it ended",
        unix,
        Provenance::Profile,
        Field::Int(|all, row| source(all, row)?.stopped_unix_ns),
    )
    .fact(
        "simulator",
        "what computed the times; missing where they were measured",
        unix,
        Provenance::Profile,
        Field::Text(|all, row| source(all, row)?.simulator.as_deref().map(Cow::Borrowed)),
    )
    .build()
}

/// Samples of all counters.
struct CounterRows {
    names: Arc<TrackNames>,
    /// Row at which each series ends.
    ends: Vec<usize>,
}

impl CounterRows {
    fn sample(&self, row: usize) -> Option<(TimeRange, f64)> {
        let (series, sample) = self.at(row)?;
        series.sample(sample)
    }

    fn at(&self, row: usize) -> Option<(&CounterSeries, usize)> {
        let series = self.ends.partition_point(|&end| end <= row);
        let begin = series.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some((self.names.model.counters().get(series)?, row - begin))
    }
}

/// The table of samples of counters.
pub(super) fn counters(names: &Arc<TrackNames>) -> DataTable {
    let mut len = 0;
    let series = names.model.counters().iter();
    let ends = series.map(|series| {
        len += series.len();
        len
    });
    let ends = ends.collect();
    let about = "One row per sample of a counter; its value holds from start to end.";
    DataTable::of(
        "counters",
        about,
        len,
        Arc::new(CounterRows {
            names: Arc::clone(names),
            ends,
        }),
    )
    .id(
        "track_id",
        "track of the counter",
        Field::Int(|all, row| Some(all.at(row)?.0.track().index() as i64)),
    )
    .time(
        "start_ps",
        "from when the value holds",
        Field::Int(|all, row| Some(all.sample(row)?.0.start.ps())),
    )
    .time(
        "end_ps",
        "until when it holds",
        Field::Int(|all, row| Some(all.sample(row)?.0.end.ps())),
    )
    .fact(
        "value",
        "the value, in the unit that was recorded",
        Unit::None,
        Provenance::Profile,
        Field::Float(|all, row| Some(all.sample(row)?.1)),
    )
    .id(
        "unit",
        "unit as recorded",
        Field::Text(|all, row| Some(Cow::Borrowed(all.names.model.str(all.at(row)?.0.unit()?)))),
    )
    .id(
        "name",
        "name of the counter",
        Field::Choice(
            |all| &all.names.tracks,
            |all, row| all.names.track(all.at(row)?.0.track()),
        ),
    )
    .id(
        "host",
        "host that recorded it",
        Field::Choice(
            |all| &all.names.hosts,
            |all, row| all.names.host(all.at(row)?.0.track()),
        ),
    )
    .id(
        "device",
        "device; missing on hosts",
        Field::Choice(
            |all| &all.names.devices,
            |all, row| all.names.device(all.at(row)?.0.track()),
        ),
    )
    .build()
}

pub(super) fn flows(model: &TraceModel) -> DataTable {
    let about = "One row per flow from a slice to another: a launch to its program, a start op to its done op.";
    DataTable::of("flows", about, model.flows().len(), Arc::new(model.clone()))
        .id(
            "from_slice_id",
            "slice at which it starts",
            Field::Int(|all, row| Some(all.flows().get(row)?.from.index() as i64)),
        )
        .id(
            "to_slice_id",
            "slice at which it ends",
            Field::Int(|all, row| Some(all.flows().get(row)?.to.index() as i64)),
        )
        .id(
            "flow_id",
            "id as recorded, its 64 bits read as signed",
            Field::Int(|all, row| Some(all.flows().get(row)?.id as i64)),
        )
        .time(
            "latency_ps",
            "from the end of the first slice to the start of the second; negative where they overlap",
            Field::Int(|all, row| {
                let flow = all.flows().get(row)?;
                let (from, to) = (all.slice(flow.from).range(), all.slice(flow.to).range());
                Some(to.start.ps().saturating_sub(from.end.ps()))
            }),
        )
        .rising(|all, row| all.flows().get(row).map_or(i64::MAX, |flow| flow.from.index() as i64))
        .build()
}
