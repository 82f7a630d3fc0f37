//! `systole bisect`: finds the commit or the version that made a program slower.

mod command;
mod judge;
mod log;
mod points;
mod report;
mod search;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::commands::prelude::*;
use analysis::compare::{CompareOptions, Comparison, compare, is_same_capture};
use tempfile::TempDir;

use self::command::MeasuredCommand;
use self::log::{BisectLog, LoggedRun};
use self::points::{BisectPoint, Checkout, Repository};
use self::report::BisectReport;
use self::search::{FoundEnds, Likeness, Measurements, PointState};
use request::summaries::summary_of;
use request::{CompareRequest, seconds};

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct BisectArgs {
    /// A commit that is fast, or a version of the list
    #[arg(long, value_name = "A", allow_hyphen_values = true)]
    pub good: String,
    /// A later commit that is slow, or a version of the list
    #[arg(long, value_name = "B", allow_hyphen_values = true)]
    pub bad: String,
    /// Search the lines of this file, for example requirements with their versions, and not the commits of git
    #[arg(long, value_name = "FILE")]
    pub over: Option<PathBuf>,
    /// Runs of each point
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub runs: u16,
    /// Runs of a point at most, where fewer do not tell what it is like; four times --runs by default
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub most_runs: Option<u16>,
    /// Seconds that one run may take
    #[arg(long, hide_short_help = true, value_name = "SECONDS", default_value = "3600", value_parser = seconds)]
    pub timeout: Duration,
    /// Keep every run in this file; the same command goes on from it
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Format of stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    #[command(flatten)]
    pub test: CompareRequest,
    #[command(flatten)]
    pub assume: Assumptions,
    /// Runs the program once and writes its profile into the directory `$SYSTOLE_PROFILE_DIR`, or prints the path of its run;
    /// `{}` and `$SYSTOLE_VERSION` are the commit or the version
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

pub fn run(args: &BisectArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let options = args.test.options()?;
    let loading = Loading::new(&args.assume, stderr)?;
    let folder = tempfile::tempdir().map_err(|error| RequestError::Internal(error.to_string()))?;
    let here;
    let (points, repository) = if let Some(list) = &args.over {
        (points::of_list(list, &args.good, &args.bad)?, None)
    } else {
        here = Repository::here()?;
        (here.points(&args.good, &args.bad)?, Some(&here))
    };
    let (Some(first), Some(last)) = (points.first(), points.last().filter(|_| points.len() > 1))
    else {
        return Err(RequestError::Usage(
            "--good and --bad are the same point: there is nothing between them".to_owned(),
        ));
    };
    let question = json!({
        "good": first.id, "bad": last.id, "points": points.len(), "command": args.command,
    });
    let (log, before) = BisectLog::open(args.log.as_deref(), &question)?;
    let mut known: BTreeMap<String, VecDeque<LoggedRun>> = BTreeMap::new();
    for (point, run) in before {
        known.entry(point).or_default().push_back(run);
    }
    let checkout = repository.map(|repository| repository.checkout(&folder));
    let checkout = checkout.transpose()?;
    let mut bisect = Bisect {
        args,
        options,
        stderr,
        loading,
        checkout,
        checked_out: None,
        folder: &folder,
        count: 0,
        log,
        known,
        runs: vec![Vec::new(); points.len()],
        repeated: BTreeSet::new(),
        states: BTreeMap::new(),
        points: &points,
    };
    let report = bisect.find()?;
    output::print_as(args.format, &report.rendered(args.format))?;
    Ok(report.outcome())
}

/// A search with what it has measured.
struct Bisect<'a> {
    args: &'a BisectArgs,
    options: CompareOptions,
    stderr: &'a Stderr,
    loading: Loading<'a>,
    points: &'a [BisectPoint],
    checkout: Option<Checkout<'a>>,
    /// The point that is checked out, and the directory in which the command runs.
    checked_out: Option<(usize, PathBuf)>,
    folder: &'a TempDir,
    /// Runs that were made.
    count: usize,
    log: BisectLog,
    /// Runs of an earlier search that are not used yet.
    known: BTreeMap<String, VecDeque<LoggedRun>>,
    runs: Vec<Vec<Summary>>,
    /// Points whose command gave a capture again that it had given before.
    repeated: BTreeSet<usize>,
    states: BTreeMap<usize, PointState>,
}

