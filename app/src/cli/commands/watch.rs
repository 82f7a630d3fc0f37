//! `systole watch`: analyzes each new run of a log directory, compares it with the last good ones, keeps the history.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use analysis::Scope;
use analysis::compare::Summary;
use analysis::gates::{self, GateConfig, GatesReport};
use analysis::reports::summary::verdict::Verdict;
use clap::{Args, ValueEnum};
use importers::{FileState, ImportError, ImportOptions, Progress};
use serde_json::json;
use trace_model::Picos;

use crate::cli::common::args::{AssumeArgs, JudgeArgs};
use crate::cli::common::failure::{CommandOutcome, Failure};
use crate::cli::common::history_file::{self, HistoryLine};
use crate::cli::common::stderr::Stderr;
use crate::cli::common::values::{OutputFormat, seconds};
use crate::cli::common::{gating, loading, output, settings, summaries};

/// Name of the history in the log directory.
const HISTORY: &str = "systole.history.jsonl";

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// The log directory
    #[arg(value_name = "LOGDIR")]
    pub path: PathBuf,
    /// Stop after the runs that are there
    #[arg(long)]
    pub once: bool,
    /// Stop at the first run that fails a gate, with the exit code of --exit-code-on-fail
    #[arg(long)]
    pub exit_on_regression: bool,
    /// Seconds between two looks at the directory
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub interval: Duration,
    /// A run is complete if its files have not changed for so many seconds
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub settle: Duration,
    /// How to print a run, one line each
    #[arg(long, value_enum, default_value_t = LineFormat::Text)]
    pub format: LineFormat,
    #[command(flatten)]
    pub judge: JudgeArgs,
    #[command(flatten)]
    pub assume: AssumeArgs,
}

/// Formats of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LineFormat {
    /// For people.
    Text,
    /// An object of JSON.
    Json,
}

/// Runs the command.
pub fn run(args: &WatchArgs, stderr: &Stderr) -> Result<CommandOutcome, Failure> {
    let config = args.judge.budget.as_deref().map(settings::gates).transpose()?.unwrap_or_default();
    let history = args.judge.history.clone().unwrap_or_else(|| args.path.join(HISTORY));
    output::check_file(&history)?;
    let mut watch = Watch { args, config, history, seen: BTreeMap::new(), failed: 0 };
    loop {
        let found = watch.look(stderr)?;
        if watch.failed > 0 && args.exit_on_regression {
            break;
        }
        if args.once && found == 0 {
            break;
        }
        thread::sleep(if found > 0 { args.settle } else { args.interval });
    }
    let why = format!("{} of the runs failed their gates", watch.failed);
    Ok(if watch.failed > 0 && !args.judge.exit_zero && (args.once || args.exit_on_regression) {
        CommandOutcome::Failed { why, code: args.judge.exit_code_on_fail }
    } else {
        CommandOutcome::Done
    })
}

struct Watch<'a> {
    args: &'a WatchArgs,
    config: GateConfig,
    history: PathBuf,
    /// Runs that were looked at, by name: their state then, and whether they are finished.
    seen: BTreeMap<String, (Vec<FileState>, bool)>,
    failed: usize,
}

