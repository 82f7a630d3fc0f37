use super::*;
use crate::slice_ref::SliceRef;
use crate::{
    Arg, ArgValue, FlowEnd, GroupKind, IssueKind, Picos, SliceAttr, SliceSpec, TimeRange,
    Timestamp, TraceBuilder, TrackKind,
};

fn range(start: i64, len: i64) -> TimeRange {
    TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(len))
}

/// Two tracks with nesting, arguments, a fact, a flow, a counter and an issue.
fn model() -> TraceModel {
    let mut builder = TraceBuilder::new();
    builder.source_mut().format = "toy";
    let host = builder.group(None, GroupKind::Host, "höst");
    let core = builder.group(
        Some(host),
        GroupKind::TensorCore { ordinal: 0 },
        "/device:TPU:0",
    );
    let ops = builder.track(core, TrackKind::Ops, 1, "XLA Ops");
    let thread = builder.track(host, TrackKind::HostThread, 2, "thread");
    let label = builder.label("fusion.1", None);
    let outer = builder.add_slice(
        ops,
        SliceSpec {
            args: Some(0),
            ..SliceSpec::new(range(10, 100), label)
        },
    );
    builder.add_slice(ops, SliceSpec::new(range(20, 30), label));
    builder.set_attr(outer, SliceAttr::RunId, -7);
    let launch = builder.add_slice(thread, SliceSpec::new(range(0, 5), label));
    builder.add_flow(FlowEnd::Slice(launch), FlowEnd::Slice(outer), 3);
    let row = vec![Arg {
        name: "bytes".to_owned(),
        value: ArgValue::Uint(u64::MAX),
    }];
    let args = builder.add_arg_source(Arc::new(ArgRows(vec![row])));
    builder.set_arg_source(ops, args);
    builder.log(IssueKind::BadDuration, || "event 3".to_owned());
    builder.finish()
}

fn again(bytes: &[u8]) -> Result<TraceModel, SnapshotError> {
    TraceModel::from_snapshot(bytes, &Err)
}

fn text(model: &TraceModel) -> String {
    use std::fmt::Write as _;
    let mut text = format!(
        "{:?} {:?} {:?}\n",
        model.sources(),
        model.groups(),
        model.import_log()
    );
    for slice in model.all_slices() {
        let facts = (
            slice.attr(SliceAttr::RunId),
            slice.args(),
            slice.parent().map(SliceRef::id),
        );
        let _ = writeln!(
            text,
            "{} {:?} {:?} {facts:?}",
            slice.name(),
            slice.range(),
            slice.self_dur()
        );
    }
    let _ = write!(text, "{:?} {:?}", model.flows(), model.extent());
    text
}

#[test]
fn a_model_survives() {
    let model = model();
    let unlinked = again(&model.to_snapshot()).unwrap();
    assert_eq!(text(&unlinked), text(&model));
    // Now the flows of both are linked.
    assert_eq!(text(&again(&unlinked.to_snapshot()).unwrap()), text(&model));
    assert_eq!(unlinked.flows().len(), 1);
}

#[test]
fn other_bytes_are_refused() {
    assert_eq!(again(b"{}").unwrap_err(), SnapshotError::NotASnapshot);
    let mut bytes = model().to_snapshot();
    bytes[8] ^= 1;
    assert_eq!(again(&bytes).unwrap_err(), SnapshotError::OtherVersion);
    bytes[8] ^= 1;
    bytes.push(0);
    assert_eq!(
        again(&bytes).unwrap_err(),
        SnapshotError::Damaged("something follows its end")
    );
}

/// Whatever is damaged, the result is an error or a model that can be read.
#[test]
fn damaged_bytes_never_panic() {
    let bytes = model().to_snapshot();
    let mut read = 0;
    for at in 12..bytes.len() {
        assert!(again(&bytes[..at]).is_err(), "{at} bytes of it");
        for flip in [1, 0x10, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            if let Ok(model) = again(&damaged) {
                read += 1;
                let _ = text(&model);
            }
        }
    }
    assert!(read > 0);
}
