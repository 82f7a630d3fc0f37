//! The desktop app, which also runs in a browser.
//!
//! In each frame, [`App::logic`](eframe::App::logic) takes over finished background jobs and applies the commands of
//! the previous frame; [`App::ui`](eframe::App::ui) draws and collects new commands. Widgets read the trace and the
//! state and change neither.

#![allow(
    clippy::missing_errors_doc,
    rustdoc::private_intra_doc_links,
    reason = "part of the program, not a library for others"
)]

mod address;
mod apply;
mod chord;
mod command;
mod compare;
mod drawing;
mod editor;
mod first_look;
#[cfg(not(target_arch = "wasm32"))]
mod following;
mod frame;
mod jobs;
mod keys;
mod launch;
mod loader;
mod open_traces;
mod panels;
mod platform;
mod prelude;
mod published;
mod reports;
mod samples;
mod saving;
#[cfg(not(target_arch = "wasm32"))]
mod screenshot;
mod settings;
#[cfg(not(target_arch = "wasm32"))]
mod start_times;
mod start_windows;
pub mod theme;
pub mod timeline;
mod times;
mod workspace;

use std::path::PathBuf;
use std::sync::Arc;

pub use self::chord::Chord;
pub use self::command::{AppCommand, AppCommands, ComparisonCommand, Remap, TextToSave};
pub use self::keys::ACTIONS;
pub use self::loader::{StartOptions, file_loader};
pub use self::panels::tabs::tab::{Tab, TabSubject};
pub use self::panels::tabs::{TABS, wanted as wanted_reports};
pub use self::settings::{PanelPart, PanelSizes, Settings, ThemeChoice};
#[cfg(not(target_arch = "wasm32"))]
pub use self::{
    following::{FollowedRun, FollowedStep, Following},
    launch::{NoWindow, WindowOptions, keep_freed_memory, launch},
    loader::first_look_loader,
    screenshot::{Screenshot, ScreenshotArgs},
};
#[cfg(target_arch = "wasm32")]
pub use self::{
    launch::{import_in_worker, start_in_page},
    platform::{joined, pause, run_task, state},
};
use view::sessions::{SavedSecondTrace, SessionStore};

use self::address::{AddressBar, Place};
use self::jobs::{CANCELLED, JobAnswer, WakeUi, Worker};
use self::loader::{EarlyTrace, LoadJob, Loaders, TraceToOpen};
use self::open_traces::OpenWorkspaces;
use self::panels::notice::PassingNotice;
use self::panels::path_dialog::PathDialog;
pub use self::panels::server_runs::RunSource;
use self::panels::server_runs::ServerRuns;
use self::panels::welcome::FailedToOpen;
use self::saving::SaveOutcome;
use self::start_windows::StartWindows;
use self::workspace::Workspace;
use view::compare::{TraceSide, ViewLink};
use view::state::{ViewCommand, ViewState};
use view::timeline::trace::{OpenTrace, TraceLoader};

/// How the system asks for files.
#[derive(Clone, Copy)]
pub struct FileDialogs {
    pub open: fn(platform::ChosenFileTaker),
    /// Asks where to save a file of this name.
    pub save: fn(&str) -> platform::ChosenFile,
}

impl Default for FileDialogs {
    fn default() -> Self {
        Self {
            open: platform::ask_to_open,
            save: platform::place_to_save,
        }
    }
}

/// A second trace to open after the first.
struct QueuedTrace {
    path: PathBuf,
    /// Its state in a session.
    saved: Option<Box<SavedSecondTrace>>,
}

/// The saved view of a trace that is being opened.
enum SavedView {
    /// The first or only trace, with the name of its session.
    First(String, Box<ViewState>),
    Second(Box<SavedSecondTrace>),
}

/// Checks a text that [`App::with_view`] takes.
///
/// # Errors
///
/// It is no view; the error is a sentence.
pub fn check_view(text: &str) -> Result<String, String> {
    Place::read(text).map(|_| text.to_owned())
}

