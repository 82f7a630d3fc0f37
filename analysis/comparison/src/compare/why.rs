//! Why a step changed, as a table of few rows that add up, and in one sentence.

use std::fmt::Write as _;

use facts::prelude::*;
use hlo::element_bits;

use super::attribution::{Attribution, OpChange, ShareOfBaseStep};
use super::change::ChangeVerdict;
use super::headline::ps;
use super::run_loop::signed;
use super::uses::{GroupChange, TimesOfSides, UseChange};
use super::verdict_words::{doubt, reason, word_of_sides};

/// Rows of the table at most, the step included.
pub const WHY_ROWS: usize = 10;
/// Uses with a row of their own.
const USES: usize = 5;
/// Groups below a use.
const GROUPS: usize = 3;
/// Smallest part of all movement that gets a row or a clause.
const WORTH_SAYING: f64 = 0.05;
/// Share of the step below which nothing moved.
const NEGLIGIBLE: f64 = 0.001;
/// From this share of the movement of its use on, a group alone explains it.
const EXPLAINS: f64 = 0.9;
/// From this share on it is named in the sentence.
const MOST: f64 = 0.5;
/// Ops that moved by more than their use replaced others.
const WHOLE: f64 = 1.05;
/// What a row of ops begins with; the rows of uses, to which they add up, begin with their name.
const BELOW: &str = "– ";

/// A row of the table: the step, a use of its time, or ops within one.
#[derive(Debug, Default, engine::Columns)]
#[columns(derived)]
pub struct WhyRow {
    /// The use of time, or what the ops do.
    #[column(id = "what")]
    pub name: String,
    /// Whether it is a part of the use above it.
    pub is_below: bool,
    /// The use; `None` for the step and for all else.
    pub time_use: Option<TimeUse>,
    /// The ops of a row below a use; `None` for the rest of them.
    pub group: Option<String>,
    /// In the mean step of the base; `None` if it has no such ops.
    #[column]
    pub base_ps: Option<f64>,
    /// In the mean step of the candidate; `None` if it has no such ops.
    #[column]
    pub cand_ps: Option<f64>,
    /// Second minus first.
    #[column]
    pub change_ps: f64,
    /// The change as a share of the step of the base.
    #[column(nested)]
    pub share: ShareOfBaseStep,
    /// `slower`, `~` …; empty where it was not tested.
    #[column(non_empty)]
    pub verdict: &'static str,
    /// What the verdict is from; `None` where it was not tested.
    pub finding: Option<ChangeVerdict>,
    /// File and line of the ops that make up most of the change, without folders.
    #[column]
    pub source: Option<String>,
}

impl Attribution {
    /// The table of [`Self::why`].
    pub fn why_table(&self, rows: usize) -> Table {
        let rows = self.why(rows);
        let mut signs: BTreeSet<&str> = rows
            .iter()
            .filter_map(|row| match row.verdict {
                "?" => reason(row.finding?),
                verdict => doubt(verdict),
            })
            .collect();
        if rows.iter().any(|row| row.verdict == "~") {
            signs.insert("~: within noise.");
        }
        let signs: String = signs.iter().flat_map(|text| [" ", text]).collect();
        let title = "Why: a step by what its time is used for";
        let about = "A step: the mean of the middle half of them, on the slowest device (of equally slow ones the one that waits least for the others), by what ops do and not by their names.";
        Table::of("why", title, &rows)
            .remaining()
            .note(format!("{about}{signs}"))
            .build()
    }

