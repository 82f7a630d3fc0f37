//! The window in a page, and the import in a worker of that page.

use crate::prelude::*;
use analysis::Options;
use importers::{ImportOptions, InputSource};
use wasm_bindgen::JsValue;

use crate::address::Place;
use crate::loader::{StartOptions, file_loader, first_look_loader};
use crate::settings::Settings;
use crate::{App, AppCommand, platform};

/// Opens the window in a canvas: first `paths`, at the `place` of a link (the part of an address after `#`). Long work
/// calls `pause`.
///
/// # Errors
///
/// The browser has no WebGL.
pub async fn start_in_page(
    canvas: web_sys::HtmlCanvasElement,
    paths: Vec<String>,
    place: String,
    pause: fn(),
) -> Result<(), JsValue> {
    tell_panics();
    trace_model::pause_with(pause);
    let create: eframe::AppCreator<'static> = Box::new(move |cc| {
        let options: StartOptions = Arc::new(|| Ok(Options::default()));
        let look = first_look_loader(ImportOptions::default(), Arc::clone(&options));
        let loader = file_loader(ImportOptions::default(), options);
        let mut app = App::new(&cc.egui_ctx, Settings::load(), loader)
            .with_first_look(look)
            .with_sessions(SessionStore::of_user());
        app.address.want(Place::parse(&place));
        let paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
        match &paths[..] {
            [] => {}
            [path] => app.push(AppCommand::Open(path.clone())),
            _ => app.push(AppCommand::Dropped(paths)),
        }
        platform::started();
        Ok(Box::new(app))
    });
    // Dithering costs a sixth of the time of drawing in software, and nothing here is a gradient.
    let options = eframe::WebOptions {
        dithering: false,
        ..eframe::WebOptions::default()
    };
    eframe::WebRunner::new()
        .start(canvas, options, create)
        .await
}

/// Imports files (name, host or nothing, bytes) for another instance of this module, and returns a snapshot of the
/// trace. `tell` is called with the bytes read and to read, `first` with a snapshot of what is shown first of a large file.
///
/// # Errors
///
/// A sentence: nothing could be imported.
pub fn import_in_worker(
    files: Vec<(String, Option<String>, Vec<u8>)>,
    tell: fn(u64, u64),
    first: impl FnOnce(Vec<u8>),
) -> Result<Vec<u8>, String> {
    tell_panics();
    let (options, progress) = (ImportOptions::default(), Progress::watched(tell));
    let sources = files
        .into_iter()
        .map(|(name, host, bytes)| {
            InputSource::from_bytes(name, bytes)
                .and_then(|source| importers::sources_in(source, host))
        })
        .collect::<Result<Vec<_>, _>>()
        .map(|all| all.into_iter().flatten().collect::<Vec<_>>());
    let model = sources.and_then(|sources| {
        if let [(host, source)] = &sources[..]
            && let Some(look) =
                importers::first_look_at(source, host.as_deref(), &options, &progress)
        {
            first(look.to_snapshot());
        }
        importers::import_sources(sources, &options, &progress)
    });
    model
        .map(|model| model.to_snapshot())
        .map_err(|error| error.to_string())
}

/// Tells the page of a panic, which ends this instance.
fn tell_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        platform::stopped(&panic.to_string());
        before(panic);
    }));
}
