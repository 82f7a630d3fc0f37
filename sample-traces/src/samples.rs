//! The samples that are kept with the project.

use trace_model::Picos;
use trace_model::time::PS_PER_MS;

use crate::synthetic::{AsyncLine, Chip, Run, TrainingSpec};
use crate::write::{gzip, trace_json, xspace_bytes};

/// A file with its content.
#[derive(Debug)]
pub struct SampleFile {
    /// Name, without directories.
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// The runs behind the samples, and whether they are exported as JSON too.
pub fn sample_specs() -> Vec<(TrainingSpec, bool)> {
    let base = TrainingSpec::default();
    let named = |name: &str| TrainingSpec { name: format!("synthetic_{name}"), ..base.clone() };
    vec![
        (named("v5e_8chip_serial"), false),
        (TrainingSpec { overlap: true, ..named("v5e_8chip_overlap") }, true),
        (
            // Host and device clocks agree here: what compiling costs is exact.
            TrainingSpec { recompile_at: Some(2), device_skew: Picos::ZERO, ..named("v5e_8chip_recompile") },
            false,
        ),
        (
            TrainingSpec {
                overlap: true,
                stall: Some((2, Picos::from_ps(25 * PS_PER_MS))),
                ..named("v5e_8chip_input_stall")
            },
            false,
        ),
        (
            // 1000 and 1100 fill tiles of 256 badly; no Steps line: steps follow from programs.
            TrainingSpec {
                chip: Chip::V6E,
                data: 2,
                model: 2,
                width: 1000,
                hidden: 2200,
                steps: 6,
                steps_line: false,
                async_line: AsyncLine::All,
                overlap: true,
                jitter_seed: Some(7),
                ..named("v6e_4chip_padded")
            },
            true,
        ),
    ]
}

/// All synthetic samples.
pub fn sample_files() -> Vec<SampleFile> {
    let mut files = Vec::new();
    for (spec, as_json) in sample_specs() {
        let name = spec.name.clone();
        let session = Run::new(spec).session();
        files.push(SampleFile { name: format!("{name}.xplane.pb"), bytes: xspace_bytes(&session) });
        if as_json {
            let bytes = gzip(trace_json(&session).as_bytes());
            files.push(SampleFile { name: format!("{name}.trace.json.gz"), bytes });
        }
    }
    files
}
