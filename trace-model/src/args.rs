//! Arguments of slices, which stay in the file and are read on demand.

use std::fmt;

use hashbrown::HashSet;
use serde::{Deserialize, Serialize};

/// A value as recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ArgValue {
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// A floating point number.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// Text.
    Text(String),
    /// Binary data; only its length in bytes is kept.
    Opaque(usize),
    /// JSON `null`.
    Null,
}

impl ArgValue {
    /// The value as a number, from any numeric form, including numeric strings.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(v) => Some(*v as f64),
            Self::Uint(v) => Some(*v as f64),
            Self::Float(v) => Some(*v),
            Self::Bool(v) => Some(f64::from(u8::from(*v))),
            Self::Text(text) => text.trim().parse().ok(),
            Self::Opaque(_) | Self::Null => None,
        }
    }

    /// The value as an integer, from any numeric form; an unsigned number above `i64::MAX` is returned with the same
    /// bits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(v) => Some(*v),
            Self::Uint(v) => Some(*v as i64),
            Self::Float(v) => (v.fract() == 0.0 && v.abs() < 9.2e18).then_some(*v as i64),
            Self::Bool(v) => Some(i64::from(*v)),
            Self::Text(text) => {
                let text = text.trim();
                text.parse()
                    .ok()
                    .or_else(|| text.parse::<u64>().ok().map(|v| v as i64))
            }
            Self::Opaque(_) | Self::Null => None,
        }
    }

    /// The string, if the value is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self {
            Some(text)
        } else {
            None
        }
    }
}

impl fmt::Display for ArgValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(v) => v.fmt(f),
            Self::Uint(v) => v.fmt(f),
            Self::Float(v) => v.fmt(f),
            Self::Bool(v) => v.fmt(f),
            Self::Text(text) => text.fmt(f),
            Self::Opaque(len) => write!(f, "<{len} bytes>"),
            Self::Null => f.write_str("null"),
        }
    }
}

/// A named value; nested JSON is flattened to `outer.inner`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arg {
    /// Name as recorded.
    pub name: String,
    /// Value as recorded.
    pub value: ArgValue,
}

/// Reads the arguments of a slice from the file that it was imported from.
///
/// `handle` is the value that the importer passed with the slice, typically an offset into the file. The error is a
/// sentence for the user (for example that the file has changed).
pub trait ArgSource: Send + Sync {
    /// The arguments at `handle`, in file order.
    ///
    /// # Errors
    ///
    /// The file has changed or cannot be read; the text is a sentence for the user.
    fn args(&self, handle: u64) -> Result<Vec<Arg>, String>;

    /// Whether arguments can still be read, without reading any.
    ///
    /// # Errors
    ///
    /// The file is gone or has changed; the text is a sentence for the user.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Arguments of many slices may be read from now on, in the order of tracks: what makes that fast may be kept in memory.
    fn expect_many(&self) {}

    /// What [`TraceModel::to_snapshot`](crate::TraceModel::to_snapshot) keeps of it; `None` if it cannot be saved.
    fn save(&self) -> Option<SavedArgs> {
        None
    }
}

/// An [`ArgSource`] in a snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SavedArgs {
    /// All arguments, by handle.
    Rows(Vec<Vec<Arg>>),
    /// They are in the file that was imported.
    InFile {
        /// Name of the file.
        file: String,
        /// Name of the format that reads them.
        format: String,
        /// What the format needs to find them.
        state: Vec<u8>,
    },
}

/// Keeps the last of arguments with the same name, as in what importers read of an event.
pub(crate) fn last_of_each_name(args: Vec<Arg>) -> Vec<Arg> {
    let mut names = HashSet::with_capacity(args.len());
    let is_last: Vec<bool> = args
        .iter()
        .rev()
        .map(|arg| names.insert(arg.name.as_str()))
        .collect();
    drop(names);
    args.into_iter()
        .zip(is_last.into_iter().rev())
        .filter(|(_, is_last)| *is_last)
        .map(|(arg, _)| arg)
        .collect()
}

/// Arguments in memory; handles count from 0.
#[derive(Debug, Default)]
pub struct ArgRows(pub Vec<Vec<Arg>>);

impl ArgSource for ArgRows {
    fn args(&self, handle: u64) -> Result<Vec<Arg>, String> {
        let row = usize::try_from(handle)
            .ok()
            .and_then(|handle| self.0.get(handle));
        row.cloned().ok_or_else(|| "no such slice".to_owned())
    }

    fn save(&self) -> Option<SavedArgs> {
        Some(SavedArgs::Rows(self.0.clone()))
    }
}

/// An [`ArgSource`] of the builder that registered it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ArgSourceId(pub(crate) u16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_repeated_arguments_counts() {
        let arg = |name: &str, value| Arg {
            name: name.to_owned(),
            value: ArgValue::Int(value),
        };
        let args = vec![arg("a", 1), arg("b", 2), arg("a", 3)];
        assert_eq!(last_of_each_name(args), [arg("b", 2), arg("a", 3)]);
        assert_eq!(
            last_of_each_name(vec![arg("b", 2), arg("a", 1)]),
            [arg("b", 2), arg("a", 1)]
        );
    }
}
