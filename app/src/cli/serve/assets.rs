//! The files of the window, which are part of the program if it was built after `scripts/web`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::OnceLock;
use std::thread;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use rust_embed::RustEmbed;

use super::guard::hex;

/// `target/web/dist`. Names with a hash of the content can be kept for ever.
#[derive(RustEmbed)]
#[folder = "../target/web/dist"]
#[allow_missing = true]
struct Window;

const INDEX: &str = "index.html";

/// Files that are smaller are not worth packing.
const LEAST: usize = 1024;

/// Packed files; filled by a thread when the server starts.
static PACKED: OnceLock<BTreeMap<String, Bytes>> = OnceLock::new();

/// Whether the window is part of this program.
pub(super) fn has_window() -> bool {
    Window::get(INDEX).is_some()
}

/// Packs the files beside everything else, so that the first visitor does not wait. Until then they are sent as they are.
pub(super) fn pack() {
    let packed = || {
        let files = Window::iter().filter(|name| is_packable(name));
        let files = files.filter_map(|name| {
            let data = Window::get(&name)?.data;
            let mut gzip = GzEncoder::new(Vec::new(), Compression::new(6));
            gzip.write_all(&data).ok()?;
            let bytes = gzip.finish().ok()?;
            (data.len() >= LEAST && bytes.len() < data.len()).then(|| (name.into_owned(), Bytes::from(bytes)))
        });
        let _ = PACKED.set(files.collect());
    };
    // Without this thread nothing is packed, and everything works.
    let _ = thread::Builder::new().name("pack-assets".to_owned()).spawn(packed);
}

fn is_packable(name: &str) -> bool {
    let is_packed = [".br", ".gz"].iter().any(|ending| name.ends_with(ending));
    let has_other = [".br", ".gz"].iter().all(|ending| Window::get(&format!("{name}{ending}")).is_some());
    !is_packed && !has_other && !kind_of(name).starts_with("image/png")
}

/// The file at a path, or `None` if there is none.
pub(super) fn file(path: &str, headers: &HeaderMap) -> Option<Response> {
    let name = path.strip_prefix('/').unwrap_or(path);
    let name = if name.is_empty() { INDEX } else { name };
    // Names are compared as they are: nothing is decoded, and none leads upwards.
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
    if !is_plain || name.split('/').any(|part| part.is_empty() || part.starts_with('.')) {
        return None;
    }
    let found = Window::get(name)?;
    let tag = format!("\"{}\"", hex(&found.metadata.sha256_hash()[..16]));
    let mut out = HeaderMap::new();
    let keep = if is_hashed(name) { "public, max-age=31536000, immutable" } else { "no-cache" };
    out.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    out.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        out.insert(header::ETAG, tag);
    }
    let asked = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).unwrap_or_default();
    if asked.contains(&tag) {
        return Some((StatusCode::NOT_MODIFIED, out).into_response());
    }
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind_of(name)));
    let (encoding, bytes) = packed(name, headers).unwrap_or_else(|| ("", bytes_of(found.data)));
    if !encoding.is_empty() {
        out.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    Some((StatusCode::OK, out, Body::from(bytes)).into_response())
}

fn bytes_of(data: std::borrow::Cow<'static, [u8]>) -> Bytes {
    match data {
        std::borrow::Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        std::borrow::Cow::Owned(bytes) => Bytes::from(bytes),
    }
}

/// The smallest packed form that the client takes.
fn packed(name: &str, headers: &HeaderMap) -> Option<(&'static str, Bytes)> {
    let beside = |ending: &str| Window::get(&format!("{name}{ending}")).map(|file| bytes_of(file.data));
    if accepts(headers, "br")
        && let Some(bytes) = beside(".br")
    {
        return Some(("br", bytes));
    }
    if !accepts(headers, "gzip") {
        return None;
    }
    let bytes = beside(".gz").or_else(|| PACKED.get()?.get(name).cloned())?;
    Some(("gzip", bytes))
}

/// Whether the client takes this encoding.
pub(super) fn accepts(headers: &HeaderMap, encoding: &str) -> bool {
    let lists = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(encoding));
        let quality = parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |text| text.parse::<f32>().ok());
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
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_str(text).unwrap())]);
            (accepts(&headers, "br"), accepts(&headers, "gzip"))
        };
        assert_eq!(of("gzip, deflate, br"), (true, true));
        assert_eq!(of("GZIP;q=0.5"), (false, true));
        assert_eq!(of("br;q=0, gzip;q=x"), (false, false));
        assert_eq!(of("identity"), (false, false));
    }

    #[test]
    fn paths_that_lead_elsewhere_have_no_file() {
        for path in
            ["/../Cargo.toml", "/%2e%2e/Cargo.toml", "//etc/passwd", "/.git/config", "/a\\..\\b", "/a/../index.html"]
        {
            assert!(file(path, &HeaderMap::new()).is_none(), "{path}");
        }
    }
}
