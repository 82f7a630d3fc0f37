//! Grids of devices whose axes have names: `mesh['x'=2,'y'=4]`, `sdy.mesh @mesh = <["x"=2, "y"=4]>`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::grid::{MAX_DEVICES, product, transposed};
use super::scan::split_commas;

/// Devices in the order of a grid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceMesh {
    /// Names and sizes of the axes, slowest first.
    pub axes: Vec<(String, u64)>,
    /// The devices in row-major order; empty if they are 0, 1, 2 …
    pub devices: Vec<u64>,
}

impl DeviceMesh {
    /// Reads `mesh['x'=2,'y'=4], device_ids=([…])` and returns what follows; `None` for any other text.
    pub(super) fn parse(text: &str) -> Option<(Self, &str)> {
        let (axes, rest) = closed(text.strip_prefix("mesh[")?, ['[', ']'])?;
        let axes = named_sizes(axes.split(','))?;
        let rest = rest.trim_start_matches([',', ' ']);
        let (devices, rest) = match rest.strip_prefix("device_ids=(") {
            Some(rest) => {
                let is_id = |letter: char| letter.is_ascii_digit() || "[](),T ".contains(letter);
                let (ids, _) = rest.split_at(rest.find(|letter| !is_id(letter))?);
                let ids = ids.strip_suffix(") ")?;
                let rest = rest.get(ids.len() + 1..)?;
                let sizes: Vec<u64> = axes.iter().map(|&(_, size)| size).collect();
                (device_ids(ids, product(&sizes)?)?, rest)
            }
            None => (Vec::new(), rest),
        };
        Some((Self { axes, devices }, rest))
    }

    /// The meshes that the shardings of HLO text name: `{mesh['x'=2,'y'=4], [{'x'}, {}]}`.
    fn in_sharding(text: &str) -> impl Iterator<Item = Self> {
        let places = text.match_indices("mesh[");
        places.filter_map(move |(position, _)| {
            let before = text.get(..position)?.chars().next_back();
            let is_word = before.is_some_and(|it| it.is_alphanumeric() || it == '_');
            Some(Self::parse(text.get(position..)?)?.0).filter(|_| !is_word)
        })
    }

    /// The meshes of Shardy in a text: `#sdy.mesh<["x"=2]>`, `sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[1, 0, …]>`.
    fn of_shardy(text: &str) -> impl Iterator<Item = Self> {
        text.match_indices("<[")
            .filter_map(move |(position, open)| {
                let before = text.get(..position)?.trim_end();
                let is_mesh = before.ends_with("mesh") || is_declared(before);
                let inside = text.get(position + open.len()..).filter(|_| is_mesh)?;
                let (axes, rest) = closed(inside, ['[', ']'])?;
                let (rest, _) = closed(rest, ['<', '>'])?;
                let devices = match rest.split_once("device_ids") {
                    Some((_, ids)) => numbers(ids.trim_start().strip_prefix('=')?)?,
                    None => Vec::new(),
                };
                let axes = named_sizes(split_commas(axes))?;
                Some(Self { axes, devices })
            })
    }
}

/// What stands before and after the closing one of two brackets; `None` if another one is opened before it. So the search
/// ends where the next mesh begins, and texts of many meshes that nothing closes are read once.
fn closed(text: &str, brackets: [char; 2]) -> Option<(&str, &str)> {
    let (inside, rest) = text.split_at(text.find(brackets)?);
    Some((inside, rest.strip_prefix(brackets[1])?))
}

/// Whether a text ends with `sdy.mesh @name =`.
fn is_declared(before: &str) -> bool {
    let is_of_name = |letter: char| letter.is_alphanumeric() || "_-.$\"".contains(letter);
    let name = before.strip_suffix('=').map(str::trim_end);
    let before_name = name.and_then(|name| name.trim_end_matches(is_of_name).strip_suffix('@'));
    before_name.is_some_and(|before| before.trim_end().ends_with("sdy.mesh"))
}

/// The axes of a program's meshes by their place: devices along the axis, distance of neighbours, devices of the mesh.
///
/// An axis has no name where two axes of its mesh have the same size, where the order of the devices is another one, and
/// where the program states different ones.
#[derive(Debug, Default)]
pub(crate) struct AxisNames(BTreeMap<[u64; 3], Option<Arc<str>>>);

impl AxisNames {
    /// Adds what Shardy states in a text.
    pub fn add_shardy(&mut self, text: &str) {
        DeviceMesh::of_shardy(text).for_each(|mesh| self.add(&mesh));
    }

    /// Adds what a sharding of HLO text states.
    pub fn add_sharding(&mut self, text: &str) {
        DeviceMesh::in_sharding(text).for_each(|mesh| self.add(&mesh));
    }

    pub fn add(&mut self, mesh: &DeviceMesh) {
        let is_numbered = (0..).zip(&mesh.devices).all(|(index, &id)| index == id);
        let sizes: Vec<u64> = mesh.axes.iter().map(|&(_, size)| size).collect();
        let Some(of) = product(&sizes).filter(|&of| of > 1 && is_numbered) else {
            return;
        };
        let mut apart = of;
        for (name, size) in mesh.axes.iter().filter(|&&(_, size)| size > 1) {
            apart /= size;
            let is_alone = sizes.iter().filter(|&other| other == size).count() == 1;
            if is_alone && is_given(name) {
                let known = self.0.entry([*size, apart, of]);
                let known = known.or_insert_with(|| Some(Arc::from(name.as_str())));
                if known.as_deref() != Some(name) {
                    *known = None;
                }
            }
        }
    }

