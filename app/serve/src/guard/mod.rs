//! Who may ask: the names that this server is called by, pages of its own, and the token.
//!
//! A page of another site can send a browser here. It can make its own name lead to this machine (DNS rebinding): then the
//! header `Host` has that name. Or it can send requests to our address (CSRF): then `Origin` or `Sec-Fetch-Site` say so.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::uri::{Authority, PathAndQuery};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Frame, SizeHint};
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::connections::OpenConnection;
use super::error::ApiError;
use super::input::header_text;
use session::fingerprint::hex;

/// Bytes of an address, and of a body.
const MOST_ADDRESS: usize = 16 << 10;
const MOST_BODY: usize = 256 << 10;
/// How long a client may take to send a body.
const BODY: Duration = Duration::from_secs(10);

/// What pages may load: this server only, and `WebAssembly`.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; manifest-src 'self'; \
    worker-src 'self' blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Headers of every answer. The first three isolate the page from others, which threads in a browser need.
const HEADERS: [(HeaderName, &str); 8] = [
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-embedder-policy"),
        "require-corp",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "private, no-cache"),
];

/// Who may ask.
pub(super) struct Guard {
    /// Without one, everybody on this machine may ask.
    token: Option<Secret>,
    /// Names besides those of loopback.
    names: Vec<String>,
    /// Whether other machines can ask; then every address of this one is a name, too.
    is_open: bool,
    cookie: String,
}

/// A token, of which only the hash is kept: comparing hashes takes a time that says nothing about the token.
struct Secret {
    hash: [u8; 32],
    /// What the cookie holds.
    cookie: String,
}

impl Secret {
    fn new(token: &str) -> Self {
        let cookie = Sha256::digest(format!("systole cookie {token}"));
        Self {
            hash: hash(token),
            cookie: hex(&cookie),
        }
    }

    fn is(&self, token: &str) -> bool {
        hash(token) == self.hash
    }

    fn is_cookie(&self, cookie: &str) -> bool {
        hash(cookie) == hash(&self.cookie)
    }
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

impl Guard {
    /// For a server on a port; `names` are those of this machine that users may write.
    pub fn new(token: Option<&str>, names: Vec<String>, is_open: bool, port: u16) -> Self {
        let names = names
            .into_iter()
            .map(|name| name.to_ascii_lowercase())
            .collect();
        // Cookies do not know ports: another server of this machine must not get ours by its name.
        Self {
            token: token.map(Secret::new),
            names,
            is_open,
            cookie: format!("systole_{port}"),
        }
    }

    fn is_name(&self, host: &str) -> bool {
        let address = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>();
        let is_loopback = address
            .as_ref()
            .map_or(host == "localhost", IpAddr::is_loopback);
        is_loopback
            || (self.is_open && address.is_ok())
            || self.names.iter().any(|name| name == host)
    }

