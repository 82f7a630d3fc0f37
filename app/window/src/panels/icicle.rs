//! Ops as an icicle: each branch of a tree as wide as its time. A click highlights its slices; a branch becomes as
//! wide as the view, the longest slice of an op is shown.

use super::prelude::*;

use view::panels::optree::{OpNode, TreeTime};

/// Height of a level.
const LEVEL: f32 = 22.0;
/// Narrower branches are merged into one box.
const LEAST: f32 = 2.0;
/// Smaller changes between two runs have no colour.
const LEAST_CHANGE: f64 = 0.01;
/// Narrower branches have no name and cannot be clicked.
const NAMED: f32 = 24.0;

/// The icicle of a tree below the branch `zoom`, a path from the root.
pub fn icicle_ui(
    ui: &mut Ui,
    trace: &OpenTrace,
    (root, time): (&OpNode, TreeTime),
    zoom: &mut Vec<String>,
    out: &mut ViewCommands,
) {
    let path = path_of(root, zoom);
    zoom.truncate(path.len().saturating_sub(1));
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for (level, node) in path.iter().enumerate() {
            if level > 0 {
                ui.weak("›");
            }
            if level + 1 == path.len() {
                ui.strong(&node.title);
            } else if ui.link(&node.title).clicked() {
                zoom.truncate(level);
            }
        }
    });
    let width = match time {
        TreeTime::SelfTime | TreeTime::AboveLimit => "self time, idle time left out",
        TreeTime::Total => "total time, in which ops inside others count again",
    };
    let color = if root.compared.is_some() {
        " Colour: orange is slower in B, blue faster, grey neither."
    } else {
        ""
    };
    let text =
        format!("Width: {width}. A click shows a branch alone, or the slices of an op.{color}");
    ui.label(remark(text));
    let Some(top) = path.last() else { return };
    let size = vec2(ui.available_width() - 8.0, depth(top) as f32 * LEVEL);
    ScrollArea::vertical()
        .id_salt("icicle")
        .auto_shrink([false, false])
        .show(ui, |ui| {
            let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
            let mut walk = IcicleWalk {
                trace,
                whole: root.time_ps(time),
                time,
                is_compared: root.compared.is_some(),
                open: None,
                out,
            };
            walk.node_ui(
                ui,
                top,
                Rect::from_min_size(rect.min, vec2(rect.width(), LEVEL)),
                &mut Vec::new(),
            );
            if let Some(open) = walk.open {
                zoom.extend(open);
            }
        });
}

/// The branches from the root to the one that is named, as far as they exist.
fn path_of<'a>(root: &'a OpNode, zoom: &[String]) -> Vec<&'a OpNode> {
    let mut path = vec![root];
    for title in zoom {
        let Some(next) = path
            .last()
            .and_then(|node| node.children.iter().find(|child| child.title == *title))
        else {
            break;
        };
        path.push(next);
    }
    path
}

fn depth(node: &OpNode) -> usize {
    1 + node.children.iter().map(depth).max().unwrap_or(0)
}

struct IcicleWalk<'a> {
    trace: &'a OpenTrace,
    /// Time of all ops.
    whole: Picos,
    time: TreeTime,
    /// Whether colours show changes between two runs.
    is_compared: bool,
    /// The branch to zoom into, as a path from the topmost one.
    open: Option<Vec<String>>,
    out: &'a mut ViewCommands,
}

