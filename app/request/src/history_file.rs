//! The file of `--history`: one line of JSON per run, with its numbers, its verdict, and what later comparisons need.

use crate::Warnings;
use crate::error::{RequestError, Result};
use crate::places::check_place;
use analysis::compare::{Summary, SummaryInput, fingerprints};
use analysis::gates::{GateLevel, GatesReport, GatesVerdict, Status};
use analysis::math::stats::median;
use importers::{ListedFile, ListedRun};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use session::files::{open_regular, read_small};
use session::number::counted;
use session::stdin::STANDARD;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// Fields may be added to this version, but never changed or removed.
pub const SCHEMA: &str = "systole.history/1";
/// Number of runs in a baseline.
pub const BASELINE_RUNS: usize = 5;
/// How much of a run is stored: its largest ops, the steps per op, and the length of series.
const OPS: usize = 20;
const OP_STEPS: usize = 12;
const SERIES: usize = 200;
/// Largest history that is read.
const MAX_FILE: u64 = 256 << 20;
/// How much of a file tells what it is.
const HEAD: u64 = 4096;

/// A line of the history of runs.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct HistoryLine {
    pub schema: String,
    pub tool: String,
    pub commit: Option<String>,
    #[serde(default)]
    pub inputs: Vec<SummaryInput>,
    /// null of a run that could not be read.
    pub steps: Option<usize>,
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Option<f64>>")]
    pub metrics: Map<String, Value>,
    /// Those that are only lower bounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lower_bounds: Vec<String>,
    #[serde(default)]
    pub gates: Vec<GateLine>,
    /// What a comparison needs of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Summary>")]
    pub summary: Option<Value>,
    /// Why there are no numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<UnreadableRun>,
}

/// The result of a gate.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GateLine {
    pub actual: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub actual_is_lower_bound: bool,
    pub base: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub base_is_lower_bound: bool,
    pub level: GateLevel,
    pub name: String,
    pub status: Status,
}

/// What is known of a run that cannot be read.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct UnreadableRun {
    pub why: String,
    /// Size of its files: with another one it is another run.
    pub bytes: Option<u64>,
}

/// The line of a run. It contains no timestamps, so the same run gives the same bytes; the commit is taken from CI.
pub fn line(run: &Summary, report: &GatesReport) -> Result<String> {
    let mut metrics = Map::new();
    for series in &run.series {
        metrics.insert(series.id.clone(), json!(median(&series.values)));
    }
    // A few long steps are what the loop is looked at for.
    for series in &run.loop_series {
        let count = series.values.len() as f64;
        let mean = series.values.iter().sum::<f64>() / count;
        metrics.insert(series.id.clone(), json!(mean));
    }
    for value in &run.values {
        metrics.insert(value.id.clone(), json!(value.value));
    }
    let bounds = run.values.iter().filter(|value| value.is_lower_bound);
    let gates = report.gates.iter().map(|gate| GateLine {
        actual: gate.actual,
        actual_is_lower_bound: gate.actual_is_lower_bound,
        base: gate.base,
        base_is_lower_bound: gate.base_is_lower_bound,
        level: gate.level,
        name: gate.name(),
        status: gate.status,
    });
    HistoryLine {
        tool: run.tool.clone(),
        inputs: run.inputs.clone(),
        steps: Some(run.steps.counted),
        metrics,
        lower_bounds: bounds.map(|value| value.id.clone()).collect(),
        gates: gates.collect(),
        summary: Some(serde_json::to_value(
            run.clone().shortened(OPS, OP_STEPS).with_series(SERIES),
        )?),
        ..HistoryLine::default()
    }
    .written()
}

/// The line of a run that cannot be read.
pub fn line_of_unreadable(run: &ListedRun, why: &str) -> Result<String> {
    let input = |file: &ListedFile| SummaryInput {
        name: importers::file_name(&file.path),
        path: Some(file.path.display().to_string()),
        ..SummaryInput::default()
    };
    HistoryLine {
        tool: analysis::compare::tool(),
        inputs: run.files.iter().map(input).collect(),
        unreadable: Some(UnreadableRun {
            why: why.to_owned(),
            bytes: run.bytes,
        }),
        ..HistoryLine::default()
    }
    .written()
}

/// Whether a file that begins like this is a history.
pub fn is_meant(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.trim_start().starts_with('{') && text.contains("\"systole.history/")
}

/// Rejects a file to which no line can be appended before the work starts: anything but a history.
pub fn check(path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    check_place(path)?;
    if !path.exists() {
        return Ok(());
    }
    let failed = RequestError::write(path);
    if !path.is_file() {
        return Err(failed(io::Error::new(
            ErrorKind::InvalidInput,
            "this is no regular file",
        )));
    }
    File::open(path)
        .and_then(|mut file| check_head(&mut file))
        .map_err(failed)
}

