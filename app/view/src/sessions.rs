//! Sessions: the view of a trace with its notes, saved under a name as a small JSON file in the user's configuration
//! directory.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::compare::ViewLink;
use crate::state::ViewState;
use session::user_files as store;

/// Name and version of the file format.
const SCHEMA: &str = "systole.session/1";
/// Largest number appended to a name to make it unique.
const NUMBERED: u32 = 1_000;

/// The content of a session file.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedSession {
    schema: String,
    /// Name of the session; the file has the same name.
    #[serde(skip)]
    pub name: String,
    pub trace: PathBuf,
    pub view: ViewState,
    /// The second trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<Box<SavedSecondTrace>>,
}

/// The second of two traces, and how it is linked to the first.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedSecondTrace {
    pub trace: PathBuf,
    pub view: ViewState,
    /// How the views follow each other.
    pub link: ViewLink,
    /// Share of the height that the first takes.
    pub split: f32,
    /// Whether the tracks of both are in one list.
    #[serde(default)]
    pub interleaved: bool,
}

impl SavedSession {
    /// The view of the first trace for others, without the place of the trace on this machine. The error is a sentence.
    pub fn for_archive(self) -> Result<Vec<u8>, String> {
        // The name is kept in place of the path.
        let alone = Self {
            trace: PathBuf::from(&self.name),
            second: None,
            ..self
        };
        serde_json::to_vec_pretty(&alone).map_err(|error| error.to_string())
    }
}

/// The directory of sessions.
#[derive(Debug, Default)]
pub struct SessionStore {
    folder: Option<PathBuf>,
    /// Names; read at start and after every change, not in every frame.
    names: Vec<String>,
    /// Name of the session that was opened or saved last.
    open: Option<String>,
}

