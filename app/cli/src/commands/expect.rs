//! `systole expect`: whether a program or a profile is as expected.

use super::prelude::*;
use analysis::Report;
use analysis::expect::{ExpectReport, Verdict, expectations_of, judge};

use request::places;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct ExpectArgs {
    /// The expectations (TOML, also systole.toml), then the profile or program; with --init only the latter
    ///
    /// A program is the text of a compiled or only lowered function, serialized HLO, or a folder of programs that XLA
    /// dumped.
    #[arg(value_names = ["FILE", "PATH"], required = true, num_args = 1..=2)]
    pub paths: Vec<PathBuf>,
    /// Write what is true now as commented expectations, to FILE or to stdout
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-", require_equals = true)]
    pub init: Option<PathBuf>,
    /// With --init, the program: a name, or a name with its id; by default the one that ran longest
    #[arg(long, value_name = "NAME", requires = "init")]
    pub program: Option<String>,
    /// Exit code if an expectation is not met
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 10)]
    pub exit_code_on_fail: u8,
    /// Run of a log directory; the newest by default
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub run: Option<String>,
    #[command(flatten)]
    pub assume: Assumptions,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub scope: PartRequest,
}

pub fn run(args: &ExpectArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    match (&args.paths[..], &args.init) {
        ([path], Some(file)) => init(args, path, file, stderr),
        ([file, path], None) => check(args, file, path, stderr),
        (_, Some(_)) => Err(RequestError::Usage(
            "with --init name one profile or program: systole expect --init=expect.toml PATH".to_owned(),
        )),
        _ => Err(RequestError::Usage(
            "name the expectations and what to judge: systole expect FILE PATH (systole expect --init PATH writes a file)"
                .to_owned(),
        )),
    }
}

fn input(args: &ExpectArgs, path: &Path) -> TraceRequest {
    TraceRequest {
        path: path.to_owned(),
        run: args.run.clone(),
        assume: args.assume.clone(),
    }
}

fn open(args: &ExpectArgs, path: &Path, loading: &Loading<'_>) -> Result<(Session, Scope)> {
    let is_identified = args.output.identifies_input();
    let session = loading.open_programs(path, args.run.clone(), is_identified)?;
    let scope = checks::check_part(&session, &args.scope)?;
    Ok((session, scope))
}

fn init(args: &ExpectArgs, path: &Path, file: &Path, stderr: &Stderr) -> Result<CommandOutcome> {
    places::check_new(file)?;
    let (session, scope) = open(args, path, &Loading::new(&args.assume, stderr)?)?;
    let text = expectations_of(&session.context(scope), args.program.as_deref())
        .map_err(|error| RequestError::Usage(error.to_string()))?;
    output::write_to(file, &text)?;
    Ok(CommandOutcome::Done)
}

fn check(args: &ExpectArgs, file: &Path, path: &Path, stderr: &Stderr) -> Result<CommandOutcome> {
    let read = input(args, path)
        .files()
        .into_iter()
        .chain([file.to_owned()]);
    let guard = output::check(&args.output, read, args.force.force)?;
    let loading = Loading::new(&args.assume, stderr)?;
    let expectations = loading.settings.at(file)?.expectations()?;
    let (session, scope) = open(args, path, &loading)?;
    let report = judge(&session.context(scope), &expectations)
        .map_err(|error| RequestError::Usage(error.to_string()))?;
    let report = Arc::new(report);
    let result = Ok(Arc::clone(&report) as Arc<dyn Report>);
    let mut document = Document::of(&session, scope, ("expect", "Expectations"), result);
    document.expected = Some(Arc::clone(&report));
    output::write(&document, &args.output, &guard, stderr)?;
    Ok(outcome(&report, args, stderr))
}

fn outcome(report: &ExpectReport, args: &ExpectArgs, stderr: &Stderr) -> CommandOutcome {
    let named = |verdict| {
        let names = report.with(verdict).map(|row| row.name.as_str());
        joined(names, "; ")
    };
    let (failed, unclear) = (named(Verdict::NotMet), named(Verdict::Unknown));
    if !failed.is_empty() {
        return CommandOutcome::Failed {
            why: format!("not met: {failed}"),
            code: args.exit_code_on_fail,
        };
    }
    if unclear.is_empty() {
        return CommandOutcome::Done;
    }
    if args.output.strict {
        return CommandOutcome::Inconclusive(unclear);
    }
    stderr.warn(&format!("unknown: {unclear}"));
    CommandOutcome::Done
}
