use trace_model::{Access, ArgValue, MemorySpace};

use super::*;

fn names_on(model: &TraceModel, track: TrackId) -> Vec<(String, i64, i64, u32)> {
    model
        .slices_on(track)
        .map(|s| (s.name().to_owned(), s.start().ps(), s.dur().ps(), s.depth()))
        .collect()
}

fn find(model: &TraceModel, kind: TrackKind) -> TrackId {
    model
        .track_ids()
        .find(|&id| model.track(id).kind == kind)
        .unwrap()
}

#[test]
fn character_runs_become_slices_and_deeper_lines_nest() {
    let model = text_trace(
        "ops: AA.BBBB
            : ...cd",
    );
    let ops = find(&model, TrackKind::Ops);
    let expected = [
        ("A", 0, 2000, 0),
        ("B", 3000, 4000, 0),
        ("c", 3000, 1000, 1),
        ("d", 4000, 1000, 1),
    ];
    assert_eq!(
        names_on(&model, ops),
        expected.map(|(n, s, d, l)| (n.to_owned(), s, d, l))
    );
    let outer = model.slices_on(ops).nth(1).unwrap();
    assert_eq!(outer.self_dur(), Picos::from_ps(2000));
}

#[test]
fn ops_belong_to_the_module_they_begin_in() {
    let model = text_trace(
        "
        ops    : AAA AAA
        modules: MMMMNNN
        M = jit_step(7)
        N = jit_step(18446744073709551615)
        A = fusion.1 [convolution fusion] flops=2e9 hbm_read=4_096 vmem_write=1024 :: %fusion.1 = bf16[] fusion()
        ",
    );
    let ops = find(&model, TrackKind::Ops);
    let ids: Vec<_> = model
        .slices_on(ops)
        .map(|s| model.op(s.op().unwrap()).program.unwrap())
        .collect();
    assert_eq!(
        ids.iter()
            .map(|&id| model.program(id).id)
            .collect::<Vec<_>>(),
        [Some(7), Some(u64::MAX)]
    );
    let op = model.op(model.slices_on(ops).next().unwrap().op().unwrap());
    assert_eq!(model.str(op.category.unwrap()), "convolution fusion");
    assert_eq!(
        model.str(op.hlo_text.unwrap()),
        "%fusion.1 = bf16[] fusion()"
    );
    assert_eq!(
        (op.flops, op.bytes_accessed),
        (Some(2_000_000_000), Some(5120))
    );
    assert_eq!(
        (op.memory[0].space, op.memory[0].access),
        (MemorySpace::Hbm, Access::Read)
    );
}

#[test]
fn devices_threads_counters_and_sparse_cores_have_tracks() {
    let model = text_trace(
        "
        @column 1us
        @device-clock 500ns
        @device flops=2e14 hbm=8e11 TPU v5 lite
        TPU:1 ops     : A
        TPU:0 SC:1 ops: A
        host main/7   : PPPP
        counter MXU   : 1122
        ",
    );
    assert_eq!(model.tensor_cores().len(), 2);
    let device = model.group(model.tensor_cores()[1]).device.clone().unwrap();
    assert_eq!(
        (device.peak_flops, device.type_name.as_deref()),
        (Some(2e14), Some("TPU v5 lite"))
    );
    let slice = model
        .slices_on(find(&model, TrackKind::Ops))
        .next()
        .unwrap();
    assert_eq!(slice.device_range().unwrap().start.ps(), 500_000);
    let thread = find(&model, TrackKind::HostThread);
    assert_eq!(model.str(model.track(thread).name), "main/7");
    assert_eq!(model.slices_on(thread).next().unwrap().device_range(), None);
    let values: Vec<_> = model.counters()[0]
        .samples()
        .map(|(range, value)| (range.dur().ps(), value))
        .collect();
    assert_eq!(values, [(2_000_000, 1.0), (2_000_000, 2.0)]);
    assert_eq!(
        model.group_fact(model.tensor_cores()[0], "nothing"),
        None::<&ArgValue>
    );
}

#[test]
fn facts_and_instants_are_on_their_slices() {
    let model = text_trace(
        "
        async: ssss
        steps: 3344
        host : t!.!
        s = all-gather-start.1 done=all-gather-done.1
        t = train step=12 root
        ! = marker instant
        ",
    );
    let span = model
        .slices_on(find(&model, TrackKind::AsyncOps))
        .next()
        .unwrap();
    let done = span.attr(SliceAttr::DoneOp).unwrap() as usize;
    let done = model.strings().iter().nth(done).unwrap().1;
    assert_eq!(done, "all-gather-done.1");
    let steps: Vec<_> = model
        .slices_on(find(&model, TrackKind::Steps))
        .map(|s| s.attr(SliceAttr::GroupId).unwrap())
        .collect();
    assert_eq!(steps, [3, 4]);
    let host: Vec<_> = model
        .slices_on(find(&model, TrackKind::HostThread))
        .collect();
    assert_eq!(
        (
            host[0].attr(SliceAttr::StepNum),
            host[0].attr(SliceAttr::StepRoot)
        ),
        (Some(12), Some(1))
    );
    assert_eq!(
        host.iter()
            .filter(|s| s.attr(SliceAttr::Instant) == Some(1) && s.range().is_empty())
            .count(),
        2
    );
}

#[test]
#[should_panic(expected = "no track is called \"opps\"")]
fn a_misspelt_track_is_an_error() {
    text_trace("opps: AAA");
}
