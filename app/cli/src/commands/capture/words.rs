//! What a capture brought, as text, as JSON and as an exit code.

use crate::commands::prelude::*;
use capture::{Capture, CompleteSteps, HostCapture, SavedProfile};
use session::number::value;

/// Exit code where some hosts sent no profile, or too little was recorded.
pub(super) const INCOMPLETE: u8 = 12;

pub(super) fn outcome(capture: &Capture, needs_devices: bool) -> CommandOutcome {
    let of = capture.hosts.len();
    let count = |is: fn(&SavedProfile) -> bool| capture.saved().filter(|saved| is(saved)).count();
    let failed = |why| CommandOutcome::Failed {
        why,
        code: INCOMPLETE,
    };
    let saved = count(|_| true);
    if saved < of {
        return failed(format!(
            "{} of {} sent no profile; the others are kept",
            of - saved,
            counted(of as u64, "host")
        ));
    }
    if count(|saved| saved.contents.has_events) == 0 {
        return failed(
            "nothing was recorded: the program did nothing in this time, or --host-level is 0; capture longer (--ms), \
             or while it works"
                .to_owned(),
        );
    }
    if needs_devices && count(|saved| !saved.contents.devices.is_empty()) < of {
        return failed("no device was recorded on some hosts, in all attempts".to_owned());
    }
    CommandOutcome::Done
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
        0 if !contents.has_events => "nothing was recorded".to_owned(),
        0 => "host only, no device".to_owned(),
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
