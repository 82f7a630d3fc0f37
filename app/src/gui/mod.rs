//! The desktop app.
//!
//! In each frame, [`App::logic`](eframe::App::logic) takes over finished background jobs and applies the commands of
//! the previous frame; [`App::ui`](eframe::App::ui) draws and collects new commands. Widgets read the trace and the
//! state and change neither.

mod apply;
mod command;
mod compare;
mod editor;
mod jobs;
mod keys;
mod open_traces;
mod panels;
mod reports;
mod samples;
mod saving;
mod screenshot;
mod sessions;
mod settings;
pub mod theme;
pub mod timeline;
mod times;
mod workspace;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use analysis::Options;
use importers::{IMPORTERS, ImportError, ImportOptions};
use trace_model::TraceModel;

pub use self::command::{AppCommand, ComparisonCommand, Remap, TextToSave};
pub use self::keys::Chord;
pub use self::screenshot::{Screenshot, ScreenshotArgs};
use self::sessions::SavedSecondTrace;
pub use self::sessions::{SavedSession, SessionStore};
pub use self::settings::{PanelPart, PanelSizes, Settings, ThemeChoice};

use self::jobs::{JobAnswer, WakeUi, Worker};
use self::open_traces::OpenTraces;
use self::panels::notice::PassingNotice;
use self::panels::open_path::OpenPath;
use self::panels::welcome::FailedToOpen;
use self::workspace::Workspace;
use crate::session::Session;
use crate::view::compare::{TraceSide, ViewLink};
use crate::view::panels::source::SourcePrefix;
use crate::view::state::{Panel, ViewCommand, ViewState};
use crate::view::timeline::trace::{OpenTrace, TraceLoader};

/// Reads the analysis options for each newly opened trace; the error is a sentence.
pub type StartOptions = Arc<dyn Fn() -> Result<Options, String> + Send + Sync>;

/// How to start.
#[derive(Clone)]
pub struct WindowOptions {
    /// What to open first.
    pub path: Option<PathBuf>,
    /// A second trace to compare with.
    pub second: Option<PathBuf>,
    /// How to find and read the files.
    pub import: ImportOptions,
    /// Reads the analysis options.
    pub options: StartOptions,
    /// Where source files are that the capture names elsewhere.
    pub source_prefixes: Vec<SourcePrefix>,
    /// Take a picture and quit.
    pub screenshot: Option<Screenshot>,
}

/// Keeps freed memory for the next frame.
///
/// The triangles of a frame take megabytes that glibc returns to the system when they are freed; getting them back page
/// by page cost three quarters of a frame (measured by `benches/timeline.rs`). glibc raises its thresholds to the size
/// of the largest mapped block that was freed, up to 32 MiB, so one such block is freed here. On other systems this
/// does nothing.
pub fn keep_freed_memory() {
    const LARGEST: usize = (32 << 20) - (64 << 10);
    drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGEST)));
}

/// The system cannot open a window.
#[derive(Debug, thiserror::Error)]
#[error("cannot open a window: {0}")]
pub struct NoWindow(pub String);

/// Opens the window; returns when it is closed.
pub fn launch(launch: WindowOptions) -> anyhow::Result<()> {
    keep_freed_memory();
    let (width, height) = launch.screenshot.as_ref().map_or((1440.0, 900.0), |shot| shot.size);
    let mut viewport = egui::ViewportBuilder::default()
        .with_app_id("systole")
        .with_title("Systole")
        .with_inner_size([width, height])
        .with_min_inner_size([640.0, 400.0])
        .with_drag_and_drop(true);
    if let Ok(icon) = eframe::icon_data::from_png_bytes(include_bytes!("../../../assets/icon.png")) {
        viewport = viewport.with_icon(icon);
    }
    let native = eframe::NativeOptions { viewport, renderer: eframe::Renderer::Glow, ..Default::default() };
    let shot_sink: screenshot::ScreenshotOutcome = Arc::default();
    let outcome = Arc::clone(&shot_sink);
    eframe::run_native(
        "systole",
        native,
        Box::new(move |cc| {
            let mut settings = if launch.screenshot.is_some() { Settings::default() } else { Settings::load() };
            settings.source_prefixes = launch.source_prefixes;
            // If a trace is opened, its loader reports errors in them.
            let problem = if launch.path.is_none() { (launch.options)().err() } else { None };
            let mut app = App::new(&cc.egui_ctx, settings, file_loader(launch.import, launch.options))
                .with_sessions(SessionStore::of_user());
            app.error = problem.map(FailedToOpen::open);
            app.screenshot = launch.screenshot.map(|shot| screenshot::Photographer::new(shot, outcome));
            match (launch.path, launch.second) {
                (Some(path), Some(second)) => app.push(AppCommand::Dropped(vec![path, second])),
                (path, _) => path.into_iter().for_each(|path| app.push(AppCommand::Open(path))),
            }
            Ok(Box::new(app))
        }),
    )
    .map_err(|error| NoWindow(error.to_string()))?;
    screenshot::result(&shot_sink)
}

