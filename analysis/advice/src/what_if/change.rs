//! Changes that can be applied before a schedule is replayed.

use std::ops::Range;

use device_reports::Ops;
use facts::prelude::*;
use hardware::limits::OpWork;
use run_reports::{DeviceGaps, Gaps};

use super::schedule::{CoreSchedule, Flight, ReplaySchedule};

/// One change of the recorded run.
#[derive(Clone, Debug, PartialEq)]
pub enum Scenario {
    /// Scales the time of these ops.
    Ops {
        /// Display text: how they were selected.
        what: String,
        /// Factor for the recorded time of each.
        factors: BTreeMap<OpId, f64>,
    },
    /// Scales the time of transfers of collectives; 0 hides them completely.
    Collectives(f64),
    /// Scales the time of asynchronous copies; 0 hides them completely.
    Copies(f64),
    /// Another chip: factors for its FLOP/s and bandwidth. Each op keeps its ratio to the roofline.
    Chip {
        /// Factor for the peak FLOP/s.
        flops: f64,
        /// Factor for the peak HBM bandwidth.
        hbm: f64,
    },
    /// Scales the idle time of devices.
    Idle(f64),
    /// Removes idle time in which the host compiles.
    NoCompile,
    /// Bounds the other changes: a step, with what follows it, takes at least so many picoseconds.
    StepAtLeast(f64),
}

impl Scenario {
    /// Display text: `collectives take 0.5 × their time`.
    pub fn title(&self) -> String {
        let times = |what: &str, factor: f64| match factor {
            0.0 => format!("{what} take no time"),
            _ => format!("{what} take {factor} × their time"),
        };
        match self {
            Self::Ops { what, factors } => {
                let what = format!("{what} ({})", counted(factors.len(), "op"));
                match factors
                    .values()
                    .copied()
                    .reduce(|a, b| if a.total_cmp(&b).is_eq() { a } else { f64::NAN })
                {
                    Some(factor) if !factor.is_nan() => times(&what, factor),
                    _ => format!("{what} take less of their time"),
                }
            }
            Self::Collectives(factor) => times("collectives", *factor),
            Self::Copies(factor) => times("asynchronous copies", *factor),
            Self::Chip { flops, hbm } => {
                format!("a chip with {flops} × the FLOP/s and {hbm} × the HBM bandwidth")
            }
            Self::Idle(factor) => times("idle gaps", *factor),
            Self::NoCompile => "no idle time because the host compiles".to_owned(),
            Self::StepAtLeast(ps) => format!("no step is shorter than {}", Picos::rounded(*ps)),
        }
    }

    /// The transfers that it scales: those whose class fits.
    pub(crate) fn transfers(&self) -> Option<fn(OpClass) -> bool> {
        match self {
            Self::Collectives(_) => Some(OpClass::is_collective),
            Self::Copies(_) => Some(|class| class.is_async() && !class.is_collective()),
            _ => None,
        }
    }

    /// Whether its transfers take no time, however long they were in flight.
    pub(crate) fn leaves_no_transfer(&self) -> bool {
        matches!(self, Self::Collectives(0.0) | Self::Copies(0.0))
    }

    /// Whether it changes how long collectives take.
    pub(crate) fn is_about_collectives(&self) -> bool {
        matches!(self, Self::Collectives(_))
    }

    /// Combines changes into one run: of several changes of the same thing only the one that saves the most, because
    /// they save the same time. Bounds are left out: each is about one change.
    pub(crate) fn merged(changes: &[Self]) -> Vec<Self> {
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
            let same = others
                .iter_mut()
                .find(|other| std::mem::discriminant(*other) == std::mem::discriminant(change));
            match (same, change) {
                (Some(Self::Collectives(known)), Self::Collectives(factor))
                | (Some(Self::Copies(known)), Self::Copies(factor))
                | (Some(Self::Idle(known)), Self::Idle(factor)) => least(known, *factor),
                (Some(Self::NoCompile), Self::NoCompile) | (_, Self::StepAtLeast(_)) => {}
                _ => others.push(change.clone()),
            }
        }
        if !ops.is_empty() {
            others.push(Self::Ops {
                what: "chosen ops".to_owned(),
                factors: ops,
            });
        }
        others
    }
}

