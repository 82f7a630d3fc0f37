//! Reports: what `systole analyze` writes.

use analysis::ANALYSES;
use axum::extract::State;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{ApiError, json};
use crate::input::{InPath, Params, whole};
use crate::state::{AskedPart, Shared};
use cli::embedded;
use render::{self, Document, DocumentView};

/// Entries of a list, as on the command line.
const ENTRIES: u32 = 10_000;

/// A page has its own style and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

/// Which part of the trace, and how much of it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportParams {
    /// Only these steps, both included: `3..7`.
    steps: Option<String>,
    /// Only this part of the timeline; slices are cut at its ends: `1.5ms..2ms`.
    range: Option<String>,
    /// Entries of each list; 0 for all.
    #[schemars(range(max = 4_294_967_295u32))]
    #[serde(default = "entries", deserialize_with = "whole")]
    top: u32,
}

/// Which part of the trace.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PartParams {
    /// Only these steps, both included: `3..7`.
    pub(super) steps: Option<String>,
    /// Only this part of the timeline; slices are cut at its ends: `1.5ms..2ms`.
    pub(super) range: Option<String>,
}

fn entries() -> u32 {
    ENTRIES
}

async fn written(
    state: Shared,
    id: String,
    ids: Vec<&'static str>,
    params: ReportParams,
) -> Result<Response, ApiError> {
    let part = AskedPart::new(params.steps, params.range);
    let text = state.about(id, part, move |session, scope, _| {
        let view = if ids.len() == 1 { DocumentView::Tables } else { DocumentView::Summary };
        let document = Document::new(session, scope, &ids, view);
        render::json::document(&document, params.top as usize).map_err(|error| ApiError::internal(error.to_string()))
    });
    Ok(json(text.await?))
}

pub(super) async fn all(
    State(state): State<Shared>,
    InPath(id): InPath<String>,
    Params(params): Params<ReportParams>,
) -> Result<Response, ApiError> {
    written(state, id, ANALYSES.iter().map(|entry| entry.id).collect(), params).await
}

pub(super) async fn one(
    State(state): State<Shared>,
    InPath((id, name)): InPath<(String, String)>,
    Params(params): Params<ReportParams>,
) -> Result<Response, ApiError> {
    let ids: Vec<&'static str> = ANALYSES.iter().map(|entry| entry.id).collect();
    let Some(found) = ids.iter().copied().find(|id| *id == name) else {
        return Err(ApiError::missing(format!("there is no such report; there are {}", ids.join(", "))));
    };
    written(state, id, vec![found], params).await
}

/// The page that `systole analyze -o html=FILE` writes.
pub(super) async fn page(
    State(state): State<Shared>,
    InPath(id): InPath<String>,
    Params(params): Params<PartParams>,
) -> Result<Response, ApiError> {
    let part = AskedPart::new(params.steps, params.range);
    let page = state.about(id, part, |session, scope, _| Ok(embedded::page(session, scope)?)).await?;
    let headers: [(HeaderName, &str); 2] =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)];
    Ok((headers, page).into_response())
}
