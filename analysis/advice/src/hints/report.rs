//! Hints as a report.

use facts::prelude::*;
use serde::Serialize;

use super::{Confidence, FindingPlace, HintEvidence, LoopLimit};
use crate::what_if::Scenario;

/// How much a hint matters, by what it could save; what is saved once, by its share of the capture.
#[engine::titled]
pub enum HintSeverity {
    /// About the capture, not the program: it comes last and has no saving.
    Health,
    /// Below 2 % of the step, or not known in time.
    Low,
    /// From 2 %.
    Medium,
    /// From 5 %.
    High,
    /// From 15 %.
    Critical,
}

impl HintSeverity {
    /// The severity of a hint whose saving is `percent` of the step.
    pub(crate) fn of(share: Option<Percent>) -> Self {
        match share {
            Some(Percent(15.0..)) => Self::Critical,
            Some(Percent(5.0..)) => Self::High,
            Some(Percent(2.0..)) => Self::Medium,
            _ => Self::Low,
        }
    }

    /// At most high where the reason is only a pattern that can have other reasons.
    pub(crate) fn believed(self, confidence: Confidence) -> Self {
        if confidence == Confidence::Low {
            self.min(Self::High)
        } else {
            self
        }
    }
}

/// What to do next, and what it is worth.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema, engine::Columns)]
#[columns(derived)]
pub struct Hint {
    /// Stable name of the rule: `K01`.
    #[column(id = "hint")]
    pub id: &'static str,
    /// By the saving.
    #[column]
    pub severity: HintSeverity,
    /// What is the matter.
    #[column("What")]
    pub title: &'static str,
    /// Per step (see [`HintsReport::of`]), at most; `None` if it cannot be said in time.
    #[column("Saves at most")]
    pub saving_ps: Option<Picos>,
    /// The saving as a share of the step.
    #[column("Of step")]
    pub saving_percent: Option<Percent>,
    /// Which of several remedies saves it: `weights in int8 or fp8`; missing where all do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved_by: Option<&'static str>,
    /// What was seen, one sentence.
    #[column("Seen")]
    pub statement: String,
    /// What to do, in the words of the framework.
    #[column("Do")]
    pub action: String,
    /// The first thing to do, in one short sentence.
    pub brief: String,
    /// The code or setting to change, to be copied as it is.
    #[column]
    pub code: Option<String>,
    /// Other hints that are about the same time: their savings do not add up.
    #[column(with = |hint| hint.overlaps_with.join(", "))]
    pub overlaps_with: Vec<&'static str>,
    /// What other rules say of exactly this time: the same saving, other remedies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[column("Same time", with = Self::other_rules)]
    pub also: Vec<Remedy>,
    /// How sure.
    pub confidence: Confidence,
    /// What was compared with what.
    pub evidence: Vec<HintEvidence>,
    /// Saved once in the capture, and nothing in a warm step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub once_ps: Option<Picos>,
    /// How the saving was found: played again, or computed.
    pub saving_by: SavingBy,
    /// What was played again, with the bound of the saving: a replay of it saves as much.
    #[serde(skip)]
    pub changes: Vec<Scenario>,
    /// The hint whose remedy costs what this one saves, where there is one.
    #[serde(skip)]
    pub trades_with: Option<&'static str>,
    /// The ops concerned, most important first; of many, some.
    pub ops: Vec<HintOp>,
    /// All of them.
    #[serde(skip)]
    pub all_ops: BTreeSet<OpId>,
    /// Where on the timeline to look, most important first; at the ops where empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spots: Vec<FindingPlace>,
}

impl Hint {
    fn other_rules(&self) -> String {
        let others = self
            .also
            .iter()
            .map(|other| format!("{} {}", other.id, other.title));
        joined(others, "; ")
    }
}

/// What another rule says of the time that a hint is about.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Remedy {
    /// Stable name of the rule.
    pub id: &'static str,
    /// What is the matter.
    pub title: &'static str,
    /// How sure.
    pub confidence: Confidence,
    /// What was seen, one sentence.
    pub statement: String,
    /// What was compared with what.
    pub evidence: Vec<HintEvidence>,
    /// The first thing to do, in one short sentence.
    pub brief: String,
    /// What to do, in the words of the framework.
    pub action: String,
    /// The code or setting to change, to be copied as it is; missing where it is that of the hint.
    pub code: Option<String>,
}

