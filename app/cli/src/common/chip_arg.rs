//! `--device-spec`: a published chip by name, or a file that describes one.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use analysis::Options;
use analysis::hardware::chips::{Chip, known};

use session::files::read_small;
use session::stdin::STANDARD;

/// A chip file has a few kilobytes; anything longer is another file.
const MAX_FILE: u64 = 1 << 20;

/// The chip named by the user.
#[derive(Clone, Debug)]
pub enum ChipArg {
    Published(&'static Chip),
    /// Read from a file.
    Own(Arc<Chip>, PathBuf),
}

impl ChipArg {
    /// The facts of the chip.
    pub fn chip(&self) -> &Chip {
        match self {
            Self::Published(chip) => chip,
            Self::Own(chip, _) => chip,
        }
    }

    /// The file that describes it.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Published(_) => None,
            Self::Own(_, path) => Some(path),
        }
    }

    /// Sets it as the chip of devices that record no peaks.
    pub fn assume(&self, options: &mut Options) {
        options.device_spec = Some(self.chip().id.clone());
        options.own_chip = match self {
            Self::Published(_) => None,
            Self::Own(chip, _) => Some(Arc::clone(chip)),
        };
    }
}

impl FromStr for ChipArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(chip) = Chip::named(text) {
            return Ok(Self::Published(chip));
        }
        let path = Path::new(text);
        if text != STANDARD && !path.exists() {
            return Err(format!("no file, and {}", known()));
        }
        let content = read_small(path, MAX_FILE).map_err(|error| error.to_string())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Chip::from_toml(&content, &name)
            .map(|chip| Self::Own(Arc::new(chip), path.to_owned()))
            .map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chip_names_precede_files_of_any_extension() {
        assert!(matches!("TPU v5 lite".parse(), Ok(ChipArg::Published(chip)) if chip.id == "v5e"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lab");
        std::fs::write(&path, "base = \"v6e\"\nhbm_bandwidth = 1e12").unwrap();
        let mut options = Options::default();
        path.to_str().unwrap().parse::<ChipArg>().unwrap().assume(&mut options);
        assert_eq!(options.device_spec.as_deref(), Some("lab"));
        assert_eq!(options.chip().map(|chip| chip.hbm_bandwidth), Some(1e12));
    }

    #[test]
    fn rejects_unknown_chips() {
        let refused = |text: &str| text.parse::<ChipArg>().unwrap_err();
        assert!(refused("v99").contains("known chips are v2"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("zeros.toml");
        std::fs::write(&path, vec![b'#'; MAX_FILE as usize + 1]).unwrap();
        assert!(refused(path.to_str().unwrap()).contains("longer than 1 MB"));
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(refused(path.to_str().unwrap()).contains("UTF-8"));
        assert!(!refused(dir.path().to_str().unwrap()).is_empty());
    }
}
