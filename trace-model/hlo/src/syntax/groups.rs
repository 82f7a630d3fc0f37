//! Which devices take part in a collective: `{{0,1},{2,3}}` or `[4,2]<=[2,4]T(1,0)`.

use std::fmt;

use super::grid::{MAX_DEVICES, product, transposed};
use super::mesh::MeshGroups;

/// Which devices communicate with each other.
///
/// Whether the ids are replicas, partitions or devices depends on the op: see `GroupMode` of the analyses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaGroups {
    /// Each group listed: `{{0,1},{2,3}}`. An empty list means that all devices form one group.
    Listed(Vec<Vec<u64>>),
    /// Generated from a grid: `[4,2]<=[2,4]T(1,0)`.
    Iota(IotaGroups),
    /// Along axes of a named mesh: `mesh['x'=2,'y'=4] {'y'}`.
    Mesh(MeshGroups),
}

/// Numbers the devices in row-major order of `dims`, transposes them by `permutation`, and cuts the result into groups
/// of `size`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IotaGroups {
    /// Number of groups.
    pub count: u64,
    /// Devices per group.
    pub size: u64,
    /// Sizes of the grid.
    pub dims: Vec<u64>,
    /// Permutation of the dimensions; empty if unchanged.
    pub permutation: Vec<u64>,
}

impl ReplicaGroups {
    /// Reads the value of `replica_groups=`; `None` for an unknown form.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.starts_with('[') {
            parse_iota(text).map(Self::Iota)
        } else if text.starts_with("mesh[") {
            MeshGroups::parse(text).map(Self::Mesh)
        } else {
            parse_lists(text).map(Self::Listed)
        }
    }

    /// Every group as a list; no group if all devices form one. `None` if the description contradicts itself.
    pub fn expand(&self) -> Option<Vec<Vec<u64>>> {
        match self {
            Self::Listed(groups) => Some(groups.clone()),
            Self::Iota(iota) => iota.expand(),
            Self::Mesh(mesh) => mesh.expand(),
        }
    }

    /// Whether all devices form one group that is not listed.
    pub fn is_everybody(&self) -> bool {
        matches!(self, Self::Listed(groups) if groups.is_empty())
    }

    /// Devices of the largest group; `None` if all devices form one group, or if the description contradicts itself.
    pub fn size(&self) -> Option<u64> {
        let listed = |groups: &[Vec<u64>]| groups.iter().map(|group| group.len() as u64).max();
        match self {
            Self::Listed(groups) => listed(groups),
            Self::Iota(iota) => iota.is_sound().then_some(iota.size),
            Self::Mesh(mesh) => mesh.size(),
        }
    }
}

/// Writes the groups as HLO text, those of a mesh as a list.
impl fmt::Display for ReplicaGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = |ids: &[u64]| trace_model::joined(ids, ",");
        if let Self::Iota(iota) = self {
            write!(f, "[{},{}]<=[{}]", iota.count, iota.size, ids(&iota.dims))?;
            return match iota.permutation.as_slice() {
                [] | [_] => Ok(()),
                order => write!(f, "T({})", ids(order)),
            };
        }
        let groups = self.expand().unwrap_or_default();
        write!(
            f,
            "{{{}}}",
            trace_model::joined(groups.iter().map(|it| format!("{{{}}}", ids(it))), ",")
        )
    }
}

/// Reads `replica_groups`; an empty list means that all devices form one group.
pub fn parse_replica_groups(text: &str) -> Option<Vec<Vec<u64>>> {
    ReplicaGroups::parse(text)?.expand()
}

/// Reads `source_target_pairs={{0,1},{1,0}}`.
pub fn parse_pairs(text: &str) -> Option<Vec<(u64, u64)>> {
    let pair = |list: Vec<u64>| match list.as_slice() {
        &[source, target] => Some((source, target)),
        _ => None,
    };
    parse_lists(text.trim())?.into_iter().map(pair).collect()
}

/// `{{0,1},{2,3}}`, `{0,1}` (one group) or `{}` (no group).
fn parse_lists(text: &str) -> Option<Vec<Vec<u64>>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?.trim();
    if inner.is_empty() {
        return Some(Vec::new());
    }
    if !inner.starts_with('{') {
        return numbers(inner).map(|group| vec![group]);
    }
    inner
        .strip_prefix('{')?
        .strip_suffix('}')?
        .split('}')
        .map(|part| numbers(part.trim_start_matches([',', ' ', '{'])))
        .collect()
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    text.split(',')
        .map(|part| part.trim().parse().ok())
        .collect()
}

