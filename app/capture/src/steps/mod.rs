//! A recording that holds a number of steps: a short one first says how long a step is and how many bytes it adds, then
//! one is taken that is long enough and can be sent. What it lacks is taken again once, with a remedy.
//!
//! ```text
//! short capture ─▶ MeasuredSteps ─▶ length for N steps, if they fit ─▶ capture ─▶ lacks? ─▶ remedy ─▶ capture
//! ```

mod measured;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use session::number::{self, counted};
use session::{LARGEST_BYTES, Session};

use super::client::ServerError;
use super::run::{Capture, CaptureOptions, CaptureStage, capture};
use measured::{MeasuredSteps, complete_steps, time};

pub use measured::WantedSteps;

/// Most steps that a capture may be asked for.
pub const MOST_STEPS: u64 = 1_000_000;

/// Short captures until one has enough steps, and how much longer each is than the one before.
const TRIALS: u32 = 3;
const LONGER: u32 = 4;
/// Complete steps of a short capture that say how long one is.
const ENOUGH: u64 = 2;
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
    /// Complete steps of each profile.
    pub steps: CompleteSteps,
}

/// Complete steps of each profile of a run, by the name of its file; none are known if the run cannot be read.
#[derive(Debug, Default)]
pub struct CompleteSteps(Option<BTreeMap<OsString, u64>>);

impl CompleteSteps {
    pub fn of(session: &Session) -> Self {
        Self(Some(complete_steps(session)))
    }

    /// Whether the run could be read: else steps are unknown.
    pub fn is_read(&self) -> bool {
        self.0.is_some()
    }

    /// The complete steps of a profile; `None` if none were found in it.
    pub fn found_in(&self, file: &Path) -> Option<u64> {
        self.0.as_ref()?.get(file.file_name()?).copied()
    }

    /// The complete steps of a profile, 0 if none were found in it; `None` if the run could not be read.
    pub fn in_file(&self, file: &Path) -> Option<u64> {
        self.is_read().then(|| self.found_in(file).unwrap_or(0))
    }
}

impl CaptureOfSteps {
    /// Complete steps of the host that has the fewest, of those that sent a profile.
    fn fewest(&self) -> Option<u64> {
        let of = |saved: &super::SavedProfile| self.steps.in_file(&saved.file);
        self.capture.saved().filter_map(of).min()
    }

