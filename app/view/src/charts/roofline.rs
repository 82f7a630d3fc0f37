//! The roofline: operations per second against operations per byte of HBM traffic, both logarithmic; one ceiling per
//! memory, one marker per op.

use analysis::hardware::limits::BoundBy;
use analysis::reports::ops::roofline::{IciRoof, RooflinePoint, RooflineReport};
use analysis::{OpGroup, Unit};
use session::number::value;

use super::{Chart, ChartFrame, ChartSwatch};
use crate::drawing::{
    Anchor, ColorRole, Drawing, DrawingPoint, Ink, LabelPlaces, MarkerKind, PlotArea, PlotPlace,
    PlotRange, around, power_of_ten, shortened,
};
use crate::state::ReportScope;

/// Note on the ceilings of links, because the axis counts other bytes.
const DASHED: &str = "dashed: per byte over ICI, not HBM";
/// The note in full.
const ABOUT_DASHED: &str = "Dashed: FLOP/s that links between chips allow, per byte that goes over them. \
    The axis counts bytes of HBM, which links do not limit: do not compare ops with these lines.";
/// Number of ops with a name, if there is room.
const NAMED: usize = 3;
/// Number of ops that no name covers.
const UNCOVERED: usize = 40;
/// Letters of the name of an op.
const LETTERS: usize = 30;
/// Distance at which the pointer reaches a marker.
const REACH: f32 = 14.0;
/// Space around markers that names leave free.
const MARGIN: f32 = 2.0;

