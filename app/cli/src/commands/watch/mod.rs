//! `systole watch`: analyzes each new run of a log directory, compares it with the last good ones, keeps the history.
//!
//! A run is judged when it is complete (see [`session::WatchedRuns`]).

mod line;
mod notify;

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use crate::commands::prelude::*;
use analysis::gates::{self, GateConfig};
use importers::{ImportError, ImportOptions, ListedRun, is_remote};

use crate::common::{JudgeArgs, gating};
use request::history_file::{self, HistoryLine};
use request::{seconds, summaries::summary_of};
use session::{RunLook, WatchedRuns, losses_in_words};

use line::RunLine;
use notify::NotifyArgs;

/// Name of the history in the log directory.
const HISTORY: &str = "systole.history.jsonl";

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// The log directory: on this machine, or in a bucket (gs://, s3://, az://) with --history
    #[arg(value_name = "LOGDIR")]
    pub path: PathBuf,
    /// Stop after the runs that are there; the exit code is 4 if one cannot be read, and none fails a gate
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
    pub notify: NotifyArgs,
    #[command(flatten)]
    pub judge: JudgeArgs,
    #[command(flatten)]
    pub assume: Assumptions,
}

/// Formats of a line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LineFormat {
    /// For people.
    Text,
    /// An object of JSON.
    Json,
}

pub fn run(args: &WatchArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    // What holds at each look is said once.
    let stderr = &stderr.once();
    args.notify.check()?;
    let loading = Loading::new(&args.assume, stderr)?;
    let config = loading.gates_in(args.judge.budget.as_deref())?;
    let history = match &args.judge.history {
        Some(history) => history.clone(),
        None if is_remote(&args.path) => {
            let why = "a line cannot be appended to a file in a bucket: name one on this machine with --history FILE";
            return Err(RequestError::Usage(why.to_owned()));
        }
        None => args.path.join(HISTORY),
    };
    let mut watch = Watch {
        args,
        loading,
        config: config.unwrap_or_default(),
        history,
        seen: WatchedRuns::new(args.settle),
        failed: 0,
        unreadable: None,
        is_any_new: false,
    };
    if !is_remote(&args.path) {
        // A missing directory is not the fault of the history.
        watch.runs()?;
    }
    history_file::check(Some(&watch.history))?;
    loop {
        let new_files = watch.look(stderr)?;
        if watch.failed > 0 && args.exit_on_regression {
            break;
        }
        if args.once && new_files == 0 {
            if !watch.is_any_new {
                stderr.warn(&format!("no new run below {}", args.path.display()));
            }
            break;
        }
        thread::sleep(if new_files > 0 {
            args.settle
        } else {
            args.interval
        });
    }
    Ok(watch.outcome())
}

struct Watch<'a> {
    args: &'a WatchArgs,
    loading: Loading<'a>,
    config: GateConfig,
    history: PathBuf,
    seen: WatchedRuns,
    failed: usize,
    /// The exit code of the first run that could not be read.
    unreadable: Option<u8>,
    /// Whether any run was there that the history does not have.
    is_any_new: bool,
}

