//! What a rule finds.

use engine::number;
use facts::prelude::*;

use crate::what_if::Scenario;

/// Columns of a name in a statement.
const LONGEST_NAME: usize = 32;

/// A name in a statement, short enough to be read.
pub(super) fn short_name(name: &str) -> String {
    engine::shortened(name, LONGEST_NAME)
}

/// What a rule saw.
#[derive(Debug, Default)]
pub struct Finding {
    /// One sentence with the numbers that matter.
    pub statement: String,
    /// What to do about just this, as sentences that come before those of the page; empty where the page says it all.
    pub advice: String,
    /// Beginnings of sentences of the page that are left out: what was seen excludes them, or the advice says them.
    pub leaves_out: Vec<&'static str>,
    /// The code or setting to copy, where it depends on the capture; that of the page where `None`, none where empty.
    pub code: Option<String>,
    /// What was compared with what.
    pub evidence: Vec<HintEvidence>,
    /// The ops concerned, most important first.
    pub ops: Vec<OpId>,
    /// Where on the timeline to look, most important first; at `ops` where empty.
    pub spots: Vec<FindingPlace>,
    /// What it is about besides the groups of its ops. Of findings about idle time
    /// without spots nobody knows whether it is the same idle time.
    pub about: &'static [TimeUse],
    /// Rules whose idle time is not counted here.
    pub leaves_to: Vec<&'static str>,
    /// Rules whose findings about the same ops this one gives the reason of: it comes before them, whatever they save.
    pub explains: &'static [&'static str],
    /// The rule whose remedy costs what this one saves, and the other way round: only the larger saving is counted.
    pub trades_with: Option<&'static str>,
    /// It is said only where the verdict names what it is about and no other hint answers.
    pub is_last_resort: bool,
    /// It is not what takes most of the time of its ops: it never leads, however long they run.
    pub is_minor: bool,
    /// What a fix could save.
    pub saving: PossibleSaving,
    /// Which of several remedies saves it, in words that follow `with`; `None` where all do.
    pub saved_by: Option<&'static str>,
}

/// What a fix could save at most.
#[derive(Debug, Default)]
pub enum PossibleSaving {
    /// Played again with these changes; never more than `at_most` per step.
    Replay {
        /// What the fix would change.
        changes: Vec<Scenario>,
        /// A bound that the replay does not know.
        at_most: Option<Picos>,
    },
    /// Computed, per step (of the window if there are no steps).
    PerStep(Picos),
    /// Once in the capture, and nothing in a warm step.
    Once {
        /// How much.
        time: Picos,
        /// Its share of the capture.
        percent: Percent,
    },
    /// No time: it corrects numbers.
    Nothing,
    /// Nothing that can be said in time, and why.
    #[default]
    Unknown,
}

/// A place on the timeline.
#[engine::reported]
pub struct FindingPlace {
    /// What is there.
    pub name: String,
    /// Begin on the timeline.
    pub start_ps: Timestamp,
    /// From start to end.
    pub length_ps: Picos,
    /// The slice, if it is one.
    #[serde(skip)]
    pub slice: Option<SliceId>,
}

impl FindingPlace {
    /// A span that is not a slice.
    pub(crate) fn span(name: impl Into<String>, range: TimeRange) -> Self {
        Self {
            name: name.into(),
            start_ps: range.start,
            length_ps: range.dur(),
            slice: None,
        }
    }

    /// From start to end.
    pub fn range(&self) -> TimeRange {
        TimeRange::at(self.start_ps, self.length_ps)
    }
}

impl From<SliceRef<'_>> for FindingPlace {
    fn from(slice: SliceRef<'_>) -> Self {
        Self {
            slice: Some(slice.id()),
            ..Self::span(slice.name(), slice.range())
        }
    }
}

