//! A field for a path, with the entries of its directory. It works where the system has no file dialog, and for log
//! directories, which most file dialogs cannot choose.

mod entries;

use crate::panels::prelude::*;

use super::controls::with_controls;
use entries::{PathEntry, common_beginning, entries, expanded, name_at, split, typed_anew};
use view::panels::source::{SourcePrefix, prefix_to};

/// What the path is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPurpose {
    Open,
    /// To be compared with the open trace.
    Compare,
    Save,
    /// To find a source file that the trace names.
    Sources,
}

/// What the user did.
pub enum PathAnswer {
    Cancelled,
    Chosen(PathBuf),
    /// The source file is there if this replaces the beginning of its path.
    Found(SourcePrefix),
    /// The newest run of this log directory is wanted, and each newer one.
    Follow(PathBuf),
    /// The dialog of the system is wanted; this one stays.
    Browse,
}

pub struct PathDialog {
    purpose: PathPurpose,
    text: String,
    chosen: Option<usize>,
    /// Reads directories in the background, because a disk may take long to answer.
    entries: Worker<PathBuf, Vec<PathEntry>>,
    is_new: bool,
    /// Why the path is asked for here, or why what was typed is not taken.
    notice: Option<String>,
    /// An existing file that is replaced if it is chosen again.
    replaced: Option<PathBuf>,
    /// The source file that is looked for, as recorded.
    source: String,
}

impl PathDialog {
    /// A dialog that begins in `folder`.
    pub fn new(folder: Option<&Path>, purpose: PathPurpose, wake: &WakeUi) -> Self {
        let mut text = folder
            .map(Path::to_owned)
            .or_else(|| std::env::current_dir().ok())
            .unwrap_or_default()
            .display()
            .to_string();
        if !text.ends_with(std::path::MAIN_SEPARATOR) {
            text.push(std::path::MAIN_SEPARATOR);
        }
        Self {
            purpose,
            text,
            chosen: None,
            entries: Worker::new("directory", wake),
            is_new: true,
            notice: None,
            replaced: None,
            source: String::new(),
        }
    }

    /// A dialog that asks in which folder a source file is.
    pub fn to_find(source: String, folder: Option<&Path>, wake: &WakeUi) -> Self {
        let mut dialog = Self::new(folder, PathPurpose::Sources, wake);
        dialog.source = source;
        dialog
    }

    /// A dialog for a place to save at, instead of the dialog of the system.
    pub fn to_save(name: &str, why: String, wake: &WakeUi) -> Self {
        let mut dialog = Self::new(None, PathPurpose::Save, wake);
        dialog.text += name;
        dialog.notice = Some(why);
        dialog
    }

    pub fn purpose(&self) -> PathPurpose {
        self.purpose
    }

    /// Says why the dialog of the system does not appear.
    pub fn explain(&mut self, why: String) {
        self.notice = Some(why);
    }

    /// Takes over the entries that were read.
    pub fn poll(&mut self) {
        self.entries.poll();
    }

    /// Whether nothing is being read.
    pub fn is_settled(&self) -> bool {
        !self.entries.is_running()
    }

    /// Draws it; returns what the user did.
    pub fn ui(&mut self, ctx: &Context) -> Option<PathAnswer> {
        let mut answer = None;
        let (title, about, button) = match self.purpose {
            PathPurpose::Open => ("Open", "a profile, a run, or a log directory", "Open"),
            PathPurpose::Compare => (
                "Compare with",
                "a profile, a run, or a log directory",
                "Open",
            ),
            PathPurpose::Save if self.replaced.is_some() => ("Save as", "a file", "Replace"),
            PathPurpose::Save => ("Save as", "a file", "Save"),
            PathPurpose::Sources => (
                "Folder of the sources",
                "the file itself, or the folder that its recorded path continues in",
                "Use",
            ),
        };
        let room = ctx.content_rect().size() - vec2(60.0, 140.0);
        dialog(title)
            .title_bar(false)
            .anchor(Align2::CENTER_TOP, [0.0, 80.0])
            .fixed_size([640.0_f32.min(room.x), 380.0_f32.min(room.y)])
            .show(ctx, |ui| {
                let label = ui.label(remark(format!("{title}: {about}")));
                if self.purpose == PathPurpose::Sources {
                    ui.label(remark(format!(
                        "Recorded as {}",
                        with_controls(&self.source)
                    )));
                }
                ui.horizontal(|ui| {
                    at_right(ui, |ui| {
                        if ui.button("Cancel").clicked() {
                            answer = Some(PathAnswer::Cancelled);
                        }
                        if matches!(self.purpose, PathPurpose::Open | PathPurpose::Compare)
                            && ui
                                .button("Browse…")
                                .on_hover_text("The file dialog of the system")
                                .clicked()
                        {
                            answer = Some(PathAnswer::Browse);
                        }
                        if self.purpose == PathPurpose::Open && !platform::IN_BROWSER {
                            self.follow_ui(ui, &mut answer);
                        }
                        let takes = ui.button(button).clicked();
                        self.field_ui(ui, label.id);
                        if takes {
                            answer = self.take();
                        }
                        self.keys(ctx, &mut answer);
                    });
                });
                if let Some(notice) = &self.notice {
                    ui.colored_label(theme::current(ui).warning, notice);
                }
                ui.separator();
                self.list_ui(ui, &mut answer);
            });
        answer
    }

