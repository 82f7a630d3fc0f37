//! What sums over the executions of a scope are over.

use engine::prelude::*;

use super::steps::{Step, StepsReport};
use super::window::{has_ops, own_extent};

/// Whether no device ran ops outside the only step of a trace.
fn is_all(cx: &Context<'_>, only: &Step) -> bool {
    let mut with_ops = cx
        .model
        .tensor_cores()
        .into_iter()
        .filter(|&core| has_ops(cx.model, core));
    with_ops.all(|core| {
        let extent = own_extent(cx, core);
        let span = only.span_on(core);
        extent.zip(span).is_some_and(|(extent, span)| {
            span.measured.start <= extent.measured.start && extent.measured.end <= span.measured.end
        })
    })
}

/// A note for tables that have sums only.
pub const ARE_SUMS: &str = "times: sums of all executions on all devices";

/// The devices and steps that a sum is over: divided by their numbers it is that of one device in one step.
#[engine::reported]
#[derive(Copy, Default)]
pub struct SumOver {
    /// Devices that recorded ops.
    pub devices: u64,
    /// All steps of the scope; `None` in a range, where none were found, and where more than the only step ran: it is
    /// no part of that step.
    pub steps: Option<u64>,
    /// Whether devices that are away for a part of the run, or run next to nothing, are left out.
    #[serde(skip)]
    pub are_busy: bool,
}

impl SumOver {
    /// Sums over so many devices in the scope of `cx`.
    pub fn of(cx: &Context<'_>, devices: usize) -> Self {
        let report = cx.fact::<StepsReport>();
        let count = match cx.scope {
            _ if !report.has_steps() => 0,
            Scope::WholeTrace => match &report.steps[..] {
                [only] if !is_all(cx, only) => 0,
                all => all.len(),
            },
            Scope::Steps { first, last } => report.selected(first, last).count(),
            Scope::Range(_) => 0,
        };
        Self {
            devices: devices as u64,
            steps: Some(count as u64).filter(|&count| count > 0),
            are_busy: false,
        }
    }

    /// The part of one device in one step; of one device where there are no steps.
    pub fn each(self, sum: f64) -> f64 {
        sum / self.devices.max(1) as f64 / self.steps.unwrap_or(1).max(1) as f64
    }

    /// The part of a time in one step of one device, in whole picoseconds.
    pub fn each_ps(self, sum: Picos) -> Picos {
        Picos::rounded(self.each(sum.as_ps_f64()))
    }

    /// One of two titles: of what is of each step, or of each device.
    pub fn title(self, [of_step, of_device]: [&'static str; 2]) -> &'static str {
        if self.steps.is_some() {
            of_step
        } else {
            of_device
        }
    }

    /// The title of self time, as [`Self::each`] divides it.
    pub fn self_time_title(self) -> &'static str {
        self.title(["Self time a step", "Self time a device"])
    }

    /// What a sum is over: `8 devices and 4 steps`.
    pub fn text(self) -> String {
        let what = if self.are_busy {
            "busy device"
        } else {
            "device"
        };
        let devices = counted(self.devices, what);
        self.steps.map_or_else(
            || devices.clone(),
            |steps| format!("{devices} and {}", counted(steps, "step")),
        )
    }

    /// How what is of one step or device follows from sums, for tables that have both.
    pub fn note(self) -> String {
        match (self.steps, self.devices) {
            (None, 1) => {
                "one device: times, counts and amounts are sums of all executions".to_owned()
            }
            (None, _) => format!(
                "a device: the mean over {}; counts and amounts are sums",
                self.text()
            ),
            (Some(_), _) => {
                format!(
                    "a step: the mean over {}, with what runs outside of them; counts and amounts are sums",
                    self.text()
                )
            }
        }
    }

    /// For tables that have sums only.
    pub fn sums_note(self) -> String {
        format!(
            "times and amounts: sums of all executions, over {}",
            self.text()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Options, ReportCache};

    /// The sums of a trace whose only step is marked.
    fn steps_of(ops: &str) -> Option<u64> {
        let picture = format!(
            "
            @column 1us
            steps: ...0000
            ops  : {ops}
            a = fusion.1 [loop fusion]
            "
        );
        let model = sample_traces::text_trace(&picture);
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context {
            model: &model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        SumOver::of(&cx, 1).steps
    }

    #[test]
    fn what_runs_outside_the_only_step_is_no_part_of_it() {
        assert_eq!(steps_of("...aaaa"), Some(1));
        assert_eq!(steps_of("aa.aaaa"), None);
    }
}
