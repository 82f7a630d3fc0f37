//! `systole history`: the recorded runs, one row each.

use super::prelude::*;
use analysis::compare::{
    LOOP_COMPILATIONS, RunLevels, Summary, TestOptions, fingerprints, other_series,
};
use analysis::{LowerBound, distinct, shortened_path};
use render::html::history::{self, HistoryNumber, HistoryRun};
use request::history_file;
use request::history_file::HistoryLine;
use std::collections::{BTreeMap, BTreeSet};

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
        let mut earlier = lines.drain(..lines.len() - args.last);
        before = earlier.rfind(|line| line.number(STEP).is_some());
    }
    let summaries: Vec<Option<Summary>> = lines.iter().map(HistoryLine::summary).collect();
    let changes = changes(&lines, &summaries, before.as_ref());
    let series = RunSeries::of(&lines, &summaries);
    let paths: Vec<String> = lines.iter().map(HistoryLine::run).collect();
    let names = run_names(&paths);
    let trend_of = |runs: &[String]| trend(&lines, &changes, runs, &series.left_out);
    let trend = trend_of(&paths);
    // For people, with what tells runs apart in place of their paths, and without commits where none is known.
    let short = || {
        let table = trend_of(&shortened(&names));
        if lines.iter().all(|line| commit(line).is_empty()) {
            table.without(&["commit"])
        } else {
            table
        }
    };
    if let Some(page) = &args.html {
        let text = page_of(&args.path, &lines, &names, &series, short());
        let written = session::files::write_file(page, text.as_bytes());
        written.map_err(RequestError::write(page))?;
        stderr.detail(&format!("wrote {}", page.display()));
    }
    let text = |_: &Table| {
        let layout = terminal::whole_tables(stderr.stdout_style());
        table::table(&short(), &layout)
    };
    let runs = || {
        let run = |line: &HistoryLine| {
            json!({"run": line.run(), "commit": line.commit, "verdict": line.verdict(), "steps": line.steps,
                   "unreadable": line.unreadable, "metrics": line.metrics, "lower_bounds": line.lower_bounds, "gates": line.gates})
        };
        json!({"schema": "systole.trend/1", "runs": lines.iter().map(run).collect::<Vec<_>>()})
    };
    let text = output::list(args.format, CsvCells::Exact, "history", trend, text, runs);
    output::print_as(args.format, &text)
}

const MFU: &str = "mfu_steady_percent";

/// Smallest change of a number that is worth a mark, in percent.
const WORTH_A_MARK: f64 = 1.0;

/// Places of the lines that are points of one series, and why others are left out: those that did not do the work of the newest, and
/// captures that are given again.
struct RunSeries {
    kept: Vec<usize>,
    left_out: Vec<String>,
}

impl RunSeries {
    fn of(lines: &[HistoryLine], summaries: &[Option<Summary>]) -> Self {
        let newest = summaries.iter().flatten().next_back();
        let (mut kept, mut seen) = (Vec::new(), BTreeSet::new());
        let mut left_out = BTreeMap::<String, u64>::new();
        for (index, (line, summary)) in lines.iter().zip(summaries).enumerate() {
            let bytes = fingerprints(&line.inputs);
            let is_again = bytes.as_ref().is_some_and(|bytes| seen.contains(bytes));
            let other = newest.zip(summary.as_ref());
            let why = match other.and_then(|(newest, run)| other_series(run, newest)) {
                Some(difference) => format!("not the work of the newest run: other {difference}"),
                None if is_again => "the same captures as runs before".to_owned(),
                None => {
                    kept.push(index);
                    seen.extend(bytes);
                    continue;
                }
            };
            *left_out.entry(why).or_default() += 1;
        }
        let said = left_out.into_iter();
        let said = said.map(|(why, runs)| format!("{} left out: {why}", counted(runs, "run")));
        Self {
            kept,
            left_out: said.collect(),
        }
    }
}

