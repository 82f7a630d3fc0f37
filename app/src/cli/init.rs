//! `systole init`: a commented systole.toml from a run that is good enough.

use std::fmt::Write as _;
use std::path::PathBuf;

use analysis::compare::Summary;
use analysis::stats::quantile;
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
    #[command(flatten)]
    pub assume: AssumeArgs,
    /// Write it to this file instead of stdout; must not exist yet
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
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
        Some(path) => {
            crate::files::write_file(path, &text).map_err(|error| Failure::Write { error, path: path.clone() })?;
        }
        None => output::print(&text)?,
    }
    Ok(Outcome::Done)
}

/// Room that a budget leaves above what was seen.
const ROOM: f64 = 1.1;

fn config_of(run: &Summary) -> String {
    let mut text = String::from(
        "# What a run must keep. Judged by: systole analyze RUN --budget systole.toml --baseline base.json\n\
         # Metrics: `systole summarize RUN` lists them; units follow the name (_ms, _us, _pct, _gib …).\n\
         version = 1\n\n\
         [defaults]\n\
         level = \"error\"        # off, warn or error (fails the run)\n\
         aggregate = \"median\"   # of the steps: median, mean, p90, p95, max\n\
         min_steps = 6          # with fewer steady steps a gate is inconclusive\n\
         # warmup_steps = 5     # leave out the first steps\n\
         # p90 needs 10 steady steps, p95 20: with fewer, no step lies beyond them and they are inconclusive\n",
    );
    let _ = writeln!(text, "\n# Limits. What this run has, and ten percent more.");
    if let Some(series) = run.series("step.time_ps") {
        let mut limit = |share: f64, aggregate: &str, is_sure: bool| {
            if let Some(ps) = quantile(&series.values, share) {
                budget(&mut text, "step.time_ms", ps / 1e9, aggregate, is_sure);
            }
        };
        limit(0.5, "", run.steps.counted >= 6);
        if run.steps.counted >= analysis::gates::Aggregate::P90.steps_needed(1) {
            limit(0.9, "\naggregate = \"p90\"", true);
        }
    }
    if let Some(peak) = run.value("memory.peak_bytes").and_then(|value| value.value) {
        budget(&mut text, "memory.peak_gib", peak / 1_073_741_824.0, "", true);
    }
    if let Some(compilations) = run.value("compile.count").and_then(|value| value.value) {
        let _ = write!(
            text,
            "\n[[budget]]                # compilations within the capture\nmetric = \"compile.count\"\nmax = {compilations:.0}\nlevel = \"warn\"\n"
        );
    }
    text.push_str(
        "\n# Against a baseline: more than this. A median must also differ by more than noise\n\
         # (require_significance = false judges the number alone; means and slow steps always are).\n\
         [[regression]]\nmetric = \"step.time_ms\"\nmax_increase_pct = 5\nalpha = 0.05             # chance of calling noise a regression\n\
         \n[[regression]]\nmetric = \"step.time_ms\"\naggregate = \"p90\"\nmax_increase_pct = 10\n\
         \n[[regression]]             # percentage points of the step\nmetric = \"step.exposed_comm_pct\"\nmax_increase_abs = 5\n\
         \n[[regression]]\nmetric = \"step.idle_pct\"\nmax_increase_abs = 5\n",
    );
    // A name that would mean something else in this file, as `re:…`, is none that a compiler gives.
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let collectives = run.ops.iter().filter(|op| op.is_collective).map(|op| analysis::compare::stem(&op.name));
    if let Some(kind) = collectives.filter(|name| is_plain(name)).find(|name| !name.is_empty()) {
        let _ = write!(
            text,
            "\n[[regression]]             # ops of a name, added up in each step; re:REGEX works, too\n\
             op = \"{kind}*\"\nmetric = \"op.exposed_ms_per_step\"\nmax_increase_pct = 10\nmin_effect_ms = 0.2      # less never fails\nlevel = \"warn\"\n"
        );
    }
    text.push_str(
        "\n# Runs that differ in one of these are not compared; regressions are then inconclusive.\n\
         [comparable]\nrequire = [\"device_type\", \"device_count\"]\non_mismatch = \"inconclusive\"   # or ignore\n\
         \n# Hints that are known and accepted:\n\
         # [[suppress]]\n# hint = \"K25\"\n# reason = \"offloading is on purpose\"\n# until = 2027-03-01\n",
    );
    text
}

fn budget(text: &mut String, metric: &str, seen: f64, more: &str, is_sure: bool) {
    let max = round_up(seen * ROOM);
    let level = if is_sure { "" } else { "\nlevel = \"warn\"           # this run has too few steps to be sure" };
    let _ = write!(
        text,
        "\n[[budget]]                # {seen:.4} in this run\nmetric = \"{metric}\"\nmax = {max}{more}{level}\n"
    );
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
                let expected: &[&str] = if name == "all-gather.7" { &["all-gather*"] } else { &[] };
                assert_eq!(ops, expected, "{text}");
                let p90 = gates.budget.iter().any(|gate| gate.aggregate == Some(analysis::gates::Aggregate::P90));
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
