//! What the window costs with 20 M slices on 200 tracks: frames, searching, summing a marked area, the reports of a
//! marked range, and the first frame of a capture. `cargo bench -p systole --bench timeline [-- PART... [FILE]]`; the parts
//! are `frames`, `large`, `search`, `area`, `scope` and `start`; without any, all of them. With a file, its areas, scopes
//! and start are measured instead of those of synthetic traces.
//!
//! A frame is everything that egui does up to the triangles, on one thread: input, layout, paint, tessellation. While a
//! hand pans and zooms on a screen of 2,000 by 1,200 points, 99 of 100 frames shall take at most 2.5 ms of CPU time. On
//! a screen so high that all tracks are in sight, and with 60 M slices (`large`), all frames, also the first ones after
//! a jump to where nothing is known yet, shall take at most 5 ms.
//!
//! Searching 20 M slices shall take at most 100 ms, the overview of a marked range of a capture with 5 M slices 100 ms, by
//! the clock on two cores. The sums of any marked range shall take at most 60 ms in 95 of 100 cases, once the blocks are
//! known that are found while nobody marks anything.

mod areas;
mod scopes;
mod start;
mod traces;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use analysis::Options;
use cpu_time::ThreadTime;
use egui::{Context, RawInput, Rect, pos2, vec2};
use importers::Progress;
use session::Session;
use trace_model::{Picos, TimeRange};
use view::search::{SearchFor, search};
use view::state::{ViewCommand, ViewState};
use view::timeline::trace::OpenTrace;
use window::timeline::{Timeline, TimelineContext};

use areas::areas;
use scopes::scopes;
use start::starts;
use traces::{capture, import, model};

const TRACKS: u32 = 200;
const SLICES_PER_TRACK: u32 = 100_000;
/// Slices per track of the large trace: 60 M slices on all tracks.
const LARGE: u32 = 300_000;
/// Ops of the capture whose reports are asked for.
const OPS_OF_CAPTURE: u64 = 5_000_000;
/// Ops of the capture that is opened.
const OPS_AT_START: u64 = 1_000_000;
/// Frames that are measured, after so many that fill the tiles.
const FRAMES: u32 = 200;
const WARM_UP: u32 = 40;
/// Height of a screen, and of one that shows all tracks.
const SCREEN: f32 = 1_200.0;
const HIGH: f32 = TRACKS as f32 * 28.0 + 90.0;
const REPETITIONS: usize = 5;
/// Marked ranges whose 95th percentile is shown.
const RANGES: usize = 60;

/// A window without a window: what egui needs to run frames.
struct Stage<'a> {
    ctx: Context,
    trace: &'a OpenTrace,
    frames: u64,
    height: f32,
}

