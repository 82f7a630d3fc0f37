//! `capture`: records a running program. Offered only where the server was started for it, because it asks other
//! machines and writes files.

use std::path::Path;
use std::time::Duration;

use super::prelude::*;
use analysis::reports::{Doctor, DoctorReport};
use analysis::{Options, Scope, Tabular as _};

use super::call::BoundInput;
use capture::{
    Capture, CaptureOptions, CompleteSteps, HostCapture, MOST_STEPS, ServerAddress, StepsError,
    WantedSteps, capture, capture_steps,
};
use importers::{ImportOptions, Progress};

use request::Text;
use session::Session;
use session::number::counted;

pub(super) struct CaptureTool;

/// Length of a recording unless a call asks for another, and at most; profiles of minutes cannot be opened.
const USUAL_MS: u64 = 2_000;
const MOST_MS: u64 = 60_000;

#[derive(Deserialize, JsonSchema)]
pub(super) struct CaptureInput {
    /// Profiler servers as host:port; several are captured at the same time, as one run.
    addresses: Vec<Text<ServerAddress>>,
    /// Log directory to write to: below a directory that may be read.
    output: String,
    /// Length of the recording in milliseconds; 2000 by default, at most 60000.
    ms: Option<u64>,
    /// Record what holds this number of complete steps, from 1 to 1000000, in at most 60000 ms; ms is the length of the short
    /// capture that measures them.
    steps: Option<u64>,
    #[serde(flatten)]
    bound: BoundInput,
}

impl McpTool for CaptureTool {
    type Input = CaptureInput;
    const NAME: &'static str = "capture";
    const ABOUT: &'static str = "Records a running program through its profiler server (jax.profiler.start_server), writes \
        the profiles of all hosts as one run, and says where they are and what doctor finds about them. It slows the \
        program down while it records.";
    const IS_READ_ONLY: bool = false;

    fn run(call: &Call, input: CaptureInput) -> Result<ToolOutput> {
        input.bound.check()?;
        let ms = input.ms.unwrap_or(USUAL_MS);
        if input.addresses.is_empty() || !(1..=MOST_MS).contains(&ms) {
            let why =
                format!("capture: name at least one address, and a length from 1 to {MOST_MS} ms");
            return Err(RequestError::Usage(why));
        }
        if input
            .steps
            .is_some_and(|steps| !(1..=MOST_STEPS).contains(&steps))
        {
            let why = format!("write a number from 1 to {MOST_STEPS}");
            return Err(RequestError::argument("steps", why));
        }
        let logdir = call.roots.path(&input.output)?;
        // A link below it must not lead outside either.
        call.roots
            .path(&format!("{}/plugins/profile", input.output))?;
        let addresses = input
            .addresses
            .into_iter()
            .map(|address| address.0)
            .collect();
        let options = CaptureOptions::usual(addresses, Duration::from_millis(ms), logdir);
        if let Some(name) = options.same_name() {
            return Err(RequestError::Usage(format!(
                "two addresses have the same file name {name}"
            )));
        }
        let (found, said) = captured(call, &options, input.steps)?;
        if found.saved().next().is_none() {
            let why = [said, found.reasons()].concat();
            return Err(RequestError::Server(why.join("\n")));
        }
        let run = call.roots.shown(&found.run.to_string_lossy());
        let trace = TraceInput {
            path: found.run.to_string_lossy().into_owned(),
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
        let steps_in = |file: &Path| {
            let count = steps.as_ref().and_then(|steps| steps.in_file(file));
            count.map_or_else(String::new, |count| count.to_string())
        };
        let hosts = found.hosts.iter().map(|HostCapture { address, result }| {
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
        let mut content = AnswerContent::default();
        let findings = match (&doctor, &session) {
            (Some(report), _) => counted(report.findings.len() as u64, "finding"),
            (None, Err(error)) => format!("it cannot be read: {error}"),
            (None, Ok(_)) => "no findings".to_owned(),
        };
        content.statement = Some(format!(
            "captured {run}: {} of {}; {findings}",
            found.saved().count(),
            counted(found.hosts.len() as u64, "host")
        ));
        content.lines.extend(said);
        content.lines.extend(found.differences());
        content = content.with(AnswerTable::of_texts(
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
        ));
        let tables = doctor
            .iter()
            .flat_map(|report: &std::sync::Arc<DoctorReport>| report.tables().into_iter().take(1));
        input.bound.answer(None, content.with_tables(tables))
    }
}

/// A capture of a fixed time or of some steps, and what is said about the steps.
fn captured(
    call: &Call,
    options: &CaptureOptions,
    steps: Option<u64>,
) -> Result<(Capture, Vec<String>)> {
    let internal = |error: std::io::Error| RequestError::Internal(error.to_string());
    let Some(steps) = steps else {
        let found = capture(options, |_| call.goes_on()).map_err(internal)?;
        return Ok((found, Vec::new()));
    };
    let open = |run: &Path| {
        let (import, progress) = (ImportOptions::default(), Progress::new());
        let session = Session::open(run, &import, Options::default(), &progress);
        session.map_err(|error| error.to_string())
    };
    let wanted = WantedSteps {
        steps,
        longest: Duration::from_millis(MOST_MS),
    };
    match capture_steps(options, wanted, &open, |_| call.goes_on()) {
        Ok(found) => Ok((found.capture, [found.said, found.lacks].concat())),
        Err(StepsError::Servers(capture, said)) => Ok((capture, said)),
        Err(StepsError::NotPossible(why)) => Err(RequestError::DoesNotApply(why)),
        Err(stopped @ StepsError::Stopped) => Err(RequestError::Server(stopped.to_string())),
        Err(StepsError::Machine(error)) => Err(internal(error)),
    }
}
