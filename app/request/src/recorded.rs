//! What a capture recorded.

use std::path::Path;
use std::time::Duration;

use capture::{Capture, CompleteSteps, HostCapture, SavedProfile};
use importers::{ImportOptions, Progress};
use serde_json::{Value, json};
use session::Session;
use session::number::counted;

use crate::assumptions::Assumptions;
use crate::error::{RequestError, Result};
use crate::settings::SettingsFile;

/// What was recorded.
pub struct Recorded {
    pub capture: Capture,
    /// Complete steps of each profile, if the run was to be read.
    pub steps: Option<CompleteSteps>,
    /// The run, opened, or why it cannot be.
    pub session: Option<Result<Session>>,
    /// What was measured and done, in sentences.
    pub said: Vec<String>,
    /// What it lacks beside profiles and events.
    pub lacks: Vec<String>,
    /// Whether a device was to be recorded on each host.
    pub needs_devices: bool,
}

impl Recorded {
    /// What servers sent.
    pub fn of(capture: Capture, needs_devices: bool) -> Self {
        Self {
            capture,
            steps: None,
            session: None,
            said: Vec::new(),
            lacks: Vec::new(),
            needs_devices,
        }
    }

    /// The error where no server sent a profile, after what was said.
    pub fn nothing_sent(&self) -> Option<RequestError> {
        let why = || {
            [self.said.clone(), self.capture.reasons()]
                .concat()
                .join("\n")
        };
        let is_empty = self.capture.saved().next().is_none();
        is_empty.then(|| RequestError::Server(why()))
    }

    /// Opens the run, unless it is, and counts its steps. A profile that cannot be read is kept, too.
    pub fn read(&mut self, open: impl FnOnce(&Path) -> Result<Session>) {
        if self.steps.is_some() {
            return;
        }
        let session = open(&self.capture.run);
        let steps = session.as_ref().map(CompleteSteps::of);
        self.steps = Some(steps.unwrap_or_default());
        if let Err(error @ RequestError::Import { .. }) = &session {
            self.lacks.push(format!("the run cannot be read: {error}"));
        } else {
            self.session = Some(session);
        }
    }

    /// What it lacks of what was asked for; empty if nothing.
    pub fn all_lacks(&self) -> Vec<String> {
        let hosts = &self.capture.hosts;
        let (of, saved) = (hosts.len(), self.capture.saved().count());
        if saved == 0 {
            return Vec::new();
        }
        let mut lacks = Vec::new();
        if saved < of {
            lacks.push(format!(
                "{} of {} sent no profile; the others are kept",
                of - saved,
                counted(of as u64, "host")
            ));
        }
        let damaged = hosts.iter().filter(|host| host.is_damaged());
        lacks
            .extend(damaged.map(|host| format!("the profile of {} arrived damaged", host.address)));
        if lacks.is_empty() {
            lacks.extend(self.lacking_events().map(str::to_owned));
        }
        lacks.extend_from_slice(&self.lacks);
        lacks
    }

    /// Why profiles that all arrived whole are not what was asked for.
    fn lacking_events(&self) -> Option<&'static str> {
        let has_devices = |saved: &SavedProfile| !saved.contents.devices.is_empty();
        if self.capture.saved().all(|saved| !saved.contents.has_events) {
            return Some(
                "nothing was recorded: the program did nothing in this time, or --host-level is 0; capture longer (--ms), \
                 or while it works",
            );
        }
        let lacks_devices = self.needs_devices && !self.capture.saved().all(has_devices);
        lacks_devices.then_some("no device was recorded on some hosts, in all attempts")
    }

    /// The answer for programs.
    pub fn json(&self) -> Value {
        let steps = self.steps.as_ref();
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
        let run = self
            .capture
            .saved()
            .next()
            .map(|_| self.capture.run.display().to_string());
        let hosts: Vec<Value> = self.capture.hosts.iter().map(host).collect();
        json!({
            "schema": "systole.capture/1",
            "run": run,
            "hosts": hosts,
            "differences": self.capture.differences(),
            "done": self.said,
            "lacks": self.all_lacks(),
        })
    }
}

/// Opens runs that were recorded right now, by the configuration file of the working directory, which is read before they
/// are recorded.
pub fn opener(progress: &Progress) -> Result<impl Fn(&Path) -> Result<Session>> {
    let options = Assumptions::default().options(&SettingsFile::of(None)?)?;
    let import = ImportOptions {
        // Nobody writes it any more.
        wait: Some(Duration::ZERO),
        ..ImportOptions::default()
    };
    Ok(move |run: &Path| {
        Session::open_for_reports(run, &import, options.clone(), progress)
            .map_err(|error| RequestError::import(error, run))
    })
}
