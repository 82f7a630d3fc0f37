//! Facts about an imported file: its format, origin and limits.

use std::ops::Range;

use crate::time::Picos;

/// Times that are plausible as picoseconds since 1970: 2001 to 2096.
const PLAUSIBLE_UNIX_PS: Range<i128> = 1_000_000_000_000_000_000_000..4_000_000_000_000_000_000_000;

/// What the format of a file records. If a format records it and the file has none, there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormatContents {
    /// Source and target memory of the bytes of ops.
    pub memory_of_bytes: bool,
    /// Allocations and releases of memory.
    pub allocations: bool,
}

/// Reasons why times that were not measured cannot be judged like measured ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Caveat {
    /// Times are sums of estimated costs: no device was simulated.
    Predicted,
    /// The file has no times: all ops have the same made-up length.
    PlaceholderTimes,
    /// Loop bodies are drawn separately and once: all time of a loop is its self time.
    LoopsApart,
    /// Transfer times are bytes divided by the published rate of the links.
    ModelledLinks,
}

/// The label for times that were not measured but computed `by` a simulator or model: `SIMULATED by ASTRA-sim`.
pub fn badge(by: &str, is_predicted: bool) -> String {
    format!("{} by {by}", if is_predicted { "PREDICTED" } else { "SIMULATED" })
}

/// One imported file.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// File name, without directories.
    pub name: String,
    /// Path on disk, if it is a file.
    pub path: Option<std::path::PathBuf>,
    /// Size on disk in bytes, compressed.
    pub packed_bytes: u64,
    /// Id of the format.
    pub format: &'static str,
    /// Host that wrote it, if known.
    pub host: Option<String>,
    /// Simulator or model that computed the times, if they were not measured (`ASTRA-sim`).
    pub simulator: Option<String>,
    /// Caveats about such times.
    pub caveats: Vec<Caveat>,
    /// Position of [`Timestamp::ZERO`](crate::Timestamp::ZERO) in the file's own time, ps, before any shift.
    pub origin_ps: i128,
    /// When the session started, nanoseconds of the Unix epoch.
    pub started_unix_ns: Option<i64>,
    /// When the session ended, nanoseconds of the Unix epoch.
    pub stopped_unix_ns: Option<i64>,
    /// Optional facts that this format records.
    pub tells: FormatContents,
    /// Facts that this format does not record, as short noun phrases.
    pub cannot_know: Vec<&'static str>,
    /// Other facts about the session (`jax_version`), in file order.
    pub facts: Vec<(String, String)>,
    /// Shift applied so that several hosts share one timeline.
    pub shift: Picos,
}

impl Source {
    /// Largest distance between session starts of one run: hosts of one session start within seconds of each other; if
    /// they are further apart, they are different sessions or a host's clock is wrong.
    pub const MOST_APART_NS: i64 = 10 * 60 * 1_000_000_000;

    /// Unix time of [`Timestamp::ZERO`](crate::Timestamp::ZERO) in nanoseconds, before any shift: from the file's own
    /// times if they count from 1970, else the start of the session.
    pub fn zero_unix_ns(&self) -> Option<i64> {
        let by_origin = PLAUSIBLE_UNIX_PS.contains(&self.origin_ps).then(|| i64::try_from(self.origin_ps / 1000).ok());
        by_origin.flatten().or(self.started_unix_ns)
    }
}
