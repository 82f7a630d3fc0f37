//! Invariants of every model, whatever went into the builder.

use common::{add_all, any_spans, at, nested_spans, number, one_track, range, union};
use proptest::prelude::*;
use trace_model::{
    IssueKind, LodIndex, Picos, SliceAttr, SliceBatch, SliceKey, SliceRef, SliceSpec, TimeRange,
    TraceBuilder, TraceModel, TrackId, TrackKind,
};

use crate::common;

fn spans_of(model: &TraceModel, track: TrackId) -> Vec<(usize, i64, i64)> {
    let mut spans: Vec<_> = model
        .slices_on(track)
        .map(|s| (number(s), s.range().start.ps(), s.range().end.ps()))
        .collect();
    spans.sort_unstable();
    spans
}

fn check_lanes(model: &TraceModel) -> Result<(), TestCaseError> {
    let mut row = 0;
    for track in model.track_ids() {
        let spans = model
            .spans_on(track)
            .map(|spans| (spans.slice.id(), spans.shown, spans.measured));
        let slices = model
            .slices_on(track)
            .map(|slice| (slice.id(), slice.range(), slice.measured_range()));
        prop_assert_eq!(spans.collect::<Vec<_>>(), slices.collect::<Vec<_>>());
        for (depth, lane) in model.lanes(track).iter().enumerate() {
            prop_assert_eq!((lane.track, lane.depth as usize), (track, depth));
            prop_assert!(!lane.is_empty());
            let mut before = None;
            for slice in model.slices_of(lane) {
                prop_assert_eq!(slice.id().index(), row);
                prop_assert_eq!((slice.track(), slice.depth() as usize), (track, depth));
                if let Some(before) = before {
                    prop_assert!(
                        slice.start() >= before,
                        "{slice:?} begins before its neighbour ends"
                    );
                }
                before = Some(slice.range().end);
                row += 1;
            }
        }
    }
    prop_assert_eq!(row, model.slice_count());
    Ok(())
}

fn measured(slice: SliceRef<'_>) -> (i64, i64) {
    let range = slice.measured_range();
    (range.start.ps(), range.end.ps())
}

