//! `systole capture`: profiles of running programs, and what they say.

mod stage;
mod words;

use crate::commands::prelude::*;
use analysis::reports::{Doctor, DoctorReport};

use capture::{
    Capture, CaptureOptions, CompleteSteps, LONGEST_MS, MOST_STEPS, OptionValue, ServerAddress,
    StepsError, WantedSteps, capture, capture_steps, continuous,
};
use render::doctor_findings;
use stage::StageLine;
use trace_model::Picos;
use words::{INCOMPLETE, in_words, json_text, lacking, outcome};

/// Findings that say that a capture is empty or cut.
const CUT: [&str; 3] = ["Q01", "Q02", "Q04"];

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct CaptureArgs {
    /// Profiler servers of the running programs; several are captured at the same time, as one run
    #[arg(value_name = "HOST:PORT,…", value_delimiter = ',', required = true)]
    pub addresses: Vec<ServerAddress>,
    /// Log directory; the profiles go to LOGDIR/plugins/profile/TIME/HOST.xplane.pb, TIME in UTC
    #[arg(short, long, value_name = "LOGDIR", default_value = "systole-logs")]
    pub output: PathBuf,
    /// Length of the recording in milliseconds; with --steps, of the short one that measures them
    #[arg(long, visible_alias = "duration", value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=LONGEST_MS))]
    pub ms: u64,
    /// Record what holds N complete steps of each program: a short capture first tells how long that is, and how many fit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_STEPS), conflicts_with = "continuous")]
    pub steps: Option<u64>,
    /// Try again up to N times until a device was recorded on each host; the last attempt with a profile is kept
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retry: u32,
    /// Start after this many milliseconds, on all hosts at the same time by their own clocks
    #[arg(long, hide_short_help = true, value_name = "MS", default_value_t = 0)]
    pub delay: u64,
    /// Host: 0 nothing, 1 annotations of users, 2 and the runtime, 3 and its details
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=3), help_heading = "What is recorded")]
    pub host_level: u32,
    /// Python calls: 0 no, 1 yes, which slows the program down
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1), help_heading = "What is recorded")]
    pub python_level: u32,
    /// Devices: 0 no, 1 yes
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1), help_heading = "What is recorded")]
    pub device_level: u32,
    /// An option of the device's profiler, as in `ProfileOptions.advanced_configuration`; may be repeated
    #[arg(long, hide_short_help = true, value_name = "KEY=VALUE", value_parser = option, help_heading = "What is recorded")]
    pub option: Vec<(String, OptionValue)>,
    /// Name of the run; otherwise the time in UTC, as `2026_01_31_12_00_00`
    #[arg(long, hide_short_help = true, value_name = "NAME", value_parser = session_name)]
    pub session: Option<String>,
    /// Seconds that a server may take to prepare and send the profile; otherwise 300, and 10 for each second recorded
    #[arg(long, hide_short_help = true, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: Option<u64>,
    /// Record without end: start, keep what was recorded since (snapshot), stop; with jaxlib 0.10.2 and later
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["retry", "delay"])]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ContinuousArg {
    /// Start to record
    Start,
    /// Keep what was recorded since the start or the last snapshot
    Snapshot,
    /// Stop; what was not kept is lost
    Stop,
}

/// `tpu_trace_mode=TRACE_ONLY_XLA`
fn option(text: &str) -> Result<(String, OptionValue), String> {
    let (key, value) = text
        .split_once('=')
        .filter(|(key, _)| !key.is_empty())
        .ok_or("write KEY=VALUE")?;
    let value = match (value, value.parse()) {
        ("true" | "false", _) => OptionValue::Bool(value == "true"),
        (_, Ok(number)) => OptionValue::Int(number),
        _ => OptionValue::Text(value.to_owned()),
    };
    Ok((key.to_owned(), value))
}

/// One folder, not a path.
fn session_name(text: &str) -> Result<String, String> {
    let is_name =
        !text.is_empty() && !text.starts_with('.') && !text.contains(['/', '\\', ':', '\0']);
    if is_name {
        Ok(text.to_owned())
    } else {
        Err("a name without slashes, colons and a leading dot".to_owned())
    }
}

