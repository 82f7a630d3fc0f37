//! The graph around an op: boxes are instructions, lines lead from operands to users.

use crate::panels::tabs::prelude::*;
use analysis::counted;
use analysis::reports::hlo::{HloNode, Neighbourhood, NodeRelation};

use crate::drawing::{self, frame};
use view::charts::hlo::{edges, node_box};
use view::drawing::{ColorRole, Drawing};
use view::panels::hlo_graph::{HEIGHT, HloGraph};

/// The boxes and lines of one graph; returns the instruction that was clicked.
pub(super) fn graph_ui<'a>(
    ui: &mut Ui,
    neighbourhood: &'a Neighbourhood,
    graph: &HloGraph,
    sums: Option<&str>,
) -> Option<&'a HloNode> {
    let mut clicked = None;
    let theme = theme::current(ui);
    let graph = &graph.fitted(ui.available_width());
    // Narrow graphs stand in the middle.
    let room = vec2(graph.size.0.max(ui.available_width()), graph.size.1);
    let (rect, _) = ui.allocate_exact_size(room, Sense::hover());
    let origin = rect.min.to_vec2() + vec2((room.x - graph.size.0).max(0.0) / 2.0, 0.0);
    let on_screen = |(x, y): (f32, f32)| pos2(x, y) + origin;
    let painter = ui.painter().clone();
    drawing::paint(&painter, Pos2::ZERO + origin, &edges(graph), theme);
    for &(row, x, y) in &graph.boxes {
        let Some(node) = neighbourhood.nodes.get(row) else {
            continue;
        };
        let rect = Rect::from_min_size(on_screen((x, y)), vec2(graph.box_width, HEIGHT));
        if box_ui(ui, node, rect, sums) {
            clicked = Some(node);
        }
    }
    clicked
}

/// One instruction; returns whether it was clicked.
fn box_ui(ui: &mut Ui, node: &HloNode, rect: Rect, sums: Option<&str>) -> bool {
    let theme = theme::current(ui);
    let response = ui.interact(
        rect,
        ui.scope_id().with(("hlo node", &node.op.name)),
        Sense::click(),
    );
    let time = node.op.self_time_ps.map(time);
    let self_time = time.map_or_else(
        || "no time of its own".to_owned(),
        |time| format!("self {time}"),
    );
    let label = format!("{} {}, {self_time}", node.relation.title(), node.op.name);
    response.labeled(Role::Button, &label);
    let is_center = node.relation == NodeRelation::Center;
    // A new instruction in the middle is scrolled into view, once.
    let shown = ui.scope_id().with("hlo center");
    if is_center && kept::<String>(ui, shown).as_deref() != Some(&*node.op.name) {
        keep(ui, shown, node.op.name.to_string());
        ui.scroll_to_rect(rect, Some(Align::Center));
    }
    let edge = match () {
        () if is_center => (ColorRole::Accent, 2.0),
        () if response.hovered() => (ColorRole::Text, 1.0),
        () => (ColorRole::Edge, 1.0),
    };
    let mut drawn = Drawing::new(rect.width(), HEIGHT, ColorRole::Raised);
    let place = ((0.0, 0.0), rect.width());
    node_box(&mut drawn, node, place, edge, &frame(rect.size()));
    drawing::paint(ui.painter(), rect.min, &drawn, theme);
    let response = response
        .on_hover_cursor(CursorIcon::PointingHand)
        .on_hover_ui(|ui| {
            ui.set_max_width(520.0);
            ui.label(RichText::new(&node.text).monospace().size(11.0));
            if let Some(runs) = node.op.occurrences {
                let sums = sums.map_or_else(String::new, |sums| format!(", {sums}"));
                ui.weak(format!(
                    "{}; self time{sums}; its share of the self time of all ops",
                    counted(runs, "execution")
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
