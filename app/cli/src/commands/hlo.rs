//! `systole hlo`: the programs of a trace, the text of one, the neighbourhood of an instruction, a search, a diff.

use std::cell::OnceCell;
use std::io;

use super::prelude::*;
use analysis::number;
use analysis::reports::hlo::{Neighbourhood, ProgramListing};

use crate::common::programs;
use crate::common::programs::ProgramAnswer;
use render::dot;
use render::pictures::{self, PictureFormat, PictureStyle};
use request::{HloAnswer, HloRequest};

/// Arguments of the command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Question")]
pub struct HloArgs {
    #[command(flatten)]
    pub question: HloRequest,
    /// The neighbourhood as a graph on stdout, instead of --format
    #[arg(long, value_enum, requires = "op")]
    pub graph: Option<GraphFormat>,
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
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum GraphFormat {
    /// For Graphviz.
    Dot,
    /// A picture.
    Svg,
}

pub fn run(args: &HloArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let read = args
        .input
        .files()
        .into_iter()
        .chain(args.question.diff.clone());
    let guard = output::check(&args.output, read, args.force.force)?;
    let (input, format) = (&args.input, args.output.format);
    let loading = Loading::new(&input.assume, stderr)?;
    let is_identified = args.output.identifies_input();
    let session = loading.open_programs(&input.path, input.run.clone(), is_identified)?;
    let scope = checks::check_part(&session, &args.scope)?;
    let second = OnceCell::new();
    let open = |path: &Path| {
        let other = loading.open_programs(path, None, is_identified)?;
        Ok(Box::new(second.get_or_init(|| other).clone()))
    };
    match (
        args.question
            .answer(&session.context(scope), open, stderr)?,
        args.graph,
    ) {
        (Ok(HloAnswer::Around(neighbourhood)), Some(format)) => {
            graph(&session, &neighbourhood, format)
        }
        (Ok(HloAnswer::Text(text)), _) if format.is_text && args.output.output.is_empty() => {
            print_text(&text, args.output.top, stderr)
        }
        (answer, _) => {
            let result = answer.map(HloAnswer::report);
            let scope = args.scope.scope();
            let answer = ProgramAnswer {
                session: session.clone(),
                second: second.get().cloned(),
                scope,
                result,
            };
            programs::write(answer, &args.output, &guard, stderr)
        }
    }
}

fn graph(
    session: &Session,
    neighbourhood: &Neighbourhood,
    format: GraphFormat,
) -> Result<CommandOutcome> {
    match format {
        GraphFormat::Dot => output::print(&dot::graph(neighbourhood))?,
        GraphFormat::Svg => {
            let drawing = pictures::hlo(session.model(), neighbourhood, PictureStyle::default());
            let file = drawing
                .encoded(PictureFormat::Svg, 1.0)
                .map_err(RequestError::Usage)?;
            output::print(&String::from_utf8_lossy(&file))?;
        }
    }
    Ok(CommandOutcome::Done)
}

/// Every line with its self time before it: a table would cut them.
fn print_text(
    text: &ProgramListing,
    top: Option<usize>,
    stderr: &Stderr,
) -> Result<CommandOutcome> {
    let mut out = String::new();
    for note in &text.notes {
        let _ = writeln!(out, "// {note}");
    }
    let most = top.filter(|&most| most > 0).unwrap_or(usize::MAX);
    for line in text.lines.iter().take(most) {
        let time = line
            .self_time_ps
            .map_or_else(String::new, |time| time.to_string());
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
    let lines =
        number::count((lines > LONG && top.is_none() && is_terminal).then_some(lines)? as f64);
    Some(format!(
        "all {lines} lines are shown; --top N shows the first N, --find WORDS and --op NAME parts of the program"
    ))
}

#[cfg(test)]
mod tests {
    use super::how_to_limit;

    #[test]
    fn a_long_text_on_a_terminal_says_how_to_limit_it() {
        let said = how_to_limit(6_873, None, true).unwrap_or_default();
        assert!(
            said.contains("6,873 lines") && said.contains("--top N"),
            "{said}"
        );
        assert_eq!(
            how_to_limit(6_873, Some(0), true),
            None,
            "all lines were wanted"
        );
        assert_eq!(how_to_limit(6_873, None, false), None, "a file has room");
        assert_eq!(how_to_limit(100, None, true), None);
    }
}
