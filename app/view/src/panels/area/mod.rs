//! Sums over an area: a range of time on some tracks.
//!
//! Exact at every zoom, because it is computed from slices and not from what is drawn. A slice counts with its part
//! inside the range. Busy time is the time in which at least one slice of the row runs anywhere in the area: slices on
//! several tracks or inside each other count once. Tracks of different kinds cover the same time: a program runs while
//! its ops run, and asynchronous ops are in flight at the same time. Rows therefore never mix kinds of tracks, and a
//! share is of the self time on tracks of the row's kind.

mod marked;
mod rows;
mod sums;

use std::collections::{BTreeMap, BTreeSet};

use analysis::{OpClasses, Table, Unit};
use importers::Progress;
use trace_model::{LabelId, TraceModel};

pub use self::marked::{AreaGrouping, MarkedArea};
use self::sums::{AreaSums, collect};
use crate::timeline::bands::StepBand;

#[derive(Clone, Debug, PartialEq)]
pub struct AreaSummary {
    pub area: MarkedArea,
    /// Slices that overlap the area.
    pub slices: usize,
    /// Tracks with such slices.
    pub tracks: usize,
    /// Time in which at least one slice runs.
    pub union_ps: i64,
    /// One row per name, category or program, by self time.
    pub table: Table,
    /// Labels of each row.
    pub labels: Vec<BTreeSet<LabelId>>,
}

