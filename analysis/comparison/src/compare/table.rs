//! The tables of a comparison.

use engine::{LowerBound, TableBuilder, listed};
use facts::prelude::*;
use run_reports::hlo::ProgramSum;
use trace_model::kept;

use super::attribution::OpChange;
use super::attribution_table::attribution_table;
use super::better::Better;
use super::change::{ChangeVerdict, MetricChange, TestOptions};
use super::comparison::{BoundSides, Comparison, ComparisonSide, SeriesChange, ValueChange};
use super::verdict_words::word_of_sides;
use super::{CauseChain, GroupChange, ShiftEstimate, WHY_ROWS};

impl SeriesChange {
    /// `slower`, `~`, `? too few` …
    pub fn verdict(&self) -> String {
        verdict(&self.change, self.unit, self.better)
    }
}

impl OpChange {
    /// `slower`, `~`, `new` …
    pub fn verdict(&self) -> String {
        // An op of few steps changes their mean, and not the median, which is shown.
        let is_rare = |side: Option<ShiftEstimate>| side.is_some_and(|side| side.median == 0.0);
        match (self.base_name.is_some(), self.cand_name.is_some()) {
            (true, false) if is_rare(self.change.base) => "gone, in few steps".to_owned(),
            (false, true) if is_rare(self.change.cand) => "new, in few steps".to_owned(),
            (true, false) => "gone".to_owned(),
            (false, true) => "new".to_owned(),
            _ => verdict(&self.change, Unit::Picoseconds, Better::Lower),
        }
    }

    /// `fusion.1`, or `fusion.1 → fusion.9`.
    pub fn name(&self) -> String {
        match (&self.base_name, &self.cand_name) {
            (Some(base), Some(cand)) if base != cand => format!("{base} → {cand}"),
            (_, Some(name)) | (Some(name), None) => name.clone(),
            (None, None) => String::new(),
        }
    }
}

impl GroupChange {
    /// `slower`, `~`, `new` …
    pub fn verdict(&self) -> &'static str {
        word_of_sides(self.finding, self.sides())
    }
}

/// How a time changed, in a word: `slower`, `faster`, `~` …
pub(crate) fn word_of_change(change: &MetricChange) -> String {
    verdict(change, Unit::Picoseconds, Better::Lower)
}

/// `slower`, `~`, `? too few` …
fn verdict(change: &MetricChange, unit: Unit, better: Better) -> String {
    match change.finding {
        ChangeVerdict::Noise if change.change == Some(0.0) => "~ equal".to_owned(),
        ChangeVerdict::Noise => "~".to_owned(),
        ChangeVerdict::TooFew => "? too few".to_owned(),
        ChangeVerdict::Correlated => "? correlated".to_owned(),
        ChangeVerdict::Untested => "?".to_owned(),
        ChangeVerdict::OneSided => if change.base.is_some() {
            "only base"
        } else {
            "only cand"
        }
        .to_owned(),
        ChangeVerdict::BetweenRuns => format!("? {}", direction(change, unit, better)),
        ChangeVerdict::Changed => direction(change, unit, better).to_owned(),
    }
}

fn direction(change: &MetricChange, unit: Unit, better: Better) -> &'static str {
    let more = change.change.unwrap_or(0.0) > 0.0;
    let is_time = unit == Unit::Picoseconds;
    match (better, more) {
        (Better::Lower, true) if is_time => "slower",
        (Better::Lower, false) if is_time => "faster",
        (Better::Lower, true) | (Better::Higher, false) => "worse",
        (Better::Lower, false) | (Better::Higher, true) => "better",
        (Better::Neither, true) => "more",
        (Better::Neither, false) => "less",
    }
}

impl Tabular for Comparison {
    fn tables(&self) -> Vec<Table> {
        let mut tables: Vec<Table> = facts::environment_table(&self.environment)
            .into_iter()
            .collect();
        tables.push(self.differences_table());
        if !self.is_comparable {
            return tables;
        }
        if let Some(prediction) = &self.prediction {
            let mut table = prediction.table();
            table.notes.extend(self.notes.iter().cloned());
            tables.push(table);
            let [base, cand] = if prediction.is_base {
                ["Predicted", "Measured"]
            } else {
                ["Measured", "Predicted"]
            };
            for mut table in values_tables(&self.values) {
                for column in &mut table.columns {
                    column.title = match column.title {
                        "Base" => base,
                        "Cand" => cand,
                        title => title,
                    };
                }
                tables.push(table);
            }
            return tables;
        }
        tables.extend(
            self.attribution
                .as_ref()
                .map(|attribution| attribution.why_table(WHY_ROWS)),
        );
        // Without a candidate it says what "why" says.
        tables.extend(self.chain().map(CauseChain::table));
        tables.extend(self.steps_tables());
        tables.extend(self.attribution.as_ref().map(attribution_table));
        if !self.ops.is_empty() {
            tables.push(self.ops_table());
        }
        for (number, class) in (2..).zip(&self.classes) {
            tables.extend(class.class_tables(number));
        }
        match (&self.program_diff, &self.program) {
            (Some(diff), _) => tables.extend(diff.own_tables()),
            (None, Some(program)) => tables.push(ProgramSum::table(&program.sums)),
            (None, None) => {}
        }
        tables.extend(values_tables(&self.values));
        tables
    }
}

