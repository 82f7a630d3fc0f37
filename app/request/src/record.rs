//! What to record of which running programs.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use capture::{
    CaptureOptions, CaptureStage, LONGEST_MS, MOST_STEPS, OptionValue, ServerAddress, StepsError,
    WantedSteps, capture, capture_steps, continuous,
};
use clap::Args;
use importers::Progress;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use session::Session;
use trace_model::Picos;

use crate::assumptions::AssumedValues;
use crate::error::{RequestError, Result};
use crate::ignored::notes;
use crate::recorded::{Recorded, opener};
use crate::values::Text;

/// What to record, of which programs.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub struct CaptureRequest {
    /// Profiler servers of the running programs; several are captured at the same time, as one run
    #[arg(value_name = "HOST:PORT,…", value_delimiter = ',', required = true)]
    pub addresses: Vec<Text<ServerAddress>>,
    /// Log directory; the profiles go to LOGDIR/plugins/profile/TIME/HOST.xplane.pb, TIME in UTC
    #[arg(short, long, value_name = "LOGDIR", default_value_os_t = CaptureOptions::default().logdir)]
    pub output: PathBuf,
    #[command(flatten)]
    #[serde(flatten)]
    pub recording: RecordingRequest,
}

/// How to record.
#[derive(Clone, Debug, Args, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecordingRequest {
    /// Length of the recording in milliseconds; with --steps, of the short one that measures them
    #[arg(long, visible_alias = "duration", value_name = "MS", default_value_t = RecordingRequest::default().ms)]
    pub ms: u64,
    /// Record what holds N complete steps of each program: a short capture first tells how long that is, and how many fit
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Try again up to N times until a device was recorded on each host; the last attempt with a profile is kept
    #[arg(long, value_name = "N", default_value_t = RecordingRequest::default().retry)]
    pub retry: u32,
    /// Start after this many milliseconds, on all hosts at the same time by their own clocks
    #[arg(long, hide_short_help = true, value_name = "MS", default_value_t = RecordingRequest::default().delay)]
    pub delay: u64,
    /// Host: 0 nothing, 1 annotations of users, 2 and the runtime, 3 and its details
    #[arg(long, value_name = "N", default_value_t = RecordingRequest::default().host_level, help_heading = "What is recorded")]
    pub host_level: u32,
    /// Python calls: 0 no, 1 yes, which slows the program down
    #[arg(long, value_name = "N", default_value_t = RecordingRequest::default().python_level, help_heading = "What is recorded")]
    pub python_level: u32,
    /// Devices: 0 no, 1 yes
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = RecordingRequest::default().device_level, help_heading = "What is recorded")]
    pub device_level: u32,
    /// An option of the device's profiler, as in `ProfileOptions.advanced_configuration`; may be repeated
    #[arg(
        long,
        hide_short_help = true,
        value_name = "KEY=VALUE",
        help_heading = "What is recorded"
    )]
    pub option: Vec<Text<DeviceOption>>,
    /// Name of the run; otherwise the time in UTC, as `2026_01_31_12_00_00`
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub session: Option<Text<RunName>>,
    /// Seconds that a server may take to prepare and send the profile; otherwise 300, and 10 for each second recorded
    #[arg(long, hide_short_help = true, value_name = "S")]
    pub timeout: Option<u64>,
}

/// A day.
const MOST_SECONDS: u64 = 86_400;
const MOST_DELAY_MS: u64 = 1000 * MOST_SECONDS;

impl Default for RecordingRequest {
    fn default() -> Self {
        let usual = CaptureOptions::default();
        let milliseconds = |time: Duration| time.as_millis() as u64;
        Self {
            ms: milliseconds(usual.duration),
            steps: None,
            retry: usual.attempts.saturating_sub(1),
            delay: milliseconds(usual.delay),
            host_level: usual.host_level,
            python_level: usual.python_level,
            device_level: usual.device_level,
            option: Vec::new(),
            session: None,
            timeout: None,
        }
    }
}

/// `tpu_trace_mode=TRACE_ONLY_XLA`
#[derive(Clone, Debug)]
pub struct DeviceOption(pub String, pub OptionValue);

impl FromStr for DeviceOption {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (key, value) = text
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or("write KEY=VALUE")?;
        let value = match (value, value.parse()) {
            ("true" | "false", _) => OptionValue::Bool(value == "true"),
            (_, Ok(number)) => OptionValue::Int(number),
            _ => OptionValue::Text(value.to_owned()),
        };
        Ok(Self(key.to_owned(), value))
    }
}

