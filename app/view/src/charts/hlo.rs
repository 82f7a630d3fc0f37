//! The neighbourhood of an instruction, as a graph.

use crate::prelude::*;
use analysis::reports::hlo::{HloNode, Neighbourhood, NodeRelation};
use session::number::value;

use super::ChartFrame;
use crate::drawing::{Anchor, ColorRole, Drawing, DrawingPoint, width_of};
use crate::panels::hlo_graph::{HEIGHT, HloGraph, shape_line};

/// Space for the title.
const TOP: f32 = 30.0;

/// The graph, and below it the body of the instruction in the middle.
pub fn hlo(model: &TraceModel, neighbourhood: &Neighbourhood, frame: &ChartFrame) -> Drawing {
    let badge = model
        .badge()
        .map_or_else(String::new, |badge| format!("{badge} · "));
    let title = format!(
        "{badge}{} in {}",
        neighbourhood.center, neighbourhood.program
    );
    let around = part(neighbourhood, &title, frame, |node| {
        node.relation != NodeRelation::Inside
    });
    let title = format!("Inside {}", neighbourhood.center);
    if neighbourhood
        .nodes
        .iter()
        .any(|node| node.relation == NodeRelation::Inside)
    {
        let inside = part(neighbourhood, &title, frame, |node| {
            node.relation == NodeRelation::Inside
        });
        return around.above(inside);
    }
    around
}

fn part(
    neighbourhood: &Neighbourhood,
    title: &str,
    frame: &ChartFrame,
    wanted: impl Fn(&HloNode) -> bool,
) -> Drawing {
    let graph = HloGraph::of(neighbourhood, wanted);
    let width = graph.size.0.max(320.0);
    let mut head = Drawing::new(width, TOP, ColorRole::Panel);
    head.fitted(10.0, 16.0, width - 20.0, 13.0, ColorRole::TextStrong, title);
    let mut drawing = edges(&graph);
    for &(row, x, y) in &graph.boxes {
        if let Some(node) = neighbourhood.nodes.get(row) {
            let edge = if node.relation == NodeRelation::Center {
                (ColorRole::TextStrong, 2.0)
            } else {
                (ColorRole::Grid, 1.0)
            };
            node_box(&mut drawing, node, ((x, y), graph.box_width), edge, frame);
        }
    }
    head.above(drawing)
}

/// The lines from operands to users.
pub fn edges(graph: &HloGraph) -> Drawing {
    let mut drawing = Drawing::new(graph.size.0, graph.size.1, ColorRole::Panel);
    for [from, to] in graph.edges.iter().filter_map(|&edge| graph.line(edge)) {
        let bend = ((to.1 - from.1) * 0.5).max(8.0);
        let curve = [from, (from.0, from.1 + bend), (to.0, to.1 - bend), to];
        drawing.arrow(curve, ColorRole::TextWeak, 1.0);
    }
    drawing
}

/// An instruction: its name, its opcode and shape, and its times. `edge` is a colour and a thickness.
pub fn node_box(
    drawing: &mut Drawing,
    node: &HloNode,
    ((x, y), width): (DrawingPoint, f32),
    (edge, border): (ColorRole, f32),
    frame: &ChartFrame,
) {
    let around = 2.0 * border;
    let (left, top) = (x - border, y - border);
    drawing.rect(left, top, width + around, HEIGHT + around, edge, "");
    let title = frame.titled(|| node.text.clone());
    drawing.rect(x, y, width, HEIGHT, ColorRole::Raised, &title);
    if let Some(group) = node.op.group {
        let role = ColorRole::group(group);
        drawing.rect(x, y, 4.0, HEIGHT, role, group.title());
    }
    let (x, room) = (x + 9.0, width - 16.0);
    drawing.fitted_name(
        (x, y + 11.0),
        room,
        11.5,
        ColorRole::TextStrong,
        &node.op.name,
    );
    let shape = shape_line(node);
    drawing.fitted(x, y + 24.0, room, 10.0, ColorRole::TextWeak, &shape);
    let times = time_line(node, frame, room);
    drawing.text(x, y + 36.5, Anchor::Start, 10.0, ColorRole::Text, &times);
}

/// Self time, its share of that of all ops, and what is exposed, as far as they are known and fit into `room`.
fn time_line(node: &HloNode, frame: &ChartFrame, room: f32) -> String {
    let self_time = node.op.self_time_ps.map(|time| frame.time(time.ps()));
    let share = node.op.self_of_op_time_percent;
    let share = share.map(|share| value(share.0, Unit::Percent));
    let exposed = node
        .op
        .exposed_ps
        .map(|time| format!("exposed {}", frame.time(time.ps())));
    fitting([self_time, share, exposed].into_iter().flatten(), room)
}

/// As many parts as fit: half a number would be another number.
fn fitting(parts: impl Iterator<Item = String>, room: f32) -> String {
    let mut parts: Vec<String> = parts.collect();
    while width_of(&parts.join(" · "), 10.0) > room && parts.pop().is_some() {}
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels::hlo_graph::WIDTH;

    #[test]
    fn no_number_is_cut() {
        let line = |room| {
            let parts = ["16.81 ns", "nearly 0 %", "exposed 231.1 ms"];
            fitting(parts.map(str::to_owned).into_iter(), room)
        };
        assert_eq!(
            line(WIDTH - 16.0),
            "16.81 ns · nearly 0 % · exposed 231.1 ms"
        );
        assert_eq!(line(190.0), "16.81 ns · nearly 0 %");
        assert_eq!(line(60.0), "16.81 ns");
        assert_eq!(line(10.0), "");
    }
}