impl Stage<'_> {
    /// One frame after `command`; returns the number of vertices.
    fn frame(
        &mut self,
        timeline: &mut Timeline,
        state: &mut ViewState,
        command: &ViewCommand,
    ) -> usize {
        state.apply(command, &self.trace.model);
        self.frames += 1;
        let screen = Rect::from_min_size(pos2(0.0, 0.0), vec2(2_260.0, self.height));
        let time = Some(self.frames as f64 / 60.0);
        let input = RawInput {
            screen_rect: Some(screen),
            time,
            ..RawInput::default()
        };
        let mut wanted = Vec::new();
        let mut output = self.ctx.run_ui(input, |ui| {
            timeline.ui(
                ui,
                self.trace,
                state,
                &TimelineContext::default(),
                &mut wanted,
            );
        });
        output.textures_delta.clear();
        let primitives = self.ctx.tessellate(output.shapes, output.pixels_per_point);
        let vertices = primitives
            .iter()
            .map(|primitive| match &primitive.primitive {
                egui::epaint::Primitive::Mesh(mesh) => mesh.vertices.len(),
                egui::epaint::Primitive::Callback(_) => 0,
            });
        vertices.sum()
    }

    /// Mean CPU time of a frame while the view pans.
    fn steady(&mut self, state: &ViewState) -> (Duration, usize) {
        let (mut timeline, mut state) = (Timeline::default(), state.clone());
        let mut vertices = 0;
        for _ in 0..WARM_UP {
            vertices = self.frame(&mut timeline, &mut state, &ViewCommand::Pan(0.001));
        }
        let start = ThreadTime::now();
        for _ in 0..FRAMES {
            self.frame(&mut timeline, &mut state, &ViewCommand::Pan(0.001));
        }
        (start.elapsed() / FRAMES, vertices)
    }

    /// The slowest of the first frames after a jump to where nothing is known yet.
    /// Each frame counts with its fastest repetition: its work is the same each time.
    fn cold(&mut self, state: &ViewState) -> Duration {
        let mut fastest = [Duration::MAX; WARM_UP as usize];
        for _ in 0..REPETITIONS {
            let (mut timeline, mut state) = (Timeline::default(), state.clone());
            for fastest in &mut fastest {
                let start = Instant::now();
                self.frame(&mut timeline, &mut state, &ViewCommand::Pan(0.001));
                *fastest = start.elapsed().min(*fastest);
            }
        }
        fastest.into_iter().max().unwrap_or_default()
    }
}

/// From the whole trace to a millionth of it and back, panning all the while.
fn journey() -> Vec<ViewCommand> {
    let zoom = |factor: f64| ViewCommand::Zoom {
        factor,
        anchor: 0.37,
    };
    let into = (0..300).flat_map(|_| [zoom(1.047), ViewCommand::Pan(0.02)]);
    let out = (0..300).flat_map(|_| [zoom(1.0 / 1.047), ViewCommand::Pan(-0.03)]);
    into.chain((0..200).map(|_| ViewCommand::Pan(0.05)))
        .chain(out)
        .collect()
}

