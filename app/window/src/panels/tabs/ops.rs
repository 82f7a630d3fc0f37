//! Ops as a tree, beside their table.

use super::prelude::*;
use analysis::facts::SumOver;

use crate::panels::copy::{csv_ui, made_row_menu};
use crate::panels::follow::ScrollToSelection;
use crate::panels::icicle::icicle_ui;
use crate::panels::op_rows::{COLUMNS, OpRowLook, OpRowNumbers, heading_ui, row_ui};
use crate::panels::widgets::choices_ui;
use view::panels::optree::{OpNode, TreeGrouping, TreeSpec, TreeTime, tree};

pub const TAB: Tab = Tab {
    id: "ops",
    title: "Ops",
    reports: Some(&[Ops::ID, "expected", "matmuls", "loops"]),
    icon: "bar 0.05 0.1 0.95 0.26; bar 0.05 0.42 0.7 0.58; bar 0.05 0.74 0.4 0.9",
    panel: |_| Box::new(OpTrees::default()),
    ..TABLES
};

/// Children of a branch shown at first, and added with each "more".
const MOST: usize = 200;

/// The texts of the columns for an op; `whole` is the self time of all ops.
fn texts_of(node: &OpNode, whole: Picos, over: SumOver) -> [String; COLUMNS.len()] {
    OpRowNumbers {
        above_limit_ps: node.above_limit_ps().map(|time| over.each_ps(time)),
        of_limit_percent: node.efficiency_percent(),
        of_op_time_percent: Percent::of(node.self_time_ps, whole),
        self_time_ps: over.each_ps(node.self_time_ps),
        occurrences: node.occurrences,
    }
    .texts()
}

/// Which tree is shown, if any.
struct OpTrees {
    /// What ops are grouped by, outermost first; empty for the tables.
    levels: Vec<TreeGrouping>,
    made: Option<(TreeSpec, bool, OpNode)>,
    is_icicle: bool,
    time: TreeTime,
    /// The branch that the icicle shows, from the root.
    zoom: Vec<String>,
    follow: ScrollToSelection,
}

impl Default for OpTrees {
    /// Ops of one name together, what is furthest above its limit first.
    fn default() -> Self {
        Self {
            levels: vec![TreeGrouping::Name],
            made: None,
            is_icicle: false,
            time: TreeTime::default(),
            zoom: Vec::new(),
            follow: ScrollToSelection::default(),
        }
    }
}

impl OpTrees {
    fn spec(&self) -> TreeSpec {
        let time = if self.is_icicle {
            self.time
        } else {
            TreeTime::AboveLimit
        };
        TreeSpec {
            levels: self.levels.clone(),
            time,
        }
    }
}

impl TabPanel for OpTrees {
    fn forget_made(&mut self) {
        self.made = None;
    }

    fn show_tables(&mut self) {
        self.levels.clear();
    }

    fn ui(&mut self, ui: &mut Ui, mut tab: TabContent<'_>) {
        if choice_ui(ui, self) {
            tree_ui(ui, tab.context, self, tab.out, tab.view);
        } else {
            tab.tables_ui(ui);
        }
    }
}

/// The choice between the table and the trees; returns whether a tree is shown.
fn choice_ui(ui: &mut Ui, trees: &mut OpTrees) -> bool {
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
    let drawings = [(false, "rows"), (true, "icicle")];
    choices_ui(ui, &mut trees.is_icicle, drawings);
    if trees.is_icicle {
        ui.add_space(8.0);
        choices_ui(ui, &mut trees.time, TreeTime::OF_ICICLE);
    }
}

/// What branches are grouped by within branches.
fn nested_ui(ui: &mut Ui, trees: &mut OpTrees) {
    /// Deeper trees are hard to read.
    const MOST_LEVELS: usize = 3;
    let before = trees.levels.clone();
    for level in 1..(before.len() + 1).min(MOST_LEVELS) {
        let current = before.get(level).copied();
        let word = |by| {
            TreeGrouping::ALL
                .iter()
                .find(|(other, _)| *other == by)
                .map_or("", |(_, word)| word)
        };
        let shown = current.map_or("then …", word);
        let list = ComboBox::from_id_salt(("nested", level))
            .selected_text(shown)
            .width(110.0)
            .show_ui(ui, |ui| {
                if ui
                    .selectable_label(current.is_none(), "no further")
                    .clicked()
                {
                    trees.levels.truncate(level);
                }
                for (by, word) in TreeGrouping::ALL
                    .into_iter()
                    .filter(|(by, _)| !before[..level].contains(by))
                {
                    if ui.selectable_label(current == Some(by), word).clicked() {
                        trees.levels.truncate(level);
                        trees.levels.push(by);
                    }
                }
            });
        list.response
            .labeled(Role::ComboBox, format_args!("Level {}", level + 1));
    }
    if trees.levels != before {
        trees.zoom.clear();
    }
}