pub struct App {
    commands: AppCommands,
    /// What was typed in the last frame after a key that opened a text field.
    held_back: Vec<egui::Event>,
    settings: Settings,
    loaders: Loaders,
    loading: LoadJob,
    /// The first look at the trace that is being loaded.
    early: EarlyTrace,
    /// Whether the trace that was named at the start is being loaded since before there was a window.
    is_loading_early: bool,
    /// The trace to compare with the one that is being opened.
    next: Option<QueuedTrace>,
    /// Dropped files about which the user has not decided.
    dropped: Vec<PathBuf>,
    ask_to_open: fn(platform::ChosenFileTaker),
    dialog: Worker<(u32, bool), Option<PathBuf>>,
    dialogs_opened: u32,
    runs: ServerRuns,
    #[cfg(not(target_arch = "wasm32"))]
    following: Option<Following>,
    /// Where a path is typed.
    path_dialog: Option<PathDialog>,
    #[cfg(not(target_arch = "wasm32"))]
    capture: panels::capture::CaptureDialog,
    saving: saving::SaveJob,
    sessions: SessionStore,
    /// The saved view to restore once the trace is open.
    restore: Option<SavedView>,
    keys: Arc<keys::Keys>,
    open_traces: Option<OpenWorkspaces>,
    error: Option<FailedToOpen>,
    /// The windows that are open while no trace is.
    lobby: StartWindows,
    changing: panels::keys::KeyEdit,
    /// The notice to show.
    notice: Option<PassingNotice>,
    title: String,
    #[cfg(not(target_arch = "wasm32"))]
    screenshot: Option<screenshot::Photographer>,
    #[cfg(not(target_arch = "wasm32"))]
    start_times: Option<start_times::StartTimes>,
    address: AddressBar,
    wake: WakeUi,
}

impl App {
    /// An app without a trace that opens files with `loader`.
    pub fn new(ctx: &egui::Context, settings: Settings, loader: TraceLoader) -> Self {
        theme::install(ctx);
        ctx.set_zoom_factor(settings.scale);
        // Ctrl+plus zooms the timeline, not the widgets.
        ctx.options_mut(|options| options.zoom_with_keyboard = false);
        let waking = ctx.clone();
        let wake: WakeUi = Arc::new(move || waking.request_repaint());
        let keys = Arc::new(keys::Keys::new(&settings.keys));
        keys.install(ctx);
        Self {
            commands: vec![AppCommand::Theme(settings.theme)],
            held_back: Vec::new(),
            loaders: Loaders {
                whole: loader,
                first_look: None,
            },
            loading: Worker::new("open trace", &wake),
            early: EarlyTrace::default(),
            is_loading_early: false,
            next: None,
            dropped: Vec::new(),
            ask_to_open: FileDialogs::default().open,
            dialog: Worker::new("file dialog", &wake),
            dialogs_opened: 0,
            runs: ServerRuns::new(Arc::new(platform::ask_for_runs), &wake),
            #[cfg(not(target_arch = "wasm32"))]
            following: None,
            path_dialog: None,
            #[cfg(not(target_arch = "wasm32"))]
            capture: panels::capture::CaptureDialog::new(&wake),
            saving: saving::SaveJob::new(FileDialogs::default().save, &wake),
            sessions: SessionStore::default(),
            restore: None,
            keys,
            open_traces: None,
            error: None,
            lobby: StartWindows::default(),
            changing: panels::keys::KeyEdit::default(),
            notice: None,
            title: String::new(),
            #[cfg(not(target_arch = "wasm32"))]
            screenshot: None,
            #[cfg(not(target_arch = "wasm32"))]
            start_times: None,
            address: AddressBar::default(),
            wake,
            settings,
        }
    }

    /// Asks for files in another way than the system.
    #[must_use]
    pub fn with_dialogs(self, dialogs: FileDialogs) -> Self {
        Self {
            ask_to_open: dialogs.open,
            saving: saving::SaveJob::new(dialogs.save, &self.wake),
            ..self
        }
    }

    /// Uses the sessions of a given folder.
    #[must_use]
    pub fn with_sessions(self, sessions: SessionStore) -> Self {
        Self { sessions, ..self }
    }

    /// Lists the runs of another server.
    #[must_use]
    pub fn with_runs(self, source: RunSource) -> Self {
        Self {
            runs: ServerRuns::new(source, &self.wake),
            ..self
        }
    }

