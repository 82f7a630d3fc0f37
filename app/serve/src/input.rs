//! Parameters and bodies of requests, refused as JSON.

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// Parameters behind the question mark.
pub(super) struct Params<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        query.map(|Query(params)| Self(params)).map_err(|error| ApiError::wrong(error.body_text()))
    }
}

/// Parts of the path.
pub(super) struct InPath<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for InPath<T> {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(path)| Self(path)).map_err(|error| ApiError::wrong(error.body_text()))
    }
}

/// A body of JSON.
#[cfg_attr(not(feature = "query"), expect(dead_code, reason = "only queries are sent as a body"))]
pub(super) struct JsonBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(ApiError::media());
        }
        // The guard has limited it.
        let bytes =
            to_bytes(request.into_body(), usize::MAX).await.map_err(|error| ApiError::wrong(error.to_string()))?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| ApiError::wrong(error.to_string()))
    }
}