impl From<Hint> for Remedy {
    fn from(hint: Hint) -> Self {
        let Hint {
            id,
            title,
            confidence,
            statement,
            evidence,
            brief,
            action,
            code,
            ..
        } = hint;
        Self {
            id,
            title,
            confidence,
            statement,
            evidence,
            brief,
            action,
            code,
        }
    }
}

/// What the verdict names and no hint is about.
#[engine::reported]
pub struct Unanswered {
    /// What the time is spent on.
    pub id: TimeUse,
    /// What the verdict says of it.
    pub statement: String,
    /// Why there is no hint.
    pub reason: String,
}

/// How a saving was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SavingBy {
    /// From a replay of the recorded run without the cause.
    Replay,
    /// By a formula.
    Formula,
    /// It was not.
    Unknown,
}

/// An op that a hint is about.
#[engine::row(derived)]
pub struct HintOp {
    /// Instruction name.
    #[column(id = "op")]
    pub name: String,
    /// Program, with its id.
    #[column]
    pub program: String,
    /// `file:line`.
    #[column]
    pub source: Option<String>,
    /// Self time over the devices of [`HintsReport::sums_over`].
    #[column("Self time (sum)", measured)]
    pub self_time_ps: Picos,
    /// The op in the model.
    #[serde(skip)]
    pub op: OpId,
}

/// A rule that had no answer.
#[engine::reported]
pub struct CannotTell {
    /// The rule.
    pub id: &'static str,
    /// What it looks for.
    pub title: &'static str,
    /// What is missing.
    pub reason: String,
}

/// A hint that the user does not want to see.
#[engine::reported]
pub struct Suppressed {
    /// The rule.
    pub id: &'static str,
    /// What it looks for.
    pub title: &'static str,
    /// Why it is accepted.
    pub reason: String,
}

/// Everything that the rules said.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema, Default)]
pub struct HintsReport {
    /// What limits the loop, in one sentence; missing without ops of devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<LoopLimit>,
    /// What to do, first about what limits the loop, then most worthwhile first; last what to know about the capture.
    pub hints: Vec<Hint>,
    /// What savings are per: `mean of 9 steps`, `whole window`.
    pub of: String,
    /// Its length.
    pub step_ps: f64,
    /// Whether it is much longer than the median step.
    pub is_above_median: bool,
    /// What times of ops are sums over.
    pub sums_over: SumOver,
    /// The hints in `combined` together, played again at once: never the sum of their savings.
    pub combined_saving_ps: Option<Picos>,
    /// The saving as a share of the step.
    pub combined_saving_percent: Option<Percent>,
    /// Hints that `combined_saving_ps` counts.
    pub combined: Vec<&'static str>,
    /// Hints whose saving is not part of it, because a formula gives it and no replay, or because
    /// a hint of `combined` costs what it saves.
    pub not_combined: Vec<&'static str>,
    /// What the verdict names and no hint is about.
    pub unanswered: Vec<Unanswered>,
    /// Rules that looked and found nothing.
    pub quiet: Vec<&'static str>,
    /// Rules that lack what they need.
    pub cannot_tell: Vec<CannotTell>,
    /// Hints that the user does not want to see.
    pub suppressed: Vec<Suppressed>,
}

impl Tabular for HintsReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.hint_table(), self.evidence_table(), self.op_table()];
        tables.push(self.silent_table());
        tables.retain(|table| !table.rows.is_empty() || table.id == "hints");
        tables
    }
}

impl Unanswered {
    /// As a sentence.
    pub fn text(&self) -> String {
        format!("No hint about this: {} ({}).", self.statement, self.reason)
    }
}

impl HintsReport {
    /// That no hint answers what limits the loop, and why; `None` if one does.
    pub fn open_limit(&self) -> Option<String> {
        let limit = self.limit.as_ref()?;
        let open = self.unanswered.iter().find(|open| open.id == limit.id)?;
        Some(format!("No hint answers the limit: {}.", open.reason))
    }

