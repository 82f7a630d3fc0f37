//! Texts in addresses: all but letters, digits and a few signs as `%` and two digits of each byte.

use std::fmt::Write as _;

pub(super) fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~:/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// The text; `None` if it was not encoded like this.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let (byte, after) = if first == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            let digits = std::str::from_utf8(digits).ok()?;
            (u8::from_str_radix(digits, 16).ok()?, after)
        } else {
            (first, after)
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}