/// One number that a rule compared.
#[engine::row(derived)]
pub struct HintEvidence {
    /// What it is, for people.
    #[column]
    pub what: String,
    /// The number.
    #[column(unit = None, with = |seen| number::value(seen.value, seen.unit))]
    pub value: f64,
    /// Unit of the number and the threshold.
    pub unit: Unit,
    /// What 100 % is, or over what it was taken.
    #[column]
    pub of: String,
    /// What it was compared with, if anything.
    #[column(unit = None, with = |seen| Some(number::value(seen.threshold?, seen.unit)))]
    pub threshold: Option<f64>,
    /// Where the number comes from.
    #[column("From")]
    pub provenance: Provenance,
}

impl HintEvidence {
    /// A share of something, in percent.
    pub(crate) fn percent(
        what: impl Into<String>,
        value: f64,
        of: impl Into<String>,
        threshold: Option<f64>,
    ) -> Self {
        Self {
            unit: Unit::Percent,
            ..Self::number(what, value, of, threshold)
        }
    }

    /// A length of time.
    pub(crate) fn time(what: impl Into<String>, ps: f64, of: impl Into<String>) -> Self {
        Self {
            unit: Unit::Picoseconds,
            ..Self::number(what, ps, of, None)
        }
    }

    /// How many.
    pub fn count(
        what: impl Into<String>,
        value: f64,
        of: impl Into<String>,
        threshold: Option<f64>,
    ) -> Self {
        Self {
            unit: Unit::Count,
            ..Self::number(what, value, of, threshold)
        }
    }

    /// A number without unit; measured unless said otherwise.
    pub(crate) fn number(
        what: impl Into<String>,
        value: f64,
        of: impl Into<String>,
        threshold: Option<f64>,
    ) -> Self {
        Self {
            what: what.into(),
            value,
            unit: Unit::None,
            of: of.into(),
            threshold,
            provenance: Provenance::Measured,
        }
    }

    /// This evidence, from another source.
    pub(crate) fn by(self, provenance: Provenance) -> Self {
        Self { provenance, ..self }
    }
}

impl PossibleSaving {
    /// Played again with these changes.
    pub(crate) fn replay(changes: impl IntoIterator<Item = Scenario>) -> Self {
        Self::Replay {
            changes: changes.into_iter().collect(),
            at_most: None,
        }
    }

    /// So many picoseconds per step.
    pub(crate) fn per_step(ps: f64) -> Self {
        Self::PerStep(Picos::from_ps(ps as i64))
    }

    /// Played again with each op taking so much of its time.
    pub fn ops(what: &str, factors: impl IntoIterator<Item = (OpId, f64)>) -> Self {
        let factors: BTreeMap<OpId, f64> = factors.into_iter().collect();
        Self::replay([Scenario::Ops {
            what: what.to_owned(),
            factors,
        }])
    }
}

impl Finding {
    /// With advice on just this, without the sentences of the page that begin so, and with the code for it in place of
    /// that of the page, where there is any.
    pub(super) fn advising(
        self,
        advice: &str,
        leaves_out: &[&'static str],
        code: Option<&str>,
    ) -> Self {
        Self {
            advice: advice.to_owned(),
            leaves_out: leaves_out.to_vec(),
            code: Some(code.unwrap_or_default().to_owned()),
            ..self
        }
    }

    /// The ops as a set.
    pub(super) fn op_set(&self) -> BTreeSet<OpId> {
        self.ops.iter().copied().collect()
    }

    /// It is about time in which the device is idle.
    pub(super) fn is_idle_time(&self) -> bool {
        self.about.contains(&TimeUse::Idle)
    }
}

/// What a rule answers, or why it has no answer.
pub type RuleResult<T = Finding> = Result<T, NoFinding>;

/// Why a rule has no finding.
#[derive(Debug)]
pub enum NoFinding {
    /// What it looks for is not there.
    Nothing,
    /// It cannot tell, for this reason.
    CannotTell(AnalysisError),
}

impl<T: Into<AnalysisError>> From<T> for NoFinding {
    fn from(why: T) -> Self {
        Self::CannotTell(why.into())
    }
}
