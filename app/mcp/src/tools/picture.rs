//! `render`: a picture of a place in the trace.

use std::path::Path;

use clap::ValueEnum as _;
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{Call, McpTool, PartInput, ToolOutput, TraceInput};
use cli::commands::render::{LookArgs, PictureArg, SizeArg, drawn};
use cli::common::failure::Failure;
use cli::embedded::CommandError;
use render::pictures::{self, PictureFormat};

/// Pixels in each direction.
const LEAST: (u16, u16) = (200, 120);
const MOST: u16 = 2_000;

pub(super) struct RenderTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct RenderInput {
    /// What to draw: timeline (by default), roofline or steps.
    panel: Option<String>,
    /// Width in pixels; 1000 by default, 200 to 2000.
    width: Option<u16>,
    /// Greatest height in pixels; 600 by default, 120 to 2000.
    height: Option<u16>,
    /// Use the dark theme.
    #[serde(default)]
    dark: bool,
    /// Colour by name instead of by category.
    #[serde(default)]
    by_name: bool,
    #[serde(flatten)]
    trace: TraceInput,
    #[serde(flatten)]
    part: PartInput,
}

impl McpTool for RenderTool {
    type Input = RenderInput;
    const NAME: &'static str = "render";
    const ABOUT: &'static str = "A picture (PNG) of the timeline at a place, of the roofline or of the steps.";
    const IS_PICTURE: bool = true;

    fn run(call: &Call, input: RenderInput) -> Result<ToolOutput, CommandError> {
        let (width, height) = (input.width.unwrap_or(1000), input.height.unwrap_or(600));
        if !(LEAST.0..=MOST).contains(&width) || !(LEAST.1..=MOST).contains(&height) {
            let why = format!("width and height: write {} to {MOST} and {} to {MOST} pixels", LEAST.0, LEAST.1);
            return Err(Failure::Usage(why).into());
        }
        let panel = input.panel.as_deref().unwrap_or("timeline");
        let panel_arg = PictureArg::from_str(panel, false)
            .map_err(|_unknown| Failure::Usage(format!("panel {panel:?}: write timeline, roofline or steps")))?;
        let session = call.session(&input.trace)?;
        let scope = input.part.scope(&session)?;
        let size = SizeArg { width: f32::from(width), height: f32::from(height) };
        let look = LookArgs { panel: panel_arg, size, dark: input.dark, by_name: input.by_name };
        let path = Path::new(&input.trace.path);
        let badge = session.model().badge().map_or_else(String::new, |badge| format!(", {badge}"));
        let drawing = drawn(&session, path, scope, &look)?;
        let png = pictures::encoded(&drawing, PictureFormat::Png, 1.0).map_err(Failure::Usage)?;
        let place = match (&input.part.steps, &input.part.range) {
            (Some(steps), _) => format!("steps {steps}"),
            (None, Some(range)) => range.clone(),
            (None, None) => "whole trace".to_owned(),
        };
        Ok(ToolOutput::Picture { png, about: format!("{panel} of {}, {place}{badge}", input.trace.path) })
    }
}
