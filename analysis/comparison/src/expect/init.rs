//! The present state of a program or profile as expectations.

use std::fmt::Write as _;

use device_reports::Steps;
use engine::number;
use facts::prelude::*;
use run_reports::hlo::{TimedProgram, chosen};

use super::program::JudgedProgram;
use crate::compare::compilations_in_loop;

/// How much more memory than now is still expected.
const ROOM: f64 = 1.05;
/// Parameters that are named one by one.
const MOST_DONATED: usize = 20;

/// A commented file of expectations that are met now.
///
/// # Errors
///
/// The file holds no program.
pub fn expectations_of(cx: &Context<'_>, wanted: Option<&str>) -> Result<String> {
    let id = chosen(cx, wanted)?
        .first()
        .copied()
        .ok_or_else(|| AnalysisError::from("the file names no programs"))?;
    let program = JudgedProgram::new(cx, TimedProgram::of(cx, id)?);
    let title = &program.timed.title;
    let mut out = format!(
        "# What {title} does now. Checked by: systole expect FILE PATH\n\
         # Each [[expect]] is met, not met (exit code 10), or unknown with the reason. Remove what may change.\n\
         version = 1\n"
    );
    for note in &program.timed.notes {
        let _ = writeln!(out, "# {note}");
    }
    if program.timed.module.cut.is_none() {
        of_program(&mut out, &program);
    } else {
        out.push_str("# Of a part of a program nothing is expected: save the whole text.\n");
    }
    of_run(&mut out, cx);
    if !out.contains("\n[[expect]]\n") {
        let why = "nothing can be expected of it: a part of a program, without times. Save the whole text";
        return Err(AnalysisError::from(why));
    }
    Ok(out)
}

/// Adds the expectation of this name, which `lines` describe.
fn entry(out: &mut String, comment: &str, name: &str, lines: &str) {
    let name = quoted(name);
    let _ = write!(out, "\n# {comment}\n[[expect]]\nname = {name}\n{lines}\n");
}

/// A text in the syntax of TOML, which takes strings of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn of_program(out: &mut String, program: &JudgedProgram) {
    let contents = &program.contents;
    if !program.is_whole() {
        out.push_str(
            "\n# Not all of the program is known here: what it must not contain is left out.\n",
        );
    }
    let mut kinds: Vec<_> = contents.collectives.keys().map(|(kind, _)| *kind).collect();
    kinds.dedup();
    for kind in &kinds {
        let of_kind = contents
            .collectives
            .iter()
            .filter(|((other, _), _)| other == kind);
        let count: usize = of_kind.clone().map(|(_, sum)| sum.instructions).sum();
        let bytes = of_kind.map(|(_, sum)| sum.bytes).sum::<Option<u64>>();
        let name = kind.name();
        let limit = if program.is_whole() { "exactly" } else { "min" };
        let mut lines = format!("collective = {}\n{limit} = {count}", quoted(name));
        // In a loop of unknown length, the bytes are those of one iteration.
        let bytes = bytes.filter(|_| !contents.is_least && program.is_whole());
        lines.extend(bytes.map(|bytes| format!("\nmax_bytes = {bytes}")));
        let said = bytes.map_or_else(String::new, |bytes| {
            format!(", {} in one execution", number::bytes(bytes))
        });
        let what = format!("{} of {name}{said}", counted(count, "instruction"));
        entry(out, &what, &format!("{name} as now"), &lines);
    }
    if kinds.is_empty() && program.is_whole() && program.unpartitioned().is_none() {
        let what = "The program does not communicate.";
        entry(
            out,
            what,
            "no communication",
            "collective = \"any\"\nmax = 0",
        );
    }
    for (target, sum) in &contents.custom_calls {
        let what = format!("{} of {target}", counted(sum.instructions, "custom call"));
        // A star would stand for anything.
        if !target.contains('*') {
            let lines = format!("kernel = {}", quoted(target));
            entry(out, &what, &format!("kernel {target}"), &lines);
        }
    }
    products(out, program);
    if contents.rematerialized.instructions == 0
        && program.is_whole()
        && program.without_scopes().is_none()
    {
        let what = "No value is computed again to save memory.";
        entry(
            out,
            what,
            "nothing is computed again",
            "rematerialized = false",
        );
    }
    host_copies(out, program);
    donated(out, program);
    if contents.uncounted == 0 && !contents.is_least && program.is_whole() {
        let flops = number::value(contents.flops as f64, Unit::Flop);
        let what = format!("{flops} in one execution, counted from shapes.");
        let lines = format!("max_flops = {}", contents.flops);
        entry(out, &what, "operations", &lines);
    }
    // An estimate has no padding: it neither meets a limit nor breaks it.
    if let Ok(peak) = &contents.peak
        && peak.is_planned
    {
        let most = (peak.bytes as f64 * ROOM).ceil() as u64;
        let what = format!("{} now, and 5 % more.", number::bytes(peak.bytes));
        entry(
            out,
            &what,
            "peak memory",
            &format!("max_peak_bytes = {most}"),
        );
    }
}

fn products(out: &mut String, program: &JudgedProgram) {
    let sums = &program.contents.products;
    let types = |text: &str| {
        let operands = text.split(" → ").next().unwrap_or(text).to_owned();
        let mut types: Vec<String> = operands.split(" × ").map(str::to_owned).collect();
        types.dedup();
        types
    };
    let mut all: Vec<String> = sums.keys().flat_map(|key| types(key)).collect();
    all.sort();
    all.dedup();
    if let [only] = &all[..]
        && only != "?"
        && program.is_whole()
    {
        let count: usize = sums.values().map(|sum| sum.instructions).sum();
        let products = counted(count, "matrix product");
        let what = format!("{products} with operands of {only}");
        let lines = format!("product = {}", quoted(only));
        entry(out, &what, &format!("products are {only}"), &lines);
    }
}

fn host_copies(out: &mut String, program: &JudgedProgram) {
    if program.host_copies() == 0 && program.is_whole() && program.uncompiled().is_none() {
        let what = "The program moves nothing between device and host.";
        entry(out, what, "no copies to the host", "host_copies = false");
    }
}

fn donated(out: &mut String, program: &JudgedProgram) {
    let names = program.donated_parameters();
    let Some(some) = names.get(..names.len().min(MOST_DONATED)) else {
        return;
    };
    for name in some.iter().filter(|name| !name.contains('*')) {
        let what = format!("The memory of {name} is used for a result.");
        let lines = format!("donated = {}", quoted(name));
        entry(out, &what, &format!("{name} is donated"), &lines);
    }
    if names.len() > some.len() {
        let _ = writeln!(
            out,
            "\n# {} more parameters are donated.",
            names.len() - some.len()
        );
    }
}

fn of_run(out: &mut String, cx: &Context<'_>) {
    let steps = cx.report::<Steps>().ok();
    let count = steps.and_then(|steps| compilations_in_loop(cx, &steps));
    if count == Some(0) {
        let what = "The host compiles nothing in the steps after warm-up.";
        entry(
            out,
            what,
            "steps compile nothing",
            "compiles_in_steps = false",
        );
    }
}
