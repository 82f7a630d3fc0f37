//! Possible layouts of the participants of a collective on the grid.

use serde::Serialize;

use super::topology::{Axis, Topology, chip_dims, may_wrap};
use crate::chips::Chip;

/// A possible layout of the devices of a replica group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupLayout {
    /// The axes that the group fills.
    pub axes: Vec<Axis>,
    /// Devices of the group per chip.
    pub devices_per_chip: u64,
    /// Groups that share the links of one chip.
    pub groups_per_chip: u64,
    /// Hops from one chip of the group to the next: as many groups lie between each
    /// other and share the links.
    pub spacing: u64,
}

impl GroupLayout {
    /// Chips in the group.
    pub(crate) fn chips(&self) -> u64 {
        self.axes.iter().map(|axis| axis.len).product()
    }

    /// Links over which the worst placed chip receives.
    pub(crate) fn links(&self) -> f64 {
        self.axes
            .iter()
            .map(|axis| if axis.wraps { 2.0 } else { 1.0 })
            .sum()
    }

    /// Groups over which the speed of a link is divided.
    pub(crate) fn groups_per_link(&self) -> u64 {
        self.groups_per_chip * self.spacing
    }

    /// Hops to the farthest chip.
    pub(crate) fn hops(&self) -> u64 {
        let along = |axis: &Axis| {
            if axis.wraps {
                axis.len.div_ceil(2)
            } else {
                axis.len - 1
            }
        };
        self.axes.iter().map(along).sum::<u64>() * self.spacing
    }
}

/// Every layout of `n` devices that the grid, or else the generation, allows.
///
/// Where the grid is known, a group fills whole axes; where no axes multiply to
/// its size, it takes parts of axes, which do not wrap. Where the grid is not
/// known, every factorisation of `n` into at most as many axes as the generation
/// has is possible, wrapped where the generation can wrap it. A chip with two
/// devices may have both in one group or each in its own. Empty if the group is
/// larger than the largest pod, or may stay on one chip.
pub fn layouts(n: u64, chip: &Chip, topology: Option<&Topology>) -> Vec<GroupLayout> {
    let Some(links) = chip.links else {
        return Vec::new();
    };
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
        on_chips(chips).into_iter().map(move |axes| GroupLayout {
            axes,
            devices_per_chip,
            groups_per_chip,
            spacing: 1,
        })
    };
    let mut out: Vec<GroupLayout> = with(n, 1).collect();
    if devices > 1 && n.is_multiple_of(devices) {
        out.extend(with(n / devices, devices));
    }
    out
}

/// Layouts of groups whose members are known: numbered over the chips of
/// the grid, the first axis fastest. Where the grid is not known, every grid with
/// as many chips as all groups have is possible.
///
/// Ids that the program numbers are only devices where it says so
/// (`ids_are_devices`): else every other placement is possible too.
pub fn placed(
    groups: &[Vec<u64>],
    ids_are_devices: bool,
    chip: &Chip,
    topology: Option<&Topology>,
) -> Vec<GroupLayout> {
    let n = groups.iter().map(Vec::len).max().unwrap_or(0) as u64;
    let devices = u64::from(chip.devices);
    let chips = groups
        .iter()
        .map(|group| group.len() as u64)
        .sum::<u64>()
        .div_ceil(devices);
    let grids = match topology {
        Some(topology) => vec![
            topology
                .lens()
                .iter()
                .copied()
                .zip(topology.wraps(chip))
                .collect(),
        ],
        None if chips <= chip.links.map_or(0, |links| u64::from(links.max_chips)) => {
            grids(chips, chip)
        }
        None => Vec::new(),
    };
    let first = groups
        .iter()
        .max_by_key(|group| group.len())
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut out: Vec<GroupLayout> = grids
        .iter()
        .filter_map(|grid| on_chips_of(first, grid, devices))
        .collect();
    if n <= devices && out.iter().any(|layout| layout.axes.is_empty()) {
        return Vec::new(); // The whole group is on one chip.
    }
    out.retain(|layout| !layout.axes.is_empty());
    if !ids_are_devices || out.is_empty() {
        out.extend(layouts(n, chip, topology));
    }
    out.sort_by(|a, b| {
        (a.spacing, &a.axes, a.devices_per_chip).cmp(&(b.spacing, &b.axes, b.devices_per_chip))
    });
    out.dedup();
    out
}

