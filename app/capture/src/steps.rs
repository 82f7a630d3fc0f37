//! A recording that holds a number of steps: a short one first says how long a step is and how many bytes it adds, then
//! one is taken that is long enough and can be sent. What it lacks is taken again once, with a remedy.
//!
//! ```text
//! short capture ─▶ MeasuredSteps ─▶ length for N steps, if they fit ─▶ capture ─▶ lacks? ─▶ remedy ─▶ capture
//! ```

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Duration;

use analysis::reports::steps::step_times::Steps;
use analysis::{Scope, Unit};
use importers::Progress;
use session::number::{counted, value};
use session::{CaptureSize, LARGEST_BYTES, Session};
use trace_model::Picos;

use super::client::ServerError;
use super::run::{Capture, CaptureOptions, CaptureStage, capture};

/// Longest recording.
const LONGEST: Duration = Duration::from_hours(1);
/// Short captures until one has enough steps, and how much longer each is than the one before.
const TRIALS: u32 = 3;
const LONGER: u32 = 4;
/// Complete steps of a short capture that say how long one is.
const ENOUGH: u64 = 2;
/// Steps differ, and a recording begins within one: it is this long, as a percentage of its steps.
const RESERVE_PERCENT: u128 = 110;
/// How much longer a capture that lacks steps is taken again at most.
const MOST_LONGER: u64 = 4;

/// A capture that was asked for by its steps.
#[derive(Debug)]
pub struct CaptureOfSteps {
    pub capture: Capture,
    /// The run, opened, if it can be.
    pub session: Option<Session>,
    /// What was measured and done, in sentences.
    pub said: Vec<String>,
    /// What it lacks of what was asked for; empty if nothing.
    pub lacks: Vec<String>,
    /// Complete steps of each profile, by the name of its file.
    steps: BTreeMap<OsString, u64>,
}

impl CaptureOfSteps {
    /// Complete steps of a profile; `None` if it has none.
    pub fn steps_of(&self, file: &Path) -> Option<u64> {
        self.steps.get(file.file_name()?).copied()
    }

    /// Complete steps of the host that has the fewest.
    fn fewest(&self) -> u64 {
        let of = |saved: &super::SavedProfile| self.steps_of(&saved.file).unwrap_or(0);
        self.capture.saved().map(of).min().unwrap_or(0)
    }

    /// What makes one capture better than another: hosts, devices, steps.
    fn worth(&self) -> (usize, usize, u64) {
        let devices = self
            .capture
            .saved()
            .map(|saved| saved.contents.devices.len());
        (self.capture.saved().count(), devices.sum(), self.fewest())
    }
}

/// Why no recording of steps was taken.
#[derive(Debug, thiserror::Error)]
pub enum StepsError {
    /// This machine fails.
    #[error("{0}")]
    Machine(#[from] io::Error),
    /// No server sent a profile; nothing was kept.
    #[error("{}", .0.reasons().join("\n"))]
    Servers(Capture),
    /// There are no steps, or they do not fit.
    #[error("{0}")]
    NotPossible(String),
}

/// The steps of a capture.
#[derive(Debug)]
struct MeasuredSteps {
    /// Complete steps on the host that has the fewest of those that have any.
    complete: u64,
    /// Mean time from the begin of a step to the begin of the next.
    interval: Duration,
    /// What marks them.
    marker: String,
    /// Parts of the largest file.
    size: Option<CaptureSize>,
}

impl MeasuredSteps {
    /// Of an open capture, or why it has no steps.
    fn of(session: &Session) -> Result<Self, String> {
        let report = session.report::<Steps>(Scope::WholeTrace);
        let report = report.map_err(|error| error.to_string())?;
        let found = report.has_steps().then(|| complete_steps(session));
        let complete = found.and_then(|steps| steps.into_values().min());
        let mean = report.interval.as_ref().or(report.time.as_ref());
        let (Some(complete), Some(mean)) = (complete, mean.map(|times| times.mean)) else {
            return Err(report.why.join("; "));
        };
        if mean <= 0.0 {
            return Err("its steps take no time".to_owned());
        }
        let size = CaptureSize::of(session, &Progress::new());
        Ok(Self {
            complete,
            interval: Duration::from_secs_f64(mean * 1e-12),
            marker: report.marker.clone(),
            size: size.map_err(|error| error.to_string())?,
        })
    }

