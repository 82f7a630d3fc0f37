//! `systole compare`: compares two runs.

use std::borrow::Cow;

use super::prelude::*;
use analysis::Tabular as _;
use analysis::compare::{Comparison, compare, on_both_sides, without_repeated};
use analysis::gates::{self, GateConfig, GatesReport, OnMismatch};

use crate::common::formats::{DocumentFormat, Pieces, one_piece};
use crate::common::summaries::RequestedInput;
use crate::common::{JudgeArgs, gating, programs, summaries};
use render::comparison::{self, ComparedRuns, ShownTables};
use request::summaries::plain_summary;
use request::{BaseFiles, CompareRequest, StepsArg, history_file};

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The run to compare with: a profile, a run or log directory, or a saved summary
    #[arg(value_name = "BASE", required_unless_present = "base")]
    pub first: Option<PathBuf>,
    /// The run to judge
    #[arg(value_name = "CAND", required_unless_present = "cand")]
    pub second: Option<PathBuf>,
    /// More runs to compare with; of a log directory all runs; may be repeated
    #[arg(long, value_name = "PATH")]
    pub base: Vec<PathBuf>,
    /// More runs to judge, likewise
    #[arg(long, value_name = "PATH")]
    pub cand: Vec<PathBuf>,
    /// Only steps A to B of every run, both included
    #[arg(long, value_name = "A..B")]
    pub steps: Option<StepsArg>,
    /// Show the chain of causes alone, in full: environment, program, what moved and the lines or flags that explain it
    #[arg(long, conflicts_with_all = ["only", "all"], help_heading = "Output")]
    pub why: bool,
    /// Show all tables, not only what is to be read first
    #[arg(long, conflicts_with = "only", help_heading = "Output")]
    pub all: bool,
    /// Show these tables: why, steps, ops … (a wrong name lists them all)
    #[arg(
        long,
        value_name = "IDS",
        value_delimiter = ',',
        help_heading = "Output"
    )]
    pub only: Vec<String>,
    #[command(flatten)]
    pub assume: Assumptions,
    #[command(flatten)]
    pub of_base: BaseFiles,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub test: CompareRequest,
    #[command(flatten)]
    pub judge: JudgeArgs,
}

/// What is compared of two programs.
fn summaries_of(programs: &[Session; 2]) -> Result<[Vec<Summary>; 2]> {
    let [base, cand] = programs
        .each_ref()
        .map(|one| plain_summary(one, Scope::WholeTrace));
    Ok([vec![base?], vec![cand?]])
}

/// What is compared of the runs of both sides.
fn summaries_of_runs(
    args: &CompareArgs,
    [base, cand]: [&[RequestedInput<'_>]; 2],
    loading: &Loading<'_>,
    stderr: &Stderr,
) -> Result<[Vec<Summary>; 2]> {
    let base_loading = loading.with_programs(&args.of_base.base_hlo);
    let of = |place: usize| {
        if place < base.len() {
            &base_loading
        } else {
            loading
        }
    };
    let both = [base, cand].concat();
    let mut runs = summaries::by_input(&both, of, args.steps, args.output.format, stderr)?;
    let cand = runs.split_off(base.len()).concat();
    Ok([runs.concat(), cand])
}

/// The runs of both sides as they are compared; what is left out, and what is on both, is said.
fn each_once<'a>(sides: [&'a [Summary]; 2], stderr: &Stderr) -> [Cow<'a, [Summary]>; 2] {
    let [(base, repeated), (cand, again)] = sides.map(without_repeated);
    for said in [repeated, again, on_both_sides(&base, &cand)].concat() {
        stderr.warn(&said);
    }
    [base, cand]
}

pub fn run(args: &CompareArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let mut options = args.test.options()?;
    let (base, cand) = sides(args)?;
    let read = base
        .iter()
        .chain(&cand)
        .map(|wanted| wanted.0.to_owned())
        .chain(args.assume.files())
        .chain(args.judge.files());
    let read = read.chain(args.of_base.base_hlo.iter().cloned());
    let guard = output::check(&args.output, read, args.test.force)?;
    history_file::check(args.judge.history.as_deref())?;
    // One file holds budgets and suppressions.
    let mut assume = args.assume.clone();
    assume.reading.config = assume.reading.config.or_else(|| args.judge.budget.clone());
    let loading = Loading::new(&assume, stderr)?;
    let config = loading.gates_in(args.judge.budget.as_deref())?;
    if let Some(said) = loading
        .settings
        .ignored_gates()
        .filter(|_| config.is_none())
    {
        stderr.warn(&said);
    }
    if let Some(config) = &config {
        options.require = gates::compare_options(config).require;
    }
    let programs = match (&base[..], &cand[..]) {
        ([base], [cand]) => programs::pair(base.0, cand.0, &loading)?,
        _ => None,
    };
    let mut program_diff = None;
    if let Some(both) = &programs {
        let compared = programs::diff(both, stderr)?;
        if config.is_none() && args.only.is_empty() && !args.all {
            return programs::write(compared, &args.output, &guard, stderr);
        }
        program_diff = compared.diff_or_warning(stderr);
    }
    let trace = cand.first().map_or(Path::new("trace"), |wanted| wanted.0);
    let programs = programs.as_ref().filter(|_| args.steps.is_none());
    let [base, cand] = if let Some(programs) = programs {
        summaries_of(programs)?
    } else {
        summaries_of_runs(args, [&base, &cand], &loading, stderr)?
    };
    if let Some(config) = &config {
        config
            .check_names(&base, &cand)
            .map_err(|error| gating::wrong_names(&error, args.judge.budget.as_deref()))?;
    }
    let mut comparison = compare(&base, &cand, &options);
    comparison.program_diff = program_diff;
    let [base, cand] = each_once([&base, &cand], stderr);
    let report = config
        .as_ref()
        .map(|config| gates::judge(&cand, Some((&base[..], &comparison)), config));
    let compared = ComparedRuns {
        base: &base,
        cand: &cand,
        comparison: &comparison,
        gates: report.as_ref(),
        trace,
        shown: shown(args),
    };
    check_names(&args.only, &comparison)?;
    output::write(&compared, &args.output, &guard, stderr)?;
    gating::step_summary(|| comparison::verdict(&compared))?;
    for run in &*cand {
        gating::keep_history(
            &args.judge,
            run,
            report.as_ref().unwrap_or(&GatesReport::default()),
            stderr,
        )?;
    }
    if let Some(outcome) = report
        .as_ref()
        .and_then(|report| gating::outcome(report, &args.judge, args.output.strict, stderr))
    {
        return Ok(outcome);
    }
    Ok(outcome_without_gates(args, &comparison, config.as_ref()))
}