    /// The uses of time that moved and the ops that moved within them, in at most `most` rows. Uses and the rest of them add
    /// up to the step in the last row, ops to their use.
    pub fn why(&self, most: usize) -> Vec<WhyRow> {
        let least = self.least_change();
        let moved = self.moved(least).count();
        // The step and all else have rows of their own.
        let shown = moved.min(USES).min(most.saturating_sub(2));
        let (shown, rest) = self.uses.split_at(shown);
        let has_rest = rest.iter().any(|one| one.times != TimesOfSides::default());
        let mut room = most
            .saturating_sub(1 + shown.len())
            .saturating_sub(usize::from(has_rest));
        let mut rows = Vec::with_capacity(most);
        for one in shown {
            let below = groups_of(one, least, room, self);
            room -= below.len();
            let only = below.is_empty().then(|| alone(one)).flatten();
            let verdict = word_of_sides(one.finding, one.sides());
            let name = one.id.title().to_owned();
            let mut row = self.row(name, one.times, verdict).of_sides(one.sides());
            if let Some(group) = only.filter(|group| group.name != one.id.title()) {
                row.name = format!("{}: {}", row.name, group.name);
                row.source = group.file();
            }
            (row.time_use, row.finding) = (Some(one.id), Some(one.finding));
            rows.push(row);
            rows.extend(below);
        }
        if has_rest {
            let times = rest.iter().map(|one| one.times).sum();
            let name = if shown.is_empty() {
                "all uses"
            } else {
                "all else"
            };
            rows.push(self.row(name.to_owned(), times, ""));
        }
        let whole = TimesOfSides::new(self.base_ps, self.cand_ps);
        rows.push(self.row("the step".to_owned(), whole, ""));
        rows
    }

    fn row(&self, name: String, times: TimesOfSides, verdict: &'static str) -> WhyRow {
        WhyRow {
            name,
            base_ps: Some(times.base_ps),
            cand_ps: Some(times.cand_ps),
            change_ps: times.change_ps,
            share: self.share_of_step(times.change_ps),
            verdict,
            ..WhyRow::default()
        }
    }

    /// The row of a group below its use.
    fn below(&self, one: &UseChange, group: &GroupChange) -> WhyRow {
        let name = format!("{BELOW}{}", group.name);
        let row = self.row(name, group.times, group.verdict());
        WhyRow {
            is_below: true,
            time_use: Some(one.id),
            group: Some(group.name.clone()),
            finding: Some(group.finding),
            source: group.file(),
            ..row.of_sides(group.sides())
        }
    }

    /// Changes below this are not worth a row: a part of all movement, and of the step.
    fn least_change(&self) -> f64 {
        let changes = self.uses.iter().map(|one| one.times.change_ps.abs());
        let all: f64 = changes.sum();
        (WORTH_SAYING * all).max(NEGLIGIBLE * self.base_ps).max(0.5)
    }

    /// Uses for sentences: what idle time is for only matters if there is more or less of it.
    fn told(&self) -> Vec<&UseChange> {
        let idle = self.uses.iter().filter(|one| one.is_idle());
        let change: f64 = idle.map(|one| one.times.change_ps).sum();
        let is_told = change.abs() >= NEGLIGIBLE * self.base_ps;
        self.uses
            .iter()
            .filter(|one| is_told || !one.is_idle())
            .collect()
    }

    fn moved(&self, least: f64) -> impl Iterator<Item = &UseChange> {
        let is_moved = move |one: &&UseChange| one.times.change_ps.abs() >= least;
        self.uses.iter().take_while(is_moved)
    }

    /// `4-bit weights save 16.76 ms of matrix products; 15.34 ms come back elsewhere, most in element-wise work
    /// (mean.dim/reduce_sum at jaten.py:280, +5.6 ms)`; `None` if no use changed by a thousandth of the step.
    pub fn conclusion(&self) -> Option<String> {
        let least = self.least_change();
        let told = self.told();
        let first = told.first()?;
        if first.times.change_ps.abs() < least {
            return None;
        }
        let mut text = main_clause(first);
        let is_more = first.times.change_ps > 0.0;
        let mut against = Vec::new();
        let mut with = Vec::new();
        for &one in &told[1..] {
            if (one.times.change_ps > 0.0) == is_more {
                with.push(one);
            } else {
                against.push(one);
            }
        }
        let sum = |uses: &[&UseChange]| -> f64 { uses.iter().map(|one| one.times.change_ps).sum() };
        if sum(&with).abs() >= least.max(0.2 * first.times.change_ps.abs()) {
            let word = if is_more { "more" } else { "less" };
            let time = ps(sum(&with).abs());
            let most = most_of(&with);
            let _ = write!(text, "; {time} {word} elsewhere, most {most}");
        }
        // All that is not said before, so that the sentence adds up to the change of the step.
        let rest = if text.contains(" elsewhere") {
            sum(&against)
        } else {
            sum(&against) + sum(&with)
        };
        if !against.is_empty() && rest.abs() >= least && (rest > 0.0) != is_more {
            let what = if is_more {
                "less elsewhere"
            } else {
                "come back elsewhere"
            };
            let time = ps(rest.abs());
            let most = most_of(&against);
            let _ = write!(text, "; {time} {what}, most {most}");
        }
        Some(text)
    }

