//! Draws the compilations of a log as events of host threads.

use importer_common::prelude::*;
use trace_model::{Arg, ArgRows};

use super::collect::LoggedProgram;
use super::line::LoggedPhase;

/// Tracks of one process: compilations that only partly overlap, on several threads, need one each.
const MAX_LANES: usize = 64;

/// Adds the programs of one process.
pub(super) fn write(writer: &str, programs: &[LoggedProgram], out: &mut TraceBuilder) {
    let group = out.group(None, GroupKind::HostProcess, "JAX log");
    let name = if writer.is_empty() {
        "compilations"
    } else {
        writer
    };
    let mut rows = ArgRows::default();
    let mut lanes: Vec<(TrackId, Vec<Timestamp>)> = Vec::new();
    for program in programs {
        let Some(hull) = program.hull() else { continue };
        let lane = match lanes.iter_mut().position(|(_, open)| fits(open, hull)) {
            Some(lane) => lane,
            None if lanes.len() < MAX_LANES => {
                let lane = lanes.len() as i64;
                let track = out.track(group, TrackKind::HostThread, lane, name);
                lanes.push((track, Vec::new()));
                lanes.len() - 1
            }
            None => lanes.len() - 1,
        };
        let (track, open) = &mut lanes[lane];
        open.push(hull.end);
        add(*track, program, hull, &mut rows, out);
    }
    let source = out.add_arg_source(Arc::new(rows));
    for (track, _) in lanes {
        out.set_arg_source(track, source);
    }
}

/// Whether a span follows, or lies inside of, those of a track that have not ended. `open` are the ends of these.
fn fits(open: &mut Vec<Timestamp>, hull: TimeRange) -> bool {
    while open.last().is_some_and(|end| *end <= hull.start) {
        open.pop();
    }
    open.last().is_none_or(|end| hull.end <= *end)
}

fn add(
    track: TrackId,
    program: &LoggedProgram,
    hull: TimeRange,
    rows: &mut ArgRows,
    out: &mut TraceBuilder,
) {
    let around = out.label(&format!("Compilation of {}", program.function), None);
    out.add_slice(track, SliceSpec::new(hull, around));
    for span in &program.spans {
        let name = match span.phase {
            LoggedPhase::Trace => "trace_to_jaxpr",
            LoggedPhase::Lower => "jaxpr_to_mlir_module",
            LoggedPhase::Compile => "backend_compile",
        };
        let label = out.label(name, None);
        let is_compile = span.phase == LoggedPhase::Compile;
        let args = is_compile.then(|| {
            rows.0.push(args(program));
            rows.0.len() as u64 - 1
        });
        let spec = SliceSpec {
            args,
            ..SliceSpec::new(span.range, label)
        };
        out.add_slice(track, spec);
        if let Some(is_hit) = program.is_hit.filter(|_| is_compile) {
            let name = if is_hit {
                "Persistent compilation cache hit"
            } else {
                "Persistent compilation cache miss"
            };
            let instant = TimeRange::new(span.range.start, span.range.start);
            let label = out.label(name, None);
            out.add_slice(track, SliceSpec::new(instant, label));
        }
    }
}

fn args(program: &LoggedProgram) -> Vec<Arg> {
    let text = |name: &str, value: &str| Arg {
        name: name.to_owned(),
        value: ArgValue::Text(value.to_owned()),
    };
    let mut args = vec![text("function", &program.function)];
    let word = |is_hit| if is_hit { "hit" } else { "miss" };
    args.extend(program.is_hit.map(|is_hit| text("cache", word(is_hit))));
    args.extend(program.reason.iter().map(|reason| text("reason", reason)));
    args.extend(program.key.iter().map(|key| text("cache_key", key)));
    let parts = program.key_parts.iter();
    args.extend(parts.map(|(part, hash)| text(&format!("cache_key.{part}"), hash)));
    let types = program.types.iter().enumerate();
    args.extend(types.map(|(index, of)| text(&format!("argument {index}"), of)));
    args
}
