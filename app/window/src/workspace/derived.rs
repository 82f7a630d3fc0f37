//! Finds what derived tracks show: one at a time, when its row is in sight, and queries beside them.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::prelude::*;
#[cfg(not(target_arch = "wasm32"))]
use query::{Database, QueryLimits, query_table};

use crate::jobs::{JobAnswer, WakeUi, Worker};
use view::state::{DerivedTrack, QueryTrack};
#[cfg(not(target_arch = "wasm32"))]
use view::timeline::derived::query_rows;
use view::timeline::derived::{DerivedData, critical_path, scopes, source_lines};

/// Most rows of a query that are shown as a track.
#[cfg(not(target_arch = "wasm32"))]
const MOST_ROWS: usize = 100_000;

/// The jobs that find derived tracks.
pub struct DerivedJobs {
    job: Worker<DerivedTrack, Arc<DerivedData>>,
    /// A query may never end: nothing but queries waits for it.
    queries: Worker<QueryTrack, Arc<DerivedData>>,
    /// Stops the running query.
    stop: Arc<AtomicBool>,
}

impl DerivedJobs {
    pub fn new(wake: &WakeUi) -> Self {
        Self {
            job: Worker::new("derived tracks", wake),
            queries: Worker::new("query tracks", wake),
            stop: Arc::default(),
        }
    }

    pub fn is_settled(&self) -> bool {
        !self.job.is_running() && !self.queries.is_running()
    }

    /// Takes what was found over.
    pub fn poll(&mut self, trace: &mut OpenTrace) {
        if self.job.poll()
            && let Some(track) = self.job.key().copied()
        {
            take_over(trace, Some(track), self.job.take());
        }
        if self.queries.poll()
            && let Some(query) = self.queries.key()
        {
            // The numbers of queries may have changed meanwhile.
            let mut queries = trace.tree.queries().iter();
            let track = queries.position(|known| known == query);
            take_over(trace, track.map(DerivedTrack::Query), self.queries.take());
        }
    }

    /// Asks for the first tracks in sight of which nothing is known.
    pub fn ask(&mut self, trace: &mut OpenTrace, state: &ViewState, drawn: &DrawList) {
        if trace.tree.queries() != state.queries {
            trace.tree = Arc::new(trace.tree.with_queries(&state.queries));
        }
        let is_unwanted = |asked: &QueryTrack| !state.queries.contains(asked);
        if self.queries.key().is_some_and(is_unwanted) {
            self.stop.store(true, Ordering::Relaxed);
            self.queries.clear();
        }
        let tree = &trace.tree;
        let in_sight = drawn
            .scrolled
            .rows
            .iter()
            .chain(&drawn.pinned.rows)
            .filter_map(|row| tree.nodes().get(row.node)?.item.derived());
        let unknown = in_sight.filter(|track| {
            tree.derived(*track).is_none() && !state.hides(TreeItem::Derived(*track))
        });
        for track in unknown {
            match track {
                DerivedTrack::Query(number) => {
                    if let Some(query) = state.queries.get(number) {
                        self.ask_query(&trace.session, query);
                    }
                }
                _ if self.job.is_running() => {}
                _ => {
                    let (session, colors) = (trace.session.clone(), Arc::clone(&trace.by_category));
                    self.job
                        .ask(track, move |_| find(&session, &colors, track).map(Arc::new));
                }
            }
        }
    }

    fn ask_query(&mut self, session: &Session, query: &QueryTrack) {
        if self.queries.is_running() {
            return;
        }
        self.stop = Arc::default();
        let (session, asked, stop) = (session.clone(), query.clone(), Arc::clone(&self.stop));
        self.queries.ask(query.clone(), move |_| {
            rows_of(&session, &asked, stop).map(Arc::new)
        });
    }
}

impl Drop for DerivedJobs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn take_over(
    trace: &mut OpenTrace,
    track: Option<DerivedTrack>,
    answer: JobAnswer<Arc<DerivedData>>,
) {
    let data = match answer {
        JobAnswer::Ready(data) => data,
        JobAnswer::Failed { error, .. } => Arc::new(DerivedData::unknown(error)),
        JobAnswer::Empty | JobAnswer::Running { .. } => return,
    };
    if let Some(track) = track {
        // Nothing is copied unless a job looks at the tree meanwhile.
        Arc::make_mut(&mut trace.tree).set_derived(track, data);
    }
}