    /// What hints save together, which these are, and which have no part in it; `None` where less than two are counted.
    pub fn all_together(&self, time: impl Fn(Picos) -> String) -> Option<String> {
        let saving = self.combined_saving_ps?;
        let share = self.combined_saving_percent?;
        let [first @ .., last] = self.combined.as_slice() else {
            return None;
        };
        let alone = |id: &&str| {
            let hint = self.hints.iter().find(|hint| hint.id == *id)?;
            let instead = hint.trades_with.filter(|id| self.combined.contains(id));
            let how = instead.map_or_else(
                || "by formula".to_owned(),
                |other| format!("instead of what {other} saves"),
            );
            Some(format!("{id} ({} {how})", time(hint.saving_ps?)))
        };
        let others: Vec<String> = self.not_combined.iter().filter_map(alone).collect();
        let others = if others.is_empty() {
            String::new()
        } else {
            format!(" Not counted: {}.", others.join(", "))
        };
        let text = format!(
            "Together {} and {last} save at most {} ({share:.1} of {}): from one replay with all their changes.{others}",
            first.join(", "),
            time(saving),
            time(Picos::rounded(self.step_ps))
        );
        (!first.is_empty()).then_some(text)
    }

    fn hint_table(&self) -> Table {
        let mut notes = Vec::new();
        if self.hints.is_empty() {
            let looked = self.quiet.len();
            notes.push(format!(
                "None of the {looked} rules that could be applied to this capture found anything."
            ));
        } else {
            notes.push(format!(
                "Savings are upper bounds per step ({}) and cannot be added up.",
                self.of
            ));
        }
        notes.extend(self.all_together(|time| time.to_string()));
        notes.extend(self.unanswered.iter().map(Unanswered::text));
        if !self.suppressed.is_empty() {
            let ids: Vec<&str> = self.suppressed.iter().map(|hint| hint.id).collect();
            notes.push(format!("{} suppressed: {}.", ids.len(), ids.join(", ")));
        }
        Table::of("hints", "What to do", &self.hints)
            .remaining()
            .notes(notes)
            .build()
    }

    fn evidence_table(&self) -> Table {
        let all = self.hints.iter().flat_map(|hint| {
            std::iter::once((hint.id, &hint.evidence))
                .chain(hint.also.iter().map(|other| (other.id, &other.evidence)))
        });
        let rows = all.flat_map(|(id, evidence)| evidence.iter().map(move |seen| (id, seen)));
        Table::of("hint_evidence", "Evidence of the hints", rows)
            .derived("hint", "Hint", Unit::None, |(id, _)| id)
            .declared_by(
                |(_, seen)| seen,
                ["what", "value", "of", "threshold", "provenance"],
            )
            .build()
    }

    fn op_table(&self) -> Table {
        let rows = self
            .hints
            .iter()
            .flat_map(|hint| hint.ops.iter().map(move |op| (hint, op)));
        Table::of("hint_ops", "Ops that the hints are about", rows)
            .derived("hint", "Hint", Unit::None, |(hint, _)| hint.id)
            .declared_by(|(_, op)| op, ["op", "program"])
            .derived(
                "self_time_each_ps",
                self.sums_over.self_time_title(),
                Unit::Picoseconds,
                |(_, op)| self.sums_over.each_ps(op.self_time_ps),
            )
            .declared_by(|(_, op)| op, ["source", "self_time_ps"])
            .note(self.sums_over.note())
            .build()
    }

    fn silent_table(&self) -> Table {
        let suppressed = self
            .suppressed
            .iter()
            .map(|it| (it.id, it.title, format!("suppressed: {}", it.reason)));
        let cannot = self
            .cannot_tell
            .iter()
            .map(|rule| (rule.id, rule.title, rule.reason.clone()));
        let rows: Vec<_> = suppressed.chain(cannot).collect();
        Table::of(
            "hints_silent",
            "Rules that could not be applied, and suppressed hints",
            &rows,
        )
        .derived("hint", "Hint", Unit::None, |&(id, ..)| id)
        .derived("title", "Looks for", Unit::None, |&(_, title, _)| title)
        .derived("reason", "Why silent", Unit::None, |(.., reason)| reason)
        .build()
    }
}
