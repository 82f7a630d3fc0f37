//! Finds what derived tracks show: one at a time, when its row is in sight.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use analysis::Scope;
use query::{Database, QueryLimits, query_table};
use session::Session;

use crate::jobs::{JobAnswer, WakeUi, Worker};
use view::palette::ColorKey;
use view::state::{DerivedTrack, QueryTrack, TreeItem, ViewState};
use view::timeline::derived::{DerivedData, critical_path, query_rows, scopes, source_lines};
use view::timeline::layout::DrawList;
use view::timeline::trace::OpenTrace;

/// Most rows of a query that are shown as a track.
const MOST_ROWS: usize = 100_000;

/// A derived track, and the query that it is of.
type WantedTrack = (DerivedTrack, Option<QueryTrack>);

/// The job that finds derived tracks.
pub struct DerivedJobs {
    job: Worker<WantedTrack, Arc<DerivedData>>,
}

impl DerivedJobs {
    pub fn new(wake: &WakeUi) -> Self {
        Self {
            job: Worker::new("derived tracks", wake),
        }
    }

    pub fn is_settled(&self) -> bool {
        !self.job.is_running()
    }

    /// Takes what was found over.
    pub fn poll(&mut self, trace: &mut OpenTrace) {
        if !self.job.poll() {
            return;
        }
        let Some((track, query)) = self.job.key().cloned() else {
            return;
        };
        let data = match self.job.take() {
            JobAnswer::Ready(data) => data,
            JobAnswer::Failed { error, .. } => Arc::new(DerivedData::unknown(error)),
            JobAnswer::Empty | JobAnswer::Running { .. } => return,
        };
        let is_same = match track {
            // The numbers of queries may have changed meanwhile.
            DerivedTrack::Query(number) => trace.tree.queries().get(number) == query.as_ref(),
            _ => true,
        };
        if is_same {
            trace.tree = Arc::new(trace.tree.with_derived(track, data));
        }
    }

    /// Asks for the first track in sight of which nothing is known.
    pub fn ask(&mut self, trace: &mut OpenTrace, state: &ViewState, drawn: &DrawList) {
        if trace.tree.queries() != state.queries {
            trace.tree = Arc::new(trace.tree.with_queries(&state.queries));
        }
        if self.job.is_running() {
            return;
        }
        let tree = &trace.tree;
        let rows = drawn.scrolled.rows.iter().chain(&drawn.pinned.rows);
        let mut in_sight = rows.filter_map(|row| tree.nodes().get(row.node)?.item.derived());
        let is_unknown = |track: &DerivedTrack| {
            tree.derived(*track).is_none() && !state.hides(TreeItem::Derived(*track))
        };
        let Some(track) = in_sight.find(is_unknown) else {
            return;
        };
        let query = match track {
            DerivedTrack::Query(number) => state.queries.get(number).cloned(),
            _ => None,
        };
        let (session, colors) = (trace.session.clone(), Arc::clone(&trace.by_category));
        self.job.ask((track, query.clone()), move |_| {
            find(&session, &colors, track, query.as_ref()).map(Arc::new)
        });
    }
}

fn find(
    session: &Session,
    colors: &[ColorKey],
    track: DerivedTrack,
    query: Option<&QueryTrack>,
) -> Result<DerivedData, String> {
    let cx = session.context(Scope::WholeTrace);
    let found = match track {
        DerivedTrack::CriticalPath => critical_path(&cx, colors),
        DerivedTrack::Scopes(core) => scopes(&cx, core),
        DerivedTrack::Sources(core) => source_lines(&cx, core),
        DerivedTrack::Query(_) => {
            let query = query.ok_or("this query is no track any more")?;
            return rows_of(session, query);
        }
    };
    found.map_err(|error| error.to_string())
}

fn rows_of(session: &Session, query: &QueryTrack) -> Result<DerivedData, String> {
    let limits = QueryLimits {
        rows: MOST_ROWS,
        time: None,
        cancel: Arc::new(AtomicBool::new(false)),
        ..QueryLimits::default()
    };
    let answer = Database::new(session, Scope::WholeTrace)
        .and_then(|mut database| database.ask(&query.sql, &limits))
        .map_err(|error| error.message)?;
    let is_truncated = answer.is_truncated;
    query_rows(&query.title, &query_table(answer), is_truncated)
}
