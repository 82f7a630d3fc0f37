//! `systole hlo`: the programs of a trace, the text of one, the neighbourhood of an instruction, a search, a diff.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::reports::hlo::{
    self, HloQuery, Neighbourhood, ProgramListing, Reach, chosen, find, listing, neighbourhood, programs_called,
    programs_with,
};
use analysis::{AnalysisError, Context, Report, number};
use clap::{Args, ValueEnum};
use trace_model::{Picos, ProgramId};

use crate::common::args::{ForceArgs, OutputArgs};
use crate::common::loading::Loading;
use crate::common::outcome::CommandOutcome;
use crate::common::output;
use crate::common::stderr::Stderr;
use crate::common::values::OutputFormat;
use render::pictures::{self, PictureFormat, PictureStyle};
use render::{Document, ReportSection, dot};
use request::{PartRequest, RequestError, TraceRequest, checks};
use session::Session;
use session::files::OutputGuard;

/// Arguments of the command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Question")]
pub struct HloArgs {
    /// The operands and users of this instruction, with what is fused into it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["text", "find", "diff"])]
    pub op: Option<String>,
    /// Steps from the instruction to its operands and users
    #[arg(long, value_name = "N", default_value_t = 2, requires = "op")]
    pub radius: u32,
    /// At most this many instructions around it, and as many inside
    #[arg(long, value_name = "N", default_value_t = 200, requires = "op", value_parser = at_least_one)]
    pub most: usize,
    /// The neighbourhood as a graph on stdout, instead of --format
    #[arg(long, value_enum, requires = "op")]
    pub graph: Option<GraphFormat>,
    /// The text of a program, with the self time of each line
    #[arg(long, conflicts_with_all = ["find", "diff"])]
    pub text: bool,
    /// Instructions that contain all words; `name:`, `opcode:`, `shape:`, `source:`, `op_name:` and `groups:` look into one field
    #[arg(long, value_name = "WORDS", conflicts_with = "diff")]
    pub find: Option<String>,
    /// What differs from the program of the same name in another profile
    #[arg(long, value_name = "PATH")]
    pub diff: Option<PathBuf>,
    /// The program: a name, or a name with its id; by default the one that ran longest, or all for --find
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,
    #[command(flatten)]
    pub input: TraceRequest,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub scope: PartRequest,
}

/// The formats of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// For Graphviz.
    Dot,
    /// A picture.
    Svg,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&most| most > 0).ok_or_else(|| "write a number from 1".to_owned())
}

/// Runs the command.
pub fn run(args: &HloArgs, stderr: &Stderr) -> Result<CommandOutcome, RequestError> {
    output::check(&args.output, &guard(args))?;
    let input = &args.input;
    let loading = Loading::new(&input.assume, stderr)?;
    let session = loading.open_programs(&input.path, input.run.clone(), args.output.format)?;
    checks::check_scope(&session, &args.input, &args.scope)?;
    let cx = session.context(args.scope.scope());
    let wanted = args.program.as_deref();
    let usage = |error: AnalysisError| RequestError::Usage(error.to_string());
    if let Some(name) = &args.op {
        let name = name.trim_start_matches('%');
        let programs = programs_with(&cx, name, wanted).map_err(usage)?;
        let program = the_first(&cx, &programs, "that has this instruction", stderr)?;
        let reach = Reach { radius: args.radius, most: args.most };
        let found = neighbourhood(&cx, program, name, reach).map_err(usage)?;
        if let Some(format) = args.graph {
            return graph(&session, &found, format);
        }
        return written(args, &session, Ok(Arc::new(found)), stderr);
    }
    if args.text {
        let program = the_first(&cx, &chosen(&cx, wanted).map_err(usage)?, called(wanted), stderr)?;
        let text = listing(&cx, program);
        if let (Ok(text), OutputFormat::Text, true) = (&text, args.output.format, args.output.output.is_empty()) {
            return print_text(text, args.output.top, stderr);
        }
        return written(args, &session, text.map(|text| Arc::new(text) as Arc<dyn Report>), stderr);
    }
    if let Some(words) = &args.find {
        let query = HloQuery::parse(words);
        if query.is_empty() {
            return Err(RequestError::Usage("--find: write a word".to_owned()));
        }
        let found = find(&cx, &chosen(&cx, wanted).map_err(usage)?, &query);
        return written(args, &session, Ok(Arc::new(found)), stderr);
    }
    if let Some(path) = &args.diff {
        return diff(args, &session, path, (&loading, stderr));
    }
    written(args, &session, Ok(Arc::new(programs_called(&cx, wanted).map_err(usage)?)), stderr)
}

fn guard(args: &HloArgs) -> OutputGuard {
    OutputGuard::new(args.input.files().into_iter().chain(args.diff.clone()), args.force.force)
}

/// What the programs that can be chosen have in common.
fn called(wanted: Option<&str>) -> &'static str {
    if wanted.is_some() { "that is called so" } else { "that ran less" }
}

