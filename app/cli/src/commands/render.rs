//! `systole render`: writes a picture without a window, display or GPU.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use analysis::Scope;
use analysis::reports::steps::step_times::Steps;
use clap::{Args, ValueEnum};
use trace_model::TimeRange;

use crate::common::args::{ForceArgs, InputArgs, ScopeArgs};
use crate::common::failure::{CommandOutcome, Failure};
use crate::common::stderr::Stderr;
use crate::common::values::STANDARD;
use crate::common::{checks, loading, output};
use render::pictures::{self, Drawing, PictureFormat, PicturePanel, PictureStyle};
use session::Session;
use session::files::OutputGuard;
use view::state::{ColorBy, ViewCommand, ViewState};
use view::timeline::trace::OpenTrace;
use view::viewport::Viewport;

#[derive(Debug, Args)]
#[command(next_help_heading = "Picture")]
pub struct RenderArgs {
    /// Where to write it, as SVG or PNG by its name; SVG to stdout by default or as -
    #[arg(short, long, value_name = "FILE.svg|FILE.png")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub look: LookArgs,
    /// Scale factor of a PNG, for high-density screens
    #[arg(long, value_name = "N", default_value = "1")]
    pub scale: ScaleArg,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub scope: ScopeArgs,
}

/// What a picture shows, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Picture")]
pub struct LookArgs {
    /// What to draw
    #[arg(long, value_enum, default_value_t = PictureArg::Timeline)]
    pub panel: PictureArg,
    /// Size in pixels; a timeline is only as high as its tracks need
    #[arg(long, value_name = "WxH", default_value = "1200x700")]
    pub size: SizeArg,
    /// Use the dark theme
    #[arg(long)]
    pub dark: bool,
    /// Colour by name instead of by category
    #[arg(long)]
    pub by_name: bool,
}

/// The available pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PictureArg {
    /// The tracks.
    Timeline,
    /// Ops in a roofline plot.
    Roofline,
    /// Step times by part.
    Steps,
}

/// A size: `1200x700`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeArg {
    pub width: f32,
    pub height: f32,
}

impl FromStr for SizeArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
        match parsed {
            Some((width @ 200..=20_000_u16, height @ 120..=20_000_u16)) => {
                Ok(Self { width: f32::from(width), height: f32::from(height) })
            }
            _ => Err("write a size from 200x120 to 20000x20000, for example 1200x700".to_owned()),
        }
    }
}

/// A scale factor: `2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleArg(pub f32);

impl FromStr for ScaleArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(scale @ 0.25..=8.0) => Ok(Self(scale)),
            _ => Err("write a number from 0.25 to 8".to_owned()),
        }
    }
}

/// Runs the command.
pub fn run(args: &RenderArgs, stderr: &Stderr) -> Result<CommandOutcome, Failure> {
    let out = args.out.as_deref().filter(|path| path.as_os_str() != STANDARD);
    let format = out.map_or(Ok(PictureFormat::Svg), PictureFormat::of).map_err(Failure::Usage)?;
    let guard = OutputGuard::new(args.input.files(), args.force.force);
    out.map_or(Ok(()), |path| output::check_file(path, &guard))?;
    let session = loading::open_without_digest(&args.input, stderr)?;
    checks::check_scope(&session, &args.input, &args.scope)?;
    let drawing = drawn(&session, &args.input.path, args.scope.scope(), &args.look)?;
    let file = pictures::encoded(&drawing, format, args.scale.0).map_err(Failure::Usage)?;
    match out {
        Some(path) => {
            session::files::write_file(path, &file).map_err(|error| Failure::Write { error, path: path.to_owned() })?;
            stderr.detail(&format!("wrote {}", path.display()));
        }
        // Without a name it is SVG, which is text.
        None => output::print(&String::from_utf8_lossy(&file))?,
    }
    Ok(CommandOutcome::Done)
}

/// Draws the part of a trace in the scope.
pub fn drawn(session: &Session, path: &Path, scope: Scope, args: &LookArgs) -> Result<Drawing, Failure> {
    let trace = OpenTrace::new(path.to_owned(), session.clone());
    let mut state = ViewState::new(&trace.model);
    // A picture shows the whole trace by default.
    let extent = trace.model.extent();
    state.place.time =
        range(&trace, scope).map_or_else(|| Viewport::fit(extent), |range| Viewport::of(range).clamped(extent));
    if args.by_name {
        state.apply(&ViewCommand::Color(ColorBy::Name), &trace.model);
    }
    let look =
        PictureStyle { width: args.size.width, height: args.size.height, dark: args.dark, ..PictureStyle::default() };
    let panel = match args.panel {
        PictureArg::Timeline => PicturePanel::Timeline,
        PictureArg::Roofline => PicturePanel::Roofline,
        PictureArg::Steps => PicturePanel::Steps,
    };
    pictures::draw(panel, &trace, &state, None, look).map_err(Failure::Usage)
}

/// The requested part of the trace; `None` for all of it.
fn range(trace: &OpenTrace, scope: Scope) -> Option<TimeRange> {
    match scope {
        Scope::Steps { first, last } => trace.session.report::<Steps>(Scope::WholeTrace).ok()?.range_of(first, last),
        Scope::Range(range) => range.intersect(trace.model.extent()),
        Scope::WholeTrace => None,
    }
}
