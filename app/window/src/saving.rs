//! Saving texts and pictures: asks for a file and writes it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use egui::{ColorImage, Context, ViewportCommand};
use image::ImageEncoder as _;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};

use crate::command::TextToSave;
use crate::jobs::{JobAnswer, WakeUi, Worker};
use crate::platform;

/// Produces the content on a separate thread; the error is a sentence.
type ContentMaker = Box<dyn FnOnce() -> Result<Vec<u8>, String> + Send>;

/// The current save operation.
pub struct SaveJob {
    asked: u32,
    text: Worker<u32, ()>,
    place: Worker<u32, Option<PathBuf>>,
    picture: Option<PathBuf>,
    outcome: Arc<Mutex<Option<Result<(), String>>>>,
}

impl SaveJob {
    pub fn new(wake: &WakeUi) -> Self {
        let place = Worker::new("save dialog", wake);
        Self {
            asked: 0,
            text: Worker::new("save", wake),
            place,
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
        self.asked += 1;
        self.text
            .ask(self.asked, move |_| match platform::place_to_save(&name) {
                Some(path) => {
                    let content = make()?;
                    platform::save(&path, content)
                        .map_err(|error| format!("cannot write: {error}: {}", path.display()))
                }
                None => Ok(()),
            });
    }

    /// Asks for a file and writes a picture of the window there.
    pub fn window(&mut self) {
        self.asked += 1;
        self.place
            .ask(self.asked, |_| Ok(platform::place_to_save("systole.png")));
    }

    /// The outcome of the operation, once.
    pub fn poll(&mut self) -> Option<Result<(), String>> {
        if self.place.poll()
            && let JobAnswer::Ready(Some(path)) = self.place.take()
        {
            self.picture = Some(path);
        }
        if self.text.poll()
            && let JobAnswer::Failed { error, .. } = self.text.take()
        {
            return Some(Err(error));
        }
        self.outcome
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Requests the screenshot from egui, if one is wanted.
    pub fn step(&mut self, ctx: &Context) {
        let Some(path) = self.picture.take() else {
            return;
        };
        let (outcome, again) = (Arc::clone(&self.outcome), ctx.clone());
        ctx.send_viewport_cmd(ViewportCommand::Screenshot(egui::ScreenshotCallback::new(
            move |image| {
                let result = write_png(Path::new(&path), &image);
                *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
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
