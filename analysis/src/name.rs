//! Names that many rows share.

use std::ops::Deref;
use std::sync::Arc;

use serde::Serialize;

/// A text that many rows share. It takes one word in each, where an `Arc<str>` takes two:
/// some reports have several for each step and device.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
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
