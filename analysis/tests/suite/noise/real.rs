//! Real captures against themselves: windows of their steps, pairwise.

use analysis::Scope;
use analysis::compare::{Comparison, Summary};

use crate::capture::open;

/// Captures with enough steps of one kind. Loops that compile on purpose are left out.
const CAPTURES: [&str; 3] = [
    "tpu/v6e_x4_host_offload.xplane.pb",
    "tpu/v6e_x4_host_offload_steps_added.xplane.pb",
    "host/jax_cpu_8dev_collectives.xplane.pb",
];

/// Those that this machine has, with their names.
pub fn runs() -> Vec<(&'static str, Summary)> {
    let run =
        |name: &'static str| Some((name, Summary::of(&open(name)?.cx(Scope::WholeTrace)).ok()?));
    CAPTURES.into_iter().filter_map(run).collect()
}

/// Pairs of windows, and the gates that failed, pair by pair.
pub struct Pairs {
    pub pairs: usize,
    pub failed: Vec<String>,
}

/// The steps of a run from one on.
fn window(run: &Summary, from: usize, steps: usize) -> Summary {
    let mut window = run.clone();
    for series in window.series.iter_mut().chain(&mut window.loop_series) {
        series.values = series
            .values
            .iter()
            .skip(from)
            .take(steps)
            .copied()
            .collect();
    }
    (window.ops, window.classes) = (Vec::new(), Vec::new());
    window.steps.counted = steps;
    window
}

/// Each window of so many steps against each other one that it does not overlap.
pub fn pairs(run: &Summary, steps: usize, comparable: &Comparison) -> Pairs {
    let windows: Vec<Summary> = (0..run.steps.counted / steps)
        .map(|at| window(run, at * steps, steps))
        .collect();
    let mut found = Pairs {
        pairs: 0,
        failed: Vec::new(),
    };
    for (a, base) in windows.iter().enumerate() {
        for (b, cand) in windows.iter().enumerate().filter(|(b, _)| *b != a) {
            found.pairs += 1;
            let gates = super::failing(
                std::slice::from_ref(base),
                std::slice::from_ref(cand),
                comparable,
            );
            if !gates.is_empty() {
                found
                    .failed
                    .push(format!("{a} against {b}: {}", gates.join(", ")));
            }
        }
    }
    found
}

/// A row for each capture and length of windows.
pub fn print_table(comparable: &Comparison) {
    println!("\n| capture | steps a window | pairs | false alarms |\n|---|---:|---:|---:|");
    for (name, run) in runs() {
        for steps in [10, 12, 20, 30] {
            let found = pairs(&run, steps, comparable);
            println!(
                "| {name} | {steps} | {} | {} |",
                found.pairs,
                found.failed.len()
            );
            found
                .failed
                .iter()
                .for_each(|why| println!("<!-- {why} -->"));
        }
    }
}