    /// The host that a request names, if it is one of ours.
    fn host(&self, uri: &Uri, headers: &HeaderMap) -> Result<Authority, ApiError> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(ApiError::wrong("a request has one header Host"));
        };
        let host: Option<Authority> = host
            .to_str()
            .ok()
            .and_then(|host| host.to_ascii_lowercase().parse().ok());
        let Some(host) = host.filter(|host| !host.as_str().contains('@')) else {
            return Err(ApiError::wrong("the header Host is no name of a machine"));
        };
        let named = [Some(host.host()), uri.host()].into_iter().flatten();
        if let Some(other) = named
            .into_iter()
            .find(|name| !self.is_name(&name.to_ascii_lowercase()))
        {
            let why = format!(
                "this server is not called {other:?}; systole serve --allow-host NAME adds a name"
            );
            return Err(ApiError::forbidden(why));
        }
        Ok(host)
    }

    /// Refuses requests that pages of other sites have sent.
    fn origin(
        method: &Method,
        path: &str,
        host: &Authority,
        headers: &HeaderMap,
    ) -> Result<(), ApiError> {
        let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let other = || ApiError::forbidden("a page of another site has sent this request");
        if let Some(origin) = text(&header::ORIGIN) {
            let origin = origin.to_ascii_lowercase();
            let from = origin
                .split_once("://")
                .map(|(scheme, rest)| (default_port(scheme), rest));
            let is_own = from.is_some_and(|(port, rest)| {
                let port = port.map_or(String::new(), |port| format!(":{port}"));
                rest == host.as_str()
                    || format!("{rest}{port}") == host.as_str()
                    || rest == format!("{host}{port}")
            });
            if !is_own {
                return Err(other());
            }
        }
        let fetch = |name: &'static str| text(&HeaderName::from_static(name));
        match fetch("sec-fetch-site") {
            None | Some("same-origin" | "none") => Ok(()),
            // A link on another page that leads to one of ours.
            Some(_)
                if method == Method::GET
                    && fetch("sec-fetch-mode") == Some("navigate")
                    && fetch("sec-fetch-dest") == Some("document")
                    && is_page(path) =>
            {
                Ok(())
            }
            Some(_) => Err(other()),
        }
    }

    /// Refuses requests without the token. Answers with a redirection where the address has it.
    fn token(&self, request: &mut Request) -> Result<Option<Response>, ApiError> {
        let (in_address, rest) = without_token(request.uri());
        let Some(secret) = &self.token else {
            // An address from another time, when one was demanded.
            if in_address.is_some() {
                set_address(request, &rest)?;
            }
            return Ok(None);
        };
        if let Some(token) = in_address {
            if !secret.is(&token) {
                return Err(ApiError::no_token());
            }
            set_address(request, &rest)?;
            let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
            return if is_page(request.uri().path()) && is_read {
                self.redirected(secret, &rest).map(Some)
            } else {
                Ok(None)
            };
        }
        let headers = request.headers();
        let bearer = header_text(headers, &header::AUTHORIZATION);
        let bearer = bearer.and_then(|value| value.split_once(' '));
        if bearer.is_some_and(|(kind, token)| {
            kind.eq_ignore_ascii_case("bearer") && secret.is(token.trim())
        }) {
            return Ok(None);
        }
        let cookies = headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let mut cookies = cookies
            .flat_map(|value| value.split(';'))
            .filter_map(|one| one.trim().split_once('='));
        if cookies.any(|(name, value)| name == self.cookie && secret.is_cookie(value)) {
            return Ok(None);
        }
        Err(ApiError::no_token())
    }

    /// To the same place without the token, which then is a cookie and no part of what is shared or kept in a history.
    fn redirected(&self, secret: &Secret, rest: &str) -> Result<Response, ApiError> {
        // Two slashes would lead to another machine.
        let place = format!("/{}", rest.trim_start_matches(['/', '\\']));
        let cookie = format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict",
            self.cookie, secret.cookie
        );
        let value = |text: &str| {
            HeaderValue::from_str(text)
                .map_err(|_letters| ApiError::wrong("the address has letters that it cannot have"))
        };
        let headers = [
            (header::LOCATION, value(&place)?),
            (header::SET_COOKIE, value(&cookie)?),
        ];
        Ok((StatusCode::SEE_OTHER, headers).into_response())
    }

    fn check(&self, request: &mut Request) -> Result<Option<Response>, ApiError> {
        if request
            .uri()
            .path_and_query()
            .is_some_and(|address| address.as_str().len() > MOST_ADDRESS)
        {
            return Err(ApiError::long(MOST_ADDRESS));
        }
        let host = self.host(request.uri(), request.headers())?;
        Self::origin(
            request.method(),
            request.uri().path(),
            &host,
            request.headers(),
        )?;
        self.token(request)
    }
}

/// Answers what is refused, hands on what is not, and adds the headers of every answer.
pub(super) async fn guarded(
    State(guard): State<Arc<Guard>>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_page = is_page(request.uri().path()) && wants_page(request.headers());
    let mut response = match guard.check(&mut request) {
        Ok(None) => answered(request, next)
            .await
            .unwrap_or_else(ApiError::into_response),
        Ok(Some(response)) => response,
        Err(error) if is_page => error.into_page(),
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Hands a request on when its body is there: until then nothing of this server works or is reserved for it.
async fn answered(request: Request, next: Next) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let body = timeout(BODY, to_bytes(body, MOST_BODY))
        .await
        .map_err(|_elapsed| ApiError::slow_body(BODY.as_secs()))?;
    let body = body.map_err(|_long| ApiError::large(MOST_BODY))?;
    let connection = parts
        .extensions
        .get::<Arc<OpenConnection>>()
        .cloned()
        .unwrap_or_default();
    connection.set_busy(true);
    let answer = next.run(Request::from_parts(parts, Body::from(body))).await;
    Ok(answer.map(|body| Body::new(AnswerBody { body, connection })))
}

/// A body that tells when it has been taken.
struct AnswerBody {
    body: Body,
    connection: Arc<OpenConnection>,
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.connection.set_busy(false);
    }
}

/// Whether people look at it in a browser.
fn is_page(path: &str) -> bool {
    path != "/mcp" && (!path.starts_with("/api/") || path.ends_with("/html"))
}

fn wants_page(headers: &HeaderMap) -> bool {
    header_text(headers, &header::ACCEPT).is_some_and(|kinds| kinds.contains("text/html"))
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// The token of an address, and the address without it.
fn without_token(uri: &Uri) -> (Option<String>, String) {
    let mut token = None;
    let kept = uri.query().unwrap_or_default().split('&').filter(|part| {
        match part.strip_prefix("token=") {
            Some(value) => {
                token = Some(value.to_owned());
                false
            }
            None => !part.is_empty(),
        }
    });
    let kept: Vec<&str> = kept.collect();
    let query = if kept.is_empty() {
        String::new()
    } else {
        format!("?{}", kept.join("&"))
    };
    (token, format!("{}{query}", uri.path()))
}

fn set_address(request: &mut Request, address: &str) -> Result<(), ApiError> {
    let address: PathAndQuery = address
        .parse()
        .map_err(|_wrong| ApiError::wrong("the address cannot be read"))?;
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = Some(address);
    *request.uri_mut() =
        Uri::from_parts(parts).map_err(|error| ApiError::wrong(error.to_string()))?;
    Ok(())
}

#[cfg(test)]
mod tests;
