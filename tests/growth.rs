//! Work grows with the trace, not with its square: eight times the steps, layers or
//! devices make all analyses allocate about eight times as much. Bytes are counted,
//! not seconds: they are the same on every machine. For real captures, all analyses need at
//! most twice the memory of the model. Documents with many items of one kind (`shapes.rs`)
//! are opened, drawn and analysed as well. All in one test, because concurrent tests would be
//! counted, too. Work without allocations is not visible here: `cargo bench -p systole --bench
//! many` prints the times of the same documents.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may fail loudly too"
)]

#[path = "heap.rs"]
mod heap;
#[path = "shapes.rs"]
mod shapes;

use std::path::{Path, PathBuf};

use analysis::{ANALYSES, Options, Scope};
use importers::{ImportOptions, InputSource, Progress};
use render::pictures::{self, PicturePanel, PictureStyle};
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use sample_traces::write::xspace_bytes;
use session::Session;
use view::state::ViewState;
use view::timeline::trace::OpenTrace;

#[global_allocator]
static GLOBAL: heap::Counting = heap::Counting;

/// Tolerance: growing vectors are counted more than once, and sorting takes `n log n`.
const SLACK: f64 = 1.1;
const TIMES: u32 = 8;

/// What scans and replays have in memory of an op, at least, while reports read them.
const OP_BYTES: usize = 16;

/// Number of slices, and bytes that all analyses allocate: in total, and at the peak.
fn cost(spec: TrainingSpec) -> [usize; 3] {
    let source = InputSource::from_bytes(
        "run.xplane.pb",
        xspace_bytes(&SyntheticRun::new(spec).session()),
    )
    .unwrap();
    let model = importers::import(&source, &Progress::default()).unwrap();
    let slices = model.slice_count();
    let session = Session::from_model(model, Options::default());
    let heap = analyze(&session);
    let cost = [slices, heap.total(), heap.peak()];
    let before = heap.live();
    session.forget_ops();
    let freed = (before - heap.live()) / slices;
    assert!(freed >= OP_BYTES, "{freed} bytes a slice are freed");
    cost
}

/// Runs all analyses one after the other; returns what they allocated.
fn analyze(session: &Session) -> heap::Heap {
    let heap = heap::begin();
    for entry in ANALYSES {
        // An analysis that does not apply allocates, too.
        let _ = session.report_by_id(entry.id, Scope::WholeTrace);
    }
    heap
}

/// Real captures.
const CAPTURES: [&str; 11] = [
    "tpu/v5e_matmul.xplane.pb",
    "tpu/v5e_matmul.trace.json.gz",
    "tpu/v6e_x4_host_offload.xplane.pb",
    "tpu/v6e_x4_host_offload_steps_added.xplane.pb",
    "tpu/v7x_vllm_tp2_a.trace.json.gz",
    "tpu/v7x_vllm_tp2_b.trace.json.gz",
    "host/jax_cpu_8dev_collectives.xplane.pb",
    "host/jax_cpu_transformer_recompiles.xplane.pb",
    "host/jax_cpu_transformer_recompiles.trace.json.gz",
    "host/tpuvm_cpu_backend.xplane.pb",
    "host/tpuvm_cpu_backend.trace.json.gz",
];

/// All reports of a capture need at most this multiple of the memory of its model.
const MOST_BESIDE_MODEL: f64 = 2.0;

fn check_captures() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    if !corpus.is_dir() {
        assert!(
            std::env::var_os("SYSTOLE_REQUIRE_CORPUS").is_none(),
            "no corpus at {}",
            corpus.display()
        );
        return;
    }
    for file in CAPTURES {
        let heap = heap::begin();
        let (import, options) = (ImportOptions::default(), Options::default());
        let session =
            Session::open(&corpus.join(file), &import, options, &Progress::default()).unwrap();
        let model = heap.live() as f64;
        let growth = analyze(&session).peak() as f64;
        assert!(
            growth <= MOST_BESIDE_MODEL * model,
            "{file}: {growth} bytes beside a model of {model}"
        );
    }
}

/// Bytes that opening, drawing and analysing a document allocates.
fn cost_of_document(document: String) -> usize {
    let heap = heap::begin();
    let source = InputSource::from_bytes("host.trace.json", document.into_bytes()).unwrap();
    let session = Session::from_model(
        importers::import(&source, &Progress::default()).unwrap(),
        Options::default(),
    );
    analyze(&session);
    let trace = OpenTrace::new(PathBuf::from("host.trace.json"), session);
    let state = ViewState::new(&trace.model);
    pictures::draw(
        PicturePanel::TIMELINE,
        &trace,
        &state,
        None,
        PictureStyle::default(),
    )
    .unwrap();
    heap.total()
}

/// Four times as many items cost about four times as much, not sixteen times.
fn check_documents() {
    const FEW: usize = 2_000;
    const TIMES: usize = 4;
    for (what, shape) in shapes::SHAPES {
        let (few, many) = (
            cost_of_document(shape(FEW)),
            cost_of_document(shape(FEW * TIMES)),
        );
        let times = many as f64 / few as f64;
        println!("{what}: {few} bytes, then {times:.2} times as many");
        assert!(
            times < SLACK * TIMES as f64,
            "{what}: {few} bytes, then {many} for {TIMES} times as many"
        );
    }
}

#[test]
fn work_and_memory_grow_linearly_with_the_trace() {
    let small = || TrainingSpec {
        data: 2,
        model: 1,
        layers: 8,
        steps: 16,
        overlap: true,
        ..TrainingSpec::default()
    };
    let before = cost(small());
    let TrainingSpec {
        data,
        layers,
        steps,
        ..
    } = small();
    let larger = [
        (
            "steps",
            TrainingSpec {
                steps: steps * TIMES,
                ..small()
            },
        ),
        (
            "layers",
            TrainingSpec {
                layers: layers * TIMES,
                ..small()
            },
        ),
        (
            "devices",
            TrainingSpec {
                data: data * TIMES,
                ..small()
            },
        ),
    ];
    for (what, spec) in larger {
        let after = cost(spec);
        let [slices, total, peak] = [0, 1, 2].map(|at| after[at] as f64 / before[at] as f64);
        let said = format!(
            "{what}: {before:?} to {after:?}: {slices:.2} × slices, {total:.2} × bytes, {peak:.2} × peak"
        );
        assert!(slices > 0.7 * f64::from(TIMES), "{said}");
        assert!(total < SLACK * slices && peak < SLACK * slices, "{said}");
    }
    check_documents();
    check_captures();
}
