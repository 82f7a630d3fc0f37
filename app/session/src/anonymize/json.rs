//! Texts of a JSON file: what is between quotes.

use super::regions::{Region, TextKind};

/// All strings. What is between them stays as it is, also in a damaged file.
pub(super) fn texts(bytes: &[u8]) -> Vec<Region> {
    let mut regions = Vec::new();
    let mut position = 0;
    while let Some(open) = bytes
        .get(position..)
        .and_then(|rest| rest.iter().position(|&byte| byte == b'"'))
    {
        let start = position + open + 1;
        let mut end = start;
        while let Some(&byte) = bytes.get(end) {
            match byte {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        let end = end.min(bytes.len());
        if end > start {
            regions.push(Region {
                range: start..end,
                kind: TextKind::Json,
            });
        }
        position = end + 1;
    }
    regions
}
