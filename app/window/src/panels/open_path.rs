//! A field for a path, with the entries of its directory. It works where the system has no file dialog, and for log
//! directories, which most file dialogs cannot choose.

use std::fs;
use std::path::{Path, PathBuf};

use egui::{Align2, Context, Key, ScrollArea, TextEdit};
use importers::IMPORTERS;

use super::widgets::{at_right, dialog, remark};
use crate::AppCommand;
use crate::jobs::{JobAnswer, WakeUi, Worker};

/// Entries of a directory that are listed: there are file systems with millions.
const MOST: usize = 10_000;

pub struct OpenPath {
    /// Whether the trace is to be compared with the open one.
    beside: bool,
    text: String,
    chosen: Option<usize>,
    /// Reads directories in the background, because a disk may take long to answer.
    entries: Worker<PathBuf, Vec<PathEntry>>,
    is_new: bool,
}

/// A directory, or a file that may be a profile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PathEntry {
    is_file: bool,
    name: String,
}

impl OpenPath {
    /// A dialog that begins in `folder`.
    pub fn new(folder: Option<&Path>, beside: bool, wake: &WakeUi) -> Self {
        let folder = folder
            .map(Path::to_owned)
            .or_else(|| std::env::current_dir().ok())
            .unwrap_or_default();
        let mut text = folder.display().to_string();
        if !text.ends_with(std::path::MAIN_SEPARATOR) {
            text.push(std::path::MAIN_SEPARATOR);
        }
        Self {
            beside,
            text,
            chosen: None,
            entries: Worker::new("directory", wake),
            is_new: true,
        }
    }

    /// Takes over the entries that were read.
    pub fn poll(&mut self) {
        self.entries.poll();
    }

    /// Whether nothing is being read.
    pub fn is_settled(&self) -> bool {
        !self.entries.is_running()
    }

    /// Draws it; true once it is done.
    pub fn ui(&mut self, ctx: &Context, out: &mut Vec<AppCommand>) -> bool {
        let mut done = false;
        let title = if self.beside { "Compare with" } else { "Open" };
        dialog(title)
            .title_bar(false)
            .anchor(Align2::CENTER_TOP, [0.0, 80.0])
            .fixed_size([640.0, 380.0])
            .show(ctx, |ui| {
                let label = ui.label(remark(format!(
                    "{title}: a profile, a run, or a log directory"
                )));
                ui.horizontal(|ui| {
                    at_right(ui, |ui| {
                        if ui.button("Cancel").clicked() {
                            done = true;
                        }
                        if ui
                            .button("Browse…")
                            .on_hover_text("The file dialog of the system")
                            .clicked()
                        {
                            out.push(AppCommand::Browse {
                                beside: self.beside,
                            });
                            done = true;
                        }
                        if ui.button("Open").clicked() {
                            done |= self.take(out);
                        }
                        let before = self.text.clone();
                        let edit = TextEdit::singleline(&mut self.text)
                            .desired_width(ui.available_width());
                        // Tab completes, as in a shell.
                        let field = ui.add(edit.lock_focus(true)).labelled_by(label.id);
                        if field.changed() {
                            self.chosen = None;
                            if let Some(absolute) =
                                typed_anew(&before, &self.text).map(str::to_owned)
                            {
                                self.text = absolute;
                                cursor_to_end(ctx, field.id, &self.text);
                            }
                        }
                        field.request_focus();
                        if std::mem::take(&mut self.is_new) {
                            cursor_to_end(ctx, field.id, &self.text);
                        }
                        // Uses the current text, because keys of the same frame refer to it.
                        let (folder, _) = split(&self.text);
                        self.entries.ask(folder.clone(), move |_| entries(&folder));
                        self.entries_keys(ctx, field.id, &mut done, out);
                    });
                });
                ui.separator();
                self.list_ui(ui, &mut done, out);
            });
        done
    }

