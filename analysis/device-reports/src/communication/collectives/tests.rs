//! Collectives of traces drawn as text.

use engine::{Options, ReportCache, Scope, Tabular as _};
use sample_traces::text_trace;

use super::*;
use crate::communication::overlap::tests::GATHERS_AT_ONCE;

fn report(picture: &str, options: &Options) -> Result<CollectivesReport> {
    let (model, reports) = (text_trace(picture), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options,
        reports: &reports,
    };
    cx.report::<Collectives>()
        .map(|report| report.as_ref().clone())
}

fn on(spec: &str, topology: Option<&str>) -> Options {
    let topology = topology.map(|text| text.parse().unwrap());
    Options {
        device_spec: Some(spec.to_owned()),
        topology,
        ..Options::default()
    }
}

/// 40 MB over a group of four in 500 µs.
const ALL_GATHER: &str = "
    @column 100us
    ops  : gggggC
    g = all-gather.1 [all-gather] :: %all-gather.1 = f32[10000000]{0} all-gather(f32[2500000]{0} %p), replica_groups={{0,1,2,3}}
    C = fusion.1 [loop fusion]
";

fn near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 1e-9
}

#[test]
fn all_gather_is_measured_against_its_usable_links() {
    let report = report(ALL_GATHER, &on("v6e", Some("2x2"))).unwrap();
    let [row] = &report.rows[..] else {
        panic!("{:?}", report.rows)
    };
    assert_eq!(
        (
            row.message.bytes,
            row.message.participants,
            row.message.sent_bytes
        ),
        (Some(40_000_000), Some(4), Some(3e7))
    );
    // 30 MB over two links of 100 GB/s are 150 µs, at 90 GB/s 167 µs.
    let expected = row.expected.unwrap();
    assert!(near(expected.least_seconds, 150e-6) && near(expected.usual_seconds, 150e-6 / 0.9));
    let share = row.share.unwrap();
    assert!(near(share.low_percent.0, 30.0) && near(share.high_percent.0, 30.0));
    assert!(near(row.algorithm_bandwidth.unwrap(), 80e9) && near(row.bus_bandwidth.unwrap(), 60e9));
    assert!(row.remarks.is_empty());
    assert_eq!(
        (report.kinds.len(), report.kinds[0].sent_bytes),
        (1, Some(3e7))
    );
}

/// In a line of four, everything crosses one link: 300 µs.
#[test]
fn unknown_grid_gives_a_range_of_link_share() {
    let row = report(ALL_GATHER, &on("v6e", None)).unwrap().rows[0].clone();
    let (share, expected) = (row.share.unwrap(), row.expected.unwrap());
    assert!(near(share.low_percent.0, 30.0) && near(share.high_percent.0, 60.0));
    assert!(near(expected.least_seconds, 150e-6) && near(expected.usual_seconds, 300e-6 / 0.9));
}

#[test]
fn grids_slower_than_measured_are_ruled_out() {
    // 200 µs: this rules out the line, which takes 300 µs.
    let faster = ALL_GATHER.replace("@column 100us", "@column 40us");
    let row = report(&faster, &on("v6e", None)).unwrap().rows[0].clone();
    assert!(
        near(row.share.unwrap().low_percent.0, 75.0)
            && near(row.share.unwrap().high_percent.0, 75.0)
    );
    // 50 µs: no layout of this generation is that fast, so there is no share.
    let fastest = ALL_GATHER.replace("@column 100us", "@column 10us");
    let row = report(&fastest, &on("v6e", None)).unwrap().rows[0].clone();
    assert_eq!(
        (row.share, row.remarks),
        (None, vec![Remark::FasterThanLinks])
    );
    assert!(near(row.expected.unwrap().least_seconds, 150e-6));
}

#[test]
fn unknown_chip_has_bytes_but_no_link_share() {
    let report = report(ALL_GATHER, &Options::default()).unwrap();
    assert_eq!(
        (report.rows[0].expected, report.rows[0].share),
        (None, None)
    );
    assert!(report.rows[0].bus_bandwidth.is_some());
    assert!(
        report.tables()[0]
            .notes
            .iter()
            .any(|note| note.contains("--device-spec"))
    );
}

