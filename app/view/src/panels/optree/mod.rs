//! Ops as a tree with sums: by program, category or source.

use crate::prelude::*;
use analysis::facts::framework::scopes_of;
use analysis::facts::sum_over::ARE_SUMS;
use analysis::reports::OpRow;
use trace_model::without_number;

/// What ops are grouped by. Groupings can be nested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeGrouping {
    Program,
    Category,
    /// Files, then lines.
    Source,
    /// Parts of the framework name: modules of the model.
    Scope,
    /// Names without their numbers, of one category.
    Name,
}

impl TreeGrouping {
    /// All groupings, with their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Program, "by program"),
        (Self::Category, "by category"),
        (Self::Source, "by source"),
        (Self::Scope, "by framework name"),
        (Self::Name, "by name"),
    ];
}

/// The time of a branch or op.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TreeTime {
    /// Without ops inside: each moment counts once.
    #[default]
    SelfTime,
    /// With ops inside: the time of a loop counts for the loop and for its ops.
    Total,
    /// Self time beyond the least that the limits allow; all of it where the limits are not known.
    AboveLimit,
}

impl TreeTime {
    /// Those that are lengths of an icicle, with their names.
    pub const OF_ICICLE: [(Self, &'static str); 2] =
        [(Self::SelfTime, "self time"), (Self::Total, "total time")];
}

/// Times of some ops in a step of each of two runs, as far as they are compared.
pub type ComparedTimes = (f64, f64);

/// If more than this share of the time of a branch is unknown, so is its efficiency.
const UNKNOWN: f64 = 0.05;

/// A branch or an op.
#[derive(Debug)]
pub struct OpNode {
    /// Name of the program, category, file or op.
    pub title: String,
    /// Sum over all its ops.
    pub self_time_ps: Picos,
    /// Sum over all its ops, with the ops inside them.
    pub total_time_ps: Picos,
    /// Sum over all its ops.
    pub occurrences: u64,
    /// Least time that the limits of the device allow for the work of its ops.
    pub ideal_ps: f64,
    /// Self time of the ops whose least time is known.
    pub known_ps: Picos,
    /// Self time of ops that only wait; it counts as time without work.
    pub wait_ps: Picos,
    pub ops: BTreeSet<OpId>,
    /// Category with the most time.
    pub group: OpGroup,
    /// Sums over its ops that both of two runs have.
    pub compared: Option<ComparedTimes>,
    /// Branches and ops, by the time that the tree is made for.
    pub children: Vec<OpNode>,
}

impl OpNode {
    pub fn time_ps(&self, time: TreeTime) -> Picos {
        match time {
            TreeTime::SelfTime => self.self_time_ps,
            TreeTime::Total => self.total_time_ps,
            TreeTime::AboveLimit => self.above_limit_ps().unwrap_or(self.self_time_ps),
        }
    }

    /// Time of the second run over that of the first.
    pub fn change(&self) -> Option<f64> {
        let (a, b) = self.compared?;
        (a > 0.0 && b > 0.0).then(|| b / a)
    }

    /// Roofline efficiency: least time of its work over all of its time, waiting included. `None` if it only waits, or
    /// if the work of too much of the time is unknown (`UNKNOWN`).
    pub fn efficiency_percent(&self) -> Option<Percent> {
        let unknown = self.self_time_ps - self.known_ps - self.wait_ps;
        let all = self.self_time_ps.as_ps_f64();
        let is_known = self.known_ps > Picos::ZERO && unknown.as_ps_f64() <= UNKNOWN * all;
        is_known.then(|| Percent(self.ideal_ps * 100.0 / all))
    }

    /// Self time beyond the least that the limits allow for its work; `None` where that is not known.
    pub fn above_limit_ps(&self) -> Option<Picos> {
        above_limit(self.self_time_ps, self.efficiency_percent())
    }

    /// All branches and ops as a table, with their paths.
    pub fn table(&self) -> Table {
        let mut rows = Vec::new();
        self.add_rows("", 0, &mut rows);
        self.table_of(&rows, self.self_time_ps)
    }

    /// Its own row; `whole` is the self time of all ops.
    pub fn row_table(&self, whole: Picos) -> Table {
        self.table_of(&[(self, String::new(), 0)], whole)
    }

    /// A table of nodes with their path and depth.
    fn table_of(&self, rows: &[(&Self, String, u64)], whole: Picos) -> Table {
        Table::of("op_tree", &self.title, rows)
            .recorded("name", "Op", Unit::None, |(node, ..)| &node.title)
            .recorded("path", "Inside", Unit::None, |(_, path, _)| path)
            .recorded("depth", "Depth", Unit::Count, |&(.., depth)| depth)
            .measured("ops", "Ops", Unit::Count, |(node, ..)| node.ops.len())
            .measured("occurrences", "Runs", Unit::Count, |(node, ..)| {
                node.occurrences
            })
            .measured(
                "self_time_ps",
                "Self time",
                Unit::Picoseconds,
                |(node, ..)| node.self_time_ps,
            )
            .measured(
                "self_of_op_time_percent",
                "of op time",
                Unit::Percent,
                |(node, ..)| Percent::of(node.self_time_ps, whole),
            )
            .derived(
                "above_limit_ps",
                "above limit",
                Unit::Picoseconds,
                |(node, ..)| node.above_limit_ps(),
            )
            .derived(
                "efficiency_percent",
                "of limit",
                Unit::Percent,
                |(node, ..)| node.efficiency_percent(),
            )
            .note(ARE_SUMS)
            .note("of op time: self time of all ops, idle time left out")
            .build()
    }

    fn add_rows<'a>(&'a self, path: &str, depth: u64, rows: &mut Vec<(&'a Self, String, u64)>) {
        rows.push((self, path.to_owned(), depth));
        // The root is part of every path, so it is left out.
        let inside = if depth == 0 {
            String::new()
        } else {
            format!("{path}{} / ", self.title)
        };
        for child in &self.children {
            child.add_rows(&inside, depth + 1, rows);
        }
    }

    fn branch(title: String) -> Self {
        Self {
            title,
            self_time_ps: Picos::ZERO,
            total_time_ps: Picos::ZERO,
            occurrences: 0,
            ideal_ps: 0.0,
            known_ps: Picos::ZERO,
            wait_ps: Picos::ZERO,
            ops: BTreeSet::new(),
            group: OpGroup::Other,
            compared: None,
            children: Vec::new(),
        }
    }

    fn leaf(row: &OpRow, compared: Option<ComparedTimes>) -> Self {
        let known = row
            .rates
            .efficiency_percent
            .filter(|percent| percent.0.is_finite());
        Self {
            self_time_ps: row.self_time_ps,
            total_time_ps: row.total_time_ps,
            occurrences: row.occurrences,
            compared,
            ideal_ps: known.map_or(0.0, |percent| {
                row.self_time_ps.as_ps_f64() * percent.0 / 100.0
            }),
            known_ps: known.map_or(Picos::ZERO, |_| row.self_time_ps),
            wait_ps: if row.is_async || row.collective.is_some() {
                row.self_time_ps
            } else {
                Picos::ZERO
            },
            ops: row.op.into_iter().collect(),
            group: row.group,
            ..Self::branch(row.name.to_string())
        }
    }

    fn sum_up(&mut self, time: TreeTime) {
        let mut by_group: BTreeMap<usize, Picos> = BTreeMap::new();
        for child in &mut self.children {
            if !child.children.is_empty() {
                child.sum_up(time);
            }
            self.self_time_ps += child.self_time_ps;
            self.total_time_ps += child.total_time_ps;
            if let Some((a, b)) = child.compared {
                let sum = self.compared.get_or_insert_default();
                *sum = (sum.0 + a, sum.1 + b);
            }
            self.occurrences += child.occurrences;
            self.ideal_ps += child.ideal_ps;
            self.known_ps += child.known_ps;
            self.wait_ps += child.wait_ps;
            self.ops.extend(child.ops.iter().copied());
            let index = OpGroup::ALL
                .iter()
                .position(|group| *group == child.group)
                .unwrap_or(0);
            *by_group.entry(index).or_default() += child.self_time_ps;
        }
        self.group = by_group
            .into_iter()
            .max_by_key(|&(_, ps)| ps)
            .map_or(OpGroup::Other, |(i, _)| OpGroup::ALL[i]);
        self.children.sort_by(|a, b| {
            b.time_ps(time)
                .cmp(&a.time_ps(time))
                .then_with(|| a.title.cmp(&b.title))
        });
    }
}

/// The part of a time beyond the least that the limits allow, which is `efficiency` of it.
pub fn above_limit(time: Picos, efficiency: Option<Percent>) -> Option<Picos> {
    let beyond = (1.0 - efficiency?.0 / 100.0).max(0.0);
    Some(Picos::rounded(time.as_ps_f64() * beyond))
}

/// How a tree is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeSpec {
    /// What ops are grouped by, outermost first.
    pub levels: Vec<TreeGrouping>,
    /// The time by which branches are sorted.
    pub time: TreeTime,
}

/// The tree; its root stands for all ops. `compared` tells the times of an op in two runs.
pub fn tree(
    rows: &[OpRow],
    spec: &TreeSpec,
    compared: &dyn Fn(OpId) -> Option<ComparedTimes>,
) -> OpNode {
    let mut root = OpTreeBuilder::default();
    for row in rows.iter().filter(|row| row.group != OpGroup::Idle) {
        let mut branch = &mut root;
        for part in spec.levels.iter().flat_map(|&by| path(row, by)) {
            branch = branch.branches.entry(part).or_default();
        }
        branch
            .leaves
            .push(OpNode::leaf(row, row.op.and_then(compared)));
    }
    let mut root = root.finish("All ops".to_owned());
    root.sum_up(spec.time);
    root
}

#[derive(Default)]
struct OpTreeBuilder {
    branches: BTreeMap<String, OpTreeBuilder>,
    leaves: Vec<OpNode>,
}

impl OpTreeBuilder {
    fn finish(self, title: String) -> OpNode {
        let children = self
            .branches
            .into_iter()
            .map(|(title, branch)| branch.finish(title))
            .chain(self.leaves)
            .collect();
        OpNode {
            children,
            ..OpNode::branch(title)
        }
    }
}

/// The branches that contain an op, outermost first.
fn path(row: &OpRow, by: TreeGrouping) -> Vec<String> {
    /// Deeper levels of framework names are cut.
    const DEEPEST: usize = 8;
    let none = |what: &str| vec![format!("(no {what})")];
    match by {
        TreeGrouping::Program => vec![row.program.to_string()],
        TreeGrouping::Category => vec![row.category.to_string()],
        TreeGrouping::Name => vec![match without_number(&row.name) {
            name if *name == *row.category => name.to_owned(),
            name => format!("{name} [{}]", row.category),
        }],
        TreeGrouping::Source => match row.source.as_deref() {
            None | Some("") => none("source"),
            Some(source) => match source.rsplit_once(':') {
                Some((file, line)) => vec![file.to_owned(), format!("line {line}")],
                None => vec![source.to_owned()],
            },
        },
        TreeGrouping::Scope => match row.framework_name.as_deref() {
            None | Some("") => none("framework name"),
            Some(name) => {
                let parts = scopes_of(name);
                parts
                    .split_last()
                    .map_or(&[][..], |(_, modules)| modules)
                    .iter()
                    .take(DEEPEST)
                    .map(|part| (*part).to_owned())
                    .collect()
            }
        },
    }
}

#[cfg(test)]
mod tests;