    /// Opens the path as it is typed.
    fn take(&self, out: &mut Vec<AppCommand>) -> bool {
        let path = expanded(self.text.trim());
        if path.as_os_str().is_empty() {
            return false;
        }
        out.push(AppCommand::open(path, self.beside));
        true
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

    fn entries_keys(
        &mut self,
        ctx: &Context,
        field: egui::Id,
        done: &mut bool,
        out: &mut Vec<AppCommand>,
    ) {
        let fitting = self.fitting();
        let pressed = |key| ctx.input(|i| i.key_pressed(key));
        if pressed(Key::Escape) {
            *done = true;
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
            let completed =
                only.map_or_else(|| common_beginning(&fitting), |entry| entry.name.clone());
            if !completed.is_empty() {
                self.complete(&completed, only.is_some_and(|entry| !entry.is_file));
                cursor_to_end(ctx, field, &self.text);
            }
        }
        if pressed(Key::Enter) {
            match self.chosen.and_then(|chosen| fitting.get(chosen)) {
                Some(entry) => {
                    self.complete(&entry.name, !entry.is_file);
                    cursor_to_end(ctx, field, &self.text);
                    *done |= entry.is_file && self.take(out);
                }
                None => *done |= self.take(out),
            }
        }
    }

    /// Completes the typed beginning to `name`.
    fn complete(&mut self, name: &str, is_folder: bool) {
        self.text.truncate(name_at(&self.text));
        self.text.push_str(name);
        if is_folder {
            self.text.push(std::path::MAIN_SEPARATOR);
        }
        self.chosen = None;
    }

    fn list_ui(&mut self, ui: &mut egui::Ui, done: &mut bool, out: &mut Vec<AppCommand>) {
        let fitting = self.fitting();
        match self.entries.memo() {
            JobAnswer::Failed { error, .. } => drop(ui.weak(error)),
            JobAnswer::Ready(_) if fitting.is_empty() => {
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
                let size = egui::vec2(ui.available_width(), row - 4.0);
                let response = ui.add(
                    egui::Button::selectable(is_chosen, text)
                        .truncate()
                        .min_size(size),
                );
                if is_chosen
                    && ui.input(|i| i.key_pressed(Key::ArrowDown) || i.key_pressed(Key::ArrowUp))
                {
                    response.scroll_to_me(None);
                }
                if response.clicked() {
                    self.complete(&entry.name, !entry.is_file);
                    self.is_new = true;
                    *done |= entry.is_file && self.take(out);
                }
            }
        });
    }
}

fn cursor_to_end(ctx: &Context, field: egui::Id, text: &str) {
    let mut state = TextEdit::load_state(ctx, field).unwrap_or_default();
    let end = egui::text::CCursor::new(text.chars().count());
    state
        .cursor
        .set_char_range(Some(egui::text::CCursorRange::one(end)));
    TextEdit::store_state(ctx, field, state);
}

/// The absolute path, or the address, that was typed or pasted after a directory: it replaces the directory.
fn typed_anew<'a>(before: &str, now: &'a str) -> Option<&'a str> {
    let added = now
        .strip_prefix(before)
        .filter(|_| before.ends_with(std::path::is_separator))?;
    if let Some(scheme) = before.strip_suffix(":/").filter(|_| added.starts_with('/')) {
        // The second stroke of `gs://`.
        return now.get(name_at(scheme)..);
    }
    (Path::new(added).has_root() || added.starts_with('~') || added.contains("://"))
        .then_some(added)
}

/// The directory that is typed, and the beginning of a name in it.
fn split(text: &str) -> (PathBuf, String) {
    let (folder, beginning) = text.split_at(name_at(text));
    (
        if folder.is_empty() {
            PathBuf::from(".")
        } else {
            expanded(folder)
        },
        beginning.to_owned(),
    )
}

/// Where the name after the last directory begins.
fn name_at(text: &str) -> usize {
    text.char_indices()
        .rev()
        .find(|&(_, c)| std::path::is_separator(c))
        .map_or(0, |(at, c)| at + c.len_utf8())
}

