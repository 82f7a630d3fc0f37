//! Queries of a model return the same as a full scan.

use std::cmp::Reverse;

use common::{add_all, any_spans, at, number, one_track, range};
use proptest::prelude::*;
use trace_model::{
    FlowEnd, GroupKind, IssueKind, LabelId, Lane, LodIndex, Picos, SliceRef, SliceSpans, SliceSpec,
    Source, TimeRange, TraceBuilder, TraceModel, TrackKind,
};

use crate::common;

fn model_of(spans: &[(i64, i64)]) -> TraceModel {
    let (mut builder, track) = one_track(TrackKind::Ops);
    add_all(&mut builder, track, spans);
    builder.finish()
}

/// Three classes, neither ascending nor without gaps.
fn class_of(label: LabelId) -> u8 {
    [200, 7, 31][label.index() % 3]
}

/// The time that each class covers in a range, from all slices of a lane.
fn scanned(model: &TraceModel, lane: &Lane, classes: &[u8], asked: TimeRange) -> Vec<i64> {
    let within = |slice: &SliceRef<'_>| {
        slice
            .range()
            .intersect(asked)
            .map_or(0, |part| part.dur().ps())
    };
    let of_class = |&class: &u8| {
        model
            .slices_of(lane)
            .filter(|slice| class_of(slice.label_id()) == class)
            .map(|slice| within(&slice))
            .sum()
    };
    classes.iter().map(of_class).collect()
}