/// Every grid of this many chips that the generation can form.
fn grids(chips: u64, chip: &Chip) -> Vec<Vec<(u64, bool)>> {
    let mut out = Vec::new();
    for lens in factorisations(chips, chip_dims(chip)) {
        for lens in orders(&lens) {
            let Ok(grid) = trace_model::joined(&lens, "x").parse::<Topology>() else {
                continue;
            };
            out.push(lens.iter().copied().zip(grid.wraps(chip)).collect());
        }
    }
    out
}

/// All orders of a few numbers, without repetition.
fn orders(numbers: &[u64]) -> Vec<Vec<u64>> {
    if numbers.len() < 2 {
        return vec![numbers.to_vec()];
    }
    let mut out = Vec::new();
    for (index, &first) in numbers.iter().enumerate() {
        let mut rest = numbers.to_vec();
        rest.remove(index);
        out.extend(
            orders(&rest)
                .into_iter()
                .map(|rest| [vec![first], rest].concat()),
        );
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// The layout of the members of a group if they are evenly spaced along each axis.
fn on_chips_of(group: &[u64], grid: &[(u64, bool)], devices: u64) -> Option<GroupLayout> {
    let mut chips: Vec<u64> = group.iter().map(|id| id / devices).collect();
    chips.sort_unstable();
    chips.dedup();
    let devices_per_chip = (group.len() as u64).checked_div(chips.len() as u64)?;
    let all: u64 = grid.iter().map(|&(len, _)| len).product();
    if chips.last().is_none_or(|&last| last >= all)
        || devices_per_chip * chips.len() as u64 != group.len() as u64
    {
        return None;
    }
    let (mut axes, mut spacing, mut below) = (Vec::new(), 1, 1);
    for &(len, wraps) in grid {
        let mut coordinates: Vec<u64> = chips.iter().map(|chip| chip / below % len).collect();
        coordinates.sort_unstable();
        coordinates.dedup();
        below *= len;
        let [first, second, ..] = coordinates[..] else {
            continue;
        };
        let step = second - first;
        if coordinates.windows(2).any(|pair| pair[1] - pair[0] != step) {
            return None;
        }
        spacing = spacing.max(step);
        axes.push(Axis {
            len: coordinates.len() as u64,
            wraps: wraps && coordinates.len() as u64 * step == len,
        });
    }
    let is_box = axes.iter().map(|axis| axis.len).product::<u64>() == chips.len() as u64;
    axes.sort_unstable();
    is_box.then_some(GroupLayout {
        axes,
        devices_per_chip,
        groups_per_chip: devices / devices_per_chip,
        spacing,
    })
}

/// Sets of whole axes with `n` chips, else parts of axes.
fn on_grid(n: u64, axes: &[Axis]) -> Vec<Vec<Axis>> {
    let sets = (1_u32..1 << axes.len()).map(|bits| {
        axes.iter()
            .enumerate()
            .filter(|(i, _)| bits & (1 << i) != 0)
            .map(|(_, &axis)| axis)
            .collect::<Vec<_>>()
    });
    let mut whole: Vec<Vec<Axis>> = sets
        .filter(|set| set.iter().map(|axis| axis.len).product::<u64>() == n)
        .collect();
    if whole.is_empty() {
        let mut longest: Vec<u64> = axes.iter().map(|axis| axis.len).collect();
        longest.sort_unstable();
        let fits = |lens: &Vec<u64>| {
            // Both ascending: the longest parts need the longest axes.
            lens.iter()
                .rev()
                .zip(longest.iter().rev())
                .all(|(len, axis)| len <= axis)
                && lens.len() <= longest.len()
        };
        let parts = factorisations(n, axes.len() as u32)
            .into_iter()
            .filter(fits);
        whole = parts
            .map(|lens| {
                lens.into_iter()
                    .map(|len| Axis { len, wraps: false })
                    .collect()
            })
            .collect();
    }
    for set in &mut whole {
        set.sort_unstable();
    }
    whole.sort_unstable();
    whole.dedup();
    whole
}

/// All factorisations, without wrapping and with as much wrapping as possible.
fn anywhere(n: u64, chip: &Chip) -> Vec<Vec<Axis>> {
    let is_pod = |len: u64| chip_dims(chip) < 3 && may_wrap(chip, len);
    let mut out = Vec::new();
    for lens in factorisations(n, chip_dims(chip)) {
        let plain: Vec<Axis> = lens
            .iter()
            .map(|&len| Axis {
                len,
                wraps: is_pod(len),
            })
            .collect();
        let wrapped: Vec<Axis> = lens
            .iter()
            .map(|&len| Axis {
                len,
                wraps: may_wrap(chip, len),
            })
            .collect();
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
                format!(
                    "{}{}",
                    axes.join("x"),
                    if devices > 1 {
                        format!(" /{devices}")
                    } else {
                        String::new()
                    }
                )
            })
            .collect()
    }

    #[test]
    fn unknown_topology_allows_every_layout_of_the_generation() {
        assert_eq!(texts(4, "v6e", None), ["4", "2x2"]);
        assert_eq!(texts(16, "v5e", None), ["16w", "2x8", "4x4"]);
        assert_eq!(texts(8, "v5p", None), ["8w", "8", "2x4w", "2x4", "2x2x2"]);
        assert_eq!(texts(7, "v5p", None), ["7"]);
    }

    #[test]
    fn group_fills_axes_of_the_grid() {
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

    /// Devices 0 and 4 of eight: neighbours, two or four hops apart.
    #[test]
    fn group_members_have_grid_positions() {
        let v6e = Chip::named("v6e").unwrap();
        let pairs: Vec<Vec<u64>> = (0..4).map(|id| vec![id, id + 4]).collect();
        let of = |topology: Option<&str>, ids_are_devices| {
            let topology = topology.map(|text| text.parse::<Topology>().unwrap());
            let layouts = placed(&pairs, ids_are_devices, v6e, topology.as_ref());
            layouts
                .iter()
                .map(|layout| (layout.axes[0].len, layout.spacing, layout.hops()))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(Some("2x4"), true), [(2, 2, 2)]);
        assert_eq!(of(Some("4x2"), true), [(2, 1, 1)]);
        assert_eq!(of(Some("2x4"), false), [(2, 1, 1), (2, 2, 2)]);
        assert_eq!(of(None, true), [(2, 1, 1), (2, 2, 2), (2, 4, 4)]);
        // Sixteen in a row wrap; every second of them does too.
        let every_second = [
            vec![0, 2, 4, 6, 8, 10, 12, 14],
            vec![1, 3, 5, 7, 9, 11, 13, 15],
        ];
        let ring = placed(&every_second, true, v6e, Some(&"16x1".parse().unwrap()));
        assert_eq!(ring.len(), 1);
        assert_eq!(
            (ring[0].axes[0], ring[0].spacing),
            (
                Axis {
                    len: 8,
                    wraps: true
                },
                2
            )
        );
    }

    #[test]
    fn groups_within_a_chip_or_without_shape() {
        let v7x = Chip::named("v7x").unwrap();
        assert!(placed(&[vec![0, 1], vec![2, 3]], true, v7x, None).is_empty());
        let cross = placed(&[vec![0, 2], vec![1, 3]], true, v7x, None);
        assert_eq!((cross[0].axes[0].len, cross[0].groups_per_link()), (2, 2));
        // No box: as if the members were not known.
        let v6e = Chip::named("v6e").unwrap();
        let odd = [vec![0, 1, 2, 5], vec![3, 4, 6, 7]];
        let grid: Topology = "4x2".parse().unwrap();
        assert_eq!(
            placed(&odd, true, v6e, Some(&grid)),
            layouts(4, v6e, Some(&grid))
        );
    }

    #[test]
    fn groups_larger_than_a_pod_have_no_layout() {
        assert!(texts(1 << 40, "v5p", None).is_empty());
        assert!(texts(512, "v6e", None).is_empty());
        assert!(texts(1, "v6e", None).is_empty() && texts(0, "v6e", None).is_empty());
        assert!(texts(4, "v2", None).is_empty());
    }
}