impl Watch<'_> {
    /// What is said at the end of all runs together.
    fn outcome(&self) -> CommandOutcome {
        let args = self.args;
        if self.failed > 0 && !args.judge.exit_zero && (args.once || args.exit_on_regression) {
            return CommandOutcome::Failed {
                why: format!("{} of the runs failed their gates", self.failed),
                code: args.judge.exit_code_on_fail,
            };
        }
        match self.unreadable.filter(|_| args.once) {
            Some(code) => CommandOutcome::Failed {
                why: "a run could not be read".to_owned(),
                code,
            },
            None => CommandOutcome::Done,
        }
    }

    /// Analyzes what is complete; answers how many runs are not finished yet.
    fn look(&mut self, stderr: &Stderr) -> Result<usize> {
        let known = self.known(stderr)?;
        let mut growing = 0;
        for run in self.runs()? {
            let is_known = known.has(&run);
            let Some(look) = self.seen.look(&run).filter(|_| !is_known) else {
                continue;
            };
            self.is_any_new = true;
            let is_finished = look.is_ready && self.judge(&run, look, stderr)?;
            growing += usize::from(!is_finished);
            let name = run.name.clone();
            if let Some(most) = self.seen.keep(run, look, is_finished) {
                let most = most.as_secs();
                stderr.warn(&format!(
                    "{name} is not complete: it is read in {most} s, if it stays so"
                ));
            }
            if self.failed > 0 && self.args.exit_on_regression {
                return Ok(0);
            }
        }
        Ok(growing)
    }

    /// Files of the runs in the history.
    fn known(&self, stderr: &Stderr) -> Result<KnownFiles> {
        let mut known = KnownFiles::default();
        if !self.history.exists() {
            return Ok(known);
        }
        for line in history_file::read(&self.history, stderr)? {
            let paths = line
                .inputs
                .into_iter()
                .filter_map(|input| input.path)
                .map(|path| real(Path::new(&path)));
            match line.unreadable {
                None => known.read.extend(paths),
                Some(run) => known.unreadable.extend(paths.map(|path| (path, run.bytes))),
            }
        }
        Ok(known)
    }

    /// The runs that are there, the oldest first, from one look at the directory.
    fn runs(&self) -> Result<Vec<ListedRun>> {
        let refused = |error| RequestError::import(error, &self.args.path);
        match importers::list_runs(&self.args.path, &Progress::new()) {
            Ok(mut runs) => {
                runs.reverse();
                return Ok(runs);
            }
            Err(ImportError::NothingFound { .. }) => {}
            Err(error) => return Err(refused(error)),
        }
        match importers::locate(&self.args.path, &ImportOptions::default(), &Progress::new()) {
            // A directory that is still empty is what a watch can begin with.
            Err(ImportError::NothingFound { .. }) => Ok(Vec::new()),
            Err(error) => Err(refused(error)),
            Ok(_) => {
                let why = "this is no log directory: watch the directory that holds plugins/profile, or runs";
                Err(RequestError::Usage(format!(
                    "{why}: {}",
                    self.args.path.display()
                )))
            }
        }
    }

    /// Analyzes a run, compares it, prints its line and appends it to the history. Answers false, and does nothing, if a
    /// file ends inside an event and may still be written.
    fn judge(&mut self, run: &ListedRun, look: RunLook, stderr: &Stderr) -> Result<bool> {
        let name = &run.name;
        let path = (&*self.args.path, Some(name.clone()));
        let (open, format) = (Session::open_for_reports, OutputFormat::TEXT);
        let opened = self.loading.open(path, open, format, true);
        let session = match opened {
            Ok(session) if look.is_half_written(session.model()) => return Ok(false),
            Ok(session) => session,
            Err(error) => {
                self.unreadable.get_or_insert(error.codes().exit);
                let why = error.to_string();
                let line = history_file::line_of_unreadable(run, &why)?;
                history_file::append(&self.history, &line, stderr)?;
                let line = RunLine {
                    error: Some(why),
                    ..RunLine::of(name)
                };
                self.say(&line, stderr)?;
                return Ok(true);
            }
        };
        let summary = summary_of(&session, Scope::WholeTrace)?;
        let base = history_file::baseline(&self.history, Some(&summary), stderr)?;
        let (report, comparison) = gates::against(&summary, &base, &self.config);
        let line = history_file::line(&summary, &report)?;
        history_file::append(&self.history, &line, stderr)?;
        let line: HistoryLine = serde_json::from_str(&line)?;
        let failed: Vec<String> = report.failed().map(|gate| gate.message.clone()).collect();
        self.failed += usize::from(!failed.is_empty());
        let line = RunLine {
            status: line.verdict(),
            step_ps: line.number("step.time_ps"),
            steps: line.steps,
            verdict: session.limit(Scope::WholeTrace),
            change: comparison.map(|comparison| comparison.statement),
            lost: losses_in_words(session.model()),
            failed,
            inconclusive: gating::unclear(&report),
            ..RunLine::of(name)
        };
        self.say(&line, stderr)?;
        Ok(true)
    }

    /// Prints the line, and tells who wants to know.
    fn say(&self, line: &RunLine<'_>, stderr: &Stderr) -> Result<()> {
        match self.args.format {
            LineFormat::Text => output::print_names(&line.text()),
            LineFormat::Json => output::print(&line.json()),
        }?;
        self.args.notify.tell(line, stderr);
        Ok(())
    }
}