    /// The button that follows the directory that is typed.
    fn follow_ui(&self, ui: &mut Ui, answer: &mut Option<PathAnswer>) {
        let (folder, name) = split(&self.text);
        let is_read = matches!(self.entries.memo(), JobAnswer::Ready(_));
        let is_folder = name.is_empty() && is_read && self.entries.key() == Some(&folder);
        let button = ui.add_enabled(is_folder, Button::new("Follow"));
        let about = "Open the newest run of this log directory, and each newer one as soon as it is complete";
        if button
            .on_hover_text(about)
            .on_disabled_hover_text("Type or choose a log directory to follow its runs")
            .clicked()
        {
            *answer = Some(PathAnswer::Follow(folder));
        }
    }

    fn field_ui(&mut self, ui: &mut Ui, label: Id) {
        let before = self.text.clone();
        let edit = TextEdit::singleline(&mut self.text)
            .id(field_id())
            .desired_width(ui.available_width());
        // Tab completes, as in a shell.
        let field = ui.add(edit.lock_focus(true)).labelled_by(label);
        if field.changed() {
            self.chosen = None;
            self.notice = None;
            self.replaced = None;
            if let Some(absolute) = typed_anew(&before, &self.text).map(str::to_owned) {
                self.text = absolute;
                cursor_to_end(ui.ctx(), &self.text);
            }
        }
        field.request_focus();
        if std::mem::take(&mut self.is_new) {
            cursor_to_end(ui.ctx(), &self.text);
        }
        // Uses the current text, because keys of the same frame refer to it.
        let (folder, _) = split(&self.text);
        let all = matches!(self.purpose, PathPurpose::Save | PathPurpose::Sources);
        self.entries
            .ask(folder.clone(), move |_| entries(&folder, all));
    }

    /// The path as it is typed, or a notice why it is not taken.
    fn take(&mut self) -> Option<PathAnswer> {
        let path = expanded(self.text.trim());
        if path.as_os_str().is_empty() {
            return None;
        }
        if self.purpose == PathPurpose::Save {
            return self.take_new(path);
        }
        if self.purpose == PathPurpose::Sources {
            return self.take_sources(&path);
        }
        let fitting = self.fitting();
        let name = &self.text[name_at(&self.text)..];
        let is_one = fitting.iter().any(|entry| entry.name == name);
        if name.is_empty() || fitting.is_empty() || is_one || path.exists() {
            return Some(PathAnswer::Chosen(path));
        }
        if let [only] = &fitting[..] {
            let only = only.clone();
            self.complete(&only);
            return only
                .is_file
                .then(|| PathAnswer::Chosen(expanded(&self.text)));
        }
        self.notice = Some(format!(
            "{} here begin like this: choose one below, or type more.",
            counted(fitting.len() as u64, "name")
        ));
        None
    }

    /// The path of a file to write; one that is there already is taken only the second time.
    fn take_new(&mut self, path: PathBuf) -> Option<PathAnswer> {
        if path.is_dir() || path.file_name().is_none() {
            self.notice = Some("Type the name of the file in this directory, too.".to_owned());
            return None;
        }
        if path.exists() && self.replaced.as_ref() != Some(&path) {
            self.notice =
                Some("There is a file of this name: save again to replace it.".to_owned());
            self.replaced = Some(path);
            return None;
        }
        Some(PathAnswer::Chosen(path))
    }

    /// Where the source file is, seen from a folder, or from the file that was chosen.
    fn take_sources(&mut self, path: &Path) -> Option<PathAnswer> {
        let folder = if path.is_dir() {
            Some(path)
        } else {
            path.parent()
        };
        let prefix = folder.and_then(|folder| prefix_to(&self.source, folder));
        if prefix.is_none() {
            self.notice = Some(
                "Neither here nor below, where its recorded path leads, is a file of its name."
                    .to_owned(),
            );
        }
        prefix.map(PathAnswer::Found)
    }