    /// What makes one capture better than another: hosts, devices, steps.
    fn worth(&self) -> (usize, usize, Option<u64>) {
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
    /// No server sent a profile, and what was measured and done before; nothing was kept.
    #[error("{}", .0.reasons().join("\n"))]
    Servers(Capture, Vec<String>),
    /// The caller stopped the short capture; nothing was kept.
    #[error("stopped before it was complete; nothing is kept")]
    Stopped,
    /// There are no steps, or they do not fit.
    #[error("{0}")]
    NotPossible(String),
}

/// Captures complete steps of each program: `options.duration` is the length of the short capture.
/// `open` opens a run, `watch` is that of [`capture`].
///
/// # Errors
///
/// Nothing was recorded, or steps were not found, or they do not fit: nothing is kept. Where only the recording that was
/// to be better fails, the first is kept.
pub fn capture_steps(
    options: &CaptureOptions,
    wanted: WantedSteps,
    open: &dyn Fn(&Path) -> Result<Session, String>,
    mut watch: impl FnMut(CaptureStage) -> bool,
) -> Result<CaptureOfSteps, StepsError> {
    let mut said = Vec::new();
    // Who stopped one recording wants no other.
    let mut goes_on = true;
    let mut watch = |stage| {
        goes_on = goes_on && watch(stage);
        goes_on
    };
    let (measured, devices) = measure(options, wanted.longest, open, &mut said, &mut watch)?;
    let length = measured
        .length_for(wanted)
        .map_err(StepsError::NotPossible)?;
    said.push(measured.plan(wanted.steps, length));
    let options = with_length(options, length);
    let mut first = taken(&options, wanted.steps, open, &devices, &mut watch)?;
    let remedy = remedy(&first, &options, &devices, wanted, &measured);
    let Some((words, again)) = remedy.filter(|_| watch(CaptureStage::Reading)) else {
        return finished(first, said);
    };
    said.push(words);
    let Some(again) = again else {
        return finished(first, said);
    };
    // One open run at a time: they are large.
    first.session = None;
    let second = taken(&again, wanted.steps, open, &devices, &mut watch);
    let mut best = better(first, second, &options, &mut said);
    if best.session.is_none() && best.steps.is_read() {
        best.session = open(&best.capture.run).ok();
    }
    finished(best, said)
}

/// The first capture or the second, under the name that was asked for; the other is removed.
fn better(
    first: CaptureOfSteps,
    second: Result<CaptureOfSteps, StepsError>,
    options: &CaptureOptions,
    said: &mut Vec<String>,
) -> CaptureOfSteps {
    let has_files = |attempt: &CaptureOfSteps| attempt.capture.saved().next().is_some();
    let mut second = match second {
        Ok(second) => second,
        Err(error) => {
            let kept = if has_files(&first) {
                " The first capture is kept."
            } else {
                ""
            };
            said.push(format!("That failed on this machine: {error}.{kept}"));
            return first;
        }
    };
    if second.worth() < first.worth() {
        second.capture.remove();
        said.push("That has less, and the first capture is kept.".to_owned());
        for host in &second.capture.hosts {
            if let Err(error) = &host.result {
                said.push(format!("In the second capture, {}: {error}.", host.address));
            }
        }
        return first;
    }
    first.capture.remove();
    if let Some(name) = options.session.as_deref().filter(|_| has_files(&second)) {
        second.session = None;
        if let Err(error) = second.capture.move_to(&options.logdir, name) {
            let place = second.capture.run.display();
            said.push(format!(
                "It cannot be given the name {name} ({error}) and stays where it is: {place}"
            ));
        }
    }
    second
}

fn finished(mut capture: CaptureOfSteps, said: Vec<String>) -> Result<CaptureOfSteps, StepsError> {
    if capture.capture.saved().next().is_none() {
        return Err(StepsError::Servers(capture.capture, said));
    }
    capture.said = said;
    Ok(capture)
}

/// Short captures, each longer than the last, until one has steps; and the devices of each host there.
fn measure(
    options: &CaptureOptions,
    longest: Duration,
    open: &dyn Fn(&Path) -> Result<Session, String>,
    said: &mut Vec<String>,
    watch: &mut impl FnMut(CaptureStage) -> bool,
) -> Result<(MeasuredSteps, Vec<Option<usize>>), StepsError> {
    let mut duration = options.duration;
    let mut last = String::new();
    let mut is_longest = false;
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
        let capture = capture(&trial, &mut *watch)?;
        if !watch(CaptureStage::Reading) {
            return Err(StepsError::Stopped);
        }
        if capture.saved().next().is_none() {
            said.extend((!last.is_empty()).then_some(last));
            return Err(StepsError::Servers(capture, std::mem::take(said)));
        }
        let damaged = capture.hosts.iter().filter(|host| host.is_damaged());
        let damaged: Vec<String> = damaged.map(|host| host.address.to_string()).collect();
        let place = format!(": {}", folder.path().display());
        match open(&capture.run).and_then(|session| MeasuredSteps::of(&session)) {
            // It may have been stopped while it was read.
            _ if !watch(CaptureStage::Reading) => return Err(StepsError::Stopped),
            Ok(measured) if measured.complete >= ENOUGH => {
                said.push(measured.in_words(duration));
                return Ok((measured, devices_of(&capture)));
            }
            Ok(measured) => last = measured.in_words(duration),
            Err(why) => {
                // The file that it names is gone when that is read.
                let why = why.split(&place).next().unwrap_or_default();
                let length = time(duration);
                if !damaged.is_empty() {
                    let why = format!(
                        "A short capture of {length} arrived damaged from {}: {why}; try again, or record less: a shorter \
                         time, or a lower level of the host",
                        damaged.join(" and ")
                    );
                    return Err(StepsError::NotPossible(why));
                }
                last = format!("A short capture of {length} has no steps: {why}.");
            }
        }
        is_longest = duration >= longest;
        if is_longest {
            break;
        }
        duration = (duration * LONGER).min(longest);
    }
    let longer = if is_longest {
        "Mark"
    } else {
        "Let the first capture take longer than that, or mark"
    };
    Err(StepsError::NotPossible(format!(
        "{last} That is too few to know how long a step is. {longer} steps with jax.profiler.StepTraceAnnotation"
    )))
}

/// Devices that each host recorded; `None` of a host without a profile.
fn devices_of(capture: &Capture) -> Vec<Option<usize>> {
    let of = |host: &super::HostCapture| Some(host.result.as_ref().ok()?.contents.devices.len());
    capture.hosts.iter().map(of).collect()
}

