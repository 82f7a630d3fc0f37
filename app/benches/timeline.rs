//! CPU time of a frame of the timeline: 10 M slices on 100 tracks, all of them in
//! sight, 2,000 points wide. `cargo bench -p systole --bench timeline`
//!
//! A frame is everything that egui does up to the triangles: input, layout, paint,
//! tessellation. The target is 8 ms at every zoom.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use analysis::Options;
use egui::{Context, RawInput, Rect, pos2, vec2};
use systole::gui::state::{ViewCommand, ViewState};
use systole::gui::timeline::Timeline;
use systole::gui::trace::OpenTrace;
use systole::session::Session;
use trace_model::{GroupKind, Op, Picos, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel, TrackKind};

const TRACKS: u32 = 100;
const SLICES_PER_TRACK: u32 = 100_000;
const FRAMES: usize = 41;

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

/// Median and worst time of a frame while the view pans a little every frame.
fn frame_time(trace: &OpenTrace, state: &mut ViewState) -> (Duration, Duration, usize) {
    let ctx = Context::default();
    let mut timeline = Timeline::default();
    let height = TRACKS as f32 * 28.0 + 60.0;
    let screen = Rect::from_min_size(pos2(0.0, 0.0), vec2(2_260.0, height));
    let mut times = Vec::with_capacity(FRAMES);
    let mut vertices = 0;
    for frame in 0..FRAMES {
        state.apply(&ViewCommand::Pan(0.001), &trace.model);
        let input = RawInput { screen_rect: Some(screen), time: Some(frame as f64 / 60.0), ..RawInput::default() };
        let start = Instant::now();
        let mut wanted = Vec::new();
        let mut output = ctx.run_ui(input, |ui| timeline.ui(ui, trace, state, &[], &mut wanted));
        output.textures_delta.clear();
        let primitives = ctx.tessellate(output.shapes, output.pixels_per_point);
        times.push(start.elapsed());
        vertices = primitives
            .iter()
            .map(|primitive| match &primitive.primitive {
                egui::epaint::Primitive::Mesh(mesh) => mesh.vertices.len(),
                egui::epaint::Primitive::Callback(_) => 0,
            })
            .sum();
    }
    times.sort_unstable();
    (times[FRAMES / 2], times[FRAMES - 1], vertices)
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
fn main() {
    let start = Instant::now();
    let model = model();
    println!("{} slices on {TRACKS} tracks, built in {:.1?}", model.slice_count(), start.elapsed());
    let extent = model.extent();
    let start = Instant::now();
    let trace = OpenTrace::new(PathBuf::from("bench"), Session::from_model(model, Options::default()));
    println!("prepared for drawing in {:.1?}, pyramids {} bytes", start.elapsed(), trace.lod.heap_bytes());
    let trace = Arc::new(trace);
    println!("{:>14}  {:>10}  {:>10}  {:>10}", "in view", "median", "worst", "vertices");
    let mut worst = Duration::ZERO;
    for zoom in 0..20 {
        let mut state = ViewState::new(&trace.model);
        let span = Picos::from_ps(extent.dur().ps() >> zoom);
        let from = extent.start + Picos::from_ps(extent.dur().ps() / 3);
        if zoom > 0 {
            state.apply(&ViewCommand::Show(TimeRange::at(from, span)), &trace.model);
        }
        let (time, slowest, vertices) = frame_time(&trace, &mut state);
        worst = worst.max(slowest);
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!("{:>14}  {:>7.2} ms  {:>7.2} ms  {vertices:>10}", span.to_string(), ms(time), ms(slowest));
    }
    println!("worst {:.2} ms; the target is 8 ms", worst.as_secs_f64() * 1e3);
}
