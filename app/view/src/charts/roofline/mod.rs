//! The roofline: operations per second against operations per byte of HBM traffic, both logarithmic; one ceiling per
//! memory, one marker per op.

mod ceilings;

use crate::prelude::*;
use analysis::reports::{RooflinePoint, RooflineReport};
use session::number::value;

use super::{Chart, ChartFrame, ChartSwatch};
use crate::drawing::{
    Anchor, ColorRole, Drawing, Ink, LabelPlaces, MarkerKind, PlotArea, PlotPlace, PlotRange,
    around, power_of_ten, shortened,
};
use crate::state::ReportScope;
use ceilings::{RooflineCeiling, RooflineRoof, ceilings};

/// Note on the ceilings of links, because the axis counts other bytes.
const DASHED: &str = "dashed: per byte over ICI, not HBM";
/// The note in full.
const ABOUT_DASHED: &str = "Dashed: FLOP/s that links between chips allow, per byte that goes over them. \
    The axis counts bytes of HBM, which links do not limit: do not compare ops with these lines.";
/// About ops that are not drawn.
const ABOUT_BEYOND: &str =
    "They claim more work than a peak allows in their time, which is impossible.";
/// Number of ops with a name, if there is room.
const NAMED: usize = 3;
/// Number of ops that no name covers.
const UNCOVERED: usize = 40;
/// Letters of the name of an op.
const LETTERS: usize = 30;
/// Distance at which the pointer reaches a marker.
const REACH: f32 = 14.0;
/// Decades beside the longest op: its mark is whole, and its name has room.
const AROUND_LONGEST: f64 = 0.5;
/// Space around markers that names leave free.
const MARGIN: f32 = 2.0;

/// Ops, the program and the average step below their ceilings.
pub struct RooflineChart<'a> {
    report: &'a RooflineReport,
    /// Ops, the longest first; then the program and the average step.
    pub marks: Vec<RooflineMark<'a>>,
    /// The visible part of the axes, in decades.
    pub range: PlotRange,
    /// Number of ops that claim more than a peak: their places are none.
    beyond: usize,
}

/// A marker of the plot.
#[derive(Clone, Copy)]
pub struct RooflineMark<'a> {
    pub point: &'a RooflinePoint,
    pub place: PlotPlace,
    kind: MarkerKind,
    ink: Ink,
    /// The area grows with the share of op time.
    pub radius: f32,
}

impl<'a> RooflineMark<'a> {
    /// `None` without work, traffic or time.
    fn of(point: &'a RooflinePoint, kind: MarkerKind, role: ColorRole) -> Option<Self> {
        let log = |value: Option<f64>| value.filter(|value| *value > 0.0).map(f64::log10);
        let share = point.self_of_op_time_percent.map_or(1.0, |share| share.0);
        Some(Self {
            point,
            place: (log(point.flops_per_hbm_byte)?, log(point.flops_per_second)?),
            kind,
            ink: role.into(),
            // No larger than this, so that one op does not cover the others.
            radius: match kind {
                MarkerKind::Circle => 2.0 + (share.clamp(0.0, 40.0).sqrt() * 1.8) as f32,
                MarkerKind::Diamond | MarkerKind::Square => 6.0,
            },
        })
    }

    fn title(&self) -> String {
        let of = |reached: Option<f64>, unit| value(reached.unwrap_or(f64::NAN), unit);
        let point = self.point;
        let share = point.self_of_op_time_percent.map_or_else(
            || "an unknown share".to_owned(),
            |share| value(share.0, Unit::Percent),
        );
        format!(
            "{}: {} at {}, {share} of op time",
            point.name,
            of(point.flops_per_second, Unit::FlopPerSecond),
            of(point.flops_per_hbm_byte, Unit::FlopPerByte),
        )
    }
}

impl<'a> RooflineChart<'a> {
    /// The chart of `ops` of a report.
    pub fn of(
        report: &'a RooflineReport,
        ops: impl IntoIterator<Item = &'a RooflinePoint>,
    ) -> Self {
        let (beyond, ops): (Vec<_>, Vec<_>) =
            ops.into_iter().partition(|op| op.beyond_peak_of.is_some());
        let ops = ops
            .into_iter()
            .filter_map(|op| RooflineMark::of(op, MarkerKind::Circle, ColorRole::group(op.group)));
        let program = RooflineMark::of(&report.program, MarkerKind::Diamond, ColorRole::TextStrong);
        let step = report.average_step.as_ref();
        let step =
            step.and_then(|step| RooflineMark::of(step, MarkerKind::Square, ColorRole::Accent));
        let marks: Vec<_> = ops.chain(program).chain(step).collect();
        let longest = marks.first().filter(|mark| mark.kind == MarkerKind::Circle);
        let places = marks.iter().map(|mark| mark.place);
        let range = range(report, places, longest.map(|mark| mark.place));
        Self {
            report,
            marks,
            range,
            beyond: beyond.len(),
        }
    }

