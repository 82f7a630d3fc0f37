//! Answers with notes beside them.

use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use super::error::{ApiError, json};
use request::RequestError;

/// An answer, and what to know beside it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}")]
pub(super) struct Noted<T> {
    #[serde(flatten)]
    pub answer: T,
    /// Arguments that change nothing, and what else to know of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A document, an object, with the notes as its first field.
pub(super) fn noted_json(Noted { answer, notes }: Noted<String>) -> Result<Response, ApiError> {
    if notes.is_empty() {
        return Ok(json(answer));
    }
    let notes = serde_json::to_string(&notes).map_err(RequestError::from)?;
    let rest = answer.trim_start().trim_start_matches('{');
    Ok(json(format!("{{\"notes\":{notes},{rest}")))
}
