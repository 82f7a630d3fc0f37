//! Follows the newest run of a log directory: when a newer one is complete, it is opened in place of the open one.

use std::time::Duration;

use crate::prelude::*;
use importers::{ImportError, ListedRun};
use session::{RunLook, WatchedRuns};

use crate::command::FollowCommand;
use crate::first_look::keep_view_of;
use crate::jobs::{JobAnswer, WakeUi, Worker};
use crate::panels::notice::PassingNotice;
use crate::workspace::Workspace;
use crate::{App, TraceToOpen};

/// Time between two looks at the directory, and as long the files of a complete run do not change.
const LOOK: Duration = Duration::from_secs(2);
/// Runs that are shown, the newest ones.
const SHOWN: usize = 12;

/// What is known of a run of the directory.
#[derive(Clone, Debug, PartialEq)]
pub enum FollowedStep {
    /// It has not been opened.
    NotRead,
    /// It is open, and its reports are not made yet; or it has no steps.
    Unknown,
    /// Median time of its steps.
    Time(Picos),
    /// Why it cannot be opened, as a sentence.
    Failed(String),
}

/// A run of the directory.
#[derive(Debug)]
pub struct FollowedRun {
    pub name: String,
    /// What is opened.
    pub path: PathBuf,
    pub step: FollowedStep,
}

/// The run that is being opened because it is newer.
struct NextRun {
    run: ListedRun,
    path: PathBuf,
    look: RunLook,
}

/// A log directory whose newest run is followed.
pub struct Following {
    folder: PathBuf,
    pub is_paused: bool,
    looks: u64,
    every: Duration,
    list: Worker<u64, Vec<ListedRun>>,
    /// When the directory is looked at again, by the clock of the window.
    next_s: f64,
    seen: WatchedRuns,
    next: Option<NextRun>,
    /// The oldest first.
    runs: Vec<FollowedRun>,
    /// Why the directory cannot be read.
    error: Option<String>,
}

