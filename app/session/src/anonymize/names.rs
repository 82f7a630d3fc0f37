//! What stands for a name: the same everywhere, another one for each name, and as long as the name.

use std::collections::BTreeMap;
use std::ops::Range;

/// What a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameKind {
    /// A machine.
    Host,
    /// A person.
    User,
    /// A folder or file.
    Path,
    /// A number on the network.
    Address,
    /// What the user wants replaced.
    Word,
}

impl NameKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Host, Self::User, Self::Path, Self::Address, Self::Word];

    /// What it is, in words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Host => "names of machines",
            Self::User => "names of users",
            Self::Path => "names of folders and files",
            Self::Address => "addresses",
            Self::Word => "words that were named",
        }
    }
}

/// Names that tell nothing, and words in which a name is found by chance.
const HARMLESS: [&str; 10] = ["localhost", "root", "user", "host", "home", "worker", "tpu", "cpu", "local", "runner"];
/// A shorter name is part of other words.
const LEAST: usize = 3;
/// In data that is no text, a shorter name may be there by chance.
const LEAST_IN_OPAQUE: usize = 6;
const LETTERS: &[u8; 52] = b"nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM";
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Names and what stands for them.
#[derive(Debug, Default)]
pub struct Names {
    /// In every text these are replaced.
    words: BTreeMap<Vec<u8>, NameKind>,
    stand_ins: BTreeMap<Vec<u8>, (NameKind, Vec<u8>)>,
    /// Names so far, by their length.
    counts: BTreeMap<usize, usize>,
}

impl Names {
    /// Replaces a name in every text, where it is a word.
    pub fn learn(&mut self, kind: NameKind, name: &[u8]) {
        if kind == NameKind::Word || (name.len() >= LEAST && !is_harmless(name)) {
            self.words.entry(name.to_vec()).or_insert(kind);
        }
    }

    /// What was replaced, and by what, in the order of the names.
    pub fn replaced(&self) -> impl Iterator<Item = (NameKind, &[u8], &[u8])> {
        self.stand_ins.iter().map(|(name, (kind, stand_in))| (*kind, name.as_slice(), stand_in.as_slice()))
    }

    /// What stands for a name.
    pub fn stand_in(&mut self, kind: NameKind, name: &[u8]) -> Vec<u8> {
        if let Some((_, known)) = self.stand_ins.get(name) {
            return known.clone();
        }
        if name.utf8_chunks().all(|chunk| chunk.valid().is_empty()) {
            // Damage without a letter is no name.
            return name.to_vec();
        }
        let count = self.counts.entry(name.len()).or_default();
        // What stands for one name must not be another: `n0` may be a name.
        let new = loop {
            let new = as_damaged_as(name, numbered(*count, name.len()));
            *count += 1;
            // One letter has few others.
            if name.len() == 1 || (!self.words.contains_key(&new) && new != name) {
                break new;
            }
        };
        self.stand_ins.insert(name.to_vec(), (kind, new.clone()));
        new
    }

    /// Replaces a name in place.
    pub(super) fn replace(&mut self, kind: NameKind, name: &mut [u8]) {
        let kind = self.words.get(name).copied().unwrap_or(kind);
        let new = self.stand_in(kind, name);
        name.copy_from_slice(&new);
    }

    /// Replaces the words of a text; in data that is no text, only long ones.
    pub(super) fn replace_words(&mut self, text: &mut [u8], is_text: bool) {
        let words = std::mem::take(&mut self.words);
        // In reverse order, the longer comes first of two that begin alike.
        for (word, kind) in words.iter().rev().filter(|(word, _)| is_text || word.len() >= LEAST_IN_OPAQUE) {
            let mut from = 0;
            while let Some(Range { start: at, end }) = find(text, word, from) {
                let is_alone = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
                let before = at.checked_sub(1).and_then(|before| text.get(before));
                // What the user names is replaced within longer words, too.
                if *kind == NameKind::Word || (is_alone(before) && is_alone(text.get(end))) {
                    // Written in another case it is the same name; percent-encoded it is longer, and so is what stands for it.
                    let written = if end - at == word.len() { word.clone() } else { text[at..end].to_vec() };
                    let new = self.stand_in(*kind, &written);
                    text[at..end].copy_from_slice(&new);
                }
                from = end;
            }
        }
        self.words = words;
    }

    /// Replaces what was replaced elsewhere, where it is a word in data that is no text.
    pub(super) fn replace_known(&self, data: &mut [u8]) {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        for word in data.chunk_by_mut(|a, b| is_word(a) == is_word(b)).filter(|word| word.len() >= LEAST_IN_OPAQUE) {
            if let Some((_, new)) = self.stand_ins.get(&*word) {
                word.copy_from_slice(new);
            }
        }
    }

    /// Replaces the name of a machine, which need not be a word.
    pub fn replace_host(&mut self, name: &mut [u8]) {
        if !is_harmless(name) {
            self.replace(NameKind::Host, name);
        }
    }
}

fn is_harmless(name: &[u8]) -> bool {
    let is_number = name.iter().all(u8::is_ascii_digit);
    is_number || HARMLESS.iter().any(|harmless| harmless.as_bytes().eq_ignore_ascii_case(name))
}

/// Where a word is in a text, in any case, and with any of its letters percent-encoded.
fn find(text: &[u8], word: &[u8], from: usize) -> Option<Range<usize>> {
    let first = word.first()?.to_ascii_lowercase();
    let last = text.len().checked_sub(word.len())?;
    let may_begin = |at: &usize| text[*at] == b'%' || text[*at].to_ascii_lowercase() == first;
    (from..=last).filter(may_begin).find_map(|at| Some(at..end_of(text, word, at)?))
}

/// Where a word ends that begins here.
fn end_of(text: &[u8], word: &[u8], mut at: usize) -> Option<usize> {
    for letter in word {
        let byte = *text.get(at)?;
        let (decoded, length) = match (byte, encoded(text, at)) {
            (b'%', Some(decoded)) if *letter != b'%' => (decoded, 3),
            _ => (byte, 1),
        };
        decoded.eq_ignore_ascii_case(letter).then_some(())?;
        at += length;
    }
    Some(at)
}

/// The byte that `%2f` stands for.
fn encoded(text: &[u8], at: usize) -> Option<u8> {
    let digits = std::str::from_utf8(text.get(at + 1..at + 3)?).ok()?;
    u8::from_str_radix(digits, 16).ok()
}

/// Keeps bytes that are no text: that a text is damaged is counted.
fn as_damaged_as(name: &[u8], mut new: Vec<u8>) -> Vec<u8> {
    let mut at = 0;
    for chunk in name.utf8_chunks() {
        at += chunk.valid().len();
        let end = at + chunk.invalid().len();
        new[at..end].copy_from_slice(chunk.invalid());
        at = end;
    }
    new
}

/// `n0007` for the eighth name of five letters.
fn numbered(count: usize, len: usize) -> Vec<u8> {
    let mut new = vec![b'0'; len];
    let mut rest = count;
    for digit in new.iter_mut().skip(1).rev() {
        *digit = DIGITS[rest % DIGITS.len()];
        rest /= DIGITS.len();
    }
    if let Some(first) = new.first_mut() {
        // `n`, then other letters where all numbers are used.
        *first = LETTERS[rest % LETTERS.len()];
    }
    new
}