/// Computes the sums; a slice belongs to the step of `steps` in which it begins. The error is a sentence.
pub fn summarise(
    model: &TraceModel,
    classes: &OpClasses,
    steps: &[StepBand],
    area: &MarkedArea,
    progress: &Progress,
) -> Result<AreaSummary, String> {
    let AreaSums {
        mut rows,
        slices,
        tracks,
        union_ps,
    } = collect(model, classes, steps, area, progress)?;
    let mut of_kinds: BTreeMap<&'static str, i64> = BTreeMap::new();
    for ((_, kind), row) in &rows {
        let whole = of_kinds.entry(*kind).or_default();
        *whole = whole.saturating_add(row.self_ps);
    }
    rows.sort_by(|a, b| b.1.self_ps.cmp(&a.1.self_ps).then_with(|| a.0.cmp(&b.0)));
    let share = |kind, time: i64| {
        let whole = of_kinds.get(kind).copied().unwrap_or(0);
        (whole > 0).then(|| time as f64 * 100.0 / whole as f64)
    };
    let table = Table::of("area", "Marked area", rows.iter().map(|((name, kind), row)| (name, *kind, row)))
        .recorded("name", area.pivot.title(), Unit::None, |(name, ..)| name)
        .recorded("tracks", "On tracks of", Unit::None, |(_, kind, _)| kind)
        .measured("count", "Slices", Unit::Count, |(.., row)| row.slices)
        .measured("total_ps", "Total", Unit::Picoseconds, |(.., row)| row.total_ps)
        .measured("union_ps", "Union", Unit::Picoseconds, |(.., row)| row.union_ps)
        .measured("self_ps", "Self", Unit::Picoseconds, |(.., row)| row.self_ps)
        .measured("self_percent", "of self on such tracks", Unit::Percent, |(_, kind, row)| {
            share(kind, row.self_ps)
        })
        .measured("mean_ps", "Mean", Unit::Picoseconds, |(.., row)| row.lengths[0])
        .measured("median_ps", "Median", Unit::Picoseconds, |(.., row)| row.lengths[1])
        .measured("p95_ps", "p95", Unit::Picoseconds, |(.., row)| row.lengths[2])
        .note(
            "Total, busy and self time: the parts of slices inside the area. Mean, median and p95: slices entirely inside it. Share: of the self time on tracks of the same kind, because tracks of programs, ops and asynchronous ops cover the same time.",
        )
        .build();
    let labels = rows.into_iter().map(|(_, row)| row.labels).collect();
    Ok(AreaSummary {
        area: area.clone(),
        slices,
        tracks,
        union_ps,
        table,
        labels,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use analysis::Cell;
    use trace_model::{GroupKind, Picos, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

    fn range(start: i64, end: i64) -> TimeRange {
        TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
    }

    fn model() -> TraceModel {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let tracks =
            [0, 1].map(|id| builder.track(host, TrackKind::Ops, id, &format!("track {id}")));
        for (track, name, start, end) in [
            (0, "outer", 0, 100),
            (0, "x", 10, 40),
            (1, "x", 20, 60),
            (1, "y", 70, 90),
        ] {
            let label = builder.label(name, None);
            builder.add_slice(tracks[track], SliceSpec::new(range(start, end), label));
        }
        builder.finish()
    }

    /// Name, count, total, union, self.
    fn rows(summary: &AreaSummary) -> Vec<(String, i64, i64, i64, i64)> {
        let int = |cell: &Cell| {
            if let Cell::Int(value) = cell {
                *value
            } else {
                -1
            }
        };
        let name = |cell: &Cell| {
            if let Cell::Text(text) = cell {
                text.clone()
            } else {
                String::new()
            }
        };
        summary
            .table
            .rows
            .iter()
            .map(|r| (name(&r[0]), int(&r[2]), int(&r[3]), int(&r[4]), int(&r[5])))
            .collect()
    }

    #[test]
    fn slices_that_overlap_their_neighbours_are_busy_time() {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::AsyncOps, 0, "transfers");
        for (start, end) in [(0, 10), (5, 20), (6, 8), (30, 40), (15, 25)] {
            let label = builder.label("copy", None);
            builder.add_slice(track, SliceSpec::new(range(start, end), label));
        }
        let model = builder.finish();
        let area = MarkedArea {
            range: range(0, 100),
            tracks: Arc::default(),
            pivot: AreaGrouping::Name,
        };
        let sums = summarise(
            &model,
            &OpClasses::new(&model),
            &[],
            &area,
            &Progress::new(),
        )
        .unwrap();
        assert_eq!((sums.slices, sums.union_ps), (5, 25 + 10));
        assert_eq!(sums.table.rows[0][4], Cell::Int(35), "of the row, too");
    }

    #[test]
    fn self_time_of_slices_that_overlap_counts_once() {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::HostThread, 0, "thread");
        for (name, start, end) in [
            ("outer", 0, 16),
            ("first", 2, 6),
            ("late", 8, 17),
            ("next", 16, 20),
        ] {
            let label = builder.label(name, None);
            builder.add_slice(track, SliceSpec::new(range(start, end), label));
        }
        let model = builder.finish();
        let own = |until| {
            let area = MarkedArea {
                range: range(0, until),
                tracks: Arc::default(),
                pivot: AreaGrouping::Name,
            };
            let sums = summarise(
                &model,
                &OpClasses::new(&model),
                &[],
                &area,
                &Progress::new(),
            )
            .unwrap();
            let mut own: Vec<_> = rows(&sums)
                .into_iter()
                .map(|(name, .., own)| (name, own))
                .collect();
            own.sort();
            (own, sums.union_ps)
        };
        let named = |all: &[(&str, i64)]| {
            all.iter()
                .map(|&(name, own)| (name.to_owned(), own))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            own(100),
            (
                named(&[("first", 4), ("late", 8), ("next", 4), ("outer", 4)]),
                20
            )
        );
        assert_eq!(
            own(12),
            (named(&[("first", 4), ("late", 4), ("outer", 4)]), 12)
        );
    }

    #[test]
    fn area_clips_slices_and_counts_shared_time_once() {
        let model = model();
        let classes = OpClasses::new(&model);
        let band = |number, title: &str, start, end| StepBand {
            range: range(start, end),
            time: Picos::from_ps(end - start),
            number,
            title: title.to_owned(),
            is_outlier: false,
            is_odd: false,
        };
        let steps = [band(7, "jit_f", 0, 15), band(8, "8", 15, 65)];
        let mut area = MarkedArea {
            range: range(0, 30),
            tracks: Arc::default(),
            pivot: AreaGrouping::Name,
        };
        let summary = summarise(&model, &classes, &steps, &area, &Progress::new()).unwrap();
        let expected = [
            ("x".to_owned(), 2, 30, 20, 30),
            ("outer".to_owned(), 1, 30, 30, 10),
        ];
        assert_eq!(rows(&summary), expected);
        assert_eq!(
            (summary.slices, summary.tracks, summary.union_ps),
            (3, 2, 30)
        );

        area.tracks = Arc::new(model.track_ids().nth(1).into_iter().collect());
        area.range = range(0, 1_000);
        let summary = summarise(&model, &classes, &steps, &area, &Progress::new()).unwrap();
        assert_eq!(
            rows(&summary),
            [
                ("x".to_owned(), 1, 40, 40, 40),
                ("y".to_owned(), 1, 20, 20, 20)
            ]
        );
        assert_eq!(summary.union_ps, 60);
        area.pivot = AreaGrouping::Track;
        area.tracks = Arc::default();
        let summary = summarise(&model, &classes, &steps, &area, &Progress::new()).unwrap();
        assert_eq!(
            rows(&summary)[0],
            ("host · track 0".to_owned(), 2, 130, 100, 100)
        );
        area.pivot = AreaGrouping::Step;
        let summary = summarise(&model, &classes, &steps, &area, &Progress::new()).unwrap();
        let names: Vec<String> = rows(&summary).into_iter().map(|row| row.0).collect();
        assert_eq!(
            names,
            ["Step 7", "Step 8", "(no step)"],
            "{:?}",
            rows(&summary)
        );
    }

    #[test]
    fn area_times_use_the_timeline_clock() {
        let mut builder = TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
        let track = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
        for (name, on_timeline, by_device) in [
            ("a", range(0, 100), range(0, 150)),
            ("b", range(120, 140), range(160, 190)),
        ] {
            let label = builder.label(name, None);
            builder.add_slice(
                track,
                SliceSpec {
                    device: Some(by_device),
                    ..SliceSpec::new(on_timeline, label)
                },
            );
        }
        let model = builder.finish();
        let classes = OpClasses::new(&model);
        let area = MarkedArea {
            range: range(0, 1_000),
            tracks: Arc::default(),
            pivot: AreaGrouping::Name,
        };
        let summary = summarise(&model, &classes, &[], &area, &Progress::new()).unwrap();
        let expected = [
            ("a".to_owned(), 1, 100, 100, 100),
            ("b".to_owned(), 1, 20, 20, 20),
        ];
        assert_eq!(
            rows(&summary),
            expected,
            "self time is no longer than the slice"
        );
    }

    #[test]
    fn time_of_ops_by_the_device_clock_counts_once_where_they_overlap() {
        let mut builder = TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
        let track = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
        for (name, start, end) in [
            ("while", 0, 16),
            ("first", 2, 6),
            ("second", 4, 10),
            ("next", 15, 20),
        ] {
            let (label, device) = (
                builder.label(name, None),
                Some(range(start + 1_000, end + 1_000)),
            );
            builder.add_slice(
                track,
                SliceSpec {
                    device,
                    ..SliceSpec::new(range(start, end), label)
                },
            );
        }
        let model = builder.finish();
        let area = MarkedArea {
            range: range(0, 100),
            tracks: Arc::default(),
            pivot: AreaGrouping::Name,
        };
        let summary = summarise(
            &model,
            &OpClasses::new(&model),
            &[],
            &area,
            &Progress::new(),
        )
        .unwrap();
        let own = rows(&summary)
            .into_iter()
            .find(|row| row.0 == "while")
            .map(|row| row.4);
        assert_eq!(own, Some(7), "0..2 and 10..15");
    }

    #[test]
    fn op_shares_exclude_programs_and_async_ops() {
        let mut builder = TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
        for (id, kind, name, start, end) in [
            (0, TrackKind::Modules, "jit_f", 0, 100),
            (1, TrackKind::Ops, "copy", 0, 60),
            (1, TrackKind::Ops, "fusion", 60, 80),
            (2, TrackKind::AsyncOps, "copy", 0, 90),
        ] {
            let track = builder.track(core, kind, id, "track");
            let label = builder.label(name, None);
            builder.add_slice(track, SliceSpec::new(range(start, end), label));
        }
        let model = builder.finish();
        let area = MarkedArea {
            range: range(0, 100),
            tracks: Arc::default(),
            pivot: AreaGrouping::Name,
        };
        let summary = summarise(
            &model,
            &OpClasses::new(&model),
            &[],
            &area,
            &Progress::new(),
        )
        .unwrap();
        let shares: Vec<[&Cell; 3]> = summary
            .table
            .rows
            .iter()
            .map(|row| [&row[0], &row[1], &row[6]])
            .collect();
        let expected = [
            ("jit_f", "programs", 100.0),
            ("copy", "asynchronous ops", 100.0),
            ("copy", "ops", 75.0),
            ("fusion", "ops", 25.0),
        ];
        let expected = expected
            .map(|(name, kind, share)| [Cell::text(name), Cell::text(kind), Cell::Float(share)]);
        assert_eq!(
            shares,
            expected
                .iter()
                .map(<[Cell; 3]>::each_ref)
                .collect::<Vec<_>>()
        );
        assert_eq!(summary.union_ps, 100);
    }

    #[test]
    fn means_use_only_slices_wholly_in_the_area() {
        let model = model();
        let area = MarkedArea {
            range: range(15, 65),
            tracks: Arc::default(),
            pivot: AreaGrouping::Name,
        };
        let summary = summarise(
            &model,
            &OpClasses::new(&model),
            &[],
            &area,
            &Progress::new(),
        )
        .unwrap();
        let means: Vec<[&Cell; 2]> = summary
            .table
            .rows
            .iter()
            .map(|row| [&row[0], &row[7]])
            .collect();
        // `x` begins before the area once, and lies in it once; `outer` is larger than the area.
        assert_eq!(
            means,
            [
                [&Cell::text("x"), &Cell::Float(40.0)],
                [&Cell::text("outer"), &Cell::Missing]
            ]
        );
    }

    /// Enough slices that time is cut into spans; some reach over several of them.
    #[test]
    fn sums_of_spans_equal_those_of_single_slices() {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for id in 0..3 {
            let track = builder.track(host, TrackKind::Ops, id, "track");
            let mut at = 0;
            for _ in 0..2_000 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let long = if random.is_multiple_of(100) {
                    20_000
                } else {
                    40
                };
                let dur = (random >> 8) as i64 % long;
                let label = builder.label(["a", "b", "c", "d"][(random >> 40) as usize % 4], None);
                builder.add_slice(track, SliceSpec::new(range(at, at + dur), label));
                at += dur + (random >> 20) as i64 % 30;
            }
        }
        let model = builder.finish();
        let area = MarkedArea {
            range: range(1_500, 200_000),
            tracks: Arc::default(),
            pivot: AreaGrouping::Name,
        };
        let union = |ranges: &[TimeRange]| {
            let mut ranges = ranges.to_vec();
            ranges.sort_by_key(|range| range.start);
            let (mut sum, mut until) = (0, Timestamp::MIN);
            for range in ranges {
                sum += (range.end - until.max(range.start)).clamped().ps();
                until = until.max(range.end);
            }
            sum
        };
        let inside = |name: &str| -> Vec<TimeRange> {
            let own = model
                .all_slices()
                .filter(|slice| name.is_empty() || slice.name() == name);
            own.filter_map(|slice| slice.range().intersect(area.range))
                .collect()
        };
        let found = summarise(
            &model,
            &OpClasses::new(&model),
            &[],
            &area,
            &Progress::new(),
        )
        .unwrap();
        assert_eq!(
            (found.slices, found.union_ps),
            (inside("").len(), union(&inside("")))
        );
        let mut rows = rows(&found);
        rows.sort();
        let expected = ["a", "b", "c", "d"].map(|name| {
            let own = inside(name);
            let total: i64 = own.iter().map(|range| range.dur().ps()).sum();
            (name.to_owned(), own.len() as i64, total, union(&own), total)
        });
        assert_eq!(rows, expected);
    }
}
