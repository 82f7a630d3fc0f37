//! The grid of chips that a program ran on.

use std::str::FromStr;

use serde::Serialize;

use crate::chips::Chip;

/// One axis of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Axis {
    /// Chips along it.
    pub len: u64,
    /// Whether the last chip is linked to the first.
    pub wraps: bool,
}

/// Whether axes wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AxisWrap {
    /// The default of the generation.
    #[default]
    ByRule,
    /// All axes longer than two.
    Torus,
    /// None.
    Mesh,
}

/// Lengths of the axes, as `2x2x4`. By default axes wrap as the generation builds
/// them (`Topology::axes`); `4x4:torus` and `4x4:mesh` say so instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    lens: Vec<u64>,
    wrap: AxisWrap,
}

/// Why a topology is invalid.
#[derive(Debug, thiserror::Error)]
#[error(
    "write the chips along each axis, one to four numbers: 4x4 or 2x2x4, with :torus or :mesh to say whether all axes wrap; not {0:?}"
)]
pub struct TopologyError(String);

/// Maximum number of chips of a topology.
const MAX_CHIPS: u64 = 1 << 20;

impl FromStr for Topology {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Self, TopologyError> {
        let wrong = || TopologyError(text.chars().take(40).collect());
        let (lens, wrap) = match text.split_once(':') {
            None => (text, AxisWrap::ByRule),
            Some((lens, "torus")) => (lens, AxisWrap::Torus),
            Some((lens, "mesh")) => (lens, AxisWrap::Mesh),
            Some(_) => return Err(wrong()),
        };
        let number = |part: &str| part.trim().parse::<u64>().ok().filter(|&len| len > 0);
        let lens: Vec<u64> = lens
            .split(['x', 'X'])
            .map(number)
            .collect::<Option<_>>()
            .ok_or_else(wrong)?;
        let chips = lens
            .iter()
            .try_fold(1_u64, |chips, &len| chips.checked_mul(len));
        let fits = lens.len() <= 4 && chips.is_some_and(|chips| chips <= MAX_CHIPS);
        if fits {
            Ok(Self { lens, wrap })
        } else {
            Err(wrong())
        }
    }
}

impl std::fmt::Display for Topology {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lens = self.lens.iter().map(u64::to_string);
        let wrap = match self.wrap {
            AxisWrap::ByRule => "",
            AxisWrap::Torus => ":torus",
            AxisWrap::Mesh => ":mesh",
        };
        write!(f, "{}{wrap}", trace_model::joined(lens, "x"))
    }
}

/// As typed.
impl Serialize for Topology {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Topology {
    /// The axes that have more than one chip.
    ///
    /// Generations with three axes are wired in cubes: only a slice of whole cubes
    /// wraps. Those with two axes wrap an axis only at the full length of the pod.
    pub(crate) fn axes(&self, chip: &Chip) -> Vec<Axis> {
        let axes = self.lens.iter().zip(self.wraps(chip));
        axes.filter(|&(&len, _)| len > 1)
            .map(|(&len, wraps)| Axis { len, wraps })
            .collect()
    }

    /// Chips along each axis.
    pub fn lens(&self) -> &[u64] {
        &self.lens
    }

    /// Whether each axis wraps.
    pub(super) fn wraps(&self, chip: &Chip) -> Vec<bool> {
        let of_blocks = self.lens.len() == 3 && self.lens.iter().all(|&len| may_wrap(chip, len));
        let wraps = |&len: &u64| match self.wrap {
            AxisWrap::Torus => len > 2,
            AxisWrap::Mesh => false,
            AxisWrap::ByRule => may_wrap(chip, len) && (chip_dims(chip) < 3 || of_blocks),
        };
        self.lens.iter().map(wraps).collect()
    }
}

/// Axes of the grid of a generation.
pub(super) fn chip_dims(chip: &Chip) -> u32 {
    chip.links.map_or(0, |links| links.torus_dims)
}

/// Whether an axis of this length can wrap at all.
pub(super) fn may_wrap(chip: &Chip, len: u64) -> bool {
    let multiple = chip
        .links
        .and_then(|links| links.wrap_multiple)
        .map_or(0, u64::from);
    len > 2 && multiple > 0 && len.is_multiple_of(multiple)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(text: &str, chip: &str) -> Vec<(u64, bool)> {
        let topology: Topology = text.parse().unwrap();
        topology
            .axes(Chip::named(chip).unwrap())
            .iter()
            .map(|axis| (axis.len, axis.wraps))
            .collect()
    }

    #[test]
    fn axes_wrap_by_chip_generation() {
        assert_eq!(axes("4x4x8", "v5p"), [(4, true), (4, true), (8, true)]);
        assert_eq!(axes("2x2x1", "v5p"), [(2, false), (2, false)]);
        // An axis of four in less than a cube has no links from end to end.
        assert_eq!(axes("2x2x4", "v4"), [(2, false), (2, false), (4, false)]);
        assert_eq!(axes("8x16", "v5e"), [(8, false), (16, true)]);
        assert_eq!(axes("16X16", "v6e"), [(16, true), (16, true)]);
        assert_eq!(axes("4x4", "v6e"), [(4, false), (4, false)]);
        assert_eq!(axes("32x32", "v3"), [(32, true), (32, true)]);
    }

    #[test]
    fn the_user_can_say_whether_axes_wrap() {
        assert_eq!(axes("2x4:torus", "v5e"), [(2, false), (4, true)]);
        assert_eq!(axes("16x16:mesh", "v5e"), [(16, false), (16, false)]);
    }

    #[test]
    fn topology_text_round_trips() {
        for text in ["2x2x4", "4x4:torus", "16x16:mesh", "8"] {
            assert_eq!(text.parse::<Topology>().unwrap().to_string(), text);
        }
        let wrong = [
            "",
            "x",
            "2x",
            "2x0",
            "axb",
            "-2x2",
            "2x2:ring",
            "2x2x2x2x2",
            "99999999x99999999",
            "18446744073709551615x2",
            "4,4",
        ];
        for text in wrong {
            assert!(text.parse::<Topology>().is_err(), "{text}");
        }
    }
}
