//! Ops as a tree, beside their table.

use analysis::reports::ops::op_stats::{Ops, OpsReport};
use egui::{
    Align2, CursorIcon, FontId, Id, Response, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2,
};
use trace_model::{OpId, Picos};

use super::context::{PanelContext, computing_ui, reason_ui};
use super::copy::{csv_ui, made_row_menu};
use super::follow::ScrollToSelection;
use super::icicle::icicle_ui;
use super::number::{fitting, number};
use crate::AppCommand;
use crate::theme::{self, small_font};
use crate::timeline::elide::{elided, elided_middle};
use crate::timeline::paint::fold_mark;
use crate::times;
use analysis::{Percent, Unit};
use view::panels::optree::{OpNode, TreeGrouping, TreeSpec, TreeTime, tree};
use view::state::{HighlightedLabels, ViewCommand};
use view::timeline::tree::group_digits;

/// Height of a row.
const ROW: f32 = 20.0;
/// Children of a branch shown at first, and added with each "more".
const MOST: usize = 200;
/// Columns of numbers, from the right: width, title, tooltip.
const COLUMNS: [(f32, &str, &str); 4] = [
    (
        64.0,
        "of limit",
        "Least time that the limits allow for the work, as a share of the whole time, waiting included",
    ),
    (
        72.0,
        "of op time",
        "Self time as a share of all ops' self time, idle time left out",
    ),
    (
        80.0,
        "self time",
        "Time of all executions on all devices, without their child ops",
    ),
    (54.0, "runs", "Executions on all devices"),
];

/// The columns that fit, with their right edges, and their total width.
fn columns(room: f32) -> (Vec<(usize, f32)>, f32) {
    let [limit, share, time, runs] = COLUMNS.map(|(width, ..)| width);
    fitting(
        room,
        [limit, share, time + times::more_room(), runs],
        [3, 0],
    )
}

/// The texts of the columns for an op; `whole` is the self time of all ops.
fn texts_of(node: &OpNode, whole: Picos) -> [String; 4] {
    let share = Percent::of(node.self_time_ps, whole).unwrap_or_default();
    [
        node.efficiency_percent().map_or_else(
            || "–".to_owned(),
            |percent| number(percent.0, Unit::Percent),
        ),
        number(share.0, Unit::Percent),
        times::time(node.self_time_ps),
        number(node.occurrences as f64, Unit::Count),
    ]
}

/// Which tree is shown, if any.
#[derive(Default)]
pub struct OpTrees {
    /// What ops are grouped by, outermost first; empty for the tables.
    levels: Vec<TreeGrouping>,
    made: Option<(TreeSpec, bool, OpNode)>,
    is_icicle: bool,
    time: TreeTime,
    /// The branch that the icicle shows, from the root.
    zoom: Vec<String>,
    follow: ScrollToSelection,
}

impl OpTrees {
    /// Forgets the trees, because a new report replaces the old one.
    pub fn forget_made(&mut self) {
        self.made = None;
    }

    /// Switches back to the tables.
    pub fn leave(&mut self) {
        self.levels.clear();
    }

    fn spec(&self) -> TreeSpec {
        let time = if self.is_icicle {
            self.time
        } else {
            TreeTime::SelfTime
        };
        TreeSpec {
            levels: self.levels.clone(),
            time,
        }
    }
}

/// The choice between the table and the trees; returns whether a tree is shown.
pub fn choice_ui(ui: &mut Ui, trees: &mut OpTrees) -> bool {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        if ui
            .selectable_label(trees.levels.is_empty(), "Tables")
            .clicked()
        {
            trees.levels.clear();
        }
        for (by, word) in TreeGrouping::ALL {
            if ui
                .selectable_label(trees.levels.first() == Some(&by), word)
                .clicked()
            {
                trees.levels = if by == TreeGrouping::Program {
                    vec![by, TreeGrouping::Category]
                } else {
                    vec![by]
                };
                trees.zoom.clear();
            }
        }
        if !trees.levels.is_empty() {
            ui.add_space(8.0);
            nested_ui(ui, trees);
        }
    });
    if !trees.levels.is_empty() {
        ui.horizontal(|ui| drawing_ui(ui, trees));
    }
    !trees.levels.is_empty()
}

/// How the tree is drawn, and which times it shows.
fn drawing_ui(ui: &mut Ui, trees: &mut OpTrees) {
    ui.spacing_mut().item_spacing.x = 2.0;
    for (icicle, word) in [(false, "rows"), (true, "icicle")] {
        if ui
            .selectable_label(trees.is_icicle == icicle, word)
            .clicked()
        {
            trees.is_icicle = icicle;
        }
    }
    if trees.is_icicle {
        ui.add_space(8.0);
        for (time, word) in TreeTime::ALL {
            if ui.selectable_label(trees.time == time, word).clicked() {
                trees.time = time;
            }
        }
    }
}

