//! Answers that are JSON: text, refusals and failures.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, html};
use schemars::JsonSchema;
use serde::Serialize;

use request::{ErrorCodes, RequestError};

/// Style of a page with a message.
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}";

/// Why a request has no answer.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    header: Option<(HeaderName, HeaderValue)>,
}

/// The body of a failed request.
#[derive(Serialize, JsonSchema)]
pub(super) struct Problem {
    /// What is wrong.
    error: ProblemFacts,
}

/// What is wrong with a request.
#[derive(Serialize, JsonSchema)]
struct ProblemFacts {
    /// A word for programs; it does not change.
    code: &'static str,
    /// A sentence for people, with the cure where there is one.
    message: String,
}

impl ApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            header: None,
        }
    }

    /// The request is wrong.
    pub fn wrong(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// The token is missing or wrong.
    pub fn no_token() -> Self {
        let why = "this server wants its token: open the address that systole serve printed, or send it as \
            Authorization: Bearer TOKEN";
        let ask = (header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        Self {
            header: Some(ask),
            ..Self::new(StatusCode::UNAUTHORIZED, "no_token", why)
        }
    }

    /// The request comes from where it must not come from.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// There is no such thing.
    pub fn missing(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// The path does not have this method; the router says which it has.
    pub fn method() -> Self {
        let why =
            "this address does not have this method; the header Allow lists those that it has";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", why)
    }

    /// The body is larger than this.
    pub fn large(most: usize) -> Self {
        let why = format!("the body of a request has at most {most} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", why)
    }

    /// The address is longer than this.
    pub fn long(most: usize) -> Self {
        let why = format!("an address has at most {most} bytes; send a long query as POST");
        Self::new(StatusCode::URI_TOO_LONG, "address_too_long", why)
    }

    /// The body is not JSON.
    pub fn media() -> Self {
        let why = "send a body as Content-Type: application/json";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", why)
    }

    /// A part of a file of so many bytes that it does not have.
    pub fn range(bytes: u64) -> Self {
        let why = format!("the file has {bytes} bytes, and none of the asked range");
        let range = HeaderValue::from_str(&format!("bytes */{bytes}"))
            .ok()
            .map(|range| (header::CONTENT_RANGE, range));
        Self {
            header: range,
            ..Self::new(StatusCode::RANGE_NOT_SATISFIABLE, "no_such_range", why)
        }
    }

    /// Too much is asked at once.
    pub fn busy() -> Self {
        let why = "too many requests are being worked on; try again in a moment";
        let wait = (header::RETRY_AFTER, HeaderValue::from_static("2"));
        Self {
            header: Some(wait),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", why)
        }
    }

    /// It takes longer than allowed.
    pub fn slow(seconds: u64) -> Self {
        let why = format!("stopped after {seconds} s, the limit");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", why)
    }

    /// The body comes too slowly.
    pub fn slow_body(seconds: u64) -> Self {
        let why = format!("the body of a request must arrive within {seconds} s");
        Self::new(StatusCode::REQUEST_TIMEOUT, "slow_body", why)
    }

    /// A bug in this program.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    /// This error as a page for people in a browser.
    pub fn into_page(self) -> Response {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head { meta charset="utf-8"; title { "Systole" } style { (maud::PreEscaped(STYLE)) } }
                body { h1 { "Systole" } p { (self.message) } }
            }
        };
        let mut response = (self.status, Html(page.into_string())).into_response();
        response.headers_mut().extend(self.header);
        response
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        let ErrorCodes { http, word, .. } = error.codes();
        let status = StatusCode::from_u16(http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(status, word, error.to_string())
    }
}

pub(super) fn json(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = Problem {
            error: ProblemFacts {
                code: self.code,
                message: self.message,
            },
        };
        let mut response = (self.status, Json(body)).into_response();
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}
