//! Work grows with the trace, not with its square: eight times the steps, layers or
//! devices make all analyses allocate about eight times as much. Bytes are counted,
//! not seconds: they are the same on every machine. One test only, because others
//! beside it would be counted as well.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

#[path = "heap.rs"]
mod heap;

use analysis::{ANALYSES, Options, Scope};
use importers::{Progress, Source};
use sample_traces::synthetic::{Run, TrainingSpec};
use sample_traces::write::xspace_bytes;
use systole::session::Session;

#[global_allocator]
static GLOBAL: heap::Counting = heap::Counting;

/// What doubles while it grows is counted more than once, and sorting takes `n log n`.
const SLACK: f64 = 1.1;
const TIMES: u32 = 8;

/// Slices, and bytes that all analyses allocate: all together, and most at once.
fn cost(spec: TrainingSpec) -> [usize; 3] {
    let source = Source::from_bytes("run.xplane.pb", xspace_bytes(&Run::new(spec).session())).unwrap();
    let model = importers::import(&source, &Progress::default()).unwrap();
    let slices = model.slice_count();
    let session = Session::from_model(model, Options::default());
    let heap = heap::begin();
    for entry in ANALYSES {
        // An analysis that does not apply costs something, too.
        let _ = session.report_by_id(entry.id, Scope::WholeTrace);
    }
    [slices, heap.total(), heap.peak()]
}

#[test]
fn eight_times_the_trace_costs_eight_times_as_much() {
    let small = || TrainingSpec { data: 2, model: 1, layers: 8, steps: 16, overlap: true, ..TrainingSpec::default() };
    let before = cost(small());
    let TrainingSpec { data, layers, steps, .. } = small();
    let larger = [
        ("steps", TrainingSpec { steps: steps * TIMES, ..small() }),
        ("layers", TrainingSpec { layers: layers * TIMES, ..small() }),
        ("devices", TrainingSpec { data: data * TIMES, ..small() }),
    ];
    for (what, spec) in larger {
        let after = cost(spec);
        let [slices, total, peak] = [0, 1, 2].map(|at| after[at] as f64 / before[at] as f64);
        let said =
            format!("{what}: {before:?} to {after:?}: {slices:.2} × slices, {total:.2} × bytes, {peak:.2} × peak");
        assert!(slices > 0.7 * f64::from(TIMES), "{said}");
        assert!(total < SLACK * slices && peak < SLACK * slices, "{said}");
    }
}
