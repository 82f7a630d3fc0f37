//! What kernels, `SparseCores` and the hardware record of themselves.

use engine::HintOptions;
use sample_traces::text_builder;
use trace_model::Timestamp;

use super::{cannot_tell, ids, report, report_of, run, saving};

/// An op of 100 µs that stalls for so many ps.
pub(super) fn stalled(stall: u64) -> String {
    format!(
        "@column 1us\nops: {}\nx = fusion.1 [loop fusion] stall={stall}",
        run('x', 100)
    )
}

#[test]
fn dma_stalls_above_the_threshold_are_a_hint() {
    let picture = stalled;
    assert_eq!(saving(&picture(10_000_000), "K28"), Some(10_000_000));
    assert_eq!(saving(&picture(9_900_000), "K28"), None);
    assert!(cannot_tell(
        &report("ops: MMMM\nM = fusion.1 [convolution fusion]"),
        "K28"
    ));
}

/// A kernel of a hundred columns that waits for so many of them.
pub(super) fn kernel(wait: usize, rest: usize) -> String {
    format!(
        "
        @column 1us
        ops: {}{}
        scopes: {}{}
        k = gmm.1 [custom-call] :: %gmm.1 = f32[8]{{0}} custom-call(f32[8]{{0}} %p), custom_call_target=\"tpu_custom_call\"
        M = fusion.1 [convolution fusion]
        w = ep_wait_in
        r = ep_run_kernel
        ",
        run('k', 100),
        run('M', rest),
        run('w', wait),
        run('r', 100 - wait),
    )
}

#[test]
fn waiting_kernels_are_named() {
    assert_eq!(saving(&kernel(30, 0), "K28"), Some(30_000_000));
    assert!(report(&kernel(29, 0)).quiet.contains(&"K28"));
    // Of a twentieth of the time nobody tunes a kernel.
    assert!(ids(&kernel(50, 1_890)).contains(&"K28"));
    assert!(!ids(&kernel(50, 1_910)).contains(&"K28"));
}

#[test]
fn spilled_registers_show_in_the_schedule() {
    let spills = |count: f64| {
        let mut builder = text_builder(
            "
            ops: KKKKKKKKKK
            counter Vector Spills: 0000000000
            K = k.1 [custom-call]
            ",
        );
        let tracks: Vec<_> = builder
            .tracks()
            .map(|(id, track)| (id, track.name))
            .collect();
        let track = tracks
            .into_iter()
            .find(|&(_, name)| builder.str(name) == "Vector Spills")
            .unwrap()
            .0;
        builder.add_counter_sample(track, Timestamp::from_ps(5_000), None, count);
        report_of(&builder.finish(), HintOptions::default())
    };
    let found = spills(3.0);
    assert!(
        found
            .hints
            .iter()
            .any(|hint| hint.id == "K30" && hint.statement.contains('k'))
    );
    assert_eq!(super::about_program(&found), ["K15", "K30", "K29"]);
    assert!(spills(0.0).quiet.contains(&"K30"));
    assert!(cannot_tell(
        &report("ops: KKKK\nK = k.1 [custom-call]"),
        "K30"
    ));
}
