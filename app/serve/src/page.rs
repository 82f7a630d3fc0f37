//! The page of a program without the window: the runs, with links to their reports.

use std::sync::Arc;

use analysis::number;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::error::ApiError;
use super::runs::Listing;
use super::state::ServeState;

/// Runs that are listed.
const MOST: usize = 500;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
    color-scheme:light dark}table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem .75rem .25rem 0;\
    border-bottom:1px solid #8884;vertical-align:top}td.number{text-align:right}.dim{opacity:.7}";

/// A file of the window, or this page in its place.
pub(super) async fn any(
    State(state): State<Arc<ServeState>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let path = uri.path().to_owned();
    if let Some(file) = state
        .light(move |_, _| Ok(assets::file(&path, &headers)))
        .await?
    {
        return Ok(file);
    }
    match uri.path() {
        "/" => {
            let listing = state.list().await?;
            Ok((without_script(), Html(page(&listing).into_string())).into_response())
        }
        // Browsers ask for it by themselves.
        "/favicon.ico" => Ok(StatusCode::NO_CONTENT.into_response()),
        _ => Err(ApiError::missing("there is no such page")),
    }
}

fn without_script() -> [(header::HeaderName, &'static str); 1] {
    [(
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    )]
}

fn page(listing: &Listing) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "Systole" }
                style { (maud::PreEscaped(STYLE)) }
            }
            body {
                h1 { "Systole" }
                p { "This build is without the window for browsers; " code { "scripts/web" } " builds it, before the program is
                    built again. Reports and the " a href="/api/v1/openapi.json" { "interface for programs" } " are here." }
                @for error in &listing.errors { p { strong { (error.place) } ": " (error.message) } }
                @if listing.runs.is_empty() { p { "No runs yet. Reload this page when there is one." } }
                @else {
                    table {
                        thead { tr { th { "Run" } th { "Hosts" } th { "Size" } th { "" } } }
                        tbody { @for run in listing.runs.iter().take(MOST) {
                            @let entry = &run.entry;
                            tr {
                                td { a href={ "/api/v1/runs/" (entry.id) "/html" } { (entry.name) } div.dim { (entry.place) } }
                                td { (entry.hosts.len().max(1)) }
                                td.number { @if let Some(bytes) = entry.bytes { (number::bytes(bytes)) } }
                                td { a href={ "/api/v1/runs/" (entry.id) "/reports" } { "JSON" } }
                            }
                        } }
                    }
                    @if listing.runs.len() > MOST { p { (listing.runs.len() - MOST) " more: /api/v1/runs" } }
                }
            }
        }
    }
}
