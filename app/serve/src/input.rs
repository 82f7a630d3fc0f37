//! Parameters and bodies of requests, refused as JSON.

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use request::{known, read, whole};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::error::ApiError;

/// A header, if there is one and it is a text.
pub(super) fn header_text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Parameters behind the question mark.
pub(super) struct Params<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + JsonSchema> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let Query(pairs) = pairs.map_err(|error| ApiError::wrong(error.body_text()))?;
        let known = known::<T>();
        let mut values = Map::new();
        for (name, text) in pairs {
            let value = value_of(known.get(&name), text);
            match values.entry(&name) {
                Entry::Vacant(entry) => drop(entry.insert(value)),
                Entry::Occupied(mut entry) => match (entry.get_mut(), value) {
                    (Value::Array(all), Value::Array(more)) => all.extend(more),
                    _ => return Err(ApiError::wrong(format!("{name}: write it once"))),
                },
            }
        }
        Ok(Self(read(WHAT, values)?))
    }
}

/// What asks, in messages about unknown parameters.
const WHAT: &str = "this address";

/// A value of the kind that its schema says; a wrong one stays a text, which is refused where it is read.
fn value_of(schema: Option<&Value>, text: String) -> Value {
    let is =
        |schema: Option<&Value>, kind: &str| schema.is_some_and(|schema| schema["type"] == kind);
    if is(schema, "array") {
        let items = schema.and_then(|schema| schema.get("items"));
        // Texts may have commas.
        let most = if is(items, "string") { 1 } else { usize::MAX };
        return text
            .splitn(most, ',')
            .map(|text| value_of(items, text.to_owned()))
            .collect();
    }
    match serde_json::from_str(&text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) if !is(schema, "string") => value,
        _ => Value::String(text),
    }
}

/// Parts of the path.
pub(super) struct InPath<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for InPath<T> {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(path)| Self(path))
            .map_err(|error| ApiError::wrong(error.body_text()))
    }
}

pub(super) struct JsonBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + JsonSchema> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ApiError> {
        let kind = header_text(request.headers(), &header::CONTENT_TYPE).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(ApiError::media());
        }
        // The guard has limited it.
        let bytes = to_bytes(request.into_body(), usize::MAX)
            .await
            .map_err(|error| ApiError::wrong(error.to_string()))?;
        let values =
            serde_json::from_slice(&bytes).map_err(|error| ApiError::wrong(error.to_string()))?;
        Ok(Self(read(WHAT, values)?))
    }
}

/// Rejects a number that is not from 1 to `most`.
pub(super) fn check_number(name: &str, number: usize, most: usize) -> Result<(), ApiError> {
    if (1..=most).contains(&number) {
        return Ok(());
    }
    let why = format!("{name}: write a number from 1 to {most}");
    Err(ApiError::wrong(why))
}

/// A number in a path.
#[derive(Deserialize)]
pub(super) struct WholeNumber(#[serde(deserialize_with = "whole")] pub(super) u32);