/// Files of runs that need not be looked at again.
#[derive(Default)]
struct KnownFiles {
    read: BTreeSet<PathBuf>,
    /// Files that could not be read, with the size of their run.
    unreadable: BTreeMap<PathBuf, Option<u64>>,
}

impl KnownFiles {
    /// Whether a run is in the history: one that could not be read, as long as its size is the same.
    fn has(&self, run: &ListedRun) -> bool {
        let mut files = run.files.iter().map(|file| real(&file.path));
        !run.files.is_empty()
            && files.all(|file| {
                self.read.contains(&file) || self.unreadable.get(&file) == Some(&run.bytes)
            })
    }
}

/// The absolute path without links, to compare paths.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_gone| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser;
    use sample_traces::fleet::FleetSpec;
    use sample_traces::write::xspace_bytes;

    use super::*;
    use crate::common::args::MessageArgs;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: WatchArgs,
    }

    /// The file is cut, then grows, then is complete; nothing is waited for in this test.
    #[test]
    fn runs_that_are_half_written_are_not_judged() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("plugins/profile/2026_01_01_10_00_00");
        fs::create_dir_all(&run).unwrap();
        let file = run.join("host.xplane.pb");
        let bytes = xspace_bytes(
            &FleetSpec {
                devices: 2,
                steps: 4,
                calls: true,
                ..FleetSpec::default()
            }
            .session(),
        );
        let history = dir.path().join(HISTORY);
        let line = [
            "watch".as_ref(),
            dir.path().as_os_str(),
            "--once".as_ref(),
            "--settle".as_ref(),
            "600".as_ref(),
        ];
        let args = Program::parse_from(line).args;
        let stderr = Stderr::new(&MessageArgs {
            quiet: true,
            verbose: false,
            no_color: true,
            jobs: None,
        });
        let mut watch = Watch {
            loading: Loading::new(&args.assume, &stderr).unwrap(),
            args: &args,
            config: GateConfig::default(),
            history: history.clone(),
            seen: WatchedRuns::new(args.settle),
            failed: 0,
            unreadable: None,
            is_any_new: false,
        };
        let mut look = || watch.look(&stderr).unwrap();
        // The writer of a file that is old has gone: it is not waited for.
        fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        let old = std::time::SystemTime::now() - Duration::from_mins(130);
        fs::File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_modified(old)
            .unwrap();
        assert_eq!(
            (
                look(),
                fs::read_to_string(&history).unwrap().lines().count()
            ),
            (0, 1)
        );
        fs::remove_file(&history).unwrap();
        fs::write(&file, "").unwrap();
        assert_eq!((look(), look()), (1, 1), "an empty file is not read");
        for part in [bytes.len() / 3, bytes.len() / 2] {
            fs::write(&file, &bytes[..part]).unwrap();
            assert_eq!(
                (look(), look(), history.exists()),
                (1, 1, false),
                "{part} bytes"
            );
        }
        fs::write(&file, &bytes).unwrap();
        assert_eq!(
            (look(), history.exists()),
            (1, false),
            "it has just changed"
        );
        assert_eq!((look(), look()), (0, 0));
        assert_eq!(fs::read_to_string(&history).unwrap().lines().count(), 1);
    }
}
