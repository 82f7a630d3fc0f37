//! Memory of synthetic runs, whose answers follow from how they were made.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use analysis::reports::memory::buffers::{HBM, MemoryPlan, Purpose, VMEM};
use analysis::reports::{Buffers, Memory};
use analysis::{Analysis, Context, Options, Percent, ReportCache, Scope, Tabular as _};
use importers::{InputSource, Progress};
use sample_traces::memory::{ExpectedMemory, session_with_memory};
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use std::sync::Arc;
use trace_model::{Picos, TraceModel};

fn run(steps: u32, skew: Picos) -> (TraceModel, ExpectedMemory) {
    let spec = TrainingSpec {
        data: 2,
        model: 1,
        layers: 2,
        steps,
        device_skew: skew,
        ..TrainingSpec::default()
    };
    let (session, expected) = session_with_memory(&SyntheticRun::new(spec));
    let bytes = sample_traces::write::xspace_bytes(&session);
    let source = InputSource::from_bytes("synthetic.xplane.pb", bytes).unwrap();
    (
        importers::import(&source, &Progress::new()).unwrap(),
        expected,
    )
}

fn report<A: Analysis>(model: &TraceModel, scope: Scope) -> Arc<A::Report> {
    let (options, reports) = (Options::default(), ReportCache::default());
    Context {
        model,
        scope,
        options: &options,
        reports: &reports,
    }
    .report::<A>()
    .unwrap()
}

#[test]
fn memory_peaks_and_their_parts_match_the_sample() {
    // Devices that are recorded 0.45 ms too early shift no allocation to another step.
    for skew in [Picos::ZERO, Picos::from_ps(450_000_000)] {
        let (model, expected) = run(4, skew);
        let report = report::<Memory>(&model, Scope::WholeTrace);
        assert_eq!(report.memories.len(), 2);
        for (memory, &at) in report.memories.iter().zip(&expected.peak_at_ps) {
            assert_eq!(
                (memory.peak_bytes, memory.capacity_bytes),
                (expected.peak_bytes, Some(expected.capacity_bytes))
            );
            assert_eq!(
                (memory.peak_at_ps.ps(), memory.peak_step),
                (at, Some(expected.peak_step)),
                "{}",
                memory.memory
            );
            assert_eq!(memory.peak_reserved_bytes, expected.reserved_bytes);
            assert_eq!(
                (memory.allocations, memory.releases),
                (expected.allocations, expected.releases)
            );
            assert_eq!(
                (memory.allocated_bytes, memory.rounding_bytes),
                (expected.allocated_bytes, expected.rounding_bytes)
            );
            assert_eq!(
                (memory.kept_bytes, memory.kept_count),
                (expected.kept_bytes, 5)
            );
            assert_eq!((memory.unknown_releases, memory.lost_releases), (0, 0));
            assert_eq!(memory.max_fragmentation_percent, Some(Percent(25.0)));
            let older = memory
                .at_peak
                .iter()
                .find(|part| part.what == "older buffers")
                .unwrap();
            assert_eq!(older.bytes, expected.older_bytes);
            assert_eq!(
                memory.at_peak.iter().map(|part| part.bytes).sum::<i64>(),
                expected.peak_bytes
            );
        }
    }
}

#[test]
fn each_step_allocates_the_same() {
    let (model, expected) = run(4, Picos::ZERO);
    let report = report::<Memory>(&model, Scope::WholeTrace);
    let memory = &report.memories[0];
    assert_eq!(memory.allocations_per_step, Some(3.0));
    assert_eq!(
        memory.allocated_bytes_per_step,
        Some(expected.allocated_bytes as f64 / 4.0)
    );
    let input = memory
        .sizes
        .iter()
        .find(|class| class.bytes == 1_000_448)
        .unwrap();
    assert_eq!(
        (input.count, input.released, input.shape.as_deref()),
        (4, 4, Some("bf16[500000,1]{1,0:T(8,128)(2,1)}"))
    );
    let leak = memory
        .kept
        .iter()
        .find(|buffer| buffer.bytes == 4 * 4096)
        .unwrap();
    assert_eq!((leak.count, leak.shape.as_deref()), (4, None));
}

