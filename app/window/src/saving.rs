//! Saving texts and pictures: asks for a file and writes it.

use std::sync::Mutex;

use crate::prelude::*;
use egui::{ColorImage, ViewportCommand};
use image::ImageEncoder as _;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};

use crate::command::TextToSave;
use crate::jobs::{JobAnswer, WakeUi, Worker};
use crate::platform::{self, ChosenFile};

/// Produces the content on a separate thread; the error is a sentence.
type ContentMaker = Box<dyn FnOnce() -> Result<Vec<u8>, String> + Send>;

/// What is saved.
enum SavedContent {
    File(ContentMaker),
    /// A picture of the window.
    Window,
}

/// What became of the operation.
pub enum SaveOutcome {
    Saved(PathBuf),
    Failed(String),
    /// The system cannot ask for a place: [`SaveJob::write`] goes on with one that is asked for otherwise.
    NoDialog {
        name: String,
        why: String,
    },
}

/// The current save operation.
pub struct SaveJob {
    ask: fn(&str) -> ChosenFile,
    asked: u32,
    place: Worker<u32, Option<PathBuf>>,
    /// The proposed name and what is saved, until the place is known.
    waiting: Option<(String, SavedContent)>,
    text: Worker<u32, PathBuf>,
    picture: Option<PathBuf>,
    outcome: Arc<Mutex<Option<SaveOutcome>>>,
}

impl SaveJob {
    pub fn new(ask: fn(&str) -> ChosenFile, wake: &WakeUi) -> Self {
        Self {
            ask,
            asked: 0,
            place: Worker::new("save dialog", wake),
            waiting: None,
            text: Worker::new("save", wake),
            picture: None,
            outcome: Arc::default(),
        }
    }

    /// Asks for a file and writes a text there.
    pub fn text(&mut self, save: TextToSave) {
        self.file(save.name, Box::new(move || Ok(save.text.into_bytes())));
    }

    /// Asks for a file, then produces the content and writes it.
    pub fn file(&mut self, name: String, make: ContentMaker) {
        self.ask_for_place(name, SavedContent::File(make));
    }

    /// Asks for a file and writes a picture of the window there.
    pub fn window(&mut self) {
        self.ask_for_place("systole.png".to_owned(), SavedContent::Window);
    }

    fn ask_for_place(&mut self, name: String, content: SavedContent) {
        if let Some((open, _)) = self.waiting.as_ref().filter(|_| self.place.is_running()) {
            let why = format!("cannot save {name}: the dialog for {open} is still open");
            let mut outcome = locked(&self.outcome);
            *outcome = Some(SaveOutcome::Failed(why));
            return;
        }
        self.asked += 1;
        let (ask, proposed) = (self.ask, name.clone());
        self.waiting = Some((name, content));
        self.place.ask(self.asked, move |_| ask(&proposed));
    }

    /// Writes what waits for a place.
    pub fn write(&mut self, path: PathBuf) {
        match self.waiting.take() {
            Some((_, SavedContent::Window)) => self.picture = Some(path),
            Some((_, SavedContent::File(make))) => self.text.ask(self.asked, move |_| {
                let content = make()?;
                platform::save(&path, content)
                    .map_err(|error| format!("cannot write: {error}: {}", path.display()))?;
                Ok(path)
            }),
            None => {}
        }
    }

    /// Forgets what waits for a place.
    pub fn forget(&mut self) {
        self.waiting = None;
    }

    /// What became of the operation, once.
    pub fn poll(&mut self) -> Option<SaveOutcome> {
        if self.place.poll() {
            match self.place.take() {
                JobAnswer::Ready(Some(path)) => self.write(path),
                JobAnswer::Failed { error, .. } => {
                    let (name, _) = self.waiting.as_ref()?;
                    return Some(SaveOutcome::NoDialog {
                        name: name.clone(),
                        why: error,
                    });
                }
                _ => self.forget(),
            }
        }
        if self.text.poll() {
            match self.text.take() {
                JobAnswer::Ready(path) => return Some(SaveOutcome::Saved(path)),
                JobAnswer::Failed { error, .. } => return Some(SaveOutcome::Failed(error)),
                _ => {}
            }
        }
        locked(&self.outcome).take()
    }

    /// Requests the screenshot from egui, if one is wanted.
    pub fn step(&mut self, ctx: &Context) {
        let Some(path) = self.picture.take() else {
            return;
        };
        let (outcome, again) = (Arc::clone(&self.outcome), ctx.clone());
        ctx.send_viewport_cmd(ViewportCommand::Screenshot(egui::ScreenshotCallback::new(
            move |image| {
                let result = match write_png(&path, &image) {
                    Ok(()) => SaveOutcome::Saved(path),
                    Err(error) => SaveOutcome::Failed(error),
                };
                *locked(&outcome) = Some(result);
                again.request_repaint();
            },
        )));
    }
}

/// Writes a picture. The error is a sentence.
pub fn write_png(path: &Path, image: &ColorImage) -> Result<(), String> {
    let [width, height] = image.size;
    let bytes: Vec<u8> = image
        .pixels
        .iter()
        .flat_map(|pixel| [pixel.r(), pixel.g(), pixel.b()])
        .collect();
    let write = || {
        let mut file = Vec::new();
        // Pictures are kept in the repository: small counts, speed does not.
        let encoder =
            PngEncoder::new_with_quality(&mut file, CompressionType::Best, FilterType::Adaptive);
        encoder.write_image(
            &bytes,
            width as u32,
            height as u32,
            image::ExtendedColorType::Rgb8,
        )?;
        Ok::<_, image::ImageError>(platform::save(path, file)?)
    };
    write().map_err(|error| format!("cannot write the picture: {error}: {}", path.display()))
}