#[test]
fn last_participant_is_named_and_transfer_excludes_waiting() {
    let picture = "
        @column 100us
        ops      : gggggC
        TPU:1 ops: CCgggC
        TPU:2 ops: CCCCgC
        TPU:3 ops: CggggC
        g = all-gather.1 [all-gather] :: %all-gather.1 = f32[5000000]{0} all-gather(f32[1250000]{0} %p), replica_groups={{0,1,2,3}}
        C = fusion.1 [loop fusion]
    ";
    let row = report(picture, &on("v6e", Some("2x2"))).unwrap().rows[0].clone();
    let skew = row.skew.unwrap();
    assert_eq!(
        (skew.wait_ps.ps(), skew.transfer_ps.ps(), skew.instances),
        (400_000_000, 100_000_000, 1)
    );
    assert_eq!(
        (skew.waits_most.as_deref(), skew.waited_for.as_deref()),
        (Some("/device:TPU:0"), Some("/device:TPU:2"))
    );
    // 15 MB over two links need 75 of the 100 µs.
    assert!(near(row.share.unwrap().high_percent.0, 75.0));
    assert_eq!(row.remarks, [Remark::Skewed]);
}

#[test]
fn collective_notes_are_reported() {
    let remarks = |op: &str, text: &str, spec: &str| {
        let picture = format!(
            "ops: gggggC\n g = {op} :: %x = f32[64]{{0}} {text}\n C = fusion.1 [loop fusion]"
        );
        report(&picture, &on(spec, None)).unwrap().rows[0]
            .remarks
            .clone()
    };
    let reduce = |groups: &str| format!("all-reduce(f32[64]{{0}} %p), replica_groups={groups}");
    let op = "all-reduce.1 [all-reduce]";
    assert_eq!(
        remarks(op, &reduce("{{0,1,2,3}}"), "v6e"),
        [Remark::LatencyBound]
    );
    assert_eq!(remarks(op, &reduce("{{0},{1}}"), "v6e"), [Remark::Alone]);
    assert_eq!(remarks(op, &reduce("{{0,1}}"), "v7x"), [Remark::OneChip]);
    assert_eq!(
        remarks(op, &reduce("{}"), "v6e"),
        [Remark::ParticipantsUnknown]
    );
    let fused = remarks(
        "fusion.9 [all-reduce fusion]",
        "fusion(f32[64]{0} %p), calls=%x",
        "v6e",
    );
    assert_eq!(fused, [Remark::Fused, Remark::ParticipantsUnknown]);
    let ragged = "ragged-all-to-all(f32[64]{0} %p), replica_groups={{0,1}}";
    assert_eq!(
        remarks("r [ragged-all-to-all]", ragged, "v6e"),
        [Remark::UpperBound]
    );
}

#[test]
fn patterns_are_summed_and_averaged_by_step() {
    let picture = "
        @column 1us
        steps  : 0000001111112
        modules: MMMMMM.MMMMM.
        ops    : ggrrCC.ggrrC.
        M = jit_step(1)
        g = all-gather.1 [all-gather] :: %all-gather.1 = f32[1000]{0} all-gather(f32[500]{0} %p), replica_groups={{0,1}}
        r = all-reduce.1 [all-reduce] :: %all-reduce.1 = f32[1000]{0} all-reduce(f32[1000]{0} %p), replica_groups={{0,1}}
        C = fusion.1 [loop fusion]
    ";
    let report = report(picture, &on("v5e", None)).unwrap();
    let kinds: Vec<(&str, u64, Option<f64>)> = report
        .kinds
        .iter()
        .map(|kind| (kind.kind.as_str(), kind.occurrences, kind.sent_bytes))
        .collect();
    assert_eq!(
        kinds,
        [
            ("all-gather", 2, Some(4e3)),
            ("all-reduce", 2, Some(8e3)),
            ("all", 4, Some(12e3))
        ]
    );
    let steps = report.steps.unwrap() as f64;
    assert_eq!(report.kinds[2].sent_bytes_per_step, Some(12e3 / steps));
    assert_eq!(report.kinds[2].exposed_per_step_ps, Some(8e6 / steps));
}