/// A loader for every supported format.
pub fn file_loader(import: ImportOptions, options: StartOptions) -> TraceLoader {
    Arc::new(move |path, progress| match Session::open(path, &import, options()?, progress) {
        Ok(session) => {
            link_flows(session.model().clone());
            // Signatures of addresses are neither shown nor remembered.
            Ok(OpenTrace::new(importers::shown_path(path), session))
        }
        Err(ImportError::Cancelled) => Err(CANCELLED.to_owned()),
        Err(error) => Err(format!("{error}: {}", importers::shown_path(path).display())),
    })
}

/// Links the flows on a thread of its own: the first slice that is selected shows its arrows, and no frame waits for
/// millions of them.
fn link_flows(model: TraceModel) {
    let link = move || model.flows().first().map(|flow| model.flows_to(flow.to).count());
    // Without a thread they are linked when they are asked for.
    let _ = thread::Builder::new().name("flows".to_owned()).spawn(link);
}

/// The error of a cancelled loader; not shown.
const CANCELLED: &str = "cancelled";

/// A trace that is being opened.
#[derive(Clone, PartialEq)]
struct TraceToOpen {
    path: PathBuf,
    /// Whether to compare it with the open trace instead of replacing that.
    beside: bool,
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
    /// The second trace.
    Second(Box<SavedSecondTrace>),
}

/// The windows that are open while no trace is.
#[derive(Default)]
struct StartWindows(BTreeSet<Panel>);

impl StartWindows {
    fn shows(&self, panel: Panel) -> bool {
        self.0.contains(&panel)
    }

    fn apply(&mut self, command: &ViewCommand) {
        match command {
            ViewCommand::ShowPanel(panel, true) => self.0.extend([*panel]),
            ViewCommand::ShowPanel(panel, false) => self.0.retain(|other| other != panel),
            ViewCommand::Deselect => self.0.clear(),
            _ => {}
        }
    }
}

