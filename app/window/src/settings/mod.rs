//! Persistent settings: recent files, theme, keys, as JSON in the user's configuration directory. The app works without
//! the file, so failures to read or write it are not reported. Entries that cannot be parsed are left alone, so that a
//! typo or another version of the app costs only that entry. Only changed entries are written, into the current content
//! of the file and by one window at a time, so that two windows do not overwrite each other's changes.

use crate::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::platform;
use session::user_files as store;
use view::palette::Preset;
use view::panels::source::SourcePrefix;

/// Windows narrower than this show reports over the timeline instead of beside it.
pub const NARROW: f32 = 1100.0;
/// Number of recent files.
const RECENT: usize = 12;

/// Dark or light.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThemeChoice {
    /// Follows the system.
    System,
    Dark,
    Light,
}

impl Default for ThemeChoice {
    /// In a browser the page around the window follows the system, too.
    fn default() -> Self {
        if platform::IN_BROWSER {
            Self::System
        } else {
            Self::Dark
        }
    }
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

/// A panel with a size that the user chooses.
#[derive(Clone, Copy, Debug)]
pub enum PanelPart {
    /// The column of reports.
    Reports,
    /// Reports that take most of the window.
    WideReports,
    /// The drawer with details.
    Details,
    /// Reports below the timeline.
    Below,
}

impl PanelPart {
    /// Least and largest size in points.
    pub fn limits(self) -> [f32; 2] {
        match self {
            Self::Reports => [300.0, 2000.0],
            Self::WideReports => [400.0, 4000.0],
            Self::Details => [100.0, 1200.0],
            Self::Below => [120.0, 1200.0],
        }
    }

    /// The size that nobody chose, in a window of this width: reports grow with it, and leave most of it to the
    /// timeline, unless they lie over it.
    fn usual(self, window: f32) -> f32 {
        match self {
            Self::Reports if window < NARROW => 440.0,
            Self::Reports => (0.29 * window).round().clamp(370.0, 1200.0),
            Self::WideReports => (0.6 * window).max(980.0),
            Self::Details => 230.0,
            Self::Below => 260.0,
        }
    }

    /// Whether the size is a width.
    pub fn is_width(self) -> bool {
        matches!(self, Self::Reports | Self::WideReports)
    }
}

/// Sizes of panels in points, where the user chose them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PanelSizes {
    reports: Option<f32>,
    wide_reports: Option<f32>,
    details: Option<f32>,
    below: Option<f32>,
}

impl PanelSizes {
    /// The size of a panel in a window of this width.
    pub fn of(mut self, part: PanelPart, window: f32) -> f32 {
        self.of_mut(part).unwrap_or_else(|| part.usual(window))
    }

    fn of_mut(&mut self, part: PanelPart) -> &mut Option<f32> {
        match part {
            PanelPart::Reports => &mut self.reports,
            PanelPart::WideReports => &mut self.wide_reports,
            PanelPart::Details => &mut self.details,
            PanelPart::Below => &mut self.below,
        }
    }

    fn within_limits(mut self) -> Self {
        for part in [
            PanelPart::Reports,
            PanelPart::WideReports,
            PanelPart::Details,
            PanelPart::Below,
        ] {
            let [least, most] = part.limits();
            let size = self.of_mut(part);
            *size = size
                .filter(|size| size.is_finite())
                .map(|size| size.clamp(least, most));
        }
        self
    }
}

/// A scale at which the window can still be used.
fn sensible_scale(scale: f32) -> f32 {
    if scale.is_finite() {
        scale.clamp(0.6, 3.0)
    } else {
        1.0
    }
}

#[derive(Debug, Serialize)]
pub struct Settings {
    /// Files opened before, the latest first.
    pub recent: Vec<PathBuf>,
    /// Dark or light.
    pub theme: ThemeChoice,
    /// Whether the wheel zooms, and Ctrl and the wheel scroll, instead of the other way round.
    pub wheel_zooms: bool,
    /// How times are written.
    pub times: TimeFormat,
    /// Which colours slices have.
    pub colors: Preset,
    /// Keys of actions that differ from the defaults.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Sizes of panels.
    pub sizes: PanelSizes,
    /// Size of texts and buttons, as a multiple of the usual one.
    pub scale: f32,
    /// Where source files are that the capture names elsewhere; given anew with each start.
    #[serde(skip)]
    pub source_prefixes: Vec<SourcePrefix>,
    /// The file; `None` to store nothing.
    #[serde(skip)]
    file: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            recent: Vec::new(),
            theme: ThemeChoice::default(),
            wheel_zooms: false,
            times: TimeFormat::default(),
            colors: Preset::default(),
            keys: BTreeMap::new(),
            sizes: PanelSizes::default(),
            scale: 1.0,
            source_prefixes: Vec::new(),
            file: None,
        }
    }
}

impl Settings {
    /// The stored settings, or the defaults.
    pub fn load() -> Self {
        config_dir().map_or_else(Self::default, |dir| {
            Self::load_from(&dir.join("systole").join("gui.json"))
        })
    }

