//! What importers of simulators share: lines of a log with their problems, what is said of the run, ops and tracks of a
//! device.

use std::collections::BTreeMap;

use input::{InputSource, Progress, Result, lines};
use trace_model::{
    Access, ArgValue, GroupId, IssueKind, LabelId, MemoryAccess, MemorySpace, Op, TraceBuilder,
    TrackId, TrackKind,
};

/// Maximum number of cores, more than any chip has; each has tracks of its own.
const MAX_CORES: u32 = 4096;

/// What is wrong with a line of a log.
pub type LineProblem = (IssueKind, String);

/// A line that begins like a relevant one and cannot be read.
pub fn unreadable() -> LineProblem {
    (IssueKind::MalformedEvent, "cannot be read".to_owned())
}

/// Passes every message of a log to `add`. Its problems are logged with their places, and so are the errors that the
/// simulator itself wrote.
///
/// # Errors
///
/// The log cannot be read, or the import was cancelled.
pub fn read_log(
    source: &InputSource,
    progress: &Progress,
    out: &mut TraceBuilder,
    mut add: impl FnMut(&str, &mut TraceBuilder) -> Result<(), LineProblem>,
) -> Result<()> {
    let file = source.name();
    let seen = lines::read(source, progress, |line| {
        let is_error = matches!(line.level, "error" | "critical");
        let error = is_error.then(|| (IssueKind::ProfilerError, line.message.to_owned()));
        for (kind, what) in error.into_iter().chain(add(line.message, out).err()) {
            out.log(kind, || format!("line {} of {file}: {what}", line.number));
        }
        Ok(())
    })?;
    seen.log(file, out);
    Ok(())
}

/// A cycle, which is not negative.
pub fn cycle(text: &str) -> Option<i64> {
    text.trim().parse().ok().filter(|cycle| *cycle >= 0)
}

/// A finite number that is not negative.
pub fn amount(text: &str) -> Option<f64> {
    let number = text.trim().parse::<f64>().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// What is known of a core.
///
/// # Errors
///
/// No chip has so many.
pub fn core_of<T: Default>(cores: &mut BTreeMap<u32, T>, core: u32) -> Result<&mut T, LineProblem> {
    if core >= MAX_CORES {
        let what = format!("there is no core {core}: a chip has at most {MAX_CORES}");
        return Err((IssueKind::MalformedEvent, what));
    }
    Ok(cores.entry(core).or_default())
}

/// A line whose cycle comes before the one that was reached.
pub fn went_back(cycle: i64, now: i64) -> LineProblem {
    let what = format!("cycle {cycle} comes after cycle {now}; the line was skipped");
    (IssueKind::BadTimestamp, what)
}

/// Logs that a log holds runs before the one that is shown.
pub fn log_earlier_runs(earlier: usize, out: &mut TraceBuilder) {
    if earlier > 0 {
        out.log(IssueKind::Duplicate, || {
            format!("{earlier} earlier runs in the same log; the last one is shown")
        });
    }
}

/// Logs that a log ends too early.
pub fn log_unended_run(out: &mut TraceBuilder) {
    out.log(IssueKind::TruncatedFile, || {
        "the log ends before the run".to_owned()
    });
}

/// Says which simulator computed the times, and what it does not tell.
pub fn describe(simulator: &str, cannot_know: &[&'static str], out: &mut TraceBuilder) {
    let source = out.source_mut();
    source.simulator = Some(simulator.to_owned());
    source.cannot_know = cannot_know.to_vec();
}

/// A fact about the only device, and so about the whole run.
pub fn add_fact(device: GroupId, name: &str, value: String, out: &mut TraceBuilder) {
    out.set_group_fact(device, name, ArgValue::Text(value.clone()));
    out.source_mut().facts.push((name.to_owned(), value));
}

/// A track at this place among those of its device.
pub fn track_at(
    place: i64,
    device: GroupId,
    kind: TrackKind,
    name: &str,
    out: &mut TraceBuilder,
) -> TrackId {
    let track = out.track(device, kind, place, name);
    out.track_mut(track).sort = place;
    track
}

/// Bytes that an op moves to or from HBM.
pub fn hbm(access: Access, bytes: u64) -> MemoryAccess {
    MemoryAccess {
        space: MemorySpace::Hbm,
        access,
        bytes,
    }
}

/// An op with its costs; the directions of its memory accesses are not known.
pub fn op_with_costs(flops: Option<u64>, hbm_bytes: Option<u64>) -> Op {
    Op {
        flops,
        model_flops: flops,
        bytes_accessed: hbm_bytes,
        memory: hbm_bytes
            .map(|bytes| hbm(Access::Unknown, bytes))
            .into_iter()
            .collect(),
        ..Op::default()
    }
}

/// The label of an op with this name and category.
pub fn label_of_op(name: &str, category: Option<&str>, op: Op, out: &mut TraceBuilder) -> LabelId {
    let op = Op {
        name: out.intern(name),
        category: category.map(|category| out.intern(category)),
        ..op
    };
    let op = out.op(op);
    out.label(name, Some(op))
}

/// A product of `[rows, inner]` and `[inner, columns]` as HLO text, from which analyses take its dimensions.
pub fn product_text(element: &str, [rows, inner, columns]: [u64; 3]) -> String {
    format!(
        "%dot = {element}[{rows},{columns}]{{1,0}} dot({element}[{rows},{inner}]{{1,0}} %lhs, \
         {element}[{inner},{columns}]{{1,0}} %rhs), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
    )
}