    /// How long a recording must be to hold this number of complete steps, wherever in a step it begins; or why there is
    /// none.
    fn length_for(&self, steps: u64) -> Result<Duration, String> {
        let one_more = steps.saturating_add(1);
        let nanoseconds = self.interval.as_nanos() * u128::from(one_more) * RESERVE_PERCENT / 100;
        let milliseconds = nanoseconds.div_ceil(1_000_000);
        if milliseconds > LONGEST.as_millis() {
            return Err(format!(
                "{} of {} take longer than the longest recording, {}: record fewer",
                counted(steps, "step"),
                time(self.interval),
                time(LONGEST)
            ));
        }
        let size = self.size.as_ref();
        if let Some(most) = size.and_then(|size| size.steps_that_fit)
            && one_more > most
        {
            let said = size.map_or_else(String::new, |size| size.statements.join(" "));
            return Err(format!(
                "{} do not fit into the profile of a host: at most {} do. {said}",
                counted(steps, "complete step"),
                value(most.saturating_sub(1) as f64, Unit::Count)
            ));
        }
        // Servers know milliseconds.
        Ok(Duration::from_millis(milliseconds as u64))
    }

    fn in_words(&self, trial: Duration) -> String {
        format!(
            "A short capture of {} has {} of {}, the mean from begin to begin, marked by {}.",
            time(trial),
            counted(self.complete, "complete step"),
            time(self.interval),
            self.marker
        )
    }