/// Classes of steps whose tables have ids of their own; those beyond share the ids of the last.
const NUMBERED_CLASSES: usize = 8;

/// What the times of ops are.
const OPS_LEGEND: &str = "Median times per step; of a collective only the exposed time counts. Largest change of the mean \
                          step first. p is after Holm's correction over all ops.";

impl Comparison {
    /// What the numbers of steps and the signs of their verdicts mean.
    pub fn legend(&self) -> String {
        format!(
            "Medians over steady steps on the slowest device; ± is half the 95 % confidence interval of the median. \
             ~: within noise (rank-sum test at {} %, and the spread between equal steps){}. ? before a direction: more \
             than that, but not more than runs of the same program may differ.",
            100.0 * self.options.test.alpha,
            self.asked_effect()
        )
    }

    /// What else counts as no change, where the user chose it.
    fn asked_effect(&self) -> String {
        let least = self.options.test.min_effect_percent;
        if least > TestOptions::default().min_effect_percent {
            format!(", or less than {least} % of the step")
        } else {
            String::new()
        }
    }

    /// What the numbers of ops mean, and how many of them changed.
    pub fn ops_legend(&self) -> String {
        let changed = self.ops.iter().filter(|op| op.change.is_real()).count();
        format!(
            "{changed} of {} changed by more than noise. {OPS_LEGEND}",
            counted(self.ops.len(), "op")
        )
    }

    /// What both runs have in common, if no difference was found.
    pub fn agreement(&self) -> Option<String> {
        let sums = self.program.iter().flat_map(|program| &program.sums);
        let is_other_program = sums.into_iter().any(|sum| sum.differs);
        let same = ["devices", "programs", "shapes", "steps", "formats"]
            .into_iter()
            .filter(|what| {
                let is_other = *what == "programs" && is_other_program;
                !(is_other || self.unknown.contains(what))
            });
        let same = listed(&same.collect::<Vec<_>>());
        let unknown = match &self.unknown[..] {
            [] => String::new(),
            unknown => format!("; {} are not known of both runs", listed(unknown)),
        };
        self.differences
            .is_empty()
            .then(|| format!("none: {same} agree{unknown}"))
    }

    /// The programs that its steps run, on both sides.
    pub fn class_title(&self) -> String {
        let base = &self.base.class;
        let cand = &self.cand.class;
        if base == cand {
            base.clone()
        } else {
            format!("{base} → {cand}")
        }
    }

    fn class_tables(&self, number: usize) -> Vec<Table> {
        let number = number.min(NUMBERED_CLASSES);
        let mut tables = self.steps_tables();
        tables.extend(self.attribution.as_ref().map(attribution_table));
        tables.extend((!self.ops.is_empty()).then(|| self.ops_table()));
        for table in &mut tables {
            table.id = kept(&format!("{}_class_{number}", table.id));
            table.title = format!("{}, steps of {}", table.title, self.class_title());
        }
        if let Some(first) = tables.first_mut() {
            first.notes.insert(0, self.statement.clone());
        }
        tables
    }

    fn differences_table(&self) -> Table {
        let side =
            |side: &ComparisonSide| format!("{} ({})", side.runs.join(", "), side.steps_in_words());
        let mut notes = vec![format!(
            "base: {}; cand: {}",
            side(&self.base),
            side(&self.cand)
        )];
        notes.extend(self.agreement());
        Table::of(
            "differences",
            "Differences between the runs",
            &self.differences,
        )
        .remaining()
        .notes(notes)
        .build()
    }

    fn steps_tables(&self) -> Vec<Table> {
        let of_unit = |unit: Unit| self.steps.iter().filter(move |series| series.unit == unit);
        let mut notes = vec![self.legend()];
        notes.extend(self.notes.iter().cloned());
        let times = series_table(
            "steps",
            "Step time",
            of_unit(Unit::Picoseconds),
            Unit::Picoseconds,
            notes,
        );
        let percent = series_table(
            "step_shares",
            "Shares of the step",
            of_unit(Unit::Percent),
            Unit::Percent,
            vec![POINTS.to_owned()],
        );
        [times, percent]
            .into_iter()
            .filter(|table| !table.rows.is_empty())
            .collect()
    }

    fn ops_table(&self) -> Table {
        Table::of("ops", "Ops by change", &self.ops)
            .declared([
                "op",
                "base_ps",
                "cand_ps",
                "change_ps",
                "change_percent",
                "verdict",
                "matched",
                "confidence_percent",
            ])
            .remaining()
            .note(self.ops_legend())
            .build()
    }
}

impl MetricChange {
    /// Its p-value, where one is meaningful.
    pub(super) fn tested_p(&self) -> Option<f64> {
        self.p.filter(|_| self.finding.is_tested())
    }
}

