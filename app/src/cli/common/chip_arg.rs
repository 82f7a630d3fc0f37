//! `--device-spec`: a published chip by name, or a file that describes one.

use std::io::Read as _;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use analysis::Options;
use analysis::hardware::chips::{Chip, known};

/// A chip file has a few kilobytes; anything longer is another file.
const MAX_FILE: u64 = 1 << 20;

/// The chip named by the user.
#[derive(Clone, Debug)]
pub enum ChipArg {
    /// A published chip.
    Published(&'static Chip),
    /// Read from a file.
    Own(Arc<Chip>),
}

impl ChipArg {
    /// The facts of the chip.
    pub fn chip(&self) -> &Chip {
        match self {
            Self::Published(chip) => chip,
            Self::Own(chip) => chip,
        }
    }

    /// Sets it as the chip of devices that record no peaks.
    pub fn assume(&self, options: &mut Options) {
        options.device_spec = Some(self.chip().id.clone());
        options.own_chip = match self {
            Self::Published(_) => None,
            Self::Own(chip) => Some(Arc::clone(chip)),
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
        if !path.exists() {
            return Err(format!("no file, and {}", known()));
        }
        let content = read(path).map_err(|error| error.to_string())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Chip::from_toml(&content, &name).map(|chip| Self::Own(Arc::new(chip))).map_err(|error| error.to_string())
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut content = String::new();
    std::fs::File::open(path)?.take(MAX_FILE + 1).read_to_string(&mut content)?;
    if content.len() as u64 > MAX_FILE {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "too large for a chip file"));
    }
    Ok(content)
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
        assert!(refused(path.to_str().unwrap()).contains("too large"));
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(refused(path.to_str().unwrap()).contains("UTF-8"));
        assert!(!refused(dir.path().to_str().unwrap()).is_empty());
    }
}
