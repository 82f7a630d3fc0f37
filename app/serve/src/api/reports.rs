//! Reports: what `systole analyze` writes.

use super::prelude::*;
use axum::http::HeaderName;

use crate::noted::noted_json;
use request::{DigestRequest, RequestError, answers};

/// Entries of a list, as on the command line.
const ENTRIES: u32 = 10_000;

/// A page has its own style and nothing else.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

/// Which part of the trace, and how much of it.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ReportParams {
    #[serde(flatten)]
    about: AboutParams,
    #[serde(flatten)]
    digest: DigestRequest,
    /// Entries of each list; 0 for all.
    #[schemars(range(max = 4_294_967_295u32))]
    #[serde(default = "entries")]
    top: u32,
}

fn entries() -> u32 {
    ENTRIES
}

async fn written(
    state: Shared,
    id: String,
    ids: Vec<String>,
    params: ReportParams,
) -> Result<Response, ApiError> {
    let text = state.about(id, params.about, move |session, scope, _| {
        let session = session.clone().with_sha256(params.digest.digest);
        let document = answers::document(&session, scope, &ids)?;
        let json = render::json::document(&document, params.top as usize);
        let json = json.and_then(Iterator::collect);
        Ok(json.map_err(RequestError::from)?)
    });
    noted_json(text.await?)
}

pub(super) async fn all(
    State(state): State<Shared>,
    InPath(id): InPath<String>,
    Params(params): Params<ReportParams>,
) -> Result<Response, ApiError> {
    written(state, id, Vec::new(), params).await
}

pub(super) async fn one(
    State(state): State<Shared>,
    InPath((id, name)): InPath<(String, String)>,
    Params(params): Params<ReportParams>,
) -> Result<Response, ApiError> {
    answers::reports(&[&name]).map_err(|error| ApiError::missing(error.to_string()))?;
    written(state, id, vec![name], params).await
}

/// The page that `systole analyze -o html=FILE` writes.
pub(super) async fn page(
    State(state): State<Shared>,
    InPath(id): InPath<String>,
    Params(about): Params<AboutParams>,
) -> Result<Response, ApiError> {
    let page = state
        .about(id, about, |session, scope, _| {
            Ok(answers::page(session, scope)?)
        })
        .await?;
    let headers: [(HeaderName, &str); 2] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    Ok((headers, page.answer).into_response())
}
