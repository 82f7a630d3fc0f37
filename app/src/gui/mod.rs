//! The desktop app.
//!
//! Each frame, [`App::logic`](eframe::App::logic) takes in what background jobs
//! have finished and applies the commands of the frame before;
//! [`App::ui`](eframe::App::ui) draws and collects new commands. Widgets see the
//! trace and the state, and change neither.

mod command;
mod desk;
mod jobs;
mod keys;
mod pair;
mod panels;
mod reports;
mod samples;
mod saving;
mod screenshot;
mod sessions;
mod settings;
pub mod theme;
pub mod timeline;
mod workspace;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::Options;
use importers::{IMPORTERS, ImportError, ImportOptions};

pub use self::command::Command;
pub use self::pair::PairCommand;
pub use self::saving::Save;
pub use self::screenshot::{Screenshot, ScreenshotArgs};
pub use self::sessions::Sessions;
pub use self::settings::{Settings, ThemeChoice};

use self::desk::Desk;
use self::jobs::{Memo, Wake, Worker};
use self::workspace::Workspace;
use crate::picture;
use crate::session::Session;
use crate::view::pair::{Link, Side};
use crate::view::state::{ViewCommand, ViewState};
use crate::view::trace::{Loader, OpenTrace};

/// How to start.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// What to open at once.
    pub path: Option<PathBuf>,
    /// What to compare it with.
    pub second: Option<PathBuf>,
    /// How to find and read it.
    pub import: ImportOptions,
    /// Assumptions of the analyses.
    pub options: Options,
    /// Take a picture and quit.
    pub screenshot: Option<Screenshot>,
}

/// Lets the memory of one frame serve the next.
///
/// A frame's triangles are megabytes that glibc returns to the system as soon as
/// they are freed; getting them back page by page cost three quarters of a frame
/// (measured by `benches/timeline.rs`). glibc raises both of its thresholds to the
/// size of the largest mapped block that was freed, up to 32 MiB: so one is freed.
/// Elsewhere this does nothing.
pub fn keep_freed_memory() {
    const LARGEST: usize = (32 << 20) - (64 << 10);
    drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGEST)));
}

/// Opens the window, and returns when it is closed.
pub fn launch(launch: Launch) -> anyhow::Result<()> {
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
    let shot_sink: screenshot::Outcome = Arc::default();
    let outcome = Arc::clone(&shot_sink);
    eframe::run_native(
        "systole",
        native,
        Box::new(move |cc| {
            let settings = if launch.screenshot.is_some() { Settings::default() } else { Settings::load() };
            let mut app = App::new(&cc.egui_ctx, settings, file_loader(launch.import, launch.options))
                .with_sessions(Sessions::of_user());
            app.screenshot = launch.screenshot.map(|shot| screenshot::Photographer::new(shot, outcome));
            match (launch.path, launch.second) {
                (Some(path), Some(second)) => app.push(Command::Dropped(vec![path, second])),
                (path, _) => path.into_iter().for_each(|path| app.push(Command::Open(path))),
            }
            Ok(Box::new(app))
        }),
    )
    .map_err(|error| anyhow::anyhow!("cannot open a window: {error}; 'systole analyze' works without one"))?;
    screenshot::result(&shot_sink)
}

/// Opens files of every format that there is an importer for.
fn file_loader(import: ImportOptions, options: Options) -> Loader {
    Arc::new(move |path, progress| match Session::open(path, &import, options.clone(), progress) {
        Ok(session) => Ok(OpenTrace::new(path.to_owned(), session)),
        Err(ImportError::Cancelled) => Err(CANCELLED.to_owned()),
        Err(error) => Err(format!("{error}: {}", path.display())),
    })
}

/// What a loader says when it was told to stop; not shown.
const CANCELLED: &str = "cancelled";

/// What is being opened.
#[derive(Clone, PartialEq)]
struct Wanted {
    path: PathBuf,
    /// To be compared with the open one, rather than to take its place.
    beside: bool,
}

