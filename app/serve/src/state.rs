//! What all requests share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use analysis::Scope;
use analysis::hardware::chips;
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::error::ApiError;
use super::noted::Noted;
use super::runs::{FileEntry, Listing, RunList, ServedRun};
use super::work::Work;
use request::{
    AssumedValues, Cancel, ChipArg, OpenTraces, PartRequest, RequestError, Text, checks,
};
use schemars::JsonSchema;
use serde::Deserialize;
use session::{RequestSession, Session};
use trace_model::{Source, TraceModel, locked};

/// How long it may take to list runs, to read one, and to analyze it.
const LIST: Duration = Duration::from_mins(1);
const READ: Duration = Duration::from_mins(15);
const ANALYZE: Duration = Duration::from_mins(10);

/// Memory of the models that are kept.
const MOST_BYTES: usize = 4 << 30;
/// Megabytes of models that are being sent to clients.
const MOST_SENT: usize = 2 << 10;
/// How long one waits for others to be sent.
const SENDING: Duration = Duration::from_secs(30);

/// What is assumed of a run, and which part is meant.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct AboutParams {
    #[serde(flatten)]
    pub part: PartRequest,
    #[serde(flatten)]
    pub values: AssumedValues,
}

/// The runs, the traces that are open, and the work that is done.
pub(super) struct ServeState {
    pub runs: RunList,
    pub traces: Arc<OpenTraces>,
    /// Imports, analyses, queries.
    heavy: Work,
    /// Queries: one that does not end at once must not keep reports waiting.
    queries: Work,
    /// Megabytes of models that are being sent, of those who read slowly, too.
    sending: Arc<Semaphore>,
    /// Listing, which must not wait behind an import.
    light: Work,
    /// Runs that are being read: those who want the same one wait without a thread.
    reading: Mutex<BTreeMap<String, Arc<AsyncMutex<()>>>>,
}

/// The state of all routes.
pub(super) type Shared = Arc<ServeState>;

impl ServeState {
    /// Nothing is open yet.
    pub fn new(runs: RunList, keep: usize) -> Self {
        Self {
            runs,
            traces: Arc::new(OpenTraces::new(keep, MOST_BYTES)),
            heavy: Work::new(2),
            queries: Work::new(2),
            sending: Arc::new(Semaphore::new(MOST_SENT)),
            light: Work::new(8),
            reading: Mutex::default(),
        }
    }

    /// The runs.
    pub async fn list(self: &Arc<Self>) -> Result<Arc<Listing>, ApiError> {
        self.light(|state, cancel| Ok(state.runs.list(&cancel.progress)))
            .await
    }

    /// Quick work with files.
    pub async fn light<T: Send + 'static>(
        self: &Arc<Self>,
        job: impl FnOnce(&Self, &Cancel) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let state = Arc::clone(self);
        self.light
            .run(LIST, move |cancel| job(&state, cancel))
            .await
    }

    /// The run with this id.
    pub async fn run(self: &Arc<Self>, id: String) -> Result<ServedRun, ApiError> {
        self.light(move |state, cancel| state.runs.run(&id, &cancel.progress))
            .await
    }

    /// The trace of a run, read if it is not open with what is assumed.
    pub async fn session(
        self: &Arc<Self>,
        id: String,
        values: AssumedValues,
    ) -> Result<RequestSession, ApiError> {
        if let Some(Text(ChipArg::File(_))) = values.device_spec {
            let why = format!("write the name of a published chip; {}", chips::known());
            return Err(RequestError::argument("device_spec", why).into());
        }
        let asked = self.run(id).await?.asked(values);
        let one = {
            let mut reading = locked(&self.reading);
            reading.retain(|_, one| Arc::strong_count(one) > 1);
            Arc::clone(reading.entry(asked.key()).or_default())
        };
        let _only = one.lock().await;
        let state = Arc::clone(self);
        let read = move |cancel: &Cancel| {
            Ok(state
                .traces
                .get(&state.runs.roots, &asked, &cancel.progress)?)
        };
        self.heavy.run(READ, read).await
    }

    /// What is shown first of a large run; `None` where all of it is there about as soon.
    pub async fn first_look(self: &Arc<Self>, id: String) -> Result<Option<TraceModel>, ApiError> {
        let asked = self.run(id).await?.asked(AssumedValues::default());
        let state = Arc::clone(self);
        let look = move |cancel: &Cancel| {
            let roots = &state.runs.roots;
            Ok(request::first_look(roots, &asked, &cancel.progress)?)
        };
        self.heavy.run(READ, look).await
    }

    /// The files of a run, each with its path. Those of a bucket are copied to this machine first, by reading the run.
    pub async fn files(
        self: &Arc<Self>,
        run: ServedRun,
    ) -> Result<Vec<(FileEntry, PathBuf)>, ApiError> {
        if !run.entry.is_remote {
            return self
                .light(move |state, cancel| state.runs.files(&run, &cancel.progress))
                .await;
        }
        let session = self.session(run.entry.id, AssumedValues::default()).await?;
        let sources = session.model().sources().iter();
        let copies = sources.filter_map(|source| Some((source, source.copy.clone()?)));
        let entry = |(n, (source, copy)): (usize, (&Source, PathBuf))| {
            let entry = FileEntry {
                n,
                name: source.name.clone(),
                host: source.host.clone(),
                bytes: Some(source.packed_bytes),
                is_read: true,
            };
            (entry, copy)
        };
        Ok(copies.enumerate().map(entry).collect())
    }

    /// An answer about a part of a run.
    pub async fn about<T: Send + 'static>(
        self: &Arc<Self>,
        id: String,
        about: AboutParams,
        job: impl FnOnce(&Session, Scope, &Cancel) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<Noted<T>, ApiError> {
        self.answered(None, id, about, job).await
    }

    /// The answer of `job`; with a limit it is a query, which takes this long at most, and no place of reports.
    pub async fn answered<T: Send + 'static>(
        self: &Arc<Self>,
        limit: Option<Duration>,
        id: String,
        about: AboutParams,
        job: impl FnOnce(&Session, Scope, &Cancel) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<Noted<T>, ApiError> {
        let AboutParams { part, values } = about;
        let session = self.session(id, values.clone()).await?;
        let shared = Session::clone(&session);
        let work = move |cancel: &Cancel| {
            let scope = checks::check_part(&shared, &part)?;
            let answer = job(&shared, scope, cancel)?;
            let notes = request::notes(&shared, &values);
            Ok(Noted { answer, notes })
        };
        let query = limit.map(|limit| (&self.queries, limit));
        let (place, limit) = query.unwrap_or((&self.heavy, ANALYZE));
        // If the client goes away, this ends here and drops `session`.
        let answer = place.run(limit, work).await;
        drop(session);
        answer
    }

    /// Room for a model of so many bytes, as long as it is being sent.
    pub async fn room(&self, bytes: usize) -> Result<OwnedSemaphorePermit, ApiError> {
        let megabytes = (bytes >> 20).clamp(1, MOST_SENT) as u32;
        let room = timeout(
            SENDING,
            Arc::clone(&self.sending).acquire_many_owned(megabytes),
        )
        .await;
        room.ok().and_then(Result::ok).ok_or_else(ApiError::busy)
    }

    /// Work on what is open.
    pub async fn heavy<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Cancel) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.heavy.run(ANALYZE, job).await
    }
}
