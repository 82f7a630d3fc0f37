//! Numbers of things in sentences.

use std::fmt::Display;

/// `1 device`, `4 devices`: for nouns whose plural ends in `s`.
///
/// ```
/// assert_eq!(engine::counted(1, "device"), "1 device");
/// assert_eq!(engine::counted(0, "device"), "0 devices");
/// ```
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {what}{ending}")
}
