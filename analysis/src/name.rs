//! Names: shared by many rows, and cut to fit.

use std::ops::Deref;
use std::sync::Arc;

use serde::Serialize;

/// A text that many rows share. It takes one word in each, where an `Arc<str>` takes two:
/// some reports have several for each step and device.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema)]
pub struct Name(Arc<Box<str>>);

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(Arc::new(text.into()))
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(Arc::new(text.into()))
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self)
    }
}

/// At most `width` characters; names of ops differ at both ends, so the middle
/// goes.
pub fn shortened(text: &str, width: usize) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let len = text.chars().count();
    if len <= width || width < 3 {
        return text.chars().take(width.max(1)).collect();
    }
    let tail = (width - 1) / 3;
    let head: String = text.chars().take(width - 1 - tail).collect();
    let tail: String = text.chars().skip(len - tail).collect();
    format!("{head}…{tail}")
}