fn check_parents(model: &TraceModel) -> Result<(), TestCaseError> {
    for slice in model.all_slices() {
        if let Some(parent) = slice.parent() {
            prop_assert!(
                parent.measured_range().encloses(slice.measured_range()),
                "{parent:?} encloses {slice:?}"
            );
            prop_assert_eq!(parent.track(), slice.track());
        }
        let children: Vec<_> = slice.children().map(SliceRef::id).collect();
        let claimed: Vec<_> = model
            .all_slices()
            .filter(|child| {
                child
                    .parent()
                    .is_some_and(|parent| parent.id() == slice.id())
            })
            .map(SliceRef::id)
            .collect();
        prop_assert_eq!(&children, &claimed);
        prop_assert_eq!(slice.has_children(), !children.is_empty());
        let inside = union(slice.children().map(measured));
        prop_assert!(slice.self_dur().ps() <= slice.measured_dur().ps() - inside);
    }
    for track in model.track_ids() {
        let own: i64 = model
            .slices_on(track)
            .map(|slice| slice.self_dur().ps())
            .sum();
        prop_assert_eq!(own, union(model.slices_on(track).map(measured)));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn lanes_are_sorted_and_no_slice_is_lost(spans in any_spans(), free in any::<bool>()) {
        let kind = if free { TrackKind::AsyncOps } else { TrackKind::Ops };
        let (mut builder, track) = one_track(kind);
        add_all(&mut builder, track, &spans);
        let model = builder.finish();
        check_lanes(&model)?;
        let expected: Vec<_> = spans.iter().enumerate().map(|(i, &(start, end))| (i, start, end)).collect();
        prop_assert_eq!(spans_of(&model, track), expected);
        let hull = (spans.iter().map(|s| s.0).min(), spans.iter().map(|s| s.1).max());
        if let (Some(start), Some(end)) = hull {
            prop_assert_eq!(model.extent(), range(start, end));
        }
    }

    #[test]
    fn parents_enclose_their_children(spans in any_spans()) {
        let (mut builder, track) = one_track(TrackKind::Ops);
        add_all(&mut builder, track, &spans);
        let model = builder.finish();
        check_parents(&model)?;
        prop_assert!(model.all_slices().all(|s| s.parent().is_none_or(|parent| parent.depth() < s.depth())));
    }

    #[test]
    fn nested_spans_do_not_spill_and_self_times_add_up(spans in nested_spans()) {
        let (mut builder, track) = one_track(TrackKind::Ops);
        add_all(&mut builder, track, &spans);
        let model = builder.finish();
        prop_assert_eq!(model.import_log().count(IssueKind::OverlapSpilled), 0);
        let own: i64 = model.slices_on(track).map(|s| s.self_dur().ps()).sum();
        prop_assert_eq!(own, union(spans));
    }

    #[test]
    fn self_times_add_up_however_slices_overlap(spans in any_spans()) {
        let (mut builder, track) = one_track(TrackKind::Ops);
        add_all(&mut builder, track, &spans);
        let model = builder.finish();
        let own: i64 = model.slices_on(track).map(|s| s.self_dur().ps()).sum();
        prop_assert_eq!(own, union(spans));
    }

    #[test]
    fn batches_and_single_slices_make_the_same_model(spans in any_spans(), cut in 0..60_usize) {
        let (mut builder, track) = one_track(TrackKind::Ops);
        add_all(&mut builder, track, &spans);
        let one_by_one = builder.finish();
        let (mut builder, track) = one_track(TrackKind::Ops);
        let cut = cut.min(spans.len());
        let mut number = 0;
        for part in [&spans[..cut], &spans[cut..]] {
            let mut batch = SliceBatch::default();
            for &(start, end) in part {
                let label = builder.label(&number.to_string(), None);
                let index = batch.push(SliceSpec::new(range(start, end), label));
                prop_assert_eq!(batch.range(index), range(start, end));
                number += 1;
            }
            builder.append(track, batch);
        }
        let at_once = builder.finish();
        let rows = |model: &TraceModel| model.all_slices().map(|s| format!("{s:?}")).collect::<Vec<_>>();
        prop_assert_eq!(rows(&one_by_one), rows(&at_once));
    }

    #[test]
    fn facts_and_device_times_follow_their_slice(spans in any_spans(), ahead in -1000..1000_i64, stretch in 0..3_i64) {
        let (mut builder, track) = one_track(TrackKind::Ops);
        for (i, &(start, end)) in spans.iter().enumerate() {
            let label = builder.label(&i.to_string(), None);
            let device = Some(range(start + ahead, end + ahead + stretch * (i as i64 % 3)));
            let key = builder.add_slice(track, SliceSpec { device, ..SliceSpec::new(range(start, end), label) });
            if i % 3 == 0 {
                builder.set_attr(key, SliceAttr::RunId, -1);
                builder.set_attr(key, SliceAttr::RunId, i as i64);
            }
            if i % 5 == 0 {
                builder.set_attr(key, SliceAttr::TimeScaleBits, (i as f64).to_bits() as i64);
            }
        }
        let model = builder.finish();
        check_lanes(&model)?;
        for slice in model.all_slices() {
            let i = number(slice);
            let (start, end) = spans[i];
            prop_assert_eq!(slice.range(), range(start, end));
            prop_assert_eq!(slice.device_range(), Some(range(start + ahead, end + ahead + stretch * (i as i64 % 3))));
            prop_assert_eq!(slice.attr(SliceAttr::RunId), i.is_multiple_of(3).then_some(i as i64));
            prop_assert_eq!(slice.attr(SliceAttr::TimeScaleBits).map(|bits| f64::from_bits(bits as u64)), i.is_multiple_of(5).then_some(i as f64));
            prop_assert_eq!(slice.attr(SliceAttr::Flops), None);
        }
    }

    #[test]
    fn slices_with_and_without_device_clock_coexist(
        spans in any_spans(), ahead in -1000..1000_i64, clocked in prop::collection::vec(any::<bool>(), 1..40), cut in 0..100_usize
    ) {
        let (mut builder, track) = one_track(TrackKind::Ops);
        let cut = cut.min(spans.len());
        for (from, part) in [(0, &spans[..cut]), (cut, &spans[cut..])] {
            let mut batch = SliceBatch::default();
            for (i, &(start, end)) in part.iter().enumerate() {
                let label = builder.label(&(from + i).to_string(), None);
                let device = clocked[(from + i) % clocked.len()].then(|| range(start + ahead, end + ahead));
                let index = batch.push(SliceSpec { device, ..SliceSpec::new(range(start, end), label) });
                prop_assert_eq!(batch.device_range(index), device);
            }
            builder.append(track, batch);
        }
        let model = builder.finish();
        check_lanes(&model)?;
        check_parents(&model)?;
        let without = (0..spans.len()).filter(|i| !clocked[i % clocked.len()]).count();
        let none_has = without == spans.len();
        let missing = if none_has { 0 } else { without as u64 };
        prop_assert_eq!(model.import_log().count(IssueKind::DeviceClockMissing), missing);
        for slice in model.all_slices() {
            let (start, end) = spans[number(slice)];
            let expected = (!none_has).then(|| range(start + ahead, end + ahead));
            prop_assert_eq!(slice.device_range(), expected);
        }
    }

    #[test]
    fn parents_follow_the_device_clock(spans in any_spans(), device in any_spans()) {
        let n = spans.len().min(device.len());
        let (mut builder, track) = one_track(TrackKind::Ops);
        for i in 0..n {
            let label = builder.label(&i.to_string(), None);
            let spec = SliceSpec::new(range(spans[i].0, spans[i].1), label);
            builder.add_slice(track, SliceSpec { device: Some(range(device[i].0, device[i].1)), ..spec });
        }
        let model = builder.finish();
        check_lanes(&model)?;
        check_parents(&model)?;
    }

    #[test]
    fn begin_and_end_events_match_like_a_stack(events in prop::collection::vec((0..5_i64, 0..3_u8, any::<bool>()), 0..60)) {
        let (mut builder, track) = one_track(TrackKind::HostThread);
        let (expected, unmatched, open) = begin_and_end(&mut builder, track, &events)?;
        let model = builder.finish();
        check_lanes(&model)?;
        prop_assert_eq!(model.import_log().count(IssueKind::EndWithoutBegin), unmatched);
        prop_assert_eq!(model.import_log().count(IssueKind::BeginWithoutEnd), open.len() as u64);
        let last = model.extent().end;
        for slice in model.all_slices() {
            let n = number(slice);
            let unterminated = slice.attr(SliceAttr::Unterminated) == Some(1);
            prop_assert_eq!(unterminated, open.contains(&n));
            let closed = expected.iter().find(|&&(number, ..)| number == n);
            let end = closed.map_or(last, |&(_, _, end)| at(end));
            prop_assert_eq!(slice.range().end, end);
            prop_assert!(closed.is_none_or(|&(_, start, _)| slice.start() == at(start)));
        }
        prop_assert_eq!(model.slice_count(), expected.len() + open.len());
    }
}

/// A reference implementation of begin and end events with a stack. Returns closed slices, the number of ends without a
/// begin, and the slices that are still open.
#[expect(clippy::type_complexity, reason = "three results of one test helper")]
fn begin_and_end(
    builder: &mut TraceBuilder,
    track: TrackId,
    events: &[(i64, u8, bool)],
) -> Result<(Vec<(usize, i64, i64)>, u64, Vec<usize>), TestCaseError> {
    let mut open: Vec<(usize, i64, SliceKey)> = Vec::new();
    let (mut closed, mut unmatched, mut now) = (Vec::new(), 0, 0);
    for (i, &(gap, what, named)) in events.iter().enumerate() {
        now += gap;
        if what < 2 {
            let label = builder.label(&i.to_string(), None);
            open.push((i, now, builder.begin_slice(track, at(now), label, None)));
            continue;
        }
        // An end with a name closes the oldest open slice, one without a name the innermost.
        let position = if named {
            open.first().map(|_| 0)
        } else {
            open.len().checked_sub(1)
        };
        let name = position
            .filter(|_| named)
            .map(|position| open[position].0.to_string());
        let ended = builder.end_slice(track, at(now), name.as_deref());
        prop_assert_eq!(ended, position.map(|position| open[position].2));
        if let Some(position) = position {
            let (number, start, _) = open.remove(position);
            closed.push((number, start, now));
        } else {
            unmatched += 1;
        }
    }
    Ok((
        closed,
        unmatched,
        open.into_iter().map(|(number, ..)| number).collect(),
    ))
}

#[test]
fn a_million_equal_instants_cost_one_lane() {
    let (mut builder, track) = one_track(TrackKind::HostThread);
    let label = builder.label("tick", None);
    let mut batch = SliceBatch::default();
    for _ in 0..1_000_000 {
        batch.push(SliceSpec::new(range(5, 5), label));
    }
    builder.append(track, batch);
    let model = builder.finish();
    assert_eq!(model.lanes(track).len(), 1);
    assert_eq!(
        model
            .slices_on(track)
            .map(SliceRef::self_dur)
            .sum::<Picos>(),
        Picos::ZERO
    );
}

#[test]
fn extreme_times_do_not_overflow() {
    const EDGES: [i64; 7] = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    let (mut builder, track) = one_track(TrackKind::Ops);
    let label = builder.label("edge", None);
    for start in EDGES {
        for dur in [0, 1, i64::MAX - 1, i64::MAX] {
            let edge = TimeRange::at(at(start), Picos::from_ps(dur));
            let device = Some(TimeRange::at(
                at(-start.saturating_add(1)),
                Picos::from_ps(dur),
            ));
            builder.add_slice(
                track,
                SliceSpec {
                    device,
                    ..SliceSpec::new(edge, label)
                },
            );
        }
    }
    let model = builder.finish();
    // Slices that are months away from the others are dropped and counted.
    let left_out = model.import_log().count(IssueKind::ImpossibleTime) as usize;
    assert!(
        0 < left_out && left_out + model.slice_count() == EDGES.len() * 4,
        "{left_out}"
    );
    assert!(check_lanes(&model).is_ok());
    let index = LodIndex::build(&model, |_| 0);
    for (i, lane) in model.all_lanes().iter().enumerate() {
        let times = EDGES.into_iter().map(at);
        index.sums(i).between(
            &model,
            lane,
            |_| 0,
            times,
            |covered, _| assert!(covered.iter().all(|&ps| ps >= 0)),
        );
        let all = index.lane(i).slices(&model, lane, model.extent());
        assert_eq!(
            all.map_or(0, |all| all.count as usize),
            model.slices_in(lane, model.extent()).count()
        );
    }
    assert!(
        model
            .all_slices()
            .all(|slice| slice.children().count() <= model.slice_count())
    );
}
