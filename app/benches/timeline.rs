//! CPU time of a frame of the timeline, on one thread: 10 M slices on 100 tracks, all of them in
//! sight, 2,000 points wide. `cargo bench -p systole --bench timeline`
//!
//! A frame is everything that egui does up to the triangles: input, layout, paint,
//! tessellation. The target is 8 ms at every zoom.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use analysis::Options;
use egui::{Context, RawInput, Rect, pos2, vec2};
use systole::gui::timeline::{Known, Timeline};
use systole::session::Session;
use systole::view::state::{ViewCommand, ViewState};
use systole::view::trace::OpenTrace;
use trace_model::{GroupKind, Op, Picos, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel, TrackKind};

const TRACKS: u32 = 100;
const SLICES_PER_TRACK: u32 = 100_000;
/// Frames that are measured, after so many that fill the tiles.
const FRAMES: u32 = 200;
const WARM_UP: u32 = 40;
const REPETITIONS: usize = 5;

/// Tracks of short slices between long ones with gaps, each with its own rhythm.
fn model() -> TraceModel {
    let mut builder = TraceBuilder::new();
    let categories = ["convolution fusion", "loop fusion", "copy-done", "all-reduce", "data formatting"];
    let labels: Vec<_> = (0..500)
        .map(|i| {
            let name = builder.intern(&format!("op.{i}"));
            let category = builder.intern(categories[i % categories.len()]);
            let op = builder.op(Op { name, category: Some(category), ..Op::default() });
            builder.label(&format!("op.{i}"), Some(op))
        })
        .collect();
    let host = builder.group(None, GroupKind::Host, "host");
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for track in 0..TRACKS {
        let track = builder.track(host, TrackKind::Ops, i64::from(track), &format!("track {track:03}"));
        let mut at = 0;
        for i in 0..SLICES_PER_TRACK {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let dur = if i % 50 == 0 { 20_000_000 } else { (random % 2_000_000) as i64 };
            let range = TimeRange::at(Timestamp::from_ps(at), Picos::from_ps(dur));
            builder.add_slice(track, SliceSpec::new(range, labels[(random >> 32) as usize % labels.len()]));
            at += dur + (random >> 20) as i64 % 500_000;
        }
    }
    builder.finish()
}

/// Time that this thread has been running, so that a busy machine does not spoil
/// the result; wall time where the system does not say.
fn cpu_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match text.split(' ').next().and_then(|ns| ns.parse().ok()) {
        Some(ns) => Duration::from_nanos(ns),
        None => START.get_or_init(Instant::now).elapsed(),
    }
}

/// A window without a window: what egui needs to run frames.
struct Stage<'a> {
    ctx: Context,
    trace: &'a OpenTrace,
    frames: u64,
}

impl Stage<'_> {
    /// One frame; returns the number of vertices.
    fn frame(&mut self, timeline: &mut Timeline, state: &mut ViewState) -> usize {
        state.apply(&ViewCommand::Pan(0.001), &self.trace.model);
        self.frames += 1;
        let screen = Rect::from_min_size(pos2(0.0, 0.0), vec2(2_260.0, TRACKS as f32 * 28.0 + 60.0));
        let time = Some(self.frames as f64 / 60.0);
        let input = RawInput { screen_rect: Some(screen), time, ..RawInput::default() };
        let mut wanted = Vec::new();
        let mut output =
            self.ctx.run_ui(input, |ui| timeline.ui(ui, self.trace, state, &Known::default(), &mut wanted));
        output.textures_delta.clear();
        let primitives = self.ctx.tessellate(output.shapes, output.pixels_per_point);
        let vertices = primitives.iter().map(|primitive| match &primitive.primitive {
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
            vertices = self.frame(&mut timeline, &mut state);
        }
        let start = cpu_time();
        for _ in 0..FRAMES {
            self.frame(&mut timeline, &mut state);
        }
        (cpu_time().saturating_sub(start) / FRAMES, vertices)
    }

    /// The slowest of the first frames after a jump to where nothing is known yet.
    /// Each frame counts with its fastest repetition: its work is the same each time.
    fn cold(&mut self, state: &ViewState) -> Duration {
        let mut fastest = [Duration::MAX; WARM_UP as usize];
        for _ in 0..REPETITIONS {
            let (mut timeline, mut state) = (Timeline::default(), state.clone());
            for fastest in &mut fastest {
                let start = Instant::now();
                self.frame(&mut timeline, &mut state);
                *fastest = start.elapsed().min(*fastest);
            }
        }
        fastest.into_iter().max().unwrap_or_default()
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
fn main() {
    systole::gui::keep_freed_memory();
    let start = Instant::now();
    let model = model();
    println!("{} slices on {TRACKS} tracks, built in {:.1?}", model.slice_count(), start.elapsed());
    let extent = model.extent();
    let start = Instant::now();
    let trace = OpenTrace::new(PathBuf::from("bench"), Session::from_model(model, Options::default()));
    println!("prepared for drawing in {:.1?}, pyramids {} bytes", start.elapsed(), trace.lod.heap_bytes());
    let mut stage = Stage { ctx: Context::default(), trace: &trace, frames: 0 };
    // Fonts are rasterised once per run, not per frame.
    stage.steady(&ViewState::new(&trace.model));
    println!("{:>14}  {:>10}  {:>10}  {:>10}", "in view", "steady", "cold", "vertices");
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
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!("{:>14}  {:>7.2} ms  {:>7.2} ms  {vertices:>10}", span.to_string(), ms(time), ms(slowest));
    }
    println!("worst {:.2} ms; the target is 8 ms", worst.as_secs_f64() * 1e3);
}
