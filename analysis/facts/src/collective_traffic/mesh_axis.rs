//! The axis of a program's mesh of devices along which the groups of a collective lie.

use super::CollectiveTraffic;
use engine::prelude::*;

/// Devices of a mesh that differ in their position along one axis only, so that their ids are equally far apart.
///
/// ```text
/// mesh of 4 × 2        ids 0 1
///                          2 3      along the first axis:   {0,2,4,6} {1,3,5,7}       4 devices, 2 apart
///                          4 5      along the second axis:  {0,1} {2,3} {4,5} {6,7}   2 devices, 1 apart
///                          6 7
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MeshAxis {
    /// Devices along it.
    pub devices: u64,
    /// How far the ids of neighbours are apart.
    pub apart: u64,
    /// Devices of the mesh.
    pub of: u64,
}

impl MeshAxis {
    /// The axis of groups that together are the devices 0, 1, 2 …; `None` if they follow no single axis.
    pub fn of_groups(groups: &[Vec<u64>]) -> Option<Self> {
        let first: BTreeSet<u64> = groups.first()?.iter().copied().collect();
        let mut ids = first.iter();
        let least = ids.next()?;
        let next = ids.next()?;
        let axis = Self {
            devices: first.len() as u64,
            apart: next - least,
            of: groups.iter().map(|group| group.len() as u64).sum(),
        };
        let all: BTreeSet<u64> = groups.iter().flatten().copied().collect();
        let is_whole = all.len() as u64 == axis.of && all.last().is_some_and(|&id| id < axis.of);
        (is_whole && groups.iter().all(|group| axis.has(group))).then_some(axis)
    }

    /// The axis of devices that send to each other in pairs: those that pairs connect are a group.
    /// `devices` are those of the mesh: pairs that leave some out follow no axis of it; `None` if that is not known.
    pub fn of_pairs(pairs: &[(u64, u64)], devices: Option<u64>) -> Option<Self> {
        // For each device the least one that pairs connect it with, as far as it is known.
        let mut least: BTreeMap<u64, u64> = BTreeMap::new();
        for &(from, to) in pairs {
            let one = find(&mut least, from);
            let other = find(&mut least, to);
            for id in [from, to, one, other] {
                least.insert(id, one.min(other));
            }
        }
        let mut groups: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let ids: Vec<u64> = least.keys().copied().collect();
        for id in ids {
            groups.entry(find(&mut least, id)).or_default().push(id);
        }
        Self::of_groups(&groups.into_values().collect::<Vec<_>>())
            .filter(|axis| devices.is_none_or(|devices| axis.of == devices))
    }

    /// All devices of a mesh.
    pub fn everybody(devices: u64) -> Option<Self> {
        (devices > 1).then_some(Self {
            devices,
            apart: 1,
            of: devices,
        })
    }

    /// Whether a group begins where the axis does and has its devices.
    fn has(self, group: &[u64]) -> bool {
        let ids: BTreeSet<u64> = group.iter().copied().collect();
        let is_even = ids
            .iter()
            .zip(ids.iter().skip(1))
            .all(|(one, next)| next - one == self.apart);
        let begins = ids
            .first()
            .is_some_and(|first| (first / self.apart).is_multiple_of(self.devices));
        is_even && begins && ids.len() as u64 == self.devices && group.len() == ids.len()
    }

    /// `4 devices, 2 apart, of 8`
    pub fn title(self) -> String {
        match self {
            Self { devices, of, .. } if devices == of => format!("all {devices} devices"),
            Self { devices, apart, of } => format!("{devices} devices, {apart} apart, of {of}"),
        }
    }
}

/// The least device that is known to be connected with one; all on the way to it lead there directly afterwards.
fn find(least: &mut BTreeMap<u64, u64>, id: u64) -> u64 {
    let mut root = id;
    while let Some(&next) = least.get(&root).filter(|&&next| next != root) {
        root = next;
    }
    let mut node = id;
    while node != root
        && let Some(next) = least.insert(node, root)
    {
        node = next;
    }
    root
}

/// What the groups of collectives lie along.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupPlace {
    /// An axis, and what the program calls it.
    Along(MeshAxis, Option<Arc<str>>),
    /// Each device is a group of its own.
    Alone,
    /// They are recorded, and no axis is found in them.
    NoAxis,
    /// They are not recorded.
    NotRecorded,
}

