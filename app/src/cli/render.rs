//! `systole render`: a picture, without a window, a display or a GPU.

use analysis::Scope;
use analysis::steps::Steps;
use trace_model::TimeRange;

use super::Talk;
use super::args::{Format, PictureArg, RenderArgs, StepsArg};
use super::failure::{Failure, Outcome};
use super::{analyze, loading, output};
use crate::picture::{self, Look, Panel};
use crate::view::state::{ColorBy, ViewCommand, ViewState};
use crate::view::trace::OpenTrace;

/// Runs the command.
pub fn run(args: &RenderArgs, talk: &Talk) -> Result<Outcome, Failure> {
    if let Some(path) = &args.out
        && path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("svg"))
    {
        return Err(Failure::Usage("pictures are written as SVG: name a file that ends in .svg".to_owned()));
    }
    let session = loading::open(&args.input, Format::Json, talk)?;
    analyze::check_scope(&session, &args.input, &args.scope)?;
    let trace = OpenTrace::new(args.input.path.clone(), session);
    let mut state = ViewState::new(&trace.model);
    if let Some(range) = range(&trace, args) {
        state.apply(&ViewCommand::Show(range), &trace.model);
    }
    if args.by_name {
        state.apply(&ViewCommand::Color(ColorBy::Name), &trace.model);
    }
    let look = Look { width: args.size.width, height: args.size.height, dark: args.dark };
    let panel = match args.panel {
        PictureArg::Timeline => Panel::Timeline,
        PictureArg::Roofline => Panel::Roofline,
        PictureArg::Steps => Panel::Steps,
    };
    let text = picture::svg(panel, &trace, &state, look).map_err(Failure::Usage)?;
    match &args.out {
        Some(path) => {
            output::write_file(path, &text).map_err(|error| Failure::Write { error, path: path.clone() })?;
            talk.detail(&format!("wrote {}", path.display()));
        }
        None => output::print(&text)?,
    }
    Ok(Outcome::Done)
}

/// What part of the trace is wanted; all where `None`.
fn range(trace: &OpenTrace, args: &RenderArgs) -> Option<TimeRange> {
    match (args.scope.steps, args.scope.scope()) {
        (Some(StepsArg { first, last }), _) => {
            trace.session.report::<Steps>(Scope::WholeTrace).ok()?.range_of(first, last)
        }
        (None, Scope::Range(range)) => range.intersect(trace.model.extent()),
        _ => None,
    }
}
