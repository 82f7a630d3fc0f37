//! The compilations of a log, from its lines.

use std::mem::take;

use importer_common::prelude::*;

use super::line::{LogLine, LogMessage, LogTime, LoggedPhase};

/// One phase that ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoggedSpan {
    pub phase: LoggedPhase,
    pub range: TimeRange,
}

/// A function that was traced, and what followed until its program was ready.
#[derive(Debug, Default)]
pub(super) struct LoggedProgram {
    pub function: String,
    /// In the order in which they ended.
    pub spans: Vec<LoggedSpan>,
    /// Types of its arguments; empty if they are not logged.
    pub types: Vec<String>,
    /// Why JAX traced it again, in its own words.
    pub reason: Option<String>,
    /// Whether the persistent cache had it; `None` if that is not logged.
    pub is_hit: Option<bool>,
    pub key: Option<String>,
    /// Hashes of the parts of the key.
    pub key_parts: Vec<(String, String)>,
}

impl LoggedProgram {
    /// From the begin of the first phase to the end of the last one.
    pub fn hull(&self) -> Option<TimeRange> {
        let ranges = self.spans.iter().map(|span| span.range);
        ranges.reduce(TimeRange::hull)
    }

    fn is_compiled(&self) -> bool {
        self.spans
            .last()
            .is_some_and(|span| span.phase == LoggedPhase::Compile)
    }
}

/// The lines of one process.
#[derive(Debug, Default)]
struct LogWriter {
    /// Functions that are not compiled yet.
    pending: BTreeMap<String, LoggedProgram>,
    /// The lines that follow "TRACING CACHE MISS".
    explanation: Option<(String, Vec<String>)>,
    /// Parts of the key of the next program, and what the cache said of it.
    key_parts: Vec<(String, String)>,
    /// End of the last phase.
    end: Timestamp,
    done: Vec<LoggedProgram>,
}

/// All compilations of a log.
#[derive(Debug, Default)]
pub(super) struct LogCollector {
    writers: BTreeMap<String, LogWriter>,
    /// The first time of the log, where the timeline begins.
    pub first: Option<LogTime>,
    /// Phases without a time: they are placed one after another.
    pub without_time: u64,
    pub phases: u64,
}

/// Processes that are told apart; what others write counts as one more.
const MAX_WRITERS: usize = 4096;

/// Times of logs have milliseconds; phases that overlap by less follow each other.
const RESOLUTION: Picos = Picos::from_ps(1_000_000_000);

impl LogCollector {
    pub fn add(&mut self, line: &LogLine<'_>) {
        if let Some(time) = line.time
            && self.first.is_none()
        {
            self.first = Some(time);
        }
        let now = match (line.time, self.first) {
            (Some(time), Some(first)) => time
                .ns
                .checked_sub(first.ns)
                .and_then(|ns| ns.checked_mul(1000))
                .map(Timestamp::from_ps),
            _ => None,
        };
        if let LogMessage::Finished(..) = line.message {
            self.phases += 1;
            self.without_time += u64::from(now.is_none());
        }
        let is_new = !self.writers.contains_key(line.writer);
        let name = if is_new && self.writers.len() >= MAX_WRITERS {
            ""
        } else {
            line.writer
        };
        // An indented line alone makes no process.
        if is_new && matches!(line.message, LogMessage::Continued(_)) {
            return;
        }
        let writer = self.writers.entry(name.to_owned()).or_default();
        writer.add(&line.message, now);
    }

    /// The programs of each process, by the begin of their first phase.
    pub fn finish(self) -> impl Iterator<Item = (String, Vec<LoggedProgram>)> {
        self.writers.into_iter().map(|(name, mut writer)| {
            writer.explain();
            let LogWriter {
                mut done, pending, ..
            } = writer;
            done.extend(pending.into_values());
            done.retain(|program| !program.spans.is_empty());
            done.sort_by_key(|program| program.hull().map(|hull| (hull.start, Reverse(hull.end))));
            (name, done)
        })
    }
}