impl GroupPlace {
    /// Where the groups of a collective lie.
    pub fn of(message: &CollectiveTraffic) -> Self {
        match (message.axis, message.participants) {
            (Some(axis), _) => Self::Along(axis, message.axis_name.clone()),
            _ if !message.knows_who() => Self::NotRecorded,
            (None, Some(1)) => Self::Alone,
            _ => Self::NoAxis,
        }
    }

    /// `data: 4 devices, 2 apart, of 8`, or why there is no axis.
    pub fn title(&self) -> String {
        match self {
            Self::Along(axis, None) => axis.title(),
            Self::Along(axis, Some(name)) => format!("{name}: {}", axis.title()),
            Self::Alone => "none: each group is one device".to_owned(),
            Self::NoAxis => "unknown: no single axis is found in the groups".to_owned(),
            Self::NotRecorded => "unknown: groups are not recorded".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(groups: &[&[u64]]) -> Option<String> {
        let groups: Vec<Vec<u64>> = groups.iter().map(|group| group.to_vec()).collect();
        MeshAxis::of_groups(&groups).map(MeshAxis::title)
    }

    #[test]
    fn groups_lie_along_axes() {
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(
            title(&[&[0, 1], &[2, 3], &[4, 5], &[6, 7]]),
            said("2 devices, 1 apart, of 8")
        );
        assert_eq!(
            title(&[&[6, 4, 0, 2], &[1, 3, 5, 7]]),
            said("4 devices, 2 apart, of 8")
        );
        // The middle axis of 2 × 2 × 2.
        assert_eq!(
            title(&[&[0, 2], &[1, 3], &[4, 6], &[5, 7]]),
            said("2 devices, 2 apart, of 8")
        );
        assert_eq!(title(&[&[0, 1, 2, 3]]), said("all 4 devices"));
    }

    #[test]
    fn other_groups_have_no_axis() {
        // The first and the last axis of 2 × 2 × 2; a corner; groups of different sizes; a part of the mesh; itself.
        for groups in [
            &[&[0_u64, 1, 4, 5][..], &[2, 3, 6, 7]][..],
            &[&[0, 1, 2, 5], &[3, 4, 6, 7]],
            &[&[0, 1], &[2, 3, 4]],
            &[&[0, 1], &[6, 7]],
            &[&[1, 2], &[3, 0]],
            &[&[0, 1], &[1, 2]],
            &[&[0], &[1]],
            &[],
        ] {
            assert_eq!(title(groups), None, "{groups:?}");
        }
    }

    #[test]
    fn pairs_of_a_ring_are_a_group() {
        let along = |step: u64| -> Vec<(u64, u64)> {
            (0..8)
                .map(|id| (id, id / (4 * step) * (4 * step) + (id + step) % (4 * step)))
                .collect()
        };
        let expected = MeshAxis {
            devices: 4,
            apart: 2,
            of: 8,
        };
        assert_eq!(MeshAxis::of_pairs(&along(2), Some(8)), Some(expected));
        // Halos go both ways along a line, and some devices are named before others connect them.
        let halos = [(2, 3), (0, 1), (1, 2), (3, 2), (2, 1), (1, 0)];
        assert_eq!(MeshAxis::of_pairs(&halos, None), MeshAxis::everybody(4));
        assert_eq!(MeshAxis::of_pairs(&[(0, 0), (1, 1)], None), None);
        assert_eq!(MeshAxis::of_pairs(&[], None), None);
        // A ring of four of eight devices is not all of them.
        let ring = [(0, 1), (1, 2), (2, 3), (3, 0)];
        assert_eq!(MeshAxis::of_pairs(&ring, Some(8)), None);
        assert_eq!(MeshAxis::of_pairs(&ring, Some(4)), MeshAxis::everybody(4));
    }

    /// What is on the way to the least device leads there directly afterwards, so that a chain is walked once.
    #[test]
    fn long_chains_of_pairs_are_walked_once() {
        let mut least: BTreeMap<u64, u64> = (0..=1000_u64)
            .map(|id| (id, id.saturating_sub(1)))
            .collect();
        assert_eq!(find(&mut least, 1000), 0);
        assert!(least.values().all(|&next| next == 0), "{least:?}");
        let chain: Vec<(u64, u64)> = (1..=16384).rev().map(|id| (id, id - 1)).collect();
        assert_eq!(MeshAxis::of_pairs(&chain, None), MeshAxis::everybody(16385));
    }
}
