//! The neighbourhood of an instruction, as a graph.

use analysis::reports::hlo::{HloNode, Neighbourhood, NodeRelation};
use trace_model::TraceModel;

use crate::drawing::{ColorRole, Drawing, TIP};
use crate::palette::ColorKey;
use crate::panels::hlo_graph::{HEIGHT, HloGraph, WIDTH, shape_line, time_line};

/// Space for the title.
const TOP: f32 = 30.0;

/// The graph, and below it the body of the instruction in the middle.
pub fn hlo(model: &TraceModel, found: &Neighbourhood) -> Drawing {
    let badge = model
        .badge()
        .map_or_else(String::new, |badge| format!("{badge} · "));
    let title = format!("{badge}{} in {}", found.center, found.program);
    let around = part(found, &title, |node| node.relation != NodeRelation::Inside);
    let title = format!("Inside {}", found.center);
    if found
        .nodes
        .iter()
        .any(|node| node.relation == NodeRelation::Inside)
    {
        let inside = part(found, &title, |node| node.relation == NodeRelation::Inside);
        return around.above(inside);
    }
    around
}

fn part(found: &Neighbourhood, title: &str, wanted: impl Fn(&HloNode) -> bool) -> Drawing {
    let graph = HloGraph::of(found, wanted);
    let mut drawing = Drawing::new(
        graph.size.0.max(320.0),
        graph.size.1 + TOP,
        ColorRole::Panel,
    );
    let down = |(x, y): (f32, f32)| (x, y + TOP);
    drawing.fitted(
        10.0,
        16.0,
        drawing.size.0 - 20.0,
        13.0,
        ColorRole::TextStrong,
        title,
    );
    for &edge in &graph.edges {
        let Some([from, to]) = graph.line(edge) else {
            continue;
        };
        let (from, to) = (down(from), down(to));
        drawing.line(from, to, ColorRole::TextWeak, 1.0);
        for side in [-TIP.1, TIP.1] {
            drawing.line((to.0 + side, to.1 - TIP.0), to, ColorRole::TextWeak, 1.0);
        }
    }
    for &(row, x, y) in &graph.boxes {
        if let Some(node) = found.nodes.get(row) {
            node_box(&mut drawing, node, down((x, y)));
        }
    }
    drawing
}

fn node_box(drawing: &mut Drawing, node: &HloNode, (x, y): (f32, f32)) {
    let is_center = node.relation == NodeRelation::Center;
    let edge = if is_center {
        ColorRole::TextStrong
    } else {
        ColorRole::Grid
    };
    let border = if is_center { 2.0 } else { 1.0 };
    drawing.rect(
        x - border,
        y - border,
        WIDTH + 2.0 * border,
        HEIGHT + 2.0 * border,
        edge,
        "",
    );
    drawing.rect(x, y, WIDTH, HEIGHT, ColorRole::Canvas, &node.text);
    if let Some(group) = node.op.group {
        drawing.rect(
            x,
            y,
            4.0,
            HEIGHT,
            ColorRole::Slice(ColorKey::of_group(group)),
            group.title(),
        );
    }
    let room = WIDTH - 14.0;
    drawing.fitted(
        x + 9.0,
        y + 10.0,
        room,
        11.0,
        ColorRole::TextStrong,
        &node.op.name,
    );
    drawing.fitted(
        x + 9.0,
        y + 23.0,
        room,
        10.0,
        ColorRole::TextWeak,
        &shape_line(node),
    );
    drawing.fitted(
        x + 9.0,
        y + 36.0,
        room,
        10.0,
        ColorRole::Text,
        &time_line(node),
    );
}
