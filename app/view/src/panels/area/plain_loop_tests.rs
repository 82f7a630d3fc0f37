//! The sums of any area equal those of a loop over all slices.

use crate::prelude::*;
use analysis::Cell;
use analysis::math::quantile::quantile;
use trace_model::{Op, SliceSpec, TraceBuilder};

use super::{AreaGrouping, AreaSummaries, MarkedArea};
use crate::timeline::bands::{StepBand, step_at};

struct Random(u64);

impl Random {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as i64 % limit.max(1)
    }
}

fn range(start: i64, dur: i64) -> TimeRange {
    TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(dur))
}

/// Tracks of several kinds with slices that nest, overlap, repeat, take no time or nearly all of it.
fn model(random: &mut Random) -> TraceModel {
    use TrackKind as K;
    let mut builder = TraceBuilder::new();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
    let labels: Vec<LabelId> = (0..6)
        .map(|i| {
            let name = builder.intern(["dot", "add", "copy"][i % 3]);
            let category = builder.intern(["convolution", "loop fusion"][i % 2]);
            let op = Op {
                name,
                category: Some(category),
                ..Op::default()
            };
            let op = (i != 4).then(|| builder.op(op));
            builder.label(["dot", "add", "copy", "dot"][i % 4], op)
        })
        .collect();
    let scale = [1, 1, 1_000_000_000][random.below(3) as usize];
    for (id, kind) in [
        K::Modules,
        K::Ops,
        K::Ops,
        K::AsyncOps,
        K::HostThread,
        K::Async,
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("track {}", id % 5);
        let track = builder.track(core, kind, id as i64, &name);
        let is_by_device = kind == K::Ops && random.below(2) == 0;
        let (mut time, count) = (random.below(40), random.below(90));
        for _ in 0..count {
            let dur = match random.below(12) {
                0 => random.below(600),
                1 | 2 => 0,
                3..6 => 7,
                _ => random.below(30),
            };
            let (start, dur) = (time * scale, dur * scale);
            let device = is_by_device.then(|| range(start + 500, dur + random.below(3) * scale));
            let label = labels[random.below(6) as usize];
            builder.add_slice(
                track,
                SliceSpec {
                    device,
                    ..SliceSpec::new(range(start, dur), label)
                },
            );
            time += random.below(14);
        }
    }
    builder.finish()
}

fn steps(extent: TimeRange) -> Arc<[StepBand]> {
    let every = (extent.dur().ps() / 5).max(1);
    (0..4)
        .map(|number| StepBand {
            range: range(
                extent.start.ps() + every / 2 + i64::from(number) * every,
                every + 2,
            ),
            time: Picos::from_ps(every),
            number,
            title: ["one", "two"][number as usize % 2].to_owned(),
            ..StepBand::default()
        })
        .collect()
}

fn union(mut ranges: Vec<TimeRange>) -> i64 {
    ranges.sort_by_key(|range| range.start);
    let (mut sum, mut until) = (0, Timestamp::MIN);
    for range in ranges {
        sum += (range.end - until.max(range.start)).clamped().ps();
        until = until.max(range.end);
    }
    sum
}

/// The time of a slice inside an area in which no slice of its track runs that began later.
fn self_time(model: &TraceModel, slice: SliceRef<'_>, area: TimeRange) -> i64 {
    let inside = slice.range().intersect(area).unwrap_or(slice.range());
    let is_timed_by_device = slice.device_range().is_some();
    if slice.children_dur() == Picos::ZERO {
        return inside.dur().ps();
    }
    if area.encloses(slice.range()) && !is_timed_by_device {
        return slice.self_dur().ps();
    }
    let begins_later = |other: &SliceRef<'_>| {
        (other.start(), other.id()) > (slice.start(), slice.id())
            || is_timed_by_device && other.parent().map(SliceRef::id) == Some(slice.id())
    };
    let later = model.slices_on(slice.track()).filter(begins_later);
    inside.dur().ps()
        - union(
            later
                .filter_map(|other| other.range().intersect(inside))
                .collect(),
        )
}

/// A row of the table: name, count, total, union, self time, mean, median and 95th percentile.
type PlainRow = (String, [i64; 4], [Option<f64>; 3]);

