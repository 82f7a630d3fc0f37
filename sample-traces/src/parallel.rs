//! Devices that wait for each other.

use trace_model::{
    GroupKind, Op, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel, TrackKind,
};

/// Steps of a data-parallel run, ps: in each step, each device works for its time and then waits in an all-reduce that
/// takes all until 20 after the slowest has come.
pub fn parallel(hosts: usize, work: &[&[i64]]) -> TraceModel {
    const REDUCE: i64 = 20;
    let mut builder = TraceBuilder::new();
    let hosts: Vec<_> = (0..hosts)
        .map(|host| builder.group(None, GroupKind::Host, &format!("host{host}")))
        .collect();
    let mut op = |name: &str, category: &str| {
        let (name_id, category) = (builder.intern(name), Some(builder.intern(category)));
        let op = builder.op(Op {
            name: name_id,
            category,
            ..Op::default()
        });
        builder.label(name, Some(op))
    };
    let (matmul, reduce) = (
        op("fusion.1", "convolution fusion"),
        op("all-reduce.2", "all-reduce"),
    );
    let range =
        |start: i64, end: i64| TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
    let devices = work.first().map_or(0, |step| step.len());
    for device in 0..devices {
        let host = Some(hosts[device * hosts.len() / devices]);
        let kind = GroupKind::TensorCore {
            ordinal: device as u32,
        };
        let core = builder.group(host, kind, &format!("/device:TPU:{device}"));
        let steps = builder.track(core, TrackKind::Steps, 0, "Steps");
        let ops = builder.track(core, TrackKind::Ops, 1, "XLA Ops");
        let mut at = 0;
        for (number, work) in work.iter().enumerate() {
            let end = at + work.iter().max().unwrap_or(&0) + REDUCE;
            let step = builder.label(&number.to_string(), None);
            builder.add_slice(steps, SliceSpec::new(range(at, end), step));
            builder.add_slice(ops, SliceSpec::new(range(at, at + work[device]), matmul));
            builder.add_slice(ops, SliceSpec::new(range(at + work[device], end), reduce));
            at = end;
        }
    }
    builder.finish()
}
