use ::engine::{Options, ReportCache, Scope};
use device_reports::{Ops, Steps};
use facts::OpGroup;
use sample_traces::text_trace;
use trace_model::TraceModel;

use super::*;

fn predict(model: &TraceModel, changes: &[Scenario]) -> Prediction {
    predict_in(model, Scope::WholeTrace, changes)
}

fn predict_in(model: &TraceModel, scope: Scope, changes: &[Scenario]) -> Prediction {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope,
        options: &options,
        reports: &reports,
    };
    Replay::new(&cx).unwrap().with(&cx, changes).unwrap()
}

/// Scales the time of ops of one name by this factor.
fn ops(model: &TraceModel, name: &str, factor: f64) -> Scenario {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let rows = &cx.report::<Ops>().unwrap().rows;
    let factors = rows
        .iter()
        .filter(|row| &*row.name == name)
        .filter_map(|row| Some((row.op?, factor)))
        .collect();
    Scenario::Ops {
        what: name.to_owned(),
        factors,
    }
}

/// A matmul hides half of an all-gather.
fn half_hidden() -> TraceModel {
    text_trace(
        "
        ops: sMMMMddddV..V
        M = fusion.1 [convolution fusion]
        V = add.1 [loop fusion]
        s = all-gather-start.1 [all-gather-start] done=all-gather-done.1
        d = all-gather-done.1 [all-gather-done]
        ",
    )
}

#[test]
fn replay_without_changes_equals_the_recording() {
    let prediction = predict(&half_hidden(), &[]);
    assert_eq!(
        (prediction.window_ps.ps(), prediction.predicted_ps.ps()),
        (13_000, 13_000)
    );
    assert!(
        prediction
            .parts
            .iter()
            .all(|part| part.recorded_ps.ps() == part.predicted_ps.ps())
    );
    assert_eq!(
        prediction
            .parts
            .iter()
            .map(|part| part.recorded_ps.ps())
            .sum::<i64>(),
        13_000
    );
}

#[test]
fn faster_link_shortens_only_the_wait() {
    let model = half_hidden();
    // In flight for 9 ns; at half of that it arrives while the matmul runs.
    assert_eq!(
        predict(&model, &[Scenario::Collectives(0.5)])
            .predicted_ps
            .ps(),
        13_000 - 2_750
    );
    assert_eq!(
        predict(&model, &[Scenario::Collectives(0.8)])
            .predicted_ps
            .ps(),
        13_000 - 1_800
    );
    assert_eq!(
        predict(&model, &[Scenario::Collectives(0.0)])
            .predicted_ps
            .ps(),
        13_000 - 2_750
    );
}

#[test]
fn less_compute_exposes_the_transfer() {
    let model = half_hidden();
    // The core waits for the time that the matmul no longer takes.
    let prediction = predict(&model, &[ops(&model, "fusion.1", 0.5)]);
    assert_eq!(prediction.predicted_ps.ps(), 13_000);
    let wait = prediction
        .parts
        .iter()
        .find(|part| part.group == OpGroup::Collective)
        .unwrap();
    assert_eq!(
        (wait.recorded_ps.ps(), wait.predicted_ps.ps()),
        (5_000, 7_000)
    );
    // Work after the wait does count.
    assert_eq!(
        predict(&model, &[ops(&model, "add.1", 0.0)])
            .predicted_ps
            .ps(),
        11_000
    );
}

#[test]
fn savings_of_several_changes_are_not_summed() {
    let model = half_hidden();
    let both = predict(
        &model,
        &[Scenario::Collectives(0.5), ops(&model, "fusion.1", 0.5)],
    );
    // s 1, M 2, wait until 4.5 after the start, V 1, idle 2, V 1.
    assert_eq!(both.predicted_ps.ps(), 8_500);
    assert_eq!(
        predict(&model, &[Scenario::Idle(0.0)]).predicted_ps.ps(),
        11_000
    );
}

#[test]
fn hidden_transfer_gives_a_range_of_predictions() {
    let model = text_trace(
        "
        ops: sMMMMMMMMdV
        M = fusion.1 [convolution fusion]
        V = add.1 [loop fusion]
        s = all-gather-start.1 [all-gather-start] done=all-gather-done.1
        d = all-gather-done.1 [all-gather-done]
        ",
    );
    let prediction = predict(&model, &[ops(&model, "fusion.1", 0.0)]);
    // Its duration was between 0 and the 9 ns that passed before the core waited for it.
    assert_eq!(
        (
            prediction.predicted_ps.ps(),
            prediction.predicted_at_most_ps.ps()
        ),
        (3_000, 11_000 - 1_000)
    );
}

