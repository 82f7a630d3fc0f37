//! What stands for a name: the same everywhere, another one for each name, and as long as the name.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    Host,
    User,
    /// A folder or file.
    Path,
    /// A number on the network.
    Address,
    /// What the user wants replaced.
    Word,
}

impl NameKind {
    pub const ALL: [Self; 5] = [
        Self::Host,
        Self::User,
        Self::Path,
        Self::Address,
        Self::Word,
    ];

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
const HARMLESS: [&str; 10] = [
    "localhost",
    "root",
    "user",
    "host",
    "home",
    "worker",
    "tpu",
    "cpu",
    "local",
    "runner",
];
/// Words of which profilers and compilers make the names of events: a machine or person with such a name is replaced
/// where it is named as one, and not in the names of events.
const ORDINARY: [&str; 48] = [
    "async",
    "buffer",
    "call",
    "chip",
    "client",
    "compile",
    "copy",
    "core",
    "custom",
    "data",
    "device",
    "eval",
    "execute",
    "fusion",
    "gather",
    "infeed",
    "input",
    "jax",
    "jit",
    "job",
    "kernel",
    "launch",
    "layer",
    "loop",
    "main",
    "master",
    "matmul",
    "memory",
    "model",
    "module",
    "node",
    "outfeed",
    "output",
    "profile",
    "profiler",
    "program",
    "python",
    "reduce",
    "scatter",
    "server",
    "step",
    "synthetic",
    "task",
    "thread",
    "trace",
    "train",
    "transfer",
    "xla",
];
/// A shorter name is part of other words.
const LEAST: usize = 3;
/// In data that is no text, a shorter name may be there by chance.
const LEAST_IN_OPAQUE: usize = 6;
const LETTERS: &[u8; 52] = b"nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM";
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The first letters of a word in lower case; zeros behind a shorter one.
type Beginning = [u8; LEAST];

/// Names and what stands for them.
#[derive(Debug, Default)]
pub struct Names {
    /// In every text these are replaced.
    words: BTreeMap<Vec<u8>, NameKind>,
    /// The words by their first letters, the longest first.
    by_beginning: HashMap<Beginning, Vec<Vec<u8>>>,
    stand_ins: BTreeMap<Vec<u8>, (NameKind, Vec<u8>)>,
    /// Names so far, by their length.
    counts: BTreeMap<usize, usize>,
}

impl Names {
    /// Replaces a name in every text, where it is a word.
    pub fn learn(&mut self, kind: NameKind, name: &[u8]) {
        let is_ordinary = || is_any(&HARMLESS, name) || is_any(&ORDINARY, name);
        if kind == NameKind::Word || (name.len() >= LEAST && !is_number(name) && !is_ordinary()) {
            let Entry::Vacant(new) = self.words.entry(name.to_vec()) else {
                return;
            };
            new.insert(kind);
            let alike = self.by_beginning.entry(beginning(name, 0).0).or_default();
            let index = alike.partition_point(|other| other.len() >= name.len());
            alike.insert(index, name.to_vec());
        }
    }

    /// What was replaced, and by what, in the order of the names.
    pub fn replaced(&self) -> impl Iterator<Item = (NameKind, &[u8], &[u8])> {
        self.stand_ins
            .iter()
            .map(|(name, (kind, stand_in))| (*kind, name.as_slice(), stand_in.as_slice()))
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
        let mut position = 0;
        while position < text.len() {
            let Some((word, kind, end)) = self.word_at(text, position, is_text) else {
                position += 1;
                continue;
            };
            // Written in another case it is the same name; percent-encoded it is longer, and so is what stands for it.
            let written = if end - position == word.len() {
                word
            } else {
                text[position..end].to_vec()
            };
            let new = self.stand_in(kind, &written);
            text[position..end].copy_from_slice(&new);
            position = end;
        }
    }