/// The name of a run: one folder, not a path.
#[derive(Clone, Debug)]
pub struct RunName(pub String);

impl FromStr for RunName {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_name =
            !text.is_empty() && !text.starts_with('.') && !text.contains(['/', '\\', ':', '\0']);
        is_name
            .then(|| Self(text.to_owned()))
            .ok_or("a name without slashes, colons and a leading dot")
    }
}

impl CaptureRequest {
    /// The options; a recording is `longest` milliseconds long at most.
    pub fn options(&self, longest: u64) -> Result<CaptureOptions> {
        let RecordingRequest { ms, .. } = self.recording;
        if self.addresses.is_empty() {
            return Err(RequestError::argument(
                "addresses",
                "name at least one address",
            ));
        }
        self.recording.check(longest)?;
        if self.output.to_string_lossy().contains("://") {
            let why = format!(
                "capture writes to a directory of this machine; copy it to {} afterwards",
                self.output.display()
            );
            return Err(RequestError::argument("output", why));
        }
        let (duration, given) = (Duration::from_millis(ms), self.recording.clone());
        let options = CaptureOptions {
            addresses: self.addresses.iter().map(|one| one.0.clone()).collect(),
            duration,
            delay: Duration::from_millis(given.delay),
            host_level: given.host_level,
            python_level: given.python_level,
            device_level: given.device_level,
            options: given
                .option
                .into_iter()
                .map(|Text(DeviceOption(key, value))| (key, value))
                .collect(),
            timeout: given
                .timeout
                .map_or(CaptureOptions::timeout_for(duration), Duration::from_secs),
            logdir: self.output.clone(),
            session: given.session.map(|name| name.0.0),
            attempts: given.retry.saturating_add(1),
        };
        if let Some(name) = options.same_name() {
            return Err(RequestError::Usage(format!(
                "two addresses have the same file name {name}"
            )));
        }
        if let Some(file) = options.existing() {
            let path = file.display();
            let why = format!("the run has this profile already, choose another name: {path}");
            return Err(RequestError::argument("session", why));
        }
        Ok(options)
    }

    /// Records for the time, or for as long as the steps take. `open` opens a run, `watch` hears how far it is; where it
    /// returns false, the capture ends.
    pub fn record(
        &self,
        options: &CaptureOptions,
        longest: u64,
        open: &dyn Fn(&Path) -> Result<Session>,
        watch: impl FnMut(CaptureStage) -> bool,
    ) -> Result<Recorded> {
        check_place(options)?;
        let needs_devices = self.recording.retry > 0;
        let Some(steps) = self.recording.steps else {
            let capture = capture(options, watch);
            let capture = capture.map_err(|error| RequestError::Internal(error.to_string()))?;
            return Ok(Recorded::of(capture, needs_devices));
        };
        let wanted = WantedSteps {
            steps,
            longest: Duration::from_millis(longest),
        };
        let open = |run: &Path| open(run).map_err(|error| error.on_command_line());
        match capture_steps(options, wanted, &open, watch) {
            Ok(recorded) => Ok(Recorded {
                steps: Some(recorded.steps),
                session: recorded.session.map(Ok),
                said: recorded.said,
                lacks: recorded.lacks,
                ..Recorded::of(recorded.capture, needs_devices)
            }),
            Err(StepsError::Servers(capture, said)) => Ok(Recorded {
                said,
                ..Recorded::of(capture, needs_devices)
            }),
            Err(StepsError::NotPossible(why)) => Err(RequestError::DoesNotApply(why)),
            Err(stopped @ StepsError::Stopped) => Err(RequestError::Server(stopped.to_string())),
            Err(StepsError::Machine(error)) => Err(RequestError::Internal(error.to_string())),
        }
    }

    /// Keeps what a session without end recorded since the last time.
    pub fn snapshot(options: &CaptureOptions) -> Result<Recorded> {
        check_place(options)?;
        let capture = continuous::snapshot(options);
        let capture = capture.map_err(|error| RequestError::Internal(error.to_string()))?;
        Ok(Recorded::of(capture, false))
    }

    /// Records, and reads what was recorded: the answer as JSON.
    pub fn answer(
        &self,
        progress: &Progress,
        watch: impl FnMut(CaptureStage) -> bool,
    ) -> Result<Value> {
        let options = self.options(LONGEST_MS)?;
        let open = opener(progress)?;
        let mut recorded = self.record(&options, LONGEST_MS, &open, watch)?;
        if let Some(error) = recorded.nothing_sent() {
            return Err(error);
        }
        recorded.read(open);
        let mut said: Vec<String> = self.shortfall(&recorded).into_iter().collect();
        if let Some(Ok(session)) = &recorded.session {
            said.extend(notes(session, &AssumedValues::default()));
        }
        let mut answer = recorded.json();
        answer["warnings"] = json!(said);
        Ok(answer)
    }

