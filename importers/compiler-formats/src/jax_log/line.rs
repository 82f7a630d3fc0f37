//! What one line of a log says of a compilation.

use chrono::{NaiveDate, NaiveDateTime};

/// A phase of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedPhase {
    /// Python to jaxpr.
    Trace,
    /// Jaxpr to `StableHLO`.
    Lower,
    /// `StableHLO` to executable, from the cache or by the compiler.
    Compile,
}

/// What a message says; functions are named as in the program.
#[derive(Debug, PartialEq)]
pub enum LogMessage<'a> {
    /// A phase of a function ended after this many seconds.
    Finished(LoggedPhase, &'a str, f64),
    /// A function is going to be compiled for arguments of these types.
    Compiling(&'a str, Vec<String>),
    /// The persistent cache had the program, or had not.
    Cache {
        function: &'a str,
        is_hit: bool,
        key: Option<&'a str>,
    },
    /// The persistent cache keeps the program from now on.
    Kept { function: &'a str, key: &'a str },
    /// The hash of one part of the key of the next program.
    KeyPart { part: &'a str, hash: &'a str },
    /// Why a function is traced: the reason follows in indented lines.
    TracingMiss { place: &'a str },
    /// An indented line.
    Continued(&'a str),
}

/// Phases, with the words before and after the function.
const FINISHED: [(LoggedPhase, &str, &[&str]); 4] = [
    (
        LoggedPhase::Trace,
        "Finished tracing + transforming ",
        &[" for pjit in ", " for jit in ", " in "],
    ),
    (
        LoggedPhase::Trace,
        "Finished tracing ",
        &[" for pjit in ", " for jit in ", " in "],
    ),
    (
        LoggedPhase::Lower,
        "Finished jaxpr to MLIR module conversion ",
        &[" in "],
    ),
    (
        LoggedPhase::Compile,
        "Finished XLA compilation of ",
        &[" in "],
    ),
];

/// The end of the words that begin a line about arguments, in the versions of JAX.
const COMPILING: [&str; 3] = [
    " with global shapes and types ",
    " for with global shapes and types ",
    " for args ",
];

/// A line: who wrote it, when, and what it says.
#[derive(Debug, PartialEq)]
pub struct LogLine<'a> {
    /// What a launcher put before the line (`[rank3]`, `(worker pid=7)`); empty without one.
    pub writer: &'a str,
    /// By the clock of the log.
    pub time: Option<LogTime>,
    pub message: LogMessage<'a>,
}

/// A time of a log; its time zone is not recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogTime {
    /// Nanoseconds since the beginning of 1970, or of some year if the year is not recorded.
    pub ns: i64,
    pub has_year: bool,
}

impl<'a> LogLine<'a> {
    /// `None` if the line does not speak of a compilation.
    pub fn parse(line: &'a str) -> Option<Self> {
        let (writer, rest) = split_writer(line);
        if let Some(text) = rest.strip_prefix("  ") {
            let message = LogMessage::Continued(text.trim());
            return Some(Self {
                writer,
                time: None,
                message,
            });
        }
        let (start, message) = message(rest)?;
        Some(Self {
            writer,
            time: LogTime::of(rest.get(..start)?),
            message,
        })
    }
}

/// What launchers put before each line of a process.
fn split_writer(line: &str) -> (&str, &str) {
    let end = match line.as_bytes().first() {
        Some(b'(') => line.find(')'),
        Some(b'[') => line.find(']'),
        _ => None,
    };
    let Some((writer, rest)) = end.and_then(|end| line.split_at_checked(end + 1)) else {
        return ("", line);
    };
    if LogTime::of(writer).is_some() {
        return ("", line);
    }
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    (writer, rest.strip_prefix(' ').unwrap_or(rest))
}

/// The message of a line and where it begins.
fn message(line: &str) -> Option<(usize, LogMessage<'_>)> {
    let behind = |words: &str| {
        let start = line.find(words)?;
        Some((start, &line[start + words.len()..]))
    };
    for (phase, before, after) in FINISHED {
        if let Some((start, rest)) = behind(before) {
            let (name, seconds) = after.iter().find_map(|words| rest.rsplit_once(words))?;
            let seconds: f64 = seconds.trim().strip_suffix("sec")?.trim().parse().ok()?;
            let is_plausible = seconds.is_finite() && (0.0..LONGEST_S).contains(&seconds);
            let finished = LogMessage::Finished(phase, function(name), seconds);
            return is_plausible.then_some((start, finished));
        }
    }
    if let Some((start, rest)) = behind("ersistent compilation cache hit for ") {
        return Some((start, cache(rest, true)?));
    }
    if let Some((start, rest)) = behind("PERSISTENT COMPILATION CACHE MISS for ") {
        return Some((start, cache(rest, false)?));
    }
    if let Some((start, rest)) = behind("Writing ")
        && let Some((name, key)) = rest.split_once(" to persistent compilation cache with key ")
    {
        let kept = LogMessage::Kept {
            function: function(name),
            key: key.trim().trim_matches(['\'', '"']),
        };
        return Some((start, kept));
    }
    if let Some((start, place)) = behind("TRACING CACHE MISS at ") {
        let place = place.trim_end_matches(':').trim_end_matches(" because");
        return Some((start, LogMessage::TracingMiss { place }));
    }
    if let Some((start, rest)) = behind("get_cache_key hash of serialized ") {
        let (part, hash) = rest.split_once(": ")?;
        let hash = hash.trim();
        return Some((start, LogMessage::KeyPart { part, hash }));
    }
    let (start, rest) = behind("Compiling ")?;
    let (name, types) = COMPILING.iter().find_map(|words| rest.split_once(words))?;
    let name = name.split_whitespace().next()?;
    Some((
        start,
        LogMessage::Compiling(function(name), types_of(types)),
    ))
}

/// A longer phase is a mistake.
const LONGEST_S: f64 = 1e7;

/// `'jit_f' with key 'jit_f-0123'`.
fn cache(text: &str, is_hit: bool) -> Option<LogMessage<'_>> {
    let (name, rest) = text.strip_prefix('\'')?.split_once('\'')?;
    let key = rest.split_once("with key ").map(|(_, key)| key.trim());
    let key = key.map(|key| key.trim_matches(['\'', '"']));
    Some(LogMessage::Cache {
        function: function(name),
        is_hit,
        key,
    })
}