/// The application.
pub struct App {
    commands: Vec<Command>,
    settings: Settings,
    loader: Loader,
    loading: Worker<Wanted, OpenTrace>,
    /// To be compared with what is being opened.
    next: Option<PathBuf>,
    /// Dropped, and nobody has said yet what for.
    dropped: Vec<PathBuf>,
    dialog: Worker<(u32, bool), Option<PathBuf>>,
    dialogs_opened: u32,
    saving: saving::Saving,
    sessions: Sessions,
    /// A view to take over when its trace is there.
    restore: Option<Box<ViewState>>,
    keys: keys::Keys,
    desk: Option<Desk>,
    error: Option<String>,
    title: String,
    screenshot: Option<screenshot::Photographer>,
    wake: Wake,
}

impl App {
    /// An app without a trace that opens files with `loader`.
    pub fn new(ctx: &egui::Context, settings: Settings, loader: Loader) -> Self {
        theme::install(ctx);
        // Ctrl+plus zooms the timeline, not the widgets.
        ctx.options_mut(|options| options.zoom_with_keyboard = false);
        let waking = ctx.clone();
        let wake: Wake = Arc::new(move || waking.request_repaint());
        Self {
            commands: vec![Command::Theme(settings.theme)],
            loader,
            loading: Worker::new("open trace", Arc::clone(&wake)),
            next: None,
            dropped: Vec::new(),
            dialog: Worker::new("file dialog", Arc::clone(&wake)),
            dialogs_opened: 0,
            saving: saving::Saving::new(Arc::clone(&wake)),
            sessions: Sessions::default(),
            restore: None,
            keys: keys::Keys::new(&settings.keys),
            desk: None,
            error: None,
            title: String::new(),
            screenshot: None,
            wake,
            settings,
        }
    }

    /// The same with the sessions of a folder.
    #[must_use]
    pub fn with_sessions(self, sessions: Sessions) -> Self {
        Self { sessions, ..self }
    }

    /// Wants something, as if the user did.
    pub fn push(&mut self, command: impl Into<Command>) {
        self.commands.push(command.into());
    }

    /// What is seen of the open trace.
    pub fn state(&self) -> Option<&ViewState> {
        self.desk.as_ref().map(|desk| &desk.focused().state)
    }

    /// The open trace, of two the one in focus.
    pub fn trace(&self) -> Option<&OpenTrace> {
        self.desk.as_ref().map(|desk| &desk.focused().trace)
    }

    /// What is seen of one of two traces.
    pub fn state_of(&self, side: Side) -> Option<&ViewState> {
        self.desk.as_ref()?.side(side).map(|workspace| &workspace.state)
    }

    /// One of two traces.
    pub fn trace_of(&self, side: Side) -> Option<&OpenTrace> {
        self.desk.as_ref()?.side(side).map(|workspace| &workspace.trace)
    }

    /// How two traces are linked; `None` while only one is open.
    pub fn link(&self) -> Option<&Link> {
        self.desk.as_ref()?.pair().map(|pair| &pair.link)
    }

    /// Whether everything that was asked for in the background is there.
    pub fn is_settled(&self) -> bool {
        !self.loading.memo().is_running() && self.next.is_none() && self.desk.as_ref().is_none_or(Desk::is_settled)
    }

    fn poll_jobs(&mut self) {
        if self.loading.poll() {
            let beside = self.loading.key().is_some_and(|wanted| wanted.beside);
            match self.loading.take() {
                Memo::Ready(trace) => self.opened(trace, beside),
                Memo::Failed { error, .. } if error != CANCELLED => {
                    self.error = Some(error);
                    self.next = None;
                }
                _ => self.next = None,
            }
        }
        if self.dialog.poll() {
            let beside = self.dialog.key().is_some_and(|&(_, beside)| beside);
            match self.dialog.take() {
                Memo::Ready(Some(path)) => self.commands.push(chosen(path, beside)),
                Memo::Failed { error, .. } => self.error = Some(error),
                _ => {}
            }
        }
        if let Some(Err(error)) = self.saving.poll() {
            self.error = Some(error);
        }
        if let Some(desk) = &mut self.desk {
            desk.poll_jobs();
        }
    }

