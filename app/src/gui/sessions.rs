//! Sessions: the view of a trace with its notes, kept under a name. A small file of
//! JSON in the user's configuration directory, to be read, copied and sent.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::write_file;
use crate::view::pair::Link;
use crate::view::state::ViewState;

/// Says what the file is, and changes when it does.
const SCHEMA: &str = "systole.session/1";

/// What is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    schema: String,
    /// The trace.
    pub trace: PathBuf,
    /// What was seen of it.
    pub view: ViewState,
    /// What it was compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Box<Second>>,
}

/// The second of two traces, and how it is linked to the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// The trace.
    pub trace: PathBuf,
    /// What was seen of it.
    pub view: ViewState,
    /// How the views follow each other.
    pub link: Link,
    /// Share of the height that the first takes.
    pub split: f32,
    /// Whether the tracks of both are in one list.
    #[serde(default)]
    pub woven: bool,
}

/// Where sessions are kept.
#[derive(Clone, Debug, Default)]
pub struct Sessions {
    folder: Option<PathBuf>,
    /// Read when the app starts and after keeping one, not for every frame.
    names: Vec<String>,
}

impl Sessions {
    /// Those of the user.
    pub fn of_user() -> Self {
        super::settings::config_dir()
            .map_or_else(Self::default, |dir| Self::in_folder(&dir.join("systole").join("sessions")))
    }

    /// Those of a folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()), names: names_in(folder) }
    }

    /// Names of all, in alphabetical order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Keeps a view under a name. The error is a sentence.
    pub fn save(
        &mut self,
        name: &str,
        trace: &Path,
        view: &ViewState,
        second: Option<Second>,
    ) -> Result<PathBuf, String> {
        let file = self.file(name)?;
        let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let second = second.map(|second| Box::new(Second { trace: whole(&second.trace), ..second }));
        let saved = Saved { schema: SCHEMA.to_owned(), trace: whole(trace), view: view.clone(), second };
        let write = || -> std::io::Result<Vec<String>> {
            let folder = file.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            write_file(&file, &serde_json::to_vec_pretty(&saved)?)?;
            Ok(names_in(folder))
        };
        self.names = write().map_err(|error| format!("cannot keep this session: {error}: {}", file.display()))?;
        Ok(file)
    }

    /// What is kept under a name. The error is a sentence.
    pub fn load(&self, name: &str) -> Result<Saved, String> {
        Self::read(&self.file(name)?)
    }

    /// The session that a path or a name means, if any.
    pub fn find(&self, path: &Path) -> Option<Saved> {
        if path.extension().is_some_and(|extension| extension == "json") && path.is_file() {
            return Self::read(path).ok();
        }
        (!path.exists()).then(|| self.load(path.to_str()?).ok()).flatten()
    }

    fn read(file: &Path) -> Result<Saved, String> {
        // Sessions are small; another file of JSON need not be.
        let long = fs::metadata(file).is_ok_and(|data| data.len() > 8 << 20);
        if long {
            return Err(format!("this is no session: {}", file.display()));
        }
        let text = fs::read(file).map_err(|error| format!("cannot read this session: {error}: {}", file.display()))?;
        let saved: Saved = serde_json::from_slice(&text)
            .map_err(|error| format!("this is no session ({error}): {}", file.display()))?;
        if saved.schema == SCHEMA {
            Ok(saved)
        } else {
            Err(format!("this session is of another version: {}", file.display()))
        }
    }

    fn file(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.folder.as_ref().ok_or("there is no configuration directory to keep sessions in")?;
        let safe: String =
            name.chars().map(|c| if c.is_alphanumeric() || " ._-".contains(c) { c } else { '_' }).collect();
        let safe = safe.trim().trim_start_matches('.');
        if safe.is_empty() {
            return Err("a session needs a name".to_owned());
        }
        Ok(folder.join(format!("{safe}.json")))
    }
}

/// Names of the sessions in a folder, in alphabetical order.
fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_ours = path.extension().is_some_and(|extension| extension == "json");
            is_ours.then(|| path.file_stem().map(|stem| stem.to_string_lossy().into_owned())).flatten()
        })
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::state::{Note, ViewCommand};
    use trace_model::{GroupKind, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

    #[test]
    fn a_session_comes_back_by_its_name_and_fits_another_trace() {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::Ops, 1, "ops");
        let label = builder.label("x", None);
        let range = TimeRange::new(Timestamp::from_ps(0), Timestamp::from_ps(100));
        builder.add_slice(track, SliceSpec::new(range, label));
        let model = builder.finish();
        let mut view = ViewState::new(&model);
        view.apply(&ViewCommand::Pin(model.track_ids().next().unwrap(), true), &model);
        view.apply(&ViewCommand::AddNote(Note { range, text: "here".to_owned() }), &model);
        view.apply(&ViewCommand::Select(model.all_slices().next().unwrap().id()), &model);

        let dir = tempfile::tempdir().unwrap();
        let mut sessions = Sessions::in_folder(&dir.path().join("deep"));
        sessions.save("night/run", Path::new("/tmp/trace.pb"), &view, None).unwrap();
        assert_eq!(sessions.names(), ["night_run"]);
        let saved = sessions.find(Path::new("night/run")).unwrap();
        assert_eq!(saved.trace, Path::new("/tmp/trace.pb"));
        assert_eq!((&saved.view.pinned, &saved.view.notes), (&view.pinned, &view.notes));

        // Another trace has neither the track nor the slice.
        let empty = TraceBuilder::new().finish();
        let mut other = ViewState::new(&empty);
        other.apply(&ViewCommand::Restore(Box::new(saved.view)), &empty);
        assert!(other.pinned.is_empty() && other.place.selection.is_none());
        assert_eq!(other.notes.len(), 1);
        assert!(sessions.load("..").is_err() && sessions.load("none").is_err());
    }
}