/// What branches are grouped by within branches.
fn nested_ui(ui: &mut Ui, trees: &mut OpTrees) {
    /// Deeper trees are hard to read.
    const MOST_LEVELS: usize = 3;
    let before = trees.levels.clone();
    for at in 1..(before.len() + 1).min(MOST_LEVELS) {
        let own = before.get(at).copied();
        let word = |by| {
            TreeGrouping::ALL
                .iter()
                .find(|(other, _)| *other == by)
                .map_or("", |(_, word)| word)
        };
        let shown = own.map_or("then …", word);
        let list = egui::ComboBox::from_id_salt(("nested", at))
            .selected_text(shown)
            .width(110.0)
            .show_ui(ui, |ui| {
                if ui.selectable_label(own.is_none(), "no further").clicked() {
                    trees.levels.truncate(at);
                }
                for (by, word) in TreeGrouping::ALL
                    .into_iter()
                    .filter(|(by, _)| !before[..at].contains(by))
                {
                    if ui.selectable_label(own == Some(by), word).clicked() {
                        trees.levels.truncate(at);
                        trees.levels.push(by);
                    }
                }
            });
        list.response
            .widget_info(|| WidgetInfo::labeled(Role::ComboBox, true, format!("Level {}", at + 1)));
    }
    if trees.levels != before {
        trees.zoom.clear();
    }
}

pub fn tree_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    trees: &mut OpTrees,
    commands: &mut Vec<AppCommand>,
    out: &mut Vec<ViewCommand>,
) {
    let report: &OpsReport = match context.reports.get::<Ops>() {
        Ok(Some(report)) => report,
        Ok(None) => return computing_ui(ui),
        Err(reason) => return reason_ui(ui, reason),
    };
    let (spec, compares) = (trees.spec(), context.changes().is_some());
    if trees
        .made
        .as_ref()
        .is_none_or(|(made, compared, _)| (made, *compared) != (&spec, compares))
    {
        let compared = |op| context.changes()?.of_op(op);
        let root = tree(&report.rows, &spec, &compared);
        trees.made = Some((spec.clone(), compares, root));
    }
    let Some((_, _, root)) = &trees.made else {
        return;
    };
    ui.with_layout(egui::Layout::right_to_left(egui::Align::Min), |ui| {
        csv_ui(ui, "op_tree", || Some(root.table()), commands);
    });
    if trees.is_icicle {
        return icicle_ui(ui, context.trace, (root, spec.time), &mut trees.zoom, out);
    }
    let theme = theme::current(ui);
    let (heading, _) =
        ui.allocate_exact_size(vec2(ui.available_width() - 12.0, ROW), Sense::hover());
    for (column, edge) in columns(heading.width()).0 {
        let at = pos2(heading.right() - 6.0 - edge, heading.center().y);
        let (_, title, about) = COLUMNS[column];
        let drawn = ui.painter().text(
            at,
            Align2::RIGHT_CENTER,
            title,
            small_font(),
            theme.text_weak,
        );
        ui.interact(
            drawn,
            ui.scope_id().with(("op tree heading", title)),
            Sense::hover(),
        )
        .on_hover_text(about);
    }
    let selected = context.state.place.selection;
    let own = selected.and_then(|slice| context.trace.model.slice(slice).op());
    let mut walk = TreeWalk {
        context,
        whole: root.self_time_ps,
        own,
        follows: trees.follow.replace_selection(selected),
        out,
    };
    ScrollArea::vertical()
        .auto_shrink([false, false])
        .id_salt("op tree")
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            let levels: Vec<u8> = spec.levels.iter().map(|&by| by as u8).collect();
            walk.children_ui(ui, root, 0, Id::unique(("op tree", levels)));
        });
}

/// Context while the tree is drawn from top to bottom.
struct TreeWalk<'a> {
    context: PanelContext<'a>,
    /// Self time of all ops.
    whole: Picos,
    /// The op of the selected slice.
    own: Option<OpId>,
    /// Whether the selection just changed elsewhere, so that its row must be scrolled into view.
    follows: bool,
    out: &'a mut Vec<ViewCommand>,
}

