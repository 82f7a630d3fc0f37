//! `systole history`: the recorded runs, one row each.

use super::prelude::*;
use analysis::compare::{LOOP_COMPILATIONS, TestOptions, change_point};
use analysis::{Cell, LowerBound, distinct, shortened_path};
use render::html::history::{self, HistoryNumber, HistoryRun};
use request::history_file;
use request::history_file::HistoryLine;
use std::collections::BTreeMap;

/// The number whose changes are shown.
const STEP: &str = "step.time_ps";
/// Columns of the name of a run.
const NAME: usize = 30;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// The file that `--history` appends to
    pub path: PathBuf,
    /// Only the last N runs; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub last: usize,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    /// Also write a page with charts of step time, MFU and compile time over the runs, and where they changed
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub force: ForceArgs,
}

pub fn run(args: &HistoryArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let guard = OutputGuard::new([args.path.clone()], args.force.force);
    args.html
        .as_deref()
        .map_or(Ok(()), |page| output::check_file(page, &guard))?;
    let mut lines = history_file::read(&args.path, stderr)?;
    let mut before = None;
    if args.last > 0 && lines.len() > args.last {
        let earlier = lines.drain(..lines.len() - args.last);
        before = earlier.filter_map(|line| line.number(STEP)).next_back();
    }
    if let Some(page) = &args.html {
        let written =
            session::files::write_file(page, page_of(&args.path, &lines, before).as_bytes());
        written.map_err(RequestError::write(page))?;
        stderr.detail(&format!("wrote {}", page.display()));
    }
    let trend = trend(&lines, before);
    let text = |trend: &Table| {
        let layout = terminal::whole_tables(stderr.stdout_style());
        table::table(&with_distinct_runs(trend), &layout)
    };
    let runs = || {
        let run = |line: &HistoryLine| {
            json!({"run": line.run(), "commit": line.commit, "verdict": line.verdict(), "steps": line.steps,
                   "metrics": line.metrics, "lower_bounds": line.lower_bounds, "gates": line.gates})
        };
        json!({"schema": "systole.trend/1", "runs": lines.iter().map(run).collect::<Vec<_>>()})
    };
    let text = output::list(args.format, CsvCells::Exact, "history", trend, text, runs);
    output::print_as(args.format, &text)
}

const MFU: &str = "mfu_steady_percent";

/// Smallest change of a number that is worth a mark, in percent.
const WORTH_A_MARK: f64 = 1.0;

/// Charts of the numbers that people watch, with the gates of each run.
fn page_of(path: &Path, lines: &[HistoryLine], before: Option<f64>) -> String {
    let names: Vec<String> = lines.iter().map(HistoryLine::run).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let runs = lines
        .iter()
        .zip(distinct(&names))
        .map(|(line, name)| HistoryRun {
            name: match line.simulator() {
                Some(by) => format!("{name} (computed by {by})"),
                None => name,
            },
            commit: commit(line),
            verdict: line.verdict(),
            failed: line.failed_gates(),
        });
    let numbers = [
        ("Step time", STEP, Unit::Picoseconds),
        ("MFU", MFU, Unit::Percent),
        ("Compile time", "compile.wall_ps", Unit::Picoseconds),
    ];
    let number = |(title, id, unit)| {
        let values: Vec<Option<f64>> = lines.iter().map(|line| line.exact(id)).collect();
        let steps: Vec<Vec<f64>> = lines.iter().filter_map(|line| line.values(id)).collect();
        let change = change_point(&steps, WORTH_A_MARK, &TestOptions::default());
        HistoryNumber {
            title,
            unit,
            values,
            change,
        }
    };
    let mut newest = with_distinct_runs(&trend(lines, before));
    newest.rows.reverse();
    history::page(
        &importers::file_name(path),
        &runs.collect::<Vec<_>>(),
        &numbers.map(number),
        &newest,
    )
}

/// The beginning of the hash of a commit; empty if it is not known.
fn commit(line: &HistoryLine) -> String {
    line.commit
        .iter()
        .flat_map(|hash| hash.chars().take(10))
        .collect()
}

