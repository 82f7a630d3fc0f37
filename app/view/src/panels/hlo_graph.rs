//! Layout of the instructions of a neighbourhood: in layers from top to bottom, each instruction below its operands.
//!
//! An instruction is placed as low as its users allow, so that it is near them. In a layer, instructions are ordered
//! by the mean position of their neighbours in the adjacent layer; this is repeated in both directions a few times.

use crate::prelude::*;
use analysis::reports::hlo::{HloNode, Neighbourhood};

/// Width of a box, in points, where there is room: its times fit.
pub const WIDTH: f32 = 244.0;
/// Width of a box that still says what it is.
const LEAST_WIDTH: f32 = 92.0;
/// Height of a box.
pub const HEIGHT: f32 = 46.0;
const GAP_X: f32 = 14.0;
const GAP_Y: f32 = 26.0;
const MARGIN: f32 = 10.0;
/// How often the order of layers is improved.
const SWEEPS: usize = 6;

/// A graph with positions.
#[derive(Debug, Default)]
pub struct HloGraph {
    /// Row of [`Neighbourhood::nodes`], left and upper edge of its box.
    pub boxes: Vec<(usize, f32, f32)>,
    /// By rows of `boxes`: the operand, then its user; each pair once.
    pub edges: Vec<(usize, usize)>,
    /// Width and height of everything.
    pub size: (f32, f32),
    /// Width of a box.
    pub box_width: f32,
}

impl HloGraph {
    /// Places the instructions that are `wanted`.
    pub fn of(neighbourhood: &Neighbourhood, wanted: impl Fn(&HloNode) -> bool) -> Self {
        let rows: Vec<usize> = (0..neighbourhood.nodes.len())
            .filter(|&row| neighbourhood.nodes.get(row).is_some_and(&wanted))
            .collect();
        let place = |row: usize| rows.binary_search(&row).ok();
        let edges: BTreeSet<(usize, usize)> = neighbourhood
            .edges
            .iter()
            .filter_map(|edge| Some((place(edge.from)?, place(edge.to)?)))
            .filter(|(from, to)| from != to)
            .collect();
        let edges: Vec<(usize, usize)> = edges.into_iter().collect();
        let layers = ordered(layers(rows.len(), &edges), &edges);
        let widest = layers.iter().map(Vec::len).max().unwrap_or(0);
        let width = |count: usize| count as f32 * (WIDTH + GAP_X) - GAP_X;
        let mut boxes: Vec<(usize, f32, f32)> = rows.iter().map(|&row| (row, 0.0, 0.0)).collect();
        for (level, layer) in layers.iter().enumerate() {
            let left = MARGIN + (width(widest) - width(layer.len())) / 2.0;
            for (nth, &node) in layer.iter().enumerate() {
                if let Some(slot) = boxes.get_mut(node) {
                    slot.1 = left + nth as f32 * (WIDTH + GAP_X);
                    slot.2 = MARGIN + level as f32 * (HEIGHT + GAP_Y);
                }
            }
        }
        let height = layers.len() as f32 * (HEIGHT + GAP_Y) - GAP_Y;
        let size = (
            width(widest.max(1)) + 2.0 * MARGIN,
            height.max(0.0) + 2.0 * MARGIN,
        );
        Self {
            boxes,
            edges,
            size,
            box_width: WIDTH,
        }
    }

    /// The graph with boxes so narrow that all are in `room`, if that leaves them enough.
    #[must_use]
    pub fn fitted(&self, room: f32) -> Self {
        let least = LEAST_WIDTH / WIDTH;
        let share = (room / self.size.0.max(1.0)).clamp(least, 1.0);
        let boxes = self.boxes.iter();
        Self {
            boxes: boxes.map(|&(row, x, y)| (row, x * share, y)).collect(),
            edges: self.edges.clone(),
            size: (self.size.0 * share, self.size.1),
            box_width: self.box_width * share,
        }
    }

    /// Where an edge begins and ends: the middle of the lower edge of one box and of the upper edge of the other.
    pub fn line(&self, (from, to): (usize, usize)) -> Option<[(f32, f32); 2]> {
        let (_, x, y) = self.boxes.get(from)?;
        let (_, to_x, to_y) = self.boxes.get(to)?;
        let middle = self.box_width / 2.0;
        Some([(x + middle, y + HEIGHT), (to_x + middle, *to_y)])
    }
}

