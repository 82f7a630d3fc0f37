//! `systole analyze`: what limits this program.

use analysis::ANALYSES;

use super::Talk;
use super::args::AnalyzeArgs;
use super::failure::{Failure, Outcome};
use super::{loading, output};
use crate::render::{Document, View};

/// Runs the command.
pub fn run(args: &AnalyzeArgs, talk: &Talk) -> Result<Outcome, Failure> {
    check_names(&args.only)?;
    output::check(&args.output)?;
    let session = loading::open(&args.input, talk)?;
    let wanted = |id: &str| args.only.is_empty() || args.only.iter().any(|only| only == id);
    let ids: Vec<_> = ANALYSES.iter().map(|entry| entry.id).filter(|id| wanted(id)).collect();
    let view = if args.only.is_empty() { View::Summary } else { View::Tables };
    let document = Document::new(&session, args.scope(), &ids, view);
    output::write(&document, &args.output, talk)?;
    Ok(match document.doubt() {
        Some(why) if args.output.strict => Outcome::Inconclusive(why),
        _ => Outcome::Done,
    })
}

fn check_names(only: &[String]) -> Result<(), Failure> {
    let unknown = only.iter().find(|only| ANALYSES.iter().all(|entry| entry.id != only.as_str()));
    let Some(unknown) = unknown else { return Ok(()) };
    let known: Vec<_> = ANALYSES.iter().map(|entry| entry.id).collect();
    Err(Failure::Usage(format!("no analysis is called {unknown:?}; there are {}", known.join(", "))))
}
