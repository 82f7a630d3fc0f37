//! Which runs there are.

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cli::serve::error::ApiError;
use crate::cli::serve::input::{InPath, Params};
use crate::cli::serve::runs::{FileEntry, PlaceError, RunEntry};
use crate::cli::serve::state::Shared;

/// Runs of an answer.
const USUAL: usize = 100;
const MOST: usize = 1000;

/// That the server is there.
#[derive(Serialize, JsonSchema)]
pub(super) struct Health {
    /// Always `ok`.
    status: &'static str,
    /// Version of the program.
    version: &'static str,
    /// Whether the window is part of this build.
    has_window: bool,
}

/// Which part of the list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PageParams {
    /// Most entries.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(default = "usual")]
    limit: usize,
    /// Entries to leave out at the beginning.
    #[schemars(range(max = 4_294_967_295u32))]
    #[serde(default)]
    offset: u32,
}

fn usual() -> usize {
    USUAL
}

/// A part of the runs, of each place the newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct RunPage {
    /// The runs.
    runs: Vec<RunEntry>,
    /// How many there are.
    total: usize,
    /// How many were left out at the beginning.
    offset: usize,
    /// Places that cannot be read.
    errors: Vec<PlaceError>,
}

/// A run and its files.
#[derive(Serialize, JsonSchema)]
pub(super) struct RunFacts {
    /// The run.
    run: RunEntry,
    /// Its files: of each host first the one that is read.
    files: Vec<FileEntry>,
}

#[allow(clippy::unused_async, reason = "routes are asynchronous")]
pub(super) async fn health() -> Json<Health> {
    let has_window = crate::cli::serve::assets::has_window();
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION"), has_window })
}

pub(super) async fn list(
    State(state): State<Shared>,
    Params(page): Params<PageParams>,
) -> Result<Json<RunPage>, ApiError> {
    if !(1..=MOST).contains(&page.limit) {
        return Err(ApiError::wrong(format!("limit: write a number from 1 to {MOST}")));
    }
    let listing = state.list().await?;
    let offset = page.offset as usize;
    let runs = listing.runs.iter().skip(offset).take(page.limit).map(|run| run.entry.clone()).collect();
    Ok(Json(RunPage { runs, total: listing.runs.len(), offset, errors: listing.errors.clone() }))
}

pub(super) async fn one(State(state): State<Shared>, InPath(id): InPath<String>) -> Result<Json<RunFacts>, ApiError> {
    let run = state.run(id).await?;
    let files = state.files(run.clone()).await?;
    Ok(Json(RunFacts { run: run.entry, files: files.into_iter().map(|(file, _)| file).collect() }))
}
