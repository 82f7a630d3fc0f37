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
            output::write_file(path, &text).map_err(|error| Failure::Write { error, path: path.clone() })?;
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
         # warmup_steps = 5     # leave out the first steps\n",
    );
    let _ = writeln!(text, "\n# Limits. What this run has, and ten percent more.");
    if let Some(series) = run.series("step.time_ps") {
        let mut limit = |share: f64, aggregate: &str, is_sure: bool| {
            if let Some(ps) = quantile(&series.values, share) {
                budget(&mut text, "step.time_ms", ps / 1e9, aggregate, is_sure);
            }
        };
        limit(0.5, "", run.steps.counted >= 6);
        limit(0.9, "\naggregate = \"p90\"", run.steps.counted >= 10);
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
        "\n# Against a baseline: more than noise, and more than this.\n\
         [[regression]]\nmetric = \"step.time_ms\"\nmax_increase_pct = 5\nalpha = 0.05             # chance of calling noise a regression\n\
         \n[[regression]]\nmetric = \"step.time_ms\"\naggregate = \"p90\"\nmax_increase_pct = 10\n\
         \n[[regression]]             # percentage points of the step\nmetric = \"step.exposed_comm_pct\"\nmax_increase_abs = 5\n\
         \n[[regression]]\nmetric = \"step.idle_pct\"\nmax_increase_abs = 5\n",
    );
    if let Some(op) = run.ops.iter().find(|op| op.is_collective) {
        let kind = analysis::compare::stem(&op.name).replace(|c: char| c.is_control() || matches!(c, '"' | '\\'), "?");
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

    #[test]
    fn limits_read_well() {
        for (value, expected) in [(337.104, 338.0), (0.012_31, 0.0124), (1234.5, 1240.0), (0.0, 0.0)] {
            assert!((round_up(value) - expected).abs() < 1e-9, "{value}: {}", round_up(value));
        }
    }
}