/// Differences of a replay from the recording.
#[derive(Debug, Default)]
pub(super) struct ReplayChanges {
    /// Factor for the self time of each op, by its number; empty if no op is scaled.
    work: ScaledWork,
    /// Changes of transfer times, applied in order.
    transfers: Vec<TransferChange>,
    /// Changes of idle time, applied in order.
    gaps: Vec<GapChange>,
    /// The least that a step takes with all changes.
    step_at_least_ps: f64,
}

#[derive(Debug)]
enum TransferChange {
    /// Scales all collectives, or all other transfers.
    Kind { collective: bool, factor: f64 },
    /// Scales the transfers that ops issue or await which have a factor here, by number of the op.
    Ops(Vec<Option<f64>>),
}

#[derive(Debug)]
enum GapChange {
    /// Scales the gap.
    Times(f64),
    /// Shortens the gap before these pieces of each core, by row.
    Less(Vec<Vec<(u32, Picos)>>),
}

/// A factor for each op.
#[derive(Debug, Default)]
pub(super) struct ScaledWork(Vec<f64>);

impl ScaledWork {
    /// The factor of an op by its number; 1 for any other number.
    #[inline]
    pub(crate) fn of(&self, op: u32) -> f64 {
        self.0.get(op as usize).copied().unwrap_or(1.0)
    }
}

impl ReplayChanges {
    /// A time that was `recorded`, with the changes: no less than a step takes at least.
    pub(crate) fn bounded(&self, predicted_ps: f64, recorded_ps: f64) -> f64 {
        predicted_ps.max(self.step_at_least_ps.min(recorded_ps))
    }

    /// Factors of ops, if any has one.
    pub(crate) fn scaled_work(&self) -> Option<&ScaledWork> {
        (!self.work.0.is_empty()).then_some(&self.work)
    }

    /// Whether transfers keep their recorded time.
    pub(crate) fn keeps_transfers(&self) -> bool {
        self.transfers.is_empty()
    }

    /// New self time of a piece whose recorded self time is `recorded`.
    pub(crate) fn work(&self, core: &CoreSchedule, row: usize, recorded: Picos) -> Picos {
        scaled(
            recorded,
            core.ops.get(row).map_or(1.0, |&op| self.work.of(op)),
        )
    }

    /// How much longer the gaps before these pieces become.
    pub(crate) fn longer_gaps(
        &self,
        number: usize,
        core: &CoreSchedule,
        rows: Range<usize>,
    ) -> Picos {
        let longer = |row: usize| {
            let recorded = core.gap(row);
            self.gap(number, row, recorded) - recorded
        };
        match &self.gaps[..] {
            [] => Picos::ZERO,
            // Only some gaps change.
            [GapChange::Less(cores)] => {
                let less = cores.get(number).map(Vec::as_slice).unwrap_or_default();
                let place = |row: usize| less.partition_point(|&(index, _)| (index as usize) < row);
                less[place(rows.start)..place(rows.end)]
                    .iter()
                    .map(|&(row, _)| longer(row as usize))
                    .sum()
            }
            _ => rows.map(longer).sum(),
        }
    }

    /// New length of a gap of length `recorded` before a piece, or after the last one for the row after it.
    pub(crate) fn gap(&self, core: usize, row: usize, recorded: Picos) -> Picos {
        self.gaps.iter().fold(recorded, |gap, change| match change {
            GapChange::Times(factor) => scaled(gap, *factor),
            GapChange::Less(cores) => {
                let less = cores.get(core).map(Vec::as_slice).unwrap_or_default();
                let shorter = less
                    .binary_search_by_key(&row, |&(row, _)| row as usize)
                    .ok()
                    .and_then(|index| less.get(index));
                shorter.map_or(gap, |&(_, less)| (gap - less).clamped())
            }
        })
    }

