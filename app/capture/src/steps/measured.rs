//! What a short capture tells of steps: how long one is, and how many bytes it adds.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use analysis::reports::Steps;
use analysis::{Scope, Unit};
use importers::Progress;
use session::number::{self, counted};
use session::{CaptureSize, LARGEST_BYTES, Session};
use trace_model::{Picos, SourceId, TraceModel};

/// Steps differ, and a recording begins within one: it is this long, as a percentage of its steps and one more.
const RESERVE_PERCENT: u128 = 110;

/// The complete steps that a capture is to hold.
#[derive(Clone, Copy, Debug)]
pub struct WantedSteps {
    pub steps: u64,
    /// Longest recording.
    pub longest: Duration,
}

/// The steps of a capture.
pub(super) struct MeasuredSteps {
    /// Complete steps on the host that has the fewest of those that have any.
    pub complete: u64,
    /// Mean time from the begin of a step to the begin of the next.
    interval: Duration,
    /// What marks them.
    marker: String,
    /// Parts of the largest file.
    size: Option<CaptureSize>,
}

impl MeasuredSteps {
    /// The steps of an open capture, or why it has none.
    pub fn of(session: &Session) -> Result<Self, String> {
        let report = session.report::<Steps>(Scope::WholeTrace);
        let report = report.map_err(|error| error.to_string())?;
        let steps = report.has_steps().then(|| complete_steps(session));
        let complete = steps.and_then(|steps| steps.into_values().min());
        // Hosts may run steps of other lengths, or number them otherwise: each by itself, and the longest counts.
        let model = session.model();
        let of_hosts = sources(model).filter_map(|id| report.interval_in(model, id));
        let longest = of_hosts.max_by(f64::total_cmp);
        let mean = longest.or_else(|| Some(report.time.as_ref()?.mean));
        let (Some(complete), Some(mean)) = (complete, mean) else {
            return Err(report.why.join("; "));
        };
        let Some(interval) = whole_nanoseconds(mean) else {
            return Err("its steps take no time".to_owned());
        };
        let size = CaptureSize::of(session, &Progress::new());
        Ok(Self {
            complete,
            interval,
            marker: report.marker.clone(),
            size: size.map_err(|error| error.to_string())?,
        })
    }

    /// How long a recording must be to hold this number of complete steps, wherever in a step it begins; or why there is
    /// none.
    pub fn length_for(&self, wanted: WantedSteps) -> Result<Duration, String> {
        let WantedSteps { steps, longest } = wanted;
        let one_more = u128::from(steps) + 1;
        let nanoseconds = self.interval.as_nanos() * one_more * RESERVE_PERCENT / 100;
        let milliseconds = nanoseconds.div_ceil(1_000_000);
        if milliseconds > longest.as_millis() {
            let (take, fewer) = if steps == 1 {
                ("takes", "")
            } else {
                ("take", ": record fewer")
            };
            return Err(format!(
                "{} of {} {take} longer than the longest recording, {}{fewer}",
                counted(steps, "step"),
                time(self.interval),
                time(longest)
            ));
        }
        let size = self.size.as_ref();
        if let Some(most) = size.and_then(|size| size.steps_that_fit)
            && recorded_steps(steps) > most
        {
            let said = size.map_or_else(String::new, |size| size.statements.join(" "));
            let complete = u128::from(most) * 100 / RESERVE_PERCENT;
            return Err(format!(
                "{} do not fit into the profile of a host: at most {} do, because a recording has one step more and a \
                 tenth in reserve. {said}",
                counted(steps, "complete step"),
                number::value(complete.saturating_sub(1) as f64, Unit::Count)
            ));
        }
        // Servers know milliseconds.
        Ok(Duration::from_millis(milliseconds as u64))
    }

    pub fn in_words(&self, trial: Duration) -> String {
        format!(
            "A short capture of {} has {} of {}, the mean from begin to begin, marked by {}.",
            time(trial),
            counted(self.complete, "complete step"),
            time(self.interval),
            self.marker
        )
    }

    pub fn plan(&self, steps: u64, length: Duration) -> String {
        let mut text = format!("{}: {}", counted(steps, "step"), time(length));
        if let Some(bytes) = self.bytes_for(steps) {
            let _ = write!(
                text,
                ", about {} in the largest profile of a host, which must stay below {}",
                number::bytes(bytes),
                number::bytes(LARGEST_BYTES)
            );
        }
        text + "."
    }

    /// Bytes of the largest profile of a host in a recording of this number of complete steps.
    pub fn bytes_for(&self, steps: u64) -> Option<u64> {
        self.size.as_ref()?.bytes_of(recorded_steps(steps))
    }
}

/// A time in whole nanoseconds; `None` if it has none.
fn whole_nanoseconds(picoseconds: f64) -> Option<Duration> {
    let time = Duration::try_from_secs_f64(picoseconds * 1e-12).ok()?;
    Some(time).filter(|time| !time.is_zero())
}

/// Steps, complete or not, in a recording that is to hold this number of complete ones.
fn recorded_steps(complete: u64) -> u64 {
    let steps = ((u128::from(complete) + 1) * RESERVE_PERCENT).div_ceil(100);
    u64::try_from(steps).unwrap_or(u64::MAX)
}

/// Complete steps in each file of a run that has any step, by its name.
pub(super) fn complete_steps(session: &Session) -> BTreeMap<OsString, u64> {
    let model = session.model();
    let mut counts = BTreeMap::new();
    let Ok(report) = session.report::<Steps>(Scope::WholeTrace) else {
        return counts;
    };
    for id in sources(model) {
        let file = model.source(id).path.as_deref().and_then(Path::file_name);
        if let (Some(count), Some(file)) = (report.complete_in(model, id), file) {
            counts.insert(file.to_owned(), count);
        }
    }
    counts
}

/// Files that a run was read from.
fn sources(model: &TraceModel) -> impl Iterator<Item = SourceId> {
    let sources: BTreeSet<SourceId> = model.groups().iter().map(|group| group.source).collect();
    sources.into_iter()
}

/// A length of time, in words.
pub(super) fn time(duration: Duration) -> String {
    let nanoseconds = i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
    Picos::from_ps(nanoseconds.saturating_mul(1000)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_below_a_nanosecond_take_no_time() {
        assert_eq!(whole_nanoseconds(400.0), None);
        assert_eq!(whole_nanoseconds(-1.0), None);
        assert_eq!(whole_nanoseconds(1_600.0), Some(Duration::from_nanos(2)));
    }
}
