//! `systole init`: writes a commented systole.toml from a good run.

use crate::commands::prelude::*;
use analysis::compare::{LOOP_COMPILATIONS, LOOP_STEP, OpTimes, are_computed};
use analysis::gates::{self, GateDefaults, Regression, StepAggregate, preset};
use analysis::reports::StepPart;
use analysis::{counted, distinct};

use crate::common::summaries;
use request::places::check_new;
/// Arguments of the command.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Runs whose numbers are good: profiles, or saved summaries
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Write it to this file instead of stdout; must not exist yet
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with 11 if the runs are too short for a gate that the file should have
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub assume: Assumptions,
}

pub fn run(args: &InitArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    if let Some(path) = &args.output {
        check_new(path)?;
    }
    let paths = summaries::requested(&args.paths, false);
    let runs = summaries::summaries(
        &paths,
        &Loading::new(&args.assume, stderr)?,
        None,
        OutputFormat::JSON,
        stderr,
    )?;
    let WrittenConfig { text, unguarded } = config_of(&runs);
    match &args.output {
        Some(path) => output::write_to(path, &text)?,
        None => output::print(&text)?,
    }
    if unguarded.is_empty() {
        return Ok(CommandOutcome::Done);
    }
    let why = format!("not guarded: {}", by_reason(&unguarded).join("; "));
    if args.strict {
        return Ok(CommandOutcome::Inconclusive(why));
    }
    stderr.warn(&why);
    Ok(CommandOutcome::Done)
}

/// A file of gates, and what it should judge and cannot.
struct WrittenConfig {
    text: String,
    unguarded: Vec<Unguarded>,
}

/// A gate that a file should have and cannot, with the reason.
struct Unguarded {
    gate: String,
    why: String,
}

/// Gates that are left out for the same reason share a sentence.
fn by_reason(unguarded: &[Unguarded]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for Unguarded { gate, why } in unguarded {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, gates)) => gates.push(gate),
            None => reasons.push((why, vec![gate])),
        }
    }
    reasons
        .iter()
        .map(|(why, gates)| format!("{}: {why}", gates.join(", ")))
        .collect()
}

/// The share of slow steps.
const SLOW: &str = "loop.slow_pct";
/// Bytes of a `_gib`.
const GIB: f64 = 1_073_741_824.0;
/// Factor between a measured value and its budget.
const ROOM: f64 = 1.1;

fn config_of(runs: &[Summary]) -> WrittenConfig {
    let min_steps = min_steps(runs);
    let usual = GateDefaults::default().min_steps;
    let why = match min_steps {
        few if few < usual => {
            format!("this short run has {few}: sums of so few steps, and no median, are judged")
        }
        _ => "with fewer steady steps a gate is inconclusive".to_owned(),
    };
    let mut text = format!(
        "# Limits of a run. Checked by: systole analyze RUN --budget systole.toml --baseline base.json\n\
         # `systole metrics` lists the metrics, `systole config check` checks this file.\n\
         # Units follow the name: _ms, _us, _pct, _gib …\n\
         version = 1\n\n\
         [defaults]\n\
         level = \"error\"        # off, warn or error (fails the run)\n\
         aggregate = \"median\"   # of the steps: median, mean, p90, p95, max\n\
         min_steps = {min_steps}          # {why}\n\
         # warmup_steps = 5     # leave out the first steps\n",
    );
    let mut left_out = Vec::new();
    let these = if runs.len() == 1 {
        "this run has"
    } else {
        "the largest of these runs has"
    };
    let _ = writeln!(text, "\n# Limits: what {these}, and ten percent more.");
    budgets(&mut text, runs, &mut left_out);
    text.push_str(
        "\n# Against a baseline: more than this, and more than noise\n\
         # (require_significance = false judges the number alone).\n",
    );
    for gate in preset(runs, &[]) {
        match too_few(runs, gate.aggregate, Some(&gate.metric)) {
            Some(why) => left_out.push(Unguarded {
                gate: format!("regression of {} {}", titled(&gate), gate.limit()),
                why,
            }),
            None => regression(&mut text, &gate, runs),
        }
    }
    op_regressions(&mut text, runs);
    if !left_out.is_empty() {
        let these = if runs.len() == 1 {
            "this run"
        } else {
            "these runs"
        };
        let _ = writeln!(text, "\n# Left out, because {these} cannot answer them:");
        for Unguarded { gate, why } in &left_out {
            let _ = writeln!(text, "# - {gate}: {why}");
        }
    }
    text.push_str(
        "\n# Runs that differ in one of these are not compared; regressions are then inconclusive.\n\
         [comparable]\nrequire = [\"device_type\", \"device_count\"]\non_mismatch = \"inconclusive\"   # or ignore\n\
         \n# Hints that are known and accepted:\n\
         # [[suppress]]\n# hint = \"K25\"\n# reason = \"offloading is on purpose\"\n# until = 2027-03-01\n",
    );
    WrittenConfig {
        text,
        unguarded: left_out,
    }
}

