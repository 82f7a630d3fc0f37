//! The window of a desktop.

use std::sync::OnceLock;

use crate::prelude::*;
use importers::ImportOptions;

use crate::command::FollowCommand;
use crate::jobs::WakeUi;
use crate::loader::{
    EarlyTrace, LoadJob, Loaders, StartOptions, TraceToOpen, file_loader, first_look_loader,
};
use crate::panels::welcome::FailedToOpen;
use crate::screenshot::{self, Screenshot};
use crate::settings::Settings;
use crate::start_times::StartTimes;
use crate::{App, AppCommand};
use view::panels::source::SourcePrefix;

pub struct WindowOptions {
    /// What to open first.
    pub path: Option<PathBuf>,
    /// Whether newer runs of the path, a log directory, take the place of the open one.
    pub follow: bool,
    /// A second trace to compare with.
    pub second: Option<PathBuf>,
    /// The part of the first trace to show, as [`crate::check_view`] takes it.
    pub view: Option<String>,
    /// How to find and read the files.
    pub import: ImportOptions,
    /// Reads the analysis options.
    pub options: StartOptions,
    /// Where source files are that the capture names elsewhere.
    pub source_prefixes: Vec<SourcePrefix>,
    /// Take a picture and quit.
    pub screenshot: Option<Screenshot>,
    /// Print how long the start took and quit.
    pub start_times: bool,
}

/// Keeps freed memory for the next frame.
///
/// The triangles of a frame take megabytes that glibc returns to the system when they are freed; getting them back page
/// by page cost three quarters of a frame (measured by `benches/timeline`). glibc raises its thresholds to the size
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
    let start_times = launch.start_times.then(StartTimes::new);
    keep_freed_memory();
    let (width, height) = launch
        .screenshot
        .as_ref()
        .map_or((1440.0, 900.0), |shot| shot.size);
    let mut viewport = egui::ViewportBuilder::default()
        .with_app_id("systole")
        .with_title("Systole")
        .with_inner_size([width, height])
        .with_min_inner_size([640.0, 400.0])
        .with_drag_and_drop(true);
    if let Ok(icon) =
        eframe::icon_data::from_png_bytes(include_bytes!("../../../../assets/icon.png"))
    {
        viewport = viewport.with_icon(icon);
    }
    let native = eframe::NativeOptions {
        viewport,
        renderer: eframe::Renderer::Glow,
        // There are hardly gradients that it would smooth, and in software each pixel pays for it.
        dithering: false,
        ..Default::default()
    };
    let look = first_look_loader(launch.import.clone(), launch.options.clone());
    let loaders = Loaders {
        whole: file_loader(launch.import, launch.options.clone()),
        first_look: Some(look),
    };
    // Opening the window takes longer than loading a small trace, so loading begins before.
    let window: Arc<OnceLock<Context>> = Arc::default();
    let waking = Arc::clone(&window);
    let wake: WakeUi = Arc::new(move || {
        if let Some(window) = waking.get() {
            window.request_repaint();
        }
    });
    let mut loading = LoadJob::new("open trace", &wake);
    let mut early = EarlyTrace::default();
    if let Some(path) = launch.path.clone().filter(|_| !launch.follow) {
        let beside = false;
        early = loaders.load(&mut loading, TraceToOpen { path, beside }, &wake);
    }
    let shot_sink: screenshot::ScreenshotOutcome = Arc::default();
    let outcome = Arc::clone(&shot_sink);
    eframe::run_native(
        "systole",
        native,
        Box::new(move |cc| {
            let _only_window = window.set(cc.egui_ctx.clone());
            let mut settings = if launch.screenshot.is_some() {
                Settings::default()
            } else {
                Settings::load()
            };
            settings.source_prefixes = launch.source_prefixes;
            // If a trace is opened, its loader reports errors in them.
            let problem = if launch.path.is_none() {
                (launch.options)().err()
            } else {
                None
            };
            let mut app = App::new(&cc.egui_ctx, settings, loaders.whole)
                .with_sessions(SessionStore::of_user())
                .with_early(loading, early);
            app.loaders.first_look = loaders.first_look;
            if let Some(text) = &launch.view {
                app = app.with_view(text)?;
            }
            app.error = problem.map(FailedToOpen::open);
            app.start_times = start_times;
            app.screenshot = launch
                .screenshot
                .map(|shot| screenshot::Photographer::new(shot, outcome));
            match (launch.path, launch.second) {
                (Some(path), _) if launch.follow => app.push(FollowCommand::Start(path)),
                (Some(path), Some(second)) => app.push(AppCommand::Dropped(vec![path, second])),
                (path, _) => path
                    .into_iter()
                    .for_each(|path| app.push(AppCommand::Open(path))),
            }
            Ok(Box::new(app))
        }),
    )
    .map_err(|error| NoWindow(error.to_string()))?;
    screenshot::result(&shot_sink)
}
