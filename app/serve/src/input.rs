//! Parameters and bodies of requests, refused as JSON.

use std::fmt;
use std::marker::PhantomData;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use serde::de::{DeserializeOwned, Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

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

/// A whole number that is not negative; `121.0` is one, as in JSON.
pub(super) fn whole<'de, D: Deserializer<'de>, T: TryFrom<u64>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(WholeVisitor(PhantomData))
}

/// A number in a path.
#[derive(Deserialize)]
pub(super) struct WholeNumber(#[serde(deserialize_with = "whole")] pub(super) u32);

struct WholeVisitor<T>(PhantomData<T>);

impl<T: TryFrom<u64>> Visitor<'_> for WholeVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        T::try_from(number).map_err(|_large| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_negative) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        /// From here on, numbers are not exact.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if (0.0..EXACT).contains(&number) && number.fract() == 0.0 {
            return self.visit_u64(number as u64);
        }
        Err(E::invalid_value(Unexpected::Float(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        match (text.parse::<u64>(), text.parse::<f64>()) {
            (Ok(number), _) => self.visit_u64(number),
            (Err(_other), Ok(number)) => self.visit_f64(number),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn whole_numbers_are_those_of_json() {
        let read = |value: Value| whole::<_, u32>(value).ok();
        for (value, number) in [(json!(7), 7), (json!(121.0), 121), (json!("121.0"), 121), (json!("1e3"), 1000)] {
            assert_eq!(read(value), Some(number));
        }
        for value in [json!(1.5), json!(-1), json!(-1.0), json!("x"), json!(""), json!("inf"), json!(1e10), json!(null)]
        {
            assert_eq!(read(value.clone()), None, "{value}");
        }
    }
}
