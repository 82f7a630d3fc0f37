//! How a run could be: what changes.

use std::collections::BTreeMap;

use analysis::Scope;
use analysis::reports::Ops;
use analysis::what_if::Scenario;
use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use session::Session;
use session::events::NamePattern;

use crate::error::{RequestError, Result};
use crate::values::Speed;

/// What changes.
#[derive(Debug, Default, Args, Deserialize, JsonSchema)]
#[command(next_help_heading = "Changes")]
#[expect(clippy::struct_excessive_bools, reason = "flags")]
#[serde(default)]
pub struct WhatIfRequest {
    /// Collectives take no time
    #[arg(long)]
    pub hide_collectives: bool,
    /// Asynchronous copies take no time
    #[arg(long)]
    pub hide_copies: bool,
    /// Links between chips are faster by this factor: 2x
    #[arg(long, value_name = "SPEED")]
    pub ici: Option<Speed>,
    /// Asynchronous copies are faster by this factor
    #[arg(long, value_name = "SPEED")]
    pub copies: Option<Speed>,
    /// HBM is faster by this factor; every op keeps its distance from the roofline
    #[arg(long, value_name = "SPEED")]
    pub hbm: Option<Speed>,
    /// Matrix units are faster by this factor; every op keeps its distance from the roofline
    #[arg(long, value_name = "SPEED")]
    pub flops: Option<Speed>,
    /// Ops of this name take this factor of their time: 'fusion.*' 0.5x; a pattern with * or re:REGEX
    #[arg(long = "op", num_args = 2, value_names = ["PATTERN", "TIME"], action = clap::ArgAction::Append)]
    #[serde(skip)]
    pub op_words: Vec<String>,
    /// Ops that take a part of their time
    #[arg(skip)]
    pub op: Vec<OpFactor>,
    /// The device does not wait while the host compiles
    #[arg(long)]
    pub no_recompile: bool,
    /// The device is never idle
    #[arg(long)]
    pub no_idle: bool,
}

/// Ops whose time changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpFactor {
    /// A name, a pattern with *, or re: and a regular expression.
    pub name: String,
    /// Factor of their time: 0.5 is half.
    pub time: Speed,
}

/// The named changes, at least one.
pub fn changes(args: &WhatIfRequest, session: &Session, scope: Scope) -> Result<Vec<Scenario>> {
    let mut changes = Vec::new();
    let time = |is_hidden: bool, speed: Option<Speed>| {
        let hidden = is_hidden.then_some(0.0);
        hidden.or(speed.map(|speed| 1.0 / speed.0))
    };
    changes.extend(time(args.hide_collectives, args.ici).map(Scenario::Collectives));
    changes.extend(time(args.hide_copies, args.copies).map(Scenario::Copies));
    if args.hbm.is_some() || args.flops.is_some() {
        let times = |speed: Option<Speed>| speed.map_or(1.0, |speed| speed.0);
        changes.push(Scenario::Chip {
            flops: times(args.flops),
            hbm: times(args.hbm),
        });
    }
    for pair in args.op_words.chunks_exact(2) {
        let wrong = |error| RequestError::argument("op", format!("{}: {error}", pair[0]));
        changes.push(of_ops(
            &pair[0],
            pair[1].parse().map_err(wrong)?,
            session,
            scope,
        )?);
    }
    for OpFactor { name, time } in &args.op {
        changes.push(of_ops(name, *time, session, scope)?);
    }
    if args.no_recompile {
        changes.push(Scenario::NoCompile);
    }
    if args.no_idle {
        changes.push(Scenario::Idle(0.0));
    }
    if changes.is_empty() {
        let why = "name at least one change, for instance another ICI bandwidth";
        return Err(RequestError::Usage(why.to_owned()));
    }
    Ok(changes)
}

fn of_ops(
    pattern: &str,
    Speed(factor): Speed,
    session: &Session,
    scope: Scope,
) -> Result<Scenario> {
    let wrong = |why: String| RequestError::argument("op", format!("{pattern}: {why}"));
    let ops = session
        .report::<Ops>(scope)
        .map_err(|error| wrong(error.to_string()))?;
    let names: NamePattern = pattern.parse().map_err(wrong)?;
    let rows = ops.rows.iter().filter(|row| names.matches(&row.name));
    let factors: BTreeMap<_, _> = rows.filter_map(|row| Some((row.op?, factor))).collect();
    if factors.is_empty() {
        return Err(wrong(format!(
            "no op has this name; the first names are {}",
            trace_model::joined(ops.rows.iter().take(3).map(|row| &*row.name), ", ")
        )));
    }
    Ok(Scenario::Ops {
        what: pattern.to_owned(),
        factors,
    })
}
