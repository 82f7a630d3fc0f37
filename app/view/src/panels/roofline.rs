//! Positions in a roofline plot: operations per second against operations per byte of HBM traffic, both logarithmic.

use analysis::Unit;
use analysis::hardware::limits::BoundBy;
use analysis::reports::ops::roofline::{IciRoof, RooflinePoint, RooflineReport};

use session::number::value;

/// Note on the ceilings of links, because the axis counts other bytes.
pub const OF_ICI: &str = "per byte over ICI, not HBM";
/// The note on the ceilings of links in full.
pub const ABOUT_ICI: &str = "Dashed: FLOP/s that links between chips allow, per byte that goes over them. \
    The axis counts bytes of HBM, which links do not limit: do not compare ops with these lines.";

/// A position in decades: operations per byte, operations per second.
pub type PlotPlace = (f64, f64);

/// The position of a point; `None` without work, traffic or time.
pub fn place(point: &RooflinePoint) -> Option<PlotPlace> {
    let log = |value: Option<f64>| value.filter(|value| *value > 0.0).map(f64::log10);
    Some((log(point.flops_per_hbm_byte)?, log(point.flops_per_second)?))
}

/// The visible range, in decades.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotRange {
    /// Operations per byte.
    pub x: (f64, f64),
    /// Operations per second.
    pub y: (f64, f64),
}

impl PlotRange {
    /// A range that contains all of `places` but the farthest, and the ridge point.
    pub fn of(report: &RooflineReport, places: impl Iterator<Item = PlotPlace> + Clone) -> Self {
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
        Self {
            x: (left.floor(), right),
            y: (low.floor(), peak + 0.4),
        }
    }
}

/// The kind of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RooflineRoof {
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
pub struct RooflineCeiling {
    /// Name with its rate.
    pub name: String,
    pub from: PlotPlace,
    pub to: PlotPlace,
    /// The kind of limit.
    pub roof: RooflineRoof,
}

/// Whether a ceiling runs through a box: left, bottom, right, top.
fn crosses(ceiling: &RooflineCeiling, own: &[f64; 4]) -> bool {
    let (from, to) = (ceiling.from, ceiling.to);
    let (start, end) = (own[0].max(from.0), own[2].min(to.0));
    let at =
        |x: f64| from.1 + (x - from.0) * (to.1 - from.1) / (to.0 - from.0).max(f64::MIN_POSITIVE);
    start < end && at(start) < own[3] && own[1] < at(end)
}

/// Positions of the names of ceilings. The name of the flat ceiling ends at its right end; the others are below their
/// slope, or above it where another slope is close, as far left as possible without touching another name. `None` if there is no such position. `size` is the
/// size of a name in decades, and `right` the edge that no name crosses.
///
/// Slopes converge at the top, so names are near their lower end, but high enough to be inside the plot.
pub fn name_places(
    ceilings: &[RooflineCeiling],
    right: f64,
    size: impl Fn(&str) -> PlotPlace,
) -> Vec<Option<PlotPlace>> {
    const STEP: f64 = 0.125;
    let left = ceilings
        .iter()
        .map(|ceiling| ceiling.from.0)
        .fold(f64::INFINITY, f64::min);
    let top = ceilings
        .iter()
        .map(|ceiling| ceiling.to.1)
        .fold(f64::NEG_INFINITY, f64::max);
    let mut taken: Vec<[f64; 4]> = Vec::new();
    let place = |ceiling: &RooflineCeiling| {
        let ((width, height), (from, to)) = (size(&ceiling.name), (ceiling.from, ceiling.to));
        let candidates: Vec<(PlotPlace, [f64; 4])> = if ceiling.roof == RooflineRoof::Compute {
            vec![(to, [to.0 - width, to.1, to.0, to.1 + height])]
        } else {
            // The slope is one: a decade up for each decade to the right.
            let steps = ((to.0 - from.0) / STEP).clamp(2.0, 200.0) as u32;
            let along = (2..=steps).map(|step| from.0 + f64::from(step) * STEP);
            along
                .map(|x| {
                    let y = from.1 + x - from.0;
                    // At the right edge the name begins left of its slope.
                    let x = x.min(right - width);
                    ((x, y), [x, y - height, x + width, y])
                })
                .collect()
        };
        let is_clear = |own: &[f64; 4]| {
            ceilings
                .iter()
                .all(|other| other == ceiling || !crosses(other, own))
        };
        let is_free = |own: &[f64; 4]| {
            taken.iter().all(|other| {
                own[2] <= other[0] || other[2] <= own[0] || own[3] <= other[1] || other[3] <= own[1]
            })
        };
        // Where slopes are close to each other, only the outermost has room for its name above it.
        let above = candidates.iter().map(|&((_, y), _)| {
            let x = from.0 + y - from.1;
            ((x - width, y + height), [x - width, y, x, y + height])
        });
        let is_inside = |own: &[f64; 4]| own[0] >= left && own[2] <= right && own[3] <= top;
        let above =
            above.filter(|(_, own)| ceiling.roof != RooflineRoof::Compute && is_inside(own));
        let clear = candidates
            .iter()
            .copied()
            .chain(above)
            .find(|(_, own)| is_free(own) && is_clear(own));
        let (at, own) =
            clear.or_else(|| candidates.iter().copied().find(|(_, own)| is_free(own)))?;
        taken.push(own);
        Some(at)
    };
    ceilings.iter().map(place).collect()
}