    /// Shows this part of the first trace that is opened.
    ///
    /// # Errors
    ///
    /// The text is no view; the error is a sentence.
    pub fn with_view(mut self, text: &str) -> Result<Self, String> {
        self.address.want(Place::read(text)?);
        Ok(self)
    }

    /// Queues a command, as if the user had given it.
    pub fn push(&mut self, command: impl Into<AppCommand>) {
        self.commands.push(command.into());
    }

    /// The view state of the open trace.
    pub fn state(&self) -> Option<&ViewState> {
        self.open_traces
            .as_ref()
            .map(|open_traces| &open_traces.focused().state)
    }

    /// The open trace; of two, the focused one.
    pub fn trace(&self) -> Option<&OpenTrace> {
        self.open_traces
            .as_ref()
            .map(|open_traces| &open_traces.focused().trace)
    }

    /// The view state of one of two traces.
    pub fn state_of(&self, side: TraceSide) -> Option<&ViewState> {
        self.open_traces
            .as_ref()?
            .side(side)
            .map(|workspace| &workspace.state)
    }

    /// One of two traces.
    pub fn trace_of(&self, side: TraceSide) -> Option<&OpenTrace> {
        self.open_traces
            .as_ref()?
            .side(side)
            .map(|workspace| &workspace.trace)
    }

    /// How two traces are linked; `None` while only one is open.
    pub fn link(&self) -> Option<&ViewLink> {
        self.open_traces
            .as_ref()?
            .comparison()
            .map(|comparison| &comparison.link)
    }

    /// Whether all background jobs have finished.
    pub fn is_settled(&self) -> bool {
        !self.loading.is_running()
            && self.next.is_none()
            && self.runs.is_settled()
            && self.path_dialog.as_ref().is_none_or(PathDialog::is_settled)
            && self
                .open_traces
                .as_ref()
                .is_none_or(OpenWorkspaces::is_settled)
    }

    fn poll_jobs(&mut self) {
        if self.loading.poll() {
            let wanted = self.loading.key().cloned();
            match self.loading.take() {
                JobAnswer::Ready(trace) => self.opened(trace, wanted),
                JobAnswer::Failed { error, .. } if error != CANCELLED => {
                    #[cfg(not(target_arch = "wasm32"))]
                    if self.skips(wanted.as_ref(), &error) {
                        return;
                    }
                    self.leave_first_look();
                    self.error = Some(FailedToOpen::open(error));
                    self.next = None;
                }
                _ => self.next = None,
            }
        }
        self.poll_first_look();
        if self.dialog.poll() {
            let beside = self.dialog.key().is_some_and(|&(_, beside)| beside);
            match self.dialog.take() {
                JobAnswer::Ready(Some(path)) => {
                    self.path_dialog = None;
                    self.commands.push(AppCommand::open(path, beside));
                }
                JobAnswer::Failed { error, .. } => self.cannot_browse(error, beside),
                _ => {}
            }
        }
        if let Some(dialog) = &mut self.path_dialog {
            dialog.poll();
        }
        self.runs.poll();
        match self.saving.poll() {
            Some(SaveOutcome::Failed(error)) => self.error = Some(FailedToOpen::save(error)),
            Some(SaveOutcome::NoDialog { name, why }) => {
                self.path_dialog = Some(PathDialog::to_save(
                    &name,
                    format!("{why}. Type where to save."),
                    &self.wake,
                ));
            }
            Some(SaveOutcome::Saved(path)) if !platform::IN_BROWSER => {
                let text = format!("Saved {}", path.display());
                self.tell(text);
            }
            _ => {}
        }
        if let Some(open_traces) = &mut self.open_traces {
            open_traces.poll_jobs();
        }
    }

