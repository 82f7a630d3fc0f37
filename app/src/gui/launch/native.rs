//! The window of a desktop.

use std::sync::Arc;

use super::{NoWindow, WindowOptions, keep_freed_memory};
use crate::gui::loader::file_loader;
use crate::gui::panels::welcome::FailedToOpen;
use crate::gui::sessions::SessionStore;
use crate::gui::settings::Settings;
use crate::gui::{App, AppCommand, screenshot};

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
    if let Ok(icon) = eframe::icon_data::from_png_bytes(include_bytes!("../../../../assets/icon.png")) {
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
