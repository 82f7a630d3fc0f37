//! The names of tracks, devices and hosts, which most tables show.

use std::borrow::Cow;
use std::sync::Arc;

use trace_model::{GroupId, GroupKind, TraceModel, TrackId, TrackKind};

use super::data::{Choices, ChoicesBuilder, DataTable, Field};

/// Names of all tracks, each text once.
pub(super) struct TrackNames {
    pub model: TraceModel,
    pub tracks: Choices,
    pub devices: Choices,
    pub hosts: Choices,
    pub kinds: Choices,
    of: Vec<NamesOfTrack>,
}

#[derive(Clone, Copy)]
struct NamesOfTrack {
    track: u32,
    device: Option<u32>,
    host: Option<u32>,
    kind: u32,
}

impl TrackNames {
    pub fn new(model: &TraceModel) -> Self {
        let [mut tracks, mut devices, mut hosts, mut kinds] =
            std::array::from_fn(|_| ChoicesBuilder::default());
        let of = model.tracks().iter().map(|track| NamesOfTrack {
            track: tracks.code(model.str(track.name)),
            device: device_of(model, track.group)
                .map(|device| devices.code(&model.device_name(device))),
            host: host_of(model, track.group).map(|host| hosts.code(host)),
            kind: kinds.code(kind_name(track.kind)),
        });
        let of = of.collect();
        let model = model.clone();
        Self {
            model,
            tracks: tracks.build(),
            devices: devices.build(),
            hosts: hosts.build(),
            kinds: kinds.build(),
            of,
        }
    }

    /// Code of the name of a track.
    pub fn track(&self, track: TrackId) -> Option<u32> {
        self.of.get(track.index()).map(|names| names.track)
    }
    /// Code of its device; none on a host.
    pub fn device(&self, track: TrackId) -> Option<u32> {
        self.of.get(track.index())?.device
    }
    /// Code of its host.
    pub fn host(&self, track: TrackId) -> Option<u32> {
        self.of.get(track.index())?.host
    }
    /// Code of what it records.
    pub fn kind(&self, track: TrackId) -> Option<u32> {
        self.of.get(track.index()).map(|names| names.kind)
    }

    fn id(&self, row: usize) -> Option<TrackId> {
        self.model.track_ids().nth(row)
    }
}

/// The device that a group belongs to: itself or the nearest of its parents.
fn device_of(model: &TraceModel, group: GroupId) -> Option<GroupId> {
    let is_device = |kind| {
        matches!(
            kind,
            GroupKind::TensorCore { .. }
                | GroupKind::SparseCore { .. }
                | GroupKind::Gpu { .. }
                | GroupKind::Chip
        )
    };
    std::iter::successors(Some(group), |&group| model.group(group).parent)
        .find(|&group| is_device(model.group(group).kind))
}

fn host_of(model: &TraceModel, group: GroupId) -> Option<&str> {
    Some(model.host_name(model.host_of(group))).filter(|name| !name.is_empty())
}

/// The names of all kinds of tracks.
#[cfg(not(target_arch = "wasm32"))]
pub fn track_kinds() -> [&'static str; 12] {
    [
        TrackKind::Steps,
        TrackKind::Modules,
        TrackKind::Ops,
        TrackKind::AsyncOps,
        TrackKind::DeviceScopes,
        TrackKind::Derived,
        TrackKind::LowLevel,
        TrackKind::HostThread,
        TrackKind::Stream,
        TrackKind::Async,
        TrackKind::Counter,
        TrackKind::Other,
    ]
    .map(kind_name)
}

fn kind_name(kind: TrackKind) -> &'static str {
    match kind {
        TrackKind::Steps => "steps",
        TrackKind::Modules => "modules",
        TrackKind::Ops => "ops",
        TrackKind::AsyncOps => "async_ops",
        TrackKind::DeviceScopes => "device_scopes",
        TrackKind::Derived => "derived",
        TrackKind::LowLevel => "low_level",
        TrackKind::HostThread => "host_thread",
        TrackKind::Stream => "stream",
        TrackKind::Async => "async",
        TrackKind::Counter => "counter",
        TrackKind::Other => "other",
    }
}

pub(super) fn table(names: &Arc<TrackNames>) -> DataTable {
    let about = "One row per track: a thread of a host, a line of a device, a counter.";
    DataTable::of(
        "tracks",
        about,
        names.model.tracks().len(),
        Arc::clone(names),
    )
    .id(
        "track_id",
        "number of the track in this trace",
        Field::Int(|_, row| Some(row as i64)),
    )
    .id(
        "host",
        "host that recorded it",
        Field::Choice(|all| &all.hosts, |all, row| all.host(all.id(row)?)),
    )
    .id(
        "device",
        "device; missing on hosts",
        Field::Choice(|all| &all.devices, |all, row| all.device(all.id(row)?)),
    )
    .id(
        "group_name",
        "device, core or process as recorded",
        Field::Text(|all, row| {
            let group = all.model.tracks().get(row)?.group;
            Some(Cow::Borrowed(all.model.str(all.model.group(group).name)))
        }),
    )
    .id(
        "track",
        "name as recorded",
        Field::Choice(|all| &all.tracks, |all, row| all.track(all.id(row)?)),
    )
    .id(
        "track_kind",
        "what it records",
        Field::Choice(|all| &all.kinds, |all, row| all.kind(all.id(row)?)),
    )
    .id(
        "external_id",
        "line or thread id as recorded",
        Field::Int(|all, row| all.model.tracks().get(row).map(|track| track.external_id)),
    )
    .id(
        "slices",
        "number of slices on it",
        Field::Int(|all, row| {
            Some(
                all.model
                    .lanes(all.id(row)?)
                    .iter()
                    .map(trace_model::Lane::len)
                    .sum::<usize>() as i64,
            )
        }),
    )
    .numbered()
    .build()
}