    /// The word that begins here, and where it ends.
    fn word_at(
        &self,
        text: &[u8],
        position: usize,
        is_text: bool,
    ) -> Option<(Vec<u8>, NameKind, usize)> {
        let (mut beginning, count) = beginning(text, position);
        for length in (1..=count).rev() {
            beginning[length..].fill(0);
            for word in self.by_beginning.get(&beginning).into_iter().flatten() {
                let Some(end) = end_of(text, word, position)
                    .filter(|_| is_text || word.len() >= LEAST_IN_OPAQUE)
                else {
                    continue;
                };
                let kind = *self.words.get(word)?;
                // What the user names is replaced within longer words, too.
                if kind == NameKind::Word
                    || (!goes_on_before(text, position) && !goes_on_behind(text, end))
                {
                    return Some((word.clone(), kind, end));
                }
            }
        }
        None
    }

    /// Replaces what was replaced elsewhere, where it is a word in data that is no text.
    pub(super) fn replace_known(&self, data: &mut [u8]) {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        for word in data
            .chunk_by_mut(|a, b| is_word(a) == is_word(b))
            .filter(|word| word.len() >= LEAST_IN_OPAQUE)
        {
            if let Some((_, new)) = self.stand_ins.get(&*word) {
                word.copy_from_slice(new);
            }
        }
    }

    /// Replaces the name of a machine, which need not be a word.
    pub fn replace_host(&mut self, name: &mut [u8]) {
        if !is_number(name) && !is_any(&HARMLESS, name) {
            self.replace(NameKind::Host, name);
        }
    }
}

fn is_number(name: &[u8]) -> bool {
    name.iter().all(u8::is_ascii_digit)
}

fn is_any(words: &[&str], name: &[u8]) -> bool {
    words
        .iter()
        .any(|word| word.as_bytes().eq_ignore_ascii_case(name))
}

/// Whether a letter or digit stands before a place; percent-encoded, its own digits are none.
fn goes_on_before(text: &[u8], position: usize) -> bool {
    let before = position
        .checked_sub(3)
        .filter(|before| text[*before] == b'%')
        .and_then(|before| encoded(text, before));
    let before = before.or_else(|| text.get(position.checked_sub(1)?).copied());
    before.is_some_and(|byte| byte.is_ascii_alphanumeric())
}

fn goes_on_behind(text: &[u8], position: usize) -> bool {
    letter(text, position).is_some_and(|(byte, _)| byte.is_ascii_alphanumeric())
}

/// A letter of a text, which can be percent-encoded, and its length.
fn letter(text: &[u8], position: usize) -> Option<(u8, usize)> {
    match *text.get(position)? {
        b'%' => Some(encoded(text, position).map_or((b'%', 1), |decoded| (decoded, 3))),
        byte => Some((byte, 1)),
    }
}

/// The first letters from a place on, and how many there are.
fn beginning(text: &[u8], mut position: usize) -> (Beginning, usize) {
    let (mut beginning, mut count) = (Beginning::default(), 0);
    for place in &mut beginning {
        let Some((byte, length)) = letter(text, position) else {
            break;
        };
        *place = byte.to_ascii_lowercase();
        position += length;
        count += 1;
    }
    (beginning, count)
}

/// Where a word ends that begins here.
fn end_of(text: &[u8], word: &[u8], mut position: usize) -> Option<usize> {
    for letter in word {
        let byte = *text.get(position)?;
        let (decoded, length) = match (byte, encoded(text, position)) {
            (b'%', Some(decoded)) if *letter != b'%' => (decoded, 3),
            _ => (byte, 1),
        };
        decoded.eq_ignore_ascii_case(letter).then_some(())?;
        position += length;
    }
    Some(position)
}

/// The byte that `%2f` stands for.
fn encoded(text: &[u8], position: usize) -> Option<u8> {
    let digits = std::str::from_utf8(text.get(position + 1..position + 3)?).ok()?;
    u8::from_str_radix(digits, 16).ok()
}

/// Keeps bytes that are no text: that a text is damaged is counted.
fn as_damaged_as(name: &[u8], mut new: Vec<u8>) -> Vec<u8> {
    let mut position = 0;
    for chunk in name.utf8_chunks() {
        position += chunk.valid().len();
        let end = position + chunk.invalid().len();
        new[position..end].copy_from_slice(chunk.invalid());
        position = end;
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
