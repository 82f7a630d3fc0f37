//! Sums over the work of cores, and the shares that follow from them.

use device_reports::ops::op_stats::BeyondPeak;
use device_reports::{CoreOps, Ops, OpsReport};
use engine::number;
use facts::prelude::*;
use facts::window::windows_in_words;
use hardware::limits::possible;
use hardware::peaks::NO_PEAK;
use trace_model::Caveat;

/// Share of op time below which unknown work is negligible.
pub(super) const NEGLIGIBLE: Percent = Percent(0.5);

/// Share of op time from which unknown work makes a utilization a lower bound.
const LOWER_BOUND: Percent = Percent(10.0);

/// Sums over some cores.
pub(super) struct WorkSums<'a> {
    pub hbm_is_estimated: bool,
    /// Why HBM traffic is only a lower bound, if the model that computed the times counts no more.
    pub hbm_is_least: Option<&'static str>,
    pub cores: &'a [&'a CoreOps],
    /// Description of the window of a core.
    pub window: String,
    /// Whether the window is that of the whole trace.
    pub is_whole: bool,
}

/// Why a simulator or model counts too few bytes, if it does.
fn least_traffic(cx: &Context<'_>) -> Option<&'static str> {
    cx.model.simulator()?;
    if cx.model.has_caveat(Caveat::LeastBytes) {
        return Some("each operand counts once, and the memory may move more");
    }
    let ops = cx.whole().report::<Ops>().ok()?;
    let rows = ops.rows.iter().filter(|row| row.is_async);
    let awaited: u64 = rows.map(|row| row.occurrences).sum();
    let cores = cx.tensor_cores();
    let in_flight = cx.model.track_ids().filter(|&track| {
        let track = cx.model.track(track);
        track.kind == TrackKind::AsyncOps && cores.contains(&track.group)
    });
    let in_flight: usize = in_flight
        .map(|track| cx.model.slices_on(track).count())
        .sum();
    (in_flight as u64 > awaited).then_some("without transfers that no op awaits")
}

impl<'a> WorkSums<'a> {
    pub fn new(cx: &Context<'_>, ops: &OpsReport, cores: &'a [&'a CoreOps]) -> Self {
        Self {
            hbm_is_estimated: ops.hbm_is_estimated,
            hbm_is_least: least_traffic(cx),
            cores,
            window: windows_in_words(cx),
            is_whole: cx.scope == Scope::WholeTrace,
        }
    }

    /// Share of op time in ops whose work against `limit` is unknown or impossible, percent.
    fn unknown_percent(&self, limit: BoundBy) -> Percent {
        self.share_of_op_time(|core| {
            let unknown = if limit == BoundBy::Compute {
                core.undeclared_ps
            } else {
                core.unknown_traffic_ps
            };
            unknown + BeyondPeak::time_of(&[core], limit)
        })
    }

    /// Whether so much of the work against `limit` is unknown that the known part is only a lower bound.
    pub fn is_mostly_unknown(&self, limit: BoundBy) -> bool {
        self.unknown_percent(limit) > LOWER_BOUND
            || self.hbm_is_least.is_some() && limit == BoundBy::Hbm
    }

    /// Why a utilization of `limit` is uncertain, or why there is none.
    pub fn notes_on(&self, limit: BoundBy, is_known: bool) -> Option<String> {
        // A lower bound is marked as one.
        let too_low = if self.is_mostly_unknown(limit) {
            ""
        } else {
            "too low: "
        };
        let mut notes = Vec::new();
        let beyond = self.share_of_op_time(|core| BeyondPeak::time_of(&[core], limit));
        if beyond > Percent(0.0) {
            let what = if limit == BoundBy::Compute {
                "operations"
            } else {
                "bytes"
            };
            notes.push(format!(
                "{too_low}the {what} of ops above this peak, {beyond:.1} of op time, are left out"
            ));
        }
        if limit == BoundBy::Compute {
            let undeclared = self.share_of_op_time(|core| core.undeclared_ps);
            if undeclared > NEGLIGIBLE {
                let what = "matrix products and custom calls without recorded operations take";
                notes.push(format!("{too_low}{what} {undeclared:.1} of op time"));
            }
        }
        if limit == BoundBy::Hbm && !is_known && beyond <= Percent(0.0) {
            notes.push("this capture does not say which bytes go to HBM".to_owned());
        }
        if limit == BoundBy::Hbm && is_known {
            if self.hbm_is_estimated {
                notes.push("HBM traffic estimated from the shapes of operands".to_owned());
            }
            notes.extend(self.hbm_is_least.map(str::to_owned));
            let unknown = self.share_of_op_time(|core| core.unknown_traffic_ps);
            if unknown > NEGLIGIBLE {
                notes.push(format!(
                    "{too_low}ops of unknown traffic take {unknown:.1} of op time"
                ));
            }
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    pub fn time(&self, get: impl Fn(&CoreOps) -> Picos) -> f64 {
        self.cores
            .iter()
            .map(|core| get(core).as_ps_f64() * 1e-12)
            .sum()
    }

    /// Sum of the known amounts; `None` if no core has one.
    pub fn amount(&self, get: impl Fn(&CoreOps) -> Option<f64>) -> Option<f64> {
        self.cores
            .iter()
            .filter_map(|core| get(core))
            .reduce(|a, b| a + b)
    }

    /// Sum of time × peak over the cores; `None` if one has no peak, or no time.
    fn capacity(&self, limit: BoundBy, time: impl Fn(&CoreOps) -> Picos) -> Option<f64> {
        let parts = self
            .cores
            .iter()
            .map(|core| Some(time(core).as_ps_f64() * 1e-12 * limit.peak(&core.peaks)?.per_second));
        parts
            .sum::<Option<f64>>()
            .filter(|&capacity| capacity > 0.0)
    }

    /// Percentage of all op time; 0 without any.
    fn share_of_op_time(&self, get: impl Fn(&CoreOps) -> Picos) -> Percent {
        let sum = |time: &dyn Fn(&CoreOps) -> Picos| self.cores.iter().map(|core| time(core)).sum();
        Percent::of(sum(&get), sum(&|core| core.op_time_ps)).unwrap_or_default()
    }

    /// Description of the reference of a limit.
    pub fn peak_text(&self, limit: BoundBy) -> String {
        let peaks = self.peaks();
        let rate = |peaks: &Peaks| limit.peak(peaks).map(|peak| peak.per_second);
        if self
            .cores
            .iter()
            .any(|core| rate(&core.peaks) != rate(&peaks))
        {
            return format!("the peak ({}) of each device", limit.title());
        }
        match limit {
            BoundBy::Compute => peaks.flops_text(),
            BoundBy::Hbm => peaks.hbm_text(),
            _ => rate(&peaks).map_or_else(
                || "unknown peak".to_owned(),
                |rate| format!("{:.1} GB/s", rate / 1e9),
            ),
        }
    }

    pub fn peaks(&self) -> Peaks {
        self.cores
            .first()
            .map(|core| core.peaks.clone())
            .unwrap_or_default()
    }

    /// `window of 4 devices, 93.2 s each`.
    pub fn over(&self, what: &str, time: impl Fn(&CoreOps) -> Picos) -> String {
        let mean = self.time(time) / self.cores.len().max(1) as f64;
        let time = Picos::rounded(mean * 1e12);
        match self.cores.len() {
            1 => format!("{what} ({time})"),
            n => format!("{what} ({time} × {n} devices)"),
        }
    }
}

/// The amount and the time of a utilization.
pub(super) struct UtilizationShare<'a> {
    pub id: &'static str,
    pub title: &'static str,
    pub limit: BoundBy,
    pub amount: Option<f64>,
    /// Description of the time.
    pub over: &'a str,
    pub time: fn(&CoreOps) -> Picos,
    /// Whether the amount is meant to be that of all ops.
    pub of_all_ops: bool,
    /// Why the amount is missing, or a caveat.
    pub note: Option<String>,
}

pub(super) fn window(core: &CoreOps) -> Picos {
    core.total_time_ps
}

pub(super) fn busy(core: &CoreOps) -> Picos {
    core.busy_ps
}

pub(super) fn utilization(sums: &WorkSums<'_>, share: UtilizationShare<'_>) -> Metric {
    let UtilizationShare {
        id,
        title,
        limit,
        amount,
        over,
        time,
        of_all_ops,
        note,
    } = share;
    let capacity = sums.capacity(limit, time);
    let peak = limit.peak(&sums.peaks());
    let (value, impossible) = possible_or_why(
        amount
            .zip(capacity)
            .map(|(amount, capacity)| 100.0 * amount / capacity),
    );
    let is_partial = of_all_ops && sums.is_mostly_unknown(limit);
    let value = value.filter(|&percent| !is_partial || says_something(percent));
    let peak_text = sums.peak_text(limit);
    let note = match value {
        None if amount.is_some() && peak.is_none() => Some(NO_PEAK.to_owned()),
        _ => impossible.or(note),
    };
    let is_estimated = limit == BoundBy::Hbm && sums.hbm_is_estimated;
    let provenance = if is_estimated {
        Provenance::Inferred
    } else {
        Provenance::of_peak(peak)
    };
    Metric {
        id,
        title,
        value,
        is_lower_bound: value.is_some() && is_partial,
        unit: Unit::Percent,
        of: format!("{} × {peak_text}", sums.over(over, time)),
        provenance,
        note,
    }
}

/// Whether a lower bound says anything: not that a share is more than nothing.
pub(super) fn says_something(lower_bound: f64) -> bool {
    lower_bound >= number::LEAST_PERCENT
}

/// A utilization, or the reason why there is none.
pub(super) fn possible_or_why(percent: Option<f64>) -> (Option<f64>, Option<String>) {
    let value = percent.and_then(possible);
    let impossible = percent.filter(|_| value.is_none()).map(|percent| {
        format!(
            "the result is {:.1}, which is impossible: the costs or the peak are not those of this device",
            Percent(percent)
        )
    });
    (value, impossible)
}

#[cfg(test)]
mod tests {
    use engine::Options;

    use super::super::tests::utilization_of;

    /// Other ops count operations, matrix products none.
    #[test]
    fn matrix_products_without_operations_make_a_lower_bound() {
        let picture = "@column 1us\n@device flops=1e12 hbm=1e9 TPU v5 lite\nops: mmmmmvvvvv\n\
                       m = fusion.1 [convolution fusion]\nv = fusion.2 [loop fusion] flops=1000";
        let report = utilization_of(&sample_traces::text_trace(picture), &Options::default());
        let mfu = report.metric("mfu_window_percent").unwrap();
        assert!(mfu.is_lower_bound, "{mfu:?}");
        let note = mfu.note.as_deref().unwrap_or_default();
        let begin = "matrix products and custom calls without recorded operations take 50.0 %";
        assert!(note.starts_with(begin), "{note}");
    }
}
