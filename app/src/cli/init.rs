//! `systole init`: a commented systole.toml from a run that is good enough.

use std::fmt::Write as _;
use std::path::PathBuf;

use analysis::compare::{LOOP_COMPILATIONS, LOOP_STEP, Summary};
use analysis::gates::{Aggregate, Defaults, METRICS, Regression, preset};
use analysis::step_parts::Part;
use clap::Args;

use super::Talk;
use super::args::AssumeArgs;
use super::failure::{Failure, Outcome};
use super::gate::summary_or_saved;
use super::output;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// A run whose numbers are good: a profile, or a saved summary
    pub path: PathBuf,
    /// Write it to this file instead of stdout; must not exist yet
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub assume: AssumeArgs,
}

/// Runs the command.
pub fn run(args: &InitArgs, talk: &Talk) -> Result<Outcome, Failure> {
    if let Some(path) = &args.output {
        output::check_file(path)?;
        if path.exists() {
            return Err(Failure::Usage(format!("{} exists already: name another file", path.display())));
        }
    }
    let run = summary_or_saved(&args.path, &args.assume, talk)?
        .ok_or_else(|| Failure::Usage("name a run or a saved summary".to_owned()))?;
    let text = config_of(&run);
    match &args.output {
        Some(path) => output::write_to(path, &text)?,
        None => output::print(&text)?,
    }
    Ok(Outcome::Done)
}

/// Room that a budget leaves above what was seen.
const ROOM: f64 = 1.1;

fn config_of(run: &Summary) -> String {
    let mut text = String::from(
        "# What a run must keep. Judged by: systole analyze RUN --budget systole.toml --baseline base.json\n\
         # `systole metrics` lists what can be asked, `systole config check` checks this file.\n\
         # Units follow the name: _ms, _us, _pct, _gib …\n\
         version = 1\n\n\
         [defaults]\n\
         level = \"error\"        # off, warn or error (fails the run)\n\
         aggregate = \"median\"   # of the steps: median, mean, p90, p95, max\n\
         min_steps = 6          # with fewer steady steps a gate is inconclusive\n\
         # warmup_steps = 5     # leave out the first steps\n",
    );
    let mut left_out = Vec::new();
    text.push_str("\n# Limits: what this run has, and ten percent more.\n");
    budgets(&mut text, run, &mut left_out);
    text.push_str(
        "\n# Against a baseline: more than this, and more than noise\n\
         # (require_significance = false judges the number alone).\n",
    );
    for gate in preset(&[run]) {
        match too_few(run, gate.aggregate) {
            Some(why) => left_out.push(format!("regression of {} {}: {why}", gate.metric, gate.limit())),
            None => regression(&mut text, &gate),
        }
    }
    op_regression(&mut text, run);
    left_out.dedup();
    if !left_out.is_empty() {
        text.push_str("\n# Left out, because this run cannot answer them:\n");
        for what in left_out {
            let _ = writeln!(text, "# - {what}");
        }
    }
    text.push_str(
        "\n# Runs that differ in one of these are not compared; regressions are then inconclusive.\n\
         [comparable]\nrequire = [\"device_type\", \"device_count\"]\non_mismatch = \"inconclusive\"   # or ignore\n\
         \n# Hints that are known and accepted:\n\
         # [[suppress]]\n# hint = \"K25\"\n# reason = \"offloading is on purpose\"\n# until = 2027-03-01\n",
    );
    text
}

/// Why the run has too few steps for such a gate; `None` for numbers of the whole run.
fn too_few(run: &Summary, aggregate: Option<Aggregate>) -> Option<String> {
    let aggregate = aggregate.unwrap_or_default();
    let needed = aggregate.steps_needed(Defaults::default().min_steps);
    let steps = run.steps.counted;
    let why = || run.steps.why_none.clone().unwrap_or_else(|| format!("this run has {steps} steady steps"));
    // A count of compilations is one number whatever the steps.
    (aggregate != Aggregate::Max && steps < needed)
        .then(|| format!("the {} needs {needed} steady steps, {}", aggregate.title(), why()))
}

fn budgets(text: &mut String, run: &Summary, left_out: &mut Vec<String>) {
    let mut of_steps = |text: &mut String, id: &str, metric: &str, aggregate: Aggregate| {
        let Some(series) = run.series(id) else { return };
        let Some(ps) = aggregate.of(&series.values) else { return };
        match too_few(run, Some(aggregate)) {
            Some(why) => left_out.push(format!("budget of {metric}: {why}")),
            None => budget(text, metric, ps / 1e9, aggregate),
        }
    };
    of_steps(text, "step.time_ps", "step.time_ms", Aggregate::Median);
    of_steps(text, "step.time_ps", "step.time_ms", Aggregate::P90);
    of_steps(text, LOOP_STEP, "loop.step_ms", Aggregate::Mean);
    if let Some(peak) = run.value("memory.peak_bytes").and_then(|value| value.value) {
        budget(text, "memory.peak_gib", peak / 1_073_741_824.0, Aggregate::Median);
    }
    if let Some(compilations) = run.value(LOOP_COMPILATIONS).and_then(|value| value.value) {
        let _ = write!(
            text,
            "\n[[budget]]                # compilations after warm-up: as many as in this run\n\
             metric = \"compile.loop_count\"\nmax = {compilations:.0}\n"
        );
    }
}