    fn plan(&self, steps: u64, length: Duration) -> String {
        let mut text = format!("{}: {}", counted(steps, "step"), time(length));
        let bytes = self.size.as_ref().and_then(|size| size.bytes_of(steps + 1));
        if let Some(bytes) = bytes {
            let amount = |bytes: u64| value(bytes as f64, Unit::Bytes);
            let _ = write!(
                text,
                ", about {} in the largest profile of a host, which must stay below {}",
                amount(bytes),
                amount(LARGEST_BYTES)
            );
        }
        text + "."
    }
}

/// Complete steps in each file of a run that has any step, by its name.
fn complete_steps(session: &Session) -> BTreeMap<OsString, u64> {
    let model = session.model();
    let mut found = BTreeMap::new();
    let Ok(report) = session.report::<Steps>(Scope::WholeTrace) else {
        return found;
    };
    for (at, source) in model.sources().iter().enumerate() {
        let is_there = |group| model.group(group).source.index() == at;
        let mut own = report.steps.iter();
        let own = own
            .by_ref()
            .filter(|step| step.spans.iter().any(|span| is_there(span.group)));
        let count = own.fold(None, |count: Option<u64>, step| {
            Some(count.unwrap_or(0) + u64::from(!step.is_partial))
        });
        let file = source.path.as_deref().and_then(Path::file_name);
        if let (Some(count), Some(file), true) = (count, file, report.has_steps()) {
            found.insert(file.to_owned(), count);
        }
    }
    found
}

/// Captures this number of complete steps of each program: `options.duration` is the length of the short capture.
/// `open` opens a run, `watch` is that of [`capture`].
///
/// # Errors
///
/// Nothing was recorded, or steps were not found, or they do not fit: nothing is kept.
pub fn capture_steps(
    options: &CaptureOptions,
    wanted: u64,
    open: &dyn Fn(&Path) -> Result<Session, String>,
    mut watch: impl FnMut(CaptureStage) -> bool,
) -> Result<CaptureOfSteps, StepsError> {
    let mut said = Vec::new();
    let (measured, devices) = measure(options, open, &mut said, &mut watch)?;
    let length = measured
        .length_for(wanted)
        .map_err(StepsError::NotPossible)?;
    said.push(measured.plan(wanted, length));
    let options = with_length(options, length);
    let first = taken(&options, wanted, open, &devices, &mut watch)?;
    let Some((words, again)) = remedy(&first, &options, wanted, &measured) else {
        return finished(first, said);
    };
    said.push(words);
    let Some(again) = again else {
        return finished(first, said);
    };
    let second = taken(&again, wanted, open, &devices, &mut watch)?;
    let is_better = second.worth() >= first.worth();
    let (mut best, rest) = if is_better {
        (second, first)
    } else {
        (first, second)
    };
    if !is_better {
        said.push("That has less, and the first capture is kept.".to_owned());
    }
    rest.capture.remove();
    if let Some(name) = options.session.as_deref().filter(|_| is_better) {
        best.capture.move_to(&options.logdir, name)?;
        // It was opened where it is no more.
        best.session = open(&best.capture.run).ok();
    }
    finished(best, said)
}

fn finished(mut found: CaptureOfSteps, said: Vec<String>) -> Result<CaptureOfSteps, StepsError> {
    if found.capture.saved().next().is_none() {
        return Err(StepsError::Servers(found.capture));
    }
    found.said = said;
    Ok(found)
}

/// Short captures, each longer than the last, until one has steps; and the devices of each host there.
fn measure(
    options: &CaptureOptions,
    open: &dyn Fn(&Path) -> Result<Session, String>,
    said: &mut Vec<String>,
    watch: &mut impl FnMut(CaptureStage) -> bool,
) -> Result<(MeasuredSteps, Vec<usize>), StepsError> {
    let mut duration = options.duration;
    let mut last = String::new();
    for _ in 0..TRIALS {
        // It is gone with the folder, whatever comes of it.
        let folder = tempfile::Builder::new()
            .prefix("systole-capture-")
            .tempdir()?;
        let trial = CaptureOptions {
            delay: Duration::ZERO,
            logdir: folder.path().to_owned(),
            session: None,
            ..with_length(options, duration)
        };
        let mut goes_on = true;
        let found = capture(&trial, |stage| {
            goes_on &= watch(stage);
            goes_on
        })?;
        if found.saved().next().is_none() || !goes_on {
            return Err(StepsError::Servers(found));
        }
        match open(&found.run).and_then(|session| MeasuredSteps::of(&session)) {
            Ok(measured) if measured.complete >= ENOUGH => {
                said.push(measured.in_words(duration));
                return Ok((measured, devices_of(&found)));
            }
            Ok(measured) => last = measured.in_words(duration),
            Err(why) => {
                last = format!("A short capture of {} has no steps: {why}.", time(duration));
            }
        }
        duration = (duration * LONGER).min(LONGEST);
    }
    Err(StepsError::NotPossible(format!(
        "{last} That is too few to know how long a step is: name a longer capture with --ms, or mark steps with \
         jax.profiler.StepTraceAnnotation"
    )))
}

/// Devices that each host recorded; 0 of a host without a profile.
fn devices_of(capture: &Capture) -> Vec<usize> {
    let of = |host: &super::HostCapture| {
        host.result
            .as_ref()
            .map_or(0, |saved| saved.contents.devices.len())
    };
    capture.hosts.iter().map(of).collect()
}

/// A capture, with what it lacks.
fn taken(
    options: &CaptureOptions,
    wanted: u64,
    open: &dyn Fn(&Path) -> Result<Session, String>,
    devices: &[usize],
    watch: &mut impl FnMut(CaptureStage) -> bool,
) -> Result<CaptureOfSteps, StepsError> {
    let capture = capture(options, &mut *watch)?;
    let session = capture.saved().next().map(|_| open(&capture.run));
    let (session, unread) = match session {
        Some(Ok(session)) => (Some(session), None),
        Some(Err(why)) => (None, Some(format!("the run cannot be read: {why}"))),
        None => (None, None),
    };
    let mut found = CaptureOfSteps {
        steps: session.as_ref().map(complete_steps).unwrap_or_default(),
        capture,
        session,
        said: Vec::new(),
        lacks: Vec::new(),
    };
    found.lacks.extend(unread);
    let hosts = found
        .capture
        .hosts
        .iter()
        .zip(devices_of(&found.capture).into_iter().zip(devices));
    for (host, (now, before)) in hosts {
        let Ok(saved) = &host.result else { continue };
        let address = &host.address;
        if now < *before {
            let recorded = counted(now as u64, "device");
            found.lacks.push(format!(
                "{address} recorded {recorded}, and {before} in the short capture"
            ));
        }
        let steps = found.steps.get(saved.file.file_name().unwrap_or_default());
        let steps = steps.copied().unwrap_or(0);
        if steps < wanted {
            found.lacks.push(format!(
                "{address} has {} of {wanted}",
                counted(steps, "complete step")
            ));
        }
    }
    Ok(found)
}

/// What is done about what a capture lacks: in words, and as options for another; `None` where it lacks nothing.
fn remedy(
    found: &CaptureOfSteps,
    options: &CaptureOptions,
    wanted: u64,
    measured: &MeasuredSteps,
) -> Option<(String, Option<CaptureOptions>)> {
    let errors = || {
        found
            .capture
            .hosts
            .iter()
            .filter_map(|host| host.result.as_ref().err())
    };
    let again = CaptureOptions {
        // The name is given to the one that is kept.
        session: None,
        ..options.clone()
    };
    let mut problems = found.capture.reasons();
    problems.extend(found.lacks.iter().cloned());
    let problems = problems.join("; ");
    if errors().any(|error| matches!(error, ServerError::TooLarge(_))) {
        let less = CaptureOptions {
            host_level: options.host_level.min(1),
            python_level: 0,
            ..again
        };
        let is_less = options.host_level > 1 || options.python_level > 0;
        let words = if is_less {
            format!("{problems}. It is taken again with --host-level 1 and --python-level 0.")
        } else {
            format!("{problems}. Fewer steps are smaller: --steps.")
        };
        return Some((words, is_less.then_some(less)));
    }
    if found.lacks.is_empty() && errors().all(|error| !error.may_pass()) {
        return None;
    }
    // As much longer as steps are missing; devices and hosts that are missing were idle or away for a while.
    let of = |steps: u64| steps.saturating_add(1);
    let longer = of(wanted).saturating_mul(of(wanted)) / of(found.fewest().min(wanted));
    let steps = longer
        .min(of(wanted).saturating_mul(MOST_LONGER))
        .max(of(wanted))
        - 1;
    Some(match measured.length_for(steps) {
        Ok(length) => (
            format!("{problems}. It is taken again, with {}.", time(length)),
            Some(with_length(&again, length)),
        ),
        Err(why) => (
            format!("{problems}. A longer capture is not possible: {why}"),
            None,
        ),
    })
}

/// The same with another length; a limit that the user has not set follows it.
fn with_length(options: &CaptureOptions, length: Duration) -> CaptureOptions {
    let is_usual = options.timeout == CaptureOptions::timeout_for(options.duration);
    CaptureOptions {
        duration: length,
        timeout: if is_usual {
            CaptureOptions::timeout_for(length)
        } else {
            options.timeout
        },
        ..options.clone()
    }
}

/// A length of time, in words.
fn time(duration: Duration) -> String {
    Picos::from_ps(
        i64::try_from(duration.as_nanos())
            .unwrap_or(i64::MAX)
            .saturating_mul(1000),
    )
    .to_string()
}
