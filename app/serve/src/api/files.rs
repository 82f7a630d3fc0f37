//! The bytes of profiles: whole or in part, packed for slow links, and not again where the client has them.

use std::fs::{File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::time::UNIX_EPOCH;

use super::prelude::*;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream;
use tokio::task::spawn_blocking;

use crate::assets::{accepts, names};
use crate::input::{WholeNumber, header_text};
use crate::runs::FileEntry;

/// The type of contents without a type.
pub(super) const BYTES: &str = "application/octet-stream";

/// How gzip files and archives begin.
const PACKED: [&[u8]; 2] = [b"\x1f\x8b", b"PK"];

/// Bytes that are read at a time.
const CHUNK: u64 = 256 << 10;

/// The files of a run.
#[derive(Serialize, JsonSchema)]
pub(super) struct FileList {
    /// The files: of each host first the one that is read.
    files: Vec<FileEntry>,
}

pub(super) async fn list(
    State(state): State<Shared>,
    InPath(id): InPath<String>,
) -> Result<Json<FileList>, ApiError> {
    let run = state.run(id).await?;
    let files = state.files(run).await?;
    Ok(Json(FileList {
        files: files.into_iter().map(|(file, _)| file).collect(),
    }))
}

/// How a file is sent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileParams {
    /// Whether to send it gzipped to clients that take this, unless it is packed already; then whole, whatever range is asked.
    /// For slow links: it takes a second for each 100 MB.
    #[serde(default)]
    packed: bool,
}

struct OpenFile {
    file: File,
    about: Metadata,
    name: String,
    /// Whether packing makes it smaller.
    is_packable: bool,
}

pub(super) async fn bytes(
    State(state): State<Shared>,
    InPath((id, WholeNumber(number))): InPath<(String, WholeNumber)>,
    Params(params): Params<FileParams>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let run = state.run(id).await?;
    let is_copy = run.entry.is_remote;
    let file = state.files(run).await?.into_iter().nth(number as usize);
    let (entry, path) =
        file.ok_or_else(|| ApiError::missing("the run has no file of this number"))?;
    let open = state.light(move |state, _| {
        let failed = |error: io::Error| ApiError::missing(format!("{error}: {}", entry.name));
        // Without links, so that it is the file that was checked.
        let path = path.canonicalize().map_err(failed)?;
        // A pipe would block.
        if !(is_copy || state.runs.roots.contain(&path)) || !path.is_file() {
            return Err(ApiError::forbidden(
                "this is no file below the served places",
            ));
        }
        let mut file = File::open(&path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        let mut head = Vec::new();
        (&mut file).take(2).read_to_end(&mut head).map_err(failed)?;
        Ok(OpenFile {
            file,
            about,
            name: entry.name,
            is_packable: !PACKED.contains(&&head[..]),
        })
    });
    answer(open.await?, params.packed, &headers)
}

fn answer(open: OpenFile, packed: bool, headers: &HeaderMap) -> Result<Response, ApiError> {
    let len = open.about.len();
    let tag = tag_of(&open.about);
    let is_packed = packed && open.is_packable && accepts(headers, "gzip");
    let text = |name: HeaderName| header_text(headers, &name);
    let mut response_headers = HeaderMap::new();
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            response_headers.insert(name, value);
        }
    };
    // Packed, it is the same content in other bytes: a weak tag.
    set(
        header::ETAG,
        &if is_packed {
            format!("W/{tag}")
        } else {
            tag.clone()
        },
    );
    set(
        header::ACCEPT_RANGES,
        if is_packed { "none" } else { "bytes" },
    );
    if text(header::IF_NONE_MATCH).is_some_and(|tags| names(tags, &tag)) {
        return Ok((StatusCode::NOT_MODIFIED, response_headers).into_response());
    }
    set(header::CONTENT_TYPE, BYTES);
    if is_packed {
        set(header::CONTENT_ENCODING, "gzip");
        set(header::VARY, "Accept-Encoding");
        return Ok((
            StatusCode::OK,
            response_headers,
            packed_body(open.file, len),
        )
            .into_response());
    }
    let is_same = text(header::IF_RANGE).is_none_or(|one| one == tag);
    let range = text(header::RANGE)
        .filter(|_| is_same)
        .map_or(AskedRange::Whole, |range| asked(range, len));
    let (status, from, end) = match range {
        AskedRange::Whole => (StatusCode::OK, 0, len),
        AskedRange::Part { from, end } => {
            set(
                header::CONTENT_RANGE,
                &format!("bytes {from}-{}/{len}", end - 1),
            );
            (StatusCode::PARTIAL_CONTENT, from, end)
        }
        AskedRange::None => return Err(ApiError::range(len)),
    };
    set(header::CONTENT_LENGTH, &(end - from).to_string());
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() || "._-".contains(letter) {
            letter
        } else {
            '_'
        }
    };
    let name: String = open.name.chars().map(plain).collect();
    set(
        header::CONTENT_DISPOSITION,
        &format!("attachment; filename=\"{name}\""),
    );
    Ok((status, response_headers, body(open.file, from, end)).into_response())
}