    fn opened(&mut self, trace: OpenTrace, beside: bool) {
        self.settings.remember(&trace.path);
        self.error = None;
        let mut workspace = Workspace::new(trace, &self.wake);
        if let Some(view) = self.restore.take() {
            workspace.apply(&ViewCommand::Restore(view));
            workspace.alone();
        }
        match &mut self.desk {
            Some(desk) if beside => desk.compare_with(workspace),
            _ => self.desk = Some(Desk::new(workspace, &self.wake)),
        }
        self.commands.extend(self.next.take().map(Command::Compare));
    }

    fn apply(&mut self, command: Command, ctx: &egui::Context) {
        match command {
            Command::Open(path) => self.open(&path),
            Command::OpenSample(index) => match samples::SAMPLES.get(index).map(samples::Sample::unpack) {
                Some(Ok(path)) => self.open(&path),
                Some(Err(error)) => self.error = Some(error),
                None => {}
            },
            Command::OpenSession(name) => match self.sessions.load(&name) {
                Ok(saved) => self.open_saved(saved),
                Err(error) => self.error = Some(error),
            },
            Command::SaveSession(name) => self.save_session(&name),
            Command::Save(save) => self.saving.text(save),
            Command::SaveSvg => {
                if let Some(desk) = &self.desk {
                    let (trace, state) = (&desk.focused().trace, &desk.focused().state);
                    let look =
                        picture::Look { width: 1600.0, height: 2000.0, dark: ctx.global_style().visuals.dark_mode };
                    let text = picture::timeline(trace, state, look);
                    self.saving.text(Save { name: "timeline.svg".to_owned(), text });
                }
            }
            Command::SavePng => self.saving.window(),
            Command::FilterTracks => {
                let name = self.link().map(|link| link.focus.name());
                ctx.memory_mut(|memory| memory.request_focus(timeline::filter_id(name)));
            }
            Command::WheelZooms(zooms) => self.settings.set_wheel_zooms(zooms),
            Command::OpenDialog => self.ask_for_file(false),
            Command::Compare(path) => self.compare(path),
            Command::CompareDialog => self.ask_for_file(true),
            Command::Dropped(paths) => self.take_dropped(paths),
            Command::CancelLoad => {
                self.loading.clear();
                self.next = None;
            }
            Command::DismissError => self.error = None,
            Command::ForgetRecent(path) => self.settings.forget(&path),
            Command::Theme(choice) => {
                ctx.set_theme(choice.preference());
                self.settings.set_theme(choice);
            }
            Command::View(command) => {
                if let Some(desk) = &mut self.desk {
                    desk.apply(desk.focus(), &command);
                }
            }
            Command::On(side, command) => {
                if let Some(desk) = &mut self.desk {
                    desk.apply(side, &command);
                }
            }
            Command::Pair(command) => {
                if let Some(desk) = &mut self.desk {
                    desk.link(&command);
                }
            }
        }
    }

    fn ask_for_file(&mut self, beside: bool) {
        self.dialogs_opened += 1;
        if cfg!(target_os = "macos") {
            // There, dialogs belong to the main thread.
            self.commands.extend(pick_file().map(|path| chosen(path, beside)));
        } else {
            self.dialog.ask((self.dialogs_opened, beside), |_| Ok(pick_file()));
        }
    }

    /// Opens a file beside the open one; alone where there is none.
    fn compare(&mut self, path: PathBuf) {
        self.dropped.clear();
        let path = self.sessions.find(&path).map_or(path, |saved| saved.trace);
        self.load(&path, self.desk.is_some());
    }

    /// Two files are opened side by side, one into an empty window; else it is asked
    /// what it is for.
    fn take_dropped(&mut self, paths: Vec<PathBuf>) {
        match &paths[..] {
            [first, second, ..] => {
                self.open(first);
                self.next = Some(second.clone());
            }
            [path] if self.desk.is_none() => self.open(path),
            _ => self.dropped = paths,
        }
    }

