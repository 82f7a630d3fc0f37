//! What can be changed before a schedule is played again.

use std::collections::BTreeMap;

use trace_model::{LabelId, OpId, Picos, TimeRange, TraceModel};

use super::schedule::{Kind, Piece, Schedule};
use crate::bound::{BoundBy, Work};
use crate::gaps::Gaps;
use crate::ops::Ops;
use crate::peaks::Peaks;
use crate::{AnalysisError, Context};

/// One change of the recorded run.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// These ops take so much of their time.
    Ops {
        /// For people: what chose them.
        what: String,
        /// Times the recorded time of each.
        factors: BTreeMap<OpId, f64>,
    },
    /// Transfers of collectives take so much of their time; 0 hides them altogether.
    Collectives(f64),
    /// Asynchronous copies take so much of their time; 0 hides them altogether.
    Copies(f64),
    /// Another chip: operations per second and bytes per second, times those of the
    /// recorded one. An op keeps its distance from the roofline.
    Chip {
        /// Times the peak FLOP/s.
        flops: f64,
        /// Times the peak HBM bandwidth.
        hbm: f64,
    },
    /// The device is idle for so much of the recorded time.
    Idle(f64),
    /// The device never idles because the host compiles.
    NoCompile,
}

impl Change {
    /// For people: `collectives take 0.5 × their time`.
    pub fn title(&self) -> String {
        let times = |what: &str, factor: f64| match factor {
            0.0 => format!("{what} take no time"),
            _ => format!("{what} take {factor} × their time"),
        };
        match self {
            Self::Ops { what, factors } => {
                let what = format!("{what} ({} ops)", factors.len());
                match factors.values().copied().reduce(|a, b| if a.total_cmp(&b).is_eq() { a } else { f64::NAN }) {
                    Some(factor) if !factor.is_nan() => times(&what, factor),
                    _ => format!("{what} take less of their time"),
                }
            }
            Self::Collectives(factor) => times("collectives", *factor),
            Self::Copies(factor) => times("asynchronous copies", *factor),
            Self::Chip { flops, hbm } => format!("a chip with {flops} × the FLOP/s and {hbm} × the HBM bandwidth"),
            Self::Idle(factor) => times("idle gaps", *factor),
            Self::NoCompile => "no idle time because the host compiles".to_owned(),
        }
    }

    /// Changes that were meant one by one, as one run: of several about the same
    /// thing the one that saves most, because they are about the same time.
    pub fn merged(changes: &[Self]) -> Vec<Self> {
        let mut ops: BTreeMap<OpId, f64> = BTreeMap::new();
        let mut others: Vec<Self> = Vec::new();
        let least = |slot: &mut f64, factor: f64| *slot = slot.min(factor);
        for change in changes {
            if let Self::Ops { factors, .. } = change {
                for (&op, &factor) in factors {
                    least(ops.entry(op).or_insert(factor), factor);
                }
                continue;
            }
            let same = others.iter_mut().find(|other| std::mem::discriminant(*other) == std::mem::discriminant(change));
            match (same, change) {
                (Some(Self::Collectives(own)), Self::Collectives(factor))
                | (Some(Self::Copies(own)), Self::Copies(factor))
                | (Some(Self::Idle(own)), Self::Idle(factor)) => least(own, *factor),
                (Some(Self::NoCompile), Self::NoCompile) => {}
                _ => others.push(change.clone()),
            }
        }
        if !ops.is_empty() {
            others.push(Self::Ops { what: "chosen ops".to_owned(), factors: ops });
        }
        others
    }
}

