//! Traces that come with the app, to try it without one.

use std::path::PathBuf;

/// A trace inside the program.
pub struct Sample {
    /// What it shows.
    pub title: &'static str,
    file: &'static str,
    bytes: &'static [u8],
}

/// All of them.
pub const SAMPLES: &[Sample] = &[
    Sample {
        title: "Training on 8 × TPU v5e: collectives overlap with compute",
        file: "synthetic_v5e_8chip_overlap.trace.json.gz",
        bytes: include_bytes!("../../../assets/samples/synthetic_v5e_8chip_overlap.trace.json.gz"),
    },
    Sample {
        title: "Training on 8 × TPU v5e: a step compiles again",
        file: "synthetic_v5e_8chip_recompile.xplane.pb",
        bytes: include_bytes!("../../../assets/samples/synthetic_v5e_8chip_recompile.xplane.pb"),
    },
    Sample {
        title: "Training on 4 × TPU v6e: padded matrix products",
        file: "synthetic_v6e_4chip_padded.xplane.pb",
        bytes: include_bytes!("../../../assets/samples/synthetic_v6e_4chip_padded.xplane.pb"),
    },
];

impl Sample {
    /// Writes it where it can be opened from. The error is a sentence.
    pub fn unpack(&self) -> Result<PathBuf, String> {
        let folder = std::env::temp_dir().join("systole-samples");
        let path = folder.join(self.file);
        let write = || {
            std::fs::create_dir_all(&folder)?;
            std::fs::write(&path, self.bytes)
        };
        write().map_err(|error| format!("cannot unpack the sample: {error}: {}", path.display()))?;
        Ok(path)
    }
}