/// The layer of each instruction, 0 at the top.
fn layers(count: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let order = topological(count, edges);
    let mut level = vec![0_usize; count];
    let get = |level: &[usize], node: usize| level.get(node).copied().unwrap_or(0);
    let (mut users, mut operands) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for &(from, to) in edges {
        if let (Some(users), Some(operands)) = (users.get_mut(from), operands.get_mut(to)) {
            users.push(to);
            operands.push(from);
        }
    }
    for &node in &order {
        let above = operands
            .get(node)
            .into_iter()
            .flatten()
            .map(|&from| get(&level, from) + 1)
            .max();
        if let Some(slot) = level.get_mut(node) {
            *slot = above.unwrap_or(0);
        }
    }
    for &node in order.iter().rev() {
        let below = users
            .get(node)
            .into_iter()
            .flatten()
            .map(|&to| get(&level, to).saturating_sub(1))
            .min();
        if let (Some(slot), Some(below)) = (level.get_mut(node), below) {
            *slot = (*slot).max(below);
        }
    }
    let mut layers = vec![Vec::new(); level.iter().max().map_or(0, |deepest| deepest + 1)];
    for (node, level) in level.into_iter().enumerate() {
        if let Some(layer) = layers.get_mut(level) {
            layer.push(node);
        }
    }
    layers.retain(|layer| !layer.is_empty());
    layers
}

/// All numbers, operands before their users.
fn topological(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut waits = vec![0_usize; count];
    let mut users = vec![Vec::new(); count];
    for &(from, to) in edges {
        if let (Some(waits), Some(users)) = (waits.get_mut(to), users.get_mut(from)) {
            *waits += 1;
            users.push(to);
        }
    }
    let mut order: Vec<usize> = (0..count)
        .filter(|&node| waits.get(node) == Some(&0))
        .collect();
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        next += 1;
        for &to in users.get(node).into_iter().flatten() {
            if let Some(waits) = waits.get_mut(to) {
                *waits -= 1;
                if *waits == 0 {
                    order.push(to);
                }
            }
        }
    }
    order
}

/// Orders layers so that neighbours are near each other.
fn ordered(mut layers: Vec<Vec<usize>>, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); layers.iter().map(Vec::len).sum()];
    for &(from, to) in edges {
        for (node, other) in [(from, to), (to, from)] {
            if let Some(near) = near.get_mut(node) {
                near.push(other);
            }
        }
    }
    let mut place: Vec<f32> = vec![0.0; near.len()];
    let put = |layer: &[usize], place: &mut [f32]| {
        for (nth, &node) in layer.iter().enumerate() {
            if let Some(slot) = place.get_mut(node) {
                *slot = nth as f32 - layer.len() as f32 / 2.0;
            }
        }
    };
    for layer in &layers {
        put(layer, &mut place);
    }
    for sweep in 0..SWEEPS {
        let mut step = |layer: &mut Vec<usize>| {
            let mean = |node: usize| {
                let near = near.get(node).filter(|near| !near.is_empty());
                let sum = |near: &Vec<usize>| {
                    near.iter()
                        .filter_map(|&other| place.get(other))
                        .sum::<f32>()
                };
                near.map_or_else(
                    || place.get(node).copied().unwrap_or(0.0),
                    |near| sum(near) / near.len() as f32,
                )
            };
            let mut by_mean: Vec<(f32, usize)> =
                layer.iter().map(|&node| (mean(node), node)).collect();
            by_mean.sort_by(|a, b| a.0.total_cmp(&b.0));
            *layer = by_mean.into_iter().map(|(_, node)| node).collect();
            put(layer, &mut place);
        };
        if sweep % 2 == 0 {
            layers.iter_mut().for_each(&mut step);
        } else {
            layers.iter_mut().rev().for_each(&mut step);
        }
    }
    layers
}

/// Opcode and shape, as far as they are known.
pub fn shape_line(node: &HloNode) -> String {
    let parts = [Some(&*node.op.opcode), node.op.shape.as_deref()];
    let known = parts.into_iter().flatten();
    joined(known.filter(|part| !part.is_empty()), " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_placed_below_operands_and_near_users() {
        // 0 → 1 → 2 → 3 and 4 → 3: 4 is in the layer of 2, not at the top.
        let edges = [(0, 1), (1, 2), (2, 3), (4, 3)];
        assert_eq!(layers(5, &edges), [vec![0], vec![1], vec![2, 4], vec![3]]);
    }

    #[test]
    fn edge_crossings_are_minimal() {
        // Two edges that would cross if instructions were ordered by number.
        let edges = [(0, 3), (1, 2)];
        let layers = ordered(layers(4, &edges), &edges);
        let place = |at: usize| {
            layers
                .iter()
                .find_map(|layer| layer.iter().position(|&own| own == at))
                .unwrap()
        };
        assert_eq!(place(0), place(3));
        assert_eq!(place(1), place(2));
    }
}