/// Median, 99th percentile and worst of the frames of a journey. Each frame counts with its
/// fastest repetition: its work is the same each time, what else the machine does is not.
fn travel(stage: &mut Stage<'_>) -> [Duration; 3] {
    let commands = journey();
    let mut fastest = vec![Duration::MAX; commands.len()];
    for _ in 0..REPETITIONS {
        let (mut timeline, mut state) = (Timeline::default(), ViewState::new(&stage.trace.model));
        for (command, fastest) in commands.iter().zip(&mut fastest) {
            let start = ThreadTime::now();
            stage.frame(&mut timeline, &mut state, command);
            *fastest = start.elapsed().min(*fastest);
        }
    }
    fastest.sort_unstable();
    let at = |share: usize| {
        fastest
            .get((fastest.len() * share / 100).min(fastest.len() - 1))
            .copied()
            .unwrap_or_default()
    };
    [at(50), at(99), at(100)]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A value beside its target.
#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
fn line(what: &str, time: Duration, target_ms: f64) {
    let verdict = if ms(time) <= target_ms {
        "met"
    } else {
        "missed"
    };
    println!(
        "{what:<64} {:>8.2} ms  target {target_ms:>5} ms  {verdict}",
        ms(time)
    );
}

fn open(slices_per_track: u32) -> OpenTrace {
    let session = Session::from_model(model(slices_per_track), Options::default());
    OpenTrace::new(PathBuf::from("bench"), session)
}

/// Frames while panning and zooming, and with all tracks in sight.
#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
fn frames(trace: &OpenTrace) {
    println!("{} slices on {TRACKS} tracks", trace.model.slice_count());
    let mut stage = Stage {
        ctx: Context::default(),
        trace,
        frames: 0,
        height: SCREEN,
    };
    // Fonts are rasterised once per run, not per frame.
    stage.steady(&ViewState::new(&trace.model));
    let [median, slow, worst] = travel(&mut stage);
    println!(
        "panning and zooming: median {:.2} ms, worst {:.2} ms",
        ms(median),
        ms(worst)
    );
    line("99 of 100 frames while panning and zooming", slow, 2.5);
    stage.height = HIGH;
    println!("all tracks in sight:");
    println!(
        "{:>14}  {:>10}  {:>10}  {:>10}",
        "in view", "steady", "cold", "vertices"
    );
    let extent = trace.model.extent();
    let mut worst = Duration::ZERO;
    for zoom in 0..20 {
        let mut state = ViewState::new(&trace.model);
        let span = Picos::from_ps(extent.dur().ps() >> zoom);
        let from = extent.start + Picos::from_ps(extent.dur().ps() / 3);
        if zoom > 0 {
            state.apply(&ViewCommand::Show(TimeRange::at(from, span)), &trace.model);
        }
        let (time, vertices) = stage.steady(&state);
        let slowest = stage.cold(&state);
        worst = worst.max(slowest).max(time);
        println!(
            "{:>14}  {:>7.2} ms  {:>7.2} ms  {vertices:>10}",
            span.to_string(),
            ms(time),
            ms(slowest)
        );
    }
    line("slowest frame with all tracks in sight", worst, 5.0);
}

/// The fastest of several runs: what else the machine does is not its work.
fn fastest<T>(mut run: impl FnMut() -> T) -> Duration {
    let time = |_| {
        let start = Instant::now();
        std::hint::black_box(run());
        start.elapsed()
    };
    (0..REPETITIONS).map(time).min().unwrap_or_default()
}

/// A part of the trace from a third of it on; the whole trace is one part.
fn part_of(extent: TimeRange, share: i64) -> TimeRange {
    let [third, part] = [3, share].map(|share| Picos::from_ps(extent.dur().ps() / share));
    if share == 1 {
        extent
    } else {
        TimeRange::at(extent.start + third, part)
    }
}

/// Parts of the trace between two random instants, always the same ones.
fn random_parts(extent: TimeRange, count: usize) -> impl Iterator<Item = TimeRange> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut time = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let share = (random >> 11) as f64 / (1_u64 << 53) as f64;
        extent.start + Picos::from_ps((extent.dur().as_ps_f64() * share) as i64)
    };
    (0..count).map(move |_| {
        let [one, other] = [time(), time()];
        TimeRange::new(one.min(other), one.max(other))
    })
}

fn searches(trace: &OpenTrace) {
    for text in [
        "op.17",
        "all-reduce",
        "cat:copy dur>1us",
        r"name:/^op\.\d$/",
        "nothing",
    ] {
        let wanted = SearchFor::Text(text.to_owned());
        let found = search(&trace.model, &trace.classes, &wanted, &Progress::new())
            .map_or(0, |found| found.total);
        let time = fastest(|| search(&trace.model, &trace.classes, &wanted, &Progress::new()));
        line(&format!("search for {text}: {found} slices"), time, 100.0);
    }
}

fn main() -> io::Result<()> {
    window::keep_freed_memory();
    // Cargo adds options of its own.
    let (files, parts): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .partition(|arg| Path::new(arg).is_file());
    let wants = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    if let Some(file) = files.first().map(Path::new) {
        if wants("area") {
            areas(&OpenTrace::new(file.to_owned(), import(file)?));
        }
        if wants("scope") {
            scopes(file)?;
        }
        if wants("start") {
            starts(file)?;
        }
        return Ok(());
    }
    if ["frames", "search", "area"].into_iter().any(wants) {
        let trace = open(SLICES_PER_TRACK);
        if wants("frames") {
            frames(&trace);
        }
        if wants("search") {
            searches(&trace);
        }
        if wants("area") {
            areas(&trace);
        }
    }
    if wants("large") {
        frames(&open(LARGE));
    }
    let folder = tempfile::tempdir()?;
    if wants("scope") {
        scopes(&capture(folder.path(), OPS_OF_CAPTURE)?)?;
    }
    if wants("start") {
        starts(&capture(folder.path(), OPS_AT_START)?)?;
    }
    Ok(())
}
