//! What a capture brought, as text, as JSON and as an exit code.

use crate::commands::prelude::*;
use capture::{Capture, CompleteSteps, HostCapture, SavedProfile};
use session::number::value;

/// Exit code where some hosts sent no profile, or too little was recorded.
pub(super) const INCOMPLETE: u8 = 12;

/// What a capture lacks of what was asked for.
pub(super) fn lacking(capture: &Capture, needs_devices: bool) -> Vec<String> {
    let of = capture.hosts.len();
    let count = |is: fn(&SavedProfile) -> bool| capture.saved().filter(|saved| is(saved)).count();
    let saved = count(|_| true);
    let mut lacks = Vec::new();
    if saved < of {
        lacks.push(format!(
            "{} of {} sent no profile; the others are kept",
            of - saved,
            counted(of as u64, "host")
        ));
    }
    let is_damaged = |host: &&HostCapture| {
        let saved = host.result.as_ref();
        saved.is_ok_and(|saved| saved.contents.is_damaged)
    };
    let damaged = capture.hosts.iter().filter(is_damaged);
    lacks.extend(damaged.map(|host| format!("the profile of {} arrived damaged", host.address)));
    if !lacks.is_empty() {
        return lacks;
    }
    if count(|saved| saved.contents.has_events) == 0 {
        lacks.push(
            "nothing was recorded: the program did nothing in this time, or --host-level is 0; capture longer (--ms), \
             or while it works"
                .to_owned(),
        );
    } else if needs_devices && count(|saved| !saved.contents.devices.is_empty()) < of {
        lacks.push("no device was recorded on some hosts, in all attempts".to_owned());
    }
    lacks
}

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
pub(super) fn in_words(
    capture: &Capture,
    steps: Option<&CompleteSteps>,
    said: &[String],
) -> String {
    let mut text = String::new();
    for sentence in said {
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
    parts.push(value(saved.bytes as f64, Unit::Bytes));
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

pub(super) fn json_text(
    capture: &Capture,
    steps: Option<&CompleteSteps>,
    [said, lacks]: [&[String]; 2],
) -> Result<String> {
    let host = |HostCapture { address, result }: &HostCapture| -> Value {
        match result {
            Ok(saved) => json!({
                "address": address.to_string(),
                "file": saved.file.display().to_string(),
                "bytes": saved.bytes,
                "devices": saved.contents.devices,
                "has_events": saved.contents.has_events,
                "is_damaged": saved.contents.is_damaged,
                "hostname": saved.contents.hostname,
                "process": saved.contents.process,
                "started_unix_ns": saved.contents.started_unix_ns,
                "complete_steps": steps.and_then(|steps| steps.in_file(&saved.file)),
                "errors": saved.contents.errors,
            }),
            Err(why) => json!({ "address": address.to_string(), "error": why.to_string() }),
        }
    };
    let run = capture
        .saved()
        .next()
        .map(|_| capture.run.display().to_string());
    let hosts: Vec<Value> = capture.hosts.iter().map(host).collect();
    let text = serde_json::to_string_pretty(&json!({
        "schema": "systole.capture/1",
        "run": run,
        "hosts": hosts,
        "differences": capture.differences(),
        "done": said,
        "lacks": lacks,
    }));
    Ok(text?
        + "
")
}
