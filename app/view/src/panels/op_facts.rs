//! A summary of an execution of an op, for tooltips.

use crate::prelude::*;
use analysis::number;
use analysis::reports::{OpsReport, OverlapReport};

use super::transfer::{transfer, transfer_of};
use crate::time_format::TimeFormat;

/// The reports that are ready.
#[derive(Clone, Copy, Default)]
pub struct KnownReports<'a> {
    /// Ops of the whole trace.
    pub ops: Option<&'a OpsReport>,
    /// Communication and transfers of the whole trace.
    pub overlap: Option<&'a OverlapReport>,
}

/// A few lines about an execution: work and rates, limit, share, exposed time, source. What is not known is left out.
pub fn facts(
    model: &TraceModel,
    slice: SliceRef<'_>,
    known: KnownReports<'_>,
    times: TimeFormat,
) -> Vec<String> {
    let Some(id) = slice.op() else {
        return Vec::new();
    };
    let op = model.op(id);
    let seconds = slice.measured_dur().as_secs_f64();
    let mut lines = Vec::new();
    // A transfer has one rate, from its start to its end: the time of one of its two ops says nothing about it.
    let transfer = transfer(model, slice, known.overlap, times);
    let bytes = op.bytes_accessed.filter(|_| transfer.is_none());
    for (amount, unit, rate) in [
        (op.flops, Unit::Flop, Unit::FlopPerSecond),
        (bytes, Unit::Bytes, Unit::BytesPerSecond),
    ] {
        let Some(amount) = amount.filter(|&amount| amount > 0) else {
            continue;
        };
        let text = number::value(amount as f64, unit);
        lines.push(
            match (seconds > 0.0).then(|| number::value(amount as f64 / seconds, rate)) {
                Some(rate) => format!("{text}, {rate}"),
                None => text,
            },
        );
    }
    lines.extend(transfer.map(|transfer| transfer.about));
    let row = known
        .ops
        .and_then(|report| report.rows.iter().find(|row| row.op == Some(id)));
    if let Some(row) = row {
        if let (Some(bound), Some(percent)) = (row.rates.bound_by, row.rates.efficiency_percent) {
            lines.push(format!(
                "bound by {}, {} of that limit",
                bound.title(),
                number::value(percent.0, Unit::Percent)
            ));
        }
        if let Some(share) = row.self_of_op_time_percent {
            let share = number::value(share.0, Unit::Percent);
            lines.push(format!(
                "all {} executions: {share} of op time",
                number::count(row.occurrences as f64)
            ));
        }
    }
    if let Some(transfer) = known
        .overlap
        .and_then(|report| transfer_of(model, report, slice))
    {
        let each = |sum: Picos| {
            times.text(Picos::from_ps(
                sum.ps() / i64::try_from(transfer.occurrences.max(1)).unwrap_or(i64::MAX),
            ))
        };
        lines.push(format!(
            "exposed {} of {} on average",
            each(transfer.exposed_ps),
            each(transfer.time_ps)
        ));
    }
    lines.extend(op.source.map(|source| model.str(source).to_owned()));
    lines
}
