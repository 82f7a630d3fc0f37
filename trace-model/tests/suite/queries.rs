//! Queries of a model return the same as a full scan.

use common::{add_all, any_spans, at, number, one_track, range};
use proptest::prelude::*;
use trace_model::{
    FlowEnd, GroupKind, IssueKind, LaneMipmap, LodIndex, Picos, SliceRef, SliceSpec, Source, TraceBuilder, TraceModel,
    TrackKind,
};

use crate::common;

fn model_of(spans: &[(i64, i64)]) -> TraceModel {
    let (mut builder, track) = one_track(TrackKind::Ops);
    add_all(&mut builder, track, spans);
    builder.finish()
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
            let device = (id % 2 == 0).then(|| range(start + 5_000 + i % 3, start + 5_000 + i % 3 + dur + i % 11));
            builder.add_slice(track, SliceSpec { device, ..SliceSpec::new(range(start, start + dur), label) });
        }
    }
    let model = builder.finish();
    let of_slice = |slice: SliceRef<'_>| (slice.id(), slice.range(), slice.measured_range());
    for track in model.track_ids() {
        let read: Vec<_> = model.spans_on(track).map(|spans| (spans.slice.id(), spans.shown, spans.measured)).collect();
        assert_eq!(read, model.slices_on(track).map(of_slice).collect::<Vec<_>>());
        for lane in model.lanes(track) {
            let asked = range(100_500, 290_100);
            let read = model.spans_in(lane, asked).map(|spans| (spans.slice.id(), spans.shown, spans.measured));
            assert_eq!(read.collect::<Vec<_>>(), model.slices_in(lane, asked).map(of_slice).collect::<Vec<_>>());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

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
    fn every_slice_is_in_exactly_one_item(
        spans in any_spans(),
        from in -20..90_i64,
        len in 1..200_i64,
        resolution in 1..40_i64,
    ) {
        let model = model_of(&spans);
        let index = LodIndex::build(&model);
        for (i, lane) in model.all_lanes().iter().enumerate() {
            for asked in [range(from, from + len), model.extent()] {
                let mut items = Vec::new();
                index.lane(i).query(&model, lane, asked, Picos::from_ps(resolution), &mut items);
                let mut left: Vec<_> = model.slices_in(lane, asked).collect();
                left.reverse();
                let mut reached = i64::MIN;
                for item in items {
                    prop_assert!(item.range.start.ps() >= reached, "items overlap");
                    reached = item.range.end.ps();
                    let members: Vec<_> = (0..item.count).filter_map(|_| left.pop()).collect();
                    prop_assert_eq!(members.len(), item.count as usize);
                    let hull = members.iter().map(|s| s.range()).reduce(trace_model::TimeRange::hull);
                    prop_assert_eq!(Some(item.range), hull);
                    prop_assert_eq!(item.occupied, members.iter().map(|s| s.dur()).sum::<Picos>());
                    let longest = members.iter().map(|s| s.dur()).max();
                    prop_assert_eq!(Some(model.slice(item.representative).dur()), longest);
                    prop_assert!(members.iter().any(|s| s.id() == item.representative));
                    let wide = members.iter().filter(|s| s.dur().ps() >= resolution).count();
                    prop_assert!(wide == 0 || item.count == 1, "a slice wider than a pixel is hidden");
                    prop_assert!(item.count == 1 || item.range.dur().ps() <= 2 * resolution);
                }
                prop_assert!(left.is_empty());
            }
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
    for (name, begin) in [("a", day), ("b", day + 3_000), ("c", 300 * day), ("d", 300 * day + 5_000)] {
        builder.begin_source(Source { name: name.to_owned(), started_unix_ns: Some(begin), ..Source::default() });
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
        issues.iter().map(|issue| (issue.kind, issue.count)).collect::<Vec<_>>(),
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
    let starts: Vec<i64> = builder.finish().all_slices().map(|slice| slice.start().ps()).collect();
    assert_eq!(starts, [10, 7_010]);
}

#[test]
fn mipmap_of_a_long_lane_equals_a_scan() {
    let spans: Vec<(i64, i64)> = (0..20_000).map(|i| (i * 10, i * 10 + 1 + (i * 7919) % 10)).collect();
    let model = model_of(&spans);
    let lane = &model.all_lanes()[0];
    let pyramid = LaneMipmap::build(&model, lane);
    for resolution in [1, 5, 10, 97, 1000, 12_345, 1_000_000] {
        let mut items = Vec::new();
        pyramid.query(&model, lane, range(15, 190_007), Picos::from_ps(resolution), &mut items);
        let mut rows = model.slices_in(lane, range(15, 190_007));
        for item in items {
            let members: Vec<_> = rows.by_ref().take(item.count as usize).collect();
            let longest = members.iter().map(|s| s.dur()).max();
            assert_eq!(Some(model.slice(item.representative).dur()), longest);
            assert_eq!(item.occupied, members.iter().map(|s| s.dur()).sum::<Picos>());
        }
        assert_eq!(rows.count(), 0);
    }
}