/// Charts of the numbers that people watch, with the gates of each run.
fn page_of(
    path: &Path,
    lines: &[HistoryLine],
    names: &[String],
    RunSeries { kept, left_out }: &RunSeries,
    mut trend: Table,
) -> String {
    let runs = kept.iter().map(|&index| (&lines[index], &names[index]));
    let runs = runs.map(|(line, name)| HistoryRun {
        name: match line.simulator() {
            Some(by) => format!("{name} (computed by {by})"),
            None => name.clone(),
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
        let values: Vec<Option<f64>> = kept.iter().map(|&index| lines[index].exact(id)).collect();
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        HistoryNumber {
            title,
            unit,
            levels: RunLevels::of(&known, WORTH_A_MARK, &TestOptions::default()),
            values,
        }
    };
    // The newest run first.
    trend.rows.reverse();
    history::page(
        &importers::file_name(path),
        &runs.collect::<Vec<_>>(),
        left_out,
        &numbers.map(number),
        &trend,
    )
}

/// Names of runs without what all of them share, and with the number of the run where several have the same.
fn run_names(runs: &[String]) -> Vec<String> {
    const ENDING: &str = ".xplane.pb";
    let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
    let mut names = distinct(&runs);
    let folder = |name: &str| name.rfind('/').map_or(0, |slash| slash + 1);
    let first = names.first().cloned().unwrap_or_default();
    let shared = &first[..folder(&first)];
    if names.len() > 1 {
        if names.iter().all(|name| &name[..folder(name)] == shared) {
            let unshared = |name: &String| name[shared.len()..].to_owned();
            names = names.iter().map(unshared).collect();
        }
        if names.iter().all(|name| name.ends_with(ENDING)) {
            let stem = |name: &String| name.trim_end_matches(ENDING).to_owned();
            names = names.iter().map(stem).collect();
        }
    }
    let numbered = (1..)
        .zip(&names)
        .map(|(number, name)| format!("{number} ({name})"));
    unless_shared(&names, &numbered.collect::<Vec<_>>())
}

/// Each name that is that of no other one, and what stands for it where it is.
fn unless_shared(names: &[String], others: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let is_only = |name: &String| counts.get(name.as_str()) == Some(&1);
    let both = names.iter().zip(others);
    both.map(|(name, other)| if is_only(name) { name } else { other })
        .cloned()
        .collect()
}

/// The beginning of the hash of a commit; empty if it is not known.
fn commit(line: &HistoryLine) -> String {
    line.commit
        .iter()
        .flat_map(|hash| hash.chars().take(10))
        .collect()
}

/// Names shortened as far as they stay different.
fn shortened(names: &[String]) -> Vec<String> {
    let short = names.iter().map(|name| shortened_path(name, NAME));
    unless_shared(&short.collect::<Vec<_>>(), names)
}

/// How much longer a step takes than that of the run before, in percent, if both did the same work; `before` is the run before
/// the first.
fn changes(
    lines: &[HistoryLine],
    summaries: &[Option<Summary>],
    before: Option<&HistoryLine>,
) -> Vec<Option<f64>> {
    let mut last = before.and_then(|line| Some((line.number(STEP)?, line.summary())));
    let change = |(line, summary): (&HistoryLine, &Option<Summary>)| {
        let step = line.number(STEP)?;
        let (before, other) = last.replace((step, summary.clone()))?;
        let is_other = || other_series(other.as_ref()?, summary.as_ref()?);
        (before > 0.0 && is_other().is_none()).then(|| 100.0 * (step / before - 1.0))
    };
    lines.iter().zip(summaries).map(change).collect()
}

/// A run of the table, with the change of its step and how it is called.
type TrendRow<'a> = (&'a HistoryLine, Option<f64>, &'a str);

/// One row per run, the oldest first.
fn trend(
    lines: &[HistoryLine],
    changes: &[Option<f64>],
    runs: &[String],
    left_out: &[String],
) -> Table {
    let rows = lines.iter().zip(changes).zip(runs);
    let number = |id: &'static str| move |(line, ..): TrendRow<'_>| line.number(id);
    Table::of(
        "trend",
        match lines.len() {
            1 => "The last run".to_owned(),
            runs => format!("The last {runs} runs"),
        },
        rows.map(|((line, change), run)| (line, *change, run.as_str())),
    )
    .derived("verdict", "Gates", Unit::None, |(line, ..)| line.verdict())
    .derived("commit", "Commit", Unit::None, |(line, ..)| commit(line))
    .derived("run", "Run", Unit::None, |(.., run)| run)
    .derived("steps", "Steps", Unit::Count, |(line, ..)| {
        line.steps.map(|steps| steps as f64)
    })
    .derived("step_ps", "Step", Unit::Picoseconds, number(STEP))
    .derived("change_percent", "Change", Unit::Percent, |(_, change, _)| {
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
    .derived("mfu_bound", "Bound", Unit::None, |(line, ..)| {
        LowerBound(line.is_lower_bound(MFU))
    })
    .derived("mfu_percent", "MFU", Unit::Percent, number(MFU))
    .derived(
        "memory_peak_bytes",
        "Memory",
        Unit::Bytes,
        number("memory.peak_bytes"),
    )
    .note("step times are medians, those of the loop means; the change is of the step time, against the previous run if it did the same work")
    .notes(left_out.to_vec())
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
        let names = [long("1"), long("2"), "b".to_owned()];
        let short = shortened(&names);
        assert_eq!(short.iter().collect::<BTreeSet<_>>().len(), 3);
        assert_eq!(short[2], "b");
        let alike = [
            "y".repeat(50) + "a" + &"y".repeat(50),
            "y".repeat(50) + "b" + &"y".repeat(50),
        ];
        assert_eq!(shortened(&alike), alike);
    }
}