    /// New time of a transfer whose recorded time is `recorded`.
    pub(crate) fn transfer(
        &self,
        model: &TraceModel,
        core: &CoreSchedule,
        flight: Flight,
        recorded: Picos,
    ) -> Picos {
        let factor = |change: &TransferChange| match change {
            TransferChange::Kind { collective, factor } => {
                (core.piece(flight.issues).class.is_collective() == *collective).then_some(*factor)
            }
            TransferChange::Ops(factors) => {
                let chosen = |row: u32| {
                    let op = model.slice(core.piece(row).slice).op()?;
                    *factors.get(op.index())?
                };
                // A waiting op has no self time: the transfer that it awaits is scaled instead.
                chosen(flight.issues).or_else(|| chosen(flight.awaits))
            }
        };
        scaled(recorded, self.transfers.iter().filter_map(factor).product())
    }

    /// Scales the self time of the ops for which `factor` returns a value. Collectives are scaled through their
    /// transfers.
    fn each_work(&mut self, cx: &Context<'_>, factor: impl Fn(OpId) -> Option<f64>) {
        self.work.0.resize(cx.model.ops().len(), 1.0);
        for (op, slot) in cx.model.op_ids().zip(&mut self.work.0) {
            *slot *= factor(op).unwrap_or(1.0);
        }
    }
}

/// Adds a change and reports the ops that it does not apply to.
pub(super) fn apply(
    cx: &Context<'_>,
    change: &Scenario,
    schedule: &ReplaySchedule,
    out: &mut ReplayChanges,
) -> Result<Vec<String>> {
    match change {
        Scenario::Ops { factors, .. } => {
            let of_op = |op: OpId| factors.get(&op).copied();
            let by_number = cx.model.op_ids().map(of_op).collect();
            out.transfers.push(TransferChange::Ops(by_number));
            out.each_work(cx, of_op);
        }
        &Scenario::Collectives(factor) => out.transfers.push(TransferChange::Kind {
            collective: true,
            factor,
        }),
        &Scenario::Copies(factor) => out.transfers.push(TransferChange::Kind {
            collective: false,
            factor,
        }),
        Scenario::Chip { flops, hbm } => return chip(cx, *flops, *hbm, out),
        Scenario::Idle(factor) => out.gaps.push(GapChange::Times(*factor)),
        Scenario::NoCompile => out.gaps.extend(no_compile(cx, schedule)?),
        &Scenario::StepAtLeast(ps) => out.step_at_least_ps = out.step_at_least_ps.max(ps),
    }
    Ok(Vec::new())
}

/// A time that takes this factor.
pub(super) fn scaled(time: Picos, factor: f64) -> Picos {
    // The common case: it does not change.
    if factor.to_bits() == 1.0_f64.to_bits() {
        return time;
    }
    Picos::rounded(time.as_ps_f64() * factor)
}

