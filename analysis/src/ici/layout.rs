//! How the participants of a collective can lie on the grid.

use serde::Serialize;

use super::topology::{Axis, Topology, chip_dims, may_wrap};
use crate::chips::Chip;

/// One way in which the devices of a replica group can lie.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layout {
    /// The axes that they fill.
    pub axes: Vec<Axis>,
    /// Devices of one chip that are in the same group.
    pub devices_per_chip: u64,
    /// Groups that share the links of one chip.
    pub groups_per_chip: u64,
}

impl Layout {
    /// Chips in the group.
    pub fn chips(&self) -> u64 {
        self.axes.iter().map(|axis| axis.len).product()
    }

    /// Links over which the worst placed chip receives.
    pub fn links(&self) -> f64 {
        self.axes.iter().map(|axis| if axis.wraps { 2.0 } else { 1.0 }).sum()
    }

    /// Hops to the farthest chip.
    pub fn hops(&self) -> u64 {
        self.axes.iter().map(|axis| if axis.wraps { axis.len.div_ceil(2) } else { axis.len - 1 }).sum()
    }
}

/// Every layout of `n` devices that the grid, or else the generation, allows.
///
/// Where the grid is known, a group fills whole axes; where no axes multiply to
/// its size, it takes parts of axes, which do not wrap. Where the grid is not
/// known, every factorisation of `n` into at most as many axes as the generation
/// has is possible, wrapped where the generation can wrap it. A chip with two
/// devices may have both in one group or each in its own. Empty where the group is
/// larger than the largest pod, or may stay on one chip.
pub fn layouts(n: u64, chip: &Chip, topology: Option<&Topology>) -> Vec<Layout> {
    let Some(links) = chip.links else { return Vec::new() };
    let devices = u64::from(chip.devices);
    if n <= devices || n > u64::from(links.max_chips) * devices {
        return Vec::new();
    }
    let on_chips = |chips: u64| match topology {
        Some(topology) => on_grid(chips, &topology.axes(chip)),
        None => anywhere(chips, chip),
    };
    let with = |chips: u64, devices_per_chip: u64| {
        let groups_per_chip = devices / devices_per_chip;
        on_chips(chips).into_iter().map(move |axes| Layout { axes, devices_per_chip, groups_per_chip })
    };
    let mut out: Vec<Layout> = with(n, 1).collect();
    if devices > 1 && n.is_multiple_of(devices) {
        out.extend(with(n / devices, devices));
    }
    out
}

/// Sets of whole axes with `n` chips, else parts of axes.
fn on_grid(n: u64, axes: &[Axis]) -> Vec<Vec<Axis>> {
    let sets = (1_u32..1 << axes.len()).map(|bits| {
        axes.iter().enumerate().filter(|(i, _)| bits & (1 << i) != 0).map(|(_, &axis)| axis).collect::<Vec<_>>()
    });
    let mut whole: Vec<Vec<Axis>> = sets.filter(|set| set.iter().map(|axis| axis.len).product::<u64>() == n).collect();
    if whole.is_empty() {
        let mut longest: Vec<u64> = axes.iter().map(|axis| axis.len).collect();
        longest.sort_unstable();
        let fits = |lens: &Vec<u64>| {
            // Both ascending: the longest parts need the longest axes.
            lens.iter().rev().zip(longest.iter().rev()).all(|(len, axis)| len <= axis) && lens.len() <= longest.len()
        };
        let parts = factorisations(n, axes.len() as u32).into_iter().filter(fits);
        whole = parts.map(|lens| lens.into_iter().map(|len| Axis { len, wraps: false }).collect()).collect();
    }
    for set in &mut whole {
        set.sort_unstable();
    }
    whole.sort_unstable();
    whole.dedup();
    whole
}

