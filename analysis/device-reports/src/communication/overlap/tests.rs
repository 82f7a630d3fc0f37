//! Overlap in traces drawn as text and in random traces.

use engine::{Options, ReportCache, Scope, Tabular as _};
use facts::OpGroup;
use math::intervals::IntervalSet;
use proptest::prelude::*;
use sample_traces::text_trace;
use trace_model::{
    GroupKind, Picos, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel, TrackKind,
};

use super::*;
use crate::steps::devices::Devices;

fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
}

fn report(model: &TraceModel, scope: Scope) -> OverlapReport {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope,
        options: &options,
        reports: &reports,
    };
    cx.report::<Overlap>().unwrap().as_ref().clone()
}

/// The reference example of the definition: C = [0,40] ∪ [60,100], F = [30,70].
#[test]
fn core_time_splits_into_defined_sets() {
    let compute: IntervalSet = [range(0, 40), range(60, 100)].into_iter().collect();
    let parts = partition(
        &compute,
        &IntervalSet::new(),
        &IntervalSet::of(range(30, 70)),
    );
    let expected = Partition {
        total: Picos::from_ps(40),
        overlapped: Picos::from_ps(20),
        exposed: Picos::from_ps(20),
    };
    assert_eq!(parts, expected);
}

/// A half hidden transfer as ops: the compute, a wait of 10 ns in the done op, 10 ns idle.
const HALF_HIDDEN: &str = "
    @column 10ns
    ops  : CCCS..DDDDCC
    async: ...FFFFFFF..
    C = fusion.1 [loop fusion]
    S = all-gather-start.1 [all-gather-start]
    F = all-gather-start.1 [all-gather-start] done=all-gather-done.1
    D = all-gather-done.1 [all-gather-done]
";

#[test]
fn exposed_time_splits_into_blocking_and_idle() {
    let report = report(&text_trace(HALF_HIDDEN), Scope::WholeTrace);
    let core = &report.cores[0];
    assert_eq!(
        (
            core.comm_total_ps.ps(),
            core.overlapped_ps.map(Picos::ps),
            core.exposed_ps.ps()
        ),
        (70_000, Some(0), 70_000)
    );
    assert_eq!(
        (
            core.exposed_blocking_ps.ps(),
            core.in_flight_while_idle_ps.ps()
        ),
        (50_000, 20_000)
    );
    assert_eq!(core.collectives, 1);
}

/// On large slices the compiler turns both halves into custom fusions.
#[test]
fn async_all_gather_fusion_is_hidden_communication() {
    let model = text_trace(
        "
        @device-clock 300ns
        ops  : ssCCCCCCCCddCC
        async: ffffffffffff
        C = fusion.1 [convolution fusion]
        s = async-collective-start.1 [custom fusion] :: %async-collective-start.1 = (f32[25]{0}, f32[100]{0}, s32[2]{0:S(4)}, u32[]{:S(2)}, u32[]{:S(2)}, /*index=5*/u32[]{:S(2)}) fusion(f32[25]{0} %p), kind=kCustom, calls=%fused_computation.402
        f = async-collective-start.1 [custom fusion] done=async-collective-done.1 :: %async-collective-start.1 = (f32[25]{0}, f32[100]{0}, s32[2]{0:S(4)}, u32[]{:S(2)}, u32[]{:S(2)}, /*index=5*/u32[]{:S(2)}) fusion(f32[25]{0} %p), kind=kCustom, calls=%fused_computation.402
        d = async-collective-done.1 [custom fusion]
        ",
    );
    let report = report(&model, Scope::WholeTrace);
    let core = &report.cores[0];
    assert_eq!(
        (
            core.comm_total_ps.ps(),
            core.overlapped_ps.map(Picos::ps),
            core.exposed_ps.ps()
        ),
        (12_000, Some(8_000), 4_000)
    );
    assert_eq!(
        (core.collectives, core.fused_ps.ps(), core.compute_ps.ps()),
        (1, 0, 10_000)
    );
    let [gather] = &report.transfers[..] else {
        panic!("{:?}", report.transfers)
    };
    assert_eq!(
        (
            gather.kind.as_str(),
            gather.is_async,
            gather.blocking_ps.ps()
        ),
        ("all-gather", true, 4_000)
    );
    let message = gather.message.as_ref().unwrap();
    assert_eq!((message.bytes, message.participants), (Some(400), Some(4)));
}

