//! Small captures of every format, written for tests, to be changed.

use std::fmt::Write as _;

use sample_traces::rare::{CounterSamples, MegascaleSample, PallasKernel, SparseOffload};
use sample_traces::session::SampleSession;
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use sample_traces::write::{trace_json, xspace_bytes};
use serde_json::Value;

use super::mutate::{Field, encoded, fields};

/// A small file from the tests of importers.
macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../importers/tests/fixtures/", $name))
    };
}

pub struct Seed {
    pub title: &'static str,
    /// The file that is opened and changed.
    pub name: &'static str,
    pub content: Content,
    /// Files that importers look for beside it.
    pub beside: Vec<(&'static str, &'static str)>,
}

/// The structure of a file that changes make use of.
pub enum Content {
    Text(String),
    Json(Value),
    Proto(Vec<Field>),
    /// Messages, each preceded by its length.
    Frames(Vec<Vec<Field>>),
    /// A file with checksums, of which only bytes are changed.
    Bytes(Vec<u8>),
}

impl Content {
    /// The file as it is.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::Json(document) => document.to_string().into_bytes(),
            Self::Proto(fields) => encoded(fields),
            Self::Bytes(bytes) => bytes.clone(),
            Self::Frames(frames) => framed(frames),
        }
    }
}

/// Messages behind their lengths, of which each has one byte.
pub fn framed(frames: &[Vec<Field>]) -> Vec<u8> {
    let framed = frames.iter().map(|frame| {
        let bytes = encoded(frame);
        [vec![bytes.len().min(0x7f) as u8], bytes].concat()
    });
    framed.collect::<Vec<_>>().concat()
}

fn seed(title: &'static str, name: &'static str, content: Content) -> Seed {
    Seed {
        title,
        name,
        content,
        beside: Vec::new(),
    }
}

fn text(title: &'static str, name: &'static str, content: &str) -> Seed {
    seed(title, name, Content::Text(content.to_owned()))
}

pub fn all() -> Vec<Seed> {
    let spec = || TrainingSpec {
        data: 2,
        model: 1,
        layers: 1,
        steps: 3,
        ..TrainingSpec::default()
    };
    let sessions = [
        ("training", SyntheticRun::new(spec()).session()),
        (
            "training, overlapped",
            SyntheticRun::new(TrainingSpec {
                overlap: true,
                recompile_at: Some(1),
                ..spec()
            })
            .session(),
        ),
        (
            "kernel",
            PallasKernel {
                executions: 2,
                steps: 3,
                ..PallasKernel::default()
            }
            .session(),
        ),
        ("counters", CounterSamples::default().session()),
        ("sparse core", SparseOffload::default().session()),
        ("slices", MegascaleSample::default().session()),
    ];
    let mut seeds = Vec::new();
    for (title, session) in &sessions {
        seeds.push(seed(
            title,
            "host.xplane.pb",
            Content::Proto(proto(session)),
        ));
        let document = serde_json::from_str(&trace_json(session)).expect("the writer writes JSON");
        seeds.push(seed(title, "host.trace.json", Content::Json(document)));
    }
    let everything = fixture!("any_program.trace.json");
    seeds.push(text("any program", "program.json", everything));
    let document = serde_json::from_str(&everything.replace("{},\n ]", "{}]"))
        .expect("valid but for its slips");
    seeds.push(seed("any program", "program.json", Content::Json(document)));
    seeds.extend(simulated());
    // Two files appended to each other, the first with compressed records.
    seeds.push(seed(
        "records",
        "host.xplane.riegeli",
        Content::Bytes(
            include_bytes!("../../../importers/tests/fixtures/host.xplane.riegeli").to_vec(),
        ),
    ));
    seeds
}

fn proto(session: &SampleSession) -> Vec<Field> {
    fields(&xspace_bytes(session), 0).expect("the writer writes protobufs")
}

