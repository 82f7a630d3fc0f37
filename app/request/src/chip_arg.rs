//! The assumed chip: a published one by name, or a file that describes one.

use std::borrow::Cow;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use analysis::hardware::chips::{Chip, known};

use session::files::read_small;
use session::stdin::STANDARD;

/// A chip file has a few kilobytes; anything longer is another file.
const MAX_FILE: u64 = 1 << 20;

/// The chip named by the user.
#[derive(Clone, Debug)]
pub enum ChipArg {
    Published(&'static Chip),
    /// Described in a file, which is read when it is used: not everyone who names a file may read it.
    File(PathBuf),
}

impl ChipArg {
    /// The facts of the chip.
    pub fn chip(&self) -> Result<Cow<'static, Chip>, String> {
        let path = match self {
            Self::Published(chip) => return Ok(Cow::Borrowed(chip)),
            Self::File(path) => path,
        };
        let wrong = |why: String| format!("{}: {why}", path.display());
        if path.as_os_str() != STANDARD && !path.exists() {
            return Err(wrong(format!("no file, and {}", known())));
        }
        let content = read_small(path, MAX_FILE).map_err(|error| wrong(error.to_string()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Chip::from_toml(&content, &name)
            .map(Cow::Owned)
            .map_err(|error| wrong(error.to_string()))
    }

    /// The file that describes it.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Published(_) => None,
            Self::File(path) => Some(path),
        }
    }
}

impl FromStr for ChipArg {
    type Err = Infallible;
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Chip::named(text).map_or_else(|| Self::File(text.into()), Self::Published))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> ChipArg {
        let Ok(chip) = text.parse();
        chip
    }

    #[test]
    fn chip_names_precede_files_of_any_extension() {
        assert!(matches!(named("TPU v5 lite"), ChipArg::Published(chip) if chip.id == "v5e"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lab");
        std::fs::write(&path, "base = \"v6e\"\nhbm_bandwidth = 1e12").unwrap();
        let chip = named(path.to_str().unwrap()).chip().unwrap();
        assert_eq!((&*chip.id, chip.hbm_bandwidth), ("lab", 1e12));
    }

    #[test]
    fn rejects_unknown_chips() {
        let refused = |text: &str| named(text).chip().unwrap_err();
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