impl SessionStore {
    pub fn of_user() -> Self {
        store::config_dir().map_or_else(Self::default, |dir| {
            Self::in_folder(&dir.join("systole").join("sessions"))
        })
    }

    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: Some(folder.to_owned()),
            names: names_in(folder),
            open: None,
        }
    }

    /// All names, sorted.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Name of the session that was opened or saved last.
    pub fn open_name(&self) -> Option<&str> {
        self.open.as_deref()
    }

    /// Sets the name of the open session.
    pub fn set_open(&mut self, name: Option<String>) {
        self.open = name;
    }

    /// A name under which a view of `trace` can be saved without overwriting another session: `name`, or `name` with a
    /// number. A session of the same trace is overwritten if the user chose the name.
    pub fn free_name(&self, name: &str, trace: &Path, is_chosen: bool) -> String {
        let name = name.trim();
        let is_free = |name: &String| {
            let Ok(file) = self.file(name) else {
                return true;
            };
            !store::exists(&file)
                || (is_chosen && Self::read(&file).is_ok_and(|saved| saved.trace == whole(trace)))
        };
        let numbered = (2..NUMBERED).map(|i| format!("{name} {i}"));
        std::iter::once(name.to_owned())
            .chain(numbered)
            .find(is_free)
            .unwrap_or_else(|| name.to_owned())
    }

    /// Saves a view under a name, which becomes the open session. The error is a sentence.
    pub fn save(
        &mut self,
        name: &str,
        trace: &Path,
        view: &ViewState,
        second: Option<SavedSecondTrace>,
    ) -> Result<(), String> {
        let file = self.file(name)?;
        let second = second.map(|second| {
            Box::new(SavedSecondTrace {
                trace: whole(&second.trace),
                ..second
            })
        });
        let saved = SavedSession {
            schema: SCHEMA.to_owned(),
            name: String::new(),
            trace: whole(trace),
            view: view.clone(),
            second,
        };
        let write = || -> std::io::Result<Vec<String>> {
            let folder = file.parent().unwrap_or(Path::new("."));
            store::write(&file, &serde_json::to_vec_pretty(&saved)?)?;
            Ok(names_in(folder))
        };
        self.names = write()
            .map_err(|error| format!("cannot save this session: {error}: {}", file.display()))?;
        self.open = Some(name.trim().to_owned());
        Ok(())
    }

    /// Deletes a session. The error is a sentence.
    pub fn delete(&mut self, name: &str) -> Result<(), String> {
        let file = self.file(name)?;
        store::remove(&file)
            .map_err(|error| format!("cannot delete this session: {error}: {}", file.display()))?;
        self.names.retain(|other| other != name);
        self.open.take_if(|open| open == name);
        Ok(())
    }

    /// Renames a session; the new name must be free. The error is a sentence.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), String> {
        let (old, new) = (self.file(from)?, self.file(to)?);
        if store::exists(&new) {
            return Err(format!("there is a session {} already", to.trim()));
        }
        store::rename(&old, &new)
            .map_err(|error| format!("cannot rename this session: {error}: {}", old.display()))?;
        self.names = names_in(new.parent().unwrap_or(Path::new(".")));
        if self.open.as_deref() == Some(from) {
            self.open = Some(to.trim().to_owned());
        }
        Ok(())
    }

    /// Reads the session of this name. The error is a sentence.
    pub fn load(&self, name: &str) -> Result<SavedSession, String> {
        Self::read(&self.file(name)?)
    }

    /// The session that a path or name refers to, if any.
    pub fn find(&self, path: &Path) -> Option<SavedSession> {
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
            && store::exists(path)
        {
            return Self::read(path).ok();
        }
        (!path.exists())
            .then(|| self.load(path.to_str()?).ok())
            .flatten()
    }

    /// The session of one of these traces that was saved last.
    pub fn of_trace(&self, traces: &[PathBuf]) -> Option<SavedSession> {
        let mut saved_sessions: Vec<_> = self
            .names
            .iter()
            .filter_map(|name| self.file(name).ok())
            .filter_map(|file| {
                let saved = Self::read(&file)
                    .ok()
                    .filter(|saved| traces.iter().any(|path| saved.trace == whole(path)))?;
                Some((store::modified(&file), saved))
            })
            .collect();
        saved_sessions
            .sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| other.name.cmp(&one.name)));
        saved_sessions.pop().map(|(_, saved)| saved)
    }

    /// The session that an archive of `systole pack` at this path holds as text. The error is a sentence.
    pub fn of_archive(path: &Path, text: &[u8]) -> Result<SavedSession, String> {
        let saved: SavedSession = serde_json::from_slice(text).map_err(|error| {
            format!(
                "the session in this archive is damaged ({error}): {}",
                path.display()
            )
        })?;
        if saved.schema != SCHEMA {
            return Err(format!(
                "the session in this archive is of another version: {}",
                path.display()
            ));
        }
        let name = saved
            .trace
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(SavedSession {
            name,
            trace: path.to_owned(),
            ..saved
        })
    }

    fn read(file: &Path) -> Result<SavedSession, String> {
        // Sessions are small; another file of JSON need not be.
        if store::len(file).is_some_and(|len| len > 8 << 20) {
            return Err(format!("this is not a session: {}", file.display()));
        }
        let text = store::read(file)
            .map_err(|error| format!("cannot read this session: {error}: {}", file.display()))?;
        let mut saved: SavedSession = serde_json::from_slice(&text)
            .map_err(|error| format!("this is not a session ({error}): {}", file.display()))?;
        if saved.schema == SCHEMA {
            saved.name = named(file);
            Ok(saved)
        } else {
            Err(format!(
                "this session is of another version: {}",
                file.display()
            ))
        }
    }

    fn file(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self
            .folder
            .as_ref()
            .ok_or("there is no configuration directory to save sessions in")?;
        let name = name.trim();
        if name.chars().all(|c| c == '.') {
            return Err("a session needs a name".to_owned());
        }
        Ok(folder.join(format!("{}.json", escaped(name))))
    }
}

/// Names of the sessions in a folder, sorted.
fn names_in(folder: &Path) -> Vec<String> {
    let is_ours = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    };
    let mut names: Vec<String> = store::list(folder)
        .into_iter()
        .filter(is_ours)
        .map(|path| named(&path))
        .collect();
    names.sort();
    names
}

