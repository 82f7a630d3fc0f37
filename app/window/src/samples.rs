//! Sample traces that ship with the app.

use std::fs;

use crate::platform;
use crate::prelude::*;
use crate::settings::config_dir;
use session::files::write_file;

/// A trace embedded in the program.
pub struct SampleTrace {
    pub title: &'static str,
    file: &'static str,
    bytes: &'static [u8],
}

pub const SAMPLES: &[SampleTrace] = &[
    SampleTrace {
        title: "Training on 8 × TPU v5e: collectives overlap with compute",
        file: "synthetic_v5e_8chip_overlap.trace.json.gz",
        bytes: include_bytes!("../../../assets/samples/synthetic_v5e_8chip_overlap.trace.json.gz"),
    },
    SampleTrace {
        title: "Training on 8 × TPU v5e: a step compiles again",
        file: "synthetic_v5e_8chip_recompile.xplane.pb",
        bytes: include_bytes!("../../../assets/samples/synthetic_v5e_8chip_recompile.xplane.pb"),
    },
    SampleTrace {
        title: "Training on 4 × TPU v6e: collectives and input are late",
        file: "synthetic_v6e_4chip_padded.xplane.pb",
        bytes: include_bytes!("../../../assets/samples/synthetic_v6e_4chip_padded.xplane.pb"),
    },
];

impl SampleTrace {
    /// Writes the trace to the user's data directory (in a browser, only to memory), so that it can be opened. The error
    /// is a sentence.
    pub fn unpack(&self) -> Result<PathBuf, String> {
        if platform::IN_BROWSER {
            return platform::keep(self.file, self.bytes);
        }
        let folder = config_dir().map_or_else(
            || std::env::temp_dir().join("systole-samples"),
            |dir| dir.join("systole"),
        );
        self.unpack_in(&folder.join("samples"))
    }

    fn unpack_in(&self, folder: &Path) -> Result<PathBuf, String> {
        let path = folder.join(self.file);
        // Another window may have it open.
        if fs::read(&path).is_ok_and(|there| there == self.bytes) {
            return Ok(path);
        }
        let written = fs::create_dir_all(folder).and_then(|()| write_file(&path, self.bytes));
        written
            .map_err(|error| format!("cannot unpack the sample: {error}: {}", path.display()))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_file_is_written_once_and_repaired() {
        let dir = tempfile::tempdir().unwrap();
        let (sample, folder) = (&SAMPLES[0], dir.path().join("samples"));
        let path = sample.unpack_in(&folder).unwrap();
        assert_eq!(fs::read(&path).unwrap(), sample.bytes);
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        assert_eq!(sample.unpack_in(&folder).unwrap(), path);
        assert_eq!(
            fs::metadata(&path).unwrap().modified().unwrap(),
            long_ago,
            "it is left alone"
        );
        fs::write(&path, b"half").unwrap();
        sample.unpack_in(&folder).unwrap();
        assert_eq!(fs::read(&path).unwrap(), sample.bytes);
    }
}