/// The bytes of a file from one place to another. No thread waits for a slow client.
fn body(file: File, from: u64, end: u64) -> Body {
    Body::from_stream(stream::try_unfold(
        (file, from),
        move |(mut file, position)| async move {
            if position >= end {
                return Ok::<_, io::Error>(None);
            }
            let read =
                spawn_blocking(move || chunk(&mut file, position, end).map(|chunk| (file, chunk)));
            let (file, chunk) = read.await.map_err(io::Error::other)??;
            let next = position + chunk.len() as u64;
            Ok(Some((Bytes::from(chunk), (file, next))))
        },
    ))
}

/// The bytes at a place, not beyond `end`.
fn chunk(file: &mut File, position: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut chunk = Vec::new();
    file.seek(SeekFrom::Start(position))?;
    file.take((end - position).min(CHUNK))
        .read_to_end(&mut chunk)?;
    if chunk.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the file has become shorter",
        ));
    }
    Ok(chunk)
}

/// A file being packed.
struct Packing {
    file: File,
    at: u64,
    gzip: GzEncoder<Vec<u8>>,
}

/// All bytes of a file, packed while they are sent.
fn packed_body(file: File, end: u64) -> Body {
    /// Bytes that are packed before they are sent.
    const LEAST: usize = 64 << 10;
    // The fastest level: the next ones take twice as long for a tenth of the size.
    let packing = Packing {
        file,
        at: 0,
        gzip: GzEncoder::new(Vec::new(), Compression::fast()),
    };
    Body::from_stream(stream::try_unfold(
        Some(packing),
        move |packing| async move {
            let Some(mut packing) = packing else {
                return Ok(None);
            };
            let work = spawn_blocking(move || {
                while packing.at < end && packing.gzip.get_ref().len() < LEAST {
                    let chunk = chunk(&mut packing.file, packing.at, end)?;
                    packing.at += chunk.len() as u64;
                    packing.gzip.write_all(&chunk)?;
                }
                if packing.at < end {
                    let packed = std::mem::take(packing.gzip.get_mut());
                    return Ok((packed, Some(packing)));
                }
                Ok::<_, io::Error>((packing.gzip.finish()?, None))
            });
            let (packed, rest) = work.await.map_err(io::Error::other)??;
            Ok::<_, io::Error>(Some((Bytes::from(packed), rest)))
        },
    ))
}

/// What changes when the file is written again.
fn tag_of(about: &Metadata) -> String {
    let changed = about
        .modified()
        .ok()
        .and_then(|modified| modified.duration_since(UNIX_EPOCH).ok())
        .unwrap_or_default();
    format!("\"{:x}-{:x}\"", about.len(), changed.as_nanos())
}

/// The asked part of a file.
#[derive(Debug, PartialEq, Eq)]
enum AskedRange {
    Whole,
    Part {
        from: u64,
        end: u64,
    },
    /// It has no such part.
    None,
}

/// The part that a header `Range` asks for. Several parts, other units and what is no range are not answered in part, as
/// RFC 9110 allows.
fn asked(range: &str, len: u64) -> AskedRange {
    let whole = AskedRange::Whole;
    let Some((unit, range)) = range.split_once('=') else {
        return whole;
    };
    let Some((from, last)) = range.trim().split_once('-') else {
        return whole;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") || range.contains(',') {
        return whole;
    }
    let number = |text: &str| {
        if text.bytes().all(|digit| digit.is_ascii_digit()) {
            text.parse::<u64>().ok()
        } else {
            None
        }
    };
    let (from, end) = match (from.trim(), last.trim()) {
        ("", "") => return whole,
        ("", last) => match number(last) {
            Some(count) => (len.saturating_sub(count), if count == 0 { 0 } else { len }),
            None => return whole,
        },
        (from, "") => match number(from) {
            Some(from) => (from, len),
            None => return whole,
        },
        (from, last) => match (number(from), number(last)) {
            (Some(from), Some(last)) if from <= last => (from, last.saturating_add(1).min(len)),
            _ => return whole,
        },
    };
    if from < end {
        AskedRange::Part { from, end }
    } else {
        AskedRange::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_standard() {
        let part = |from, end| AskedRange::Part { from, end };
        for (range, expected) in [
            ("bytes=0-0", part(0, 1)),
            ("bytes=2-4", part(2, 5)),
            ("bytes=2-", part(2, 10)),
            ("bytes=-3", part(7, 10)),
            ("bytes=-30", part(0, 10)),
            ("bytes=5-99", part(5, 10)),
            ("bytes=9-18446744073709551615", part(9, 10)),
            ("bytes=10-", AskedRange::None),
            ("bytes=10-20", AskedRange::None),
            ("bytes=-0", AskedRange::None),
            ("bytes=4-2", AskedRange::Whole),
            ("bytes=0-1,3-4", AskedRange::Whole),
            ("bytes=-", AskedRange::Whole),
            ("bytes=+1-2", AskedRange::Whole),
            ("bytes=99999999999999999999-", AskedRange::Whole),
            ("lines=0-1", AskedRange::Whole),
            ("", AskedRange::Whole),
        ] {
            assert_eq!(asked(range, 10), expected, "{range}");
        }
        assert_eq!(
            asked("bytes=0-", 0),
            AskedRange::None,
            "an empty file has no part"
        );
    }
}