fn whole(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// A name as a file name: characters that some systems forbid become `%` and their code, so that different names never
/// share a file.
fn escaped(name: &str) -> String {
    let is_safe = |index: usize, c: char| {
        !c.is_ascii()
            || c.is_ascii_alphanumeric()
            || "_-".contains(c)
            || (" .".contains(c) && index > 0)
    };
    let parts = name.char_indices().map(|(index, c)| {
        if is_safe(index, c) {
            c.to_string()
        } else {
            format!("%{:02X}", c as u32)
        }
    });
    parts.collect()
}

/// The name of the session in a file.
fn named(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut parts = stem.split('%');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let escaped = part.split_at_checked(2).and_then(|(digits, rest)| {
            let code = u8::from_str_radix(digits, 16).ok().filter(u8::is_ascii)?;
            Some((char::from(code), rest))
        });
        if let Some((c, rest)) = escaped {
            name.push(c);
            name += rest;
        } else {
            name.push('%');
            name += part;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::state::{Note, ViewCommand};
    use trace_model::{
        GroupKind, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel, TrackKind,
    };

    /// A view of a trace with one op, its track pinned and a note.
    fn view() -> (TraceModel, ViewState) {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::Ops, 1, "ops");
        let label = builder.label("x", None);
        let range = TimeRange::new(Timestamp::from_ps(0), Timestamp::from_ps(100));
        builder.add_slice(track, SliceSpec::new(range, label));
        let model = builder.finish();
        let mut view = ViewState::new(&model);
        view.apply(
            &ViewCommand::Pin(model.track_ids().next().unwrap(), true),
            &model,
        );
        view.apply(
            &ViewCommand::AddNote(Note {
                range,
                text: "here".to_owned(),
            }),
            &model,
        );
        view.apply(
            &ViewCommand::Select(model.all_slices().next().unwrap().id()),
            &model,
        );
        (model, view)
    }

    #[test]
    fn session_reloads_by_name_and_applies_to_another_trace() {
        let (_, view) = view();
        let dir = tempfile::tempdir().unwrap();
        let mut sessions = SessionStore::in_folder(&dir.path().join("deep"));
        sessions
            .save("night/run", Path::new("/tmp/trace.pb"), &view, None)
            .unwrap();
        assert_eq!(sessions.names(), ["night/run"]);
        let saved = sessions.find(Path::new("night/run")).unwrap();
        assert_eq!(
            (saved.trace.as_path(), saved.name.as_str()),
            (Path::new("/tmp/trace.pb"), "night/run")
        );
        assert_eq!(
            (&saved.view.pinned, &saved.view.notes),
            (&view.pinned, &view.notes)
        );

        // Another trace has neither the track nor the slice.
        let empty = TraceBuilder::new().finish();
        let mut other = ViewState::new(&empty);
        other.apply(&ViewCommand::Restore(Box::new(saved.view)), &empty);
        assert!(other.pinned.is_empty() && other.place.selection.is_none());
        assert_eq!(other.notes.len(), 1);
        assert!(
            sessions.load("..").is_err()
                && sessions.load("none").is_err()
                && sessions.load(" ").is_err()
        );
    }

    #[test]
    fn sessions_do_not_overwrite_each_other() {
        let (_, view) = view();
        let dir = tempfile::tempdir().unwrap();
        let mut sessions = SessionStore::in_folder(dir.path());
        let (first, second) = (Path::new("/run 1/host.pb"), Path::new("/run 2/host.pb"));
        sessions.save("host.pb", first, &view, None).unwrap();
        assert_eq!(
            sessions.free_name("host.pb", second, true),
            "host.pb 2",
            "it is of another trace"
        );
        assert_eq!(
            sessions.free_name(" host.pb", first, true),
            "host.pb",
            "it is what changed"
        );
        assert_eq!(
            sessions.free_name("host.pb", first, false),
            "host.pb 2",
            "nobody said so"
        );
        sessions.save("host.pb 2", second, &view, None).unwrap();
        assert_eq!(
            sessions.free_name("host.pb", Path::new("/run 3/host.pb"), false),
            "host.pb 3"
        );
        fs::write(dir.path().join("odd.json"), "{").unwrap();
        assert_eq!(
            sessions.free_name("odd", first, true),
            "odd 2",
            "somebody may mend it"
        );
        for name in ["a/b", "a_b", "a%2Fb", "ü→.", ".x"] {
            assert_eq!(sessions.free_name(name, second, false), name);
            sessions.save(name, second, &view, None).unwrap();
            assert_eq!(
                (
                    sessions.load(name).unwrap().name.as_str(),
                    sessions.open_name()
                ),
                (name, Some(name))
            );
        }
    }

    #[test]
    fn sessions_are_renamed_and_deleted() {
        let (_, view) = view();
        let dir = tempfile::tempdir().unwrap();
        let mut sessions = SessionStore::in_folder(dir.path());
        for name in ["a", "b"] {
            sessions
                .save(name, Path::new("/trace.pb"), &view, None)
                .unwrap();
        }
        assert!(sessions.rename("b", "a").is_err(), "it would be lost");
        sessions.rename("b", "c/d").unwrap();
        assert_eq!(
            (sessions.names(), sessions.open_name()),
            (&["a".to_owned(), "c/d".to_owned()][..], Some("c/d"))
        );
        sessions.delete("c/d").unwrap();
        assert_eq!(
            (sessions.names(), sessions.open_name()),
            (&["a".to_owned()][..], None)
        );
        assert!(sessions.delete("c/d").is_err() && sessions.rename("c/d", "e").is_err());
    }
}