/// The rows, their labels, and the number of tracks.
fn plain_sums(
    model: &TraceModel,
    classes: &OpClasses,
    steps: &[StepBand],
    area: &MarkedArea,
) -> (Vec<PlainRow>, Vec<BTreeSet<LabelId>>, usize) {
    let wanted = |slice: &SliceRef<'_>| {
        (area.tracks.is_empty() || area.tracks.contains(&slice.track()))
            && slice.range().overlaps(area.range)
    };
    let mut rows: BTreeMap<(String, TrackKind), Vec<SliceRef<'_>>> = BTreeMap::new();
    let mut tracks = BTreeSet::new();
    for slice in model.all_slices().filter(wanted) {
        let track = slice.track_ref();
        let name = match area.pivot {
            AreaGrouping::Name => slice.name().to_owned(),
            AreaGrouping::Category => slice
                .op()
                .map_or("(no op)", |op| classes.category(op))
                .to_owned(),
            AreaGrouping::Module => "(no op)".to_owned(),
            AreaGrouping::Step => step_at(steps, slice.start())
                .and_then(|index| steps.get(index))
                .map_or_else(|| "(no step)".to_owned(), StepBand::name),
            AreaGrouping::Track => format!(
                "{} · {}",
                model.str(model.group(track.group).name),
                model.str(track.name)
            ),
        };
        rows.entry((name, track.kind)).or_default().push(slice);
        tracks.insert(slice.track());
    }
    let mut sums: Vec<(PlainRow, BTreeSet<LabelId>)> = rows
        .into_iter()
        .map(|((name, _), slices)| {
            let parts: Vec<TimeRange> = slices
                .iter()
                .map(|slice| TimeRange {
                    start: slice.start().max(area.range.start),
                    end: slice.range().end.min(area.range.end),
                })
                .collect();
            let whole = slices
                .iter()
                .filter(|slice| area.range.encloses(slice.range()));
            let lengths: Vec<f64> = whole
                .map(|slice| slice.measured_range().dur().as_ps_f64())
                .collect();
            let mean =
                (!lengths.is_empty()).then(|| lengths.iter().sum::<f64>() / lengths.len() as f64);
            let total = parts.iter().map(|part| part.dur().ps()).sum();
            let self_time = slices
                .iter()
                .map(|&slice| self_time(model, slice, area.range))
                .sum();
            let row = (
                name,
                [slices.len() as i64, total, union(parts), self_time],
                [mean, quantile(&lengths, 0.5), quantile(&lengths, 0.95)],
            );
            (row, slices.iter().map(|slice| slice.label_id()).collect())
        })
        .collect();
    sums.sort_by(|(a, of_a), (b, of_b)| (&a.0, a.1, of_a).cmp(&(&b.0, b.1, of_b)));
    let (rows, labels) = sums.into_iter().unzip();
    (rows, labels, tracks.len())
}

fn of_table(cells: &[Cell]) -> PlainRow {
    let Cell::Text(name) = &cells[0] else {
        panic!("{cells:?}")
    };
    let int = |column: usize| match cells[column] {
        Cell::Int(number) => number,
        _ => panic!("{cells:?}"),
    };
    let float = |column: usize| match cells[column] {
        Cell::Float(number) => Some(number),
        _ => None,
    };
    (
        name.clone(),
        [int(2), int(3), int(4), int(5)],
        [float(7), float(8), float(9)],
    )
}

fn random_area(random: &mut Random, model: &TraceModel, pivot: AreaGrouping) -> MarkedArea {
    let extent = model.extent();
    let mut end = || match random.below(4) {
        0 => {
            // Where a slice begins or ends.
            let slice = random.below(model.slice_count() as i64) as usize;
            let slice = model.all_slices().nth(slice);
            slice.map_or(extent.end, |slice| {
                [slice.start(), slice.range().end][slice.id().index() % 2]
            })
        }
        1 => [extent.start, extent.end][random.below(2) as usize],
        _ => extent.start + Picos::from_ps(random.below(extent.dur().ps())),
    };
    let ends = [end(), end()];
    let tracks: BTreeSet<TrackId> = match random.below(2) {
        0 => BTreeSet::new(),
        _ => model.track_ids().filter(|_| random.below(2) == 0).collect(),
    };
    MarkedArea {
        range: TimeRange::new(ends[0].min(ends[1]), ends[0].max(ends[1])),
        tracks: Arc::new(tracks),
        pivot,
    }
}

#[test]
fn sums_of_any_area_equal_those_of_a_plain_loop() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..60 {
        let model = model(&mut random);
        let classes = OpClasses::new(&model);
        let steps = steps(model.extent());
        let areas = AreaSummaries::new(model.clone(), Arc::new(OpClasses::new(&model)));
        for (pivot, _) in AreaGrouping::ALL.into_iter().cycle().take(20) {
            let area = random_area(&mut random, &model, pivot);
            let (expected, labels, tracks) = plain_sums(&model, &classes, &steps, &area);
            let sums = areas.of(&steps, &area, &Progress::new()).unwrap();
            let rows = sums.table.rows.iter().map(|cells| of_table(cells));
            let mut rows: Vec<_> = rows.zip((0..).map(|row| sums.labels_of(row))).collect();
            rows.sort_by(|(a, of_a), (b, of_b)| (&a.0, a.1, of_a).cmp(&(&b.0, b.1, of_b)));
            let (rows, labels_of_loop): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
            assert_eq!(rows, expected, "{area:?}");
            assert_eq!((labels_of_loop, sums.tracks), (labels, tracks), "{area:?}");
            let count: i64 = expected.iter().map(|row| row.1[0]).sum();
            assert_eq!(sums.slices as i64, count, "{area:?}");
        }
    }
}