/// Changes the durations of `schedule`; says what the change could not be applied to.
pub(super) fn apply(
    cx: &Context<'_>,
    change: &Change,
    schedule: &mut Schedule,
) -> Result<Option<String>, AnalysisError> {
    match change {
        Change::Ops { factors, .. } => {
            // Every piece asks: a table answers at once.
            let mut by_label = vec![None; cx.model.labels().len()];
            for (label, factor) in cx.model.labels().iter().zip(&mut by_label) {
                *factor = label.op.and_then(|op| factors.get(&op).copied());
            }
            let chosen = |label: LabelId| by_label.get(label.index()).copied().flatten();
            each_work(schedule, |piece| chosen(piece.label));
            // An op that waits takes no time of its own: what it waits for does.
            let awaits = |piece: &Piece| match piece.kind {
                Kind::Done(transfer) => Some((transfer, chosen(piece.label)?)),
                _ => None,
            };
            let awaited: BTreeMap<usize, f64> =
                schedule.cores.iter().flat_map(|core| core.pieces.iter()).filter_map(awaits).collect();
            for (row, transfer) in schedule.transfers.iter_mut().enumerate() {
                transfer.factor *= chosen(transfer.label).or_else(|| awaited.get(&row).copied()).unwrap_or(1.0);
            }
        }
        Change::Collectives(factor) => {
            schedule.transfers.iter_mut().filter(|t| t.class.is_collective()).for_each(|t| t.factor *= factor);
        }
        Change::Copies(factor) => {
            schedule.transfers.iter_mut().filter(|t| !t.class.is_collective()).for_each(|t| t.factor *= factor);
        }
        Change::Chip { flops, hbm } => return chip(cx, *flops, *hbm, schedule).map(Some),
        Change::Idle(factor) => {
            for core in &mut schedule.cores {
                core.timings.iter_mut().for_each(|timing| timing.gap = scaled(timing.gap, *factor));
                core.tail = scaled(core.tail, *factor);
            }
        }
        Change::NoCompile => no_compile(cx, schedule)?,
    }
    Ok(None)
}

fn scaled(time: Picos, factor: f64) -> Picos {
    Picos::from_ps((time.ps() as f64 * factor).round() as i64)
}

/// Scales the own time of the pieces for which `factor` has an answer. A collective
/// has no own time: its transfer does.
fn each_work(schedule: &mut Schedule, factor: impl Fn(&Piece) -> Option<f64>) {
    let pieces = schedule.cores.iter_mut().flat_map(|core| core.pieces.iter().zip(&mut core.timings));
    for (piece, timing) in pieces {
        if let Some(factor) = factor(piece) {
            timing.dur = scaled(timing.dur, factor);
        }
    }
}

/// An op that took `e` times its least time takes `e` times the new least time.
fn chip(cx: &Context<'_>, flops: f64, hbm: f64, schedule: &mut Schedule) -> Result<String, AnalysisError> {
    let ops = cx.report::<Ops>()?;
    let peaks = &ops.peaks;
    let faster = Peaks {
        flops: peaks.flops.map(|peak| peak.times(flops)),
        hbm: peaks.hbm.map(|peak| peak.times(hbm)),
        ..peaks.clone()
    };
    let mut factors = vec![None; cx.model.ops().len()];
    let (mut known, mut unknown) = (0_i64, 0_i64);
    for row in ops.rows.iter().filter(|row| row.is_leaf && !row.is_async && row.collective.is_none()) {
        let factor = slowdown(&row.work(), peaks, &faster);
        *(if factor.is_some() { &mut known } else { &mut unknown }) += row.self_time_ps;
        if let Some(slot) = row.op.and_then(|op| factors.get_mut(op.index())) {
            *slot = factor;
        }
    }
    if known == 0 {
        return Err(AnalysisError::NotApplicable(
            "no op of this capture has both costs and a peak: what another chip would do cannot be said".into(),
        ));
    }
    each_work(schedule, |piece| factors.get(op_index(cx.model, piece)?).copied().flatten());
    let share = 100.0 * unknown as f64 / (known + unknown) as f64;
    Ok(format!("{share:.1} % of compute time is in ops without recorded costs: it is taken as unchanged"))
}

fn op_index(model: &TraceModel, piece: &Piece) -> Option<usize> {
    model.label(piece.label).op.map(OpId::index)
}

fn slowdown(work: &Work, before: &Peaks, after: &Peaks) -> Option<f64> {
    // With HBM traffic unknown the binding limit is unknown too.
    BoundBy::Hbm.amount(work)?;
    let (before, after) = (work.ideal_seconds(before)?, work.ideal_seconds(after)?);
    (before > 0.0).then(|| after / before)
}

/// Takes that part of gaps away of which the gap analysis says that the host compiled.
fn no_compile(cx: &Context<'_>, schedule: &mut Schedule) -> Result<(), AnalysisError> {
    let gaps = cx.report::<Gaps>()?;
    for core in &mut schedule.cores {
        let Some(device) = gaps.devices.iter().find(|device| device.group == core.group) else { continue };
        let mut before = None;
        for (piece, timing) in core.pieces.iter().zip(&mut core.timings) {
            let shown = cx.model.slice(piece.slice).range();
            if let Some(end) = before.replace(shown.end).filter(|end| *end < shown.start && timing.gap > Picos::ZERO) {
                let gap = cx.to_host(core.group, TimeRange::new(end, shown.start));
                timing.gap = (timing.gap - device.compiling.measure_in(gap)).clamped();
            }
        }
    }
    Ok(())
}
