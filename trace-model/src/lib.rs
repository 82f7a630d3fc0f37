//! The timeline that every importer fills and every analysis reads.
//!
//! A [`TraceModel`] is immutable and column-oriented: a tree of [`Group`]s (host →
//! device → core) holds [`Track`]s, a track holds [`Lane`]s, a lane holds slices.
//! **The one invariant: rows are sorted by (track, depth, start), and slices of
//! one lane never overlap.** Starts and ends are therefore both sorted, so range
//! queries, hit tests and neighbours are binary searches.
//!
//! The only way to make a model is [`TraceBuilder`]:
//!
//! ```
//! use trace_model::*;
//!
//! let mut builder = TraceBuilder::new();
//! let host = builder.group(None, GroupKind::Host, "host");
//! let core = builder.group(Some(host), GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
//! let ops = builder.track(core, TrackKind::Ops, 3, "XLA Ops");
//! let (fusion, copy) = (builder.label("fusion.1", None), builder.label("copy.2", None));
//! let range = |start, end| TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
//! builder.add_slice(ops, SliceSpec::new(range(0, 100), fusion));
//! builder.add_slice(ops, SliceSpec::new(range(10, 40), copy));
//!
//! let model = builder.finish();
//! let outer = model.slices_of(&model.lanes(ops)[0]).next().unwrap();
//! assert_eq!(outer.name(), "fusion.1");
//! assert_eq!(outer.self_dur(), Picos::from_ps(70));
//! assert_eq!(outer.children().next().unwrap().name(), "copy.2");
//! ```
//!
//! This crate contains no file formats, colours or policy: the meaning of categories, the choice of peaks and the
//! definition of steps belong to the analyses.

#![warn(missing_docs)]

#[macro_use]
mod ids;

mod args;
mod attrs;
mod batch;
mod builder;
mod compact;
mod counters;
mod device;
mod finish;
mod flow;
mod import_log;
mod in_order;
mod index;
mod joined;
mod lod;
mod model;
mod nesting;
mod op;
mod pause;
mod plain;
pub mod prelude;
mod shared;
mod slice_ref;
mod slices;
mod snapshot;
mod source;
mod spans;
mod strings;
pub mod time;
mod track;
mod unread;
pub mod wire;

pub use args::{Arg, ArgRows, ArgSource, ArgSourceId, ArgValue, SavedArgs};
pub use attrs::SliceAttr;
pub use batch::{SliceBatch, SliceSpec};
pub use builder::{FlowEnd, SliceKey, TraceBuilder};
pub use counters::CounterSeries;
pub use device::{DeviceInfo, DeviceLinks, short_device_name};
pub use flow::{Flow, FlowPoint, FlowRole};
pub use import_log::{ImportLog, Issue, IssueCount, IssueKind, Severity, UNKNOWN_EVENT};
pub use joined::joined;
pub use lod::{ClassSums, LaneMipmap, LodIndex, LodSlices};
pub use model::{AggregatedOp, MemoryUse, TraceColumns, TraceModel};
pub use op::{
    Access, Bundles, CodeText, EmptyRuns, Label, LabelId, MemoryAccess, MemorySpace, Op, OpId,
    Program, ProgramBytes, ProgramId, UnitSlots, VmemUse, without_number,
};
pub use pause::{Pauses, may_pause, pause_with, pausing};
pub use shared::{kept, locked};
pub use slice_ref::{SliceRef, partition_from_end, partition_rows};
pub use slices::SliceId;
pub use snapshot::{ReopenArgs, SnapshotError};
pub use source::{Caveat, FormatContents, Source, about_times, badge};
pub use spans::{SliceSpans, SpansByTime, SpansInOrder};
pub use strings::{StringId, StringTable};
pub use time::{Picos, TimeRange, Timestamp};
pub use track::{Group, GroupId, GroupKind, HostId, Lane, SourceId, Track, TrackId, TrackKind};
pub use unread::{HostEventUse, UnreadSlices};