    pub fn name(&self, place: [u64; 3]) -> Option<&Arc<str>> {
        self.0.get(&place)?.as_ref()
    }
}

/// Whether a person named an axis, and not the compiler: it numbers those that have no name.
pub(super) fn is_given(name: &str) -> bool {
    let number = name.strip_prefix("axis_");
    !name.is_empty() && number.is_none_or(|number| number.parse::<u64>().is_err())
}

/// `'x'=2`
fn named_sizes<'a>(axes: impl Iterator<Item = &'a str>) -> Option<Vec<(String, u64)>> {
    let axis = |axis: &str| {
        let (name, size) = axis.rsplit_once('=')?;
        Some((unquoted(name).to_owned(), size.trim().parse().ok()?))
    };
    axes.map(axis).collect()
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    let ids = text
        .split(['[', ']', '(', ')', ',', ' '])
        .filter(|id| !id.is_empty());
    ids.map(|id| id.parse().ok()).collect()
}

/// The devices of a mesh of `count` devices, in mesh order. They are listed one by one, nested in
/// one bracket per dimension, or numbered over a grid as in `[4,2]T(1,0)`.
fn device_ids(text: &str, count: u64) -> Option<Vec<u64>> {
    let (ids, order) = text.split_once('T').unwrap_or((text, ""));
    let (ids, order) = (numbers(ids)?, numbers(order)?);
    let is_grid = ids.len() as u64 != count || !order.is_empty();
    if is_grid && product(&ids) == Some(count) && (1..=MAX_DEVICES).contains(&count) {
        return transposed(&ids, &order, count);
    }
    Some(ids)
}

pub(super) fn unquoted(name: &str) -> &str {
    name.trim().trim_matches(['\'', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shardy(text: &str) -> AxisNames {
        let mut names = AxisNames::default();
        names.add_shardy(text);
        names
    }

    fn name(names: &AxisNames, place: [u64; 3]) -> Option<&str> {
        names.name(place).map(|name| &**name)
    }

    #[test]
    fn axes_are_named_by_what_shardy_states() {
        for text in [
            "  sdy.mesh @mesh = <[\"data\"=2, \"one\"=1, \"model\"=4]>\n",
            "{mesh = #sdy.mesh<[\"data\"=2, \"model\"=4]>}",
            "sdy.sharding = #sdy.sharding<mesh<[\"data\"=2, \"model\"=4], device_ids=[0, 1, 2, 3, 4, 5, 6, 7]>, [{}]>",
        ] {
            let names = shardy(text);
            assert_eq!(name(&names, [2, 4, 8]), Some("data"), "{text}");
            assert_eq!(name(&names, [4, 1, 8]), Some("model"), "{text}");
            assert_eq!(names.0.len(), 2, "{text}");
            for cut in 0..text.len() {
                shardy(&text[..cut]);
            }
        }
    }

    #[test]
    fn shardings_of_hlo_text_state_names() {
        let mut names = AxisNames::default();
        names.add_sharding("{{mesh['x'=2,'y'=4], [{'x'}, {}]}, {maximal_mesh[device_id=3], []}}");
        assert_eq!(name(&names, [2, 4, 8]), Some("x"));
        assert_eq!(names.0.len(), 2);
    }

    #[test]
    fn many_meshes_that_nothing_closes_are_read_once() {
        for part in [
            "mesh<[",
            "mesh<[\"a\"=2]",
            "sdy.mesh @m = <[",
            "mesh['a'=2], device_ids=(",
        ] {
            let text = part.repeat(100_000);
            let mut names = shardy(&text);
            names.add_sharding(&text);
            assert!(names.0.is_empty(), "{part}");
        }
    }

    #[test]
    fn what_is_not_stated_has_no_name() {
        for text in [
            // Equal sizes, another order, no mesh, names by the compiler, sizes that cannot be.
            "sdy.mesh @mesh = <[\"a\"=2, \"b\"=2]>",
            "sdy.mesh @mesh = <[\"a\"=2, \"b\"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>",
            "sdy.other @mesh = <[\"a\"=2, \"b\"=4]>",
            "#sdy.mesh<[\"axis_0\"=2, \"axis_1\"=4]>",
            "#sdy.mesh<[\"a\"=0, \"b\"=4]>",
            "#sdy.mesh<[\"a\"=18446744073709551615, \"b\"=4]>",
            "#sdy.mesh<[\"a\"=x]>",
            "#sdy.mesh<[], device_ids=[3]>",
        ] {
            assert!(shardy(text).0.is_empty(), "{text}");
        }
        let names = shardy(
            "#sdy.mesh<[\"a\"=2, \"b\"=4]> #sdy.mesh<[\"c\"=2, \"b\"=4]> #sdy.mesh<[\"a\"=2, \"b\"=4]>",
        );
        assert_eq!(
            (name(&names, [2, 4, 8]), name(&names, [4, 1, 8])),
            (None, Some("b"))
        );
    }
}
