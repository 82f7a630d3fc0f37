//! Which runs there are.

use std::path::Path;

use super::prelude::*;
use importers::InputSource;

use crate::runs::{FileEntry, PlaceError, RunEntry};
use request::Cancel;
use request::places::Roots;
use session::{RunSummary, Session};

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
    /// What the events of the files that are read are of; null if the files do not tell it at once, as `XSpace` protobufs do that
    /// are not packed.
    events: Option<EventBytes>,
}

/// Bytes of events.
#[derive(Serialize, JsonSchema)]
struct EventBytes {
    /// Bytes of events of devices.
    devices: u64,
    /// Bytes of events of hosts, and of what is known of no device.
    others: u64,
}

#[allow(clippy::unused_async, reason = "routes are asynchronous")]
pub(super) async fn health() -> Json<Health> {
    Json(Health {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
        has_window: crate::assets::has_window(),
    })
}

pub(super) async fn list(
    State(state): State<Shared>,
    Params(page): Params<PageParams>,
) -> Result<Json<RunPage>, ApiError> {
    check_number("limit", page.limit, MOST)?;
    let listing = state.list().await?;
    let offset = page.offset as usize;
    let runs = listing.runs.iter().skip(offset).take(page.limit);
    Ok(Json(RunPage {
        runs: runs.map(|run| run.entry.clone()).collect(),
        total: listing.runs.len(),
        offset,
        errors: listing.errors.clone(),
    }))
}

pub(super) async fn one(
    State(state): State<Shared>,
    InPath(id): InPath<String>,
) -> Result<Json<RunFacts>, ApiError> {
    let run = state.run(id).await?;
    let files = state.files(run.clone()).await?;
    let is_copy = run.entry.is_remote;
    let facts = state.light(move |state, _| {
        let read = files.iter().filter(|(file, _)| file.is_read);
        let events = read.map(|(_, path)| events_in(path, is_copy, &state.runs.roots));
        let events = events.collect::<Option<Vec<_>>>().map(|all| {
            let sum = |kind: usize| all.iter().map(|bytes| bytes[kind]).sum();
            EventBytes {
                devices: sum(0),
                others: sum(1),
            }
        });
        Ok(RunFacts {
            run: run.entry,
            files: files.into_iter().map(|(file, _)| file).collect(),
            events,
        })
    });
    Ok(Json(facts.await?))
}

/// What a run says of itself; reads the run.
pub(super) async fn summary(
    State(state): State<Shared>,
    InPath(id): InPath<String>,
) -> Result<Json<RunSummary>, ApiError> {
    let of = |session: &Session, _scope, _: &Cancel| Ok(RunSummary::of(session));
    let summary = state.about(id, AboutParams::default(), of).await?;
    Ok(Json(summary.answer))
}

/// Bytes of the events of devices in a file and of others, if it is of a kind that tells it at once.
fn events_in(path: &Path, is_copy: bool, roots: &Roots) -> Option<[u64; 2]> {
    // Without links, so that it is the file that was checked. A pipe would block.
    let path = path
        .canonicalize()
        .ok()
        .filter(|path| (is_copy || roots.contain(path)) && path.is_file())?;
    let has_outline = path.extension().is_some_and(|extension| extension == "pb");
    let source = has_outline.then(|| InputSource::open(&path).ok())??;
    importers::event_bytes(&source)
}
