//! Sums of marked areas.

use std::sync::Arc;
use std::time::Duration;

use importers::Progress;
use view::panels::area::{AreaGrouping, AreaSummaries, MarkedArea};
use view::timeline::trace::OpenTrace;

use super::{RANGES, fastest, line, ms, part_of, random_parts};

/// Sums of ranges of all tracks: at first, and when blocks are known.
#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
pub fn areas(trace: &OpenTrace) {
    let extent = trace.model.extent();
    let new = || AreaSummaries::new(trace.model.clone(), Arc::clone(&trace.classes));
    let area = |range| MarkedArea {
        range,
        tracks: Arc::default(),
        pivot: AreaGrouping::Name,
    };
    let sum = |areas: &AreaSummaries, range| {
        let sums = areas.of(&Arc::default(), &area(range), &Progress::new());
        sums.map_or(0, |sums| sums.slices)
    };
    for (share, name) in [
        (100, "a hundredth"),
        (20, "a twentieth"),
        (2, "half"),
        (1, "all"),
    ] {
        let range = part_of(extent, share);
        let slices = sum(&new(), range);
        println!(
            "{:<64} {:>8.2} ms",
            format!("first sums of {name} of the trace: {slices} slices"),
            ms(fastest(|| sum(&new(), range)))
        );
    }
    let areas = new();
    println!(
        "{:<64} {:>8.2} ms",
        format!("finding all blocks of {} slices", trace.model.slice_count()),
        ms(fastest(|| new().prepare(&Progress::new())))
    );
    let _cancelled = areas.prepare(&Progress::new());
    for (share, name) in [
        (100, "a hundredth"),
        (20, "a twentieth"),
        (2, "half"),
        (1, "all"),
    ] {
        let range = part_of(extent, share);
        line(
            &format!("sums of {name} of the trace"),
            fastest(|| sum(&areas, range)),
            60.0,
        );
    }
    let mut times: Vec<Duration> = random_parts(extent, RANGES)
        .map(|range| fastest(|| sum(&areas, range)))
        .collect();
    times.sort_unstable();
    let p95 = times.get(RANGES * 95 / 100).copied().unwrap_or_default();
    line(
        &format!("95 of 100 sums of {RANGES} random ranges"),
        p95,
        60.0,
    );
}