    /// What is said where much less was recorded than asked for.
    pub fn shortfall(&self, recorded: &Recorded) -> Option<String> {
        let asked = Duration::from_millis(self.recording.ms).as_secs_f64();
        // In a second or two a program may have nothing to do.
        if self.recording.steps.is_some() || asked < 2.0 {
            return None;
        }
        let session = recorded.session.as_ref()?.as_ref().ok()?;
        let extent = session.model().extent().dur();
        (extent.as_secs_f64() < asked / 2.0).then(|| {
            format!(
                "{extent} of {} were recorded: the program ended, or did nothing the rest of the time",
                Picos::rounded(asked * 1e12)
            )
        })
    }
}

fn check_place(options: &CaptureOptions) -> Result<()> {
    let failed = RequestError::write(&options.logdir);
    options.check_place().map_err(failed)
}

impl RecordingRequest {
    fn check(&self, longest: u64) -> Result<()> {
        let level = |number: u32| Some(u64::from(number));
        for (name, number, least, most) in [
            ("ms", Some(self.ms), 1, longest),
            ("steps", self.steps, 1, MOST_STEPS),
            ("delay", Some(self.delay), 0, MOST_DELAY_MS),
            ("host_level", level(self.host_level), 0, 3),
            ("python_level", level(self.python_level), 0, 1),
            ("device_level", level(self.device_level), 0, 1),
            ("timeout", self.timeout, 1, MOST_SECONDS),
        ] {
            if number.is_some_and(|number| !(least..=most).contains(&number)) {
                let why = format!("write a number from {least} to {most}");
                return Err(RequestError::argument(name, why));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_devices_keep_their_type() {
        let of = |text: &str| text.parse().map(|DeviceOption(_, value)| value);
        assert_eq!(of("a=true"), Ok(OptionValue::Bool(true)));
        assert_eq!(of("a=-3"), Ok(OptionValue::Int(-3)));
        assert_eq!(
            of("a=TRACE_ONLY_XLA"),
            Ok(OptionValue::Text("TRACE_ONLY_XLA".to_owned()))
        );
        assert_eq!(of("a=b=c"), Ok(OptionValue::Text("b=c".to_owned())));
        assert!(of("a").is_err() && of("=1").is_err());
    }

    #[test]
    fn rejects_paths_as_run_names() {
        for wrong in ["", "..", "a/b", "a\\b", "c:", ".hidden"] {
            assert!(wrong.parse::<RunName>().is_err(), "{wrong:?}");
        }
        for name in ["2026_01_31_12_00_00", "before the change"] {
            assert!(name.parse::<RunName>().is_ok(), "{name:?}");
        }
    }

    #[test]
    fn programs_ask_as_the_command_line_does() {
        let given = |more: Value| {
            let mut given = json!({"addresses": ["a:1"], "output": "logs"});
            let all = given.as_object_mut().unwrap();
            all.extend(more.as_object().unwrap().clone());
            let read = crate::read::<CaptureRequest>("capture", all.clone());
            read.and_then(|request| request.options(60_000))
                .map_err(|error| error.to_string())
        };
        let options = given(
            json!({"ms": 50.0, "retry": 2, "steps": 20.0, "option": ["n=2"], "timeout": 30.0}),
        )
        .unwrap();
        assert_eq!(
            (options.duration, options.attempts),
            (Duration::from_millis(50), 3)
        );
        assert_eq!((options.host_level, options.device_level), (2, 1));
        assert_eq!(options.timeout, Duration::from_secs(30));
        assert_eq!(options.options["n"], OptionValue::Int(2));
        for (wrong, words) in [
            (json!({"ms": 60_001}), "ms: write a number from 1 to 60000"),
            (
                json!({"steps": 0}),
                "steps: write a number from 1 to 1000000",
            ),
            (
                json!({"delay": u64::MAX}),
                "delay: write a number from 0 to 86400000",
            ),
            (json!({"session": "../x"}), "a name without slashes"),
            (json!({"option": ["x"]}), "KEY=VALUE"),
            (json!({"addresses": []}), "at least one address"),
            (json!({"host_levle": 1}), "no argument \"host_levle\""),
        ] {
            let said = given(wrong).unwrap_err();
            assert!(said.contains(words), "{said}");
        }
    }
}