    /// Ops with a known place.
    pub fn ops(&self) -> impl Iterator<Item = &RooflineMark<'a>> + Clone {
        self.marks
            .iter()
            .filter(|mark| mark.kind == MarkerKind::Circle)
    }

    /// What it shows of a part of the trace.
    pub fn title(&self, scope: ReportScope) -> String {
        let device = self.report.peaks.device_type.as_deref();
        let part = match scope {
            ReportScope::Capture => String::new(),
            ReportScope::Range(range) => {
                format!(", {} from {}", range.dur(), range.start.since_origin())
            }
            ReportScope::Steps { first, last } if first == last => format!(", step {first}"),
            ReportScope::Steps { first, last } => format!(", steps {first} to {last}"),
        };
        format!("roofline of one {}{part}", device.unwrap_or("device"))
    }

    /// Where the plot lies in its drawing.
    pub fn area(&self, frame: &ChartFrame) -> PlotArea {
        let left = 7.5 * frame.font;
        PlotArea {
            left,
            top: 6.0,
            width: frame.width - left - 14.0,
            height: frame.height - 6.0 - 4.0 * frame.font,
            range: self.range,
            font: frame.font,
        }
    }

    /// Names of ceilings, of the program and of the longest ops.
    fn names(&self, drawing: &mut Drawing, area: &PlotArea, ceilings: &[RooflineCeiling]) {
        let line = |ceiling: &RooflineCeiling| [area.point(ceiling.from), area.point(ceiling.to)];
        let mut places = LabelPlaces::new(area, ceilings.iter().map(line).collect());
        let is_sum = |kind| kind != MarkerKind::Circle;
        let sums = self.marks.iter().filter(|mark| is_sum(mark.kind));
        // The longest op has a name before all else.
        let mut named = self.ops().take(NAMED);
        let named = named.next().into_iter().chain(sums.clone()).chain(named);
        for mark in sums.chain(self.ops().take(UNCOVERED)) {
            places.keep_free(area.point(mark.place), mark.radius + MARGIN);
        }
        let of_ceilings = |drawing: &mut Drawing, places: &mut LabelPlaces| {
            for ceiling in ceilings.iter().filter(|ceiling| !ceiling.name.is_empty()) {
                let place = |name| Some((places.find_clear(name, ceiling.places(area))?, name));
                if let Some(((position, anchor), name)) = ceiling.names().find_map(place) {
                    drawing.label(position, anchor, area.font, ceiling.ink(), name);
                }
            }
        };
        let mut ceilings_have_names = false;
        for (nth, mark) in named.enumerate() {
            // Names of the program and the step have places beside their marks only; those of ceilings have others.
            if nth > 0 && !is_sum(mark.kind) && !std::mem::replace(&mut ceilings_have_names, true) {
                of_ceilings(drawing, &mut places);
            }
            let (name, color) = match mark.kind {
                MarkerKind::Circle => {
                    (shortened(&mark.point.name, LETTERS), ColorRole::Text.into())
                }
                MarkerKind::Diamond => ("program".to_owned(), mark.ink),
                MarkerKind::Square => ("average step".to_owned(), mark.ink),
            };
            let beside = around(area.point(mark.place), mark.radius + MARGIN, area.font);
            if let Some((position, anchor)) = places.find(&name, beside) {
                drawing.label(position, anchor, area.font, color, &name);
            }
        }
        if !ceilings_have_names {
            of_ceilings(drawing, &mut places);
        }
    }
}