    /// Entries of the directory that begin as typed; none while it is read.
    fn fitting(&self) -> Vec<PathEntry> {
        let (folder, beginning) = split(&self.text);
        let JobAnswer::Ready(all) = self.entries.memo() else {
            return Vec::new();
        };
        if self.entries.key() != Some(&folder) {
            return Vec::new();
        }
        let beginning = beginning.to_lowercase();
        all.iter()
            .filter(|entry| entry.name.to_lowercase().starts_with(&beginning))
            .cloned()
            .collect()
    }

    fn keys(&mut self, ctx: &Context, answer: &mut Option<PathAnswer>) {
        let fitting = self.fitting();
        let pressed = |key| ctx.input(|i| i.key_pressed(key));
        if pressed(Key::Escape) {
            *answer = Some(PathAnswer::Cancelled);
        }
        if pressed(Key::ArrowDown) && !fitting.is_empty() {
            self.chosen = Some(
                self.chosen
                    .map_or(0, |chosen| chosen + 1)
                    .min(fitting.len() - 1),
            );
        }
        if pressed(Key::ArrowUp) {
            self.chosen = self.chosen.and_then(|chosen| chosen.checked_sub(1));
        }
        if pressed(Key::Tab) {
            let only = self
                .chosen
                .and_then(|chosen| fitting.get(chosen))
                .or(fitting.first().filter(|_| fitting.len() == 1));
            let completed = only.cloned().unwrap_or_else(|| PathEntry {
                is_file: true,
                name: common_beginning(&fitting),
            });
            if !completed.name.is_empty() {
                self.complete(&completed);
                cursor_to_end(ctx, &self.text);
            }
        }
        if pressed(Key::Enter) {
            match self.chosen.and_then(|chosen| fitting.get(chosen)) {
                Some(entry) => {
                    self.complete(entry);
                    if entry.is_file {
                        *answer = self.take();
                    }
                }
                None => *answer = self.take(),
            }
            cursor_to_end(ctx, &self.text);
        }
    }

    /// Completes the typed beginning to the name of an entry.
    fn complete(&mut self, entry: &PathEntry) {
        self.text.truncate(name_at(&self.text));
        self.text += &entry.name;
        if !entry.is_file {
            self.text.push(std::path::MAIN_SEPARATOR);
        }
        self.chosen = None;
        (self.notice, self.replaced) = (None, None);
    }

    fn list_ui(&mut self, ui: &mut Ui, answer: &mut Option<PathAnswer>) {
        let fitting = self.fitting();
        match self.entries.memo() {
            JobAnswer::Failed { error, .. } => drop(ui.weak(error)),
            JobAnswer::Ready(_) if fitting.is_empty() && self.purpose != PathPurpose::Save => {
                drop(ui.weak("Nothing here begins like this."));
            }
            _ => {}
        }
        let row = ui.text_style_height(&egui::TextStyle::Button) + 8.0;
        let list = ScrollArea::vertical().auto_shrink([false, false]);
        list.show_rows(ui, row, fitting.len(), |ui, rows| {
            for (i, entry) in fitting.iter().enumerate().skip(rows.start).take(rows.len()) {
                let text = if entry.is_file {
                    entry.name.clone()
                } else {
                    format!("{}/", entry.name)
                };
                let is_chosen = self.chosen == Some(i);
                let size = vec2(ui.available_width(), row - 4.0);
                let response = ui.add(
                    Button::selectable(is_chosen, text)
                        .truncate()
                        .min_size(size),
                );
                if is_chosen
                    && ui.input(|i| i.key_pressed(Key::ArrowDown) || i.key_pressed(Key::ArrowUp))
                {
                    response.scroll_to_me(None);
                }
                if response.clicked() {
                    self.complete(entry);
                    self.is_new = true;
                    if entry.is_file {
                        *answer = self.take();
                    }
                }
            }
        });
    }
}

fn field_id() -> Id {
    Id::unique("path field")
}

fn cursor_to_end(ctx: &Context, text: &str) {
    let field = field_id();
    let mut state = TextEdit::load_state(ctx, field).unwrap_or_default();
    let end = egui::text::CCursor::new(text.chars().count());
    state
        .cursor
        .set_char_range(Some(egui::text::CCursorRange::one(end)));
    TextEdit::store_state(ctx, field, state);
}