/// The ceilings of each memory and of links: slopes up to the flat ceiling of compute, which comes first.
pub fn ceilings(report: &RooflineReport, range: PlotRange) -> Vec<RooflineCeiling> {
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
        let name = format!(
            "{} {}",
            limit.title(),
            value(peak.per_second, Unit::BytesPerSecond)
        );
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
    fn name_between_two_slopes_moves_above_its_own() {
        let ceiling = |x: f64| RooflineCeiling {
            name: String::new(),
            from: (x, 10.0),
            to: (x + 4.0, 14.0),
            roof: RooflineRoof::Memory,
        };
        let all = [ceiling(0.0), ceiling(0.8)];
        let size = (1.0, 0.3);
        let places = name_places(&all, 20.0, |_| size);
        for (at, other) in places.into_iter().zip(all.iter().rev()) {
            let (x, y) = at.unwrap();
            let own = [x, y - size.1, x + size.0, y];
            assert!(!crosses(other, &own), "{own:?}");
        }
        assert!(crosses(&all[0], &[0.5, 10.4, 1.5, 10.7]));
        assert!(!crosses(&all[0], &[0.5, 9.0, 1.5, 10.4]));
    }

    #[test]
    fn ceiling_labels_do_not_overlap() {
        let ceiling = |name: &str, x: f64, roof| RooflineCeiling {
            name: name.to_owned(),
            from: (x, 10.0),
            to: (x + 4.0, 14.0),
            roof,
        };
        let all = [
            ceiling("read", 0.0, RooflineRoof::Memory),
            ceiling("write", 0.1, RooflineRoof::Memory),
            ceiling("peak", 0.0, RooflineRoof::Compute),
        ];
        let places = name_places(&all, 20.0, |_| (1.0, 0.3));
        let [Some(read), Some(write), Some(peak)] = places[..] else {
            panic!("{places:?}")
        };
        // Above its slope, because the other one is close below it.
        assert_eq!((read, peak), ((0.0, 11.3), (4.0, 14.0)));
        assert!(
            (write.0 - read.0).abs() >= 1.0 || (write.1 - read.1).abs() >= 0.3,
            "{write:?}"
        );
        // Two wide names near the right edge: neither crosses it.
        let places = name_places(&all[..2], 2.0, |_| (1.9, 0.3));
        assert!(
            places
                .iter()
                .all(|place| place.is_some_and(|(x, _)| x + 1.9 <= 2.0 + 1e-9)),
            "{places:?}"
        );
        // No room for a second one.
        assert_eq!(name_places(&all[..2], 20.0, |_| (9.0, 9.0))[1], None);
    }
}