#[test]
fn async_all_gather_is_hidden_and_sync_reduce_is_exposed() {
    let model = text_trace(
        "
        @device-clock 300ns
        ops  : sCCCCCCCCddrrrrCC
        async: fffffffffff
        C = fusion.1 [convolution fusion]
        s = all-gather-start.1 [all-gather-start]
        f = all-gather-start.1 [all-gather-start] done=all-gather-done.1
        d = all-gather-done.1 [all-gather-done]
        r = all-reduce.2 [all-reduce] :: %all-reduce.2 = f32[1000]{0} all-reduce(f32[1000]{0} %p), replica_groups={{0,1,2,3}}
        ",
    );
    let report = report(&model, Scope::WholeTrace);
    let core = &report.cores[0];
    assert_eq!(
        (
            core.comm_total_ps.ps(),
            core.overlapped_ps.map(Picos::ps),
            core.exposed_ps.ps()
        ),
        (15_000, Some(8_000), 7_000)
    );
    assert_eq!(
        (
            core.exposed_blocking_ps.ps(),
            core.in_flight_while_idle_ps.ps()
        ),
        (7_000, 0)
    );
    assert_eq!(core.collectives, 2);
    let [reduce, gather] = &report.transfers[..] else {
        panic!("{:?}", report.transfers)
    };
    assert_eq!(
        (
            reduce.kind.as_str(),
            reduce.exposed_ps.ps(),
            reduce.hidden_ps.ps()
        ),
        ("all-reduce", 4_000, 0)
    );
    let message = reduce.message.as_ref().unwrap();
    assert_eq!(
        (
            message.bytes,
            message.participants,
            message.participants_estimated
        ),
        (Some(4_000), Some(4), false)
    );
    assert_eq!(
        (
            gather.op.as_str(),
            gather.time_ps.ps(),
            gather.hidden_ps.ps()
        ),
        ("all-gather-start.1", 11_000, 8_000)
    );
    assert_eq!((gather.blocking_ps.ps(), gather.occurrences), (3_000, 1));
    assert_eq!(
        (
            gather.idle_ps.ps(),
            gather.adjacent,
            gather.message.as_ref().unwrap().bytes
        ),
        (0, 0, None)
    );
    assert_eq!(
        gather.hidden_by,
        Some(vec![HiddenBy {
            op: "fusion.1".to_owned(),
            time_ps: Picos::from_ps(8_000)
        }])
    );
}

#[test]
fn copies_are_measured_but_are_not_communication() {
    let model = text_trace(
        "
        ops  : sCCCCdddd
        async: fffffffff
        C = fusion.1 [convolution fusion]
        s = copy-start.1 [copy-start]
        f = copy-start.1 [copy-start] done=copy-done.1
        d = copy-done.1 [copy-done]
        ",
    );
    let report = report(&model, Scope::WholeTrace);
    let core = &report.cores[0];
    assert_eq!(
        (
            core.comm_total_ps.ps(),
            core.exposed_ps.ps(),
            core.overlap_ratio_percent
        ),
        (0, 0, None)
    );
    assert_eq!(
        (
            core.copy_in_flight_ps.ps(),
            core.copy_hidden_ps.ps(),
            core.copy_wait_ps.ps()
        ),
        (9_000, 4_000, 4_000)
    );
    assert_eq!(report.summary.exposed_max_ps, None);
    assert_eq!(
        (
            report.transfers[0].kind.as_str(),
            report.transfers[0].blocking_ps.ps()
        ),
        ("copy", 5_000)
    );
    assert_eq!(report.tables()[2].rows.len(), 1);
    assert_eq!(
        (
            report.kinds.len(),
            report.kinds[0].occurrences,
            report.transfers[0].hidden_by.as_ref()
        ),
        (1, 1, None)
    );
}

/// Two gathers that are in flight at the same time and a reduction.
pub(crate) const GATHERS_AT_ONCE: &str = "
    @column 1us
    ops  : abCCCCxyr
    async: aaaaaaa
    async: .bbbbbbb
    C = fusion.1 [loop fusion]
    a = all-gather-start.1 [all-gather-start] done=all-gather-done.1
    x = all-gather-done.1 [all-gather-done]
    b = all-gather-start.2 [all-gather-start] done=all-gather-done.2
    y = all-gather-done.2 [all-gather-done]
    r = all-reduce.1 [all-reduce]
