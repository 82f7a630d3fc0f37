//! The ceilings of a roofline: lines of the matrix units, of each memory and of links.

use crate::prelude::*;
use analysis::hardware::limits::BoundBy;
use analysis::reports::RooflineReport;
use analysis::reports::ops::roofline::IciRoof;
use session::number::value;

use crate::drawing::{Anchor, ColorRole, DrawingPoint, Ink, PlotArea, PlotPlace, PlotRange};

/// The kind of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RooflineRoof {
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
#[derive(Debug)]
pub(super) struct RooflineCeiling {
    /// Name with its rate.
    pub name: String,
    pub from: PlotPlace,
    pub to: PlotPlace,
    pub roof: RooflineRoof,
}

impl RooflineRoof {
    pub fn ink(self) -> Ink {
        match self {
            Self::Compute | Self::Hbm => ColorRole::Text,
            Self::Memory => ColorRole::TextWeak,
            // The colour of a category alone is too pale for a thin line and its name.
            Self::Links => {
                let group_ink = Ink::from(ColorRole::group(OpGroup::Collective));
                return group_ink.over(ColorRole::TextStrong, 0.55);
            }
        }
        .into()
    }
}

impl RooflineCeiling {
    pub fn ink(&self) -> Ink {
        self.roof.ink()
    }

    /// Its name; then, for places with less room, only what it is of.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let short = self
            .name
            .split([' ', ','])
            .next()
            .filter(|_| self.roof != RooflineRoof::Compute);
        std::iter::once(&*self.name).chain(short)
    }

    /// Places for its name: above the right end of the flat ceiling; above a slope or below it, from the lower end on,
    /// because slopes converge at the top.
    pub fn places(&self, area: &PlotArea) -> impl Iterator<Item = (DrawingPoint, Anchor)> {
        const TRIES: u8 = 40;
        let ((x1, y1), (x2, y2)) = (area.point(self.from), area.point(self.to));
        let (is_flat, down) = (self.roof == RooflineRoof::Compute, 0.9 * area.font);
        let along = move |share: f32| (x1 + share * (x2 - x1), y1 + share * (y2 - y1));
        let shares = (0..=TRIES).map(|k| f32::from(k) / f32::from(TRIES));
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
pub(super) fn ceilings(report: &RooflineReport, range: PlotRange) -> Vec<RooflineCeiling> {
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
    // Links have their own traffic, too: the bytes that leave the device, which are far fewer than those of HBM. Between
    // their lines is no room: they share a name, at the lowest one.
    let links: Vec<(&str, f64)> = report.ici.iter().flat_map(IciRoof::ceilings).collect();
    let lowest = links.iter().map(|(_, peak)| *peak).reduce(f64::min);
    let rate =
        |(title, peak): &(&str, f64)| format!("{title} {}", value(*peak, Unit::BytesPerSecond));
    let mut shared = joined(links.iter().map(rate), ", ").replace(", ICI,", ",");
    for (_, peak) in links {
        let slope = peak.log10();
        let (from, end) = (begin(slope), (top - slope).min(range.x.1));
        let name = if Some(peak) == lowest {
            std::mem::take(&mut shared)
        } else {
            String::new()
        };
        all.push(RooflineCeiling {
            name,
            from: (from, slope + from),
            to: (end, slope + end),
            roof: RooflineRoof::Links,
        });
    }
    all
}