/// Done ops of real chips take a few cycles, also if their transfer has long arrived.
#[test]
fn a_short_done_op_after_a_long_transfer_is_no_wait() {
    let model = text_trace(&format!(
        "
        ops: s{}dddV
        M = fusion.1 [convolution fusion]
        V = add.1 [loop fusion]
        s = all-gather-start.1 [all-gather-start] done=all-gather-done.1
        d = all-gather-done.1 [all-gather-done]
        ",
        "M".repeat(400)
    ));
    assert_eq!(predict(&model, &[]).predicted_ps.ps(), 405_000);
    assert_eq!(
        predict(&model, &[Scenario::Collectives(0.0)])
            .predicted_ps
            .ps(),
        405_000
    );
    let prediction = predict(&model, &[ops(&model, "fusion.1", 0.5)]);
    assert_eq!(
        (
            prediction.predicted_ps.ps(),
            prediction.predicted_at_most_ps.ps()
        ),
        (205_000, 402_000)
    );
}

#[test]
fn last_participant_delays_all() {
    // The second core is slower: the first waits 4 for it.
    let model = text_trace(
        "
        TPU:0 ops: AARRRRRRB
        TPU:1 ops: CCCCCCRRB
        A = fusion.1 [loop fusion]
        B = fusion.2 [loop fusion]
        C = fusion.3 [loop fusion]
        R = all-reduce.1 [all-reduce]
        ",
    );
    assert_eq!(predict(&model, &[]).predicted_ps.ps(), 9_000);
    assert_eq!(
        predict(&model, &[ops(&model, "fusion.1", 0.0)])
            .predicted_ps
            .ps(),
        9_000
    );
    assert_eq!(
        predict(&model, &[ops(&model, "fusion.3", 0.5)])
            .predicted_ps
            .ps(),
        6_000
    );
    assert_eq!(
        predict(&model, &[ops(&model, "fusion.3", 0.0)])
            .predicted_ps
            .ps(),
        5_000
    );
    assert_eq!(
        predict(&model, &[Scenario::Collectives(0.0)])
            .predicted_ps
            .ps(),
        7_000
    );
}

#[test]
fn larger_of_two_changes_to_one_op_applies() {
    let model = half_hidden();
    let changes = [
        ops(&model, "add.1", 0.5),
        ops(&model, "add.1", 0.25),
        Scenario::Idle(0.5),
        Scenario::Idle(0.0),
    ];
    assert_eq!(
        predict(&model, &Scenario::merged(&changes))
            .predicted_ps
            .ps(),
        13_000 - 1_500 - 2_000
    );
}

#[test]
fn waiting_op_lasts_as_long_as_its_transfer() {
    let model = half_hidden();
    // In flight for 9 ns, awaited for the last four.
    assert_eq!(
        predict(&model, &[ops(&model, "all-gather-done.1", 0.0)])
            .predicted_ps
            .ps(),
        13_000 - 4_000
    );
    assert_eq!(
        predict(&model, &[ops(&model, "all-gather-done.1", 2.0 / 3.0)])
            .predicted_ps
            .ps(),
        13_000 - 3_000
    );
    assert_eq!(
        predict(&model, &[ops(&model, "all-gather-done.1", 0.9)])
            .predicted_ps
            .ps(),
        13_000 - 900
    );
}

#[test]
fn starts_of_collectives_that_take_long_are_said_to_stay() {
    let model = text_trace(
        "
        ops  : ssssmmmmdd
        async: aaaaaaaaaa
        s = all-gather-start.1 [all-gather-start]
        a = all-gather-start.1 [all-gather-start] done=all-gather-done.1
        d = all-gather-done.1 [all-gather-done]
        m = fusion.1 [convolution fusion]
        ",
    );
    let hidden = predict(&model, &[Scenario::Collectives(0.0)]);
    let said = "keep their time, 4.000 ns on";
    assert!(
        hidden.notes.iter().any(|note| note.contains(said)),
        "{:?}",
        hidden.notes
    );
    assert_eq!(predict(&model, &[Scenario::Idle(0.0)]).notes.len(), 0);
}

#[test]
fn skew_is_within_each_replica_group() {
    // Two pairs that run at different times: the k-th of all cores are not one collective.
    let model = text_trace(
        "
        TPU:0 ops: AARRR.........
        TPU:1 ops: CCCCR.........
        TPU:2 ops: AAAAAAAAARRRRR
        TPU:3 ops: CCCCCCCCCCCCCR
        A = fusion.1 [loop fusion]
        C = fusion.3 [loop fusion]
        R = all-reduce.1 [all-reduce] :: %all-reduce.1 = f32[8]{0} all-reduce(f32[8]{0} %p), replica_groups={{0,1},{2,3}}, to_apply=%add
        ",
    );
    let half = predict(&model, &[ops(&model, "fusion.3", 0.5)]);
    assert!(
        half.notes.iter().all(|note| !note.contains("matched")),
        "{:?}",
        half.notes
    );
    // The third core arrives at 9, the fourth now at 6.5: the pair leaves at 10.
    assert_eq!(
        (half.window_ps.ps(), half.predicted_ps.ps()),
        (14_000, 10_000)
    );
}

