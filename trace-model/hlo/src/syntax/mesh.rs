//! Groups of devices along the axes of a mesh: `mesh['x'=2,'y'=4] {'y'}`.

use super::device_mesh::{DeviceMesh, is_given, unquoted};
use super::grid::{MAX_DEVICES, product, transposed};

/// The devices that differ only in their position along some axes of a mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeshGroups {
    pub mesh: DeviceMesh,
    /// Axes along which the members of a group lie, slowest first.
    pub along: Vec<AxisRef>,
}

/// An axis of a mesh, or a part of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AxisRef {
    /// Number of the axis.
    pub axis: usize,
    /// If only a part is meant (`x:(2)4`): the product of the sizes of the parts before it, and its own size.
    pub part: Option<(u64, u64)>,
}

impl MeshGroups {
    /// Reads `mesh['x'=2,'y'=4], device_ids=([…]) {'y'}`; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (mesh, rest) = DeviceMesh::parse(text.trim())?;
        let along = rest.trim().strip_prefix('{')?.strip_suffix('}')?;
        let along = along
            .split(',')
            .map(|axis| AxisRef::parse(axis, &mesh.axes))
            .collect::<Option<_>>()?;
        Some(Self { mesh, along })
    }

    /// Devices per group; `None` on overflow.
    pub fn size(&self) -> Option<u64> {
        let size = |along: &AxisRef| {
            Some(
                along
                    .part
                    .map_or(self.mesh.axes.get(along.axis)?.1, |(_, size)| size),
            )
        };
        product(&self.along.iter().map(size).collect::<Option<Vec<_>>>()?)
    }

    /// Every group as a list; `None` if the description contradicts itself.
    pub fn expand(&self) -> Option<Vec<Vec<u64>>> {
        // Split axes that are used in part, so that only whole dimensions remain.
        let (mut dims, mut grouped) = (Vec::new(), vec![None; self.along.len()]);
        for (axis, &(_, size)) in self.mesh.axes.iter().enumerate() {
            self.cut_axis(axis, size, &mut dims, &mut grouped)?;
        }
        let grouped: Vec<u64> = grouped.into_iter().collect::<Option<_>>()?;
        let count = product(&dims).filter(|count| (1..=MAX_DEVICES).contains(count))?;
        let listed = &self.mesh.devices;
        if !listed.is_empty() && listed.len() as u64 != count {
            return None;
        }
        let others = (0..dims.len() as u64).filter(|dim| !grouped.contains(dim));
        let order: Vec<u64> = others.chain(grouped.iter().copied()).collect();
        let size = grouped
            .iter()
            .filter_map(|&dim| dims.get(dim as usize))
            .product::<u64>();
        let ids = transposed(&dims, &order, count)?;
        let device = |id: u64| {
            if listed.is_empty() {
                Some(id)
            } else {
                listed.get(id as usize).copied()
            }
        };
        let ids: Vec<u64> = ids.into_iter().map(device).collect::<Option<_>>()?;
        Some(
            ids.chunks(usize::try_from(size).ok()?.max(1))
                .map(<[u64]>::to_vec)
                .collect(),
        )
    }

    /// The name of the only axis along which the groups lie, if a person gave it.
    pub fn axis_name(&self) -> Option<&str> {
        let size = |along: &&AxisRef| self.mesh.axes.get(along.axis).map_or(0, |axis| axis.1);
        let mut along = self.along.iter().filter(|along| size(along) != 1);
        let only = along.next().filter(|only| only.part.is_none())?;
        let (name, _) = self.mesh.axes.get(only.axis)?;
        (along.next().is_none() && is_given(name)).then_some(name)
    }

    /// Appends the dimensions that one axis is split into, and records which of them are grouped.
    fn cut_axis(
        &self,
        axis: usize,
        size: u64,
        dims: &mut Vec<u64>,
        grouped: &mut [Option<u64>],
    ) -> Option<()> {
        let mut parts: Vec<(usize, u64, u64)> = Vec::new();
        for (place, along) in self
            .along
            .iter()
            .enumerate()
            .filter(|(_, along)| along.axis == axis)
        {
            let (before, part) = along.part.unwrap_or((1, size));
            parts.push((place, before, part));
        }
        parts.sort_unstable_by_key(|&(_, before, _)| before);
        let mut done = 1u64;
        for (place, before, part) in parts {
            if before == 0 || part == 0 || !before.is_multiple_of(done) {
                return None;
            }
            if before != done {
                dims.push(before / done);
            }
            *grouped.get_mut(place)? = Some(dims.len() as u64);
            dims.push(part);
            done = before.checked_mul(part)?;
        }
        if size == 0 || !size.is_multiple_of(done) {
            return None;
        }
        if size != done || done == 1 {
            dims.push(size / done);
        }
        Some(())
    }
}