";

#[test]
fn what_overlaps_counts_once_in_the_row_of_its_kind() {
    let report = report(&text_trace(GATHERS_AT_ONCE), Scope::WholeTrace);
    let us = |time: Picos| time.ps() / 1_000_000;
    let of_ops: i64 = report.transfers.iter().map(|row| us(row.time_ps)).sum();
    let kinds = report.kinds.iter();
    let kinds = kinds.map(|kind| [kind.time_ps, kind.hidden_ps, kind.exposed_ps].map(us));
    assert_eq!(
        (of_ops, kinds.collect::<Vec<_>>()),
        (15, vec![[8, 4, 4], [1, 0, 1]])
    );
    let apart = |is_fused| us(report.times.collectives("all-gather", is_fused).time);
    assert_eq!([false, true].map(apart), [8, 0]);
}

#[test]
fn overlap_is_unknown_without_async_spans() {
    let picture = HALF_HIDDEN.replace("async:", "# ");
    let report = report(&text_trace(&picture), Scope::WholeTrace);
    let core = &report.cores[0];
    assert_eq!(
        (core.overlapped_ps, core.overlap_ratio_percent),
        (None, None)
    );
    assert_eq!(
        (
            core.comm_total_ps.ps(),
            core.exposed_blocking_ps.ps(),
            core.collectives
        ),
        (50_000, 50_000, 1)
    );
    assert_eq!(report.summary.overlap_ratio_percent, None);
}

/// Three gathers: one hidden by two fusions, one with nothing between start and done, and one in flight while the
/// core is idle for two microseconds.
#[test]
fn ops_that_hide_a_collective_are_named() {
    let model = text_trace(
        "
        @column 1us
        ops  : aCCCCDDxbycd..ed
        async: aaaaaaaa
        async: ........bb
        async: ..........cccc..
        C = fusion.1 [loop fusion]
        D = fusion.2 [loop fusion]
        a = all-gather-start.1 [all-gather-start] done=all-gather-done.1
        x = all-gather-done.1 [all-gather-done]
        b = all-gather-start.2 [all-gather-start] done=all-gather-done.2
        y = all-gather-done.2 [all-gather-done]
        c = all-gather-start.3 [all-gather-start] done=all-gather-done.3
        d = all-gather-done.3 [all-gather-done]
        e = fusion.3 [loop fusion]
        ",
    );
    let report = report(&model, Scope::WholeTrace);
    let row = |name: &str| report.transfers.iter().find(|row| row.op == name).unwrap();
    let by: Vec<(&str, i64)> = row("all-gather-start.1")
        .hidden_by
        .iter()
        .flatten()
        .map(|by| (by.op.as_str(), by.time_ps.ps() / 1_000_000))
        .collect();
    assert_eq!(by, [("fusion.1", 4), ("fusion.2", 2)]);
    assert_eq!(row("all-gather-start.1").adjacent, 0);
    assert_eq!(
        (
            row("all-gather-start.2").adjacent,
            row("all-gather-start.2").idle_ps.ps()
        ),
        (1, 0)
    );
    assert_eq!(
        (
            row("all-gather-start.3").adjacent,
            row("all-gather-start.3").idle_ps.ps()
        ),
        (0, 2_000_000)
    );
}

#[test]
fn fused_collectives_are_summed_separately() {
    let model =
        text_trace("ops: ffffCC\n f = fusion.7 [all-reduce fusion]\n C = fusion.1 [loop fusion]");
    let report = report(&model, Scope::WholeTrace);
    assert_eq!(
        (
            report.cores[0].exposed_ps.ps(),
            report.cores[0].fused_ps.ps()
        ),
        (4_000, 4_000)
    );
    assert!(report.transfers[0].is_fused);
}

