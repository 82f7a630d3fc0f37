//! The log of a search, one line of JSON for each run: a search that was stopped goes on from it.

use std::fs::File;
use std::io::Write as _;

use crate::prelude::*;
use session::files::read_small;

/// Fields may be added to this version, but never changed or removed.
const SCHEMA: &str = "systole.bisect-log/1";
/// Largest log that is read.
const MAX_LOG: u64 = 1 << 30;
/// What is kept of a run.
const OPS: usize = 200;
const OP_STEPS: usize = 40;

/// What a run of a point gave.
pub enum LoggedRun {
    Measured(Box<Summary>),
    Failed(String),
}

/// The file of `--log`, or nothing.
pub struct BisectLog {
    file: Option<(File, PathBuf)>,
}

impl BisectLog {
    /// Opens a log; returns what it holds of an earlier search for the same `question`.
    pub fn open(path: Option<&Path>, question: &Value) -> Result<(Self, Vec<(String, LoggedRun)>)> {
        let Some(path) = path else {
            return Ok((Self { file: None }, Vec::new()));
        };
        let there = path.exists().then(|| read(path, question)).transpose()?;
        let before = there.unwrap_or_default();
        let is_new = before.is_empty();
        let cannot = RequestError::write(path);
        // A log without a run is begun anew.
        let file = if is_new {
            File::create(path)
        } else {
            File::options().append(true).open(path)
        };
        let file = file.map_err(cannot)?;
        let mut log = Self {
            file: Some((file, path.to_owned())),
        };
        if is_new {
            log.line(&json!({ "schema": SCHEMA, "question": question }))?;
        }
        Ok((log, before))
    }

    /// Keeps a run.
    pub fn keep(&mut self, point: &str, run: &Result<Summary, String>) -> Result<()> {
        match run {
            Ok(summary) => {
                let summary = summary.clone().shortened(OPS, OP_STEPS);
                self.line(&json!({ "point": point, "summary": summary }))
            }
            Err(why) => self.line(&json!({ "point": point, "failed": why })),
        }
    }

    fn line(&mut self, value: &Value) -> Result<()> {
        let Some((file, path)) = &mut self.file else {
            return Ok(());
        };
        writeln!(file, "{value}").map_err(RequestError::write(path))
    }
}

/// The runs of a log. A line that was cut off ends it.
fn read(path: &Path, question: &Value) -> Result<Vec<(String, LoggedRun)>> {
    let unread = |error: String| {
        let cure = "name another file, which is begun anew";
        RequestError::unread("the log", cure, path)(error)
    };
    let text = read_small(path, MAX_LOG).map_err(|error| unread(error.to_string()))?;
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut lines = text
        .lines()
        .map_while(|line| serde_json::from_str::<Value>(line).ok());
    let Some(first) = lines.next().filter(|first| first["schema"] == SCHEMA) else {
        return Err(unread("it is no log of a search".to_owned()));
    };
    if first["question"] != *question {
        let why = "it belongs to another search: other ends, another command or another list";
        return Err(unread(why.to_owned()));
    }
    let mut runs = Vec::new();
    for line in lines {
        let Some(point) = line["point"].as_str() else {
            break;
        };
        let run = if let Some(why) = line["failed"].as_str() {
            LoggedRun::Failed(why.to_owned())
        } else {
            let summary = Summary::from_json(&line["summary"].to_string());
            LoggedRun::Measured(Box::new(
                summary.map_err(|error| unread(error.to_string()))?,
            ))
        };
        runs.push((point.to_owned(), run));
    }
    Ok(runs)
}
