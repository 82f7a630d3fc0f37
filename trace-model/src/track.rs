//! The hierarchy of a trace: a tree of [`Group`]s (host → device → core) whose leaves
//! are [`Track`]s.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::args::ArgValue;
use crate::device::DeviceInfo;
use crate::strings::StringId;

row_ids! {
    /// A group of a model; valid only in the model that created it.
    GroupId,
    /// A track of a model; valid only in the model that created it.
    TrackId
}

/// Whose clock a group has: that of a file, or of one of several hosts whose devices are in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId {
    pub(crate) source: SourceId,
    pub(crate) group: Option<GroupId>,
}

/// One imported file of a trace that may consist of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceId(pub(crate) u16);

impl SourceId {
    /// Row number in [`TraceModel::sources`](crate::TraceColumns::sources).
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What a group stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum GroupKind {
    /// A machine.
    Host,
    /// The host CPU of a machine, with its threads.
    HostProcess,
    /// One logical TPU device: a `TensorCore`, or a whole chip with megacore.
    TensorCore {
        /// The `N` of `/device:TPU:N`.
        ordinal: u32,
    },
    /// A `SparseCore`, child of its `TensorCore`'s group.
    SparseCore {
        /// Number within the device.
        ordinal: u32,
    },
    /// A GPU.
    Gpu {
        /// The `N` of `/device:GPU:N`.
        ordinal: u32,
    },
    /// Chip-level counters (HBM, ICI router, host interface).
    Chip,
    /// A plug-in's plane.
    Custom,
    /// A process in a Chrome trace of another tool.
    Process {
        /// Process id as recorded.
        pid: i64,
    },
}

/// A host, device, core or process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Group {
    /// The parent group.
    pub parent: Option<GroupId>,
    /// What it stands for.
    pub kind: GroupKind,
    /// Name as recorded (`/device:TPU:0`, `/host:CPU`).
    pub name: StringId,
    /// The file it came from.
    pub source: SourceId,
    /// Order among siblings, then name.
    pub sort: i64,
    /// Facts recorded about the group as a whole (plane stats), in file order.
    pub facts: Vec<(StringId, ArgValue)>,
    /// Device type and peaks, for devices that recorded them.
    pub device: Option<DeviceInfo>,
    /// Whether the file ended before all of its events: what is missing is unknown, and no idle time.
    pub is_cut: bool,
}

/// What a track records. Analyses choose their input by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TrackKind {
    /// On-device steps.
    Steps,
    /// Program executions.
    Modules,
    /// The serial HLO op timeline of a core: the ground truth of device metrics.
    Ops,
    /// In-flight spans of asynchronous ops, overlapping freely.
    AsyncOps,
    /// Runtime events and kernel scopes on a device (`XLA TraceMe`).
    DeviceScopes,
    /// Derived from other tracks; never counted.
    Derived,
    /// Instruction-level markers, sync flags, overlays.
    LowLevel,
    /// A thread of a host.
    HostThread,
    /// A stream of a GPU.
    Stream,
    /// Asynchronous spans in a trace of another tool.
    Async,
    /// Samples over time; see [`TraceModel::counter`](crate::TraceColumns::counter).
    Counter,
    /// Anything else.
    Other,
}

impl TrackKind {
    /// Whether slices may overlap without being nested.
    pub(crate) fn overlaps_freely(self) -> bool {
        matches!(self, Self::AsyncOps | Self::Async)
    }
}

/// A track of the timeline.
#[derive(Debug, Serialize, Deserialize)]
pub struct Track {
    /// The host, device, core or process it belongs to.
    pub group: GroupId,
    /// Name as recorded.
    pub name: StringId,
    /// What it records.
    pub kind: TrackKind,
    /// Id as recorded (line id, tid), any 64-bit value.
    pub external_id: i64,
    /// Order among siblings, then name.
    pub sort: i64,
}

/// Slices of one depth of one track: sorted by start, and none overlaps another.
#[derive(Debug, Serialize, Deserialize)]
pub struct Lane {
    /// The track.
    pub track: TrackId,
    /// Nesting level, 0 at the top.
    pub depth: u32,
    pub(crate) rows: Range<u32>,
}

impl Lane {
    /// Number of slices.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Whether there are no slices.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
