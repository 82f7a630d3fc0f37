//! `capture`: records a running program. Offered only where the server was started for it, because it asks other
//! machines and writes files.

use std::path::Path;

use super::prelude::*;
use analysis::reports::{Doctor, DoctorReport};
use analysis::{Scope, Tabular as _};

use super::call::BoundInput;
use capture::{Capture, CompleteSteps, HostCapture};
use importers::Progress;

use request::{CaptureRequest, RecordingRequest, RunName, Text, opener};
use session::number::counted;

pub(super) struct CaptureTool;

/// Length of a recording at most: profiles of minutes cannot be opened.
const MOST_MS: u64 = 60_000;
/// What else an agent may ask for at most: a call ends before its client has forgotten it.
const MOST_RETRIES: u64 = 10;
const MOST_SECONDS: u64 = 600;

#[derive(Deserialize, JsonSchema)]
pub(super) struct CaptureInput {
    #[serde(flatten)]
    capture: CaptureRequest,
    #[serde(flatten)]
    bound: BoundInput,
}

impl McpTool for CaptureTool {
    type Input = CaptureInput;
    const NAME: &'static str = "capture";
    const ABOUT: &'static str = "Records a running program through its profiler server (jax.profiler.start_server), writes \
        the profiles of all hosts as one run, and says where they are and what doctor finds about them. It slows the \
        program down while it records: for ms, 2000 unless given, at most 60000 each time. output is below a directory that \
        may be read; retry is at most 10, delay 60000, timeout 600.";
    const IS_READ_ONLY: bool = false;

    fn run(call: &Call, input: CaptureInput) -> Result<ToolOutput> {
        input.bound.check()?;
        let mut request = input.capture;
        let output = request.output.to_string_lossy();
        let logdir = call.roots.path(&output)?;
        // A link below it must not lead outside either.
        let runs = format!("{output}/plugins/profile");
        call.roots.path(&runs)?;
        let recording = &request.recording;
        if let Some(Text(RunName(name))) = &recording.session {
            call.roots.path(&format!("{runs}/{name}"))?;
        }
        check_limits(recording)?;
        request.output = logdir;
        let options = request.options(MOST_MS)?;
        let progress = Progress::new();
        let open = opener(&progress)?;
        let recorded = request.record(&options, MOST_MS, &open, |_| call.goes_on())?;
        if let Some(error) = recorded.nothing_sent() {
            return Err(error);
        }
        let lacks = recorded.all_lacks();
        let (capture, said) = (recorded.capture, [recorded.said, lacks].concat());
        let run = call.roots.shown(&capture.run.to_string_lossy());
        let trace = TraceInput {
            path: capture.run.to_string_lossy().into_owned(),
            ..TraceInput::default()
        };
        // A profile that cannot be read is kept, too: what is wrong with it is an answer.
        let session = call.session(&trace);
        let doctor = session
            .as_ref()
            .ok()
            .and_then(|session| session.report::<Doctor>(Scope::WholeTrace).ok());
        let steps = session
            .as_ref()
            .ok()
            .map(|session| CompleteSteps::of(session));
        let mut content = AnswerContent::default();
        let findings = match (&doctor, &session) {
            (Some(report), _) => counted(report.findings.len() as u64, "finding"),
            (None, Err(error)) => format!("it cannot be read: {error}"),
            (None, Ok(_)) => "no findings".to_owned(),
        };
        content.statement = Some(format!(
            "captured {run}: {} of {}; {findings}",
            capture.saved().count(),
            counted(capture.hosts.len() as u64, "host")
        ));
        content.lines.extend(said);
        content.lines.extend(capture.differences());
        content = content.with(hosts_table(call, &capture, steps.as_ref()));
        let tables = doctor
            .iter()
            .flat_map(|report: &std::sync::Arc<DoctorReport>| report.tables().into_iter().take(1));
        input.bound.answer(None, content.with_tables(tables))
    }
}

/// That an agent does not ask for more than a call may take.
fn check_limits(recording: &RecordingRequest) -> Result<()> {
    for (name, given, most) in [
        ("retry", recording.retry.into(), MOST_RETRIES),
        ("delay", recording.delay, MOST_MS),
        ("timeout", recording.timeout.unwrap_or(0), MOST_SECONDS),
    ] {
        if given > most {
            let why = format!("write a number up to {most}");
            return Err(RequestError::argument(name, why));
        }
    }
    Ok(())
}

/// The hosts, what each of them sent, and what is wrong with it.
fn hosts_table(call: &Call, capture: &Capture, steps: Option<&CompleteSteps>) -> AnswerTable {
    let steps_in = |file: &Path| {
        let count = steps.and_then(|steps| steps.in_file(file));
        count.map_or_else(String::new, |count| count.to_string())
    };
    let hosts = capture.hosts.iter().map(|HostCapture { address, result }| {
        let [file, bytes, devices, complete, error] = match result {
            Ok(saved) => [
                call.roots.shown(&saved.file.to_string_lossy()),
                saved.bytes.to_string(),
                saved.contents.devices.join(" "),
                steps_in(&saved.file),
                saved.contents.errors.join("; "),
            ],
            Err(why) => {
                let none = String::new;
                [none(), none(), none(), none(), why.to_string()]
            }
        };
        [address.to_string(), file, bytes, devices, complete, error]
    });
    AnswerTable::of_texts(
        "hosts",
        [
            "address",
            "file",
            "bytes",
            "devices",
            "complete_steps",
            "error",
        ],
        hosts,
    )
}
