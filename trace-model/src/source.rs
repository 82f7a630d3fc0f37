//! What is known of a file that was read: what it is, who made it, what it cannot tell.

use std::ops::Range;

use crate::time::Picos;

/// Times that are plausible as picoseconds since 1970: 2001 to 2096.
const PLAUSIBLE_UNIX_PS: Range<i128> = 1_000_000_000_000_000_000_000..4_000_000_000_000_000_000_000;

/// What a file can tell, by its format: where it tells nothing, there was nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tells {
    /// Which memories the bytes of ops come from and go to.
    pub memory_of_bytes: bool,
    /// What was allocated and released.
    pub allocations: bool,
}

/// What keeps times that nothing measured from being judged like measured ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Caveat {
    /// They are sums of estimated costs: no device was simulated.
    Predicted,
    /// The file states none: all have the same made-up length.
    PlaceholderTimes,
    /// The bodies of loops are drawn apart, and once: a loop has all of its time to itself.
    LoopsApart,
    /// Transfers take as long as their bytes at the published rate of the links.
    ModelledLinks,
}

/// What times that nothing measured are called beside every number, `by` whatever made
/// them: `SIMULATED by ASTRA-sim`.
pub fn badge(by: &str, is_predicted: bool) -> String {
    format!("{} by {by}", if is_predicted { "PREDICTED" } else { "SIMULATED" })
}

/// One imported file.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// File name, without directories.
    pub name: String,
    /// Where it lies on disk, for files.
    pub path: Option<std::path::PathBuf>,
    /// Bytes on disk, still packed.
    pub packed_bytes: u64,
    /// Id of the format that it was read as.
    pub format: &'static str,
    /// Host that wrote it, if known.
    pub host: Option<String>,
    /// What computed the times, where none of them was measured (`ASTRA-sim`).
    pub simulator: Option<String>,
    /// What to know of such times.
    pub caveats: Vec<Caveat>,
    /// What [`Timestamp::ZERO`](crate::Timestamp::ZERO) is in the file's own terms, ps, before any shift.
    pub origin_ps: i128,
    /// When the session started, nanoseconds of the Unix epoch.
    pub started_unix_ns: Option<i64>,
    /// When the session ended, nanoseconds of the Unix epoch.
    pub stopped_unix_ns: Option<i64>,
    /// What this format can tell that others cannot.
    pub tells: Tells,
    /// What this format cannot tell, as short noun phrases.
    pub cannot_know: Vec<&'static str>,
    /// Free facts about the session (`jax_version`), in file order.
    pub facts: Vec<(String, String)>,
    /// Shift applied so that several hosts share one timeline.
    pub shift: Picos,
}

impl Source {
    /// Hosts of one session start within seconds of each other; what is further apart than this is another session, or
    /// comes from a host whose clock is wrong.
    pub const MOST_APART_NS: i64 = 10 * 60 * 1_000_000_000;

    /// When [`Timestamp::ZERO`](crate::Timestamp::ZERO) was, nanoseconds of the Unix epoch, before any shift: by the
    /// file's own times, where they count from 1970, else the start of the session.
    pub fn zero_unix_ns(&self) -> Option<i64> {
        let by_origin = PLAUSIBLE_UNIX_PS.contains(&self.origin_ps).then(|| i64::try_from(self.origin_ps / 1000).ok());
        by_origin.flatten().or(self.started_unix_ns)
    }
}
