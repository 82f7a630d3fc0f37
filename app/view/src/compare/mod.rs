//! Comparison of two traces, without widgets: which times, tracks, ops and slices correspond, and how the views follow
//! each other.

mod align;
mod carry;
mod deltas;
mod interleave;
mod partners;
mod parts;
mod places;

use crate::prelude::*;

use analysis::compare::{CompareOptions, Comparison, Summary, compare, doubt};
use analysis::reports::{StepParts, Steps};
use analysis::{Cell, Scope, Tabular as _};

pub use align::{AlignedStep, StepAlignment};
pub use carry::carried;
pub use deltas::{DeltaTone, TimeDelta, change_text, deltas, tone_of};
pub use interleave::interleave;
pub use partners::MatchingOps;
pub use parts::PartChanges;
pub use places::MatchingTracks;

use crate::timeline::trace::OpenTrace;
use crate::viewport::Viewport;

/// One of two traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TraceSide {
    /// The first, shown above: the base.
    #[default]
    A,
    /// The second, shown below: the candidate.
    B,
}

impl TraceSide {
    /// Both sides, from the top.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// 0 for A, 1 for B.
    pub fn index(self) -> usize {
        self as usize
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }
}

/// How the view of one trace follows that of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ViewLock {
    /// Matching steps begin at the same place.
    #[default]
    Step,
    /// The ops selected last begin at the same place.
    Op,
    /// At a fixed offset.
    Offset,
    /// Independent.
    Free,
}

impl ViewLock {
    /// All modes, with a title and a tooltip.
    pub const ALL: [(Self, &'static str, &'static str); 4] = [
        (
            Self::Step,
            "Steps",
            "The k-th steady step of A begins above the k-th steady step of B",
        ),
        (
            Self::Op,
            "Ops",
            "Click an op to align it with its matching op in the other trace",
        ),
        (
            Self::Offset,
            "Offset",
            "B follows A at a fixed offset, which you can type",
        ),
        (Self::Free, "Free", "The timelines move independently"),
    ];
}

/// How two views are linked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ViewLink {
    /// The current mode.
    pub lock: ViewLock,
    /// The mode before the views were unlinked.
    before: ViewLock,
    /// The focused side.
    pub focus: TraceSide,
    /// The side that moved last; the other one follows.
    pub leader: TraceSide,
    /// The offset from a time of A to the time of B beside it, unless steps define it.
    pub offset: Picos,
}

impl ViewLink {
    pub fn set(&mut self, lock: ViewLock) {
        if self.lock != ViewLock::Free {
            self.before = self.lock;
        }
        self.lock = lock;
    }

    /// Unlinks the views, or links them as before.
    pub fn toggle(&mut self) {
        self.set(if self.lock == ViewLock::Free {
            self.before
        } else {
            ViewLock::Free
        });
    }

    /// What to add to times of `side` in a view of it; `None` if the views are independent.
    pub fn shift(
        &self,
        side: TraceSide,
        view: &Viewport,
        alignment: &StepAlignment,
    ) -> Option<Picos> {
        match self.lock {
            ViewLock::Free => None,
            ViewLock::Step => alignment.shift(side, view),
            ViewLock::Op | ViewLock::Offset => Some(if side == TraceSide::A {
                self.offset
            } else {
                -self.offset
            }),
        }
    }

    /// The range of the other trace that corresponds to a range of `side`, visible in `view`. Uses steps if there are
    /// any, even if the views are independent.
    pub fn counterpart(
        &self,
        side: TraceSide,
        view: &Viewport,
        range: TimeRange,
        alignment: &StepAlignment,
    ) -> Option<TimeRange> {
        let by_steps =
            !alignment.is_empty() && matches!(self.lock, ViewLock::Step | ViewLock::Free);
        let (start, end) = if by_steps {
            (
                alignment.map(side, range.start)?,
                alignment.map(side, range.end)?,
            )
        } else {
            let shift = self.shift(side, view, alignment)?;
            (range.start + shift, range.end + shift)
        };
        Some(TimeRange::new(start, end.max(start)))
    }
}

