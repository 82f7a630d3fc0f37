use std::collections::BTreeSet;
use std::fmt::Write as _;

use analysis::Percent;
use trace_model::{
    GroupKind, Picos, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel, TrackKind,
};

use super::*;
use crate::state::TreeItem;
use crate::state::ViewCommand;
use crate::time_format::TimeFormat;

fn at(ps: i64) -> Timestamp {
    Timestamp::from_ps(ps)
}

fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new(at(start), at(end))
}

/// Steps of A take 10 each, from 0 on; those of B take the given times, from 1000 on without gaps.
fn alignment(times: &[i64]) -> StepAlignment {
    let mut begin = 1000;
    let mut steps = Vec::new();
    for (i, &time) in (0_i64..).zip(times) {
        let titles = [i.to_string(), (i + 1).to_string()];
        let ranges = [range(i * 10, i * 10 + 10), range(begin, begin + time)];
        steps.push(AlignedStep {
            numbers: [i as u32; 2],
            titles,
            ranges,
            times_ps: [10, time],
        });
        begin += time;
    }
    StepAlignment::of(steps)
}

#[test]
fn times_correspond_relative_to_step_starts() {
    let aligned = alignment(&[12, 8, 10]);
    let mut picture = String::new();
    for (side, times) in [
        (TraceSide::A, [-5, 0, 9, 10, 19, 20, 29, 35]),
        (
            TraceSide::B,
            [995, 1000, 1011, 1012, 1019, 1020, 1029, 1035],
        ),
    ] {
        let mapped: Vec<String> = times
            .iter()
            .map(|&ps| format!("{ps}:{}", aligned.map(side, at(ps)).unwrap().ps()))
            .collect();
        writeln!(picture, "{} {}", side.name(), mapped.join(" ")).unwrap();
    }
    // 19 is 9 after the start of its step, but the step of B ends after 8.
    assert_eq!(
        picture,
        "A -5:995 0:1000 9:1009 10:1012 19:1020 20:1020 29:1029 35:1035\n\
         B 995:-5 1000:0 1011:10 1012:10 1019:17 1020:20 1029:29 1035:35\n"
    );
    assert_eq!(StepAlignment::default().map(TraceSide::A, at(3)), None);
}

#[test]
fn views_align_at_the_first_step_in_their_left_half() {
    let aligned = alignment(&[12, 8, 10]);
    let shift = |start: i64, end: i64| {
        aligned
            .shift(TraceSide::A, &Viewport::of(range(start, end)))
            .unwrap()
            .ps()
    };
    assert_eq!(shift(-2, 40), 1000, "all steps: the first");
    assert_eq!(shift(8, 22), 1002, "the second begins at the left");
    assert_eq!(shift(12, 18), 1002, "inside of the second");
    assert_eq!(shift(12, 21), 1002, "the third begins at the very right");
    assert_eq!(shift(100, 110), 1000, "after all steps: the last");
    let back = aligned
        .shift(TraceSide::B, &Viewport::of(range(1010, 1024)))
        .unwrap()
        .ps();
    assert_eq!(back, -1002, "the way back is the same");
}

#[test]
fn changes_print_like_times() {
    assert_eq!(
        change_text(TimeFormat::Digits, 12_345_678.4, Some(Percent(3.0))),
        "+12.35 µs (+3.0 %)"
    );
    assert_eq!(
        change_text(TimeFormat::Exact, -12_345_678.4, None),
        "-12 µs 345 ns 678 ps"
    );
    assert_eq!(
        change_text(TimeFormat::Nanoseconds, 12_345_678.0, None),
        "+12345.678 ns"
    );
}