/// The table with what tells its runs apart in place of their paths, and without commits where none is known.
fn with_distinct_runs(trend: &Table) -> Table {
    let mut trend = trend.clone();
    let commits = trend
        .columns
        .iter()
        .position(|column| column.id == "commit");
    let is_empty = |row: &Vec<Cell>| commits.is_some_and(|at| row[at] == Cell::text(""));
    if trend.rows.iter().all(is_empty) {
        trend = trend.without(&["commit"]);
    }
    let Some(at) = trend.columns.iter().position(|column| column.id == "run") else {
        return trend;
    };
    let name = |row: &Vec<Cell>| match &row[at] {
        Cell::Text(name) => name.clone(),
        _ => String::new(),
    };
    let names: Vec<String> = trend.rows.iter().map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (row, name) in trend.rows.iter_mut().zip(shortened(distinct(&names))) {
        row[at] = Cell::text(name);
    }
    trend
}

/// Names shortened as far as they stay different.
fn shortened(names: Vec<String>) -> Vec<String> {
    let short: Vec<String> = names
        .iter()
        .map(|name| shortened_path(name, NAME))
        .collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &short {
        *counts.entry(name).or_default() += 1;
    }
    let is_only = |name: &String| counts.get(name.as_str()) == Some(&1);
    short
        .iter()
        .zip(names)
        .map(|(short, name)| if is_only(short) { short.clone() } else { name })
        .collect()
}

/// One row per run, the oldest first; `before` is the step time of the run before them.
fn trend(lines: &[HistoryLine], mut before: Option<f64>) -> Table {
    let changes: Vec<Option<f64>> = lines
        .iter()
        .map(|line| {
            let last = before.filter(|last| *last > 0.0);
            let step = line.number(STEP);
            before = step.or(before);
            Some(100.0 * (step? / last? - 1.0))
        })
        .collect();
    let number = |id: &'static str| move |(line, _): (&HistoryLine, Option<f64>)| line.number(id);
    Table::of(
        "trend",
        match lines.len() {
            1 => "The last run".to_owned(),
            runs => format!("The last {runs} runs"),
        },
        lines.iter().zip(changes),
    )
    .derived("verdict", "Gates", Unit::None, |(line, _)| line.verdict())
    .derived("commit", "Commit", Unit::None, |(line, _)| commit(line))
    .derived("run", "Run", Unit::None, |(line, _)| line.run())
    .derived("steps", "Steps", Unit::Count, |(line, _)| {
        line.steps.map(|steps| steps as f64)
    })
    .derived("step_ps", "Step", Unit::Picoseconds, number(STEP))
    .derived("change_percent", "Change", Unit::Percent, |(_, change)| {
        change
    })
    .derived(
        "loop_step_ps",
        "Loop step",
        Unit::Picoseconds,
        number("loop.step_ps"),
    )
    .derived(
        "loop_compilations",
        "Compiled",
        Unit::Count,
        number(LOOP_COMPILATIONS),
    )
    .derived(
        "exposed_comm_percent",
        "Exposed",
        Unit::Percent,
        number("step.exposed_comm_percent"),
    )
    .derived(
        "idle_percent",
        "Idle",
        Unit::Percent,
        number("step.idle_percent"),
    )
    .derived("mfu_bound", "Bound", Unit::None, |(line, _)| {
        LowerBound(line.is_lower_bound(MFU))
    })
    .derived("mfu_percent", "MFU", Unit::Percent, number(MFU))
    .derived(
        "memory_peak_bytes",
        "Memory",
        Unit::Bytes,
        number("memory.peak_bytes"),
    )
    .note("step times are medians, those of the loop means; the change is of the step time, against the previous run")
    .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_look_alike_stay_whole() {
        let long = |end: &str| {
            format!(
                "runs/{}/plugins/profile/{end}/host.xplane.pb",
                "x".repeat(40)
            )
        };
        let names = vec![long("1"), long("2"), "b".to_owned()];
        let short = shortened(names.clone());
        assert_eq!(
            short
                .iter()
                .collect::<std::collections::BTreeSet<_>>()
                .len(),
            3
        );
        assert_eq!(short[2], "b");
        let alike = vec![
            "y".repeat(50) + "a" + &"y".repeat(50),
            "y".repeat(50) + "b" + &"y".repeat(50),
        ];
        assert_eq!(shortened(alike.clone()), alike);
    }
}