/// An op that took `e` times its minimum time takes `e` times the new minimum time. Answers what cannot be predicted: peaks that
/// are not known, and the share of time in ops without costs.
fn chip(cx: &Context<'_>, flops: f64, hbm: f64, out: &mut ReplayChanges) -> Result<Vec<String>> {
    let ops = cx.report::<Ops>()?;
    let peaks = &ops.peaks;
    let faster = Peaks {
        flops: peaks.flops.map(|peak| peak.times(flops)),
        hbm: peaks.hbm.map(|peak| peak.times(hbm)),
        ..peaks.clone()
    };
    let mut factors = vec![None; cx.model.ops().len()];
    let mut known = Picos::ZERO;
    let mut unknown = Picos::ZERO;
    for row in ops
        .rows
        .iter()
        .filter(|row| row.is_leaf && !row.is_async && row.collective.is_none())
    {
        // Of an op without a limit that binds it is not known what another chip changes.
        let is_bound = row.rates.ideal_time_ps.is_some() || !row.is_custom_call;
        let factor = slowdown(&row.work(), peaks, &faster).filter(|_| is_bound);
        *(if factor.is_some() {
            &mut known
        } else {
            &mut unknown
        }) += row.self_time_ps;
        if let Some(slot) = row.op.and_then(|op| factors.get_mut(op.index())) {
            *slot = factor;
        }
    }
    if known == Picos::ZERO {
        return Err(
            "no op of this capture has both costs and a peak: the times on another chip cannot be predicted".into(),
        );
    }
    out.each_work(cx, |op| factors.get(op.index()).copied().flatten());
    let mut notes: Vec<String> = [
        ("FLOP/s", peaks.flops, flops),
        ("HBM bandwidth", peaks.hbm, hbm),
    ]
    .into_iter()
    .filter(|(_, peak, factor)| peak.is_none() && factor.to_bits() != 1.0_f64.to_bits())
    .map(|(what, ..)| {
        format!("the peak {what} is not known, so what {what} saves or costs is not known either: times are taken as unchanged by it")
    })
    .collect();
    let share = 100.0 * unknown.fraction_of(known + unknown).unwrap_or(0.0);
    notes.extend((unknown > Picos::ZERO).then(|| {
        format!(
            "{share:.1} of compute time is in ops without recorded costs: it is taken as unchanged",
            share = Percent(share)
        )
    }));
    Ok(notes)
}

fn slowdown(work: &OpWork, before: &Peaks, after: &Peaks) -> Option<f64> {
    // With HBM traffic unknown the binding limit is unknown too.
    BoundBy::Hbm.amount(work)?;
    let before = work.ideal_seconds(before)?;
    let after = work.ideal_seconds(after)?;
    (before > 0.0).then(|| after / before)
}

/// The part of gaps in which the host compiled, by the gap analysis; `None` if there is none.
fn no_compile(cx: &Context<'_>, schedule: &ReplaySchedule) -> Result<Option<GapChange>> {
    let gaps = cx.report::<Gaps>()?;
    let devices: BTreeMap<GroupId, &DeviceGaps> = gaps
        .devices
        .iter()
        .map(|device| (device.group, device))
        .collect();
    let compiling = |core: &CoreSchedule| {
        Some(devices.get(&core.group)?.compiling()).filter(|compiling| !compiling.is_empty())
    };
    let less = |core: &CoreSchedule| {
        let Some(compiling) = compiling(core) else {
            return Vec::new();
        };
        let shown = |row: usize| {
            let piece = core.pieces().get(row)?;
            Some(cx.model.slice(piece.slice).range())
        };
        // Before the first piece and after the last one, too: there a part of the trace may begin or end.
        let of_gap = |row: usize| {
            let gap = core.gap(row);
            if gap == Picos::ZERO {
                return None;
            }
            let (end, start) = match (row.checked_sub(1).and_then(shown), shown(row)) {
                (Some(earlier), Some(later)) => (earlier.end, later.start),
                (Some(earlier), None) => (earlier.end, earlier.end + gap),
                (None, Some(later)) => (later.start - gap, later.start),
                (None, None) => return None,
            };
            let shown = (end < start).then(|| TimeRange::new(end, start))?;
            let less = compiling.measure_in(cx.to_host(core.group, shown));
            (less > Picos::ZERO).then_some((row as u32, less))
        };
        (0..=core.pieces().len()).filter_map(of_gap).collect()
    };
    let less: Vec<Vec<(u32, Picos)>> = schedule.cores.iter().map(less).collect();
    Ok(less
        .iter()
        .any(|less| !less.is_empty())
        .then_some(GapChange::Less(less)))
}