/// The application.
pub struct App {
    commands: Vec<AppCommand>,
    settings: Settings,
    loader: TraceLoader,
    loading: Worker<TraceToOpen, OpenTrace>,
    /// The trace to compare with the one that is being opened.
    next: Option<QueuedTrace>,
    /// Dropped files about which the user has not decided.
    dropped: Vec<PathBuf>,
    dialog: Worker<(u32, bool), Option<PathBuf>>,
    dialogs_opened: u32,
    /// Where a path is typed to be opened.
    open_path: Option<OpenPath>,
    #[cfg(feature = "capture")]
    capture: panels::capture::CaptureDialog,
    saving: saving::SaveJob,
    sessions: SessionStore,
    /// The saved view to restore once the trace is open.
    restore: Option<SavedView>,
    keys: Arc<keys::Keys>,
    open_traces: Option<OpenTraces>,
    error: Option<FailedToOpen>,
    /// The windows that are open while no trace is.
    lobby: StartWindows,
    changing: panels::keys::KeyEdit,
    /// The notice to show.
    notice: Option<PassingNotice>,
    title: String,
    screenshot: Option<screenshot::Photographer>,
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
            loader,
            loading: Worker::new("open trace", Arc::clone(&wake)),
            next: None,
            dropped: Vec::new(),
            dialog: Worker::new("file dialog", Arc::clone(&wake)),
            dialogs_opened: 0,
            open_path: None,
            #[cfg(feature = "capture")]
            capture: panels::capture::CaptureDialog::new(&wake),
            saving: saving::SaveJob::new(Arc::clone(&wake)),
            sessions: SessionStore::default(),
            restore: None,
            keys,
            open_traces: None,
            error: None,
            lobby: StartWindows::default(),
            changing: panels::keys::KeyEdit::default(),
            notice: None,
            title: String::new(),
            screenshot: None,
            wake,
            settings,
        }
    }

    /// The same with the sessions of a given folder.
    #[must_use]
    pub fn with_sessions(self, sessions: SessionStore) -> Self {
        Self { sessions, ..self }
    }

    /// Queues a command, as if the user had given it.
    pub fn push(&mut self, command: impl Into<AppCommand>) {
        self.commands.push(command.into());
    }

    /// The view state of the open trace.
    pub fn state(&self) -> Option<&ViewState> {
        self.open_traces.as_ref().map(|open_traces| &open_traces.focused().state)
    }

    /// The open trace; of two, the focused one.
    pub fn trace(&self) -> Option<&OpenTrace> {
        self.open_traces.as_ref().map(|open_traces| &open_traces.focused().trace)
    }

    /// The view state of one of two traces.
    pub fn state_of(&self, side: TraceSide) -> Option<&ViewState> {
        self.open_traces.as_ref()?.side(side).map(|workspace| &workspace.state)
    }

    /// One of two traces.
    pub fn trace_of(&self, side: TraceSide) -> Option<&OpenTrace> {
        self.open_traces.as_ref()?.side(side).map(|workspace| &workspace.trace)
    }

    /// How two traces are linked; `None` while only one is open.
    pub fn link(&self) -> Option<&ViewLink> {
        self.open_traces.as_ref()?.comparison().map(|comparison| &comparison.link)
    }

    /// Whether all background jobs have finished.
    pub fn is_settled(&self) -> bool {
        !self.loading.memo().is_running()
            && self.next.is_none()
            && self.open_path.as_ref().is_none_or(OpenPath::is_settled)
            && self.open_traces.as_ref().is_none_or(OpenTraces::is_settled)
    }

    fn poll_jobs(&mut self) {
        if self.loading.poll() {
            let beside = self.loading.key().is_some_and(|wanted| wanted.beside);
            match self.loading.take() {
                JobAnswer::Ready(trace) => self.opened(trace, beside),
                JobAnswer::Failed { error, .. } if error != CANCELLED => {
                    self.error = Some(FailedToOpen::open(error));
                    self.next = None;
                }
                _ => self.next = None,
            }
        }
        if self.dialog.poll() {
            let beside = self.dialog.key().is_some_and(|&(_, beside)| beside);
            match self.dialog.take() {
                JobAnswer::Ready(Some(path)) => self.commands.push(chosen(path, beside)),
                JobAnswer::Failed { error, .. } => self.error = Some(FailedToOpen::open(error)),
                _ => {}
            }
        }
        if let Some(dialog) = &mut self.open_path {
            dialog.poll();
        }
        if let Some(Err(error)) = self.saving.poll() {
            self.error = Some(FailedToOpen::save(error));
        }
        if let Some(open_traces) = &mut self.open_traces {
            open_traces.poll_jobs();
        }
    }

    fn opened(&mut self, trace: OpenTrace, beside: bool) {
        self.settings.remember(&trace.path);
        self.error = None;
        let mut workspace = Workspace::new(trace, &self.wake);
        workspace.apply(&ViewCommand::Paint(self.settings.colors));
        let (mut second, mut session) = (None, None);
        match self.restore.take() {
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
            _ => self.open_traces = Some(OpenTraces::new(workspace, &self.wake)),
        }
        match self.next.take() {
            Some(QueuedTrace { path, saved: None }) => self.compare(&path),
            Some(QueuedTrace { path, saved: Some(saved) }) => {
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

    fn read_global_input(&mut self, ctx: &egui::Context) {
        let dropped: Vec<PathBuf> =
            ctx.input(|i| i.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect());
        if !dropped.is_empty() {
            self.push(AppCommand::Dropped(dropped));
        }
        // Escape leaves a text field; everything else belongs to it.
        if !ctx.egui_wants_keyboard_input() {
            let commands = ctx.input(|i| self.keys.pressed(i, self.state()));
            self.commands.extend(commands);
            // A key that moves the focus into a text field must not be typed there.
            ctx.input_mut(|i| i.events.retain(|event| !matches!(event, egui::Event::Text(_))));
        }
    }
}

impl eframe::App for App {
    fn raw_input_hook(&mut self, _ctx: &egui::Context, raw: &mut egui::RawInput) {
        if self.screenshot.is_some() {
            // A picture must not show a tooltip at the pointer.
            raw.events.retain(|event| !matches!(event, egui::Event::PointerMoved(_)));
        }
    }

    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        // Commands about the current trace are applied before a new trace replaces it.
        self.apply_commands(ctx);
        self.poll_jobs();
        self.read_global_input(ctx);
        self.apply_commands(ctx);
        if let Some(open_traces) = &mut self.open_traces {
            open_traces.ask_jobs();
        }
        let names: Vec<String> =
            TraceSide::BOTH.into_iter().filter_map(|side| self.trace_of(side)).map(OpenTrace::title).collect();
        let title =
            if names.is_empty() { "Systole".to_owned() } else { format!("{} – Systole", names.join(" ↔ ")) };
        if title != self.title {
            // Only on changes, because every command to the window causes a new frame.
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.title = title;
        }
        if self.loading.memo().is_running() {
            ctx.request_repaint_after(std::time::Duration::from_millis(100));
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        let mut out = Vec::new();
        times::write_as(self.settings.times);
        theme::paint_in(self.state().map_or(self.settings.colors, |state| state.colors));
        let loading = self.loading.key().map(|wanted| &wanted.path).zip(self.loading.progress());
        panels::toolbar::toolbar_ui(ui, self.state(), &self.settings, &self.sessions, self.trace(), &mut out);
        if let Some(error) = &self.error {
            panels::welcome::error_ui(ui, error, &mut out);
        }
        if let Some(open_traces) = &mut self.open_traces {
            open_traces.ui(ui, &self.settings, &self.keys, loading, &mut out);
        } else {
            panels::welcome::welcome_ui(ui, &self.settings, &self.sessions, loading, &mut out);
            if self.lobby.shows(Panel::Help) {
                panels::help::help_ui(ui.ctx(), &self.keys, &self.settings, &mut out);
            }
            if self.lobby.shows(Panel::Keys) {
                panels::keys::keys_ui(ui.ctx(), &self.keys, &self.settings, &mut self.changing, &mut out);
            }
        }
        self.saving.step(ui.ctx());
        if self.open_path.as_mut().is_some_and(|dialog| dialog.ui(ui.ctx(), &mut out)) {
            self.open_path = None;
        }
        #[cfg(feature = "capture")]
        self.capture.ui(ui.ctx(), &mut out);
        panels::welcome::drop_hint_ui(ui);
        open_traces::dropped_ui(ui, &self.dropped, &mut out);
        if self.open_traces.is_some() && self.settings.asks_for_wheel() {
            panels::notice::wheel_ui(ui.ctx(), &mut out);
        }
        if let Some(notice) = &mut self.notice {
            notice.ui(ui.ctx(), &mut out);
        }
        if let Some(mut photographer) = self.screenshot.take() {
            let settled = self.is_settled() && (self.open_traces.is_some() || self.error.is_some());
            out.extend(photographer.step(ui.ctx(), settled, self.trace().zip(self.state())));
            self.screenshot = Some(photographer);
        }
        if !out.is_empty() {
            self.commands.extend(out);
            ui.ctx().request_repaint();
        }
    }
}

/// The command for a file that the user chose.
fn chosen(path: PathBuf, beside: bool) -> AppCommand {
    if beside { AppCommand::Compare(path) } else { AppCommand::Open(path) }
}

/// Shows the file dialog; blocks until it is closed.
fn pick_file() -> Option<PathBuf> {
    let mut extensions: Vec<&str> =
        IMPORTERS.iter().flat_map(|importer| importer.format().extensions).copied().collect();
    extensions.sort_unstable();
    extensions.dedup();
    rfd::FileDialog::new()
        .set_title("Open a profile")
        .add_filter("Profiles", &extensions)
        .add_filter("All files", &["*"])
        .pick_file()
}