/// `f` of `jit(f)`, `jit_f` or `f`.
fn function(name: &str) -> &str {
    let name = name.trim();
    let inner = ["jit(", "pjit(", "pmap("]
        .iter()
        .find_map(|words| name.strip_prefix(words)?.strip_suffix(')'));
    inner
        .or_else(|| name.strip_prefix("jit_"))
        .or_else(|| name.strip_prefix("pmap_"))
        .unwrap_or(name)
}

/// The types of arguments as HLO writes them: `f32[8,64]`.
fn types_of(text: &str) -> Vec<String> {
    let text = text.split(". Argument mapping").next().unwrap_or(text);
    let arrays = text.split("ShapedArray(").skip(1);
    arrays
        .take(MAX_ARGUMENTS)
        .filter_map(|array| {
            let (dtype, rest) = array.split_once('[')?;
            let (sizes, _) = rest.split_once(']')?;
            // `8@x` is a dimension that is divided along axis x.
            let size = |size: &str| size.split('@').next().unwrap_or(size).trim().to_owned();
            Some(format!(
                "{}[{}]",
                hlo_dtype(dtype.trim()),
                trace_model::joined(sizes.split(',').map(size), ",")
            ))
        })
        .collect()
}

/// Arguments of a function that are kept.
const MAX_ARGUMENTS: usize = 4096;

/// HLO's name of a type of JAX.
fn hlo_dtype(dtype: &str) -> String {
    let short = [
        ("bfloat", "bf"),
        ("float8_", "f8"),
        ("float", "f"),
        ("uint", "u"),
        ("int", "s"),
        ("complex", "c"),
    ];
    if dtype == "bool" {
        return "pred".to_owned();
    }
    let known = short
        .iter()
        .find_map(|(long, short)| Some(format!("{short}{}", dtype.strip_prefix(long)?)));
    known.unwrap_or_else(|| dtype.to_owned())
}

impl LogTime {
    /// The time in the words before a message: `2025-06-07 00:14:40,280` of Python, `W0607 00:14:40.280123` of Abseil.
    fn of(prefix: &str) -> Option<Self> {
        let (colon, _) = prefix.match_indices(':').find(|&(colon, _)| {
            let is_time = |text: &str| text.as_bytes().get(2) == Some(&b':');
            let text = colon
                .checked_sub(2)
                .and_then(|colon| prefix.get(colon..colon + 8));
            text.is_some_and(|text| is_time(text) && is_time(&text[3..]))
        })?;
        let begin = colon - 2;
        let date = prefix.get(..begin)?.trim_end_matches([' ', 'T']);
        let clock = prefix.get(begin..)?;
        let end = clock
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.' | ',')))
            .unwrap_or(clock.len());
        let clock = clock[..end]
            .trim_end_matches([':', ',', '.'])
            .replace(',', ".");
        let last = |count: usize| date.get(date.len().checked_sub(count)?..);
        let by_year = last(10).and_then(|text| text.parse::<NaiveDate>().ok());
        let by_day = || {
            let text = format!("{LEAP_YEAR}{}", last(4)?);
            NaiveDate::parse_from_str(&text, "%Y%m%d").ok()
        };
        let day = by_year.or_else(by_day)?;
        let text = format!("{day} {clock}");
        let time = NaiveDateTime::parse_from_str(&text, "%Y-%m-%d %H:%M:%S%.f").ok()?;
        Some(Self {
            ns: time.and_utc().timestamp_nanos_opt()?,
            has_year: by_year.is_some(),
        })
    }
}