    /// The settings in a file, or the defaults.
    pub fn load_from(file: &Path) -> Self {
        let mut settings = Self {
            file: Some(file.to_owned()),
            ..Self::default()
        };
        let Some(mut stored) = stored(file) else {
            return settings;
        };
        settings.recent = taken::<Vec<PathBuf>>(&mut stored, "recent").unwrap_or_default();
        settings.theme = taken(&mut stored, "theme").unwrap_or_default();
        settings.wheel_zooms = taken(&mut stored, "wheel_zooms").unwrap_or_default();
        settings.times = taken(&mut stored, "times").unwrap_or_default();
        settings.colors = taken(&mut stored, "colors").unwrap_or_default();
        settings.sizes = taken::<PanelSizes>(&mut stored, "sizes")
            .unwrap_or_default()
            .within_limits();
        settings.scale = sensible_scale(taken(&mut stored, "scale").unwrap_or(1.0));
        let keys = taken::<BTreeMap<String, Value>>(&mut stored, "keys").unwrap_or_default();
        let read = |(id, keys)| Some((id, serde_json::from_value::<Vec<String>>(keys).ok()?));
        settings.keys = keys.into_iter().filter_map(read).collect();
        settings
    }

    /// Puts a file at the top of the recent ones.
    pub fn remember(&mut self, path: &Path) {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.change_recent(|recent| {
            recent.retain(|other| *other != path);
            recent.insert(0, path);
            recent.truncate(RECENT);
        });
    }

    /// Removes a file from the recent ones.
    pub fn forget(&mut self, path: &Path) {
        self.change_recent(|recent| recent.retain(|other| other != path));
    }

    /// Changes the recent files, starting from the stored list, because other windows may have changed it.
    fn change_recent(&mut self, change: impl FnOnce(&mut Vec<PathBuf>)) {
        let mut recent = std::mem::take(&mut self.recent);
        self.change(|stored| {
            if let Some(others) = taken(stored, "recent") {
                recent = others;
            }
            change(&mut recent);
            let texts = recent
                .iter()
                .filter_map(|path| serde_json::to_value(path).ok());
            stored.insert("recent".to_owned(), texts.collect());
        });
        self.recent = recent;
    }

    pub fn set_theme(&mut self, theme: ThemeChoice) {
        if self.theme != theme {
            self.theme = theme;
            self.save("theme");
        }
    }

    pub fn set_wheel_zooms(&mut self, zooms: bool) {
        self.wheel_zooms = zooms;
        self.save("wheel_zooms");
    }

    /// Chooses how times are written.
    pub fn set_times(&mut self, times: TimeFormat) {
        self.times = times;
        self.save("times");
    }

    /// Chooses the colours of slices.
    pub fn set_colors(&mut self, colors: Preset) {
        self.colors = colors;
        self.save("colors");
    }

    /// Sets the size of a panel, in points.
    pub fn set_size(&mut self, part: PanelPart, size: f32) {
        *self.sizes.of_mut(part) = Some(size);
        self.sizes = self.sizes.within_limits();
        self.save("sizes");
    }

    /// Sets the size of texts and buttons, as a multiple of the usual one.
    pub fn set_scale(&mut self, scale: f32) {
        self.scale = sensible_scale(scale);
        self.save("scale");
    }

    /// Sets the keys that differ from the defaults.
    pub fn set_keys(&mut self, keys: BTreeMap<String, Vec<String>>) {
        let before = std::mem::replace(&mut self.keys, keys);
        self.change(|stored| {
            let mut all = taken::<Map<String, Value>>(stored, "keys").unwrap_or_default();
            for id in before
                .keys()
                .chain(self.keys.keys())
                .filter(|id| before.get(*id) != self.keys.get(*id))
            {
                match self.keys.get(id) {
                    Some(chords) => drop(all.insert(id.clone(), chords.as_slice().into())),
                    None => drop(all.remove(id)),
                }
            }
            stored.insert("keys".to_owned(), all.into());
        });
    }

    /// Writes one entry and leaves the others in the file unchanged.
    fn save(&self, entry: &str) {
        self.change(|stored| {
            if let Some(value) = self.entries().remove(entry) {
                stored.insert(entry.to_owned(), value);
            }
        });
    }

    fn entries(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(entries)) => entries,
            _ => Map::new(),
        }
    }

    /// Changes the current content of the file, which another window may have written.
    fn change(&self, change: impl FnOnce(&mut Map<String, Value>)) {
        let Some(file) = &self.file else {
            return change(&mut Map::new());
        };
        // See the module's comment for why failures are dropped here.
        let lock = store::locked(&file.with_extension("lock"));
        let mut entries = stored(file).unwrap_or_else(|| self.entries());
        change(&mut entries);
        if let Ok(text) = serde_json::to_vec_pretty(&entries) {
            let _ = store::write(file, &text);
        }
        drop(lock);
    }
}

/// The content of the file; `None` if it is missing or damaged.
fn stored(file: &Path) -> Option<Map<String, Value>> {
    let bytes = store::read(file).ok()?;
    let stored = serde_json::from_slice(&bytes).ok();
    if stored.is_none() {
        // A damaged file must not be overwritten, because the user may be able to repair it.
        let _ = store::rename(file, &file.with_extension("damaged.json"));
    }
    stored
}

/// An entry, if it is valid.
fn taken<T: DeserializeOwned>(stored: &mut Map<String, Value>, name: &str) -> Option<T> {
    serde_json::from_value(stored.remove(name)?).ok()
}

pub(super) use store::config_dir;

#[cfg(test)]
mod tests;