/// `[groups,size]<=[dims]T(permutation)`.
fn parse_iota(text: &str) -> Option<IotaGroups> {
    let (shape, rest) = text.split_once("<=")?;
    let bracketed = |text: &str| numbers(text.trim().strip_prefix('[')?.strip_suffix(']')?);
    let shape = bracketed(shape)?;
    let (dims, order) = rest
        .split_once('T')
        .map_or((rest, None), |(dims, order)| (dims, Some(order)));
    let dims = bracketed(dims)?;
    let permutation = match order {
        Some(order) => numbers(order.trim().strip_prefix('(')?.strip_suffix(')')?)?,
        None => Vec::new(),
    };
    let (&size, groups) = shape.split_last()?;
    let iota = IotaGroups {
        count: product(groups)?,
        size,
        dims,
        permutation,
    };
    iota.is_sound().then_some(iota)
}

impl IotaGroups {
    /// Whether the numbers are consistent and the groups few enough to be real.
    fn is_sound(&self) -> bool {
        let count = product(&self.dims).filter(|count| (1..=MAX_DEVICES).contains(count));
        let mut sorted = self.permutation.clone();
        sorted.sort_unstable();
        let permuted = sorted.is_empty() || sorted.iter().copied().eq(0..self.dims.len() as u64);
        permuted && self.size > 0 && count.is_some() && self.count.checked_mul(self.size) == count
    }

    /// Every group as a list.
    pub fn expand(&self) -> Option<Vec<Vec<u64>>> {
        if !self.is_sound() {
            return None;
        }
        let ids = transposed(&self.dims, &self.permutation, self.count * self.size)?;
        Some(
            ids.chunks(usize::try_from(self.size).ok()?)
                .map(<[u64]>::to_vec)
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iota_groups_expand_to_reference_values() {
        let groups = |text: &str| parse_replica_groups(text).unwrap();
        assert_eq!(
            groups("[4,2]<=[2,4]T(1,0)"),
            [[0, 4], [1, 5], [2, 6], [3, 7]]
        );
        assert_eq!(groups("[2,4]<=[8]"), [[0, 1, 2, 3], [4, 5, 6, 7]]);
        assert_eq!(groups("[2,4]<=[4,2]T(1,0)"), [[0, 2, 4, 6], [1, 3, 5, 7]]);
        assert_eq!(groups("[1,2]<=[2]"), [[0, 1]]);
    }

    #[test]
    fn group_sizes_without_expanding() {
        let size = |text: &str| ReplicaGroups::parse(text).unwrap().size();
        assert_eq!(size("[4,2]<=[2,4]T(1,0)"), Some(2));
        assert_eq!(size("{{0},{1,2,3}}"), Some(3));
        assert_eq!(size("{}"), None);
        assert!(ReplicaGroups::parse("{}").unwrap().is_everybody());
        assert_eq!(size("mesh['x'=2,'y'=4] {'y'}"), Some(4));
        // A form that a future version may add is reported as unknown and not misread.
        assert_eq!(ReplicaGroups::parse("@mesh<\"x\"=8> {x}"), None);
    }

    #[test]
    fn parses_listed_groups_and_pairs() {
        assert_eq!(
            parse_replica_groups("{{0,1},{2,3}}"),
            Some(vec![vec![0, 1], vec![2, 3]])
        );
        assert_eq!(
            parse_replica_groups("{{0, 1, 2}, {3}}"),
            Some(vec![vec![0, 1, 2], vec![3]])
        );
        assert_eq!(parse_replica_groups("{0,1}"), Some(vec![vec![0, 1]]));
        assert_eq!(parse_replica_groups("{}"), Some(vec![]));
        assert_eq!(parse_pairs("{{0,1},{1,0}}"), Some(vec![(0, 1), (1, 0)]));
        assert_eq!(parse_pairs("{{0,1,2}}"), None);
    }

    #[test]
    fn invalid_groups_are_none() {
        for text in [
            "[2,4]<=[9]",
            "[0,0]<=[0]",
            "[2]<=[2]T(1)",
            "[2,2]<=[2,2]T(0,0)",
            "[99999999,99999999]<=[9]",
            "{{0,x}}",
            "",
        ] {
            assert_eq!(parse_replica_groups(text), None, "{text}");
        }
    }
}