    fn opened(&mut self, trace: OpenTrace, wanted: Option<TraceToOpen>) {
        let beside = wanted.as_ref().is_some_and(|wanted| wanted.beside);
        #[cfg(not(target_arch = "wasm32"))]
        if self.waits_for(wanted.as_ref(), &trace.model) {
            return;
        }
        if platform::can_open_again(&trace.path) {
            self.settings.remember(&trace.path);
        }
        self.error = None;
        let mut workspace = Workspace::new(trace, &self.wake);
        workspace.apply(&ViewCommand::Paint(self.settings.colors));
        #[cfg(not(target_arch = "wasm32"))]
        if !beside {
            self.keep_view(&mut workspace);
        }
        self.keep_first_look(&mut workspace);
        let (mut second, mut session) = (None, None);
        let packed = |app: &mut Self| {
            wanted
                .filter(|_| !beside)
                .and_then(|wanted| app.packed_view(&wanted.path))
        };
        match self.restore.take().or_else(|| packed(self)) {
            Some(SavedView::First(name, view)) => {
                self.tell_unless_same(&view, &workspace.trace);
                workspace.apply(&ViewCommand::Restore(view));
                workspace.alone();
                session = Some(name);
            }
            Some(SavedView::Second(saved)) => {
                self.tell_unless_same(&saved.view, &workspace.trace);
                second = Some(*saved);
            }
            None => {}
        }
        if !beside {
            self.sessions.set_open(session);
        }
        match &mut self.open_traces {
            Some(open_traces) if beside => open_traces.compare_with(workspace, second),
            _ => {
                if let Some(place) = self.address.take_wanted() {
                    let model = &workspace.trace.model;
                    let commands = place.commands(model).into_iter();
                    // Not as a person does it, who would type into the search then.
                    let on_it = |command| AppCommand::On(TraceSide::A, command);
                    self.commands.extend(commands.map(on_it));
                    if let Some(text) = place.lacks(model) {
                        self.notice = Some(PassingNotice::lasting(text));
                    }
                }
                self.open_traces = Some(OpenWorkspaces::new(workspace, &self.wake));
            }
        }
        match self.next.take() {
            Some(QueuedTrace { path, saved: None }) => self.compare(&path),
            Some(QueuedTrace {
                path,
                saved: Some(saved),
            }) => {
                self.load(&path, true);
                self.restore = Some(SavedView::Second(saved));
            }
            None => {}
        }
    }

    /// Warns if a session was saved for another version of the trace file.
    fn tell_unless_same(&mut self, view: &ViewState, trace: &OpenTrace) {
        if !view.may_be_of(&trace.model) {
            let name = trace.name();
            let text = format!(
                "{name} has changed since this session was saved: notes and search are restored, but not pins, folds, selection and marks"
            );
            self.notice = Some(PassingNotice::lasting(text));
        }
    }

    /// The list of runs is as new as it can be while it is looked at.
    fn ask_for_runs(&mut self, ctx: &egui::Context) {
        if self.open_traces.is_none() || self.runs.is_open() {
            let now_s = ctx.input(|input| input.time);
            self.runs.ask(now_s);
            if let Some(wait_s) = self.runs.asks_in(now_s) {
                ctx.request_repaint_after(std::time::Duration::from_secs_f64(wait_s));
            }
        }
    }

    fn read_global_input(&mut self, ctx: &egui::Context) {
        let dropped: Vec<PathBuf> =
            ctx.input(|i| i.raw.dropped_files.iter().map(platform::dropped).collect());
        if !dropped.is_empty() {
            self.push(AppCommand::Dropped(dropped));
        }
        let focus = keys::KeyFocus::of(ctx);
        let held_back = std::mem::take(&mut self.held_back);
        ctx.input_mut(|i| drop(i.events.splice(0..0, held_back)));
        // Keys are for the dialog that asks for a path, as long as it is open.
        let (commands, used) = match &self.path_dialog {
            None => ctx.input(|i| self.keys.pressed(&i.events, focus, self.state())),
            Some(_) => (Vec::new(), ctx.input(|i| i.events.len())),
        };
        self.commands.extend(commands);
        ctx.input_mut(|i| self.held_back = keys::typed_later(&mut i.events, used));
        if !self.held_back.is_empty() {
            ctx.request_repaint();
        }
        if focus != keys::KeyFocus::Text {
            // A key that moves the focus into a text field must not be typed there.
            ctx.input_mut(|i| {
                i.events
                    .retain(|event| !matches!(event, egui::Event::Text(_)));
            });
        }
    }
}