/// `~` stands for the user's directory.
fn expanded(text: &str) -> PathBuf {
    let rest = text
        .strip_prefix('~')
        .filter(|rest| rest.is_empty() || rest.starts_with(std::path::is_separator));
    match (rest, std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches(std::path::is_separator)),
        _ => PathBuf::from(text),
    }
}

/// Directories, then files that an importer may read, by name.
fn entries(folder: &Path) -> Result<Vec<PathEntry>, String> {
    let read = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_readable = |name: &str| {
        let extensions = IMPORTERS
            .iter()
            .flat_map(|importer| importer.format().extensions);
        extensions
            .map(|extension| format!(".{extension}"))
            .any(|ending| name.ends_with(&ending))
    };
    let known = read.filter_map(Result::ok).filter_map(|entry| {
        let name = entry
            .file_name()
            .into_string()
            .ok()
            .filter(|name| !name.starts_with('.'))?;
        // Follows links to find out whether they are directories or files.
        let is_file = fs::metadata(entry.path()).ok()?.is_file();
        (!is_file || is_readable(&name)).then_some(PathEntry { is_file, name })
    });
    let mut known: Vec<PathEntry> = known.take(MOST).collect();
    known.sort();
    Ok(known)
}

/// The longest common prefix of all names.
fn common_beginning(entries: &[PathEntry]) -> String {
    let mut names = entries.iter().map(|entry| entry.name.as_str());
    let Some(first) = names.next() else {
        return String::new();
    };
    let common = |own: &str, other: &str| {
        own.chars()
            .zip(other.chars())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let length = names
        .map(|name| common(first, name))
        .min()
        .unwrap_or(usize::MAX);
    first.chars().take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_listing_marks_openable_entries() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "b.xplane.pb",
            "a.trace.json.gz",
            "notes.doc",
            ".hidden.json",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("zoo")).unwrap();
        let names: Vec<String> = entries(folder.path())
            .unwrap()
            .into_iter()
            .map(|entry| entry.name)
            .collect();
        assert_eq!(names, ["zoo", "a.trace.json.gz", "b.xplane.pb"]);
        assert!(entries(&folder.path().join("missing")).is_err());
    }

    #[test]
    fn typed_path_splits_into_directory_and_name_prefix() {
        assert_eq!(
            split("/logs/run_"),
            (PathBuf::from("/logs/"), "run_".to_owned())
        );
        assert_eq!(split("run"), (PathBuf::from("."), "run".to_owned()));
        assert_eq!(split("/logs/"), (PathBuf::from("/logs/"), String::new()));
        assert_eq!(expanded("~other/x"), PathBuf::from("~other/x"));
    }

    #[test]
    fn typed_absolute_path_replaces_the_folder() {
        assert_eq!(
            typed_anew("/logs/", "/logs//data/run.json"),
            Some("/data/run.json")
        );
        assert_eq!(typed_anew("/logs/", "/logs/~"), Some("~"));
        assert_eq!(
            typed_anew("/logs/", "/logs/gs://bucket/run"),
            Some("gs://bucket/run")
        );
        assert_eq!(typed_anew("/logs/gs:/", "/logs/gs://"), Some("gs://"));
        // A name in the folder, and changes elsewhere.
        assert_eq!(typed_anew("/logs/", "/logs/r"), None);
        assert_eq!(typed_anew("/logs/run", "/logs/run/"), None);
        assert_eq!(typed_anew("/logs/run/", "/logs//"), None);
        assert_eq!(typed_anew("/logs/", "/logs/"), None);
    }

    #[test]
    fn names_complete_to_their_common_prefix() {
        let entry = |name: &str| PathEntry {
            is_file: true,
            name: name.to_owned(),
        };
        assert_eq!(
            common_beginning(&[entry("run_é1"), entry("run_é2")]),
            "run_é"
        );
        assert_eq!(common_beginning(&[entry("only")]), "only");
        assert_eq!(common_beginning(&[]), "");
    }
}