/// The error of a cancelled comparison.
pub const CANCELLED: &str = "stopped";

/// The reports that dominate the duration of a comparison.
const REPORTS: [&str; 8] = [
    "steps",
    "step_parts",
    "ops",
    "utilization",
    "overlap",
    "collectives",
    "compile",
    "memory",
];

/// The matching steps from the step reports alone, which are available long before the rest.
pub fn steps_of_both(a: &OpenTrace, b: &OpenTrace) -> Result<Arc<StepAlignment>, String> {
    let steps = |trace: &OpenTrace| {
        trace
            .session
            .report::<Steps>(Scope::WholeTrace)
            .map_err(|error| error.to_string())
    };
    let (a, b) = (steps(a)?, steps(b)?);
    let pairs = counted_pairs(&a, &b);
    Ok(Arc::new(StepAlignment::new(&pairs, &a, &b)))
}

/// Everything known about two traces.
pub struct TraceCorrespondence {
    /// The comparison of the reports.
    pub comparison: Comparison,
    /// The comparison as tables.
    pub tables: Vec<Table>,
    pub alignment: Arc<StepAlignment>,
    pub partners: MatchingOps,
    /// The changes of each step part.
    pub parts: PartChanges,
    /// Why steps are not aligned.
    pub why_not: Option<String>,
}

impl TraceCorrespondence {
    /// Compares two traces; computes their reports, which `progress` counts. The error is a sentence, or [`CANCELLED`].
    pub fn new(a: &OpenTrace, b: &OpenTrace, progress: &Progress) -> Result<Self, String> {
        let done = |count: u64| {
            progress.add_done(count);
            progress.check().map_err(|_cancelled| CANCELLED.to_owned())
        };
        progress.add_total(2 * (REPORTS.len() as u64 + 1));
        for id in REPORTS {
            for trace in [a, b] {
                // Computed one by one for the progress; a report that does not apply is missing later.
                drop(trace.session.report_by_id(id, Scope::WholeTrace));
                done(1)?;
            }
        }
        let mut summaries = Vec::with_capacity(2);
        for (trace, side) in [(a, TraceSide::A), (b, TraceSide::B)] {
            let summary = Summary::of(&trace.session.context(Scope::WholeTrace));
            summaries.push(
                summary.map_err(|error| {
                    format!("{} has no numbers to compare: {error}", side.name())
                })?,
            );
            done(1)?;
        }
        let comparison = compare(&summaries[..1], &summaries[1..], &CompareOptions::default());
        let steps = [a, b].map(|trace| trace.session.report::<Steps>(Scope::WholeTrace).ok());
        let (alignment, why_not) = match &steps {
            [Some(a), Some(b)] => aligned(&comparison, a, b),
            _ => (
                StepAlignment::default(),
                Some("steps are not known on both sides".to_owned()),
            ),
        };
        let partners = MatchingOps::new(&comparison, [a, b]);
        let divided = [a, b].map(|trace| trace.session.report::<StepParts>(Scope::WholeTrace).ok());
        let parts = PartChanges::new(&alignment, divided.each_ref().map(Option::as_deref));
        let tables = comparison.tables().into_iter().map(arranged).collect();
        Ok(Self {
            tables,
            comparison,
            alignment: Arc::new(alignment),
            partners,
            parts,
            why_not,
        })
    }
}

/// What sentences of a comparison call its sides, and what the window calls them.
const SIDES: [(&str, &str); 9] = [
    ("under their name in cand", "under their name in B"),
    ("of base in percent", "of A in percent"),
    ("only base", "only A"),
    ("only cand", "only B"),
    ("as base lists", "as A lists"),
    ("as cand lists", "as B lists"),
    ("steps of base are", "steps of A are"),
    ("steps of cand are", "steps of B are"),
    (
        "give several with --base and --cand",
        "give several to systole compare",
    ),
];

