//! The reports of another part of a capture.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use analysis::hints::Hints;
use analysis::reports::Steps;
use analysis::{ANALYSES, Analysis as _, AnalysisEntry, Scope, Table};
use session::Session;
use window::{TABS, wanted_reports};

use super::traces::import;
use super::{RANGES, REPETITIONS, fastest, line, ms, part_of, random_parts};

/// Reports whose own times are shown.
const DEAREST: usize = 12;

/// What the overview needs for another scope, once it is there for the whole capture.
pub fn scopes(path: &Path) -> io::Result<()> {
    let session = import(path)?;
    let wanted: Vec<_> = wanted_reports(&TABS[0]).collect();
    let wanted: Vec<&AnalysisEntry> = ANALYSES
        .iter()
        .filter(|entry| wanted.contains(&entry.id))
        .collect();
    session.context(Scope::WholeTrace).reports_of(&wanted);
    let steps = session
        .report::<Steps>(Scope::WholeTrace)
        .map_err(io::Error::other)?;
    let step = steps
        .steps
        .get(steps.steps.len() / 2)
        .map(|step| step.number)
        .unwrap_or_default();
    let extent = session.model().extent();
    let part = |share: i64| Scope::Range(part_of(extent, share));
    let one = Scope::Steps {
        first: step,
        last: step,
    };
    let slices = session.model().slice_count();
    for (scope, name) in [
        (one, "one step"),
        (part(100), "a hundredth"),
        (part(10), "a tenth"),
        (part(2), "half"),
    ] {
        let time = fastest(|| {
            session.forget(scope);
            overview(&session, &wanted, scope)
        });
        line(
            &format!("overview of {name} of a capture with {slices} slices"),
            time,
            100.0,
        );
    }
    // The window asks for hints when everything else is there.
    let (hints, figures): (Vec<_>, Vec<_>) = wanted
        .iter()
        .copied()
        .partition(|entry| entry.id == Hints::ID);
    marks(&session, &[&figures, &hints]);
    Ok(())
}

/// The reports of an overview of marked ranges, one part after the other, with what each report takes by itself.
#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
fn marks(session: &Session, wanted: &[&[&AnalysisEntry]; 2]) {
    let mut costs: BTreeMap<&str, Duration> = BTreeMap::new();
    let mut times = [Vec::new(), Vec::new()];
    for range in random_parts(session.model().extent(), RANGES) {
        let scope = Scope::Range(range);
        let mut best = [Duration::MAX; 2];
        for _ in 0..REPETITIONS {
            session.forget(scope);
            let began = Instant::now();
            for (best, part) in best.iter_mut().zip(wanted) {
                std::hint::black_box(overview(session, part, scope));
                *best = began.elapsed().min(*best);
            }
        }
        let own = session.context(scope).reports.costs();
        for cost in own.iter().filter(|cost| cost.scope == scope) {
            *costs.entry(cost.id).or_default() += cost.own;
        }
        session.forget(scope);
        for (times, best) in times.iter_mut().zip(best) {
            times.push(best);
        }
    }
    for (what, mut times) in ["figures", "figures and hints"].into_iter().zip(times) {
        times.sort_unstable();
        let p95 = times.get(RANGES * 95 / 100).copied().unwrap_or_default();
        line(
            &format!("{what} of 95 of 100 of {RANGES} random ranges"),
            p95,
            60.0,
        );
    }
    let mut costs: Vec<_> = costs.into_iter().collect();
    costs.sort_by_key(|&(_, time)| Reverse(time));
    for (id, time) in costs.iter().take(DEAREST) {
        println!("{id:>64} {:>8.2} ms", ms(*time) / RANGES as f64);
    }
}

/// Makes the reports of an overview with their tables, and returns the tables.
fn overview(session: &Session, wanted: &[&AnalysisEntry], scope: Scope) -> Vec<Vec<Table>> {
    session.context(scope).reports_of(wanted);
    let tables =
        |entry: &&AnalysisEntry| Some(session.report_by_id(entry.id, scope).ok()?.tables());
    wanted.iter().filter_map(tables).collect()
}