    /// The ops that took more time than before, most first: where to look. `None` if none did by more than noise; what
    /// could not be tested counts.
    pub fn look_first(&self) -> Option<String> {
        let least = (NEGLIGIBLE * self.base_ps).max(0.5);
        let told = self.told();
        let groups = told
            .iter()
            .flat_map(|one| one.groups.iter().map(move |group| (*one, group)));
        let may_be_noise = |(one, group): &(&UseChange, &GroupChange)| {
            let tested = match group.finding {
                ChangeVerdict::Untested => one.finding,
                finding => finding,
            };
            matches!(tested, ChangeVerdict::Noise | ChangeVerdict::BetweenRuns)
        };
        let groups = groups.filter(|both| !may_be_noise(both));
        // Of ops that replaced others only what is more than those took counts.
        let grown = |one: &UseChange, group: &GroupChange| {
            group.times.change_ps.min(one.times.change_ps.max(0.0))
        };
        let (one, group) = groups
            .max_by(|a, b| grown(a.0, a.1).total_cmp(&grown(b.0, b.1)))
            .filter(|(one, group)| grown(one, group) >= least)?;
        let title = one.id.title();
        let (what, times, [before, _]) = if group.name == title {
            (title.to_owned(), one.times, one.sides())
        } else {
            let what = format!("{} ({title})", placed(group));
            (what, group.times, group.sides())
        };
        let change = signed(times.change_ps);
        let before = before.map_or("new".to_owned(), |before| format!("{} before", ps(before)));
        // Of ops that replaced others.
        let all = if times.change_ps > WHOLE * one.times.change_ps {
            format!("; all {title} {}", signed(one.times.change_ps))
        } else {
            String::new()
        };
        Some(format!("{what}: {change} a step, {before}{all}"))
    }
}

impl WhyRow {
    fn of_sides(mut self, [base_ps, cand_ps]: [Option<f64>; 2]) -> Self {
        (self.base_ps, self.cand_ps) = (base_ps, cand_ps);
        self
    }

    /// Whether an op is among those of the row.
    pub fn has(&self, op: &OpChange) -> bool {
        self.time_use == Some(op.time_use)
            && self.group.as_ref().is_none_or(|group| *group == op.group)
    }
}

/// Rows of the groups that moved most, and of the rest of them: none if the use is that of one group alone, or if what
/// moved is named like the use.
fn groups_of(one: &UseChange, least: f64, room: usize, whole: &Attribution) -> Vec<WhyRow> {
    if alone(one).is_some() {
        return Vec::new();
    }
    let is_named = |group: &&GroupChange| group.name != one.id.title();
    let (mut named, other): (Vec<_>, Vec<_>) = one.groups.iter().partition(is_named);
    let moved = named
        .iter()
        .copied()
        .take_while(|group| group.times.change_ps.abs() >= least)
        .count();
    let fits = |shown: usize| shown + usize::from(shown < one.groups.len()) <= room;
    let Some(shown) = (1..=moved.min(GROUPS)).rev().find(|&shown| fits(shown)) else {
        return Vec::new();
    };
    let mut rest = named.split_off(shown);
    rest.extend(other);
    let mut rows: Vec<WhyRow> = named.iter().map(|group| whole.below(one, group)).collect();
    let times: TimesOfSides = rest.iter().map(|group| group.times).sum();
    if times.change_ps.abs() < 0.5 {
        return rows;
    }
    rows.push(match rest[..] {
        [only] if is_named(&only) => whole.below(one, only),
        _ => {
            let rest = if one.is_idle() { "causes" } else { "ops" };
            WhyRow {
                is_below: true,
                time_use: Some(one.id),
                ..whole.row(format!("{BELOW}other {rest}"), times, "")
            }
        }
    });
    rows
}