impl LogWriter {
    fn add(&mut self, message: &LogMessage<'_>, now: Option<Timestamp>) {
        if let (LogMessage::Continued(text), Some((_, lines))) = (message, &mut self.explanation) {
            if lines.len() < MAX_LINES {
                lines.push((*text).to_owned());
            }
            return;
        }
        if !matches!(message, LogMessage::Continued(_)) {
            self.explain();
        }
        match message {
            LogMessage::Continued(_) => {}
            LogMessage::TracingMiss { place } => {
                self.explanation = Some(((*place).to_owned(), Vec::new()));
            }
            LogMessage::KeyPart { part, hash } => {
                // The first part of the next key.
                if self.key_parts.iter().any(|(known, _)| known == part) {
                    self.key_parts.clear();
                }
                self.key_parts
                    .push(((*part).to_owned(), (*hash).to_owned()));
            }
            LogMessage::Compiling(function, types) => {
                self.pending_of(function).types.clone_from(types);
            }
            LogMessage::Cache {
                function,
                is_hit,
                key,
            } => {
                let parts = take(&mut self.key_parts);
                let program = self.pending_of(function);
                program.is_hit = Some(*is_hit);
                program.key = key.map(str::to_owned);
                program.key_parts = parts;
            }
            LogMessage::Kept { function, key } => {
                // It had it not, which earlier versions do not say apart.
                let program = self.pending_of(function);
                program.is_hit.get_or_insert(false);
                program.key.get_or_insert_with(|| (*key).to_owned());
            }
            LogMessage::Finished(phase, function, seconds) => {
                self.finished(*phase, function, *seconds, now);
            }
        }
    }

    fn pending_of(&mut self, function: &str) -> &mut LoggedProgram {
        let new = || LoggedProgram {
            function: function.to_owned(),
            ..LoggedProgram::default()
        };
        self.pending.entry(function.to_owned()).or_insert_with(new)
    }

    fn finished(
        &mut self,
        phase: LoggedPhase,
        function: &str,
        seconds: f64,
        now: Option<Timestamp>,
    ) {
        let length = Picos::rounded(seconds * 1e12);
        let range = self.place(length, now);
        self.end = self.end.max(range.end);
        // A function that was traced twice was not compiled the first time.
        if phase == LoggedPhase::Trace
            && self
                .pending
                .get(function)
                .is_some_and(|program| !program.spans.is_empty())
            && let Some(mut before) = self.pending.remove(function)
        {
            let reason = before.reason.take();
            self.done.push(before);
            self.pending_of(function).reason = reason;
        }
        let program = self.pending_of(function);
        program.spans.push(LoggedSpan { phase, range });
        if program.is_compiled()
            && let Some(program) = self.pending.remove(function)
        {
            self.done.push(program);
        }
    }

    /// The span of a phase that ended `now`; without a time, it follows the one before.
    fn place(&self, length: Picos, now: Option<Timestamp>) -> TimeRange {
        let start = match now {
            Some(now) => {
                let start = now - length;
                let overlap = self.end - start;
                if overlap > Picos::ZERO && overlap <= RESOLUTION {
                    self.end
                } else {
                    start
                }
            }
            None => self.end,
        };
        TimeRange::new(start, start + length)
    }

    /// Gives what JAX explained to the function that it speaks of.
    fn explain(&mut self) {
        let Some((place, lines)) = self.explanation.take() else {
            return;
        };
        let mut lines = lines.iter().map(String::as_str);
        let Some(first) = lines.next() else { return };
        let word = |line: &str| line.split_whitespace().next().map(str::to_owned);
        let (function, reason) = if first.starts_with("never seen function") {
            let function = lines.next().and_then(word);
            let is_again =
                lines.any(|line| line.contains("seen another function defined on the same line"));
            let reason = if is_again {
                NEW_EACH_TIME
            } else {
                first.trim_end_matches(':')
            };
            (function, reason.to_owned())
        } else if let Some(rest) = first.strip_prefix("for ") {
            (word(rest), sentence(lines))
        } else {
            return;
        };
        if let Some(function) = function {
            let program = self.pending_of(&function);
            program.reason = Some(format!("{reason} (called at {place})"));
        }
    }
}

/// The lines of an explanation as one sentence, without what only introduces them.
fn sentence<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut sentence = String::new();
    for line in lines.filter(|line| !line.starts_with("all previously seen cache keys")) {
        let (item, text) = match line.strip_prefix("* ") {
            Some(text) => (true, text),
            None => (false, line),
        };
        if !sentence.is_empty() {
            let is_first = sentence.ends_with(':');
            sentence.push_str(if item && !is_first { "; " } else { " " });
        }
        sentence.push_str(text);
    }
    sentence
}

/// What JAX says of a function that replaces one from the same line.
pub(super) const NEW_EACH_TIME: &str =
    "a new function, defined again on the same line: call jax.jit once, outside of the loop";

/// Lines of an explanation that are kept.
const MAX_LINES: usize = 64;