/// Stands for a year that is not recorded; it has all days.
const LEAP_YEAR: u32 = 1972;

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> LogMessage<'_> {
        LogLine::parse(line).unwrap().message
    }

    #[test]
    fn phases_of_all_versions_are_read() {
        use LoggedPhase::{Compile, Lower, Trace};
        let lines = [
            ("Finished tracing f for jit in 0.25 sec", Trace, "f"),
            (
                "Finished tracing + transforming <lambda> for pjit in 0.25 sec",
                Trace,
                "<lambda>",
            ),
            (
                "Finished jaxpr to MLIR module conversion jit(f) in 0.25 sec",
                Lower,
                "f",
            ),
            (
                "Finished XLA compilation of jit(f) in 0.25 sec",
                Compile,
                "f",
            ),
            (
                "WARNING:jax._src.dispatch:Finished XLA compilation of jit_f in 0.25 sec",
                Compile,
                "f",
            ),
        ];
        for (line, phase, name) in lines {
            assert_eq!(
                said(line),
                LogMessage::Finished(phase, name, 0.25),
                "{line}"
            );
        }
        for other in [
            "Finished tracing f for jit in NaN sec",
            "Finished tracing f for jit in 1 min",
            "Finished XLA compilation of jit(f) in 1e300 sec",
            "Finished tracing",
            "Compiling",
            "loss 0.25",
        ] {
            assert_eq!(LogLine::parse(other), None, "{other}");
        }
    }

    #[test]
    fn arguments_are_types_of_hlo() {
        let line = "Compiling jit(f) with global shapes and types (ShapedArray(float32[64,64]), \
                    ShapedArray(int32[], weak_type=True), ShapedArray(bfloat16[8@x,4]), ShapedArray(bool[2])). \
                    Argument mapping: (UnspecifiedValue,).";
        let types = ["f32[64,64]", "s32[]", "bf16[8,4]", "pred[2]"].map(str::to_owned);
        assert_eq!(said(line), LogMessage::Compiling("f", types.to_vec()));
        let old = "Compiling train_step for with global shapes and types [ShapedArray(float8_e4m3fn[4])]. Argument mapping: x";
        assert_eq!(
            said(old),
            LogMessage::Compiling("train_step", vec!["f8e4m3fn[4]".to_owned()])
        );
    }

    #[test]
    fn cache_and_its_key_are_read() {
        let hit = LogMessage::Cache {
            function: "f",
            is_hit: true,
            key: Some("jit_f-0a"),
        };
        assert_eq!(
            said("Persistent compilation cache hit for 'jit_f' with key 'jit_f-0a'"),
            hit
        );
        let miss = LogMessage::Cache {
            function: "f",
            is_hit: false,
            key: None,
        };
        assert_eq!(said("PERSISTENT COMPILATION CACHE MISS for 'jit_f'"), miss);
        assert_eq!(
            said("Writing jit_f to persistent compilation cache with key 'jit_f-0a'"),
            LogMessage::Kept {
                function: "f",
                key: "jit_f-0a"
            }
        );
        let part = "DEBUG:jax._src.cache_key:get_cache_key hash of serialized XLA flags: e3b0";
        assert_eq!(
            said(part),
            LogMessage::KeyPart {
                part: "XLA flags",
                hash: "e3b0"
            }
        );
    }

    #[test]
    fn times_and_writers_are_read() {
        let message = "Finished tracing f for jit in 0.25 sec";
        let time = |prefix: &str| {
            LogLine::parse(&format!("{prefix}{message}"))
                .unwrap()
                .time
                .map(|time| (time.ns, time.has_year))
        };
        let day = 1_686_096_000_000_000_000;
        let at = day + 880_280_000_000;
        assert_eq!(
            time("DEBUG:2023-06-07 00:14:40,280:jax._src.dispatch:590: "),
            Some((at, true))
        );
        assert_eq!(
            time("2023-06-07T00:14:40.280 WARNING [dispatch] "),
            Some((at, true))
        );
        let (first, _) = time("W0607 00:14:40.280123 140234 dispatch.py:182] ").unwrap();
        let (second, has_year) = time("W0608 00:14:40.280123 140234 dispatch.py:182] ").unwrap();
        assert_eq!((second - first, has_year), (86_400_000_000_000, false));
        assert_eq!(time("WARNING:jax._src.dispatch:"), None);
        assert_eq!(time("99:99:99 "), None);
        let writer = |line: &str| LogLine::parse(line).unwrap().writer.to_owned();
        assert_eq!(
            writer(&format!("(worker pid=7) {message}")),
            "(worker pid=7)"
        );
        assert_eq!(writer(&format!("[rank3]: {message}")), "[rank3]");
        assert_eq!(writer(&format!("[2023-06-07 00:14:40,280] {message}")), "");
    }
}
