//! The files of the window, which are part of the program if it was built after `scripts/web`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Mutex, OnceLock};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use rust_embed::{EmbeddedFile, RustEmbed};

use super::input::header_text;
use session::fingerprint::hex;
use trace_model::locked;

/// Names with a hash of the content can be kept for ever. The WebAssembly is there packed only.
#[derive(RustEmbed)]
#[folder = "../../target/web/embedded"]
#[allow_missing = true]
struct Window;

const INDEX: &str = "index.html";

/// How files end that are packed by Brotli.
const BROTLI: &str = ".br";

/// Files that are smaller are not worth packing.
const LEAST: usize = 1024;

/// What has been packed for clients that take no Brotli: browsers ask for it only from this machine or over HTTPS.
static GZIPPED: Mutex<BTreeMap<String, Gzipped>> = Mutex::new(BTreeMap::new());

/// A file packed by gzip, once it is, or why it is not.
type Gzipped = Arc<OnceLock<Result<Bytes, String>>>;

/// Whether the window is part of this program.
pub(super) fn has_window() -> bool {
    Window::get(INDEX).is_some()
}

/// The file at a path, or `None` if there is none. Packs it on first use, which takes up to a second.
pub(super) fn file(path: &str, headers: &HeaderMap) -> Option<Response> {
    let name = path.strip_prefix('/').unwrap_or(path);
    let name = if name.is_empty() { INDEX } else { name };
    // Names are compared as they are: nothing is decoded, and none leads upwards.
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
    if !is_plain
        || name
            .split('/')
            .any(|part| part.is_empty() || part.starts_with('.'))
    {
        return None;
    }
    let (plain, brotli) = (Window::get(name), Window::get(&format!("{name}{BROTLI}")));
    let hash = plain.as_ref().or(brotli.as_ref())?.metadata.sha256_hash();
    // The same content in any encoding: a weak tag.
    let tag = format!("\"{}\"", hex(&hash[..16]));
    let mut out = HeaderMap::new();
    let keep = if is_hashed(name) {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    out.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    out.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Ok(tag) = HeaderValue::from_str(&format!("W/{tag}")) {
        out.insert(header::ETAG, tag);
    }
    let known = header_text(headers, &header::IF_NONE_MATCH);
    if known.is_some_and(|tags| names(tags, &tag)) {
        return Some((StatusCode::NOT_MODIFIED, out).into_response());
    }
    out.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(kind_of(name)),
    );
    let bytes_of = |file: EmbeddedFile| match file.data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes),
    };
    let (encoding, bytes) = match content(name, plain.map(bytes_of), brotli.map(bytes_of), headers)
    {
        Ok(content) => content,
        Err(error) => {
            return Some(
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    format!("{name}: {error}"),
                )
                    .into_response(),
            );
        }
    };
    if !encoding.is_empty() {
        out.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    Some((StatusCode::OK, out, Body::from(bytes)).into_response())
}

/// What is sent of a file, of which one form at least is there, and how it is packed (empty: not at all).
fn content(
    name: &str,
    plain: Option<Bytes>,
    brotli: Option<Bytes>,
    headers: &HeaderMap,
) -> io::Result<(&'static str, Bytes)> {
    if accepts(headers, "br")
        && let Some(brotli) = brotli
    {
        return Ok(("br", brotli));
    }
    let plain_len = plain.as_ref().map(Bytes::len);
    let plain = || match (plain, brotli) {
        (Some(plain), _) => Ok(plain),
        (None, Some(brotli)) => unpacked(&brotli),
        (None, None) => Err(io::ErrorKind::NotFound.into()),
    };
    let is_small = plain_len.is_some_and(|len| len < LEAST);
    if !accepts(headers, "gzip") || kind_of(name) == "image/png" || is_small {
        return Ok(("", plain()?));
    }
    let gzipped = {
        let mut all = locked(&GZIPPED);
        Arc::clone(all.entry(name.to_owned()).or_default())
    };
    // Only who wants the same file waits for it.
    let bytes = gzipped.get_or_init(|| {
        plain()
            .and_then(|plain| packed(&plain))
            .map_err(|error| error.to_string())
    });
    bytes
        .clone()
        .map(|bytes| ("gzip", bytes))
        .map_err(io::Error::other)
}

fn packed(plain: &[u8]) -> io::Result<Bytes> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::new(6));
    gzip.write_all(plain)?;
    gzip.finish().map(Bytes::from)
}

