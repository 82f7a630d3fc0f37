//! `/api/v1`: what programs and the window ask.

mod compare;
mod files;
mod model;
mod openapi;
mod prelude;
mod query;
mod reports;
mod runs;
mod tables;

use axum::Router;
use axum::routing::get;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate as _};

use super::error::ApiError;
use super::state::Shared;

pub(super) fn router() -> Router<Shared> {
    let router = Router::new()
        .route("/health", get(runs::health))
        .route("/openapi.json", get(openapi::document))
        .route("/runs", get(runs::list))
        .route("/runs/{id}", get(runs::one))
        .route("/runs/{id}/summary", get(runs::summary))
        .route("/runs/{id}/reports", get(reports::all))
        .route("/runs/{id}/reports/{name}", get(reports::one))
        .route("/runs/{id}/html", get(reports::page))
        .route("/runs/{id}/tables", get(tables::list))
        .route("/runs/{id}/tables/{name}", get(tables::rows))
        .route("/runs/{id}/files", get(files::list))
        .route("/compare", get(compare::two));
    let router = router.route(
        "/runs/{id}/query",
        get(query::by_address).post(query::by_body),
    );
    let packed = DefaultPredicate::new().and(NotForContentType::const_new(files::BYTES));
    router
        .layer(CompressionLayer::new().compress_when(packed))
        // Ranges are those of the file, and a model packs itself, on another thread.
        .route("/runs/{id}/files/{n}", get(files::bytes))
        .route("/runs/{id}/model", get(model::snapshot))
        .fallback(nothing)
        .method_not_allowed_fallback(method)
}

/// There is no such address.
#[allow(clippy::unused_async, reason = "routes are asynchronous")]
pub(super) async fn nothing() -> ApiError {
    ApiError::missing("there is no such address; /api/v1/openapi.json lists them")
}

/// The address does not have this method.
#[allow(clippy::unused_async, reason = "routes are asynchronous")]
pub(super) async fn method() -> ApiError {
    ApiError::method()
}
