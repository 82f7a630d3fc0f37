//! From a file to the first frame.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use analysis::Options;
use egui::Context;
use importers::{ImportOptions, Progress};
use view::state::{ViewCommand, ViewState};
use view::timeline::trace::OpenTrace;
use window::timeline::Timeline;
use window::{file_loader, first_look_loader};

use super::traces::import;
use super::{REPETITIONS, SCREEN, Stage, ms};

/// The way from a file to the first frame that shows its tracks, and to the first look at a large one, without the window
/// itself, beside the import alone.
#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
pub fn starts(path: &Path) -> io::Result<()> {
    let loader = file_loader(
        ImportOptions::default(),
        Arc::new(|| Ok(Options::default())),
    );
    let load = || loader(path, &Progress::new()).map_err(io::Error::other);
    let look = first_look_loader(
        ImportOptions::default(),
        Arc::new(|| Ok(Options::default())),
    );
    // A small file has none.
    let first_look = || look(path, &Progress::new()).map(|trace| first_frame(&trace));
    let [mut alone, mut opened, mut drawn, mut looked] = [const { Vec::new() }; 4];
    for _ in 0..2 * REPETITIONS {
        // In turns, because the machine changes.
        for (times, is_ok) in [
            (&mut alone, timed(|| import(path).is_ok())),
            (&mut opened, timed(|| load().is_ok())),
            (
                &mut drawn,
                timed(|| load().map(|trace| first_frame(&trace)).is_ok()),
            ),
            (
                &mut looked,
                timed(|| first_look().is_none_or(|vertices| vertices > 0)),
            ),
        ] {
            let (time, true) = is_ok else {
                return Err(io::Error::other(format!("cannot open {}", path.display())));
            };
            times.push(time);
        }
    }
    let [alone, opened, drawn, looked] = [alone, opened, drawn, looked].map(|mut times| {
        times.sort_unstable();
        ms(times.get(times.len() / 2).copied().unwrap_or_default())
    });
    for (what, time) in [
        ("import", alone),
        ("ready to be drawn", opened),
        ("first frame", drawn),
        ("first frame of the first look, if there is one", looked),
    ] {
        println!(
            "{what:<64} {time:>8.2} ms, {:.2} of the import",
            time / alone
        );
    }
    Ok(())
}

/// Draws the first frame; returns the number of vertices.
fn first_frame(trace: &OpenTrace) -> usize {
    let mut stage = Stage {
        ctx: Context::default(),
        trace,
        frames: 0,
        height: SCREEN,
    };
    window::theme::install(&stage.ctx);
    let (mut timeline, mut state) = (Timeline::default(), ViewState::new(&trace.model));
    stage.frame(&mut timeline, &mut state, &ViewCommand::Pan(0.0))
}

fn timed<T>(run: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let done = run();
    (start.elapsed(), done)
}
