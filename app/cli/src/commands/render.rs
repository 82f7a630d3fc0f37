//! `systole render`: writes a picture without a window, display or GPU.

use std::str::FromStr;

use super::prelude::*;

use crate::common::values::STANDARD;
use render::pictures::PictureFormat;
use request::{PictureRequest, drawn};

#[derive(Debug, Args)]
#[command(next_help_heading = "Picture")]
pub struct RenderArgs {
    /// Where to write it, as SVG or PNG by its name; SVG to stdout by default or as -
    #[arg(short, long, value_name = "FILE.svg|FILE.png")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub look: PictureRequest,
    /// Scale factor of a PNG, for high-density screens
    #[arg(long, value_name = "N", default_value = "1")]
    pub scale: ScaleArg,
    #[command(flatten)]
    pub input: TraceRequest,
    #[command(flatten)]
    pub scope: PartRequest,
}

/// A scale factor: `2`.
#[derive(Clone, Copy, Debug)]
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

pub fn run(args: &RenderArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let out = args
        .out
        .as_deref()
        .filter(|path| path.as_os_str() != STANDARD);
    let format = out
        .map_or(Ok(PictureFormat::Svg), PictureFormat::of)
        .map_err(RequestError::Usage)?;
    let guard = OutputGuard::new(args.input.files(), args.force.force);
    out.map_or(Ok(()), |path| output::check_file(path, &guard))?;
    let session = loading::open(&args.input, Session::open, OutputFormat::JSON, stderr)?;
    let scope = checks::check_part(&session, &args.scope)?;
    let drawing = drawn(&session, &args.input.path, scope, &args.look)?;
    let file = drawing
        .encoded(format, args.scale.0)
        .map_err(RequestError::Usage)?;
    match out {
        Some(path) => {
            session::files::write_file(path, &file).map_err(RequestError::write(path))?;
            stderr.detail(&format!("wrote {}", path.display()));
        }
        // Without a name it is SVG, which is text.
        None => output::print(&String::from_utf8_lossy(&file))?,
    }
    Ok(CommandOutcome::Done)
}