fn unpacked(brotli: &[u8]) -> io::Result<Bytes> {
    let mut plain = Vec::new();
    brotli::Decompressor::new(brotli, 1 << 16).read_to_end(&mut plain)?;
    Ok(Bytes::from(plain))
}

/// Whether a list of entity tags names this one; a weak one is as good here.
pub(super) fn names(tags: &str, tag: &str) -> bool {
    tags.split(',')
        .map(str::trim)
        .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

/// Whether the client takes this encoding.
pub(super) fn accepts(headers: &HeaderMap, encoding: &str) -> bool {
    let lists = headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_named = parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case(encoding));
        let quality = parts
            .find_map(|part| part.strip_prefix("q="))
            .map_or(Some(1.0), |text| text.parse::<f32>().ok());
        is_named && quality.is_some_and(|quality| quality > 0.0)
    })
}

/// Whether a name has a hash of the content: eight or more hexadecimal digits between dots, dashes or underscores.
fn is_hashed(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    let parts = file.split(['.', '-', '_']);
    parts.into_iter().any(|part| {
        part.len() >= 8
            && part.bytes().all(|byte| byte.is_ascii_hexdigit())
            && part.bytes().any(|byte| byte.is_ascii_digit())
    })
}

fn kind_of(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "wasm" => "application/wasm",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "ttf" => "font/ttf",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_hash_are_recognized() {
        for (name, expected) in [
            ("systole-0a1b2c3d4e5f6071.wasm", true),
            ("a/web_bg.0123456789abcdef.wasm", true),
            ("index.html", false),
            ("systole.wasm", false),
            ("decade-facade.js", false),
            ("deadbeef.js", false),
        ] {
            assert_eq!(is_hashed(name), expected, "{name}");
        }
    }

    #[test]
    fn encodings_that_are_refused_are_not_used() {
        let of = |text: &str| {
            let headers = HeaderMap::from_iter([(
                header::ACCEPT_ENCODING,
                HeaderValue::from_str(text).unwrap(),
            )]);
            (accepts(&headers, "br"), accepts(&headers, "gzip"))
        };
        assert_eq!(of("gzip, deflate, br"), (true, true));
        assert_eq!(of("GZIP;q=0.5"), (false, true));
        assert_eq!(of("br;q=0, gzip;q=x"), (false, false));
        assert_eq!(of("identity"), (false, false));
    }

    #[test]
    fn entity_tags_are_found_in_lists() {
        for (tags, expected) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("\"b\", \"a\"", true),
            ("*", true),
            ("a", false),
        ] {
            assert_eq!(names(tags, "\"a\""), expected, "{tags}");
        }
    }

    #[test]
    fn a_file_that_is_packed_only_reaches_clients_that_take_less() {
        let plain = Bytes::from("the window ".repeat(1000));
        let mut brotli = Vec::new();
        brotli::BrotliCompress(
            &mut plain.as_ref(),
            &mut brotli,
            &brotli::enc::BrotliEncoderParams::default(),
        )
        .unwrap();
        let brotli = Bytes::from(brotli);
        let sent = |encodings: &'static str| {
            let headers = HeaderMap::from_iter([(
                header::ACCEPT_ENCODING,
                HeaderValue::from_static(encodings),
            )]);
            content("window-1.wasm", None, Some(brotli.clone()), &headers).unwrap()
        };
        assert_eq!(sent("gzip, br"), ("br", brotli.clone()));
        assert_eq!(sent("identity"), ("", plain.clone()));
        for _ in 0..2 {
            let (encoding, bytes) = sent("gzip");
            let mut unpacked = Vec::new();
            flate2::read::GzDecoder::new(bytes.as_ref())
                .read_to_end(&mut unpacked)
                .unwrap();
            assert_eq!((encoding, Bytes::from(unpacked)), ("gzip", plain.clone()));
        }
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let found = content(
            "window-2.wasm",
            None,
            Some(Bytes::from_static(b"no brotli")),
            &HeaderMap::new(),
        );
        assert!(found.is_err());
    }

    #[test]
    fn paths_that_lead_elsewhere_have_no_file() {
        for path in [
            "/../Cargo.toml",
            "/%2e%2e/Cargo.toml",
            "//etc/passwd",
            "/.git/config",
            "/a\\..\\b",
            "/a/../index.html",
        ] {
            assert!(file(path, &HeaderMap::new()).is_none(), "{path}");
        }
    }
}