fn check_head(file: &mut File) -> io::Result<()> {
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head)?;
    // What is left of the first line after a crash is a history, too.
    let is_begun = line_start().starts_with(&*String::from_utf8_lossy(&head));
    if is_begun || is_meant(&head) {
        return Ok(());
    }
    let why =
        "this is no history: name a new file, an empty one, or one that --history has written";
    Err(io::Error::new(ErrorKind::InvalidInput, why))
}

/// How each line begins.
fn line_start() -> String {
    format!("{{\"schema\":\"{SCHEMA}\"")
}

/// Appends a line as a whole or not at all, whoever else appends at the same time. What a crash left of the last line is
/// moved to another file.
pub fn append(path: &Path, line: &str, warnings: &dyn Warnings) -> Result<()> {
    check(Some(path))?;
    let failed = RequestError::write(path);
    let mut file = File::options()
        .read(true)
        .append(true)
        .create(true)
        .open(path)
        .map_err(failed)?;
    locked(file.lock()).map_err(failed)?;
    // Somebody may have written since the first look.
    check_head(&mut file).map_err(failed)?;
    let (before, rest) = whole_lines(&mut file).map_err(failed)?;
    let mut line = line.as_bytes().to_vec();
    if serde_json::from_slice::<HistoryLine>(&rest).is_ok() {
        // Complete, but an editor has removed its end.
        line.insert(0, b'\n');
    } else if !rest.is_empty() {
        let aside = set_aside(path, &rest).map_err(failed)?;
        file.set_len(before).map_err(failed)?;
        let bytes = counted(rest.len() as u64, "byte");
        warnings.warn(&format!(
            "{} ended inside a line, as a full disk or a crash leaves it: its {bytes} are in {} now",
            path.display(),
            aside.display()
        ));
    }
    let length = file.metadata().map_err(failed)?.len();
    let written = file.write_all(&line).and_then(|()| file.sync_data());
    written.map_err(|error| match file.set_len(length) {
        Ok(()) => failed(error),
        Err(also) => failed(io::Error::new(
            error.kind(),
            format!("{error}; and part of a line remains: {also}"),
        )),
    })
}

/// Not every file system has locks.
fn locked(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| {
        if error.kind() == ErrorKind::Unsupported {
            Ok(())
        } else {
            Err(error)
        }
    })
}

/// Where the last whole line ends, and what follows it.
fn whole_lines(file: &mut File) -> io::Result<(u64, Vec<u8>)> {
    let mut rest = Vec::new();
    let mut start = file.seek(SeekFrom::End(0))?;
    while start > 0 {
        let from = start.saturating_sub(HEAD);
        file.seek(SeekFrom::Start(from))?;
        let mut part = vec![0; (start - from) as usize];
        file.read_exact(&mut part)?;
        if let Some(end) = part.iter().rposition(|&byte| byte == b'\n') {
            rest.splice(..0, part.drain(end + 1..));
            return Ok((from + end as u64 + 1, rest));
        }
        rest.splice(..0, part);
        start = from;
    }
    Ok((0, rest))
}

/// Keeps what is no line.
fn set_aside(path: &Path, rest: &[u8]) -> io::Result<PathBuf> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".damaged");
    let aside = path.with_file_name(name);
    let mut file = File::options().append(true).create(true).open(&aside)?;
    file.write_all(rest).and_then(|()| file.write_all(b"\n"))?;
    Ok(aside)
}

/// The runs of a history, the oldest first. Lines that are damaged are counted in a warning.
pub fn read(path: &Path, warnings: &dyn Warnings) -> Result<Vec<HistoryLine>> {
    let wrong = RequestError::summary(path);
    let unread = |error: io::Error| match error.kind() {
        ErrorKind::FileTooLarge => {
            wrong(format!("{error}: keep only the last lines of this history"))
        }
        ErrorKind::InvalidData => wrong(error.to_string()),
        _ => RequestError::import(error.into(), path),
    };
    // Nobody shall write meanwhile.
    let lock = || {
        open_regular(path)
            .and_then(|file| locked(file.lock_shared()).map(|()| file))
            .map_err(unread)
    };
    let _lock = (path.as_os_str() != STANDARD).then(lock).transpose()?;
    let text = read_small(path, MAX_FILE).map_err(unread)?;
    let (mut runs, mut damaged) = (Vec::new(), Vec::new());
    for (index, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        match serde_json::from_str::<HistoryLine>(line) {
            Ok(line) if line.schema == SCHEMA => runs.push(line),
            Ok(line) => {
                let why = format!(
                    "line {}: this is {:?}, and this program reads {SCHEMA:?}",
                    index + 1,
                    line.schema
                );
                return Err(wrong(why));
            }
            Err(error) => damaged.push(format!(
                "line {} is not a history entry: {error}",
                index + 1
            )),
        }
    }
    match damaged.first() {
        Some(first) if runs.is_empty() => return Err(wrong(first.clone())),
        Some(first) => {
            let (count, path) = (
                counted(damaged.len() as u64, "damaged line"),
                path.display(),
            );
            warnings.warn(&format!("{path}: {count} left out: {first}"));
        }
        None => {}
    }
    Ok(runs)
}