pub fn run(args: &CaptureArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let options = options_of(args)?;
    let internal = |error: std::io::Error| RequestError::Internal(error.to_string());
    if let Some(wanted) = args.steps {
        return of_steps(args, &options, wanted, stderr);
    }
    let loading = Loading::new(&args.assume, stderr)?.of_own_files();
    let capture = match args.continuous {
        Some(ContinuousArg::Start) => {
            return say_answers(&options, continuous::start(&options), "started", args.json);
        }
        Some(ContinuousArg::Stop) => {
            return say_answers(&options, continuous::stop(&options), "stopped", args.json);
        }
        Some(ContinuousArg::Snapshot) => continuous::snapshot(&options).map_err(internal)?,
        None => {
            let mut line = StageLine::new(stderr);
            let result = capture(&options, |stage| line.show(stage));
            line.clear();
            result.map_err(internal)?
        }
    };
    if capture.saved().next().is_none() {
        return Err(nothing_sent(&capture, Vec::new(), args.json)?);
    }
    let session =
        (!args.no_report).then(|| loading.open(&capture.run, None, OutputFormat::TEXT, false));
    let steps = session.as_ref().map(|session| match session {
        Ok(session) => CompleteSteps::of(session),
        Err(_) => CompleteSteps::default(),
    });
    if let (Some(Ok(session)), None) = (&session, args.continuous) {
        let recorded = session.model().extent().dur();
        // In a second or two a program may have nothing to do.
        let is_long = options.duration >= Duration::from_secs(2);
        if is_long && recorded.as_secs_f64() < options.duration.as_secs_f64() / 2.0 {
            stderr.warn(&format!(
                "{recorded} of {} were recorded: the program ended, or did nothing the rest of the time",
                Picos::rounded(options.duration.as_secs_f64() * 1e12)
            ));
        }
    }
    let mut lacks = lacking(&capture, args.retry > 0);
    let session = match session {
        Some(Err(error @ RequestError::Import { .. })) => {
            lacks.push(format!("the run cannot be read: {error}"));
            None
        }
        session => session,
    };
    if args.json {
        output::print(&json_text(&capture, steps.as_ref(), [&[], &lacks])?)?;
    } else {
        output::print_names(&in_words(&capture, steps.as_ref(), &[]))?;
        if let Some(session) = session {
            report(&capture, &session?, stderr)?;
        }
    }
    Ok(outcome(&lacks))
}

/// A capture that is as long as this number of steps.
fn of_steps(
    args: &CaptureArgs,
    options: &CaptureOptions,
    wanted: u64,
    stderr: &Stderr,
) -> Result<CommandOutcome> {
    let loading = Loading::new(&args.assume, stderr)?.of_own_files();
    let open = |run: &Path| {
        loading
            .open(run, None, OutputFormat::TEXT, false)
            .map_err(|error| error.on_command_line())
    };
    let mut line = StageLine::new(stderr);
    let wanted = WantedSteps {
        steps: wanted,
        longest: Duration::from_millis(LONGEST_MS),
    };
    let result = capture_steps(options, wanted, &open, |stage| line.show(stage));
    line.clear();
    let found = match result {
        Ok(found) => found,
        Err(StepsError::Servers(capture, said)) => {
            return Err(nothing_sent(&capture, said, args.json)?);
        }
        Err(StepsError::NotPossible(why)) => return Err(RequestError::DoesNotApply(why)),
        Err(StepsError::Stopped) => {
            return Err(RequestError::Server(StepsError::Stopped.to_string()));
        }
        Err(StepsError::Machine(error)) => return Err(RequestError::Internal(error.to_string())),
    };
    let capture = &found.capture;
    let lacks = [lacking(capture, args.retry > 0), found.lacks].concat();
    if args.json {
        output::print(&json_text(
            capture,
            Some(&found.steps),
            [&found.said, &lacks],
        )?)?;
    } else {
        output::print_names(&in_words(capture, Some(&found.steps), &found.said))?;
        if let Some(session) = found.session.as_ref().filter(|_| !args.no_report) {
            report(capture, session, stderr)?;
        }
    }
    Ok(outcome(&lacks))
}

/// The error where no server sent anything, after what was said; their answers are printed as JSON if that is wanted.
fn nothing_sent(capture: &Capture, said: Vec<String>, json: bool) -> Result<RequestError> {
    if json {
        output::print(&json_text(capture, None, [&said, &[]])?)?;
    }
    let why = [said, capture.reasons()].concat();
    Ok(RequestError::Server(why.join("\n")))
}

/// What to capture.
fn options_of(args: &CaptureArgs) -> Result<CaptureOptions> {
    let logdir = args.output.clone();
    if logdir.to_string_lossy().contains("://") {
        return Err(RequestError::Usage(format!(
            "-o: capture writes to a directory of this machine; copy it to {} afterwards",
            logdir.display()
        )));
    }
    let duration = Duration::from_millis(args.ms);
    let options = CaptureOptions {
        addresses: args.addresses.clone(),
        duration,
        delay: Duration::from_millis(args.delay),
        host_level: args.host_level,
        python_level: args.python_level,
        device_level: args.device_level,
        options: args.option.iter().cloned().collect(),
        timeout: args
            .timeout
            .map_or(CaptureOptions::timeout_for(duration), Duration::from_secs),
        logdir,
        session: args.session.clone(),
        attempts: args.retry.saturating_add(1),
    };
    // Starting and stopping writes nothing.
    if !matches!(
        args.continuous,
        Some(ContinuousArg::Start | ContinuousArg::Stop)
    ) {
        let cannot = RequestError::write(&options.logdir);
        options.check_place().map_err(cannot)?;
    }
    if let Some(name) = options.same_name() {
        return Err(RequestError::Usage(format!(
            "two addresses have the same file name {name}"
        )));
    }
    if let Some(file) = options.existing() {
        let path = file.display();
        return Err(RequestError::Usage(format!(
            "--session: the run has this profile already, choose another name: {path}"
        )));
    }
    Ok(options)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_devices_keep_their_type() {
        let of = |text: &str| option(text).map(|(_, value)| value);
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
            assert!(session_name(wrong).is_err(), "{wrong:?}");
        }
        assert!(
            session_name("2026_01_31_12_00_00").is_ok()
                && session_name("before the change").is_ok()
        );
    }
}