/// A sentence of a comparison as the window says it.
fn with_sides(text: &str) -> String {
    // Names of files may contain the same words.
    if let Some((base, cand)) = text
        .strip_prefix("base: ")
        .and_then(|rest| rest.rsplit_once("; cand: "))
    {
        return format!("A: {base}; B: {cand}");
    }
    SIDES.iter().fold(text.to_owned(), |text, (said, shown)| {
        text.replace(said, shown)
    })
}

/// A table arranged for a narrow panel: both sides, the change and its part first, and the sides named as in the window.
fn arranged(mut table: Table) -> Table {
    let rank = |id: &str| match id {
        "base" | "base_ps" | "base_percent" | "base_bytes" | "base_count" => 1,
        "cand" | "cand_ps" | "cand_percent" | "cand_bytes" | "cand_count" => 2,
        "change" | "change_ps" | "change_points" | "change_bytes" | "change_count" => 3,
        "time_use" => 4,
        "verdict" => 5,
        "change_percent" | "change_of_base_percent" | "change_of_step_percent" => 6,
        "p" => 8,
        _ => 7,
    };
    let mut order: Vec<usize> = (0..table.columns.len()).collect();
    order.sort_by_key(|&index| {
        table
            .columns
            .get(index)
            .map(|column| if index == 0 { 0 } else { rank(column.id) })
    });
    for column in &mut table.columns {
        column.title = match column.title {
            "Base ops" => "A ops",
            "Cand ops" => "B ops",
            "Base" => "A",
            "Cand" => "B",
            "Runs, base" => "Runs, A",
            "Runs, cand" => "Runs, B",
            "Of base" => "Of A",
            "Of base step" => "Of A's step",
            "Of (in base)" => "Of (in A)",
            title => title,
        };
    }
    table
        .notes
        .iter_mut()
        .for_each(|note| *note = with_sides(note));
    let verdicts = table
        .columns
        .iter()
        .position(|column| column.id == "verdict");
    for cell in table
        .rows
        .iter_mut()
        .filter_map(|row| row.get_mut(verdicts?))
    {
        if let Cell::Text(text) = cell {
            *text = with_sides(text);
            // A note of the table may name the reason.
            let sign = format!("{text}: not tested");
            let said = |doubt: &&str| {
                let mut notes = table.notes.iter();
                notes.any(|note| note.contains(doubt) || note.contains(&sign))
            };
            if let Some(doubt) = doubt(text).filter(|doubt| !said(doubt)) {
                table.notes.push(doubt.to_owned());
            }
        }
    }
    table.columns = order
        .iter()
        .filter_map(|&index| table.columns.get(index).cloned())
        .collect();
    for row in &mut table.rows {
        *row = order
            .iter()
            .map(|&index| row.get(index).cloned().unwrap_or(Cell::Missing))
            .collect();
    }
    table
}

/// The numbers of the k-th steady steps of both sides.
fn counted_pairs(a: &StepsReport, b: &StepsReport) -> Vec<(u32, u32)> {
    let pairs = a.counted().zip(b.counted());
    pairs.map(|(a, b)| (a.number, b.number)).collect()
}

/// The matched steps of the comparison, or else the k-th steady steps of both sides.
fn aligned(
    comparison: &Comparison,
    a: &StepsReport,
    b: &StepsReport,
) -> (StepAlignment, Option<String>) {
    for (report, side) in [(a, TraceSide::A), (b, TraceSide::B)] {
        if !report.has_steps() || report.steps.is_empty() {
            let why = format!(
                "{} has no steps, so the timelines are not linked; type an offset to align them",
                side.name()
            );
            return (StepAlignment::default(), Some(why));
        }
    }
    let pairs = if comparison.aligned_steps.is_empty() {
        counted_pairs(a, b)
    } else {
        comparison.aligned_steps.clone()
    };
    (StepAlignment::new(&pairs, a, b), None)
}

#[cfg(test)]
mod tests;
