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
    let id = chosen(cx, wanted)?.first().copied();
    let id = id.ok_or_else(|| AnalysisError::from("the file names no programs"))?;
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

fn entry(out: &mut String, comment: &str, lines: &[String]) {
    let _ = write!(out, "\n# {comment}\n[[expect]]\n");
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
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
    let in_bytes = |bytes: u64| number::value(bytes as f64, Unit::Bytes);
    let mut kinds: Vec<_> = contents.collectives.keys().map(|(kind, _)| *kind).collect();
    kinds.dedup();
    for kind in &kinds {
        let own = contents
            .collectives
            .iter()
            .filter(|((found, _), _)| found == kind);
        let count: usize = own.clone().map(|(_, sum)| sum.instructions).sum();
        let bytes = own.map(|(_, sum)| sum.bytes).sum::<Option<u64>>();
        let name = kind.name();
        let mut lines = vec![
            format!("name = {}", quoted(&format!("{name} as now"))),
            format!("collective = {}", quoted(name)),
            format!(
                "{} = {count}",
                if program.is_whole() { "exactly" } else { "min" }
            ),
        ];
        // In a loop of unknown length, the bytes are those of one iteration.
        let bytes = bytes.filter(|_| !contents.is_least && program.is_whole());
        lines.extend(bytes.map(|bytes| format!("max_bytes = {bytes}")));
        let said = bytes.map_or_else(String::new, |bytes| {
            format!(", {} in one execution", in_bytes(bytes))
        });
        let what = format!("{} of {name}{said}", counted(count, "instruction"));
        entry(out, &what, &lines);
    }
    if kinds.is_empty() && program.is_whole() && program.unpartitioned().is_none() {
        let lines = [
            "name = \"no communication\"".to_owned(),
            "collective = \"any\"".to_owned(),
            "max = 0".to_owned(),
        ];
        entry(out, "The program does not communicate.", &lines);
    }
    for (target, sum) in &contents.custom_calls {
        let lines = [
            format!("name = {}", quoted(&format!("kernel {target}"))),
            format!("kernel = {}", quoted(target)),
        ];
        let what = format!("{} of {target}", counted(sum.instructions, "custom call"));
        // A star would stand for anything.
        if !target.contains('*') {
            entry(out, &what, &lines);
        }
    }
    products(out, program);
    let again = contents.rematerialized.instructions;
    if again == 0 && program.is_whole() && program.without_scopes().is_none() {
        let lines = [
            "name = \"nothing is computed again\"".to_owned(),
            "rematerialized = false".to_owned(),
        ];
        entry(out, "No value is computed again to save memory.", &lines);
    }
    host_copies(out, program);
    donated(out, program);
    if contents.uncounted == 0 && !contents.is_least && program.is_whole() {
        let lines = [
            "name = \"operations\"".to_owned(),
            format!("max_flops = {}", contents.flops),
        ];
        let flops = number::value(contents.flops as f64, Unit::Flop);
        entry(
            out,
            &format!("{flops} in one execution, counted from shapes."),
            &lines,
        );
    }
    // An estimate has no padding: it neither meets a limit nor breaks it.
    if let Ok(peak) = &contents.peak
        && peak.is_planned
    {
        let most = (peak.bytes as f64 * ROOM).ceil() as u64;
        let lines = [
            "name = \"peak memory\"".to_owned(),
            format!("max_peak_bytes = {most}"),
        ];
        entry(
            out,
            &format!("{} now, and 5 % more.", in_bytes(peak.bytes)),
            &lines,
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
        let lines = [
            format!("name = {}", quoted(&format!("products are {only}"))),
            format!("product = {}", quoted(only)),
        ];
        let count: usize = sums.values().map(|sum| sum.instructions).sum();
        entry(
            out,
            &format!(
                "{} with operands of {only}",
                counted(count, "matrix product")
            ),
            &lines,
        );
    }
}

fn host_copies(out: &mut String, program: &JudgedProgram) {
    if program.host_copies() == 0 && program.is_whole() && program.uncompiled().is_none() {
        let lines = [
            "name = \"no copies to the host\"".to_owned(),
            "host_copies = false".to_owned(),
        ];
        entry(
            out,
            "The program moves nothing between device and host.",
            &lines,
        );
    }
}

fn donated(out: &mut String, program: &JudgedProgram) {
    let names = program.donated_parameters();
    let Some(some) = names.get(..names.len().min(MOST_DONATED)) else {
        return;
    };
    for name in some.iter().filter(|name| !name.contains('*')) {
        let lines = [
            format!("name = {}", quoted(&format!("{name} is donated"))),
            format!("donated = {}", quoted(name)),
        ];
        entry(
            out,
            &format!("The memory of {name} is used for a result."),
            &lines,
        );
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
        let lines = [
            "name = \"steps compile nothing\"".to_owned(),
            "compiles_in_steps = false".to_owned(),
        ];
        entry(
            out,
            "The host compiles nothing in the steps after warm-up.",
            &lines,
        );
    }
}
