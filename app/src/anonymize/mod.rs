//! Profiles without names of people, machines and files: same bytes, other letters.
//!
//! Every replacement is as long as what it replaces. No length, offset or number in a file changes, whatever message a
//! text is part of, and a damaged or unknown part stays what it was.
//!
//! ```text
//! regions: where the texts of a file are ─▶ finder: which parts of a text are names ─▶ names: what stands for them
//! ```

mod finder;
mod json;
mod names;
mod regions;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use trace_model::wire::BrokenMessage;

pub use names::{NameKind, Names};
pub use regions::{Region, TextKind};

/// The texts that stay, by what they are.
#[derive(Debug, Default)]
pub struct Kept {
    /// Distinct texts.
    pub texts: BTreeMap<TextKind, BTreeSet<String>>,
    /// Bytes that are no text and no message.
    pub opaque_bytes: u64,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A serialized `XSpace`.
    XPlane,
    /// Trace events as JSON.
    Json,
}

/// The texts of a file. The error is the place of damage, beyond which texts cannot be told from numbers.
pub fn regions_of(kind: FileKind, bytes: &[u8]) -> Result<Vec<Region>, BrokenMessage> {
    match kind {
        FileKind::XPlane => regions::of_xspace(bytes),
        FileKind::Json => Ok(json::texts(bytes)),
    }
}

/// Learns names of machines and people from a file, so that they are found in all texts of all files.
pub fn learn(bytes: &[u8], regions: &[Region], names: &mut Names) {
    for region in regions {
        let text = bytes.get(region.range.clone()).unwrap_or_default();
        match region.kind {
            TextKind::Host => names.learn(NameKind::Host, text),
            _ => finder::users(text, region.kind == TextKind::Json)
                .for_each(|user| names.learn(NameKind::User, &text[user])),
        }
    }
}

/// Replaces names in all texts of a file, and counts what stays.
pub fn replace(bytes: &mut [u8], regions: &[Region], names: &mut Names, kept: &mut Kept) {
    for Region { range, kind } in regions {
        let Some(text) = bytes.get_mut(range.clone()) else { continue };
        if *kind == TextKind::Opaque {
            kept.opaque_bytes += text.len() as u64;
            names.replace_words(text, false);
            continue;
        }
        if *kind == TextKind::Host {
            names.replace_host(text);
            continue;
        }
        let found: Vec<(Range<usize>, NameKind)> = finder::names(text, *kind == TextKind::Json);
        for (part, what) in found {
            names.replace(what, &mut text[part]);
        }
        names.replace_words(text, true);
        let texts = kept.texts.entry(*kind).or_default();
        if !texts.contains(&*String::from_utf8_lossy(text)) {
            texts.insert(String::from_utf8_lossy(text).into_owned());
        }
    }
}

#[cfg(test)]
mod tests;
