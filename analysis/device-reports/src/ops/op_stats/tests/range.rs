//! Ops and idle time in a range.

use super::*;
use crate::steps::step_times::Steps;

#[test]
fn range_counts_ops_that_begin_inside() {
    let mut rig = Rig::new();
    let ops = rig.core(0);
    let copy = rig.op("copy", "copy", |_| ());
    for start in [0, 100, 200] {
        rig.add(ops, copy, start, start + 50);
    }
    let report = report_of(
        &rig.builder.finish(),
        Scope::Range(range(100, 200)),
        &Options::default(),
    )
    .unwrap();
    assert_eq!(
        (
            report.rows.first().unwrap().occurrences,
            report.op_time_ps.ps(),
            report.total_time_ps.ps()
        ),
        (1, 50, 100)
    );
}

#[test]
fn op_beyond_the_range_is_at_most_100_percent() {
    let model =
        sample_traces::text_trace("@column 1ps\nops: AAAAAAAA\nA = fusion.1 [loop fusion]\n");
    let report = report_of(&model, Scope::Range(range(0, 2)), &Options::default()).unwrap();
    assert_eq!(
        (
            report.total_time_ps.ps(),
            report.op_time_ps.ps(),
            report.idle_ps.ps()
        ),
        (2, 2, 0)
    );
    assert_eq!(report.groups[0].self_of_total_percent, Some(Percent(100.0)));
}

/// An op that began before the range is not counted, and it is no idle time either.
#[test]
fn op_from_before_the_range_is_no_idle_time() {
    let times = |ops: &str, from, to| {
        let model = sample_traces::text_trace(&format!(
            "@column 1ps\n{ops}A = a [loop fusion]\nB = b [loop fusion]\n"
        ));
        let report = report_of(&model, Scope::Range(range(from, to)), &Options::default()).unwrap();
        (
            report.total_time_ps.ps(),
            report.op_time_ps.ps(),
            report.idle_ps.ps(),
        )
    };
    assert_eq!(times("ops: AAAABBBB\n", 2, 6), (4, 4, 0));
    assert_eq!(
        times("ops: AAAA.BBB\n", 2, 6),
        (4, 3, 1),
        "from the end of A to that of B"
    );
    assert_eq!(
        times("ops: WWWWWWWW\n   : AAA..BBB\nW = while.1 [while]\n", 2, 8),
        (6, 6, 0),
        "inside a loop"
    );
}

/// On the timeline there is a gap of 4 ps, in which the device still ran the op before.
#[test]
fn jump_of_the_clock_is_no_idle_time() {
    let mut rig = Rig::new();
    let ops = rig.core(0);
    let copy = rig.op("copy", "copy", |_| ());
    for (shown, timed) in [
        (range(0, 6), range(100, 110)),
        (range(10, 16), range(110, 116)),
    ] {
        rig.builder.add_slice(
            ops,
            SliceSpec {
                device: Some(timed),
                ..SliceSpec::new(shown, copy)
            },
        );
    }
    let report = report_of(
        &rig.builder.finish(),
        Scope::Range(range(8, 16)),
        &Options::default(),
    )
    .unwrap();
    assert_eq!(
        (
            report.total_time_ps.ps(),
            report.op_time_ps.ps(),
            report.idle_ps.ps()
        ),
        (6, 6, 0)
    );
}

/// What a cut file lacks of a device is not known, and no idle time.
#[test]
fn devices_of_a_cut_file_are_not_idle_after_its_end() {
    let mut builder = sample_traces::text_builder(
        "
        TPU:0 steps: 000011112222
        TPU:0 ops  : aaaaaaaaaaaa
        TPU:1 steps: 000011112222
        TPU:1 ops  : aaaaa.......
        TPU:2 steps: 000011112222
        a = fusion.1 [loop fusion]
        ",
    );
    let cores: Vec<_> = (builder.tracks())
        .filter(|(_, track)| track.kind == TrackKind::Steps)
        .map(|(_, track)| track.group)
        .collect();
    for &cut in &cores[1..] {
        builder.group_mut(cut).is_cut = true;
    }
    let model = builder.finish();
    let of = |devices: Vec<u32>| {
        let options = Options {
            devices,
            ..Options::default()
        };
        let (reports, scope) = (ReportCache::default(), Scope::WholeTrace);
        let cx = Context {
            model: &model,
            scope,
            options: &options,
            reports: &reports,
        };
        let ops = cx.report::<Ops>();
        let steps = cx.report::<Steps>().unwrap();
        let partial: Vec<bool> = steps.steps.iter().map(|step| step.is_partial).collect();
        let times = ops.map(|ops| (ops.cores.len(), ops.total_time_ps.ps(), ops.idle_ps.ps()));
        (times.ok(), partial)
    };
    let column = of(vec![0]).0.unwrap().1 / 12;
    // All, without those that are cut.
    assert_eq!(of(Vec::new()), (Some((1, 12 * column, 0)), vec![false; 3]));
    // One that is cut, up to there.
    assert_eq!(
        of(vec![1]),
        (Some((1, 5 * column, 0)), vec![false, true, true])
    );
    assert_eq!(of(vec![2]).0, None);
}