#[test]
fn hidden_transfer_uses_the_rate_of_similar_transfers() {
    let text = |name: &str, elements: u64| {
        format!(
            "%{name} = (f32[{elements}]{{0:S(1)}}, f32[{elements}]{{0}}, u32[]{{:S(2)}}) copy-start(f32[{elements}]{{0}} %p)"
        )
    };
    let picture = |hidden: u64| {
        format!(
            "
            ops: sdddddddVuMMMMMMMMMe
            M = fusion.1 [convolution fusion]
            V = add.1 [loop fusion]
            s = copy-start.1 [copy-start] done=copy-done.1 :: {}
            d = copy-done.1 [copy-done]
            u = copy-start.2 [copy-start] done=copy-done.2 :: {}
            e = copy-done.2 [copy-done]
            ",
            text("copy-start.1", 800),
            text("copy-start.2", hidden)
        )
    };
    let without_compute = |hidden: u64| {
        let model = text_trace(&picture(hidden));
        predict(&model, &[ops(&model, "fusion.1", 0.0)])
            .predicted_ps
            .ps()
    };
    // The first took 8 ns for 800 elements; the second, of half of it, takes at least 4, its start included.
    assert_eq!(without_compute(400), 20_000 - 9_000 + 2_000);
    // A transfer without a size has no known minimum: it may have taken no time.
    assert_eq!(without_compute(0), 20_000 - 9_000);
}

#[test]
fn collective_with_a_nested_op_is_one_execution() {
    let model = text_trace(
        "
        TPU:0 ops: RRRRRRV
                 : ..f....
        TPU:1 ops: RRRRRRV
                 : ..f....
        R = all-reduce.1 [all-reduce]
        f = fusion.1 [loop fusion]
        V = add.1 [loop fusion]
        ",
    );
    let prediction = predict(&model, &[]);
    assert_eq!(
        (prediction.predicted_ps.ps(), prediction.notes.as_slice()),
        (7_000, [].as_slice())
    );
    // The piece before the inner op is replayed as recorded.
    assert_eq!(
        predict(&model, &[Scenario::Collectives(0.0)])
            .predicted_ps
            .ps(),
        7_000 - 3_000
    );
}

/// The critical path of the first step: its names, and the length of each piece in ns.
fn path(picture: &str) -> Vec<(String, i64)> {
    let model = text_trace(picture);
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let steps = cx.report::<Steps>().unwrap();
    let replay = Replay::new(&cx).unwrap();
    let step = replay.critical_paths(&cx, &steps.steps).next().unwrap();
    let length: Picos = step.pieces.iter().map(|piece| piece.range.dur()).sum();
    assert_eq!(length, step.span.dur());
    let named = step.pieces.iter().map(|piece| {
        let name = piece.slice.map_or_else(
            || piece.waits_for.title(),
            |slice| model.slice(slice).name().to_owned(),
        );
        let device = model.device_name(piece.core);
        (
            format!("{name} on {}", device.trim_start_matches("/device:")),
            piece.range.dur().ps() / 1_000,
        )
    });
    named.collect()
}

fn pieces(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
    let owned = |&(name, ns): &(&str, i64)| (name.to_owned(), ns);
    expected.iter().map(owned).collect()
}

#[test]
fn path_leads_over_the_core_that_came_last() {
    let found = path(
        "
        TPU:0 steps: 000000000
        TPU:0 ops  : AARRRRRRB
        TPU:1 steps: 000000000
        TPU:1 ops  : CCCCCCRRB
        0 = 0
        A = fusion.1 [loop fusion]
        B = fusion.2 [loop fusion]
        C = fusion.3 [loop fusion]
        R = all-reduce.1 [all-reduce]
        ",
    );
    assert_eq!(
        found,
        pieces(&[
            ("fusion.3 on TPU:1", 6),
            ("all-reduce.1 on TPU:0", 2),
            ("fusion.2 on TPU:0", 1)
        ])
    );
}

#[test]
fn path_leads_over_the_transfer_and_not_over_what_it_hid_behind() {
    let found = path(
        "
        steps: 0000000000000
        ops  : sMMMMddddV..V
        0 = 0
        M = fusion.1 [convolution fusion]
        V = add.1 [loop fusion]
        s = all-gather-start.1 [all-gather-start] done=all-gather-done.1
        d = all-gather-done.1 [all-gather-done]
        ",
    );
    assert_eq!(
        found,
        pieces(&[
            ("all-gather-done.1 on TPU:0", 9),
            ("add.1 on TPU:0", 1),
            ("idle in programs on TPU:0", 2),
            ("add.1 on TPU:0", 1)
        ])
    );
}

/// A step that ends while the host compiles, alone and with the next one.
#[test]
fn compilation_after_the_last_op_of_a_step_is_saved() {
    let model = text_trace(
        "
        steps    : 0000011111
        modules  : MM...NN...
        ops      : AA...BB...
        host main: ..ccc.....
        0 = 0
        1 = 1
        M = f
        N = g
        A = fusion.1 [loop fusion]
        B = fusion.2 [loop fusion]
        c = backend_compile
        ",
    );
    for last in [0, 1] {
        let scope = Scope::Steps { first: 0, last };
        let found = predict_in(&model, scope, &[Scenario::NoCompile]);
        let saved = found.window_ps - found.predicted_ps;
        assert_eq!(saved.ps(), 3_000, "steps 0 to {last}");
    }
}