#[test]
fn gathers_in_flight_at_the_same_time_count_once() {
    let report = report(GATHERS_AT_ONCE, &on("v5e", None)).unwrap();
    let kinds = report.kinds.iter();
    let exposed = kinds.map(|kind| (kind.kind.as_str(), kind.exposed_ps.ps() / 1_000_000));
    assert_eq!(
        exposed.collect::<Vec<_>>(),
        [("all-gather", 4), ("all-reduce", 1), ("all", 5)]
    );
    // Their groups are not recorded: one row.
    let [axis] = &report.axes[..] else {
        panic!("{:?}", report.axes)
    };
    assert_eq!(axis.exposed_ps.ps(), 5_000_000);
}

#[test]
fn groups_without_an_axis_are_told_from_those_that_are_not_recorded() {
    let picture = "
        @column 100us
        ops  : ppoouuC
        p = collective-permute.1 [collective-permute] :: %collective-permute.1 = f32[1000]{0} collective-permute(f32[1000]{0} %p), source_target_pairs={{0,3},{3,5},{5,0}}
        o = all-reduce.1 [all-reduce] :: %all-reduce.1 = f32[1000]{0} all-reduce(f32[1000]{0} %p), replica_groups={{0},{1}}
        u = all-reduce.2 [all-reduce] :: %all-reduce.2 = f32[1000]{0} all-reduce(f32[1000]{0} %p)
        C = fusion.1 [loop fusion]
    ";
    let report = report(picture, &on("v6e", Some("2x4"))).unwrap();
    let mut titles: Vec<&str> = report.axes.iter().map(|axis| &*axis.axis).collect();
    titles.sort_unstable();
    assert_eq!(
        titles,
        [
            "none: each group is one device",
            "unknown: groups are not recorded",
            "unknown: no single axis is found in the groups",
        ]
    );
}

/// A mesh of four by two on a grid of 2 × 4: gathers of 40 MB along the pairs, reductions of 40 MB along the fours.
#[test]
fn collectives_are_summed_by_axis_of_the_mesh() {
    let picture = "
        @column 100us
        ops  : ggrrrrppoC
        g = all-gather.1 [all-gather] :: %all-gather.1 = f32[10000000]{0} all-gather(f32[5000000]{0} %p), replica_groups={{0,1},{2,3},{4,5},{6,7}}
        r = all-reduce.1 [all-reduce] :: %all-reduce.1 = f32[10000000]{0} all-reduce(f32[10000000]{0} %p), replica_groups={{0,2,4,6},{1,3,5,7}}
        p = collective-permute.1 [collective-permute] :: %collective-permute.1 = f32[1000]{0} collective-permute(f32[1000]{0} %p), source_target_pairs={{0,1},{1,0},{2,3},{3,2},{4,5},{5,4},{6,7},{7,6}}
        o = all-gather.2 [all-gather] :: %all-gather.2 = f32[100]{0} all-gather(f32[25]{0} %p), replica_groups={{0,1,4,5},{2,3,6,7}}
        C = fusion.1 [loop fusion]
    ";
    let report = report(picture, &on("v6e", Some("2x4"))).unwrap();
    let titles: Vec<(&str, usize, Option<u64>)> = report
        .axes
        .iter()
        .map(|axis| (&*axis.axis, axis.ops, axis.devices))
        .collect();
    assert_eq!(
        titles,
        [
            ("2 devices, 1 apart, of 8", 2, Some(2)),
            ("4 devices, 2 apart, of 8", 1, Some(4)),
            ("unknown: no single axis is found in the groups", 1, None),
        ]
    );
    // 60 MB in 400 µs, of which a line of four needs 600 at 100 GB/s: no grid of this chip is that fast.
    let fours = &report.axes[1];
    assert!(near(fours.bus_bandwidth.unwrap(), 150e9), "{fours:?}");
    assert_eq!((fours.share, fours.most_bound_bandwidth), (None, None));
    assert_eq!(fours.grid.as_deref(), Some("4 line"));
    let pairs = &report.axes[0];
    assert_eq!(
        (pairs.sent_bytes, pairs.transfer_ps, pairs.grid.as_deref()),
        (
            Some(20_004_000.0),
            Some(Picos::from_ps(400_000_000)),
            Some("2 line")
        )
    );
    assert!(
        near(pairs.most_bound_bandwidth.unwrap(), 100e9),
        "{pairs:?}"
    );
    let unknown = &report.axes[2];
    assert_eq!((unknown.apart, unknown.grid.as_deref()), (None, None));
}