impl IcicleWalk<'_> {
    fn node_ui(&mut self, ui: &mut Ui, node: &OpNode, rect: Rect, path: &mut Vec<String>) {
        self.box_ui(ui, node, rect, path);
        let of = self.time;
        let width =
            |time: Picos| rect.width() * (time.ps() as f32 / node.time_ps(of).ps().max(1) as f32);
        let mut left = rect.left();
        let below = |left: f32, width: f32| {
            Rect::from_min_size(pos2(left, rect.bottom()), vec2(width, LEVEL))
        };
        for (index, child) in node.children.iter().enumerate() {
            let child_width = width(child.time_ps(of));
            if child_width < LEAST {
                // Children are sorted by time, so all that follow are at least as narrow.
                let rest = node.children.get(index..).unwrap_or_default();
                let time = rest.iter().map(|child| child.time_ps(of)).sum();
                let room = below(left, width(time)).shrink(0.5);
                ui.painter().rect_filled(room, 0.0, theme::current(ui).edge);
                let about = format!("{} more, {}", rest.len(), times::time(time));
                let id = ui.scope_id().with(("icicle rest", &*path, index));
                ui.interact(room, id, Sense::hover()).on_hover_text(about);
                return;
            }
            path.push(child.title.clone());
            self.node_ui(ui, child, below(left, child_width), path);
            path.pop();
            left += child_width;
        }
    }

    /// The colour of an op or a branch.
    fn fill_of(&self, node: &OpNode, theme: &Theme) -> Color32 {
        let is_visible = |change: &f64| (change - 1.0).abs() >= LEAST_CHANGE;
        let change = node.change().filter(is_visible).map(ColorKey::of_change);
        let unchanged = ColorKey::of_group(OpGroup::Other);
        let fill = if self.is_compared {
            theme.slice(change.unwrap_or(unchanged)).fill
        } else {
            theme.group(node.group)
        };
        // Branches are paler than the ops below them.
        if node.children.is_empty() {
            fill
        } else {
            theme.panel.lerp_to_gamma(fill, 0.55)
        }
    }

    /// The tooltip of an op or a branch with a share of the time.
    fn about_ui(&self, ui: &mut Ui, node: &OpNode, share: &str) {
        ui.strong(&node.title);
        let self_time = time(node.self_time_ps);
        let of_ops = if self.time == TreeTime::SelfTime {
            format!(", {share} of op time")
        } else {
            String::new()
        };
        ui.label(format!("self {self_time}{of_ops}"));
        if self.time == TreeTime::Total {
            let total = time(node.total_time_ps);
            ui.label(format!(
                "total {total}, {share} of the total time of all ops"
            ));
        }
        if let (Some((a, b)), Some(change)) = (node.compared, node.change()) {
            let [a, b] = [a, b].map(|ps| time(Picos::rounded(ps)));
            let percent = number((change - 1.0) * 100.0, Unit::Percent);
            ui.label(format!(
                "in a step {a} in A, {b} in B: {percent} of the ops that both have"
            ));
        }
        let (runs, ops, origin) = (node.occurrences, node.ops.len(), times::origin());
        ui.weak(format!(
            "{runs} executions of {ops} ops, over all devices [{origin}]"
        ));
    }

    fn box_ui(&mut self, ui: &Ui, node: &OpNode, rect: Rect, path: &[String]) {
        let theme = theme::current(ui);
        let fill = self.fill_of(node, theme);
        let response = ui.interact(rect, ui.scope_id().with(("icicle", path)), Sense::click());
        let share = number(
            node.time_ps(self.time).as_ps_f64() * 100.0 / self.whole.ps().max(1) as f64,
            Unit::Percent,
        );
        if rect.width() >= NAMED {
            let of = if self.time == TreeTime::Total {
                "total"
            } else {
                "op"
            };
            let label = format!("Icicle {}, {share} of {of} time", node.title);
            response.labeled(Role::Button, &label);
        }
        let inner = rect.shrink(0.5);
        ui.painter().rect_filled(inner, 1.0, fill);
        if response.hovered() {
            ui.painter()
                .rect_filled(inner, 1.0, theme.text_strong.gamma_multiply(0.15));
        }
        if rect.width() >= NAMED {
            let pos = pos2(rect.left() + 5.0, rect.center().y);
            let (font, color) = (FontId::proportional(11.5), readable_on(fill));
            elided(
                ui.painter(),
                pos,
                Align2::LEFT_CENTER,
                &node.title,
                rect.width() - 8.0,
                &font,
                color,
            );
        }
        let response = response
            .on_hover_cursor(CursorIcon::PointingHand)
            .on_hover_ui(|ui| self.about_ui(ui, node, &share));
        if response.clicked() {
            let labels = self.trace.labels_of(&node.ops);
            if node.children.is_empty() {
                self.out
                    .extend(self.trace.longest(&labels).map(ViewCommand::GoTo));
            } else {
                self.open = Some(path.to_vec());
            }
            self.out.push(ViewCommand::highlight(&node.title, labels));
        }
    }
}