fn tree_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    trees: &mut OpTrees,
    commands: &mut AppCommands,
    out: &mut ViewCommands,
) {
    let Some(report) = context.report_ui::<Ops>(ui) else {
        return;
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
    ui.with_layout(Layout::right_to_left(Align::Min), |ui| {
        csv_ui(ui, "op_tree", || Some(root.table()), commands);
    });
    if trees.is_icicle {
        return icicle_ui(ui, context.trace, (root, spec.time), &mut trees.zoom, out);
    }
    heading_ui(ui, ui.available_width() - 12.0, report.sums_over);
    let mut walk = TreeWalk {
        context,
        whole: root.self_time_ps,
        over: report.sums_over,
        own: context.selected_op(),
        follows: trees
            .follow
            .replace_selection(context.state.place.selection),
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
    /// What it is a sum over.
    over: SumOver,
    /// The op of the selected slice.
    own: Option<OpId>,
    /// Whether the selection just changed elsewhere, so that its row must be scrolled into view.
    follows: bool,
    out: &'a mut ViewCommands,
}

impl TreeWalk<'_> {
    fn node_ui(&mut self, ui: &mut Ui, node: &OpNode, depth: usize, around: Id) {
        let id = around.with(&node.title);
        let has_children = !node.children.is_empty();
        let mut open = kept::<bool>(ui, id).unwrap_or(false);
        // If the op has no row of its own, the row of its branch is selected.
        let is_own = !open && self.own.is_some_and(|op| node.ops.contains(&op));
        let row = node_row_ui(ui, node, (self.whole, self.over), depth, open, is_own);
        if is_own && self.follows {
            row.scroll_to_me(None);
        }
        if row.clicked() && has_children {
            open = !open;
            keep(ui, id, open);
        }
        if row.clicked() {
            let labels = self.context.trace.labels_of(&node.ops);
            if !has_children {
                self.out
                    .extend(self.context.trace.longest(&labels).map(ViewCommand::GoTo));
            }
            self.out.push(ViewCommand::highlight(&node.title, labels));
        }
        if open {
            self.children_ui(ui, node, depth + 1, id);
        }
    }

    /// The children of a branch with the most self time, and the sum of the others.
    fn children_ui(&mut self, ui: &mut Ui, node: &OpNode, depth: usize, around: Id) {
        let more = around.with("more");
        let shown = kept::<usize>(ui, more).unwrap_or(MOST);
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
            if ui.link(RichText::new(text).small()).clicked() {
                keep(ui, more, shown + MOST);
            }
        });
    }
}

/// One branch or op.
fn node_row_ui(
    ui: &mut Ui,
    node: &OpNode,
    (whole, over): (Picos, SumOver),
    depth: usize,
    open: bool,
    is_own: bool,
) -> Response {
    let look = OpRowLook {
        kind: "Ops of",
        title: &node.title,
        group: node.group,
        indent: 2.0 + 14.0 * depth as f32,
        open: (!node.children.is_empty()).then_some(open),
        is_own,
    };
    let texts = texts_of(node, whole, over);
    let response = row_ui(ui, ui.available_width(), &look, &texts);
    made_row_menu(&response, || node.row_table(whole));
    response.hint_left(|ui| {
        ui.label(&node.title);
        for ((title, about), text) in COLUMNS.into_iter().zip(texts).rev() {
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
            ops: BTreeSet::new(),
            group: OpGroup::Idle,
            compared: None,
            children: Vec::new(),
        };
        let whole = Picos::from_ps(5_000_000);
        let over = SumOver {
            devices: 1,
            steps: None,
            are_busy: false,
        };
        let texts = texts_of(&node, whole, over);
        assert_eq!(texts, ["–", "–", "50.00 %", "2.500 µs", "3"]);
        times::write_as(TimeFormat::Nanoseconds);
        let written = texts_of(&node, whole, over);
        times::write_as(TimeFormat::Digits);
        assert_eq!(written[3], "2500.000 ns");
    }
}
