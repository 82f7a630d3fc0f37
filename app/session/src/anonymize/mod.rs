//! Profiles without names of people, machines and files: same bytes, other letters.
//!
//! Every replacement is as long as what it replaces. No length, offset or number in a file changes, whatever message a
//! text is part of, and an unknown part stays what it was. What the importer does not read because of damage is filled with
//! zeros, which are damage at the same place.
//!
//! ```text
//! regions: where the texts of a file are ─▶ finder: which parts of a text are names ─▶ names: what stands for them
//! ```

mod finder;
mod json;
mod names;
mod network;
mod regions;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub use names::{NameKind, Names};
pub use regions::{Region, TextKind};

/// The texts that stay, by what they are.
#[derive(Debug, Default)]
pub struct Kept {
    /// Distinct texts.
    pub texts: BTreeMap<TextKind, BTreeSet<String>>,
    /// Bytes that are no text and no message.
    pub opaque_bytes: u64,
    /// Bytes that cannot be read, and how many places have them.
    pub unreadable: (u64, u64),
}

impl Kept {
    fn keep(&mut self, kind: TextKind, text: &[u8]) {
        let (texts, text) = (
            self.texts.entry(kind).or_default(),
            String::from_utf8_lossy(text),
        );
        if !texts.contains(&*text) {
            texts.insert(text.into_owned());
        }
    }
}

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub enum FileKind {
    /// A serialized `XSpace`.
    XPlane,
    /// Trace events as JSON.
    Json,
}

/// The texts of a file, and what of it cannot be read.
pub fn regions_of(kind: FileKind, bytes: &[u8]) -> Vec<Region> {
    match kind {
        FileKind::XPlane => regions::of_xspace(bytes),
        FileKind::Json => json::texts(bytes),
    }
}

/// Learns names of machines and people from a file, so that they are found in all texts of all files.
pub fn learn(bytes: &[u8], regions: &[Region], names: &mut Names) {
    for region in regions {
        let text = bytes.get(region.range.clone()).unwrap_or_default();
        match region.kind {
            TextKind::Unreadable => {}
            TextKind::Host => names.learn(NameKind::Host, text),
            _ => finder::people_and_machines(text, region.kind == TextKind::Json)
                .for_each(|(name, kind)| names.learn(kind, &text[name])),
        }
    }
}

/// Replaces names in all texts of a file, empties what cannot be read, and counts what stays.
pub fn replace(bytes: &mut [u8], regions: &[Region], names: &mut Names, kept: &mut Kept) {
    // Data that is no text comes last: names in it are best known from elsewhere.
    let (data, texts): (Vec<_>, Vec<_>) = regions
        .iter()
        .partition(|region| region.kind == TextKind::Opaque);
    for Region { range, kind } in texts.into_iter().chain(data) {
        let Some(text) = bytes.get_mut(range.clone()) else {
            continue;
        };
        if *kind == TextKind::Unreadable {
            kept.unreadable.0 += text.len() as u64;
            kept.unreadable.1 += 1;
            text.fill(0);
            continue;
        }
        if *kind == TextKind::Opaque {
            kept.opaque_bytes += text.len() as u64;
            // A damaged program of the compiler still has its texts.
            let runs = finder::printable(text);
            for run in &runs {
                let run = &mut text[run.clone()];
                let behind = finder::names_behind_letters(run);
                let found_names = finder::names(run, false).into_iter();
                let found_names: Vec<_> = found_names
                    .chain(behind.into_iter().map(|part| (part, NameKind::Path)))
                    .collect();
                // What both find is replaced once.
                let found_names: BTreeMap<usize, _> = found_names
                    .into_iter()
                    .map(|(part, what)| (part.start, (part, what)))
                    .collect();
                for (part, what) in found_names.into_values() {
                    names.replace(what, &mut run[part]);
                }
            }
            names.replace_words(text, false);
            names.replace_known(text);
            // Replacements are as long as what they replace, and letters, too.
            for run in runs {
                kept.keep(*kind, &text[run]);
            }
            continue;
        }
        if *kind == TextKind::Host {
            names.replace_host(text);
            continue;
        }
        let found_names: Vec<(Range<usize>, NameKind)> =
            finder::names(text, *kind == TextKind::Json);
        for (part, what) in found_names {
            names.replace(what, &mut text[part]);
        }
        names.replace_words(text, true);
        kept.keep(*kind, text);
    }
}

#[cfg(test)]
mod tests;
