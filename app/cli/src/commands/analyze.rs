//! `systole analyze`: what limits this program.

use super::prelude::*;
use analysis::hints::{HintSeverity, Hints};
use analysis::reports::Steps;

use crate::common::{GateArgs, gating, programs};
use request::{DigestRequest, history_file};

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct AnalyzeArgs {
    #[command(flatten)]
    pub input: TraceRequest,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub digest: DigestRequest,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub scope: PartRequest,
    /// Only these analyses, all of their tables (a wrong name lists them all)
    #[arg(
        long,
        value_name = "ID,…",
        value_delimiter = ',',
        help_heading = "Output"
    )]
    pub only: Vec<String>,
    /// Exit with 10 if a hint is at least this severe
    #[arg(long, value_enum, value_name = "SEVERITY", help_heading = "Gates")]
    pub fail_on: Option<SeverityArg>,
    #[command(flatten)]
    pub gates: GateArgs,
}

/// A minimum severity of hints.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SeverityArg {
    /// Any hint.
    Low,
    /// From 2 % of the step.
    Medium,
    /// From 5 %.
    High,
    /// From 15 %.
    Critical,
}

impl From<SeverityArg> for HintSeverity {
    fn from(arg: SeverityArg) -> Self {
        match arg {
            SeverityArg::Low => Self::Low,
            SeverityArg::Medium => Self::Medium,
            SeverityArg::High => Self::High,
            SeverityArg::Critical => Self::Critical,
        }
    }
}

pub fn run(args: &AnalyzeArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    answers::reports(&args.only)?;
    let read = args.input.files().into_iter().chain(args.gates.files());
    let guard = output::check(&args.output, read, args.force.force)?;
    history_file::check(args.gates.judge.history.as_deref())?;
    let mut assume = args.input.assume.clone();
    // One file holds budgets and suppressions.
    assume.reading.config = assume
        .reading
        .config
        .or_else(|| args.gates.judge.budget.clone());
    let loading = Loading::new(&assume, stderr)?;
    let (path, run, format) = (&args.input.path, args.input.run.clone(), args.output.format);
    let is_judged = args.gates.are_set() || args.gates.judge.history.is_some();
    let is_identified = args.output.identifies_input() || is_judged;
    let session = loading
        .open_for_reports(path, run, format, is_identified)?
        .with_sha256(args.digest.digest);
    let scope = checks::check_part(&session, &args.scope)?;
    say_all_warmup(&session, stderr);
    say_missing_steps(args.scope.scope(), scope, stderr);
    let mut document = if args.only.is_empty() && session.model().has_programs_only() {
        programs::document(&session, scope)
    } else {
        answers::document(&session, scope, &args.only)?
    };
    let config = assume.reading.config.as_deref();
    document.gated = gating::judge(
        &session,
        scope,
        &args.gates,
        (config, &loading),
        args.output.output.iter().any(|file| file.format.judges),
        stderr,
    )?;
    // Once all reports are there.
    document.sections();
    session.forget_ops();
    output::write(&document, &args.output, &guard, stderr)?;
    if let Some(outcome) =
        gating::conclude(&document, &args.gates.judge, args.output.strict, stderr)?
    {
        return Ok(outcome);
    }
    if let Some(why) = too_severe(&session, args).filter(|_| !args.gates.judge.exit_zero) {
        return Ok(CommandOutcome::Failed {
            why,
            code: args.gates.judge.exit_code_on_fail,
        });
    }
    Ok(args.output.outcome(document.doubt()))
}

/// Warns if the requested warm-up leaves no step.
fn say_all_warmup(session: &Session, stderr: &Stderr) {
    let warmup = session.options().warmup_steps;
    let Ok(steps) = session.report::<Steps>(Scope::WholeTrace) else {
        return;
    };
    if warmup > 0 && steps.is_all_warmup() {
        let count = steps.steps.len();
        stderr.warn(&format!(
            "the run has {count} steps, and the first {warmup} are excluded as warm-up: reports cover all steps, and gates on steps are inconclusive"
        ));
    }
}

/// Says which of the wanted steps the trace does not have.
fn say_missing_steps(wanted: Scope, there: Scope, stderr: &Stderr) {
    if let (Scope::Steps { first, last }, Scope::Steps { .. }) = (wanted, there)
        && last != u32::MAX
        && wanted != there
    {
        let shown = render::scope_in_words(there);
        stderr.warn(&format!("of steps {first} to {last} the trace has {shown}"));
    }
}

/// The hints that are at least as severe as `--fail-on`.
fn too_severe(session: &Session, args: &AnalyzeArgs) -> Option<String> {
    let least = HintSeverity::from(args.fail_on?);
    let report = session.report::<Hints>(args.scope.scope()).ok()?;
    let severe = report.hints.iter().filter(|hint| hint.severity >= least);
    let named: Vec<_> = severe
        .map(|hint| format!("{} {} ({})", hint.id, hint.title, hint.severity.title()))
        .collect();
    (!named.is_empty()).then(|| named.join(", "))
}
