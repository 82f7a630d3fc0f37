//! What a capture brought, as text and as an exit code.

use crate::commands::prelude::*;
use capture::{CompleteSteps, HostCapture, SavedProfile};
use request::Recorded;
use session::number;

/// Exit code where some hosts sent no profile, or too little was recorded.
pub(super) const INCOMPLETE: u8 = 12;

pub(super) fn outcome(lacks: &[String]) -> CommandOutcome {
    if lacks.is_empty() {
        return CommandOutcome::Done;
    }
    CommandOutcome::Failed {
        why: format!(
            "the capture lacks something, and is kept: {}",
            lacks.join("; ")
        ),
        code: INCOMPLETE,
    }
}

/// The hosts of a capture; complete steps where the run was to be read.
pub(super) fn in_words(recorded: &Recorded) -> String {
    let (capture, steps) = (&recorded.capture, recorded.steps.as_ref());
    let mut text = String::new();
    for sentence in &recorded.said {
        let _ = writeln!(text, "{sentence}");
    }
    let _ = writeln!(text, "Captured {}", capture.run.display());
    for HostCapture { address, result } in &capture.hosts {
        let line = match result {
            Ok(saved) => profile_in_words(saved, steps),
            Err(why) => format!("failed: {why}"),
        };
        let _ = writeln!(text, "  {address}  {line}");
    }
    for sentence in capture.differences() {
        let _ = writeln!(text, "{sentence}");
    }
    text
}

/// `2 devices, 20 complete steps, 1.2 MB, worker0 process 4321`
fn profile_in_words(saved: &SavedProfile, steps: Option<&CompleteSteps>) -> String {
    let contents = &saved.contents;
    let devices = match contents.devices.len() {
        0 if contents.is_damaged => "damaged".to_owned(),
        0 if !contents.has_events => "nothing was recorded".to_owned(),
        0 => "host only, no device".to_owned(),
        count if contents.is_damaged => format!("damaged, {}", counted(count as u64, "device")),
        count => counted(count as u64, "device"),
    };
    let mut parts = vec![devices];
    if let Some(steps) = steps.filter(|_| contents.has_events) {
        let complete = steps.found_in(&saved.file);
        parts.push(match complete {
            Some(count) => counted(count, "complete step"),
            None if steps.is_read() => "no steps".to_owned(),
            None => "steps are unknown".to_owned(),
        });
    }
    parts.push(number::bytes(saved.bytes));
    let process = contents.process.map(|process| format!("process {process}"));
    let whose: Vec<_> = contents.hostname.iter().cloned().chain(process).collect();
    if !whose.is_empty() {
        parts.push(whose.join(" "));
    }
    parts.extend(
        contents
            .errors
            .iter()
            .map(|error| format!("the profiler says: {error}")),
    );
    parts.join(", ")
}