impl AxisRef {
    /// Reads `'x'` or `'x':(2)4`.
    fn parse(text: &str, mesh: &[(String, u64)]) -> Option<Self> {
        let (name, part) = match text.split_once(":(") {
            Some((name, part)) => {
                let (before, size) = part.split_once(')')?;
                (
                    name,
                    Some((before.trim().parse().ok()?, size.trim().parse().ok()?)),
                )
            }
            None => (text, None),
        };
        let name = unquoted(name);
        let axis = mesh.iter().position(|(axis, _)| axis == name)?;
        Some(Self { axis, part })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(text: &str) -> Option<Vec<Vec<u64>>> {
        MeshGroups::parse(text)?.expand()
    }

    #[test]
    fn groups_lie_along_the_axes() {
        assert_eq!(groups("mesh['x'=2,'y'=2] {'y'}").unwrap(), [[0, 1], [2, 3]]);
        assert_eq!(groups("mesh['x'=2,'y'=2] {'x'}").unwrap(), [[0, 2], [1, 3]]);
        assert_eq!(
            groups("mesh['a'=1,'b'=8] {'b'}").unwrap(),
            [[0, 1, 2, 3, 4, 5, 6, 7]]
        );
        assert_eq!(
            groups("mesh['x'=2,'y'=2] {'y','x'}").unwrap(),
            [[0, 2, 1, 3]]
        );
        assert_eq!(
            groups("mesh['x'=2,'y'=2], device_ids=([[3,2],[1,0]]) {'x'}").unwrap(),
            [[3, 1], [2, 0]]
        );
        assert_eq!(
            groups("mesh['x'=2,'y'=4], device_ids=([2,4]) {'x'}").unwrap()[1],
            [1, 5]
        );
        assert_eq!(
            groups("mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'x'}").unwrap()[0],
            [0, 1]
        );
    }

    #[test]
    fn mesh_group_sizes_need_no_list() {
        let size = |text: &str| MeshGroups::parse(text).and_then(|mesh| mesh.size());
        assert_eq!(size("mesh['x'=2,'y'=4] {'y'}"), Some(4));
        assert_eq!(
            size("mesh['x'=2,'y'=4], device_ids=([2,4]) {'x':(1)2}"),
            Some(2)
        );
        assert_eq!(size("mesh['x'=9999999999] {'x','x'}"), None);
    }

    #[test]
    fn groups_along_part_of_an_axis() {
        assert_eq!(
            groups("mesh[a=8] {a:(1)2}").unwrap(),
            [[0, 4], [1, 5], [2, 6], [3, 7]]
        );
        assert_eq!(
            groups("mesh[a=8] {a:(2)2}").unwrap(),
            [[0, 2], [1, 3], [4, 6], [5, 7]]
        );
        assert_eq!(
            groups("mesh[a=8] {a:(1)2,a:(4)2}").unwrap(),
            [[0, 1, 4, 5], [2, 3, 6, 7]]
        );
        assert_eq!(
            groups("mesh[a=8] {a:(4)2,a:(1)2}").unwrap(),
            [[0, 4, 1, 5], [2, 6, 3, 7]]
        );
    }

    #[test]
    fn contradicting_meshes_are_none() {
        for text in [
            "mesh['x'=2] {'z'}",
            "mesh['x'=0] {'x'}",
            "mesh['x'=2] {'x','x'}",
            "mesh[a=8] {a:(3)2}",
            "mesh['x'=99999999,'y'=99999999] {'x'}",
            "mesh['x'=2], device_ids=([0]) {'x'}",
            "mesh[",
            "mesh[] {}",
            "maximal_mesh[device_id=3] {}",
        ] {
            assert_eq!(groups(text), None, "{text}");
        }
    }
}