fn simulated() -> Vec<Seed> {
    let beside = |seed: Seed, beside: &[(&'static str, &'static str)]| Seed {
        beside: beside.to_vec(),
        ..seed
    };
    vec![
        beside(
            text("NeuSim", "m_prefill.csv", fixture!("neusim.csv")),
            &[("m.json", fixture!("neusim.json"))],
        ),
        text("GenZ", "prefill_model_df.csv", fixture!("genz.csv")),
        beside(
            text(
                "SCALE-Sim",
                "COMPUTE_REPORT.csv",
                fixture!("scale_sim_compute.csv"),
            ),
            &[
                (
                    "DETAILED_ACCESS_REPORT.csv",
                    fixture!("scale_sim_access.csv"),
                ),
                ("scale.cfg", fixture!("scale_sim.cfg")),
                ("topology.csv", fixture!("scale_sim_topology.csv")),
            ],
        ),
        text(
            "scheduled HLO",
            "jit_loop.v5e.txt",
            fixture!("loop.hlo.txt"),
        ),
        text(
            "schedule",
            "jit_f.v5e.schedule.txt",
            fixture!("schedule.txt"),
        ),
        beside(
            text("ONNXim", "run.log", fixture!("onnxim.log")),
            &[("config.json", fixture!("onnxim.json"))],
        ),
        text("PyTorchSim", "run.log", fixture!("togsim.log")),
        text("JAX log", "train.log", JAX_LOG),
        text("ASTRA-sim", "log.log", &astra_sim()),
        seed("Chakra", "work.0.et", Content::Frames(chakra())),
    ]
}

const JAX_LOG: &str = "\
TRACING CACHE MISS at train.py:18:21 (main):
  for step defined at train.py:11
  all previously seen cache keys differ. For the closest previous key:
  different input types:
  * at x, now f32[16,64] and before f32[8,64]
WARNING:2026-03-02 10:00:10,000:jax:1: Finished tracing step for jit in 0.5 sec
WARNING:2026-03-02 10:00:10,000:jax:1: Compiling jit(step) with global shapes and types (ShapedArray(float32[16,64]),). Argument mapping: (U,).
DEBUG:2026-03-02 10:00:10,000:jax:1: get_cache_key hash of serialized XLA flags: bb
(worker pid=7) Persistent compilation cache hit for 'jit_step' with key 'jit_step-01'
W0302 10:00:11.250000 7 jax.py:1] Finished XLA compilation of jit(step) in 1.25 sec
";

fn astra_sim() -> String {
    let events = [
        (true, 0, 1, "all-gather_0", 7),
        (false, 4, 1, "all-gather_0", 7),
        (true, 4, 2, "matmul_0", 4),
        (true, 4, 3, "ALL_REDUCE", 7),
        (false, 6, 2, "matmul_0", 4),
        (false, 9, 3, "ALL_REDUCE", 7),
    ];
    let mut text = String::new();
    for (begins, tick, node, name, kind) in events {
        let what = if begins { "issue" } else { "callback" };
        let _ = writeln!(
            text,
            "[12:00] [workload] [debug] {what},sys->id=0, tick={tick}, node->id={node}, node->name={name}, \
             node->type={kind}"
        );
        if node == 2 && begins {
            text += "[12:00] [workload] [debug] operation_intensity=2, perf=50, elapsed_time=1 compute_utilization=0.5 \
                     memory_utilization=0.25 tensor_size=40 num_ops=80\n";
        }
    }
    text + "[12:00] [workload] [info] sys[0] finished, 9 cycles, exposed communication 3 cycles.\n"
}

/// Three nodes: a gather, and two matmuls that depend on all nodes before them.
fn chakra() -> Vec<Vec<Field>> {
    let node = |id: u8, name: &str, kind: u8, needs: &[u8], micros: u8| {
        let mut bytes = vec![0x08, id, 0x12, name.len() as u8];
        bytes.extend(name.as_bytes());
        bytes.extend([0x18, kind, 0x2a, needs.len() as u8]);
        bytes.extend(needs);
        bytes.extend([0x38, micros]);
        bytes
    };
    let frames = [
        b"\x0a\x050.0.4".to_vec(),
        node(1, "gather", 7, &[], 4),
        node(2, "mm", 4, &[1], 3),
        node(3, "mm", 4, &[1, 2], 2),
    ];
    frames
        .iter()
        .map(|frame| fields(frame, 0).expect("written so"))
        .collect()
}
