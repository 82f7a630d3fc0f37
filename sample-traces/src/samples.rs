//! The sample files in the repository.

use trace_model::Picos;
use trace_model::time::PS_PER_MS;

use crate::fleet::FleetSpec;
use crate::prediction;
use crate::rare::{PallasKernel, ServingSample};
use crate::ring::RingSpec;
use crate::session::SampleSession;
use crate::synthetic::{
    AsyncLine, DecodeSpec, HostClock, SyntheticChip, SyntheticRun, TrainingSpec,
};
use crate::write::{gzip, trace_json, xspace_bytes};

/// A file with its content.
#[derive(Debug)]
pub struct SampleFile {
    /// File name, with a directory in front of it for the hosts of one run.
    pub name: String,
    pub bytes: Vec<u8>,
}

impl SampleFile {
    fn xplane(name: &str, session: &SampleSession) -> Self {
        Self {
            name: format!("{name}.xplane.pb"),
            bytes: xspace_bytes(session),
        }
    }
}

/// The specifications of the samples, and whether each is also exported as JSON.
pub fn sample_specs() -> Vec<(TrainingSpec, bool)> {
    let base = TrainingSpec::default();
    let named = |name: &str| TrainingSpec {
        name: format!("synthetic_{name}"),
        ..base.clone()
    };
    vec![
        (named("v5e_8chip_serial"), false),
        (
            TrainingSpec {
                overlap: true,
                ..named("v5e_8chip_overlap")
            },
            true,
        ),
        (
            // Host and device clocks agree here, so the cost of compiling is exact.
            TrainingSpec {
                recompile_at: Some(2),
                device_skew: Picos::ZERO,
                ..named("v5e_8chip_recompile")
            },
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
            // 1000 and 1100 leave much padding in tiles of 256. Without a Steps line, steps follow from programs.
            TrainingSpec {
                chip: SyntheticChip::V6E,
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

pub fn sample_files() -> Vec<SampleFile> {
    let mut files = Vec::new();
    for (spec, as_json) in sample_specs() {
        let name = spec.name.clone();
        let session = SyntheticRun::new(spec).session();
        files.push(SampleFile::xplane(&name, &session));
        if as_json {
            let bytes = gzip(trace_json(&session).as_bytes());
            files.push(SampleFile {
                name: format!("{name}.trace.json.gz"),
                bytes,
            });
        }
    }
    let captures = [
        (
            "synthetic_v5p_ring_serial",
            RingSpec {
                overlapped: false,
                ..RingSpec::default()
            }
            .session(),
        ),
        ("synthetic_v5p_ring_overlap", RingSpec::default().session()),
        ("synthetic_v5e_8chip_straggler", straggler().session()),
        ("synthetic_v5e_decode", decode().session()),
        (
            "synthetic_v6e_pallas_waits",
            PallasKernel::default().session(),
        ),
        ("synthetic_v5e_serving", ServingSample::default().session()),
        ("synthetic_v5e_layer_measured", prediction::measured()),
    ];
    files.push(SampleFile {
        name: "synthetic_v5e_layer_predicted.txt".to_owned(),
        bytes: prediction::predicted().into_bytes(),
    });
    let two_hosts = SyntheticRun::new(TrainingSpec {
        data: 1,
        model: 2,
        ..TrainingSpec::default()
    });
    let behind = HostClock {
        ahead: Picos::from_ps(-3 * PS_PER_MS / 4),
        drift_ppm: 0.0,
    };
    let hosts = [("host_a", HostClock::default()), ("host_b", behind)];
    files.extend(captures.map(|(name, session)| SampleFile::xplane(name, &session)));
    files.extend(hosts.map(|(host, clock)| {
        SampleFile::xplane(
            &format!("synthetic_two_hosts/{host}"),
            &two_hosts.host_session(host, clock),
        )
    }));
    files
}

/// Eight devices; one of them computes 3 ms longer.
fn straggler() -> FleetSpec {
    FleetSpec {
        straggler: Some((5, Picos::from_ps(3 * PS_PER_MS))),
        ..FleetSpec::default()
    }
}

/// One device that generates tokens in a loop that appends to a cache.
fn decode() -> SyntheticRun {
    let decode = DecodeSpec {
        batch: 8,
        cache: 1024,
        tokens: 64,
    };
    SyntheticRun::decoding(
        TrainingSpec {
            data: 1,
            model: 1,
            steps: 3,
            ..TrainingSpec::default()
        },
        decode,
    )
}
