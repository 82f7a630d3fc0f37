//! Facts about an imported file: its format, origin and limits.

use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::kept;
use crate::time::Picos;

/// Times that are plausible as picoseconds since 1970: 2001 to 2096.
const PLAUSIBLE_UNIX_PS: Range<i128> = 1_000_000_000_000_000_000_000..4_000_000_000_000_000_000_000;

/// Optional facts that the format of a file records. If the format records a fact and the file has none, there was
/// none.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct FormatContents {
    /// Which memory the bytes of ops are read from or written to.
    pub memory_of_bytes: bool,
    /// Allocations and releases of memory.
    pub allocations: bool,
}

/// Reasons why computed times cannot be judged like measured ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Caveat {
    /// Times are sums of estimated costs: no device was simulated.
    Predicted,
    /// The file has no times: all ops have the same made-up length.
    PlaceholderTimes,
    /// Durations are those that the file gives, recorded or modelled; starts were computed where it gives none.
    GivenDurations,
    /// Bytes are the least that ops need: the memory may have moved more.
    LeastBytes,
    /// Loop bodies are drawn separately and only once, so all time of a loop is its self time.
    LoopsApart,
    /// Transfer times are bytes divided by the published rate of the links.
    ModelledLinks,
}

/// The label for times that a simulator or model (`by`) computed: `SIMULATED by ASTRA-sim`.
pub fn badge(by: &str, is_predicted: bool) -> String {
    format!(
        "{} by {by}",
        if is_predicted {
            "PREDICTED"
        } else {
            "SIMULATED"
        }
    )
}

/// What stands behind a badge, as far as the caveats of its times tell.
pub fn about_times(has: impl Fn(Caveat) -> bool) -> &'static str {
    if has(Caveat::PlaceholderTimes) {
        "no time here was measured, lengths are placeholders"
    } else if has(Caveat::GivenDurations) {
        "starts are computed, durations are those of the graph (whether recorded or modelled is not known)"
    } else {
        "no time here was measured"
    }
}

/// Text that importers have as a constant. Under its own name, derived code does not borrow it from what it reads.
type ConstantText = &'static str;

/// One imported file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Source {
    /// File name, without directories.
    pub name: String,
    /// Path on disk, if it is a file, or its address in a bucket.
    #[serde(serialize_with = "lossy")]
    pub path: Option<PathBuf>,
    /// Where a copy of its bytes is on this machine, if the path is an address.
    #[serde(serialize_with = "lossy")]
    pub copy: Option<PathBuf>,
    /// Size on disk in bytes, compressed.
    pub packed_bytes: u64,
    /// XXH3 of the bytes on disk, 128 bits, if it was asked for. A snapshot leaves it out.
    #[serde(skip)]
    pub fingerprint: Option<u128>,
    /// Id of the format.
    #[serde(deserialize_with = "constant")]
    pub format: ConstantText,
    /// Host that wrote it, if known.
    pub host: Option<String>,
    /// Simulator or model that computed the times, if they were not measured (`ASTRA-sim`).
    pub simulator: Option<String>,
    /// Caveats about such times.
    pub caveats: Vec<Caveat>,
    /// Position of [`Timestamp::ZERO`](crate::Timestamp::ZERO) in the file's own time, ps, before any shift.
    pub origin_ps: i128,
    /// Start of the session, in nanoseconds since the Unix epoch.
    pub started_unix_ns: Option<i64>,
    /// End of the session, in nanoseconds since the Unix epoch.
    pub stopped_unix_ns: Option<i64>,
    /// Optional facts that this format records.
    pub tells: FormatContents,
    /// Facts that this format does not record, as short noun phrases.
    #[serde(deserialize_with = "constants")]
    pub cannot_know: Vec<ConstantText>,
    /// Other facts about the session (`jax_version`), in file order.
    pub facts: Vec<(String, String)>,
    /// Shift applied so that several hosts share one timeline.
    pub shift: Picos,
}

fn constant<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    String::deserialize(from).map(|text| kept(&text))
}

fn constants<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<&'static str>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    Ok(texts.iter().map(|text| kept(text)).collect())
}

/// Paths need not be Unicode; what is not is replaced.
#[allow(clippy::ref_option)] // The signature that serde calls.
fn lossy<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    path.as_ref()
        .map(|path| path.to_string_lossy())
        .serialize(to)
}

impl Source {
    /// Largest distance between session starts of one run. Hosts of one session start within seconds of each other; if
    /// their starts are further apart, they belong to different sessions or a host's clock is wrong.
    pub const MOST_APART_NS: i64 = 10 * 60 * 1_000_000_000;

    /// The name of the fact why a program has no times.
    pub const NOT_PLAYED: &str = "not played";

    /// The value of a fact.
    pub fn fact(&self, name: &str) -> Option<&str> {
        let mut facts = self.facts.iter();
        facts
            .find_map(|(fact, value)| (fact == name).then_some(value))
            .map(String::as_str)
    }

    /// Unix time of [`Timestamp::ZERO`](crate::Timestamp::ZERO) in nanoseconds, before any shift. It comes from the
    /// file's own times if they count from 1970, otherwise from the start of the session.
    pub fn zero_unix_ns(&self) -> Option<i64> {
        let by_origin = PLAUSIBLE_UNIX_PS
            .contains(&self.origin_ps)
            .then(|| i64::try_from(self.origin_ps / 1000).ok());
        by_origin.flatten().or(self.started_unix_ns)
    }
}
