//! A client of `systole serve` over plain connections, and a server to ask.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::outputs::text;

/// A server of its own, stopped at the end of the test.
pub struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub port: u16,
    /// What it printed.
    pub address: String,
}

impl Server {
    pub fn of(logs: &Path, more: &[&str]) -> Self {
        Self::start(Command::new(env!("CARGO_BIN_EXE_systole")), logs, more)
    }

    /// By a command with an environment.
    pub fn start(mut command: Command, logs: &Path, more: &[&str]) -> Self {
        command
            .arg("serve")
            .arg(logs)
            .args(["--port", "0"])
            .args(more);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"))
            .expect(&line)
            .to_owned();
        assert!(
            line.starts_with("Systole at http://") && line.ends_with("/ (Ctrl+C to stop)\n")
                || !more.is_empty(),
            "{line}"
        );
        let port = address
            .rsplit(':')
            .next()
            .unwrap()
            .split('/')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        Self {
            child,
            stdout,
            port,
            address,
        }
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_mins(1)))
            .unwrap();
        stream
    }

    /// Sends the head of a request, and a body.
    pub fn send(&self, head: &str, body: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(body))
            .unwrap();
        Answer::read(stream)
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        use std::fmt::Write as _;
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let named = headers.iter().any(|header| header.starts_with("Host:"));
        if !named {
            let _ = write!(head, "Host: localhost:{}\r\n", self.port);
        }
        for header in headers {
            let _ = write!(head, "{header}\r\n");
        }
        if !body.is_empty() {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        self.send(&(head + "\r\n"), body.as_bytes())
    }

    pub fn get(&self, path: &str, headers: &[&str]) -> Answer {
        self.ask("GET", path, headers, "")
    }

    /// JSON of an address that answers.
    pub fn json(&self, path: &str) -> Value {
        let answer = self.get(path, &[]);
        assert_eq!(answer.status, 200, "{path}: {}", text(&answer.body));
        answer.json()
    }

    /// The ids of the runs, the newest first.
    pub fn ids(&self) -> Vec<String> {
        let runs = self.json("/api/v1/runs");
        runs["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| run["id"].as_str().unwrap().to_owned())
            .collect()
    }

    #[cfg(unix)]
    pub fn stop(mut self) -> ExitStatus {
        let status = Command::new("kill")
            .arg(self.child.id().to_string())
            .status()
            .unwrap();
        assert!(status.success());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head");
        let head = text(&bytes[..end]).to_ascii_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = bytes[end + 4..].to_vec();
        let is_chunked = head.contains("transfer-encoding: chunked");
        Self {
            status,
            body: if is_chunked { unchunked(&body) } else { body },
            head,
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }

    pub fn json(&self) -> Value {
        assert_eq!(
            self.header("content-type"),
            Some("application/json"),
            "{}",
            self.head
        );
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The code of a refusal.
    pub fn refused(&self) -> (u16, String) {
        (
            self.status,
            self.json()["error"]["code"].as_str().unwrap().to_owned(),
        )
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let line = bytes.iter().position(|&byte| byte == b'\r').unwrap();
        let len = usize::from_str_radix(text(&bytes[..line]), 16).unwrap();
        if len == 0 {
            return out;
        }
        out.extend(&bytes[line + 2..line + 2 + len]);
        bytes = &bytes[line + 2 + len + 2..];
    }
}