/// Ops, the program and the average step below their ceilings.
pub struct RooflineChart<'a> {
    report: &'a RooflineReport,
    /// Ops, the longest first; then the program and the average step.
    pub marks: Vec<RooflineMark<'a>>,
    /// The visible part of the axes, in decades.
    pub range: PlotRange,
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
        let of = |own: Option<f64>, unit| value(own.unwrap_or(f64::NAN), unit);
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
        let ops = ops
            .into_iter()
            .filter_map(|op| RooflineMark::of(op, MarkerKind::Circle, ColorRole::group(op.group)));
        let program = RooflineMark::of(&report.program, MarkerKind::Diamond, ColorRole::TextStrong);
        let step = report.average_step.as_ref();
        let step =
            step.and_then(|step| RooflineMark::of(step, MarkerKind::Square, ColorRole::Accent));
        let marks: Vec<_> = ops.chain(program).chain(step).collect();
        let range = range(report, marks.iter().map(|mark| mark.place));
        Self {
            report,
            marks,
            range,
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
        let sums = self
            .marks
            .iter()
            .filter(|mark| mark.kind != MarkerKind::Circle);
        let named = sums.chain(self.ops().take(NAMED));
        let seen = self
            .marks
            .iter()
            .filter(|mark| mark.kind != MarkerKind::Circle);
        for mark in seen.chain(self.ops().take(UNCOVERED)) {
            places.keep_free(area.point(mark.place), mark.radius + MARGIN);
        }
        let of_ceilings = |drawing: &mut Drawing, places: &mut LabelPlaces| {
            for ceiling in ceilings.iter().filter(|ceiling| !ceiling.name.is_empty()) {
                let found = places.find(&ceiling.name, ceiling.places(area));
                if let Some((at, anchor)) = found {
                    drawing.label(at, anchor, area.font, ceiling.ink(), &ceiling.name);
                }
            }
        };
        let is_sum = |kind| kind != MarkerKind::Circle;
        let mut ceilings_have_names = false;
        for mark in named {
            // Names of the program and the step have places beside their marks only; those of ceilings have others.
            if !is_sum(mark.kind) && !std::mem::replace(&mut ceilings_have_names, true) {
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
            if let Some((at, anchor)) = places.find(&name, beside) {
                drawing.label(at, anchor, area.font, color, &name);
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
        groups
            .chain(sum(MarkerKind::Diamond, "program (diamond)"))
            .chain(sum(MarkerKind::Square, "average step (square)"))
            .chain(dashed)
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

/// A range in decades that contains all of `places` but the farthest, and the ridge point.
fn range(report: &RooflineReport, places: impl Iterator<Item = PlotPlace> + Clone) -> PlotRange {
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
    PlotRange {
        // Room for half of the farthest marker.
        x: (left.floor(), right + 0.06),
        y: (low.floor(), peak + 0.4),
    }
}

/// The kind of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RooflineRoof {
    /// The matrix units.
    Compute,
    /// HBM, whose bytes the axis counts.
    Hbm,
    /// Another memory, with its own bytes.
    Memory,
    /// Links to other chips, with their own bytes.
    Links,
}

/// A ceiling: a line of the plot.
#[derive(Clone, Debug, PartialEq)]
struct RooflineCeiling {
    /// Name with its rate.
    name: String,
    from: PlotPlace,
    to: PlotPlace,
    roof: RooflineRoof,
}

impl RooflineRoof {
    fn ink(self) -> Ink {
        match self {
            Self::Compute | Self::Hbm => ColorRole::Text,
            Self::Memory => ColorRole::TextWeak,
            // The colour of a category alone is too pale for a thin line and its name.
            Self::Links => {
                let own = Ink::from(ColorRole::group(OpGroup::Collective));
                return own.over(ColorRole::TextStrong, 0.55);
            }
        }
        .into()
    }
}

impl RooflineCeiling {
    fn ink(&self) -> Ink {
        self.roof.ink()
    }

    /// Places for its name: above the right end of the flat ceiling; above a slope or below it, from the lower end on,
    /// because slopes converge at the top.
    fn places(&self, area: &PlotArea) -> impl Iterator<Item = (DrawingPoint, Anchor)> {
        const TRIES: u8 = 40;
        let ((x1, y1), (x2, y2)) = (area.point(self.from), area.point(self.to));
        let (is_flat, down) = (self.roof == RooflineRoof::Compute, 0.9 * area.font);
        let along = move |share: f32| (x1 + share * (x2 - x1), y1 + share * (y2 - y1));
        let shares = (0..=TRIES).map(|at| f32::from(at) / f32::from(TRIES));
        let below = shares.clone().filter(move |_| !is_flat).map(move |share| {
            let (x, y) = along(share);
            ((x + 6.0, y + down), Anchor::Start)
        });
        let above = shares.map(move |share| {
            let (x, y) = along(if is_flat { 1.0 - share } else { share });
            ((x - 5.0, y - down), Anchor::End)
        });
        above.chain(below)
    }
}

/// The other direction of a memory that is read and written at different rates.
fn beside(limit: BoundBy) -> Option<BoundBy> {
    match limit {
        BoundBy::VmemRead => Some(BoundBy::VmemWrite),
        BoundBy::VmemWrite => Some(BoundBy::VmemRead),
        BoundBy::CmemRead => Some(BoundBy::CmemWrite),
        BoundBy::CmemWrite => Some(BoundBy::CmemRead),
        BoundBy::Compute | BoundBy::Hbm | BoundBy::LinksOrWaiting => None,
    }
}

/// The ceilings of each memory and of links: slopes up to the flat ceiling of compute, which comes first.
fn ceilings(report: &RooflineReport, range: PlotRange) -> Vec<RooflineCeiling> {
    let mut all = Vec::new();
    let flat = report.peaks.flops.map(|peak| peak.per_second.log10());
    if let (Some(flat), Some(peak)) = (flat, report.peaks.flops) {
        let ridge = report
            .ridges
            .iter()
            .find(|ridge| ridge.memory == BoundBy::Hbm);
        let from = ridge.map_or(range.x.0, |ridge| ridge.flops_per_byte.log10());
        let name = format!("{} peak", value(peak.per_second, Unit::FlopPerSecond));
        all.push(RooflineCeiling {
            name,
            from: (from, flat),
            to: (range.x.1, flat),
            roof: RooflineRoof::Compute,
        });
    }
    let top = flat.unwrap_or(range.y.1);
    let begin = |slope: f64| range.x.0.max(range.y.0 - slope);
    for limit in BoundBy::ALL
        .into_iter()
        .filter(|limit| *limit != BoundBy::Compute)
    {
        let Some(peak) = limit.peak(&report.peaks) else {
            continue;
        };
        let slope = peak.per_second.log10();
        // Other memories have their own traffic: their slopes are drawn as if it were HBM traffic.
        let from = begin(slope);
        // The ceilings of reading and writing are close to each other.
        let is_write = matches!(limit, BoundBy::VmemWrite | BoundBy::CmemWrite);
        let from = if is_write {
            from + (top - slope - from) * 0.25
        } else {
            from
        };
        let roof = if limit == BoundBy::Hbm {
            RooflineRoof::Hbm
        } else {
            RooflineRoof::Memory
        };
        // Lines of reading and writing lie so close to each other that they share a name, at the upper one.
        let other = beside(limit).and_then(|other| other.peak(&report.peaks));
        let rate = |peak: f64| value(peak, Unit::BytesPerSecond);
        let name = match other.map(|other| other.per_second) {
            Some(other) if other > peak.per_second || (is_write && other >= peak.per_second) => {
                String::new()
            }
            Some(other) => {
                let memory = limit.title().split(' ').next().unwrap_or_default();
                let [read, write] = if is_write {
                    [other, peak.per_second]
                } else {
                    [peak.per_second, other]
                };
                format!("{memory} read {}, write {}", rate(read), rate(write))
            }
            None => format!("{} {}", limit.title(), rate(peak.per_second)),
        };
        all.push(RooflineCeiling {
            name,
            from: (from, slope + from),
            to: (top - slope, top),
            roof,
        });
    }
    // Links have their own traffic, too: the bytes that leave the device, which are far fewer than those of HBM.
    for (title, peak) in report.ici.iter().flat_map(IciRoof::ceilings) {
        let slope = peak.log10();
        let (from, end) = (begin(slope), (top - slope).min(range.x.1));
        let name = format!("{title} {}", value(peak, Unit::BytesPerSecond));
        all.push(RooflineCeiling {
            name,
            from: (from, slope + from),
            to: (end, slope + end),
            roof: RooflineRoof::Links,
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_and_writing_share_the_name_of_the_upper_line() {
        use analysis::reports::ops::roofline::Roofline;
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../assets/samples/synthetic_v6e_4chip_padded.xplane.pb"
        );
        let session = session::Session::open(
            path.as_ref(),
            &importers::ImportOptions::default(),
            analysis::Options::default(),
            &importers::Progress::default(),
        )
        .unwrap();
        let report = session
            .report::<Roofline>(analysis::Scope::WholeTrace)
            .unwrap();
        let chart = RooflineChart::of(&report, []);
        let named = ceilings(&report, chart.range);
        let named = named.iter().filter(|own| own.roof == RooflineRoof::Memory);
        let names: Vec<&str> = named.map(|own| own.name.as_str()).collect();
        assert_eq!(names, ["VMEM read 23.30 TB/s, write 16.13 TB/s", ""]);
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
