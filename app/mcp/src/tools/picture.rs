//! `render`: a picture of a place in the trace.

use std::path::Path;

use super::prelude::*;
use analysis::Scope;

use render::pictures::PictureFormat;
use request::{PartRequest, PictureArg, PictureRequest, SizeArg, Text, checks, drawn};

/// Pixels in each direction.
const LEAST: (u16, u16) = (200, 120);
const MOST: u16 = 2_000;

pub(super) struct RenderTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct RenderInput {
    /// What to draw: timeline (by default), roofline or steps.
    #[serde(default)]
    panel: PictureArg,
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
    part: PartRequest,
}

impl McpTool for RenderTool {
    type Input = RenderInput;
    const NAME: &'static str = "render";
    const ABOUT: &'static str =
        "A picture (PNG) of the timeline at a place, of the roofline or of the steps.";

    fn run(call: &Call, input: RenderInput) -> Result<ToolOutput> {
        let (width, height) = (input.width.unwrap_or(1000), input.height.unwrap_or(600));
        if !(LEAST.0..=MOST).contains(&width) || !(LEAST.1..=MOST).contains(&height) {
            let why = format!(
                "width and height: write {} to {MOST} and {} to {MOST} pixels",
                LEAST.0, LEAST.1
            );
            return Err(RequestError::Usage(why));
        }
        let session = call.session(&input.trace)?;
        let scope = checks::check_part(&session, &input.part)?;
        let size = SizeArg {
            width: f32::from(width),
            height: f32::from(height),
        };
        let look = PictureRequest {
            panel: input.panel,
            size: Text(size),
            dark: input.dark,
            by_name: input.by_name,
        };
        let path = Path::new(&input.trace.path);
        let badge = session
            .model()
            .badge()
            .map_or_else(String::new, |badge| format!(", {badge}"));
        let drawing = drawn(&session, path, scope, &look)?;
        let png = drawing
            .encoded(PictureFormat::Png, 1.0)
            .map_err(RequestError::Usage)?;
        let place = match scope {
            Scope::Steps { first, last } => format!("steps {first}..{last}"),
            Scope::Range(range) => format!(
                "{}..{}",
                range.start.since_origin(),
                range.end.since_origin()
            ),
            Scope::WholeTrace => "whole trace".to_owned(),
        };
        let about = format!(
            "{} of {}, {place}{badge}",
            input.panel.0.id, input.trace.path
        );
        let notes = request::notes(&session, &input.trace.values);
        let about = trace_model::joined([about].into_iter().chain(notes), "; ");
        Ok(ToolOutput::Picture { png, about })
    }
}
