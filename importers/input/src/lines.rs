//! Reads logs of simulators line by line. A log can have gigabytes, so it is never completely in memory.

use trace_model::{IssueKind, TraceBuilder};

use crate::{InputSource, Progress, Result};

/// Maximum length of a line; longer ones are skipped.
const MAX_LINE: usize = 1 << 20;

/// One line.
#[derive(Clone, Copy, Debug)]
pub struct InputLine<'a> {
    /// Line number, from 1.
    pub number: u64,
    /// The line without the prefix of a logger and the line end.
    pub message: &'a str,
    /// Log level: `info`, `debug` … if the logger writes one.
    pub level: &'a str,
}

/// Problems found while reading a text.
#[derive(Debug, Default)]
pub struct LinesSummary {
    /// Why the end is missing, if a gzip stream is truncated.
    pub damage: Option<String>,
    /// Number of lines that were skipped because they are too long.
    pub too_long: u64,
    /// The number of a last line without a line end. It is skipped: these writers end every line, so a number in it may
    /// be truncated.
    pub unended: Option<u64>,
}

impl LinesSummary {
    /// Logs the problems of `file`.
    pub fn log(&self, file: &str, out: &mut TraceBuilder) {
        if let Some(damage) = &self.damage {
            out.log(IssueKind::TruncatedFile, || format!("{file}: {damage}"));
        } else if let Some(line) = self.unended {
            log_unended(file, line, out);
        }
        let what = || {
            format!(
                "{file}: lines of more than {} KiB were passed over",
                MAX_LINE >> 10
            )
        };
        out.log_mut()
            .add_many(IssueKind::MalformedEvent, self.too_long, what);
    }
}

/// Logs that the last line of `file` was skipped.
pub fn log_unended(file: &str, line: u64, out: &mut TraceBuilder) {
    let what = || format!("{file}: line {line} has no end, so it may be cut: it was passed over");
    out.log(IssueKind::TruncatedFile, what);
}

/// Passes every complete line of a text to `take`.
///
/// # Errors
///
/// The text cannot be read, `take` fails, or the import was cancelled.
pub fn read(
    source: &InputSource,
    progress: &Progress,
    mut take: impl FnMut(InputLine<'_>) -> Result<()>,
) -> Result<LinesSummary> {
    let (mut number, mut skipping, mut too_long, mut unended) = (0, false, 0, None);
    let fed = source.feed(progress, |window, is_last| {
        let mut used = 0;
        while let Some(rest) = window.get(used..).filter(|rest| !rest.is_empty()) {
            let end = memchr::memchr(b'\n', rest);
            let len = match end {
                Some(end) => end + 1,
                None if is_last || rest.len() > MAX_LINE => rest.len(),
                None => break,
            };
            let line = &rest[..len];
            // The rest of a line that is too long is skipped as well.
            if !skipping && len > MAX_LINE {
                too_long += 1;
            } else if !skipping && end.is_some() {
                let text = String::from_utf8_lossy(line);
                let (level, message) = split_logger(text.trim_end());
                take(InputLine {
                    number: number + 1,
                    message,
                    level,
                })?;
            } else if !skipping && !line.trim_ascii().is_empty() {
                unended = Some(number + 1);
            }
            skipping = end.is_none();
            number += u64::from(end.is_some());
            used += len;
        }
        Ok(used)
    })?;
    Ok(LinesSummary {
        damage: fed.damage,
        too_long,
        unended,
    })
}

/// Levels of spdlog.
const LEVELS: [&str; 6] = ["trace", "debug", "info", "warning", "error", "critical"];

/// `[date time] [level] message` as level and message; all of it if there is no level.
fn split_logger(line: &str) -> (&str, &str) {
    let mut rest = line;
    while let Some((word, after)) = rest
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    {
        if let Some(level) = LEVELS.iter().find(|level| **level == word) {
            return (level, after);
        }
        rest = after;
    }
    ("", line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<(u64, String)> {
        seen(text).0
    }

    /// The lines, and the number of lines that were too long.
    fn seen(text: &[u8]) -> (Vec<(u64, String)>, u64) {
        let source = InputSource::from_bytes("a.log", text.to_vec()).unwrap();
        let mut seen = Vec::new();
        let take = |line: InputLine<'_>| {
            seen.push((line.number, line.message.to_owned()));
            Ok(())
        };
        let read = read(&source, &Progress::new(), take).unwrap();
        (seen, read.too_long)
    }

    #[test]
    fn lines_have_numbers_and_levels() {
        let seen = lines(b"[2026] [info] a [b] c\r\n\nplain\n[x] y\n");
        let expected = [(1, "a [b] c"), (2, ""), (3, "plain"), (4, "[x] y")];
        assert_eq!(
            seen,
            expected.map(|(number, text)| (number, text.to_owned()))
        );
    }

    #[test]
    fn last_line_without_newline_may_be_truncated() {
        let unended = |text: &[u8]| {
            let source = InputSource::from_bytes("a.log", text.to_vec()).unwrap();
            let mut taken = 0;
            let seen = read(&source, &Progress::new(), |_| {
                taken += 1;
                Ok(())
            });
            (taken, seen.unwrap().unended)
        };
        assert_eq!(unended(b"a\nfinish at 10"), (1, Some(2)));
        assert_eq!(unended(b"a"), (0, Some(1)));
        assert_eq!(
            (unended(b"a\n"), unended(b""), unended(b"a\n \r")),
            ((1, None), (0, None), (1, None))
        );
    }

    #[test]
    fn too_long_lines_are_skipped() {
        let text = [b"a\n".to_vec(), vec![b'x'; 3 * MAX_LINE], b"\nb\n".to_vec()].concat();
        let (seen, too_long) = seen(&text);
        assert_eq!(too_long, 1);
        let whole = [vec![b'x'; MAX_LINE + 9], b"\nb\n".to_vec()].concat();
        assert_eq!(self::seen(&whole), (vec![(2, "b".to_owned())], 1));
        assert_eq!(self::seen(&whole[..=MAX_LINE]), (vec![], 1), "cut");
        assert_eq!(
            seen.iter()
                .map(|(_, text)| text.as_str())
                .collect::<Vec<_>>(),
            ["a", "b"]
        );
        assert_eq!(seen[1].0, 3);
    }
}