/// What an op says of its own groups; `axis_0` is no name that a person gave.
#[test]
fn an_axis_has_the_name_that_the_program_gives_it() {
    let picture = "
        @column 100us
        ops  : dmmnnnccccC
        d = all-reduce.1 [all-reduce] :: %all-reduce.1 = f32[1000]{0} all-reduce(f32[1000]{0} %p), replica_groups=mesh['data'=2,'one'=1,'model'=4] {'data','one'}
        m = all-reduce.2 [all-reduce] :: %all-reduce.2 = f32[1000]{0} all-reduce(f32[1000]{0} %p), replica_groups=mesh['data'=2,'model'=4] {'model'}
        n = all-reduce.3 [all-reduce] :: %all-reduce.3 = f32[1000]{0} all-reduce(f32[1000]{0} %p), replica_groups=[2,4]<=[8]
        c = all-reduce.4 [all-reduce] :: %all-reduce.4 = f32[1000]{0} all-reduce(f32[1000]{0} %p), replica_groups=mesh['axis_0'=4,'axis_1'=2] {'axis_1'}
        C = fusion.1 [loop fusion]
    ";
    let report = report(picture, &on("v6e", Some("2x4"))).unwrap();
    let axes: Vec<(&str, Option<&str>)> = report
        .axes
        .iter()
        .map(|axis| (&*axis.axis, axis.name.as_deref()))
        .collect();
    assert_eq!(
        axes,
        [
            ("2 devices, 1 apart, of 8", None),
            ("4 devices, 1 apart, of 8", None),
            ("model: 4 devices, 1 apart, of 8", Some("model")),
            ("data: 2 devices, 4 apart, of 8", Some("data")),
        ]
    );
}

#[test]
fn program_without_communication_is_not_applicable() {
    let Err(AnalysisError::NotApplicable(why)) =
        report("ops: CC\n C = fusion.1 [loop fusion]", &Options::default())
    else {
        panic!("a report");
    };
    assert!(why.contains("no op communicates"));
}

/// Forty thousand gathers on four cores, all in flight at once, over as many fusions: the work stays near-linear, and
/// the overlapping ops are then unknown.
#[test]
fn thousands_of_concurrent_collectives_stay_cheap() {
    use trace_model::{GroupKind, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};
    const SPANS: i64 = 10_000;
    let range = |start, end| TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
    let mut builder = TraceBuilder::new();
    let mut label = |name: &str, category: &str| {
        let (name, category) = (builder.intern(name), builder.intern(category));
        let op = builder.op(trace_model::Op {
            name,
            category: Some(category),
            ..trace_model::Op::default()
        });
        builder.label("x", Some(op))
    };
    let (fusion, gather) = (
        label("fusion.1", "loop fusion"),
        label("all-gather-start.1", "all-gather-start"),
    );
    for ordinal in 0..4 {
        let core = builder.group(
            None,
            GroupKind::TensorCore { ordinal },
            &format!("/device:TPU:{ordinal}"),
        );
        let ops = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
        let flight = builder.track(core, TrackKind::AsyncOps, 1, "Async XLA Ops");
        for i in 0..SPANS {
            builder.add_slice(ops, SliceSpec::new(range(3 * i, 3 * i + 2), fusion));
            builder.add_slice(flight, SliceSpec::new(range(i, 3 * SPANS - i), gather));
        }
    }
    let (model, options, reports) = (builder.finish(), Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    let row = cx.report::<Collectives>().unwrap().rows[0].clone();
    assert_eq!((row.occurrences, row.hidden_by), (4 * SPANS as u64, None));
    assert!(row.hidden_ps.ps() > row.time_ps.ps() * 6 / 10);
}
