//! A picture of a trace.

use std::borrow::Cow;
use std::path::Path;
use std::str::FromStr;
use std::sync::LazyLock;

use analysis::Scope;
use analysis::reports::Steps;
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use trace_model::TimeRange;

use crate::error::{RequestError, Result};
use crate::values::Text;
use render::pictures::{self, PICTURE_IDS, PICTURES, Picture, PicturePanel, PictureStyle};
use session::Session;
use view::state::{ColorBy, ViewCommand, ViewState};
use view::timeline::trace::OpenTrace;
use view::viewport::Viewport;

/// What a picture shows, and how.
#[derive(Debug, Default, Args, Deserialize, JsonSchema)]
#[command(next_help_heading = "Picture")]
#[serde(default)]
pub struct PictureRequest {
    /// What to draw
    #[arg(long, value_enum, default_value_t)]
    pub panel: PictureArg,
    /// Size in pixels; a timeline is only as high as its tracks need
    #[arg(long, value_name = "WxH", default_value = "1200x700")]
    pub size: Text<SizeArg>,
    /// Use the dark theme
    #[arg(long)]
    pub dark: bool,
    /// Colour by name instead of by category
    #[arg(long)]
    pub by_name: bool,
}

/// One of the pictures, by its id.
#[derive(Clone, Copy, Debug)]
pub struct PictureArg(pub PicturePanel);

impl Default for PictureArg {
    fn default() -> Self {
        Self(PicturePanel::TIMELINE)
    }
}

impl ValueEnum for PictureArg {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<PictureArg>> =
            LazyLock::new(|| PICTURES.into_iter().map(PictureArg).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.id).help(self.0.about))
    }
}

impl<'de> Deserialize<'de> for PictureArg {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let id = String::deserialize(from)?;
        let named = PicturePanel::named(&id).map(Self);
        named.ok_or_else(|| D::Error::unknown_variant(&id, &PICTURE_IDS))
    }
}

impl JsonSchema for PictureArg {
    fn schema_name() -> Cow<'static, str> {
        "PictureArg".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = |PicturePanel { id, about, .. }| json!({"description": format!("{about}."), "type": "string", "const": id});
        json_schema!({ "oneOf": PICTURES.map(one) })
    }
}

/// A size: `1200x700`.
#[derive(Clone, Copy, Debug)]
pub struct SizeArg {
    pub width: f32,
    pub height: f32,
}

impl Default for SizeArg {
    fn default() -> Self {
        Self {
            width: 1200.0,
            height: 700.0,
        }
    }
}

impl FromStr for SizeArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text
            .split_once('x')
            .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
        match parsed {
            Some((width @ 200..=20_000_u16, height @ 120..=20_000_u16)) => Ok(Self {
                width: f32::from(width),
                height: f32::from(height),
            }),
            _ => Err("write a size from 200x120 to 20000x20000, for example 1200x700".to_owned()),
        }
    }
}

/// Draws the part of a trace in the scope.
pub fn drawn(
    session: &Session,
    path: &Path,
    scope: Scope,
    args: &PictureRequest,
) -> Result<Picture> {
    let trace = OpenTrace::new(path.to_owned(), session.clone());
    let mut state = ViewState::new(&trace.model);
    // A picture shows the whole trace by default.
    let extent = trace.model.extent();
    state.place.time = range(&trace, scope).map_or_else(
        || Viewport::fit(extent),
        |range| Viewport::of(range).clamped(extent),
    );
    if args.by_name {
        state.apply(&ViewCommand::Color(ColorBy::Name), &trace.model);
    }
    let SizeArg { width, height } = args.size.0;
    let look = PictureStyle {
        width,
        height,
        dark: args.dark,
        ..PictureStyle::default()
    };
    pictures::draw(args.panel.0, &trace, &state, None, look).map_err(RequestError::Usage)
}

/// The requested part of the trace; `None` for all of it.
fn range(trace: &OpenTrace, scope: Scope) -> Option<TimeRange> {
    match scope {
        Scope::Steps { first, last } => trace
            .session
            .report::<Steps>(Scope::WholeTrace)
            .ok()?
            .range_of(first, last),
        Scope::Range(range) => range.intersect(trace.model.extent()),
        Scope::WholeTrace => None,
    }
}
