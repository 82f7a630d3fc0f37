//! `systole analyze`: what limits this program.

use std::collections::BTreeSet;

use analysis::hints::{Hints, Severity};
use analysis::reports::steps::step_times::Steps;
use analysis::{ANALYSES, Scope};
use trace_model::GroupKind;

use super::Talk;
use super::args::{AnalyzeArgs, InputArgs, ScopeArgs};
use super::failure::{Failure, Outcome};
use super::values::{RangeArg, StepsArg};
use super::{gate, loading, output};
use crate::render::{Document, View};
use crate::session::Session;

/// Runs the command.
pub fn run(args: &AnalyzeArgs, talk: &Talk) -> Result<Outcome, Failure> {
    check_names(&args.only)?;
    output::check(&args.output)?;
    let mut input = args.input.clone();
    // One file holds budgets and suppressions.
    input.assume.config = input.assume.config.or_else(|| args.gates.judge.budget.clone());
    let session = loading::open(&input, args.output.format, talk)?;
    check_scope(&session, &args.input, &args.scope)?;
    say_all_warmup(&session, talk);
    let wanted = |id: &str| args.only.is_empty() || args.only.iter().any(|only| only == id);
    let ids: Vec<_> = ANALYSES.iter().map(|entry| entry.id).filter(|id| wanted(id)).collect();
    let view = if args.only.is_empty() { View::Summary } else { View::Tables };
    let mut document = Document::new(&session, args.scope.scope(), &ids, view);
    document.gated = gate::judge(&session, document.scope, &args.gates, &input.assume, &args.output, talk)?;
    output::write(&document, &args.output, talk)?;
    if let Some(outcome) = gate::conclude(&document, &args.gates.judge, args.output.strict, talk)? {
        return Ok(outcome);
    }
    if let Some(why) = too_severe(&session, args).filter(|_| !args.gates.judge.exit_zero) {
        return Ok(Outcome::Failed { why, code: args.gates.judge.exit_code_on_fail });
    }
    Ok(match document.doubt() {
        Some(why) if args.output.strict => Outcome::Inconclusive(why),
        _ => Outcome::Done,
    })
}

/// Says that warm-up as asked for leaves no step.
fn say_all_warmup(session: &Session, talk: &Talk) {
    let warmup = session.options().warmup_steps;
    let Ok(steps) = session.report::<Steps>(Scope::WholeTrace) else { return };
    if warmup > 0 && steps.is_all_warmup() {
        let count = steps.steps.len();
        talk.warn(&format!(
            "the run has {count} steps, and the first {warmup} are left out as warm-up: reports are over all of them, \
             and gates of steps are inconclusive"
        ));
    }
}

/// Hints that `--fail-on` does not allow.
fn too_severe(session: &Session, args: &AnalyzeArgs) -> Option<String> {
    let least = Severity::from(args.fail_on?);
    let report = session.report::<Hints>(args.scope.scope()).ok()?;
    let severe = report.hints.iter().filter(|hint| hint.severity >= least);
    let named: Vec<_> = severe.map(|hint| format!("{} {} ({})", hint.id, hint.title, hint.severity.title())).collect();
    (!named.is_empty()).then(|| named.join(", "))
}

/// Refuses steps, times and devices that the trace does not have.
pub fn check_scope(session: &Session, input: &InputArgs, scope: &ScopeArgs) -> Result<(), Failure> {
    check_devices(session, &input.assume.device)?;
    if let Some(RangeArg(range)) = scope.range
        && range.intersect(session.model().extent()).is_none_or(trace_model::TimeRange::is_empty)
    {
        let extent = session.model().extent();
        let [from, to] = [extent.start, extent.end].map(trace_model::Timestamp::since_origin);
        return Err(Failure::Usage(format!("--range: nothing was captured then; the capture is from {from} to {to}")));
    }
    scope.steps.map_or(Ok(()), |steps| check_steps(session, steps))
}

/// Refuses steps that the trace does not have.
pub fn check_steps(session: &Session, StepsArg { first, last }: StepsArg) -> Result<(), Failure> {
    let Ok(steps) = session.report::<Steps>(Scope::WholeTrace) else { return Ok(()) };
    if steps.steps.iter().any(|step| (first..=last).contains(&step.number)) {
        return Ok(());
    }
    let numbers = steps.steps.iter().map(|step| step.number);
    let (least, most) = (numbers.clone().min(), numbers.max());
    let there = least.zip(most).map_or("no steps".to_owned(), |(least, most)| format!("steps {least} to {most}"));
    Err(Failure::Usage(format!("--steps: the trace has {there}")))
}

/// Refuses devices that the trace does not have.
pub fn check_devices(session: &Session, wanted: &[u32]) -> Result<(), Failure> {
    let model = session.model();
    let ordinals: BTreeSet<u32> = model
        .tensor_cores()
        .into_iter()
        .filter_map(|core| match model.group(core).kind {
            GroupKind::TensorCore { ordinal } => Some(ordinal),
            _ => None,
        })
        .collect();
    let Some(missing) = wanted.iter().find(|ordinal| !ordinals.contains(ordinal)) else { return Ok(()) };
    let there: Vec<_> = ordinals.iter().map(u32::to_string).collect();
    let there = if there.is_empty() { "no TPU devices".to_owned() } else { format!("devices {}", there.join(", ")) };
    Err(Failure::Usage(format!("--device {missing}: the trace has {there}")))
}

fn check_names(only: &[String]) -> Result<(), Failure> {
    let unknown = only.iter().find(|only| ANALYSES.iter().all(|entry| entry.id != only.as_str()));
    let Some(unknown) = unknown else { return Ok(()) };
    let known: Vec<_> = ANALYSES.iter().map(|entry| entry.id).collect();
    Err(Failure::Usage(format!("no analysis is called {unknown:?}; there are {}", known.join(", "))))
}