fn titled(gate: &Regression) -> String {
    format!(
        "{} ({})",
        gate.metric,
        gate.aggregate.unwrap_or_default().title()
    )
}

/// Fewest steps whose sum is judged: without the longest there are still two.
const FEWEST: usize = 3;

/// As many steps as gates need; of a short run those that it has.
fn min_steps(runs: &[Summary]) -> usize {
    let usual = GateDefaults::default().min_steps;
    let least = runs
        .iter()
        .map(|run| run.steps.counted)
        .min()
        .unwrap_or(usual);
    if least < FEWEST {
        usual
    } else {
        least.min(usual)
    }
}

/// Whether the runs are too short for medians.
fn are_short(runs: &[Summary]) -> bool {
    min_steps(runs) < GateDefaults::default().min_steps
}

/// A run as a sentence names it: of several by what tells it apart.
fn name_of(run: &Summary, runs: &[Summary]) -> String {
    let titles: Vec<String> = runs.iter().map(Summary::title).collect();
    let names = distinct(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    let index = runs.iter().position(|other| std::ptr::eq(other, run));
    match index.and_then(|index| names.get(index)) {
        Some(name) if runs.len() > 1 => name.clone(),
        _ => "this run".to_owned(),
    }
}

/// Why the runs have too few steps for a gate; `None` for metrics of the whole run.
fn too_few(
    runs: &[Summary],
    aggregate: Option<StepAggregate>,
    metric: Option<&str>,
) -> Option<String> {
    let run = runs.iter().min_by_key(|run| run.steps.counted)?;
    // One step of computed times says what many would.
    if run.steps.counted > 0 && are_computed(runs.iter()) {
        return None;
    }
    let aggregate = aggregate.unwrap_or_default();
    // A sum of few steps is known well; a median, a quantile or a share is not.
    let is_share = metric == Some(SLOW);
    let is_sum = aggregate == StepAggregate::Mean && !is_share;
    let usual = GateDefaults::default().min_steps;
    let needed = aggregate.steps_needed(if is_sum { min_steps(runs) } else { usual });
    let steps = run.steps.counted;
    let why = || {
        run.steps.why_none.clone().unwrap_or_else(|| {
            let steps = counted(steps, "steady step");
            format!("{} has {steps}", name_of(run, runs))
        })
    };
    // A count of compilations is one number whatever the steps.
    (aggregate != StepAggregate::Max && steps < needed).then(|| {
        format!(
            "the {} needs {needed} steady steps, {}",
            aggregate.title(),
            why()
        )
    })
}

/// Budgets, from the run with the largest value.
fn budgets(text: &mut String, runs: &[Summary], left_out: &mut Vec<Unguarded>) {
    let most = |of: &dyn Fn(&Summary) -> Option<f64>| runs.iter().filter_map(of).reduce(f64::max);
    let mut of_steps = |text: &mut String, id: &str, metric: &str, aggregate: StepAggregate| {
        let Some(ps) = most(&|run| aggregate.of(&run.series(id)?.values)) else {
            return;
        };
        match too_few(runs, Some(aggregate), Some(metric)) {
            Some(why) => {
                let gate = format!("budget of {metric} ({})", aggregate.title());
                left_out.push(Unguarded { gate, why });
            }
            None => budget(text, runs, metric, ps / 1e9, aggregate),
        }
    };
    of_steps(text, "step.time_ps", "step.time_ms", StepAggregate::Median);
    of_steps(text, "step.time_ps", "step.time_ms", StepAggregate::P90);
    of_steps(text, LOOP_STEP, "loop.step_ms", StepAggregate::Mean);
    let value = |id: &str| most(&|run| run.value(id)?.value);
    if let Some(peak) = value("memory.peak_bytes") {
        budget(
            text,
            runs,
            "memory.peak_gib",
            peak / GIB,
            StepAggregate::Median,
        );
    }
    if let Some(compilations) = value(LOOP_COMPILATIONS) {
        let these = if runs.len() == 1 {
            "as many as in this run"
        } else {
            "as many as in the run with most of them"
        };
        let _ = write!(
            text,
            "\n[[budget]]                # compilations after warm-up: {these}\n\
             metric = \"compile.loop_count\"\nmax = {compilations:.0}\n"
        );
    }
    if runs.iter().any(|run| run.steps.counted > 0) {
        return;
    }
    // Programs that did not run have sums only.
    for (metric, id, unit) in [
        ("program.flops", "program.flops", 1.0),
        ("program.traffic_gib", "program.traffic_bytes", GIB),
        ("program.peak_memory_gib", "program.peak_memory_bytes", GIB),
        (
            "program.collectives.all.count",
            "program.collectives.all.count",
            1.0,
        ),
        (
            "program.collectives.all_gib",
            "program.collectives.all_bytes",
            GIB,
        ),
    ] {
        // A limit cannot be judged by an estimate.
        let mut known = runs.iter().filter_map(|run| run.value(id));
        let is_estimated = known.any(|value| gates::estimated_peak(value).is_some());
        if let Some(seen) = value(id).filter(|_| !is_estimated) {
            budget(text, runs, metric, seen / unit, StepAggregate::Median);
        }
    }
}

fn budget(text: &mut String, runs: &[Summary], metric: &str, seen: f64, aggregate: StepAggregate) {
    let these = if runs.len() == 1 {
        "in this run".to_owned()
    } else {
        format!("at most in {} runs", runs.len())
    };
    let (max, how) = (round_up(seen * ROOM), aggregate_line(aggregate));
    let _ = write!(
        text,
        "\n[[budget]]                # {} {these}\nmetric = \"{metric}\"\nmax = {max}\n{how}",
        gates::number(seen)
    );
}

fn aggregate_line(aggregate: StepAggregate) -> String {
    let is_default = aggregate == GateDefaults::default().aggregate;
    if is_default {
        String::new()
    } else {
        format!("aggregate = \"{}\"\n", aggregate.title())
    }
}

fn regression(text: &mut String, gate: &Regression, runs: &[Summary]) {
    let meaning = gates::meaning(&gate.metric);
    let is_wider = runs.len() == 1 && !preset(&[runs, runs].concat(), &[]).contains(gate);
    let why = if is_wider {
        "\n# (one run does not show how much runs differ: of several the limit is smaller)"
    } else {
        ""
    };
    let _ = write!(
        text,
        "\n# {meaning}{why}\n[[regression]]\nmetric = \"{}\"\n",
        gate.metric
    );
    text.push_str(&aggregate_line(gate.aggregate.unwrap_or_default()));
    if let Some(limit) = gate.max_increase_pct {
        let _ = writeln!(text, "max_increase_pct = {limit}");
    }
    if let Some(least) = gate.min_effect_ms {
        let _ = writeln!(text, "min_effect_ms = {least}      # less never fails");
    }
    if let Some(limit) = gate.max_increase_abs {
        let what = if gate.metric.ends_with("_pct") {
            "   # percentage points"
        } else {
            ""
        };
        let _ = writeln!(text, "max_increase_abs = {limit}{what}");
    }
}

/// Regressions of the ops with the most exposed communication, and of all ops where the steps are too few for medians.
fn op_regressions(text: &mut String, runs: &[Summary]) {
    let aggregate = if are_short(runs) {
        StepAggregate::Mean
    } else {
        StepAggregate::Median
    };
    if too_few(runs, Some(aggregate), None).is_some() || runs.iter().any(|run| run.ops.is_empty()) {
        return;
    }
    let mut gate = |what: &str, op: &str, metric: &str| {
        let (how, level) = (
            aggregate_line(aggregate),
            if are_short(runs) { "error" } else { "warn" },
        );
        let _ = write!(
            text,
            "\n# {what}\n[[regression]]\nop = \"{op}\"\nmetric = \"{metric}\"\n{how}max_increase_pct = 10\n\
             min_effect_ms = 0.2      # less never fails\nlevel = \"{level}\"\n"
        );
    };
    if are_short(runs) {
        gate("All ops of a step", "*", "op.time_ms_per_step");
    }
    // Compilers do not give names that have a special meaning in this file, such as `re:…`.
    let is_plain = |name: &str| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    let exposed = runs
        .iter()
        .flat_map(|run| &run.ops)
        .filter(|op| op.is_collective && op.part == StepPart::ExposedComm);
    let mut kinds = exposed.filter_map(OpTimes::collective_kind);
    if let Some(kind) = kinds.find(|kind| !kind.is_empty() && is_plain(kind)) {
        gate(
            "Collectives of a kind, whatever their names, added up in each step; names and re:REGEX work, too",
            &format!("{kind}*"),
            "op.exposed_ms_per_step",
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
mod tests;
