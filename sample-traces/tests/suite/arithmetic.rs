//! The lengths of ops follow from the chip's peaks, and the sums from the lengths.

use sample_traces::synthetic::{SyntheticChip, SyntheticRole, SyntheticRun, TrainingSpec};

#[test]
fn matmul_time_equals_the_roofline() {
    let run = SyntheticRun::new(TrainingSpec::default());
    // 2 · 2048 · 2048 · 4096 operations at 90 % of 202.7 TFLOP/s.
    let matmul = 2.0 * 2048.0 * 2048.0 * 4096.0 / (202.7e12 * 0.9) * 1e12;
    let sums = run.programs[0].schedule.sums;
    // Six matmuls a layer: two forward, four backward; each rounded to 1 ps.
    assert!((sums.matmul as f64 - 18.0 * matmul).abs() <= 18.0 * 0.5);
    assert!((run.expected.mxu_util_on_mxu_ops() - 0.9).abs() < 1e-8);
    let flops = 6 * 3 * 2 * 2048_u64 * 2048 * 4096 * 4 * 8;
    assert_eq!(run.expected.matmul_flops(), flops);
}

#[test]
fn padding_costs_its_share_of_the_mxu() {
    assert!(
        (SyntheticChip::V5E.padding_efficiency(1000, 1000, 1000)
            - 1e9 / (1008.0 * 1024.0 * 1024.0))
            .abs()
            < 1e-12
    );
    let spec = TrainingSpec {
        chip: SyntheticChip::V6E,
        width: 1000,
        hidden: 2200,
        ..TrainingSpec::default()
    };
    let run = SyntheticRun::new(spec);
    let util = run.expected.mxu_util_on_mxu_ops();
    assert!(util < 0.9 * 1000.0 / 1024.0 && util > 0.5, "{util}");
}

#[test]
fn overlap_saves_exactly_the_hidden_communication() {
    let with = |overlap| {
        SyntheticRun::new(TrainingSpec {
            overlap,
            ..TrainingSpec::default()
        })
    };
    let (on, off) = (with(true), with(false));
    let (hidden, shown) = (&on.programs[0].schedule, &off.programs[0].schedule);
    assert_eq!(
        (hidden.sums.compute, hidden.sums.matmul),
        (shown.sums.compute, shown.sums.matmul)
    );
    assert_eq!(shown.sums.comm_hidden, 0);
    assert!(hidden.sums.comm_hidden > 0);
    // Starts add gaps between ops; beyond them the programs differ by what is hidden.
    let gaps =
        |run: &SyntheticRun| run.programs[0].schedule.dur_ps - run.programs[0].schedule.sums.busy;
    let saved = shown.dur_ps - hidden.dur_ps + (gaps(&on) - gaps(&off));
    assert_eq!(saved, shown.sums.comm_blocking - hidden.sums.comm_blocking);
    // All collectives of this run take longer than the compute beside them, so that what they hide is that compute, and
    // the gaps inside it.
    assert!(hidden.in_flight.iter().all(|span| {
        hidden.ops[span.done_op].role != SyntheticRole::CollectiveDone
            || hidden.ops[span.done_op].dur_ps > 1_250
    }));
    assert_eq!(hidden.sums.comm, shown.sums.comm);
}

#[test]
fn stall_lengthens_only_its_step() {
    let stall = trace_model::Picos::from_ps(25_000_000_000);
    let run = SyntheticRun::new(TrainingSpec {
        stall: Some((2, stall)),
        ..TrainingSpec::default()
    });
    let lengths: Vec<_> = run
        .expected
        .steps
        .iter()
        .map(|step| step.device.1 - step.device.0)
        .collect();
    assert_eq!(lengths[0], lengths[1]);
    assert_eq!(lengths[2], lengths[1] + stall.ps());
    assert_eq!(lengths[3], lengths[1]);
}

#[test]
fn recompiled_step_runs_another_program_and_jitter_is_repeatable() {
    let run = SyntheticRun::new(TrainingSpec {
        recompile_at: Some(1),
        ..TrainingSpec::default()
    });
    assert_eq!(run.programs.len(), 2);
    assert_ne!(run.programs[0].id, run.programs[1].id);
    assert_eq!(
        run.steps
            .iter()
            .map(|step| step.program)
            .collect::<Vec<_>>(),
        [0, 1, 0, 0]
    );
    let jittered = |seed| {
        SyntheticRun::new(TrainingSpec {
            jitter_seed: Some(seed),
            ..TrainingSpec::default()
        })
        .session_ps()
    };
    assert_eq!(jittered(3), jittered(3));
    assert_ne!(jittered(3), jittered(4));
}
