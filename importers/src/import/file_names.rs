//! Hosts and formats in the file names of a run.

use std::path::Path;

/// File endings of profiles in a run directory, richest format first.
const ENDINGS: &[&str] = &[
    ".xplane.pb",
    ".xspace.pb",
    ".xplane.pb.gz",
    ".xspace.pb.gz",
    ".xplane.riegeli",
    ".xspace.riegeli",
    ".trace.json.gz",
    ".trace.json",
    ".et",
    "perfetto_trace.json.gz",
    "perfetto_trace.json",
];

/// The host in a file's name, and the rank of its format (lower is richer). `None` for other files and for the caches
/// that XProf writes next to profiles.
pub(crate) fn host_and_rank(path: &Path) -> Option<(String, usize)> {
    let name = path.file_name()?.to_string_lossy();
    if name.starts_with('.') || name.starts_with("ALL_HOSTS.") || name.contains("SSTABLE") {
        return None;
    }
    let rank = ENDINGS.iter().position(|ending| name.ends_with(ending))?;
    // `perfetto_trace.json.gz` names no host: the importing host wrote it.
    let host = if ENDINGS[rank].starts_with("perfetto") {
        ""
    } else {
        name.strip_suffix(ENDINGS[rank])?
    };
    Some((host.to_owned(), rank))
}

pub(crate) fn endings() -> String {
    ENDINGS[..9].join(", ")
}