fn budget(text: &mut String, metric: &str, seen: f64, aggregate: Aggregate) {
    let (max, how) = (round_up(seen * ROOM), aggregate_line(aggregate));
    let _ =
        write!(text, "\n[[budget]]                # {seen:.4} in this run\nmetric = \"{metric}\"\nmax = {max}\n{how}");
}

fn aggregate_line(aggregate: Aggregate) -> String {
    let is_default = aggregate == Defaults::default().aggregate;
    if is_default { String::new() } else { format!("aggregate = \"{}\"\n", aggregate.title()) }
}

fn regression(text: &mut String, gate: &Regression) {
    let meaning = METRICS.iter().find(|metric| metric.name == gate.metric).map_or("", |metric| metric.meaning);
    let _ = write!(text, "\n# {meaning}\n[[regression]]\nmetric = \"{}\"\n", gate.metric);
    text.push_str(&aggregate_line(gate.aggregate.unwrap_or_default()));
    if let Some(limit) = gate.max_increase_pct {
        let _ = writeln!(text, "max_increase_pct = {limit}");
    }
    if let Some(limit) = gate.max_increase_abs {
        let what = if gate.metric.ends_with("_pct") { "   # percentage points" } else { "" };
        let _ = writeln!(text, "max_increase_abs = {limit}{what}");
    }
}

/// Of the ops with most communication that nothing hides.
fn op_regression(text: &mut String, run: &Summary) {
    if too_few(run, None).is_some() {
        return;
    }
    // A name that would mean something else in this file, as `re:…`, is none that a compiler gives.
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let exposed = run.ops.iter().filter(|op| op.is_collective && op.part == Part::ExposedComm);
    let names = exposed.map(|op| analysis::compare::stem(&op.name));
    if let Some(kind) = names.filter(|name| is_plain(name)).find(|name| !name.is_empty()) {
        let _ = write!(
            text,
            "\n# Ops of a name, added up in each step; re:REGEX works, too\n[[regression]]\n\
             op = \"{kind}*\"\nmetric = \"op.exposed_ms_per_step\"\nmax_increase_pct = 10\nmin_effect_ms = 0.2      # less never fails\nlevel = \"warn\"\n"
        );
    }
}

/// Up to three digits, so that the file reads well.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 0.0;
    }
    let unit = 10_f64.powi(value.log10().floor() as i32 - 2);
    let rounded = (value / unit).ceil() * unit;
    // Without the digits that multiplying leaves behind.
    format!("{rounded:.9}").parse().unwrap_or(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::config;

    /// A run of `steps` steps with one collective.
    fn run(collective: &str, steps: usize) -> Summary {
        let text = format!(
            r#"{{"schema": "systole.summary/1", "facts": {{}}, "steps": {{"rung": "modules", "counted": {steps}}},
            "series": [{{"id": "step.time_ps", "title": "", "unit": "picoseconds", "values": {:?}}}],
            "ops": [{{"name": {collective:?}, "part": "exposed_comm", "is_collective": true, "place": 0, "runs": 1,
            "middle_ps": 5, "values": [5]}}]}}"#,
            vec![1e9; steps]
        );
        Summary::from_json(&text).unwrap()
    }

    #[test]
    fn every_run_gives_a_file_that_can_be_read() {
        for name in ["all-gather.7", "re:(", "re:^a", "a*b", "x\"\n[[budget]]\n", "\\", "", "ü"] {
            for steps in [0, 1, 6, 10] {
                let text = config_of(&run(name, steps));
                let gates = config::gates_of(&text).unwrap_or_else(|why| panic!("{name}: {why}\n{text}"));
                let ops: Vec<_> = gates.regression.iter().filter_map(|gate| gate.op.as_deref()).collect();
                let expected: &[&str] = if name == "all-gather.7" && steps >= 6 { &["all-gather*"] } else { &[] };
                assert_eq!(ops, expected, "{text}");
                let p90 = gates.budget.iter().any(|gate| gate.aggregate == Some(Aggregate::P90));
                assert_eq!(p90, steps >= 10, "{text}");
            }
        }
    }

    #[test]
    fn limits_read_well() {
        for (value, expected) in [(337.104, 338.0), (0.012_31, 0.0124), (1234.5, 1240.0), (0.0, 0.0)] {
            assert!((round_up(value) - expected).abs() < 1e-9, "{value}: {}", round_up(value));
        }
    }
}
