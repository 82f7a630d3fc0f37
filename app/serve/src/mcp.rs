//! `/mcp`: the tools of `systole mcp` over HTTP, about the traces that are open here.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;

use super::error::ApiError;
use super::state::ServeState;

use mcp::SystoleService;
use request::Result;
use request::places::Roots;

/// Calls at the same time.
const MOST_CALLS: usize = 16;
/// Bytes of a request.
const MOST_BODY: usize = 256 << 10;

/// The route, if a directory of this machine is served: tools name files below it.
pub(super) fn router(state: &Arc<ServeState>) -> Result<Router> {
    let directories = state.runs.roots.directories();
    if directories.is_empty() {
        return Ok(Router::new());
    }
    let roots = Arc::new(Roots::new(&directories, "systole serve DIR")?);
    let service = SystoleService::new(roots, Arc::clone(&state.traces));
    // Without sessions: nothing is kept for clients that do not come back. The guard has checked the host.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .with_max_request_body_bytes(MOST_BODY);
    let service = StreamableHttpService::new(
        move || Ok(service.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let calls = Arc::new(Semaphore::new(MOST_CALLS));
    Ok(Router::new()
        .route_service("/mcp", service)
        .layer(from_fn_with_state(calls, few)))
}

async fn few(State(calls): State<Arc<Semaphore>>, request: Request, next: Next) -> Response {
    match calls.try_acquire() {
        Ok(_permit) => next.run(request).await,
        Err(_full) => ApiError::busy().into_response(),
    }
}