impl Chart for RooflineChart<'_> {
    fn legend(&self, _: &ChartFrame) -> Vec<ChartSwatch> {
        let occurs = |group: &OpGroup| self.ops().any(|mark| mark.point.group == *group);
        let groups = OpGroup::ALL
            .into_iter()
            .filter(occurs)
            .map(|group| ChartSwatch::new(ColorRole::group(group), group.title()));
        let sum = |kind, title: &'static str| {
            let mark = self.marks.iter().find(|mark| mark.kind == kind);
            mark.map(|mark| ChartSwatch::new(mark.ink, title))
        };
        let dashed = self.report.ici.as_ref().map(|_| ChartSwatch {
            about: ABOUT_DASHED,
            ..ChartSwatch::new(RooflineRoof::Links.ink(), DASHED)
        });
        let beyond = (self.beyond > 0).then(|| {
            let ops = counted(self.beyond as u64, "op");
            ChartSwatch {
                about: ABOUT_BEYOND,
                ..ChartSwatch::new(ColorRole::Warning, format!("{ops} above a peak, not drawn"))
            }
        });
        groups
            .chain(sum(MarkerKind::Diamond, "program (diamond)"))
            .chain(sum(MarkerKind::Square, "average step (square)"))
            .chain(dashed)
            .chain(beyond)
            .collect()
    }

    fn draw(&self, frame: &ChartFrame) -> Drawing {
        let area = self.area(frame);
        let mut drawing = Drawing::new(frame.width, frame.height, ColorRole::Panel);
        let (left, top, width, height) = (area.left, area.top, area.width, area.height);
        drawing.rect(left, top, width, height, ColorRole::Canvas, "");
        for decade in decades(self.range.x) {
            let x = area.x_of(decade.into());
            drawing.line((x, area.top), (x, area.bottom()), ColorRole::Edge, 0.6);
        }
        let marks = |range, unit| {
            decades(range).map(move |decade| (f64::from(decade), power_of_ten(decade, unit)))
        };
        area.x_marks(&mut drawing, marks(self.range.x, Unit::None));
        area.y_marks(&mut drawing, marks(self.range.y, Unit::FlopPerSecond));
        drawing.text(
            area.left + area.width / 2.0,
            area.bottom() + 2.8 * frame.font,
            Anchor::Middle,
            frame.font,
            ColorRole::Text,
            "FLOP per byte of HBM traffic",
        );
        drawing.begin_clip(left, top, width, height);
        let ceilings = ceilings(self.report, self.range);
        for ceiling in &ceilings {
            let (from, to) = (area.point(ceiling.from), area.point(ceiling.to));
            match ceiling.roof {
                RooflineRoof::Links => drawing.dashed_line(from, to, ceiling.ink()),
                RooflineRoof::Memory => drawing.line(from, to, ceiling.ink(), 1.0),
                RooflineRoof::Compute | RooflineRoof::Hbm => {
                    drawing.line(from, to, ceiling.ink(), 2.0);
                }
            }
        }
        // The largest lie below the others, the program and the step on top.
        let ops = self.ops().count();
        let (ops, sums) = self.marks.split_at(ops);
        for mark in ops.iter().rev().chain(sums) {
            let title = frame.titled(|| mark.title());
            drawing.marker(
                mark.kind,
                area.point(mark.place),
                mark.radius,
                mark.ink,
                title,
            );
        }
        for (number, mark) in self.marks.iter().enumerate() {
            let (x, y) = area.point(mark.place);
            drawing.hit(x - REACH, y - REACH, 2.0 * REACH, 2.0 * REACH, number);
        }
        self.names(&mut drawing, &area, &ceilings);
        drawing.end_clip();
        drawing
    }
}

fn decades((from, to): (f64, f64)) -> impl Iterator<Item = i32> {
    (from.ceil() as i32..=to.floor() as i32).take(60)
}

