//! The asynchronous transfer that an op starts or awaits, in one sentence.

use crate::prelude::*;
use analysis::hlo::Shape;
use analysis::number;
use analysis::reports::OverlapReport;
use analysis::reports::communication::overlap::Transfer;

use crate::time_format::TimeFormat;

/// Memory spaces as the compiler numbers them in shapes.
const SPACES: [(u64, &str); 3] = [(0, "HBM"), (1, "VMEM"), (5, "host memory")];

/// A transfer with both of its ends.
#[derive(Debug)]
pub struct TransferEnds {
    /// The other end: of a done the start, of a start the done.
    pub other: SliceId,
    /// What comes before its name.
    pub before: &'static str,
    /// What comes after its name: what it moves, from where to where, how long and how fast.
    pub about: String,
}

/// The transfer that `slice` starts or awaits; `None` if it does neither.
pub fn transfer(
    model: &TraceModel,
    slice: SliceRef<'_>,
    overlap: Option<&OverlapReport>,
    times: TimeFormat,
) -> Option<TransferEnds> {
    let is_op = |slice: &SliceRef<'_>| {
        slice.op().is_some()
            && matches!(slice.track_ref().kind, TrackKind::Ops | TrackKind::AsyncOps)
    };
    if !is_op(&slice) {
        return None;
    }
    let start = model
        .flows_to(slice.id())
        .map(|flow| model.slice(flow.from))
        .find(is_op);
    let done = || {
        model
            .flows_from(slice.id())
            .iter()
            .map(|flow| model.slice(flow.to))
            .find(is_op)
    };
    let (start, done, other, before) = if let Some(start) = start {
        (start, slice, start, "Waits for")
    } else {
        let done = done()?;
        (slice, done, done, "Awaited by")
    };
    let in_flight = measured_range(done, model).end - measured_range(start, model).start;
    let known = overlap.and_then(|report| transfer_of(model, report, start));
    let message = known.and_then(|transfer| transfer.message.as_ref());
    let bytes = message.map_or_else(|| moved_bytes(model, done), |message| message.bytes);
    let mut parts = Vec::new();
    if let Some(bytes) = bytes {
        let most = if message.is_some_and(|message| message.is_upper_bound) {
            "at most "
        } else {
            ""
        };
        parts.push(format!("{most}{}", number::bytes(bytes)));
    }
    parts.extend(match message.and_then(|message| message.participants) {
        Some(count) => Some(format!("between {count} devices")),
        None => link(model, start, done),
    });
    let seconds = in_flight.as_secs_f64();
    let rate = bytes
        .filter(|_| seconds > 0.0)
        .map(|bytes| number::value(bytes as f64 / seconds, Unit::BytesPerSecond));
    let flight = format!("{} from start to end", times.text(in_flight));
    parts.push(rate.map_or(flight.clone(), |rate| format!("{flight}, {rate}")));
    Some(TransferEnds {
        other: other.id(),
        before,
        about: parts.join(", "),
    })
}

/// Bytes of the result of a copy or slice.
fn moved_bytes(model: &TraceModel, done: SliceRef<'_>) -> Option<u64> {
    Shape::parse(model.str(model.op(done.op()?).shape?))?.bytes()
}

/// From which memory to which, where the shapes of both ends of a copy say so.
fn link(model: &TraceModel, start: SliceRef<'_>, done: SliceRef<'_>) -> Option<String> {
    let space = |slice: SliceRef<'_>, number: usize| {
        let shape = Shape::parse(model.str(model.op(slice.op()?).shape?))?;
        Some(shape.arrays().get(number)?.memory_space)
    };
    let name = |space: u64| {
        let known = SPACES.iter().find(|(number, _)| *number == space);
        known.map_or_else(
            || format!("memory space {space}"),
            |(_, name)| (*name).to_owned(),
        )
    };
    let start_name = model.str(model.op(start.op()?).name);
    let to = space(done, 0)?;
    // The result of a copy-start is destination, source and context.
    let from = space(start, 1).filter(|_| start_name.starts_with("copy-start"));
    Some(match from {
        Some(from) => format!("from {} to {}", name(from), name(to)),
        None => format!("to {}", name(to)),
    })
}

/// The communication or copy that a slice performs or ends.
pub fn transfer_of<'a>(
    model: &TraceModel,
    report: &'a OverlapReport,
    slice: SliceRef<'_>,
) -> Option<&'a Transfer> {
    let begins = model
        .flows_to(slice.id())
        .map(|flow| model.slice(flow.from));
    let mut parts = std::iter::once(slice)
        .chain(begins)
        .filter_map(|slice| Some(model.op(slice.op()?)));
    parts.find_map(|op| {
        let program = op
            .program
            .map(|program| model.str(model.program(program).name));
        let is_own = |other: &&Transfer| {
            other.op == model.str(op.name) && other.program.as_deref() == program
        };
        report.transfers.iter().find(is_own)
    })
}