impl Bisect<'_> {
    fn find(&mut self) -> Result<BisectReport> {
        let last = self.points.len() - 1;
        for (end, name) in [(0, "good"), (last, "bad")] {
            if let Err(why) = self.at_least(end, usize::from(self.args.runs))? {
                return Ok(self.without_result(format!(
                    "the {name} end, {}, cannot be measured: {why}",
                    self.points[end]
                )));
            }
        }
        let compared = match self.ends(last)? {
            Ok(compared) => compared,
            Err(why) => return Ok(self.without_result(why)),
        };
        self.states.insert(0, PointState::Like(Likeness::Good));
        self.states.insert(last, PointState::Like(Likeness::Bad));
        let change = judge::ends_differ(&compared).unwrap_or_default();
        self.say(&format!(
            "the step of the bad end is {} than that of the good one; {} between them",
            if change > 0.0 { "longer" } else { "shorter" },
            counted(last as u64 - 1, "point")
        ));
        let interval = search::search(last, self)?;
        let chain = compare(
            &self.runs[interval.good],
            &self.runs[interval.bad],
            &self.options,
        );
        let measured = [0, interval.good, interval.bad, last].map(|point| &self.runs[point][..]);
        let rows = self.rows();
        Ok(match judge::part_found(measured, &self.options) {
            Some(part_ps) => {
                BisectReport::part(rows, self.points, &interval, &chain, [part_ps, change])
            }
            None => BisectReport::found(rows, self.points, &interval, &chain),
        })
    }

    /// The comparison of the ends, if they differ by more than noise; more runs are made where that is not clear.
    fn ends(&mut self, last: usize) -> Result<Result<Comparison, String>> {
        loop {
            let compared = compare(&self.runs[0], &self.runs[last], &self.options);
            if judge::ends_differ(&compared).is_some() {
                return Ok(Ok(compared));
            }
            let made = self.runs[0].len().min(self.runs[last].len());
            let is_repeated = !self.repeated.is_empty();
            if !judge::can_be_compared(&compared) || made >= self.most_runs() || is_repeated {
                let why = if compared.mismatch().is_some() {
                    "the good and the bad end did not do the same work, and their steps do not tell them apart"
                } else if is_repeated {
                    "the command gave the same capture again, which counts once, and the steps of the good and the bad end do not differ by more than noise; record a new capture in each run"
                } else {
                    "bisect searches for what changed the median step, and those of the good and the bad end do not differ by more than noise"
                };
                return Ok(Err(format!("{why}: {}", compared.statement)));
            }
            for end in [0, last] {
                if let Err(why) = self.at_least(end, made + 1)? {
                    return Ok(Err(format!(
                        "the end {} cannot be measured: {why}",
                        self.points[end]
                    )));
                }
            }
        }
    }

    fn most_runs(&self) -> usize {
        let most = self
            .args
            .most_runs
            .unwrap_or(self.args.runs.saturating_mul(4));
        usize::from(most.max(self.args.runs))
    }

    /// Makes runs until there are so many of a point, or it gives the same capture again; or says why that cannot be.
    fn at_least(&mut self, point: usize, wanted: usize) -> Result<Result<(), String>> {
        while self.runs[point].len() < wanted && !self.repeated.contains(&point) {
            let id = &self.points[point].id;
            let known = self.known.get_mut(id).and_then(VecDeque::pop_front);
            let run = match known {
                Some(LoggedRun::Measured(summary)) => Ok(*summary),
                Some(LoggedRun::Failed(why)) => Err(why),
                None => {
                    let run = self.run_once(point);
                    self.log.keep(id, &run)?;
                    run
                }
            };
            match run {
                Ok(summary) => {
                    let mut before = self.runs[point].iter();
                    if before.any(|run| is_same_capture(run, &summary)) {
                        self.repeated.insert(point);
                    } else {
                        let summary = self.with_point(summary, point);
                        self.runs[point].push(summary);
                    }
                }
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(Ok(()))
    }

    /// Runs the command once, and summarises what it recorded.
    fn run_once(&mut self, point: usize) -> Result<Summary, String> {
        let directory = self.directory_of(point)?;
        self.count += 1;
        let profiles = self.folder.path().join(format!("profiles-{}", self.count));
        self.say(&format!(
            "run {} of {}",
            self.runs[point].len() + 1,
            self.points[point]
        ));
        let command = MeasuredCommand {
            words: &self.args.command,
            timeout: self.args.timeout,
        };
        let path = command.run(&self.points[point].id, &directory, &profiles)?;
        let summary = self
            .loading
            .open_for_reports(&path, None, OutputFormat::TEXT, true)
            .and_then(|session| summary_of(&session, Scope::WholeTrace))
            .map_err(|error| format!("its profile cannot be read: {error}"));
        // Profiles are large, and their summary is all that is needed.
        let _ = std::fs::remove_dir_all(&profiles);
        summary
    }

    /// Where the command runs: the checkout of a commit, else the current directory.
    fn directory_of(&mut self, point: usize) -> Result<PathBuf, String> {
        let Some(checkout) = &self.checkout else {
            return Ok(PathBuf::from("."));
        };
        if let Some((_, directory)) = self
            .checked_out
            .as_ref()
            .filter(|(checked_out, _)| *checked_out == point)
        {
            return Ok(directory.clone());
        }
        let directory = checkout.at(&self.points[point])?;
        self.checked_out = Some((point, directory.clone()));
        Ok(directory)
    }

    /// The summary with the commit or version, which is known here, whatever the profile says.
    fn with_point(&self, mut summary: Summary, point: usize) -> Summary {
        let point = &self.points[point];
        let environment = summary.facts.environment.get_or_insert_default();
        if let Some(git) = point.git_state() {
            environment.git = Some(git);
        } else {
            environment
                .variables
                .get_or_insert_default()
                .insert(command::VERSION.to_owned(), point.id.clone());
        }
        summary
    }

    fn rows(&self) -> Vec<report::PointRow> {
        let row = |(&point_number, state): (&usize, &PointState)| {
            let (point, runs) = (&self.points[point_number], &self.runs[point_number]);
            report::PointRow {
                id: point.id.clone(),
                title: point.to_string(),
                date: point.date.clone(),
                runs: runs.len(),
                step_ps: judge::median_step(runs, &self.options),
                is: report::words(state),
            }
        };
        self.states.iter().map(row).collect()
    }

    fn without_result(&mut self, why: String) -> BisectReport {
        for end in [0, self.points.len() - 1] {
            if !self.runs[end].is_empty() {
                self.states.insert(end, PointState::Like(Likeness::Unclear));
            }
        }
        BisectReport::nothing(self.rows(), why)
    }

    /// What happens; a search takes long.
    fn say(&self, text: &str) {
        if self.stderr.warns() {
            Stderr::command(&format!("systole bisect: {text}"));
        }
    }
}

impl Measurements for Bisect<'_> {
    type Error = RequestError;

    fn measure(&mut self, point: usize, ends: &FoundEnds) -> Result<PointState> {
        let mut wanted = usize::from(self.args.runs);
        let state = loop {
            if let Err(why) = self.at_least(point, wanted)? {
                break PointState::Skipped(why);
            }
            let (good, bad) = (&self.runs[ends.good][..], &self.runs[ends.bad][..]);
            match judge::likeness((good, bad), &self.runs[point], &self.options) {
                Err(why) => break PointState::Skipped(why),
                Ok(Likeness::Unclear)
                    if wanted < self.most_runs() && !self.repeated.contains(&point) =>
                {
                    wanted += 1;
                }
                Ok(Likeness::Unclear) => {
                    let runs = counted(self.runs[point].len() as u64, "run");
                    let [good, bad] = [ends.good, ends.bad].map(|end| &self.points[end]);
                    break PointState::Skipped(format!(
                        "{runs} do not tell whether it is like {good} or {bad}"
                    ));
                }
                Ok(like) => break PointState::Like(like),
            }
        };
        self.say(&format!(
            "{} is {}",
            self.points[point],
            report::words(&state)
        ));
        self.states.insert(point, state.clone());
        Ok(state)
    }
}
