//! How counters are drawn: lines, gaps, and peaks that stay when many samples share a pixel.

use trace_model::Picos;

use super::*;

#[test]
fn counter_that_never_changes_is_a_line_unless_it_has_gaps() {
    let heights = |held_ps: i64| {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::Counter, 1, "DRAM");
        for at in [0, 5_000] {
            builder.add_counter_sample(
                track,
                Timestamp::from_ps(at),
                Some(Picos::from_ps(held_ps)),
                128.0,
            );
        }
        let op = builder.track(host, TrackKind::Ops, 2, "ops");
        let label = builder.label("x", None);
        builder.add_slice(op, SliceSpec::new(range(0, 10_000), label));
        let shown = picture(&builder.finish(), range(0, 10_000), |_| ());
        shown
            .lines()
            .filter(|line| line.contains(" = 128 "))
            .map(|line| line.trim().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        heights(5_000),
        ["0..50 = 128 (0.00)", "50..100 = 128 (0.00)"]
    );
    assert_eq!(
        heights(1_000),
        ["0..10 = 128 (1.00)", "50..60 = 128 (1.00)"],
        "nothing between is less than 128"
    );
}

#[test]
fn counters_keep_their_peaks() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::Counter, 1, "HBM");
    for (at, value) in [
        (0, 10.0),
        (5_000, 40.0),
        (5_010, 5.0),
        (5_020, 20.0),
        (9_000, 0.0),
    ] {
        builder.add_counter_sample(
            track,
            Timestamp::from_ps(at),
            Some(Picos::from_ps(10_000)),
            value,
        );
    }
    let op = builder.track(host, TrackKind::Ops, 2, "ops");
    let label = builder.label("x", None);
    builder.add_slice(op, SliceSpec::new(range(0, 10_000), label));
    let model = builder.finish();
    let shown = picture(&model, range(0, 10_000), |_| ());
    // The value 40 lasts for a tenth of a point and is still visible.
    assert!(
        shown.contains("50..50 = 40 (1.00)") && !shown.contains("= 5 "),
        "{shown}"
    );
}

#[test]
fn dense_counter_is_decimated_and_keeps_peaks() {
    const SAMPLES: i64 = 20_000;
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::Counter, 1, "HBM");
    for at in 0..SAMPLES {
        // A gap from 30 % to 50 %, and one peak at 70 %.
        if !(6_000..10_000).contains(&at) {
            let value = if at == 14_000 {
                1_000.0
            } else {
                (at % 7) as f64
            };
            builder.add_counter_sample(
                track,
                Timestamp::from_ps(at),
                Some(Picos::from_ps(1)),
                value,
            );
        }
    }
    let model = builder.finish();
    let shown = picture(&model, range(0, SAMPLES), |_| ());
    let steps: Vec<&str> = shown.lines().filter(|line| line.contains(" = ")).collect();
    assert!(steps.len() <= 51, "{shown}");
    assert_eq!(
        steps.iter().filter(|line| line.contains("= 1000 ")).count(),
        1,
        "{shown}"
    );
    assert!(
        steps.iter().any(|line| line.contains("70..72 = 1000")),
        "{shown}"
    );
    assert!(
        !steps
            .iter()
            .any(|line| (32..50).any(|x| line.contains(&format!("{x}..")))),
        "a gap is a gap:\n{shown}"
    );
    // Zoomed in: sample by sample.
    let near = picture(&model, range(14_000, 14_004), |_| ());
    assert!(
        near.contains("0..25 = 1000 (1.00)") && near.contains("25..50 = 1 "),
        "{near}"
    );
}
