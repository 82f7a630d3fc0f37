//! `systole init`: writes a commented systole.toml from a good run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use analysis::compare::{LOOP_COMPILATIONS, LOOP_STEP, Summary};
use analysis::gates::{GateDefaults, METRICS, Regression, StepAggregate, preset};
use analysis::reports::steps::step_parts::StepPart;
use clap::Args;

use crate::cli::common::args::AssumeArgs;
use crate::cli::common::failure::{CommandOutcome, Failure};
use crate::cli::common::stderr::Stderr;
use crate::cli::common::values::OutputFormat;
use crate::cli::common::{output, summaries};
/// Arguments of the command.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Runs whose numbers are good: profiles, or saved summaries
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Write it to this file instead of stdout; must not exist yet
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub assume: AssumeArgs,
}

/// Runs the command.
pub fn run(args: &InitArgs, stderr: &Stderr) -> Result<CommandOutcome, Failure> {
    if let Some(path) = &args.output {
        output::check_file(path)?;
        if path.exists() {
            return Err(Failure::Usage(format!("{} exists already: name another file", path.display())));
        }
    }
    let paths: Vec<(&Path, bool)> = args.paths.iter().map(|path| (path.as_path(), false)).collect();
    let runs = summaries::summaries(&paths, &args.assume, None, OutputFormat::Json, stderr)?;
    let text = config_of(&runs);
    match &args.output {
        Some(path) => output::write_to(path, &text)?,
        None => output::print(&text)?,
    }
    Ok(CommandOutcome::Done)
}

/// Factor between a measured value and its budget.
const ROOM: f64 = 1.1;

