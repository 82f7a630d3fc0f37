//! Chrome traces that a model of an accelerator wrote: one process a device, named
//! `/device:TPU:0 (model)`, with a thread `TensorCore 0` of compute and waiting and
//! threads `ICI …`, one a link, of what they carry.
//!
//! By these names the threads become the op line and lines of transfers in flight.
//! On the first, `matmul…` is a matrix multiplication and `wait…` awaits
//! communication; everything on a link is communication of an unknown pattern.

use trace_model::{Label, Op, TraceBuilder, TrackId, TrackKind};

use crate::names::{PlaneKind, plane_kind};

/// The device that a process is a model of.
pub(super) fn device_of(process: &str) -> Option<PlaneKind> {
    let kind = plane_kind(process.strip_suffix(" (model)")?);
    matches!(kind, PlaneKind::TensorCore { .. }).then_some(kind)
}

/// What a thread of such a process is.
pub(super) fn line_kind(thread: &str) -> TrackKind {
    if thread.starts_with("TensorCore") {
        TrackKind::Ops
    } else if thread.starts_with("ICI") {
        TrackKind::AsyncOps
    } else {
        TrackKind::Other
    }
}

/// Gives the slices of such a line ops with the categories that they have on real devices.
pub(super) fn categorise(builder: &mut TraceBuilder, track: TrackId, kind: TrackKind) {
    for index in 0..builder.batch(track).len() as u32 {
        let label = builder.batch(track).label(index);
        let name = builder.label_ref(label).name;
        let text = builder.str(name);
        let category = match kind {
            TrackKind::AsyncOps => "collective-start",
            TrackKind::Ops if text.starts_with("wait") => "collective-done",
            TrackKind::Ops if text.starts_with("matmul") => "dot",
            _ => continue,
        };
        let category = builder.intern(category);
        let op = builder.op(Op { name, category: Some(category), ..Op::default() });
        let label = builder.label_of(Label { name, op: Some(op) });
        builder.batch_mut(track).set_label(index, label);
    }
}
