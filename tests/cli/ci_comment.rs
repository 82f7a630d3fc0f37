//! The comment on a pull request that `assets/ci/comment.sh` keeps, against a server on this machine that plays the API
//! of GitHub.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::bucket_server::{Request, read};
use crate::place::{Place, stderr, stdout};

#[derive(Default)]
struct Comments {
    /// The texts; the id of a comment is its place and 1000.
    bodies: Vec<String>,
    /// Requests, as `GET issues/7/comments page=1`.
    seen: Vec<String>,
    /// Methods that the token may not use.
    refused: &'static str,
}

/// The comments of pull request 7.
pub struct CommentServer {
    comments: Arc<Mutex<Comments>>,
    port: u16,
}

const MARK: &str = "<!-- systole: gate -->\n";

impl CommentServer {
    /// Serves this many comments of others until the test ends.
    pub fn with(others: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // One quotes the mark, but does not begin with it.
        let other = |n| format!("Comment {n} about {MARK}");
        let comments = Arc::new(Mutex::new(Comments {
            bodies: (0..others).map(other).collect(),
            ..Comments::default()
        }));
        let shared = Arc::clone(&comments);
        let serve = move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                if let Some(request) = read(&stream) {
                    answer(&stream, &request, &mut shared.lock().unwrap());
                }
            }
        };
        thread::Builder::new()
            .name("server".into())
            .spawn(serve)
            .unwrap();
        Self { comments, port }
    }

    /// Refuses these methods from now on.
    pub fn refuse(&self, methods: &'static str) {
        self.comments.lock().unwrap().refused = methods;
    }

    /// What was asked since the last call.
    pub fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.comments.lock().unwrap().seen)
    }

    /// The one comment of the gate.
    pub fn own(&self) -> String {
        let comments = self.comments.lock().unwrap();
        let mut own = comments.bodies.iter().filter(|body| body.starts_with(MARK));
        let found = own.next().unwrap().clone();
        assert_eq!(own.count(), 0, "{found}");
        found
    }

    /// What the runner tells each step.
    pub fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("GITHUB_API_URL", format!("http://127.0.0.1:{}", self.port)),
            ("GITHUB_SERVER_URL", "https://github.test".to_owned()),
            ("GITHUB_REPOSITORY", "lab/model".to_owned()),
        ]
    }
}

fn answer(mut stream: &TcpStream, request: &Request, comments: &mut Comments) {
    const PAGE: usize = 100;
    assert_eq!(request.headers["authorization"], "Bearer very-secret");
    let path = request.path.strip_prefix("/repos/lab/model/").unwrap();
    let page = request.query.split_once("&page=").map(|(_, page)| page);
    let asked = format!("{} {path} {}", request.method, page.unwrap_or_default());
    comments.seen.push(asked.trim().to_owned());
    let body = || {
        let json: Value = serde_json::from_slice(&request.body).unwrap();
        let text = json["body"].as_str().unwrap().to_owned();
        assert!(text.chars().count() < 65_536);
        text
    };
    let id = path.strip_prefix("issues/comments/");
    let (status, json) = match request.method.as_str() {
        method if comments.refused.contains(method) => (
            "403 Forbidden",
            json!({"message": "Resource not accessible by integration"}),
        ),
        "GET" => {
            let page: usize = page.unwrap().parse().unwrap();
            let all = comments.bodies.iter().enumerate();
            let shown = all.skip((page - 1) * PAGE).take(PAGE);
            let shown = shown.map(|(at, body)| json!({"id": 1000 + at, "body": body}));
            ("200 OK", shown.collect())
        }
        "POST" => {
            comments.bodies.push(body());
            ("201 Created", json!({}))
        }
        "PATCH" => {
            let id: usize = id.unwrap().parse().unwrap();
            comments.bodies[id - 1000] = body();
            ("200 OK", json!({}))
        }
        other => panic!("{other}"),
    };
    let json = json.to_string();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{json}",
        json.len()
    );
}

/// Runs the script for a report, on this pull request.
fn comment(server: &CommentServer, report: &str, pull: &str) -> Output {
    let place = Place::empty();
    place.write("systole.md", report.as_bytes());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/ci/comment.sh");
    let output = Command::new("bash")
        .arg(script)
        .current_dir(place.dir.path())
        .envs(server.variables())
        .envs([
            ("PULL", pull),
            ("COMMIT", "0123456789"),
            ("REPORT", "systole.md"),
            ("MARK", "gate"),
            ("TOKEN", "very-secret"),
            ("GITHUB_RUN_ID", "42"),
        ])
        .output()
        .unwrap();
    let said = stderr(&output);
    assert!(
        !said.contains("not found"),
        "scripts/test installs curl and jq: {said}"
    );
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
    output
}

#[test]
fn comment_is_created_and_then_updated() {
    let server = CommentServer::with(3);
    let long = format!(
        "## ❌ \"Failed\" \\ `$HOME`\n\n{}\n",
        "| é |\n".repeat(9_000)
    );
    for report in [&long, "## ✅ Passed\n"] {
        assert_eq!(stdout(&comment(&server, report, "7")), "");
        let expected = format!(
            "{MARK}{report}\nCommit 0123456789, reports of [this \
             run](https://github.test/lab/model/actions/runs/42)\n"
        );
        assert!(server.own() == expected, "{}", server.own());
    }
    assert_eq!(
        server.seen(),
        [
            "GET issues/7/comments 1",
            "POST issues/7/comments",
            "GET issues/7/comments 1",
            "PATCH issues/comments/1003"
        ]
    );
    comment(&server, "## On a push\n", "");
    assert!(server.seen().is_empty());
}

#[test]
fn comment_is_found_behind_many_others() {
    let server = CommentServer::with(250);
    for report in ["## First\n", "## Second\n"] {
        comment(&server, report, "7");
        assert!(server.own().contains(report));
    }
    let pages = |last| {
        (1..=3)
            .map(|page| format!("GET issues/7/comments {page}"))
            .chain([last])
    };
    let expected: Vec<String> = pages("POST issues/7/comments".to_owned())
        .chain(pages("PATCH issues/comments/1250".to_owned()))
        .collect();
    assert_eq!(server.seen(), expected);
}

#[test]
fn full_last_page_is_followed_by_an_empty_one() {
    let server = CommentServer::with(100);
    comment(&server, "## First\n", "7");
    assert_eq!(server.seen().len(), 3);
    assert!(server.own().contains("## First"));
}

/// Without the permission nothing can be read, and the token of a pull request from a fork reads only.
#[test]
fn refused_comment_is_a_warning() {
    for refused in ["GET POST PATCH", "POST PATCH"] {
        let server = CommentServer::with(0);
        server.refuse(refused);
        let output = comment(&server, "## First\n", "7");
        let said = stdout(&output);
        assert!(
            said.starts_with("::warning title=Systole::No comment on pull request 7: ")
                && said.lines().count() == 1,
            "{said}"
        );
        for part in [
            "HTTP 403",
            "'pull-requests: write'",
            "from forks",
            "step summary",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert!(!said.contains("very-secret"));
    }
}

#[test]
fn missing_report_and_server_are_warnings() {
    let server = CommentServer::with(0);
    let said = comment(&server, "", "7");
    assert!(stdout(&said).contains("there is no report"), "{said:?}");
    assert!(server.seen().is_empty());
}