#[test]
fn step_changes_are_drawn_as_connecting_shapes() {
    let aligned = alignment(&[12, 8, 10]);
    let views = [Viewport::of(range(0, 40)), Viewport::of(range(1000, 1040))];
    let picture = |width: f32| {
        let mut text = String::new();
        for delta in deltas(&aligned, [&views[0], &views[1]], width) {
            let change = change_text(TimeFormat::Digits, delta.change_ps as f64, delta.percent);
            let (top, bottom, tone) = (delta.top, delta.bottom, tone_of(delta.change_ps, None));
            writeln!(
                text,
                "{:?} {top:?} {bottom:?} {change} {tone:?}",
                delta.steps
            )
            .unwrap();
        }
        text
    };
    assert_eq!(
        picture(40.0),
        "(0, 1) (0.0, 10.0) (0.0, 12.0) +2 ps (+20.0 %) Slower\n\
         (1, 1) (10.0, 20.0) (12.0, 20.0) -2 ps (-20.0 %) Faster\n\
         (2, 1) (20.0, 30.0) (20.0, 30.0) 0 s (+0.0 %) Noise\n"
    );
    // Too narrow to distinguish: shapes of two steps each, and the rest.
    assert_eq!(
        picture(14.0),
        "(0, 2) (0.0, 7.0) (0.0, 7.0) 0 s (+0.0 %) Noise\n\
         (2, 1) (7.0, 10.5) (7.0, 10.5) 0 s (+0.0 %) Noise\n"
    );
    assert!(deltas(&StepAlignment::default(), [&views[0], &views[1]], 40.0).is_empty());
}

#[test]
fn only_visible_steps_are_drawn_and_narrow_ones_merge() {
    let aligned = alignment(&vec![10; 10_000]);
    let views = [
        Viewport::of(range(0, 100_000)),
        Viewport::of(range(1000, 101_000)),
    ];
    assert!(deltas(&aligned, [&views[0], &views[1]], 500.0).len() <= 110);
    let views = [
        Viewport::of(range(50_000, 50_040)),
        Viewport::of(range(51_000, 51_040)),
    ];
    let seen: Vec<_> = deltas(&aligned, [&views[0], &views[1]], 500.0)
        .iter()
        .map(|delta| delta.steps)
        .collect();
    assert_eq!(seen, [(5000, 1), (5001, 1), (5002, 1), (5003, 1)]);
}

#[test]
fn lock_mode_decides_how_views_follow() {
    let aligned = alignment(&[12, 8, 10]);
    let mut link = ViewLink {
        offset: Picos::from_ps(500),
        ..ViewLink::default()
    };
    let view = Viewport::of(range(8, 22));
    let shifts = |link: &ViewLink| {
        TraceSide::BOTH.map(|side| link.shift(side, &view, &aligned).map(Picos::ps))
    };
    assert_eq!(
        link.shift(TraceSide::A, &view, &aligned).map(Picos::ps),
        Some(1002)
    );
    link.set(ViewLock::Offset);
    assert_eq!(shifts(&link), [Some(500), Some(-500)]);
    let mark = |link: &ViewLink| link.counterpart(TraceSide::A, &view, range(9, 15), &aligned);
    assert_eq!(mark(&link), Some(range(509, 515)));
    link.toggle();
    assert_eq!((link.lock, shifts(&link)), (ViewLock::Free, [None, None]));
    assert_eq!(mark(&link), Some(range(1009, 1017)), "steps still tell");
    link.toggle();
    assert_eq!(link.lock, ViewLock::Offset);
    link.set(ViewLock::Free);
    assert_eq!(
        link.counterpart(TraceSide::A, &view, range(9, 15), &StepAlignment::default()),
        None
    );
}

/// Hosts, each with devices, each with tracks.
fn trace(host: &str, devices: &[u32], tracks: &[(&str, TrackKind)]) -> TraceModel {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, host);
    for &ordinal in devices {
        let name = format!("/device:TPU:{ordinal}");
        let device = builder.group(Some(host), GroupKind::TensorCore { ordinal }, &name);
        for (i, &(track, kind)) in (0_i64..).zip(tracks) {
            let track = builder.track(device, kind, i, track);
            let label = builder.label("x", None);
            builder.add_slice(track, SliceSpec::new(range(0, 10), label));
        }
    }
    builder.finish()
}