/// The first of several programs; a message names the others.
fn the_first(cx: &Context<'_>, programs: &[ProgramId], what: &str, stderr: &Stderr) -> Result<ProgramId, RequestError> {
    let titles: Vec<String> = programs.iter().map(|&id| cx.model.program_title(id)).collect();
    if let [first, others @ ..] = &titles[..]
        && !others.is_empty()
    {
        const NAMED: usize = 5;
        let more = others.len().checked_sub(NAMED).filter(|&more| more > 0);
        let more = more.map_or_else(String::new, |more| format!(" and {more} more"));
        let others = others.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        stderr.warn(&format!("{first} is shown; --program chooses another {what}: {others}{more}"));
    }
    programs.first().copied().ok_or_else(|| RequestError::Usage("the capture names no programs".to_owned()))
}

fn written(
    args: &HloArgs,
    session: &Session,
    result: Result<Arc<dyn Report>, AnalysisError>,
    stderr: &Stderr,
) -> Result<CommandOutcome, RequestError> {
    let failed = result.as_ref().err().map(AnalysisError::to_string);
    let document = Document::of(session, args.scope.scope(), ReportSection { id: "hlo", title: "Programs", result });
    output::write(&document, &args.output, &guard(args), stderr)?;
    Ok(failed.filter(|_| args.output.strict).map_or(CommandOutcome::Done, CommandOutcome::Inconclusive))
}

fn graph(session: &Session, found: &Neighbourhood, format: GraphFormat) -> Result<CommandOutcome, RequestError> {
    match format {
        GraphFormat::Dot => output::print(&dot::graph(found))?,
        GraphFormat::Svg => {
            let drawing = pictures::hlo(session.model(), found, PictureStyle::default());
            let file = pictures::encoded(&drawing, PictureFormat::Svg, 1.0).map_err(RequestError::Usage)?;
            output::print(&String::from_utf8_lossy(&file))?;
        }
    }
    Ok(CommandOutcome::Done)
}

/// Every line with its self time before it: a table would cut them.
fn print_text(text: &ProgramListing, top: Option<usize>, stderr: &Stderr) -> Result<CommandOutcome, RequestError> {
    let mut out = String::new();
    for note in &text.notes {
        let _ = writeln!(out, "// {note}");
    }
    let most = top.filter(|&most| most > 0).unwrap_or(usize::MAX);
    for line in text.lines.iter().take(most) {
        let time = line.self_time_ps.map_or_else(String::new, |ps| Picos::from_ps(ps).to_string());
        let _ = writeln!(out, "{time:>12}  {}", line.text);
    }
    if let Some(left) = text.lines.len().checked_sub(most).filter(|&left| left > 0) {
        let _ = writeln!(out, "// {left} more lines: --top 0");
    }
    output::print_names(&out)?;
    if let Some(said) = how_to_limit(text.lines.len(), top, io::stdout().is_terminal()) {
        stderr.warn(&said);
    }
    Ok(CommandOutcome::Done)
}

/// What to say about a long text that nobody limited, where it scrolls away: below it, and not in a file or another program.
fn how_to_limit(lines: usize, top: Option<usize>, is_terminal: bool) -> Option<String> {
    const LONG: usize = 500;
    let lines = number::count((lines > LONG && top.is_none() && is_terminal).then_some(lines)? as f64);
    Some(format!(
        "all {lines} lines are shown; --top N shows the first N, --find WORDS and --op NAME parts of the program"
    ))
}

fn diff(
    args: &HloArgs,
    session: &Session,
    path: &Path,
    (loading, stderr): (&Loading<'_>, &Stderr),
) -> Result<CommandOutcome, RequestError> {
    let usage = |error: AnalysisError| RequestError::Usage(error.to_string());
    let other = loading.open_programs(path, None, args.output.format)?;
    let (cx, beside) = (session.context(args.scope.scope()), other.context(args.scope.scope()));
    let wanted = args.program.as_deref();
    let first = the_first(&cx, &chosen(&cx, wanted).map_err(usage)?, called(wanted), stderr)?;
    let name = cx.model.str(cx.model.program(first).name).to_owned();
    let second = chosen(&beside, Some(wanted.unwrap_or(&name)));
    let second = second.or_else(|_| chosen(&beside, Some(&name))).map_err(usage)?;
    let second = the_first(&beside, &second, called(Some(&name)), stderr)?;
    let found = hlo::diff((&cx, first), (&beside, second));
    written(args, session, found.map(|found| Arc::new(found) as Arc<dyn Report>), stderr)
}

#[cfg(test)]
mod tests {
    use super::how_to_limit;

    #[test]
    fn a_long_text_on_a_terminal_says_how_to_limit_it() {
        let said = how_to_limit(6_873, None, true).unwrap_or_default();
        assert!(said.contains("6,873 lines") && said.contains("--top N"), "{said}");
        assert_eq!(how_to_limit(6_873, Some(0), true), None, "all lines were wanted");
        assert_eq!(how_to_limit(6_873, None, false), None, "a file has room");
        assert_eq!(how_to_limit(100, None, true), None);
    }
}
