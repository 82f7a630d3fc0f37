//! What the app remembers between two runs: recent files and the theme, as JSON
//! in the user's configuration directory. Failing to read or write it is no error
//! worth a word: the app works without.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How many recent files are kept.
const RECENT: usize = 12;

/// Dark or light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThemeChoice {
    /// As the system does.
    System,
    /// Dark.
    #[default]
    Dark,
    /// Light.
    Light,
}

impl ThemeChoice {
    pub(super) fn preference(self) -> egui::ThemePreference {
        match self {
            Self::System => egui::ThemePreference::System,
            Self::Dark => egui::ThemePreference::Dark,
            Self::Light => egui::ThemePreference::Light,
        }
    }
}

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Files opened before, the latest first.
    pub recent: Vec<PathBuf>,
    /// Dark or light.
    pub theme: ThemeChoice,
    /// The wheel zooms, and scrolls only with Ctrl.
    pub wheel_zooms: bool,
    /// Keys of actions, in place of the usual ones.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Where it is kept; nowhere where `None`.
    #[serde(skip)]
    file: Option<PathBuf>,
}

impl Settings {
    /// What was remembered last time, or the defaults.
    pub fn load() -> Self {
        config_dir().map_or_else(Self::default, |dir| Self::load_from(&dir.join("systole").join("gui.json")))
    }

    fn load_from(file: &Path) -> Self {
        let stored = fs::read(file).ok().and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        Self { file: Some(file.to_owned()), ..stored.unwrap_or_default() }
    }

    /// Puts a file at the top of the recent ones.
    pub fn remember(&mut self, path: &Path) {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.recent.retain(|other| *other != path);
        self.recent.insert(0, path);
        self.recent.truncate(RECENT);
        self.save();
    }

    /// Takes a file off the recent ones.
    pub fn forget(&mut self, path: &Path) {
        self.recent.retain(|other| other != path);
        self.save();
    }

    /// Chooses the theme.
    pub fn set_theme(&mut self, theme: ThemeChoice) {
        if self.theme != theme {
            self.theme = theme;
            self.save();
        }
    }

    /// Chooses what the wheel does.
    pub fn set_wheel_zooms(&mut self, zooms: bool) {
        self.wheel_zooms = zooms;
        self.save();
    }

    /// Where it is kept.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    fn save(&self) {
        let Some(file) = &self.file else { return };
        let Ok(text) = serde_json::to_vec_pretty(self) else { return };
        // See the module's comment for why failures are dropped here.
        if let Some(dir) = file.parent() {
            let _ = fs::create_dir_all(dir);
        }
        let _ = fs::write(file, text);
    }
}

/// The user's configuration directory.
pub(super) fn config_dir() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if cfg!(windows) {
        absolute("APPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("HOME").map(|home| home.join("Library").join("Application Support"))
    } else {
        absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_files_are_kept_in_order_without_repetition() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deep").join("gui.json");
        let mut settings = Settings::load_from(&file);
        for name in ["/a", "/b", "/a"] {
            settings.remember(Path::new(name));
        }
        settings.set_theme(ThemeChoice::Light);
        let again = Settings::load_from(&file);
        assert_eq!(again.recent, [PathBuf::from("/a"), PathBuf::from("/b")]);
        assert_eq!(again.theme, ThemeChoice::Light);
        for i in 0..50 {
            settings.remember(Path::new(&format!("/{i}")));
        }
        assert_eq!(settings.recent.len(), RECENT);
    }

    #[test]
    fn a_damaged_file_means_defaults() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("gui.json");
        fs::write(&file, b"{ not json").unwrap();
        assert_eq!(Settings::load_from(&file).recent, Vec::<PathBuf>::new());
    }
}
