//! Ops and idle time in a range.

use super::*;

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