impl TreeWalk<'_> {
    fn node_ui(&mut self, ui: &mut Ui, node: &OpNode, depth: usize, around: Id) {
        let id = around.with(&node.title);
        let has_children = !node.children.is_empty();
        let mut open = ui.data(|data| data.get_temp::<bool>(id)).unwrap_or(false);
        // If the op has no row of its own, the row of its branch is selected.
        let is_own = !open && self.own.is_some_and(|own| node.ops.contains(&own));
        let row = row_ui(ui, node, self.whole, depth, open, is_own);
        if is_own && self.follows {
            row.scroll_to_me(None);
        }
        if row.clicked() && has_children {
            open = !open;
            ui.data_mut(|data| data.insert_temp(id, open));
        }
        if row.clicked() {
            let labels = self.context.trace.labels_of(&node.ops);
            if !has_children {
                self.out
                    .extend(self.context.trace.longest(&labels).map(ViewCommand::GoTo));
            }
            self.out
                .push(ViewCommand::Highlight(Some(HighlightedLabels::new(
                    &node.title,
                    labels,
                ))));
        }
        if open {
            self.children_ui(ui, node, depth + 1, id);
        }
    }

    /// The children of a branch with the most self time, and the sum of the others.
    fn children_ui(&mut self, ui: &mut Ui, node: &OpNode, depth: usize, around: Id) {
        let more = around.with("more");
        let shown = ui.data(|data| data.get_temp::<usize>(more)).unwrap_or(MOST);
        for child in node.children.iter().take(shown) {
            self.node_ui(ui, child, depth, around);
        }
        let rest = node.children.get(shown..).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
        let time = rest.iter().map(|node| node.self_time_ps).sum();
        let share = Percent::of(time, self.whole).unwrap_or_default();
        let share = number(share.0, Unit::Percent);
        ui.horizontal(|ui| {
            ui.add_space(22.0 + 14.0 * depth as f32);
            let text = format!(
                "and {} more, {share} of op time",
                group_digits(rest.len() as u64)
            );
            if ui.link(egui::RichText::new(text).small()).clicked() {
                ui.data_mut(|data| data.insert_temp(more, shown + MOST));
            }
        });
    }
}

/// One branch or op.
fn row_ui(
    ui: &mut Ui,
    node: &OpNode,
    whole: Picos,
    depth: usize,
    open: bool,
    is_own: bool,
) -> Response {
    let theme = theme::current(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    response
        .widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Ops of {}", node.title)));
    let painter = ui.painter_at(rect);
    if is_own {
        painter.rect_filled(rect, 2.0, theme.accent.gamma_multiply(0.22));
    } else if response.hovered() {
        painter.rect_filled(rect, 2.0, theme.raised);
    }
    let x = rect.left() + 6.0 + 14.0 * depth as f32;
    let y = rect.center().y;
    if node.children.is_empty() {
        let swatch = egui::Rect::from_center_size(pos2(x + 5.0, y), vec2(9.0, 9.0));
        painter.rect_filled(swatch, 2.0, theme.group(node.group));
    } else {
        fold_mark(&painter, pos2(x + 5.0, y), !open, theme.group(node.group));
    }
    let font = FontId::proportional(12.0);
    let (columns, numbers) = columns(rect.width());
    let room = rect.width() - numbers - 6.0 - (x + 16.0 - rect.left());
    elided_middle(
        &painter,
        pos2(x + 16.0, y),
        &node.title,
        room.max(40.0),
        &font,
        theme.text,
    );
    let texts = texts_of(node, whole);
    for (column, edge) in columns {
        let at = pos2(rect.right() - 6.0 - edge, y);
        elided(
            &painter,
            at,
            Align2::RIGHT_CENTER,
            &texts[column],
            90.0 + times::more_room(),
            &font,
            theme.text,
        );
    }
    made_row_menu(&response, || node.row_table(whole));
    response
        .on_hover_cursor(CursorIcon::PointingHand)
        .on_hover_ui(|ui| {
            ui.label(&node.title);
            for ((_, title, about), text) in COLUMNS.into_iter().zip(texts_of(node, whole)).rev() {
                ui.weak(format!("{title}: {text}. {about}."));
            }
            let origin = times::origin();
            ui.weak(format!(
                "Times: {origin}. Limits: by the compiler's cost model and the peaks of the chip."
            ));
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use view::time_format::TimeFormat;

    #[test]
    fn times_print_as_in_tables() {
        let node = OpNode {
            title: "fusion".to_owned(),
            self_time_ps: Picos::from_ps(2_500_000),
            total_time_ps: Picos::from_ps(2_500_000),
            occurrences: 3,
            ideal_ps: 0.0,
            known_ps: Picos::ZERO,
            wait_ps: Picos::ZERO,
            ops: std::collections::BTreeSet::new(),
            group: analysis::OpGroup::Idle,
            compared: None,
            children: Vec::new(),
        };
        let whole = Picos::from_ps(5_000_000);
        assert_eq!(texts_of(&node, whole), ["–", "50.00 %", "2.500 µs", "3"]);
        times::write_as(TimeFormat::Nanoseconds);
        let written = texts_of(&node, whole);
        times::write_as(TimeFormat::Digits);
        assert_eq!(written[2], "2500.000 ns");
    }
}