impl HistoryLine {
    /// The text of the line.
    fn written(self) -> Result<String> {
        let line = Self {
            schema: SCHEMA.to_owned(),
            commit: std::env::var("GITHUB_SHA").ok(),
            ..self
        };
        Ok(serde_json::to_string(&line)? + "\n")
    }

    fn has(&self, status: Status, level: Option<GateLevel>) -> bool {
        self.gates
            .iter()
            .any(|gate| gate.status == status && level.is_none_or(|level| gate.level == level))
    }

    fn failed(&self) -> bool {
        self.has(Status::Fail, Some(GateLevel::Error))
    }

    /// The combined verdict of its gates.
    pub fn verdict(&self) -> &'static str {
        if self.unreadable.is_some() {
            "unreadable"
        } else if self.gates.is_empty() {
            "not judged"
        } else {
            GatesVerdict::of(|status, level| self.has(status, level)).title()
        }
    }

    /// What computed its times, if they were not measured.
    pub fn simulator(&self) -> Option<&str> {
        self.summary.as_ref()?.pointer("/facts/simulator")?.as_str()
    }

    /// A metric by its id.
    pub fn number(&self, id: &str) -> Option<f64> {
        self.metrics.get(id)?.as_f64()
    }

    /// Whether this metric is only a lower bound.
    pub fn is_lower_bound(&self, id: &str) -> bool {
        self.lower_bounds.iter().any(|bound| bound == id)
    }

    /// A metric by its id, unless it is only a lower bound.
    pub fn exact(&self, id: &str) -> Option<f64> {
        self.number(id).filter(|_| !self.is_lower_bound(id))
    }

    /// The summary of the run, if this version can read it.
    pub fn summary(&self) -> Option<Summary> {
        Summary::from_json(&self.summary.as_ref()?.to_string()).ok()
    }

    /// The names of the gates that failed.
    pub fn failed_gates(&self) -> Vec<String> {
        self.gates
            .iter()
            .filter(|gate| gate.status == Status::Fail)
            .map(|gate| gate.name.clone())
            .collect()
    }

    /// Name of the run.
    pub fn run(&self) -> String {
        Summary {
            inputs: self.inputs.clone(),
            ..Summary::default()
        }
        .title()
    }
}

/// The last runs that did not fail, as a baseline; the newest last. Each capture counts once, and that of the run that is
/// `judged` not at all. None if there is no such run, or no file yet.
pub fn baseline(
    path: &Path,
    judged: Option<&Summary>,
    warnings: &dyn Warnings,
) -> Result<Vec<Summary>> {
    let mut runs = Vec::new();
    if !path.exists() {
        return Ok(runs);
    }
    let lines = read(path, warnings)?;
    let mut seen: Vec<_> = judged
        .and_then(|run| fingerprints(&run.inputs))
        .into_iter()
        .collect();
    for line in lines.iter().rev().filter(|line| !line.failed()) {
        let bytes = fingerprints(&line.inputs);
        let is_seen = bytes.as_ref().is_some_and(|bytes| seen.contains(bytes));
        let Some(summary) = line.summary.as_ref().filter(|_| !is_seen) else {
            continue;
        };
        let mut run =
            Summary::from_json(&summary.to_string()).map_err(RequestError::summary(path))?;
        run.saved_in = Some(path.display().to_string());
        runs.push(run);
        seen.extend(bytes);
        if runs.len() == BASELINE_RUNS {
            break;
        }
    }
    runs.reverse();
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(run: usize) -> String {
        format!(
            "{}, \"tool\": \"{}\", \"commit\": null, \"steps\": {run}}}\n",
            line_start(),
            "x".repeat(5000)
        )
    }

    #[test]
    fn fifty_writers_leave_fifty_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("h.jsonl");
        std::fs::write(&path, entry(0).trim_end()).unwrap();
        std::thread::scope(|scope| {
            for run in 1..=50 {
                let path = &path;
                scope.spawn(move || append(path, &entry(run), &()).unwrap());
            }
        });
        let mut runs: Vec<usize> = read(&path, &())
            .unwrap()
            .iter()
            .filter_map(|line| line.steps)
            .collect();
        runs.sort_unstable();
        assert_eq!(
            runs,
            (0..=50).collect::<Vec<_>>(),
            "a line without its end is complete"
        );
    }

    #[test]
    fn damaged_end_is_set_aside_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("h.jsonl");
        for (before, expected) in [(String::new(), 1), (entry(1), 2), (entry(1) + &entry(2), 3)] {
            for cut in [1, 3, 20, 40, 5000] {
                std::fs::write(&path, format!("{before}{}", &entry(7)[..cut])).unwrap();
                append(&path, &entry(3), &()).unwrap();
                assert_eq!(
                    std::fs::read_to_string(&path).unwrap(),
                    before.clone() + &entry(3),
                    "{cut}"
                );
                assert_eq!(read(&path, &()).unwrap().len(), expected);
            }
        }
        let aside = std::fs::read_to_string(dir.path().join("h.jsonl.damaged")).unwrap();
        assert_eq!(aside.lines().count(), 15);
    }
}
