//! What limits the loop, in one short sentence: what to read first.

use facts::prelude::*;

/// What limits the loop. Times are of one step on one device, means over the counted steps and their devices; where no
/// steps are known, of the window of a device.
#[engine::reported]
pub struct LoopLimit {
    /// One sentence of at most 20 words, without full stop.
    pub statement: String,
    /// The sentence up to the times.
    #[serde(skip)]
    pub share: String,
    /// Whether it is about a loop, and not about a program that ran once.
    #[serde(skip)]
    pub is_of_loop: bool,
    /// Devices that the times are means of.
    pub devices: usize,
    /// Whether devices that are away for a part of the run, or run next to nothing, are left out of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub are_busy: bool,
    /// The use of the time.
    pub id: TimeUse,
    /// Its time.
    pub time_ps: f64,
    /// What it is a share of.
    pub of_ps: f64,
    /// That share.
    pub percent: Percent,
    /// Where the numbers of the sentence come from: measured, or with the peak that the speed of work refers to.
    pub provenance: Provenance,
    /// What it is a share of, in words: `each step`, `the mean step`, `device time`.
    pub of: &'static str,
    /// What else the time goes to, this included, the longest first. They add up to `of_ps`.
    pub parts: Vec<TimePart>,
    /// What lies outside the loop, from its first counted step to the end of the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideLoop>,
}

/// One use of the time of a step on a device.
#[engine::reported]
#[derive(Copy)]
pub struct TimePart {
    /// The use.
    pub id: TimeUse,
    /// Its time.
    pub time_ps: f64,
    /// The part of it in which ops run, where it is waiting for input: that of infeed ops.
    #[serde(skip)]
    pub in_ops_ps: f64,
}

/// Time of the capture outside the loop.
#[engine::reported]
pub struct OutsideLoop {
    /// The capture without the counted steps.
    pub time_ps: Picos,
    /// The capture.
    pub of_ps: Picos,
    /// Compilation on the host outside the loop; `None` if there is none, or no host was recorded.
    pub compile_ps: Option<Picos>,
    /// The part of it in which a device runs no op, mean over the devices.
    pub idle_ps: Picos,
}

impl TimePart {
    /// The part of it in which no op runs.
    pub fn idle_ps(&self) -> f64 {
        if self.id.is_idle() {
            self.time_ps - self.in_ops_ps
        } else {
            0.0
        }
    }

    /// What it is called beside the others.
    pub fn title_among(&self, parts: &[Self]) -> &'static str {
        let has_cause = |other: &Self| other.id != TimeUse::Idle && other.idle_ps() > 0.0;
        match self.id {
            TimeUse::Idle if parts.iter().any(has_cause) => "other idle time",
            id => id.title(),
        }
    }
}

impl LoopLimit {
    /// The sentence with its times as `time` writes them.
    pub fn sentence(&self, time: impl Fn(Picos) -> String) -> String {
        let length = |ps: f64| time(Picos::rounded(ps));
        let each = match (self.devices > 1, self.are_busy) {
            (true, true) => " per busy device",
            (true, false) => " per device",
            (false, true) => " on the busy device",
            (false, false) => "",
        };
        let length_of_part = length(self.time_ps);
        let whole = length(self.of_ps);
        format!("{}: {length_of_part} of {whole}{each}", self.share)
    }
}