fn shown(args: &CompareArgs) -> ShownTables<'_> {
    match &args.only[..] {
        _ if args.all => ShownTables::All,
        _ if args.why => ShownTables::Why,
        [] => ShownTables::Screen,
        ids => ShownTables::Only(ids),
    }
}

/// The outcome where no gate decides it.
fn outcome_without_gates(
    args: &CompareArgs,
    comparison: &Comparison,
    config: Option<&GateConfig>,
) -> CommandOutcome {
    match (not_the_same(comparison, config), doubt(comparison)) {
        (Some(why), _) if !args.judge.exit_zero => CommandOutcome::Inconclusive(why),
        (_, Some(why)) if args.output.strict => CommandOutcome::Inconclusive(why),
        _ => CommandOutcome::Done,
    }
}

/// That the comparison has tables with these ids.
fn check_names(only: &[String], comparison: &Comparison) -> Result<()> {
    if only.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = comparison.tables().iter().map(|table| table.id).collect();
    match only.iter().find(|id| !ids.contains(&id.as_str())) {
        None => Ok(()),
        Some(wrong) => Err(RequestError::Usage(format!(
            "no table {wrong:?}; this comparison has {}",
            ids.join(", ")
        ))),
    }
}

/// Why the comparison says nothing about the program, if it does not. `--force` compares all the same, and gates judge
/// numbers per step, so that another number of steps or other shapes do not concern them.
fn not_the_same(compared: &Comparison, config: Option<&GateConfig>) -> Option<String> {
    let is_judged = match config {
        Some(config) => {
            compared.is_comparable || config.comparable.on_mismatch == OnMismatch::Ignore
        }
        None => compared.is_comparable && compared.other_work().next().is_none(),
    };
    if is_judged || compared.options.force {
        None
    } else {
        compared.mismatch()
    }
}

impl output::Writable for ComparedRuns<'_> {
    fn rendered(&self, format: &DocumentFormat, layout: &TextLayout) -> Result<Pieces<'_>> {
        (format.comparison)(self, layout).map(one_piece)
    }

    fn tables(&self) -> Vec<NamedTable> {
        comparison::tables(self)
    }

    fn not_applicable(&self) -> Vec<(&str, String)> {
        Vec::new()
    }
}

/// Why the comparison is inconclusive, if it is.
fn doubt(compared: &Comparison) -> Option<String> {
    if !compared.is_comparable {
        return Some(compared.statement.clone());
    }
    if let Some(loss) = compared.loss() {
        return Some(loss);
    }
    // One step of computed times says what many would.
    if compared.options.test.are_computed {
        return None;
    }
    let (steps, needed) = (
        compared.base.steps.min(compared.cand.steps),
        compared.options.test.min_steps,
    );
    (steps < needed)
        .then(|| format!("{steps} steady steps per side, but a conclusion needs {needed}"))
}

/// The runs of both sides, from `BASE CAND` and the options. A single positional path is the side that has no option.
fn sides(args: &CompareArgs) -> Result<(Vec<RequestedInput<'_>>, Vec<RequestedInput<'_>>)> {
    let mut base = summaries::requested(&args.base, true);
    let mut cand = summaries::requested(&args.cand, true);
    match (&args.first, &args.second) {
        (Some(first), Some(second)) => {
            base.insert(0, (first, false));
            cand.insert(0, (second, false));
        }
        (Some(only), None) if base.is_empty() => base.push((only, false)),
        (Some(only), None) => cand.insert(0, (only, false)),
        (None, _) => {}
    }
    if base.is_empty() || cand.is_empty() {
        return Err(RequestError::Usage(
            "name one run per side: systole compare BASE CAND".to_owned(),
        ));
    }
    Ok((base, cand))
}
