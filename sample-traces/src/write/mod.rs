//! Writers of session files.

mod trace_json;
mod wire;
mod xspace;

use std::io::Write as _;

pub use trace_json::trace_json;
pub use wire::ProtoMessage;
pub use xspace::{write_xspace, xspace_bytes};

/// Compresses `bytes` with gzip, without a date.
///
/// # Panics
/// Never: writing to memory cannot fail.
pub fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder
        .write_all(bytes.as_ref())
        .expect("writing to memory cannot fail");
    encoder.finish().expect("writing to memory cannot fail")
}