/// A range in decades that contains all of `places` but the farthest, the longest op, and the ridge point.
fn range(
    report: &RooflineReport,
    places: impl Iterator<Item = PlotPlace> + Clone,
    longest: Option<PlotPlace>,
) -> PlotRange {
    let ridge = report
        .ridges
        .iter()
        .map(|ridge| ridge.flops_per_byte.log10())
        .fold(2.0, f64::max);
    let peak = report
        .peaks
        .flops
        .map_or(14.0, |peak| peak.per_second.log10());
    // Ops with almost no work would compress the range of all others.
    let left = places
        .clone()
        .map(|place| place.0)
        .fold(0.0, f64::min)
        .max(-3.0);
    let right = places
        .clone()
        .map(|place| place.0)
        .fold(ridge + 1.0, f64::max)
        .min(ridge + 3.0);
    let low = places
        .map(|place| place.1)
        .fold(peak - 3.0, f64::min)
        .max(peak - 6.0);
    let (x, y) = longest.unwrap_or((left, low));
    PlotRange {
        // Room for half of the farthest marker.
        x: (
            left.floor().min(x - AROUND_LONGEST),
            (right + 0.06).max(x + AROUND_LONGEST),
        ),
        y: (low.floor().min(y - AROUND_LONGEST), peak + 0.4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use analysis::hardware::limits::BoundBy;

    fn report() -> Arc<RooflineReport> {
        use analysis::reports::Roofline;
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../assets/samples/synthetic_v6e_4chip_padded.xplane.pb"
        );
        let session = session::Session::open(
            path.as_ref(),
            &importers::ImportOptions::default(),
            analysis::Options::default(),
            &Progress::default(),
        )
        .unwrap();
        session
            .report::<Roofline>(analysis::Scope::WholeTrace)
            .unwrap()
    }

    #[test]
    fn reading_and_writing_share_the_name_of_the_upper_line() {
        let report = report();
        let chart = RooflineChart::of(&report, []);
        let named = ceilings(&report, chart.range);
        let named = named.iter().filter(|own| own.roof == RooflineRoof::Memory);
        let names: Vec<&str> = named.map(|own| own.name.as_str()).collect();
        assert_eq!(names, ["VMEM read 23.30 TB/s, write 16.13 TB/s", ""]);
        let named = ceilings(&report, chart.range);
        let named = named.iter().filter(|own| own.roof == RooflineRoof::Links);
        let names: Vec<&str> = named.map(|own| own.name.as_str()).collect();
        let links = "ICI, one link 100.0 GB/s, all links 400.0 GB/s";
        assert_eq!(names, [links, ""]);
    }

    fn texts(report: &RooflineReport, width: f32, height: f32) -> Vec<String> {
        texts_of(&RooflineChart::of(report, []), width, height)
    }

    /// The texts of a chart of this size.
    fn texts_of(chart: &RooflineChart<'_>, width: f32, height: f32) -> Vec<String> {
        let frame = ChartFrame {
            width,
            height,
            font: 11.0,
            times: crate::time_format::TimeFormat::Digits,
            has_titles: false,
        };
        let drawing = chart.draw(&frame);
        let shapes = drawing.shapes.into_iter();
        let text = |shape| match shape {
            crate::drawing::DrawingShape::Text { text, .. } => Some(text),
            _ => None,
        };
        shapes.filter_map(text).collect()
    }

    #[test]
    fn names_of_ceilings_are_short_where_long_ones_would_lie_on_other_lines() {
        let report = report();
        let hbm = |texts: Vec<String>| texts.into_iter().find(|text| text.starts_with("HBM"));
        let wide = hbm(texts(&report, 1600.0, 600.0));
        assert_eq!(wide.as_deref(), Some("HBM 1.638 TB/s"));
        assert_eq!(hbm(texts(&report, 400.0, 300.0)).as_deref(), Some("HBM"));
    }

    #[test]
    fn ops_above_a_peak_are_counted_not_drawn() {
        let report = report();
        let op = |beyond_peak_of| RooflinePoint {
            flops_per_hbm_byte: Some(100.0),
            flops_per_second: Some(1e15),
            beyond_peak_of,
            ..RooflinePoint::default()
        };
        let ops = [None, Some(BoundBy::Compute), Some(BoundBy::Hbm)].map(op);
        let chart = RooflineChart::of(&report, &ops);
        assert_eq!(chart.ops().count(), 1);
        let frame = ChartFrame {
            width: 400.0,
            height: 300.0,
            font: 11.0,
            times: crate::time_format::TimeFormat::Digits,
            has_titles: false,
        };
        let legend = chart.legend(&frame);
        let last = legend.last().map(|swatch| &*swatch.title);
        assert_eq!(last, Some("2 ops above a peak, not drawn"));
    }

    #[test]
    fn the_longest_op_is_inside_and_has_its_name() {
        let report = report();
        let place = |intensity, speed| RooflinePoint {
            name: "copy-done.1".into(),
            flops_per_hbm_byte: Some(intensity),
            flops_per_second: Some(speed),
            ..RooflinePoint::default()
        };
        for (intensity, speed) in [(5.5e6, 1e13), (1e-5, 1e7), (100.0, 1e14)] {
            let ops = [place(intensity, speed), place(10.0, 1e12)];
            let chart = RooflineChart::of(&report, &ops);
            let (x, y) = chart.marks[0].place;
            let range = chart.range;
            assert!(range.x.0 < x - 0.4 && x + 0.4 < range.x.1, "{range:?}");
            assert!(range.y.0 < y - 0.4 && y < range.y.1, "{range:?}");
            assert!(texts_of(&chart, 400.0, 300.0).contains(&"copy-done.1".to_owned()));
        }
    }

    #[test]
    fn ceiling_labels_lie_beside_their_slopes() {
        let area = PlotArea {
            left: 0.0,
            top: 0.0,
            width: 800.0,
            height: 400.0,
            range: PlotRange {
                x: (0.0, 8.0),
                y: (10.0, 14.0),
            },
            font: 10.0,
        };
        let ceiling = |x: f64, roof| RooflineCeiling {
            name: "VMEM 100 GB/s".to_owned(),
            from: (x, 10.0),
            to: (x + 4.0, 14.0),
            roof,
        };
        let all = [0.0, 0.3].map(|x| ceiling(x, RooflineRoof::Memory));
        let line = |ceiling: &RooflineCeiling| [area.point(ceiling.from), area.point(ceiling.to)];
        let mut places = LabelPlaces::new(&area, all.iter().map(line).collect());
        let mut own = |ceiling: &RooflineCeiling| places.find(&ceiling.name, ceiling.places(&area));
        // Above its slope, because the other one is close below it.
        assert_eq!(own(&all[0]).map(|place| place.1), Some(Anchor::End));
        assert_eq!(own(&all[1]).map(|place| place.1), Some(Anchor::Start));
    }
}