/// The group that explains the change of a use alone and takes all of its time, as far as times are shown: a row of its
/// name has its times.
fn alone(one: &UseChange) -> Option<&GroupChange> {
    let shown =
        |times: TimesOfSides| [times.base_ps, times.cand_ps].map(|time| ps(time).to_string());
    explaining(one).filter(|group| shown(group.times) == shown(one.times))
}

/// The group that explains the change of a use alone.
fn explaining(one: &UseChange) -> Option<&GroupChange> {
    let first = one.groups.first()?;
    let groups = one.groups.iter();
    let all: f64 = groups.map(|group| group.times.change_ps.abs()).sum();
    (one.groups.len() == 1 || first.times.change_ps.abs() >= EXPLAINS * all).then_some(first)
}

/// `4-bit weights save 16.76 ms of matrix products`, `1.000 ms more idle time (input wait)`.
fn main_clause(one: &UseChange) -> String {
    let change = one.times.change_ps;
    let time = ps(change.abs());
    if let Some((before, after)) = new_weights(one) {
        let bits = element_bits(&after).unwrap_or_default();
        let verb = if change < 0.0 { "save" } else { "cost" };
        return format!(
            "{bits}-bit weights ({after} for {before}) {verb} {time} of matrix products"
        );
    }
    let word = if change > 0.0 { "more" } else { "less" };
    let part = |group: &GroupChange| same_way(one, group) / change.abs();
    let named = most_moved(one).filter(|group| (MOST..=WHOLE).contains(&part(group)));
    let named = named.filter(|group| group.name != one.id.title());
    let named = named.map_or_else(String::new, |group| {
        if explaining(one).is_some() {
            format!(" ({})", placed(group))
        } else {
            let part = ps(group.times.change_ps.abs());
            format!(", {part} of it {}", placed(group))
        }
    });
    format!("{time} {word} {}{named}", noun(one.id))
}

/// How much a group moved in the direction of its use.
fn same_way(one: &UseChange, group: &GroupChange) -> f64 {
    group.times.change_ps * one.times.change_ps.signum()
}

/// The group that moved most in the direction of its use.
fn most_moved(one: &UseChange) -> Option<&GroupChange> {
    let groups = one.groups.iter();
    groups.max_by(|a, b| same_way(one, a).total_cmp(&same_way(one, b)))
}

/// Types of the weights of most time on both sides, if they differ in width.
fn new_weights(one: &UseChange) -> Option<(String, String)> {
    let most = |time: fn(&GroupChange) -> f64| {
        let groups = one.groups.iter().filter(|group| time(group) > 0.0);
        let most = groups.max_by(|a, b| time(a).total_cmp(&time(b)))?;
        most.weights.clone()
    };
    let before = most(|group| group.times.base_ps)?;
    let after = most(|group| group.times.cand_ps)?;
    (element_bits(&before)? != element_bits(&after)?).then_some((before, after))
}

/// `in element-wise work (mlp/mul at layernorm.py:147, +4.7 ms)`: the use that moved most, and its ops that did.
fn most_of(uses: &[&UseChange]) -> String {
    let Some(most) = uses.first() else {
        return String::new();
    };
    let group = most_moved(most).map_or_else(String::new, |group| {
        let change = signed(group.times.change_ps);
        if group.name == most.id.title() {
            format!(" ({change})")
        } else {
            format!(" ({}, {change})", placed(group))
        }
    });
    let noun = noun(most.id);
    let preposition = if noun.starts_with("in ") { "" } else { "in " };
    format!("{preposition}{noun}{group}")
}

/// `mlp/mul at layernorm.py:147`: the file without its folders.
fn placed(group: &GroupChange) -> String {
    let mostly = if group.source_part < EXPLAINS {
        "mostly "
    } else {
        ""
    };
    match group.file() {
        Some(file) => format!("{} {mostly}at {file}", group.name),
        None => group.name.clone(),
    }
}

/// The use after "1 ms more".
fn noun(id: TimeUse) -> String {
    match id {
        TimeUse::Idle => "idle time".to_owned(),
        TimeUse::Vector => "element-wise work".to_owned(),
        TimeUse::SparseCore => "SparseCore work".to_owned(),
        TimeUse::Collective
        | TimeUse::AsyncWait
        | TimeUse::Input
        | TimeUse::Compile
        | TimeUse::Control => id.title().to_owned(),
        _ => format!("in {}", id.title()),
    }
}