impl Watch<'_> {
    /// Analyzes what is complete; answers how many runs are not finished yet.
    fn look(&mut self, stderr: &Stderr) -> Result<usize, Failure> {
        let known = self.known()?;
        let mut growing = 0;
        for name in self.names()? {
            let Ok(state) = self.state(&name) else { continue };
            let is_known = state.iter().all(|file| known.contains(&real(&file.path)));
            let before = self.seen.get(&name).filter(|(then, _)| *then == state);
            let is_settled = before.is_some() || self.args.settle.is_zero();
            if is_known || state.is_empty() || before.is_some_and(|(_, is_finished)| *is_finished) {
                continue;
            }
            if !is_settled {
                growing += 1;
                self.seen.insert(name, (state, false));
                continue;
            }
            self.seen.insert(name.clone(), (state, true));
            self.judge(&name, stderr)?;
            if self.failed > 0 && self.args.exit_on_regression {
                return Ok(0);
            }
        }
        Ok(growing)
    }

    /// Files of the runs in the history.
    fn known(&self) -> Result<BTreeSet<PathBuf>, Failure> {
        if !self.history.exists() {
            return Ok(BTreeSet::new());
        }
        let lines = history_file::read(&self.history)?.into_iter();
        let inputs = lines.flat_map(|line| line.inputs).filter_map(|input| input.path);
        Ok(inputs.map(|path| real(Path::new(&path))).collect())
    }

    /// Names of the runs that are there, the oldest first.
    fn names(&self) -> Result<Vec<String>, Failure> {
        let located = match importers::locate(&self.args.path, &ImportOptions::default(), &Progress::new()) {
            Ok(located) => located,
            // A directory that is still empty is what a watch can begin with.
            Err(ImportError::NothingFound { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(Failure::import(error, &self.args.path)),
        };
        if located.run.is_none() {
            let why = "this is no log directory: watch the directory that holds plugins/profile, or runs";
            return Err(Failure::Usage(format!("{why}: {}", self.args.path.display())));
        }
        let newest = located.run.into_iter().chain(located.other_runs);
        Ok(newest.collect::<Vec<_>>().into_iter().rev().collect())
    }

    fn state(&self, name: &str) -> Result<Vec<FileState>, ImportError> {
        let options = ImportOptions { run: Some(name.to_owned()), ..ImportOptions::default() };
        Ok(importers::locate(&self.args.path, &options, &Progress::new())?.state())
    }

    /// Analyzes a run, compares it, prints its line and appends it to the history.
    fn judge(&mut self, name: &str, stderr: &Stderr) -> Result<(), Failure> {
        let run = Some(name.to_owned());
        let session = match loading::open_path(&self.args.path, run, &self.args.assume, OutputFormat::Text, stderr) {
            Ok(session) => session,
            Err(error) => return self.print(&RunLine { error: Some(error.to_string()), ..RunLine::of(name) }),
        };
        let summary = summaries::summary_of(&session, Scope::WholeTrace)?;
        let base = self.baseline()?;
        let (report, comparison) = if base.is_empty() && self.args.judge.budget.is_none() {
            (GatesReport::default(), None)
        } else {
            gates::against(&summary, &base, &self.config)
        };
        let judge = JudgeArgs {
            history: Some(self.history.clone()),
            budget: None,
            exit_code_on_fail: self.args.judge.exit_code_on_fail,
            exit_zero: self.args.judge.exit_zero,
        };
        gating::keep_history(&judge, &summary, &report)?;
        let line: HistoryLine = serde_json::from_str(&history_file::line(&summary, &report)?)
            .map_err(|error| Failure::Internal(error.to_string()))?;
        let failed: Vec<String> = report.failed().map(|gate| gate.message.clone()).collect();
        self.failed += usize::from(!failed.is_empty());
        self.print(&RunLine {
            status: line.verdict(),
            step_ps: line.number("step.time_ps"),
            steps: line.steps,
            verdict: session.report::<Verdict>(Scope::WholeTrace).ok().map(|verdict| verdict.statement.clone()),
            change: comparison.map(|comparison| comparison.statement),
            failed,
            ..RunLine::of(name)
        })
    }

    /// The last good runs of the history.
    fn baseline(&self) -> Result<Vec<Summary>, Failure> {
        let has_good =
            self.history.exists() && history_file::read(&self.history)?.iter().any(HistoryLine::can_be_compared);
        if has_good { history_file::baseline(&self.history) } else { Ok(Vec::new()) }
    }

    fn print(&self, line: &RunLine<'_>) -> Result<(), Failure> {
        match self.args.format {
            LineFormat::Text => output::print_text(&line.text()),
            LineFormat::Json => output::print(&line.json()),
        }
    }
}

/// The absolute path without links, to compare paths.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_gone| path.to_owned())
}

/// What is said of a run.
struct RunLine<'a> {
    run: &'a str,
    status: &'static str,
    step_ps: Option<f64>,
    steps: usize,
    verdict: Option<String>,
    change: Option<String>,
    failed: Vec<String>,
    error: Option<String>,
}

impl<'a> RunLine<'a> {
    fn of(run: &'a str) -> Self {
        Self {
            run,
            status: "unreadable",
            step_ps: None,
            steps: 0,
            verdict: None,
            change: None,
            failed: Vec::new(),
            error: None,
        }
    }

    fn text(&self) -> String {
        if let Some(error) = &self.error {
            return format!("{}  {}  {error}\n", self.run, self.status).replace('\n', " ").trim_end().to_owned() + "\n";
        }
        let step =
            self.step_ps.map_or_else(|| "no steps".to_owned(), |ps| format!("step {}", Picos::from_ps(ps as i64)));
        let why = if self.failed.is_empty() { self.change.iter().cloned().collect() } else { self.failed.join("; ") };
        let why: String = if why.is_empty() { self.verdict.clone().unwrap_or_default() } else { why };
        format!("{}  {}  {step}  {}\n", self.run, self.status, why.replace('\n', " "))
    }

    fn json(&self) -> String {
        let line = json!({
            "run": self.run, "status": self.status, "step_ps": self.step_ps, "steps": self.steps,
            "verdict": self.verdict, "change": self.change, "failed": self.failed, "error": self.error,
        });
        format!("{line}\n")
    }
}