    /// Loads the trace of a session; what it names is no session again, or two could
    /// name each other.
    fn open_saved(&mut self, saved: sessions::Saved) {
        self.load(&saved.trace, false);
        self.restore = Some(Box::new(saved.view));
    }

    fn save_session(&mut self, name: &str) {
        let Some(workspace) = self.desk.as_ref().map(Desk::focused) else { return };
        let own = workspace.trace.name();
        let name = if name.trim().is_empty() { own.as_str() } else { name };
        if let Err(error) = self.sessions.save(name, &workspace.trace.path, &workspace.state) {
            self.error = Some(error);
        }
    }

    fn open(&mut self, path: &Path) {
        self.dropped.clear();
        if let Some(saved) = self.sessions.find(path) {
            return self.open_saved(saved);
        }
        self.load(path, false);
    }

    fn load(&mut self, path: &Path, beside: bool) {
        self.error = None;
        self.restore = None;
        // Who opens two says so afterwards.
        self.next = None;
        self.loading.clear();
        let (loader, path) = (Arc::clone(&self.loader), path.to_owned());
        let wanted = Wanted { path: path.clone(), beside };
        self.loading.ask(wanted, move |progress| loader(&path, progress));
    }

    fn read_global_input(&mut self, ctx: &egui::Context) {
        let dropped: Vec<PathBuf> =
            ctx.input(|i| i.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect());
        if !dropped.is_empty() {
            self.push(Command::Dropped(dropped));
        }
        // Escape leaves a text field; everything else belongs to it.
        if !ctx.egui_wants_keyboard_input() {
            let commands = ctx.input(|i| self.keys.pressed(i, self.state()));
            self.commands.extend(commands);
        }
    }
}

impl eframe::App for App {
    fn raw_input_hook(&mut self, _ctx: &egui::Context, raw: &mut egui::RawInput) {
        if self.screenshot.is_some() {
            // A picture shows no tooltip of wherever the pointer happens to be.
            raw.events.retain(|event| !matches!(event, egui::Event::PointerMoved(_)));
        }
    }

    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        self.poll_jobs();
        self.read_global_input(ctx);
        for command in std::mem::take(&mut self.commands) {
            self.apply(command, ctx);
        }
        if let Some(desk) = &mut self.desk {
            desk.ask_jobs();
        }
        let names: Vec<String> =
            Side::BOTH.into_iter().filter_map(|side| self.trace_of(side)).map(OpenTrace::name).collect();
        let title =
            if names.is_empty() { "Systole".to_owned() } else { format!("{} – Systole", names.join(" ↔ ")) };
        if title != self.title {
            // Only when it changes: every command to the window is a new frame.
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.title = title;
        }
        if self.loading.memo().is_running() {
            ctx.request_repaint_after(std::time::Duration::from_millis(100));
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        let mut out = Vec::new();
        let loading = self.loading.key().map(|wanted| &wanted.path).zip(self.loading.progress());
        panels::toolbar::toolbar_ui(ui, self.state(), &self.settings, &self.sessions, self.trace(), &mut out);
        if let Some(error) = &self.error {
            panels::welcome::error_ui(ui, error, &mut out);
        }
        match &mut self.desk {
            Some(desk) => desk.ui(ui, &self.settings, &self.keys, loading, &mut out),
            None => panels::welcome::welcome_ui(ui, &self.settings, &self.sessions, loading, &mut out),
        }
        self.saving.step(ui.ctx());
        panels::welcome::drop_hint_ui(ui);
        desk::dropped_ui(ui, &self.dropped, &mut out);
        if let Some(mut photographer) = self.screenshot.take() {
            let settled = self.is_settled() && (self.desk.is_some() || self.error.is_some());
            out.extend(photographer.step(ui.ctx(), settled, self.trace()));
            self.screenshot = Some(photographer);
        }
        if !out.is_empty() {
            self.commands.extend(out);
            ui.ctx().request_repaint();
        }
    }
}

/// What is wanted of a file that was chosen.
fn chosen(path: PathBuf, beside: bool) -> Command {
    if beside { Command::Compare(path) } else { Command::Open(path) }
}

/// Asks the user for a file; blocks until there is an answer.
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