impl ChangeVerdict {
    /// Whether a p-value is meaningful beside it.
    pub fn is_tested(self) -> bool {
        matches!(self, Self::Changed | Self::BetweenRuns | Self::Noise)
    }
}

fn change_table<'a, R: Copy + 'a>(
    id: &'static str,
    title: &str,
    unit: Unit,
    rows: impl Iterator<Item = R>,
    number: fn(R) -> &'a SeriesChange,
    bounds: Option<fn(R) -> BoundSides>,
) -> TableBuilder<'a, R> {
    let [base, cand, change] = match unit {
        Unit::Picoseconds => ["base_ps", "cand_ps", "change_ps"],
        Unit::Percent => ["base_percent", "cand_percent", "change_points"],
        Unit::Bytes => ["base_bytes", "cand_bytes", "change_bytes"],
        Unit::Count => ["base_count", "cand_count", "change_count"],
        _ => ["base", "cand", "change"],
    };
    let spread = |estimate: Option<ShiftEstimate>| {
        let estimate = estimate?;
        let half = (estimate.high? - estimate.low?) / 2.0;
        (estimate.median > 0.0).then(|| 100.0 * half / estimate.median)
    };
    let of = move |row| &number(row).change;
    let bound = |table: TableBuilder<'a, R>, id, of: fn(BoundSides) -> bool| match bounds {
        Some(bounds) => table.derived(id, "Bound", Unit::None, move |row| {
            LowerBound(of(bounds(row)))
        }),
        None => table,
    };
    let table = Table::of(id, title, rows)
        .derived("metric", "What", Unit::None, move |row| &number(row).title);
    let table = bound(table, "base_bound", |sides| sides.base)
        .derived(base, "Base", unit, move |row| Some(of(row).base?.median))
        .derived("base_spread_percent", "±", Unit::Percent, move |row| {
            spread(of(row).base)
        });
    bound(table, "cand_bound", |sides| sides.cand)
        .derived(cand, "Cand", unit, move |row| Some(of(row).cand?.median))
        .derived("cand_spread_percent", "±", Unit::Percent, move |row| {
            spread(of(row).cand)
        })
        .derived(change, "Change", unit, move |row| of(row).change)
        .derived(
            "change_of_base_percent",
            "Of base",
            Unit::Percent,
            move |row| of(row).change_percent,
        )
        .derived("verdict", "Verdict", Unit::None, move |row| {
            number(row).verdict()
        })
        .derived("p", "p", Unit::None, move |row| of(row).tested_p())
        .derived("change_from", "Change from", unit, move |row| {
            Some(of(row).range?.0)
        })
        .derived("change_to", "to", unit, move |row| Some(of(row).range?.1))
        .derived("noise", "Noise", unit, move |row| of(row).noise)
        .derived("id", "Id", Unit::None, move |row| &number(row).id)
}

fn series_table<'a>(
    id: &'static str,
    title: &str,
    series: impl Iterator<Item = &'a SeriesChange>,
    unit: Unit,
    notes: Vec<String>,
) -> Table {
    change_table(id, title, unit, series, |series| series, None)
        .notes(notes)
        .build()
}

/// Note on tables of percentages.
const POINTS: &str = "Change is in percentage points, of base in percent.";

/// Why values of this unit are only lower bounds, for the reader of a table.
fn bounds_note(values: &[ValueChange], unit: Unit) -> Option<String> {
    let of_unit = values.iter().filter(|value| value.number.unit == unit);
    let bound = of_unit.filter(|value| value.bounds.any());
    let why: BTreeSet<&str> = bound.filter_map(|value| value.note.as_deref()).collect();
    let why = joined(why, "; ");
    (!why.is_empty()).then(|| {
        format!("At least: only a lower bound is known, so how much it changed is not: {why}.")
    })
}

/// One table per unit, because a column has one unit.
fn values_tables(values: &[ValueChange]) -> Vec<Table> {
    const UNITS: [(Unit, &str, &str); 5] = [
        (
            Unit::Percent,
            "run_percent",
            "Whole run: shares and utilization",
        ),
        (Unit::Picoseconds, "run_times", "Whole run: times"),
        (Unit::Bytes, "run_bytes", "Whole run: memory"),
        (Unit::BytesPerSecond, "run_rates", "Whole run: rates"),
        (Unit::Count, "run_counts", "Whole run: counts"),
    ];
    let table = |(unit, id, title): (Unit, &'static str, &str)| {
        let rows = values.iter().filter(|value| value.number.unit == unit);
        let bounds: fn(&ValueChange) -> BoundSides = |value| value.bounds;
        change_table(id, title, unit, rows, |value| &value.number, Some(bounds))
            .derived("of", "Of (in base)", Unit::None, |row| &row.of)
            .notes(bounds_note(values, unit))
            .notes((unit == Unit::Percent).then(|| POINTS.to_owned()))
            .build()
    };
    UNITS
        .map(table)
        .into_iter()
        .filter(|table| !table.rows.is_empty())
        .collect()
}
