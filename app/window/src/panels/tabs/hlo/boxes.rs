//! The graph around an op: boxes are instructions, lines lead from operands to users.

use analysis::Unit;
use analysis::reports::hlo::{HloNode, Neighbourhood, NodeRelation};
use egui::{CursorIcon, FontId, Pos2, Rect, RichText, Role, Sense, Stroke, Ui, Vec2, pos2, vec2};

use crate::panels::number::number;
use crate::panels::widgets::ResponseExt as _;
use crate::theme;
use crate::timeline::elide::{elided, elided_middle};
use crate::times;
use view::panels::hlo_graph::{HEIGHT, HloGraph, WIDTH, shape_line};

/// The boxes and lines of one graph; returns the instruction that was clicked.
pub(super) fn graph_ui<'a>(
    ui: &mut Ui,
    found: &'a Neighbourhood,
    graph: &HloGraph,
) -> Option<&'a HloNode> {
    let mut clicked = None;
    let theme = theme::current(ui);
    // Narrow graphs stand in the middle.
    let room = vec2(graph.size.0.max(ui.available_width()), graph.size.1);
    let (rect, _) = ui.allocate_exact_size(room, Sense::hover());
    let origin = rect.min.to_vec2() + vec2((room.x - graph.size.0).max(0.0) / 2.0, 0.0);
    let at = |(x, y): (f32, f32)| pos2(x, y) + origin;
    let painter = ui.painter().clone();
    for &edge in &graph.edges {
        let Some([from, to]) = graph.line(edge) else {
            continue;
        };
        let (from, to) = (at(from), at(to));
        let bend = ((to.y - from.y) * 0.5).max(8.0);
        let points = [from, from + vec2(0.0, bend), to - vec2(0.0, bend), to];
        let stroke = Stroke::new(1.0, theme.text_weak);
        painter.add(egui::epaint::CubicBezierShape::from_points_stroke(
            points,
            false,
            egui::Color32::TRANSPARENT,
            stroke,
        ));
        arrow_tip(&painter, to, stroke);
    }
    for &(row, x, y) in &graph.boxes {
        let Some(node) = found.nodes.get(row) else {
            continue;
        };
        let rect = Rect::from_min_size(at((x, y)), vec2(WIDTH, HEIGHT));
        if box_ui(ui, node, rect) {
            clicked = Some(node);
        }
    }
    clicked
}

fn arrow_tip(painter: &egui::Painter, to: Pos2, stroke: Stroke) {
    for side in [-3.5, 3.5] {
        painter.line_segment([to + Vec2::new(side, -5.0), to], stroke);
    }
}

/// One instruction; returns whether it was clicked.
fn box_ui(ui: &mut Ui, node: &HloNode, rect: Rect) -> bool {
    let theme = theme::current(ui);
    let response = ui.interact(
        rect,
        ui.scope_id().with(("hlo node", &node.op.name)),
        Sense::click(),
    );
    let time = node.op.self_time_ps.map(|ps| times::time(ps));
    let self_time = time.clone().map_or_else(
        || "no time of its own".to_owned(),
        |time| format!("self {time}"),
    );
    let label = format!("{} {}, {self_time}", node.relation.title(), node.op.name);
    response.labeled(Role::Button, &label);
    let is_center = node.relation == NodeRelation::Center;
    // A new instruction in the middle is scrolled into view, once.
    let shown = ui.scope_id().with("hlo center");
    if is_center
        && ui.data(|data| data.get_temp::<String>(shown)).as_deref() != Some(&*node.op.name)
    {
        ui.data_mut(|data| data.insert_temp(shown, node.op.name.to_string()));
        ui.scroll_to_rect(rect, Some(egui::Align::Center));
    }
    let edge = match () {
        () if is_center => Stroke::new(2.0, theme.accent),
        () if response.hovered() => Stroke::new(1.0, theme.text),
        () => Stroke::new(1.0, theme.edge),
    };
    let painter = ui.painter();
    painter.rect(rect, 4.0, theme.raised, edge, egui::StrokeKind::Inside);
    if let Some(group) = node.op.group {
        let bar = Rect::from_min_size(rect.min, vec2(4.0, rect.height())).shrink2(vec2(0.0, 3.0));
        painter.rect_filled(bar, 1.0, theme.group(group));
    }
    let (left, room) = (rect.left() + 9.0, rect.width() - 16.0);
    let name = FontId::proportional(12.0);
    elided_middle(
        painter,
        pos2(left, rect.top() + 11.0),
        &node.op.name,
        room,
        &name,
        theme.text_strong,
    );
    let small = FontId::proportional(10.5);
    let align = egui::Align2::LEFT_CENTER;
    elided(
        painter,
        pos2(left, rect.top() + 24.0),
        align,
        &shape_line(node),
        room,
        &small,
        theme.text_weak,
    );
    let exposed = node
        .op
        .exposed_ps
        .map(|ps| format!("exposed {}", times::time(ps)));
    let share = node
        .op
        .self_of_op_time_percent
        .map(|share| number(share.0, Unit::Percent));
    let line = [time, share, exposed]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" · ");
    elided(
        painter,
        pos2(left, rect.top() + 36.5),
        align,
        &line,
        room,
        &small,
        theme.text,
    );
    let response = response
        .on_hover_cursor(CursorIcon::PointingHand)
        .on_hover_ui(|ui| {
            ui.set_max_width(520.0);
            ui.label(RichText::new(&node.text).monospace().size(11.0));
            if let Some(runs) = node.op.occurrences {
                ui.weak(format!(
                    "{runs} executions, self time over all devices; share of all ops' self time"
                ));
            } else {
                ui.weak("No execution of its own is recorded");
            }
            if let Some(source) = &node.op.source {
                ui.weak(source);
            }
        });
    response.clicked()
}