#[test]
fn slowest_core_is_named_and_skew_is_waiting_time() {
    let model = text_trace(
        "
        ops       : CCrrrrrrCC
        TPU:1 ops : CCCCCrrrCC
        C = fusion.1 [loop fusion]
        r = all-reduce.2 [all-reduce]
        ",
    );
    let report = report(&model, Scope::WholeTrace);
    assert_eq!(
        report.summary.most_exposed.as_deref(),
        Some("/device:TPU:0")
    );
    assert_eq!(
        (
            report.summary.exposed_max_ps.map(Picos::ps),
            report.summary.exposed_spread_ps.map(Picos::ps)
        ),
        (Some(6_000), Some(3_000))
    );
    let skew = Skew {
        instances: 1,
        transfer_ps: Picos::from_ps(3_000),
        wait_ps: Picos::from_ps(3_000),
        waits_most: Some("/device:TPU:0".to_owned()),
        waited_for: Some("/device:TPU:1".to_owned()),
    };
    assert_eq!(
        (
            report.transfers[0].occurrences,
            report.transfers[0].skew.as_deref()
        ),
        (2, Some(&skew))
    );
}

/// Serial ops of random kinds and random spans in flight.
fn random_trace(ops: &[(u8, i64, i64)], spans: &[(i64, i64)]) -> TraceModel {
    const KINDS: [&str; 7] = [
        "loop fusion",
        "all-reduce",
        "all-gather-start",
        "all-gather-done",
        "copy-done",
        "infeed",
        "while",
    ];
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let track = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
    let flight = builder.track(core, TrackKind::AsyncOps, 1, "Async XLA Ops");
    let mut label = |kind: &str| {
        let (name, category) = (builder.intern(&format!("{kind}.1")), builder.intern(kind));
        let op = builder.op(trace_model::Op {
            name,
            category: Some(category),
            ..trace_model::Op::default()
        });
        builder.label(&format!("{kind}.1"), Some(op))
    };
    let labels = KINDS.map(&mut label);
    let mut at = 0;
    for &(kind, gap, len) in ops {
        at += gap;
        builder.add_slice(
            track,
            SliceSpec::new(range(at, at + len), labels[usize::from(kind) % KINDS.len()]),
        );
        at += len;
    }
    for &(start, len) in spans {
        builder.add_slice(flight, SliceSpec::new(range(start, start + len), labels[2]));
    }
    builder.finish()
}

proptest! {
    #[test]
    fn no_time_is_lost_or_counted_twice(
        ops in prop::collection::vec((0_u8..7, 0_i64..20, 1_i64..50), 1..40),
        spans in prop::collection::vec((0_i64..1500, 1_i64..200), 0..10),
    ) {
        let model = random_trace(&ops, &spans);
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context { model: &model, scope: Scope::WholeTrace, options: &options, reports: &reports };
        let devices = cx.report::<Devices>().unwrap();
        let overlap = cx.report::<Overlap>().unwrap();
        let (time, comm) = (&devices.cores[0], &overlap.cores[0]);
        // Groups and idle fill the window.
        prop_assert_eq!(time.groups.iter().map(|group| group.time_ps).sum::<Picos>(), time.window_ps);
        // Compute + waiting in collectives + copy wait + host I/O + control + idle = window.
        let other = [OpGroup::AsyncWait, OpGroup::HostIo, OpGroup::Control, OpGroup::Idle];
        let rest: Picos = other.iter().map(|&group| time.time(group)).sum();
        prop_assert_eq!(comm.compute_ps + comm.exposed_blocking_ps + rest, time.window_ps);
        prop_assert_eq!(comm.copy_wait_ps, time.time(OpGroup::AsyncWait));
        // Communication is hidden or exposed.
        if let Some(overlapped) = comm.overlapped_ps {
            prop_assert_eq!(comm.comm_total_ps, overlapped + comm.exposed_ps);
        }
        prop_assert_eq!(comm.exposed_ps, comm.exposed_blocking_ps + comm.in_flight_while_idle_ps);
        prop_assert!(comm.exposed_ps <= comm.window_ps && comm.exposed_blocking_ps <= comm.exposed_ps);
        for transfer in &overlap.transfers {
            prop_assert_eq!(transfer.time_ps, transfer.hidden_ps + transfer.exposed_ps);
            prop_assert!(transfer.hidden_ps >= Picos::ZERO && transfer.exposed_ps >= Picos::ZERO);
            prop_assert!(transfer.idle_ps >= Picos::ZERO && transfer.idle_ps <= transfer.exposed_ps);
            // Few kinds of compute: all that hide a transfer are listed, and every instant counts once.
            let by: Picos = transfer.hidden_by.iter().flatten().map(|by| by.time_ps).sum();
            prop_assert!(!transfer.is_collective || by == transfer.hidden_ps);
        }
    }
}
