//! Sums of the executions of one op.

use facts::prelude::*;
use trace_model::SliceSpans;

/// Executions of one op.
#[derive(Debug, Default)]
pub(super) struct OpSums {
    /// Executions that start in the scope.
    pub occurrences: u64,
    /// Executions, of those that a border of the scope cuts the part inside.
    pub executions: f64,
    pub total: Picos,
    pub self_time: Picos,
    /// Shortest whole execution, if known.
    pub min: Option<Picos>,
    /// Whether any execution had another op inside.
    pub has_children: bool,
    /// Data that executions record themselves.
    pub stats: EventStats,
}

/// Sums of the data that executions record themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventStats {
    pub dma_stall: Option<Picos>,
    /// Time × the recorded ratio of the actual clock to the default one, and the time of executions that record it.
    pub scaled: Option<(f64, Picos)>,
    /// Costs, for custom calls.
    pub flops: Option<u64>,
    pub model_flops: Option<u64>,
    pub bytes: Option<u64>,
}

pub(super) fn least(a: Option<Picos>, b: Option<Picos>) -> Option<Picos> {
    a.into_iter().chain(b).min()
}

/// The cost of so many executions; exact for whole numbers.
pub(super) fn times(cost: u64, executions: f64) -> u64 {
    let whole = executions.trunc();
    let rest = executions.fract();
    cost.saturating_mul(whole as u64)
        .saturating_add((cost as f64 * rest).round() as u64)
}

pub(super) fn plus(sum: Option<u64>, value: Option<u64>) -> Option<u64> {
    match (sum, value) {
        (Some(sum), Some(value)) => Some(sum.saturating_add(value)),
        (sum, value) => sum.or(value),
    }
}

impl OpSums {
    /// Adds the part of an execution that lies in the scope, which may be cut; returns whether its self time is not known
    /// from this.
    #[inline]
    pub fn add(&mut self, spans: &SliceSpans<'_>, may_be_cut: bool) -> bool {
        let part = spans.measured.dur();
        let whole = if may_be_cut {
            spans.slice.measured_dur()
        } else {
            part
        };
        self.total += part;
        if part < whole {
            self.executions += part.fraction_of(whole).unwrap_or_default();
            let has_others_inside = spans.children > Picos::ZERO;
            if !has_others_inside {
                self.self_time += part;
            }
            return has_others_inside;
        }
        self.executions += 1.0;
        self.self_time += (whole - spans.children).clamped();
        self.min = Some(self.min.map_or(whole, |min| min.min(whole)));
        false
    }

    /// Adds the data that an execution records, of which `part` of its time lies in the scope.
    pub fn add_fact(&mut self, slice: SliceRef<'_>, fact: SliceAttr, value: i64, part: Picos) {
        let stats = &mut self.stats;
        let whole = slice.measured_dur();
        let inside = part
            .fraction_of(whole)
            .filter(|_| part < whole)
            .unwrap_or(1.0);
        let amount = u64::try_from(value)
            .ok()
            .map(|amount| times(amount, inside));
        match fact {
            SliceAttr::DmaStallPs => {
                stats.dma_stall = Some(
                    stats.dma_stall.unwrap_or_default()
                        + Picos::from_ps(amount.map_or(0, |stall| stall as i64)),
                );
            }
            SliceAttr::TimeScaleBits => {
                let scale = f64::from_bits(value as u64);
                if scale > 0.0 && scale < 1e3 {
                    let (scaled, time) = stats.scaled.unwrap_or_default();
                    stats.scaled = Some((scaled + scale * part.as_ps_f64(), time + part));
                }
            }
            SliceAttr::Flops => stats.flops = plus(stats.flops, amount),
            SliceAttr::ModelFlops => stats.model_flops = plus(stats.model_flops, amount),
            SliceAttr::Bytes => stats.bytes = plus(stats.bytes, amount),
            _ => {}
        }
    }

    /// Adds the same op from another core.
    pub fn merge(&mut self, other: &Self) {
        self.occurrences += other.occurrences;
        self.executions += other.executions;
        self.total += other.total;
        self.self_time += other.self_time;
        self.min = least(self.min, other.min);
        self.has_children |= other.has_children;
        self.stats.merge(&other.stats);
    }
}

impl EventStats {
    fn merge(&mut self, other: &Self) {
        self.dma_stall = match (self.dma_stall, other.dma_stall) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.scaled = match (self.scaled, other.scaled) {
            (Some(a), Some(b)) => Some((a.0 + b.0, a.1 + b.1)),
            (a, b) => a.or(b),
        };
        self.flops = plus(self.flops, other.flops);
        self.model_flops = plus(self.model_flops, other.model_flops);
        self.bytes = plus(self.bytes, other.bytes);
    }
}