/// A capture, with what it lacks.
fn taken(
    options: &CaptureOptions,
    wanted: u64,
    open: &dyn Fn(&Path) -> Result<Session, String>,
    devices: &[Option<usize>],
    watch: &mut impl FnMut(CaptureStage) -> bool,
) -> Result<CaptureOfSteps, StepsError> {
    let capture = capture(options, &mut *watch)?;
    watch(CaptureStage::Reading);
    let session = capture.saved().next().map(|_| open(&capture.run));
    let (session, unread) = match session {
        Some(Ok(session)) => (Some(session), None),
        Some(Err(why)) => (None, Some(format!("the run cannot be read: {why}"))),
        None => (None, None),
    };
    let mut taken = CaptureOfSteps {
        steps: session.as_ref().map(CompleteSteps::of).unwrap_or_default(),
        capture,
        session,
        said: Vec::new(),
        lacks: Vec::new(),
    };
    taken.lacks.extend(unread);
    for (host, before) in taken.capture.hosts.iter().zip(devices) {
        let Ok(saved) = &host.result else { continue };
        let address = &host.address;
        let now = saved.contents.devices.len();
        if let Some(before) = before.filter(|&before| now < before) {
            let recorded = counted(now as u64, "device");
            taken.lacks.push(format!(
                "{address} recorded {recorded}, and {before} in the short capture"
            ));
        }
        match taken.steps.found_in(&saved.file) {
            _ if !taken.steps.is_read() => {}
            None => taken.lacks.push(format!(
                "no steps were found in the profile of {address}, which was to have {wanted}"
            )),
            Some(steps) if steps < wanted => taken.lacks.push(format!(
                "{address} has {} of {wanted}",
                counted(steps, "complete step")
            )),
            Some(_) => {}
        }
    }
    Ok(taken)
}

/// What is done about what a capture lacks: in words, and as options for another; `None` where it lacks nothing.
fn remedy(
    taken: &CaptureOfSteps,
    options: &CaptureOptions,
    devices: &[Option<usize>],
    wanted: WantedSteps,
    measured: &MeasuredSteps,
) -> Option<(String, Option<CaptureOptions>)> {
    let hosts = taken.capture.hosts.iter();
    let errors: Vec<&ServerError> = hosts
        .filter_map(|host| host.result.as_ref().err())
        .collect();
    let again = CaptureOptions {
        // The name is given to the one that is kept.
        session: None,
        ..options.clone()
    };
    let mut problems = taken.capture.reasons();
    problems.extend(taken.lacks.iter().cloned());
    let mut problems = problems.join("; ");
    let mut is_too_large = errors
        .iter()
        .any(|error| matches!(error, ServerError::TooLarge(_)));
    // Of a host without a profile of the short capture nothing is expected.
    let mut known = taken.capture.hosts.iter().zip(devices);
    let is_empty_now = known.any(|(host, before)| {
        before.is_some() && matches!(host.result, Err(ServerError::NoProfile))
    });
    if is_empty_now && let Some(expected) = measured.bytes_for(wanted.steps) {
        let is_large = expected > LARGEST_BYTES / 2;
        is_too_large |= is_large;
        problems.push_str(&about_empty(expected, is_large));
    }
    if is_too_large {
        return Some(match with_less(&again) {
            Some((less, changes)) => (
                format!("{problems}. It is taken again with {changes}."),
                Some(less),
            ),
            None if wanted.steps > 1 => (
                format!(
                    "{problems}. A recording of fewer than {} is smaller.",
                    counted(wanted.steps, "step")
                ),
                None,
            ),
            None => (format!("{problems}."), None),
        });
    }
    if taken.lacks.is_empty() && errors.iter().all(|error| !error.may_pass()) {
        return None;
    }
    // As much longer as steps are missing; devices and hosts that are missing were idle or away for a while.
    let one_more = |steps: u64| steps.saturating_add(1);
    let planned = one_more(wanted.steps);
    let recorded = taken
        .fewest()
        .map_or(wanted.steps, |fewest| fewest.min(wanted.steps));
    let longer = planned.saturating_mul(planned) / one_more(recorded);
    let steps = longer.min(planned.saturating_mul(MOST_LONGER)) - 1;
    Some(match measured.length_for(WantedSteps { steps, ..wanted }) {
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

/// What a missing profile means where so many bytes were expected.
fn about_empty(expected: u64, is_large: bool) -> String {
    let about = number::bytes(expected);
    if is_large {
        format!(
            ". The short capture has a profile, and about {about} were expected: profilers send nothing of one above {}",
            number::bytes(LARGEST_BYTES)
        )
    } else {
        format!(
            ". The short capture has a profile, and only about {about} were expected: it is not too large to be sent, so the \
             program has ended or did nothing"
        )
    }
}

/// Options that record less of the host, and the words for what they change; `None` if there is nothing to leave out.
fn with_less(options: &CaptureOptions) -> Option<(CaptureOptions, String)> {
    let less = CaptureOptions {
        host_level: options.host_level.min(1),
        python_level: 0,
        ..options.clone()
    };
    let levels = [
        ("host level", options.host_level, less.host_level),
        ("Python level", options.python_level, less.python_level),
    ];
    let changes = levels.iter().filter(|(_, was, is)| is < was);
    let changes: Vec<String> = changes
        .map(|(level, was, is)| format!("{level} {is} in place of {was}"))
        .collect();
    (!changes.is_empty()).then(|| (less, changes.join(" and ")))
}

/// The options with another length; a limit that the user has not set follows it.
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
