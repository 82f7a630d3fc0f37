//! `systole whatif`: replays the recorded run with changed durations.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use analysis::reports::ops::op_stats::{OpRow, Ops};
use analysis::what_if::{Replay, Scenario};
use analysis::{AnalysisError, Report, Scope, glob};
use clap::Args;
use regex_lite::Regex;

use crate::common::args::{ForceArgs, InputArgs, OutputArgs, ScopeArgs};
use crate::common::failure::{CommandOutcome, Failure};
use crate::common::stderr::Stderr;
use crate::common::{checks, loading, output};
use render::{Document, ReportSection};
use session::Session;
use session::files::OutputGuard;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct WhatifArgs {
    #[command(flatten)]
    pub changes: ChangeArgs,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub scope: ScopeArgs,
}

/// What changes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Changes")]
#[expect(clippy::struct_excessive_bools, reason = "flags")]
pub struct ChangeArgs {
    /// Collectives take no time
    #[arg(long)]
    pub hide_collectives: bool,
    /// Asynchronous copies take no time
    #[arg(long)]
    pub hide_copies: bool,
    /// Links between chips are faster by this factor: 2x
    #[arg(long, value_name = "SPEED")]
    pub ici: Option<Times>,
    /// Asynchronous copies are faster by this factor
    #[arg(long, value_name = "SPEED")]
    pub copies: Option<Times>,
    /// HBM is faster by this factor; every op keeps its distance from the roofline
    #[arg(long, value_name = "SPEED")]
    pub hbm: Option<Times>,
    /// Matrix units are faster by this factor; every op keeps its distance from the roofline
    #[arg(long, value_name = "SPEED")]
    pub flops: Option<Times>,
    /// Ops of this name take this factor of their time: 'fusion.*' 0.5x; a pattern with * or re:REGEX
    #[arg(long, num_args = 2, value_names = ["PATTERN", "TIME"], action = clap::ArgAction::Append)]
    pub op: Vec<String>,
    /// The device does not wait while the host compiles
    #[arg(long)]
    pub no_recompile: bool,
    /// The device is never idle
    #[arg(long)]
    pub no_idle: bool,
}

/// Others are slips of typing, and times would be longer than the timeline can hold.
const POSSIBLE: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// A factor: `2x`, `0.5`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times(f64);

impl FromStr for Times {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let factor = text.trim_end_matches(['x', 'X', '×']).parse::<f64>();
        match factor {
            Ok(factor) if POSSIBLE.contains(&factor) => Ok(Self(factor)),
            _ => Err("write a factor above 0, from 0.000001 to 1000000: 2x, 0.5x".to_owned()),
        }
    }
}

/// Runs the command.
pub fn run(args: &WhatifArgs, stderr: &Stderr) -> Result<CommandOutcome, Failure> {
    let guard = OutputGuard::new(args.input.files(), args.force.force);
    output::check(&args.output, &guard)?;
    let session = loading::open(&args.input, args.output.format, stderr)?;
    checks::check_scope(&session, &args.input, &args.scope)?;
    let scope = args.scope.scope();
    let changes = changes(&args.changes, &session, scope)?;
    let cx = session.context(scope);
    let result = Replay::new(&cx).and_then(|replay| replay.with(&cx, &changes));
    let failed = result.as_ref().err().map(AnalysisError::to_string);
    let result = result.map(|prediction| Arc::new(prediction) as Arc<dyn Report>);
    let document = Document::of(&session, scope, ReportSection { id: "whatif", title: "What if", result });
    output::write(&document, &args.output, &guard, stderr)?;
    Ok(failed.filter(|_| args.output.strict).map_or(CommandOutcome::Done, CommandOutcome::Inconclusive))
}

/// The named changes, at least one.
pub fn changes(args: &ChangeArgs, session: &Session, scope: Scope) -> Result<Vec<Scenario>, Failure> {
    let mut changes = Vec::new();
    let slower = |speed: Times| 1.0 / speed.0;
    let collectives = if args.hide_collectives { Some(0.0) } else { args.ici.map(slower) };
    let copies = if args.hide_copies { Some(0.0) } else { args.copies.map(slower) };
    changes.extend(collectives.map(Scenario::Collectives));
    changes.extend(copies.map(Scenario::Copies));
    if args.hbm.is_some() || args.flops.is_some() {
        let times = |speed: Option<Times>| speed.map_or(1.0, |speed| speed.0);
        changes.push(Scenario::Chip { flops: times(args.flops), hbm: times(args.hbm) });
    }
    for pair in args.op.chunks_exact(2) {
        let factor: Times = pair[1].parse().map_err(|error| Failure::Usage(format!("--op {}: {error}", pair[0])))?;
        changes.push(of_ops(&pair[0], factor.0, session, scope)?);
    }
    if args.no_recompile {
        changes.push(Scenario::NoCompile);
    }
    if args.no_idle {
        changes.push(Scenario::Idle(0.0));
    }
    if changes.is_empty() {
        let why = "name at least one change: --hide-collectives, --ici 2x, --op PATTERN 0.5x …";
        return Err(Failure::Usage(why.to_owned()));
    }
    Ok(changes)
}

fn of_ops(pattern: &str, factor: f64, session: &Session, scope: Scope) -> Result<Scenario, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--op {pattern}: {why}"));
    let ops = session.report::<Ops>(scope).map_err(|error| wrong(error.to_string()))?;
    let factors: BTreeMap<_, _> = match pattern.strip_prefix("re:") {
        Some(regex) => {
            let regex = Regex::new(regex).map_err(|error| wrong(error.to_string()))?;
            chosen(&ops.rows, factor, |name| regex.is_match(name))
        }
        None => chosen(&ops.rows, factor, |name| glob(pattern, name)),
    };
    if factors.is_empty() {
        let some: Vec<&str> = ops.rows.iter().take(3).map(|row| &*row.name).collect();
        return Err(wrong(format!("no op has this name; the first names are {}", some.join(", "))));
    }
    Ok(Scenario::Ops { what: pattern.to_owned(), factors })
}

fn chosen(rows: &[OpRow], factor: f64, wanted: impl Fn(&str) -> bool) -> BTreeMap<trace_model::OpId, f64> {
    rows.iter().filter(|row| wanted(&row.name)).filter_map(|row| Some((row.op?, factor))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_factors_of_zero_or_less() {
        assert_eq!("2x".parse(), Ok(Times(2.0)));
        assert_eq!("0.5".parse(), Ok(Times(0.5)));
        for wrong in ["", "x", "0x", "-1x", "nanx", "infx", "2y", "1e300x", "1e-300x"] {
            assert!(wrong.parse::<Times>().is_err(), "{wrong}");
        }
    }
}