#[test]
fn tracks_match_by_name_and_hosts_by_kind() {
    let ops = ("XLA Ops", TrackKind::Ops);
    let a = trace("vm-1", &[0, 1], &[("Steps", TrackKind::Steps), ops]);
    let b = trace("vm-7", &[1, 2], &[ops]);
    let places = MatchingTracks::new(&a, &b);
    let title = |model: &TraceModel, track: TrackId| {
        let own = model.track(track);
        format!(
            "{} {}",
            model.str(model.group(own.group).name),
            model.str(own.name)
        )
    };
    let pairs: Vec<String> = a
        .track_ids()
        .filter_map(|track| {
            Some(format!(
                "{} ↔ {}",
                title(&a, track),
                title(&b, places.track(TraceSide::A, track)?)
            ))
        })
        .collect();
    assert_eq!(pairs, ["/device:TPU:1 XLA Ops ↔ /device:TPU:1 XLA Ops"]);

    let of_a = a
        .track_ids()
        .find(|&track| places.track(TraceSide::A, track).is_some())
        .unwrap();
    let of_b = b.track_ids().next().unwrap();
    let mirrored = places.mirrored(TraceSide::A, &ViewCommand::Pin(of_a, true));
    assert_eq!(mirrored, Some(ViewCommand::Pin(of_b, true)));
    let hidden = places.mirrored(
        TraceSide::B,
        &ViewCommand::Hide(TreeItem::Track(of_b), true),
    );
    assert_eq!(hidden, Some(ViewCommand::Hide(TreeItem::Track(of_a), true)));
    let lone = a.track_ids().next().unwrap();
    assert_eq!(
        places.mirrored(TraceSide::A, &ViewCommand::FoldTrack(lone, true)),
        None,
        "B has no such track"
    );
    assert_eq!(
        places.mirrored(TraceSide::A, &ViewCommand::Pan(0.1)),
        None,
        "times are not its business"
    );
    assert_eq!(
        places.tracks(TraceSide::A, &BTreeSet::from([lone, of_a])),
        BTreeSet::from([of_b])
    );
}

#[test]
fn times_over_many_steps_are_the_sum_of_each() {
    let aligned = alignment(&[12, 8, 10, 7]);
    for (from, count, times) in [
        (0, 4, [40, 37]),
        (1, 2, [20, 18]),
        (3, 1, [10, 7]),
        (2, 0, [0, 0]),
        (2, 9, [20, 17]),
    ] {
        assert_eq!(aligned.times_ps(from, count), times, "{count} from {from}");
    }
    assert_eq!(StepAlignment::default().times_ps(0, 1), [0, 0]);
    // Steps too many to distinguish become one shape, and each step is read once.
    let many = alignment(&vec![11; 200_000]);
    let (a, b) = (
        Viewport::of(range(0, 2_000_000)),
        Viewport::of(range(1000, 2_201_000)),
    );
    let found = deltas(&many, [&a, &b], 4.0);
    assert_eq!(
        found.iter().map(|delta| delta.steps.1).sum::<usize>(),
        200_000
    );
    assert_eq!(
        found.iter().map(|delta| delta.change_ps).sum::<i64>(),
        200_000
    );
}

#[test]
fn comparison_reports_progress_and_can_be_cancelled() {
    let picture = "@column 1us\nsteps: 0000111122223333\nmodules: MMM.MMM.MMM.MMM.\nops: AAB.AAB.AAB.AAB.\nM = jit_step(7)";
    let trace = || {
        let session = session::Session::from_model(
            sample_traces::text_trace(picture),
            analysis::Options::default(),
        );
        OpenTrace::new("trace".into(), session)
    };
    let (a, b) = (trace(), trace());
    let progress = Progress::new();
    let compared = TraceCorrespondence::new(&a, &b, &progress).unwrap();
    assert_eq!(progress.fraction(), Some(1.0), "all of it is counted");
    assert_eq!(
        steps_of_both(&a, &b).unwrap(),
        compared.alignment,
        "steps alone tell the same"
    );
    // The change of a step is the sum of the changes of its parts.
    let slower = picture
        .replace("AAB", "AABB")
        .replace("MMM", "MMMM")
        .replace("0000111122223333", "00000111112222233333");
    let slower = OpenTrace::new(
        "slower".into(),
        session::Session::from_model(
            sample_traces::text_trace(&slower),
            analysis::Options::default(),
        ),
    );
    let changed = TraceCorrespondence::new(&a, &slower, &Progress::new()).unwrap();
    let [was, is] = changed.alignment.times_ps(0, 2);
    let parts = changed.parts.of(0, 2).expect("steps of both are divided");
    assert!(
        is > was && parts.iter().map(|(_, ps)| ps).sum::<i64>() == is - was,
        "{parts:?}"
    );
    assert_eq!(changed.parts.of(0, 99), None);
    assert_eq!(compared.parts.of(0, 4), Some(Vec::new()), "nothing changed");
    let stopped = Progress::new();
    stopped.cancel();
    assert_eq!(
        TraceCorrespondence::new(&a, &b, &stopped).err().as_deref(),
        Some(CANCELLED)
    );
}
