//! `systole capture`: profiles of running programs, and what they say.

mod stage;
mod words;

use crate::commands::prelude::*;
use analysis::reports::{Doctor, DoctorReport};

use capture::{Capture, CaptureOptions, LONGEST_MS, continuous};
use render::doctor_findings;
use request::CaptureRequest;
use stage::StageLine;
use words::{INCOMPLETE, in_words, outcome};

/// Findings that say that a capture is empty or cut.
const CUT: [&str; 3] = ["Q01", "Q02", "Q04"];

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct CaptureArgs {
    #[command(flatten)]
    pub capture: CaptureRequest,
    /// Record without end: start, keep what was recorded since (snapshot), stop; with jaxlib 0.10.2 and later
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["retry", "delay", "steps"])]
    pub continuous: Option<ContinuousArg>,
    /// Print the result as JSON, without findings and verdict
    #[arg(long)]
    pub json: bool,
    /// Do not read the profiles: no steps, no findings, no verdict
    #[arg(long, hide_short_help = true)]
    pub no_report: bool,
    #[command(flatten)]
    pub assume: Assumptions,
}

/// What to do with a session without end.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ContinuousArg {
    /// Start to record
    Start,
    /// Keep what was recorded since the start or the last snapshot
    Snapshot,
    /// Stop; what was not kept is lost
    Stop,
}

pub fn run(args: &CaptureArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let request = &args.capture;
    let options = request.options(LONGEST_MS)?;
    let loading = Loading::new(&args.assume, stderr)?.of_own_files();
    let open = |run: &Path| {
        let (open, format) = (Session::open_for_reports, OutputFormat::TEXT);
        loading.open((run, None), open, format, false)
    };
    let mut recorded = match args.continuous {
        Some(ContinuousArg::Start) => {
            return say_answers(&options, continuous::start(&options), "started", args.json);
        }
        Some(ContinuousArg::Stop) => {
            return say_answers(&options, continuous::stop(&options), "stopped", args.json);
        }
        Some(ContinuousArg::Snapshot) => CaptureRequest::snapshot(&options)?,
        None => {
            let mut line = StageLine::new(stderr);
            let recorded = request.record(&options, LONGEST_MS, &open, |stage| line.show(stage));
            line.clear();
            recorded?
        }
    };
    if let Some(error) = recorded.nothing_sent() {
        if args.json {
            output::print(&format!("{:#}\n", recorded.json()))?;
        }
        return Err(error);
    }
    if !args.no_report {
        recorded.read(open);
    }
    if args.continuous.is_none()
        && let Some(said) = request.shortfall(&recorded)
    {
        stderr.warn(&said);
    }
    let lacks = recorded.all_lacks();
    if args.json {
        output::print(&format!("{:#}\n", recorded.json()))?;
    } else {
        output::print_names(&in_words(&recorded))?;
        if let Some(session) = recorded.session.filter(|_| !args.no_report) {
            report(&recorded.capture, &session?, stderr)?;
        }
    }
    Ok(outcome(&lacks))
}

/// Findings about the capture where it is empty or cut, then what limits the program.
fn report(capture: &Capture, session: &Session, stderr: &Stderr) -> Result<()> {
    let is_cut = |report: &DoctorReport| {
        report
            .findings
            .iter()
            .any(|finding| CUT.contains(&finding.id))
    };
    let doctor = session.report::<Doctor>(Scope::WholeTrace).ok();
    let style = stderr.stdout_style();
    if let Some(doctor) = doctor.filter(|report| is_cut(report)) {
        let layout = TextLayout {
            width: terminal::width(),
            top: 10,
            entries: 10,
            style,
        };
        output::print_text(&format!("\n{}", doctor_findings(&doctor, &layout)))?;
    }
    if capture.saved().all(|saved| !saved.contents.has_events) {
        return Ok(());
    }
    output::print("\n")?;
    let document = answers::document(session, Scope::WholeTrace, &[] as &[&str])?;
    let output = OutputArgs::default();
    output::write(&document, &output, &OutputGuard::default(), stderr)
}

fn say_answers(
    options: &CaptureOptions,
    answers: std::io::Result<Vec<continuous::ServerAnswer>>,
    done: &str,
    json: bool,
) -> Result<CommandOutcome> {
    let answers = answers.map_err(|error| RequestError::Internal(error.to_string()))?;
    let of = options.addresses.len();
    let why = |(address, result): &continuous::ServerAnswer| {
        Some(format!("{address}: {}", result.as_ref().err()?))
    };
    let failed: Vec<String> = answers.iter().filter_map(why).collect();
    for (address, result) in &answers {
        if json {
            let error = result.as_ref().err().map(ToString::to_string);
            let line =
                json!({ "address": address.to_string(), done: error.is_none(), "error": error });
            output::print(&format!("{line}\n"))?;
        } else if result.is_ok() {
            output::print_text(&format!("{address}  continuous profiling {done}\n"))?;
        }
    }
    match failed.len() {
        0 => Ok(CommandOutcome::Done),
        count if count == of => Err(RequestError::Server(failed.join("\n"))),
        count => {
            let why = format!(
                "not {done} on {count} of {}\n{}",
                counted(of as u64, "host"),
                failed.join("\n")
            );
            Ok(CommandOutcome::Failed {
                why,
                code: INCOMPLETE,
            })
        }
    }
}