/// Tracks with and without a device clock, each longer than the blocks that are unpacked at once.
#[test]
fn spans_in_order_equal_those_of_single_slices() {
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let label = builder.label("op", None);
    for (id, len) in [(1, 130), (2, 300), (3, 511), (4, 1)] {
        let track = builder.track(core, TrackKind::Ops, id, "ops");
        for i in 0..len {
            let (start, dur) = (1_000 * i + i % 7, 300 + i * i % 400);
            let device = (id % 2 == 0)
                .then(|| range(start + 5_000 + i % 3, start + 5_000 + i % 3 + dur + i % 11));
            builder.add_slice(
                track,
                SliceSpec {
                    device,
                    ..SliceSpec::new(range(start, start + dur), label)
                },
            );
        }
    }
    let model = builder.finish();
    let of_slice = |slice: SliceRef<'_>| (slice.id(), slice.range(), slice.measured_range());
    for track in model.track_ids() {
        let read: Vec<_> = model
            .spans_on(track)
            .map(|spans| (spans.slice.id(), spans.shown, spans.measured))
            .collect();
        assert_eq!(
            read,
            model.slices_on(track).map(of_slice).collect::<Vec<_>>()
        );
        for lane in model.lanes(track) {
            let asked = range(100_500, 290_100);
            let read = model
                .spans_in(lane, asked)
                .map(|spans| (spans.slice.id(), spans.shown, spans.measured));
            assert_eq!(
                read.collect::<Vec<_>>(),
                model
                    .slices_in(lane, asked)
                    .map(of_slice)
                    .collect::<Vec<_>>()
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn spans_by_time_are_those_of_all_lanes_in_order(spans in any_spans(), from in -5..90_i64, len in 0..90_i64) {
        let model = model_of(&spans);
        let asked = range(from, from + len);
        let read = |spans: SliceSpans<'_>| (spans.measured.start, Reverse(spans.measured.end), spans.slice.id());
        for track in model.track_ids() {
            let (lanes, later) = model.lanes(track).split_at(model.lanes(track).len().min(16));
            let mut expected: Vec<_> = lanes.iter().flat_map(|lane| model.spans_in(lane, asked)).map(read).collect();
            // Rows are in the order of lanes.
            expected.sort();
            expected.extend(later.iter().flat_map(|lane| model.spans_in(lane, asked)).map(read));
            let by_time = model.spans_by_time(model.lanes(track), asked);
            prop_assert_eq!(by_time.size_hint(), (expected.len(), Some(expected.len())));
            prop_assert_eq!(by_time.map(read).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn range_queries_equal_a_scan(spans in any_spans(), from in -5..90_i64, len in 0..40_i64) {
        let model = model_of(&spans);
        let asked = range(from, from + len);
        for lane in model.all_lanes() {
            let found: Vec<_> = model.slices_in(lane, asked).map(SliceRef::id).collect();
            let scanned: Vec<_> = model
                .slices_of(lane)
                .filter(|s| s.range().overlaps(asked) || (asked.contains(s.start())))
                .chain(model.slices_of(lane).filter(|s| len == 0 && s.start() < asked.start && s.range().end > asked.start))
                .map(SliceRef::id)
                .collect();
            let mut scanned = scanned;
            scanned.sort();
            scanned.dedup();
            prop_assert_eq!(found, scanned);
        }
    }

    #[test]
    fn hit_tests_find_the_deepest_slice(spans in any_spans(), moment in -5..90_i64) {
        let model = model_of(&spans);
        for track in model.track_ids() {
            let here = |s: &SliceRef<'_>| s.range().contains(at(moment)) || s.start() == at(moment);
            let deepest = model.slices_on(track).filter(here).map(SliceRef::depth).max();
            let found = model.slice_at(track, at(moment));
            prop_assert_eq!(found.map(SliceRef::depth), deepest);
            prop_assert!(found.is_none_or(|slice| here(&slice)));
        }
    }

    #[test]
    fn sums_between_times_equal_a_scan(
        spans in any_spans(),
        from in -20..90_i64,
        steps in prop::collection::vec(0..30_i64, 1..20),
    ) {
        let model = model_of(&spans);
        let index = LodIndex::build(&model, class_of);
        let times: Vec<i64> = steps.iter().scan(from, |at, step| { *at += step; Some(*at) }).collect();
        for (i, lane) in model.all_lanes().iter().enumerate() {
            let sums = index.sums(i);
            let mut found = Vec::new();
            let walk = times.iter().map(|&time| at(time));
            sums.between(&model, lane, class_of, walk, |covered, begin| {
                found.push((covered.to_vec(), begin.start.index()..begin.end.index()));
            });
            prop_assert_eq!(found.len(), times.len() - 1);
            for (ends, (covered, begin)) in times.windows(2).zip(found) {
                prop_assert_eq!(covered, scanned(&model, lane, sums.classes(), range(ends[0], ends[1])));
                let began = model.slices_of(lane).filter(|s| (ends[0]..ends[1]).contains(&s.start().ps()));
                prop_assert!(began.map(|s| s.id().index()).eq(begin));
            }
        }
    }

    #[test]
    fn long_slices_equal_a_scan(spans in any_spans(), from in -20..90_i64, len in 1..200_i64, least in 0..40_i64) {
        let model = model_of(&spans);
        let index = LodIndex::build(&model, class_of);
        for (i, lane) in model.all_lanes().iter().enumerate() {
            let (asked, mipmap) = (range(from, from + len), index.lane(i));
            let mut found = Vec::new();
            mipmap.long_slices(&model, lane, asked, Picos::from_ps(least), &mut found);
            let members: Vec<_> = model.slices_in(lane, asked).collect();
            let long = members.iter().filter(|s| s.dur().ps() >= least).map(|s| s.id());
            prop_assert!(long.eq(found));
            let all = mipmap.slices(&model, lane, asked);
            prop_assert_eq!(all.map_or(0, |all| all.count as usize), members.len());
            let longest = members.iter().map(|s| s.dur()).max();
            prop_assert_eq!(all.map(|all| model.slice(all.longest).dur()), longest);
        }
    }

    #[test]
    fn flows_have_the_ends_that_were_added(
        spans in any_spans(),
        ends in prop::collection::vec((0..60_usize, 0..60_usize), 0..20),
        moment in 0..70_i64,
    ) {
        let (mut builder, track) = one_track(TrackKind::Ops);
        let keys = add_all(&mut builder, track, &spans);
        let mut expected = Vec::new();
        for (id, &(from, to)) in ends.iter().enumerate() {
            if let (Some(&a), Some(&b)) = (keys.get(from), keys.get(to)) {
                builder.add_flow(FlowEnd::Slice(a), FlowEnd::Slice(b), id as u64);
                expected.push((from, to, id as u64));
            }
        }
        builder.add_flow(FlowEnd::Enclosing(track, at(moment)), FlowEnd::NextAfter(track, at(moment)), 1000);
        let model = builder.finish();
        let mut found: Vec<_> = model
            .flows()
            .iter()
            .filter(|flow| flow.id < 1000)
            .map(|flow| (number(model.slice(flow.from)), number(model.slice(flow.to)), flow.id))
            .collect();
        found.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(found, expected);
        for slice in model.all_slices() {
            let out = model.flows().iter().filter(|flow| flow.from == slice.id()).count();
            let into = model.flows().iter().filter(|flow| flow.to == slice.id()).count();
            prop_assert_eq!((model.flows_from(slice.id()).len(), model.flows_to(slice.id()).count()), (out, into));
        }
        let enclosing = model.slice_at(track, at(moment)).map(SliceRef::id);
        let next = model.slices_on(track).map(SliceRef::start).filter(|&start| start >= at(moment)).min();
        let linked = model.flows().iter().find(|flow| flow.id == 1000);
        prop_assert_eq!(model.import_log().count(IssueKind::FlowWithoutEnd), u64::from(linked.is_none()));
        if let Some(flow) = linked {
            prop_assert_eq!(Some(flow.from), enclosing);
            prop_assert_eq!(Some(model.slice(flow.to).start()), next);
        } else {
            prop_assert!(enclosing.is_none() || next.is_none());
        }
    }

    #[test]
    fn hosts_share_the_clock_of_the_earliest(begins in prop::collection::vec(0..1_000_000_i64, 1..5)) {
        let mut builder = TraceBuilder::new();
        for (i, &begin) in begins.iter().enumerate() {
            let name = format!("host{i}");
            builder.begin_source(Source { name: name.clone(), started_unix_ns: Some(begin), ..Source::default() });
            let host = builder.group(None, GroupKind::Host, &name);
            let track = builder.track(host, TrackKind::HostThread, 1, "python");
            let label = builder.label(&i.to_string(), None);
            let first = builder.add_slice(track, SliceSpec::new(range(10, 20), label));
            let second = builder.add_slice(track, SliceSpec::new(range(30, 50), label));
            builder.add_flow(FlowEnd::Slice(first), FlowEnd::Enclosing(track, at(35)), i as u64);
            prop_assert_ne!(first, second);
        }
        let model = builder.finish();
        let earliest = begins.iter().min().copied().unwrap_or_default();
        for slice in model.all_slices() {
            let shift = (begins[number(slice)] - earliest) * 1000;
            let start = if slice.dur().ps() == 10 { 10 } else { 30 };
            prop_assert_eq!(slice.start(), at(start + shift));
        }
        prop_assert_eq!(model.flows().len(), begins.len());
        prop_assert!(model.flows().iter().all(|flow| model.slice(flow.from).track() == model.slice(flow.to).track()));
    }
}

/// On one timeline there would be days of empty time between them.
#[test]
fn sessions_of_different_days_are_logged_and_not_aligned() {
    let mut builder = TraceBuilder::new();
    let day = 86_400_000_000_000;
    for (name, begin) in [
        ("a", day),
        ("b", day + 3_000),
        ("c", 300 * day),
        ("d", 300 * day + 5_000),
    ] {
        builder.begin_source(Source {
            name: name.to_owned(),
            started_unix_ns: Some(begin),
            ..Source::default()
        });
        let host = builder.group(None, GroupKind::Host, name);
        let track = builder.track(host, TrackKind::HostThread, 1, "python");
        let label = builder.label(name, None);
        builder.add_slice(track, SliceSpec::new(range(10, 20), label));
    }
    let model = builder.finish();
    let starts: Vec<i64> = model.all_slices().map(|slice| slice.start().ps()).collect();
    assert_eq!(starts, [10, 3_000_010, 10, 5_000_010]);
    let issues = model.import_log().counts();
    assert_eq!(
        issues
            .iter()
            .map(|issue| (issue.kind, issue.count))
            .collect::<Vec<_>>(),
        [(IssueKind::SessionsApart, 1)]
    );
    assert_eq!(issues[0].examples, ["c began 430560 minutes after a"]);
}

/// The recorded start of a session can be wrong; the time of the first event is not.
#[test]
fn hosts_are_aligned_by_their_zero_time() {
    let mut builder = TraceBuilder::new();
    let zero: i128 = 1_779_098_263_000_000_000_000;
    for (name, later) in [("a", 0), ("b", 7_000)] {
        builder.begin_source(Source {
            name: name.to_owned(),
            origin_ps: zero + later,
            started_unix_ns: Some(5),
            ..Source::default()
        });
        let host = builder.group(None, GroupKind::Host, name);
        let track = builder.track(host, TrackKind::HostThread, 1, "python");
        let label = builder.label(name, None);
        builder.add_slice(track, SliceSpec::new(range(10, 20), label));
    }
    let starts: Vec<i64> = builder
        .finish()
        .all_slices()
        .map(|slice| slice.start().ps())
        .collect();
    assert_eq!(starts, [10, 7_010]);
}

#[test]
fn level_of_detail_of_a_long_lane_equals_a_scan() {
    let spans: Vec<(i64, i64)> = (0..20_000)
        .map(|i| (i * 10, i * 10 + 1 + (i * 7919) % 10))
        .collect();
    let model = model_of(&spans);
    let lane = &model.all_lanes()[0];
    let index = LodIndex::build(&model, class_of);
    for step in [1, 5, 97, 1_000, 12_345, 100_000] {
        let mut start = 15;
        let times = (0..2_000).map(|i| at(15 + i * step));
        index
            .sums(0)
            .between(&model, lane, class_of, times, |covered, _| {
                let part = range(start, start + step);
                // Reading all slices of all parts would take minutes.
                if start % 7 == 1 && start < 250_000 {
                    assert_eq!(
                        covered,
                        scanned(&model, lane, index.sums(0).classes(), part)
                    );
                    let longest = model.slices_in(lane, part).map(SliceRef::dur).max();
                    let all = index.lane(0).slices(&model, lane, part);
                    assert_eq!(all.map(|all| model.slice(all.longest).dur()), longest);
                }
                start += step;
            });
    }
    let mut found = Vec::new();
    index.lane(0).long_slices(
        &model,
        lane,
        range(15, 190_007),
        Picos::from_ps(10),
        &mut found,
    );
    let long = model
        .slices_in(lane, range(15, 190_007))
        .filter(|slice| slice.dur().ps() >= 10);
    assert!(long.map(SliceRef::id).eq(found));
}