fn plan(space: u64) -> (MemoryPlan, ExpectedMemory) {
    let (model, expected) = run(2, Picos::ZERO);
    let report = report::<Buffers>(&model, Scope::WholeTrace);
    // Programs without a plan are not in the list.
    assert_eq!(report.programs.len(), 1);
    assert_eq!(report.programs[0].program, "jit_planned(77)");
    assert_eq!(report.capacity.as_ref().unwrap().bytes, 16 << 30);
    (report.programs[0].plan(space).unwrap().clone(), expected)
}

#[test]
fn memory_plan_matches_the_sample() {
    let (plan, ExpectedMemory { plan: expected, .. }) = plan(HBM);
    assert_eq!(
        (plan.total_bytes, plan.argument_bytes),
        (expected.total, expected.arguments)
    );
    assert_eq!(
        (plan.donated_bytes, plan.output_bytes),
        (expected.donated, expected.outputs)
    );
    assert_eq!(
        (plan.temporary_bytes, plan.heap_bytes),
        (expected.temporaries, expected.temporaries)
    );
    assert_eq!(
        (plan.heap_peak_bytes, plan.fragmentation_bytes),
        (expected.live, expected.temporaries - expected.live)
    );
    assert_eq!(
        (plan.padding_bytes, plan.donatable_bytes),
        (expected.padding, expected.donatable)
    );
    assert_eq!(plan.peak_instruction.as_deref(), Some("b"));
    let live: Vec<u64> = plan
        .curve
        .iter()
        .map(|point| point.live_bytes >> 20)
        .collect();
    assert_eq!(live, [4, 10, 6, 9, 9, 3, 3]);
    assert_eq!(plan.odd_events, 0);
    // 4 + 6 + 3 + 3 MiB one after another in 10.25.
    assert!((plan.reuse.unwrap() - 16.0 / 10.25).abs() < 1e-12);
    assert_eq!(
        plan.at_peak.iter().map(|buffer| buffer.bytes).sum::<u64>(),
        expected.total
    );
    let tokens = plan
        .at_peak
        .iter()
        .find(|buffer| buffer.instruction == "tokens")
        .unwrap();
    assert_eq!(
        (tokens.purpose, tokens.shape.as_deref()),
        (Purpose::Argument, Some("bf16[16384,1]{1,0:T(8,128)(2,1)}"))
    );
    assert_eq!(
        (tokens.op_name.as_deref(), tokens.source.as_deref()),
        (Some("jit(planned)/tokens"), Some("plan.py:10"))
    );
    assert_eq!(plan.donations.len(), 1);
    assert_eq!(
        (
            plan.donations[0].argument.as_str(),
            plan.donations[0].output.as_str()
        ),
        ("state", "new_state")
    );
}

#[test]
fn each_memory_space_has_a_plan() {
    let (plan, ExpectedMemory { plan: expected, .. }) = plan(VMEM);
    assert_eq!(
        (
            plan.total_bytes,
            plan.heap_peak_bytes,
            plan.fragmentation_bytes
        ),
        (expected.vmem, expected.vmem, 0)
    );
}

#[test]
fn tables_are_as_wide_as_their_headings() {
    let (model, _) = run(2, Picos::ZERO);
    let tables = [
        report::<Memory>(&model, Scope::WholeTrace).tables(),
        report::<Buffers>(&model, Scope::Steps { first: 1, last: 1 }).tables(),
    ];
    for table in tables.iter().flatten() {
        assert!(!table.rows.is_empty(), "{}", table.id);
        assert!(
            table
                .rows
                .iter()
                .all(|row| row.len() == table.columns.len()),
            "{}",
            table.id
        );
    }
    let ids: Vec<_> = tables[1].iter().map(|table| table.id).collect();
    assert_eq!(
        ids,
        ["buffers", "buffers_at_peak", "donations", "buffer_padding"]
    );
}
