//! `systole serve` against clients that want too much of it.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::limits::peak_of;
use crate::outputs::{recompile, text};
use crate::serve_client::Server;

/// A log directory with one run.
fn one_run(dir: &Path) {
    let run = dir.join("plugins/profile/run");
    fs::create_dir_all(&run).unwrap();
    fs::copy(recompile(), run.join("host.xplane.pb")).unwrap();
}

/// A number that goes on counting.
const COUNT: &str = "WITH RECURSIVE c(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM c)";

/// Queries without an end, that grow, or in which one step takes long; and what stops them.
fn hostile_queries() -> Vec<(String, &'static str)> {
    let pattern = "%a".repeat(20_000);
    vec![
        (format!("{COUNT} SELECT max(n) FROM c"), "stopped after"),
        (
            format!("{COUNT} SELECT group_concat(n) FROM c"),
            "longer than 128 KB",
        ),
        (
            format!("{COUNT} SELECT count(DISTINCT n || 'some text') FROM c"),
            "more than 512 MB",
        ),
        (
            format!("{COUNT} SELECT n FROM c ORDER BY n || 'some text'"),
            "more than 512 MB",
        ),
        (
            format!("{COUNT} SELECT median(n) FROM c"),
            "more than 512 MB",
        ),
        (
            format!("{COUNT} SELECT sum(n) OVER () FROM c"),
            "more than 512 MB",
        ),
        (
            "WITH RECURSIVE c(n) AS (VALUES(1) UNION SELECT n + 1 FROM c) SELECT count(*) FROM c"
                .to_owned(),
            "512 MB",
        ),
        (
            format!("SELECT printf('%.*c', 60000000, 'x') LIKE '{pattern}'"),
            "longer than 128 KB",
        ),
        (
            format!("SELECT printf('%.*c', 100000, 'x') LIKE '{pattern}'"),
            "pattern too complex",
        ),
        (
            format!(
                "{COUNT} SELECT sum(instr(printf('%.*c', 100000, 'x'), printf('%.*c', 50000, 'x') || 'y')) FROM c"
            ),
            "stopped after",
        ),
        (
            format!(
                "{COUNT} SELECT sum(length(replace(printf('%.*c', 100000, 'x'), 'x', 'y'))) FROM c"
            ),
            "stopped after",
        ),
        (
            "SELECT zeroblob(1000000000)".to_owned(),
            "longer than 128 KB",
        ),
        (
            "SELECT count(*) FROM slices a, slices b, slices c, slices d".to_owned(),
            "stopped after",
        ),
    ]
}

/// With more of them than processors at once, reports are answered, and the memory has a limit.
#[test]
fn reports_are_answered_beside_hostile_queries() {
    let dir = tempfile::tempdir().unwrap();
    one_run(dir.path());
    let server = Server::of(dir.path(), &[]);
    let id = &server.ids()[0];
    server.json(&format!("/api/v1/runs/{id}/reports/steps"));
    let queries = hostile_queries();
    let next = std::sync::atomic::AtomicUsize::new(0);
    thread::scope(|scope| {
        let ask = || {
            loop {
                let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Some((sql, words)) = queries.get(at) else {
                    break;
                };
                let body = serde_json::json!({"sql": sql, "seconds": 1}).to_string();
                let path = format!("/api/v1/runs/{id}/query");
                let answer = server.ask("POST", &path, &["Content-Type: application/json"], &body);
                let said = text(&answer.body);
                // On a slow machine, the clock may come first.
                let is_stopped = said.contains(words) || said.contains("stopped after");
                assert!(
                    [400, 503].contains(&answer.status) && is_stopped,
                    "{sql:.100}: {said}"
                );
            }
        };
        let asking: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        // Reports that were not computed yet, as long as there are queries.
        let mut reports = [
            "ops",
            "overlap",
            "roofline",
            "devices",
            "memory",
            "gaps",
            "collectives",
        ]
        .iter()
        .cycle();
        let mut slowest = Duration::ZERO;
        while asking.iter().any(|one| !one.is_finished()) {
            let started = Instant::now();
            server.json(&format!(
                "/api/v1/runs/{id}/reports/{}",
                reports.next().unwrap()
            ));
            slowest = slowest.max(started.elapsed());
            thread::sleep(Duration::from_millis(100));
        }
        assert!(
            slowest < Duration::from_secs(20),
            "a report took {slowest:?}"
        );
    });
    let peak = peak_of(server.id());
    assert!(peak < 2500, "{peak} MB");
    assert_eq!(server.json("/api/v1/health")["status"], "ok");
}