/// All factorisations, without wrapping and with as much of it as can be.
fn anywhere(n: u64, chip: &Chip) -> Vec<Vec<Axis>> {
    let is_pod = |len: u64| chip_dims(chip) < 3 && may_wrap(chip, len);
    let mut out = Vec::new();
    for lens in factorisations(n, chip_dims(chip)) {
        let plain: Vec<Axis> = lens.iter().map(|&len| Axis { len, wraps: is_pod(len) }).collect();
        let wrapped: Vec<Axis> = lens.iter().map(|&len| Axis { len, wraps: may_wrap(chip, len) }).collect();
        if wrapped != plain {
            out.push(wrapped);
        }
        out.push(plain);
    }
    out
}

/// `n` as products of at most `parts` factors above one, ascending; `n` itself first.
fn factorisations(n: u64, parts: u32) -> Vec<Vec<u64>> {
    fn extend(n: u64, least: u64, parts: u32, chosen: &mut Vec<u64>, out: &mut Vec<Vec<u64>>) {
        if parts == 0 || n < least {
            return;
        }
        out.push(chosen.iter().copied().chain([n]).collect());
        let mut factor = least;
        while factor.checked_mul(factor).is_some_and(|square| square <= n) {
            if n.is_multiple_of(factor) {
                chosen.push(factor);
                extend(n / factor, factor, parts - 1, chosen, out);
                chosen.pop();
            }
            factor += 1;
        }
    }
    let mut out = Vec::new();
    extend(n, 2, parts, &mut Vec::new(), &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(n: u64, chip: &str, topology: Option<&str>) -> Vec<String> {
        let topology = topology.map(|text| text.parse::<Topology>().unwrap());
        let text = |axis: &Axis| format!("{}{}", axis.len, if axis.wraps { "w" } else { "" });
        layouts(n, Chip::named(chip).unwrap(), topology.as_ref())
            .iter()
            .map(|layout| {
                let axes: Vec<String> = layout.axes.iter().map(text).collect();
                let devices = layout.devices_per_chip;
                format!("{}{}", axes.join("x"), if devices > 1 { format!(" /{devices}") } else { String::new() })
            })
            .collect()
    }

    #[test]
    fn without_a_topology_everything_that_the_generation_allows() {
        assert_eq!(texts(4, "v6e", None), ["4", "2x2"]);
        assert_eq!(texts(16, "v5e", None), ["16w", "2x8", "4x4"]);
        assert_eq!(texts(8, "v5p", None), ["8w", "8", "2x4w", "2x4", "2x2x2"]);
        assert_eq!(texts(7, "v5p", None), ["7"]);
    }

    #[test]
    fn a_group_fills_axes_of_the_grid() {
        assert_eq!(texts(4, "v5p", Some("4x4x8")), ["4w"]);
        assert_eq!(texts(32, "v5p", Some("4x4x8")), ["4wx8w"]);
        assert_eq!(texts(128, "v5p", Some("4x4x8")), ["4wx4wx8w"]);
        assert_eq!(texts(4, "v6e", Some("2x2")), ["2x2"]);
        // Half of an axis, or a corner: nothing wraps.
        assert_eq!(texts(2, "v5p", Some("4x4x4")), ["2"]);
        assert_eq!(texts(8, "v5e", Some("4x4")), ["2x4"]);
        assert_eq!(texts(64, "v5e", Some("4x4")), Vec::<String>::new());
    }

    #[test]
    fn two_devices_of_a_chip_may_be_in_one_group() {
        assert_eq!(texts(2, "v7x", None), Vec::<String>::new());
        assert_eq!(texts(4, "v7x", None), ["4w", "4", "2x2", "2 /2"]);
        assert_eq!(texts(4, "v7x", Some("2x2x1")), ["2x2", "2 /2"]);
    }

    #[test]
    fn groups_beyond_a_pod_have_no_layout() {
        assert!(texts(1 << 40, "v5p", None).is_empty());
        assert!(texts(512, "v6e", None).is_empty());
        assert!(texts(1, "v6e", None).is_empty() && texts(0, "v6e", None).is_empty());
        assert!(texts(4, "v2", None).is_empty());
    }
}