fn config_of(runs: &[Summary]) -> String {
    let mut text = String::from(
        "# Limits of a run. Checked by: systole analyze RUN --budget systole.toml --baseline base.json\n\
         # `systole metrics` lists the metrics, `systole config check` checks this file.\n\
         # Units follow the name: _ms, _us, _pct, _gib …\n\
         version = 1\n\n\
         [defaults]\n\
         level = \"error\"        # off, warn or error (fails the run)\n\
         aggregate = \"median\"   # of the steps: median, mean, p90, p95, max\n\
         min_steps = 6          # with fewer steady steps a gate is inconclusive\n\
         # warmup_steps = 5     # leave out the first steps\n",
    );
    let mut left_out = Vec::new();
    let these = if runs.len() == 1 { "this run has" } else { "the largest of these runs has" };
    let _ = writeln!(text, "\n# Limits: what {these}, and ten percent more.");
    budgets(&mut text, runs, &mut left_out);
    text.push_str(
        "\n# Against a baseline: more than this, and more than noise\n\
         # (require_significance = false judges the number alone).\n",
    );
    for gate in preset(&runs.iter().collect::<Vec<_>>()) {
        match too_few(runs, gate.aggregate) {
            Some(why) => left_out.push(format!("regression of {} {}: {why}", gate.metric, gate.limit())),
            None => regression(&mut text, &gate),
        }
    }
    op_regression(&mut text, runs);
    left_out.dedup();
    if !left_out.is_empty() {
        let these = if runs.len() == 1 { "this run" } else { "these runs" };
        let _ = writeln!(text, "\n# Left out, because {these} cannot answer them:");
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

/// Why the runs have too few steps for a gate; `None` for metrics of the whole run.
fn too_few(runs: &[Summary], aggregate: Option<StepAggregate>) -> Option<String> {
    let run = runs.iter().min_by_key(|run| run.steps.counted)?;
    let aggregate = aggregate.unwrap_or_default();
    let needed = aggregate.steps_needed(GateDefaults::default().min_steps);
    let steps = run.steps.counted;
    let why = || {
        run.steps.why_none.clone().unwrap_or_else(|| {
            format!("{} has {steps} steady steps", if runs.len() == 1 { "this run" } else { "one of these runs" })
        })
    };
    // A count of compilations is one number whatever the steps.
    (aggregate != StepAggregate::Max && steps < needed)
        .then(|| format!("the {} needs {needed} steady steps, {}", aggregate.title(), why()))
}

/// Budgets, from the run with the largest value.
fn budgets(text: &mut String, runs: &[Summary], left_out: &mut Vec<String>) {
    let most = |of: &dyn Fn(&Summary) -> Option<f64>| runs.iter().filter_map(of).reduce(f64::max);
    let mut of_steps = |text: &mut String, id: &str, metric: &str, aggregate: StepAggregate| {
        let Some(ps) = most(&|run| aggregate.of(&run.series(id)?.values)) else { return };
        match too_few(runs, Some(aggregate)) {
            Some(why) => left_out.push(format!("budget of {metric}: {why}")),
            None => budget(text, runs, metric, ps / 1e9, aggregate),
        }
    };
    of_steps(text, "step.time_ps", "step.time_ms", StepAggregate::Median);
    of_steps(text, "step.time_ps", "step.time_ms", StepAggregate::P90);
    of_steps(text, LOOP_STEP, "loop.step_ms", StepAggregate::Mean);
    let value = |id: &str| most(&|run| run.value(id)?.value);
    if let Some(peak) = value("memory.peak_bytes") {
        budget(text, runs, "memory.peak_gib", peak / 1_073_741_824.0, StepAggregate::Median);
    }
    if let Some(compilations) = value(LOOP_COMPILATIONS) {
        let these = if runs.len() == 1 { "as many as in this run" } else { "as many as in the run with most of them" };
        let _ = write!(
            text,
            "\n[[budget]]                # compilations after warm-up: {these}\n\
             metric = \"compile.loop_count\"\nmax = {compilations:.0}\n"
        );
    }
}

fn budget(text: &mut String, runs: &[Summary], metric: &str, seen: f64, aggregate: StepAggregate) {
    let these = if runs.len() == 1 { "in this run".to_owned() } else { format!("at most in {} runs", runs.len()) };
    let (max, how) = (round_up(seen * ROOM), aggregate_line(aggregate));
    let _ = write!(text, "\n[[budget]]                # {seen:.4} {these}\nmetric = \"{metric}\"\nmax = {max}\n{how}");
}

fn aggregate_line(aggregate: StepAggregate) -> String {
    let is_default = aggregate == GateDefaults::default().aggregate;
    if is_default { String::new() } else { format!("aggregate = \"{}\"\n", aggregate.title()) }
}

fn regression(text: &mut String, gate: &Regression) {
    let meaning = METRICS.iter().find(|metric| metric.name == gate.metric).map_or("", |metric| metric.meaning);
    let _ = write!(text, "\n# {meaning}\n[[regression]]\nmetric = \"{}\"\n", gate.metric);
    text.push_str(&aggregate_line(gate.aggregate.unwrap_or_default()));
    if let Some(limit) = gate.max_increase_pct {
        let _ = writeln!(text, "max_increase_pct = {limit}");
    }
    if let Some(least) = gate.min_effect_ms {
        let _ = writeln!(text, "min_effect_ms = {least}      # less never fails");
    }
    if let Some(limit) = gate.max_increase_abs {
        let what = if gate.metric.ends_with("_pct") { "   # percentage points" } else { "" };
        let _ = writeln!(text, "max_increase_abs = {limit}{what}");
    }
}

/// A regression of the ops with the most exposed communication.
fn op_regression(text: &mut String, runs: &[Summary]) {
    if too_few(runs, None).is_some() {
        return;
    }
    // Compilers do not give names that have a special meaning in this file, such as `re:…`.
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let exposed =
        runs.iter().flat_map(|run| &run.ops).filter(|op| op.is_collective && op.part == StepPart::ExposedComm);
    let names = exposed.map(|op| trace_model::without_number(&op.name));
    if let Some(kind) = names.filter(|name| is_plain(name)).find(|name| !name.is_empty()) {
        let _ = write!(
            text,
            "\n# Ops of a name, added up in each step; re:REGEX works, too\n[[regression]]\n\
             op = \"{kind}*\"\nmetric = \"op.exposed_ms_per_step\"\nmax_increase_pct = 10\nmin_effect_ms = 0.2      # less never fails\nlevel = \"warn\"\n"
        );
    }
}

/// Rounds up to three significant digits.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 0.0;
    }
    let unit = 10_f64.powi(value.log10().floor() as i32 - 2);
    let rounded = (value / unit).ceil() * unit;
    // Removes the rounding errors of the multiplication.
    format!("{rounded:.9}").parse().unwrap_or(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::common::settings;

    /// A run of `steps` steps with one collective.
    fn run(collective: &str, steps: usize) -> Summary {
        let text = format!(
            r#"{{"schema": "systole.summary/1", "facts": {{}}, "steps": {{"source": "modules", "counted": {steps}}},
            "series": [{{"id": "step.time_ps", "title": "", "unit": "picoseconds", "values": {:?}}}],
            "ops": [{{"name": {collective:?}, "part": "exposed_comm", "is_collective": true, "place": 0, "runs": 1,
            "middle_ps": 5, "values": [5]}}]}}"#,
            vec![1e9; steps]
        );
        Summary::from_json(&text).unwrap()
    }

    #[test]
    fn written_config_of_every_run_can_be_read() {
        for name in ["all-gather.7", "re:(", "re:^a", "a*b", "x\"\n[[budget]]\n", "\\", "", "ü"] {
            for steps in [0, 1, 6, 10] {
                let text = config_of(&[run(name, steps)]);
                let gates = settings::gates_of(&text).unwrap_or_else(|why| panic!("{name}: {why}\n{text}"));
                let ops: Vec<_> = gates.regression.iter().filter_map(|gate| gate.op.as_deref()).collect();
                let expected: &[&str] = if name == "all-gather.7" && steps >= 6 { &["all-gather*"] } else { &[] };
                assert_eq!(ops, expected, "{text}");
                let p90 = gates.budget.iter().any(|gate| gate.aggregate == Some(StepAggregate::P90));
                assert_eq!(p90, steps >= 10, "{text}");
            }
        }
    }

    #[test]
    fn limits_come_from_the_largest_run() {
        let mut slow = run("all-gather.7", 12);
        slow.series[0].values = vec![4e9; 12];
        let text = config_of(&[run("all-gather.7", 12), slow.clone()]);
        let gates = settings::gates_of(&text).unwrap();
        assert_eq!(gates.budget[0].max, Some(round_up(4.4)), "{text}");
        assert_eq!(config_of(&[slow.clone(), run("all-gather.7", 12)]), text);
        // Too few steps in one of the runs are enough to omit the gate.
        let text = config_of(&[slow, run("all-gather.7", 3)]);
        assert!(text.contains("one of these runs has 3 steady steps"), "{text}");
    }

    #[test]
    fn limits_are_rounded_for_reading() {
        for (value, expected) in [(337.104, 338.0), (0.012_31, 0.0124), (1234.5, 1240.0), (0.0, 0.0)] {
            assert!((round_up(value) - expected).abs() < 1e-9, "{value}: {}", round_up(value));
        }
    }
}
