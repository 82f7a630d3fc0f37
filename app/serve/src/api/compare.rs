//! Two runs: what `systole compare` writes.

use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{ApiError, json};
use crate::input::Params;
use crate::state::{AskedPart, Shared};
use cli::embedded;
use session::Session;

/// Which runs, and which part of them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompareParams {
    /// Id of the run to compare with.
    base: String,
    /// Id of the new run.
    new: String,
    /// Only these steps of both, both ends included: `3..7`.
    steps: Option<String>,
}

pub(super) async fn two(
    State(state): State<Shared>,
    Params(params): Params<CompareParams>,
) -> Result<Response, ApiError> {
    let base = state.session(params.base).await?;
    let new = state.session(params.new).await?;
    let part = AskedPart::new(params.steps, None);
    let shared = (Session::clone(&base), Session::clone(&new));
    let text = state.heavy(move |_| {
        let (base, new) = shared;
        let scopes = (part.scope(&base)?, part.scope(&new)?);
        Ok(embedded::compared((&base, scopes.0), (&new, scopes.1), &[])?.json)
    });
    // If the client goes away, this ends here and drops the sessions.
    let text = text.await;
    drop((base, new));
    Ok(json(text?))
}