impl Following {
    pub fn new(folder: PathBuf, every: Duration, wake: &WakeUi) -> Self {
        Self {
            folder,
            is_paused: false,
            looks: 0,
            every,
            list: Worker::new("runs of a log directory", wake),
            next_s: 0.0,
            seen: WatchedRuns::new(every),
            next: None,
            runs: Vec::new(),
            error: None,
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The last runs, the oldest first.
    pub fn runs(&self) -> &[FollowedRun] {
        let from = self.runs.len().saturating_sub(SHOWN);
        self.runs.get(from..).unwrap_or_default()
    }

    /// Whether nothing is read at this moment.
    pub fn is_settled(&self) -> bool {
        !self.list.is_running() && self.next.is_none()
    }

    /// Looks at the directory when it is time; answers after how many seconds it is time again.
    fn look(&mut self, now_s: f64) -> f64 {
        if now_s >= self.next_s && !self.list.is_running() && !self.is_paused {
            self.next_s = now_s + self.every.as_secs_f64();
            self.looks += 1;
            let folder = self.folder.clone();
            self.list.ask(self.looks, move |progress| {
                match importers::list_runs(&folder, progress) {
                    Ok(runs) => Ok(runs),
                    // A directory that is still empty is what following can begin with.
                    Err(ImportError::NothingFound { .. }) => Ok(Vec::new()),
                    Err(error) => Err(format!("{error}: {}", folder.display())),
                }
            });
        }
        (self.next_s - now_s).max(0.0)
    }

    /// Takes over what a look found; answers what is to be opened, if there is a newer run.
    fn poll(&mut self, open: Option<&Path>) -> Option<PathBuf> {
        if !self.list.poll() {
            return None;
        }
        let mut runs = match self.list.take() {
            JobAnswer::Ready(runs) => runs,
            JobAnswer::Failed { error, .. } => {
                self.error = Some(error);
                return None;
            }
            JobAnswer::Empty | JobAnswer::Running { .. } => return None,
        };
        self.error = None;
        runs.reverse();
        for run in &runs {
            if !self.runs.iter().any(|known| known.name == run.name)
                && let Some(path) = path_of(run)
            {
                self.runs.push(FollowedRun {
                    name: run.name.clone(),
                    path,
                    step: FollowedStep::NotRead,
                });
            }
        }
        if self.next.is_some() || self.is_paused {
            return None;
        }
        // The newest that is complete; older ones than the open one are of no interest.
        for run in runs.into_iter().rev() {
            let Some(path) = path_of(&run) else {
                continue;
            };
            let is_open = open == Some(path.as_path());
            let Some(look) = self.seen.look(&run) else {
                if is_open {
                    return None;
                }
                continue;
            };
            if look.is_ready {
                self.next = Some(NextRun {
                    run,
                    path: path.clone(),
                    look,
                });
                return Some(path);
            }
            self.seen.keep(run, look, false);
            if is_open {
                return None;
            }
        }
        None
    }

    /// Leaves a followed run for later if it is still being written, and says whether it is.
    fn postpone_if_half_written(&mut self, path: &Path, model: &TraceModel) -> bool {
        let Some(next) = self.next.take_if(|next| next.path == path) else {
            return false;
        };
        let is_half = next.look.is_half_written(model);
        self.seen.keep(next.run, next.look, !is_half);
        is_half
    }

    /// Keeps why a run cannot be opened; `None` if the path is not that of the run that is being opened.
    fn failed(&mut self, path: &Path, error: &str) -> Option<String> {
        let next = self.next.take_if(|next| next.path == path)?;
        let said = format!("{} is skipped: {error}", next.run.name);
        self.set(path, FollowedStep::Failed(error.to_owned()));
        self.seen.keep(next.run, next.look, true);
        Some(said)
    }

    fn set(&mut self, path: &Path, step: FollowedStep) {
        if let Some(run) = self.runs.iter_mut().find(|run| run.path == path) {
            run.step = step;
        }
    }

    /// Takes over the step time of the open run, once it is known.
    fn learn(&mut self, open: &Workspace) {
        let wanted = |run: &&mut FollowedRun| run.path == open.trace.path;
        let Some(run) = self.runs.iter_mut().find(wanted) else {
            return;
        };
        if !matches!(run.step, FollowedStep::Time(_)) {
            run.step = open
                .step_time()
                .map_or(FollowedStep::Unknown, FollowedStep::Time);
        }
    }
}

/// What is opened of a run: its folder, or its only file where runs are files.
fn path_of(run: &ListedRun) -> Option<PathBuf> {
    let first = &run.files.first()?.path;
    let folder = first.parent()?;
    let is_own = folder.file_name().is_some_and(|name| *name == *run.name);
    Some(if is_own || run.files.len() > 1 {
        folder.to_owned()
    } else {
        first.clone()
    })
}

impl App {
    /// Follows a log directory from the start, and looks at it so often.
    #[must_use]
    pub fn with_followed(mut self, folder: PathBuf, every: Duration) -> Self {
        self.following = Some(Following::new(folder, every, &self.wake));
        self
    }

    /// What is followed.
    pub fn following(&self) -> Option<&Following> {
        self.following.as_ref()
    }

    pub(super) fn change_following(&mut self, command: FollowCommand) {
        match command {
            FollowCommand::Start(folder) => {
                self.following = Some(Following::new(folder, LOOK, &self.wake));
            }
            FollowCommand::Pause(pause) => self.pause_following(pause),
            FollowCommand::Stop => self.following = None,
            FollowCommand::OpenRun(path) => {
                self.pause_following(true);
                self.load(&path, false);
            }
        }
    }

    /// Stays at the open run, or goes on, with the newest run.
    pub(super) fn pause_following(&mut self, pause: bool) {
        let Some(following) = &mut self.following else {
            return;
        };
        following.is_paused = pause;
        let open = self
            .open_traces
            .as_ref()
            .and_then(|open| open.side(TraceSide::A));
        let newest = following.runs.last();
        if !pause && open.map(|open| &open.trace.path) != newest.map(|run| &run.path) {
            // The newest one was open before.
            following.seen = WatchedRuns::new(following.every);
        }
    }

    /// Looks for newer runs, and opens one.
    pub(super) fn follow(&mut self, ctx: &Context) {
        let Some(following) = &mut self.following else {
            return;
        };
        let key = self.loading.key();
        following
            .next
            .take_if(|next| key.is_none_or(|key| key.path != next.path));
        if let Some(open) = &self.open_traces {
            // Another run would end the comparison.
            following.is_paused |= open.comparison().is_some();
        }
        let open = self
            .open_traces
            .as_ref()
            .and_then(|open| open.side(TraceSide::A));
        if let Some(open) = open {
            following.learn(open);
        }
        let newer = following.poll(open.map(|open| open.trace.path.as_path()));
        if !following.is_paused {
            let wait_s = following.look(ctx.input(|input| input.time));
            ctx.request_repaint_after(Duration::from_secs_f64(wait_s));
        }
        if let Some(path) = newer {
            self.load(&path, false);
        }
    }

    /// Whether a trace that was read is a followed run that is not complete.
    pub(super) fn waits_for(&mut self, wanted: Option<&TraceToOpen>, model: &TraceModel) -> bool {
        let (Some(following), Some(wanted)) = (&mut self.following, wanted) else {
            return false;
        };
        following.postpone_if_half_written(&wanted.path, model)
    }

    /// Says that a followed run is skipped; whether the path is that of one.
    pub(super) fn skips(&mut self, wanted: Option<&TraceToOpen>, error: &str) -> bool {
        let (Some(following), Some(wanted)) = (&mut self.following, wanted) else {
            return false;
        };
        let said = following.failed(&wanted.path, error);
        let is_followed = said.is_some();
        self.notice = said.map(PassingNotice::passing).or(self.notice.take());
        is_followed
    }

    /// Gives a run of the followed directory the view of the open one.
    pub(super) fn keep_view(&self, workspace: &mut Workspace) {
        let is_followed = |path: &Path| {
            self.following
                .iter()
                .flat_map(|following| &following.runs)
                .into_iter()
                .any(|run| run.path == path)
        };
        let open = self
            .open_traces
            .as_ref()
            .and_then(|open| open.side(TraceSide::A));
        let Some(open) =
            open.filter(|open| is_followed(&open.trace.path) && is_followed(&workspace.trace.path))
        else {
            return;
        };
        let [first, second] =
            [&open.trace, &workspace.trace].map(|trace| trace.model.extent().start);
        keep_view_of(open, workspace, second - first);
    }
}