fn find(
    session: &Session,
    colors: &[ColorKey],
    track: DerivedTrack,
) -> Result<DerivedData, String> {
    let cx = session.context(Scope::WholeTrace);
    let rows = match track {
        DerivedTrack::CriticalPath => critical_path(&cx, colors),
        DerivedTrack::Scopes(core) => scopes(&cx, core),
        DerivedTrack::Sources(core) => source_lines(&cx, core),
        DerivedTrack::Query(_) => return Err("this track is of a query".to_owned()),
    };
    rows.map_err(|error| error.to_string())
}

#[cfg(not(target_arch = "wasm32"))]
fn rows_of(
    session: &Session,
    query: &QueryTrack,
    stop: Arc<AtomicBool>,
) -> Result<DerivedData, String> {
    let limits = QueryLimits {
        rows: MOST_ROWS,
        time: None,
        cancel: stop,
        ..QueryLimits::default()
    };
    let answer = Database::new(session, Scope::WholeTrace)
        .and_then(|mut database| database.ask(&query.sql, &limits))
        .map_err(|error| error.message)?;
    let is_truncated = answer.is_truncated;
    query_rows(&query.title, &query_table(answer), is_truncated)
}

/// The window in a browser has no database.
#[cfg(target_arch = "wasm32")]
fn rows_of(_: &Session, _: &QueryTrack, _: Arc<AtomicBool>) -> Result<DerivedData, String> {
    Err("the window in a browser answers no queries: open the trace in the desktop app".to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use analysis::Options;

    use super::*;
    use view::state::DerivedRows;

    const ENDLESS: &str = "WITH RECURSIVE n(at) AS (SELECT 0 UNION ALL SELECT 0 FROM n) \
                           SELECT max(at) AS start_ps, 1 AS dur_ps FROM n";

    fn wait(jobs: &mut DerivedJobs, trace: &mut OpenTrace, until: impl Fn(&OpenTrace) -> bool) {
        let start = Instant::now();
        while !until(trace) {
            jobs.poll(trace);
            assert!(start.elapsed() < Duration::from_secs(20), "no answer");
            std::thread::yield_now();
        }
    }

    #[test]
    fn an_endless_query_delays_no_other_track_and_ends_with_its_track() {
        let picture = "
            steps: 0000011111
            ops  : AAAAABBBBB
            A = fusion.1 [loop fusion]
            B = fusion.2 [loop fusion]
            ";
        let model = sample_traces::text_trace(picture);
        let mut trace = OpenTrace::new(
            "trace".into(),
            Session::from_model(model, Options::default()),
        );
        let mut state = ViewState::new(&trace.model);
        state.derived.insert(DerivedRows::CriticalPath);
        let query = |title: &str, sql: &str| QueryTrack {
            title: title.to_owned(),
            sql: sql.to_owned(),
        };
        state.queries = vec![
            query("endless", ENDLESS),
            query("short", "SELECT 5 AS start_ps, 1 AS dur_ps"),
        ];
        let mut jobs = DerivedJobs::new(&(Arc::new(|| {}) as WakeUi));
        let ask = |jobs: &mut DerivedJobs, trace: &mut OpenTrace, state: &ViewState| {
            trace.tree = Arc::new(trace.tree.with_queries(&state.queries));
            let mut drawn = DrawList::default();
            drawn.scrolled.rows = trace.tree.rows(state).scrolled;
            jobs.ask(trace, state, &drawn);
        };
        let knows = |track| move |trace: &OpenTrace| trace.tree.derived(track).is_some();
        ask(&mut jobs, &mut trace, &state);
        wait(&mut jobs, &mut trace, knows(DerivedTrack::CriticalPath));
        assert!(!jobs.is_settled(), "the query goes on");
        state.queries.remove(0);
        ask(&mut jobs, &mut trace, &state);
        wait(&mut jobs, &mut trace, knows(DerivedTrack::Query(0)));
        assert!(jobs.is_settled());
        assert_eq!(trace.tree.derived(DerivedTrack::Query(0)).unwrap().note, "");
        // The thread of a query that is no longer wanted lets go of the trace.
        state.queries = vec![query("endless", ENDLESS)];
        ask(&mut jobs, &mut trace, &state);
        let stop = Arc::clone(&jobs.stop);
        drop(jobs);
        let start = Instant::now();
        while Arc::strong_count(&stop) > 1 {
            assert!(start.elapsed() < Duration::from_secs(20), "it goes on");
            std::thread::yield_now();
        }
    }
}
