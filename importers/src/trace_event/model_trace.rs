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

#[cfg(test)]
mod tests {
    use trace_model::GroupKind;

    use super::*;
    use crate::{ImportOptions, Importer as _, Progress, Source, trace_event::TraceEventJson};

    #[test]
    fn only_models_of_devices_are_devices() {
        assert_eq!(device_of("/device:TPU:3 (model)"), Some(PlaneKind::TensorCore { ordinal: 3 }));
        for other in ["/device:TPU:3", "/device:GPU:0 (model)", "train (model)", " (model)"] {
            assert_eq!(device_of(other), None, "{other}");
        }
    }

    #[test]
    fn compute_waiting_and_links_have_categories() {
        let text = r#"[{"ph":"M","name":"process_name","pid":7,"args":{"name":"/device:TPU:1 (model)"}},
            {"ph":"M","name":"thread_name","pid":7,"tid":1,"args":{"name":"TensorCore 0"}},
            {"ph":"M","name":"thread_name","pid":7,"tid":2,"args":{"name":"ICI tx"}},
            {"ph":"X","pid":7,"tid":1,"name":"matmul_w1","ts":0,"dur":4,"args":{"flops":8}},
            {"ph":"X","pid":7,"tid":1,"name":"wait shard","ts":4,"dur":1},
            {"ph":"X","pid":7,"tid":1,"name":"relu","ts":5,"dur":1},
            {"ph":"X","pid":7,"tid":2,"name":"rdma","ts":1,"dur":4}]"#;
        let mut builder = TraceBuilder::new();
        let source = Source::from_bytes("test.json", text.as_bytes().to_vec()).unwrap();
        TraceEventJson.import(&source, &ImportOptions::default(), &Progress::new(), &mut builder).unwrap();
        let model = builder.finish();
        let core = model.tensor_cores()[0];
        assert_eq!(model.group(core).kind, GroupKind::TensorCore { ordinal: 1 });
        let category = |name: &str| {
            let op = model.op(model.all_slices().find(|slice| slice.name() == name).unwrap().op().unwrap());
            (op.category.map(|category| model.str(category)), op.flops)
        };
        assert_eq!(category("matmul_w1"), (Some("dot"), Some(8)));
        assert_eq!(category("wait shard"), (Some("collective-done"), None));
        assert_eq!(category("relu"), (None, None));
        assert_eq!(category("rdma"), (Some("collective-start"), None));
    }
}
