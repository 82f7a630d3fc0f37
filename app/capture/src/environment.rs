//! What the recorded program was built from, where it ran on this machine. What another machine runs is not known here.

use std::collections::BTreeMap;

use session::environment::{ObservedProcess, write};

use super::run::{Capture, HostCapture};

/// Writes what is known beside the profiles.
pub(super) fn record(capture: &Capture) {
    let local = capture
        .hosts
        .iter()
        .find(|host| host.address.is_loopback() && host.result.is_ok());
    let Some(host) = local else { return };
    let (process, by) = match recorded_process(host) {
        Some(process) => (process, "systole capture, of the recorded process"),
        None => (ObservedProcess::this(), "systole capture, of itself"),
    };
    let environment = process.environment(by, &BTreeMap::new(), &[]);
    // The profile is what was asked for: without this file it is worth as much.
    let _ = write(&environment, &capture.run);
}

/// The process that was recorded, if it runs on this machine and may be looked at.
fn recorded_process(host: &HostCapture) -> Option<ObservedProcess> {
    let contents = &host.result.as_ref().ok()?.contents;
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    if contents.hostname.as_deref() != Some(name.trim()) {
        return None;
    }
    ObservedProcess::other(contents.process?)
}
