//! Finds names in a text: folders and files, people, addresses.

use std::ops::Range;

use super::names::NameKind;
use super::network;

/// Endings of files that paths are recognised by, and that stay.
const ENDINGS: &[&str] = &[
    "py",
    "pyc",
    "ipynb",
    "cc",
    "cpp",
    "cxx",
    "c",
    "h",
    "hpp",
    "cu",
    "rs",
    "go",
    "so",
    "sh",
    "json",
    "jsonl",
    "yaml",
    "yml",
    "toml",
    "txt",
    "csv",
    "pb",
    "pbtxt",
    "hlo",
    "mlir",
    "npz",
    "npy",
    "bin",
    "tfrecord",
    "array_record",
    "whl",
    "bazel",
];
/// Folders that every machine has.
const COMMON: &[&str] = &[
    "usr",
    "local",
    "lib",
    "lib64",
    "bin",
    "opt",
    "home",
    "Users",
    "tmp",
    "var",
    "mnt",
    "proc",
    "dev",
    "etc",
    "root",
    "site-packages",
    "dist-packages",
    "external",
    "third_party",
    "src",
    "python",
    "env",
    "venv",
    ".venv",
];
/// Packages that everybody has; what is inside of them is no secret.
const PACKAGES: &[&str] = &[
    "jax",
    "jaxlib",
    "flax",
    "optax",
    "orbax",
    "chex",
    "numpy",
    "scipy",
    "torch",
    "torch_xla",
    "tensorflow",
    "keras",
    "xla",
    "tsl",
    "libtpu",
    "pallas",
    "haiku",
    "equinox",
    "grain",
    "maxtext",
    "MaxText",
    "transformers",
    "vllm",
    "com_google_absl",
    "absl",
    "concurrent",
    "threading.py",
    "runpy.py",
];
/// Files of JAX and Python, of which the Python tracer records no folder; reports know some of them.
const KNOWN_FILES: &[&str] = &[
    "api.py",
    "api_util.py",
    "array.py",
    "batching.py",
    "compilation_cache.py",
    "compiler.py",
    "config.py",
    "contextlib.py",
    "core.py",
    "custom_derivatives.py",
    "dispatch.py",
    "functools.py",
    "iterator_ops.py",
    "lax.py",
    "linear_util.py",
    "mlir.py",
    "numpy.py",
    "partial_eval.py",
    "pjit.py",
    "profiler.py",
    "pxla.py",
    "queue.py",
    "random.py",
    "runpy.py",
    "threading.py",
    "traceback_util.py",
    "tree_util.py",
    "ufuncs.py",
    "util.py",
    "xla_bridge.py",
];
/// Folders in which packages lie.
const HOMES_OF_PACKAGES: &[&str] = &["site-packages", "dist-packages", "external", "third_party"];

/// Endings by which a file is recognised without a folder: the others end other words, too.
const SURE_ENDINGS: &[&str] = &[
    "py", "pyc", "ipynb", "cc", "cpp", "json", "yaml", "yml", "toml", "tfrecord",
];

fn is_any(of: &[&str], name: &[u8]) -> bool {
    of.iter().any(|one| one.as_bytes() == name)
}

fn ends_word(byte: u8) -> bool {
    byte <= b' ' || b"\"'`()[]{}<>,;|=&$#!?*".contains(&byte)
}

/// Texts within data that is no text. Shorter ones are there by chance.
pub(super) fn printable(data: &[u8]) -> Vec<Range<usize>> {
    const LEAST: usize = 8;
    let is_text = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    let runs = data
        .chunk_by(|a, b| is_text(a) == is_text(b))
        .scan(0, |position, run| {
            *position += run.len();
            Some((*position - run.len()..*position, run))
        });
    runs.filter(|(range, run)| range.len() >= LEAST && run.first().is_some_and(is_text))
        .map(|(range, _)| range)
        .collect()
}

/// Names of paths that follow other letters. In data, the length of a text stands before it and may look like a letter.
pub(super) fn names_behind_letters(text: &[u8]) -> Vec<Range<usize>> {
    let of_word = |word: Range<usize>| {
        let slash = text[word.clone()]
            .iter()
            .position(|&byte| byte == b'/')
            .filter(|&index| index > 0)?;
        let parts = components(text, word.start + slash..word.end);
        let is_rooted = parts.len() > 2 && is_any(COMMON, &text[parts[1].clone()]);
        is_rooted.then(|| names_of_path(text, &parts, false))
    };
    words(text)
        .filter_map(of_word)
        .flatten()
        .filter(|part| !part.is_empty())
        .collect()
}

/// The parts of a text between spaces, quotes and brackets.
fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut position = 0;
    std::iter::from_fn(move || {
        let start = position
            + text
                .get(position..)?
                .iter()
                .position(|&byte| !ends_word(byte))?;
        let len = text[start..]
            .iter()
            .position(|&byte| ends_word(byte))
            .unwrap_or(text.len() - start);
        position = start + len;
        Some(start..position)
    })
}

/// The words of all lines. In JSON, the end of a line is an escape: what follows it is not part of the word before.
fn words_of_lines(text: &[u8], is_json: bool) -> impl Iterator<Item = Range<usize>> {
    let mut lines = Vec::new();
    let (mut start, mut position) = (0, 0);
    while let (true, Some(&byte)) = (is_json, text.get(position)) {
        let is_end = byte == b'\\' && matches!(text.get(position + 1), Some(b'n' | b'r' | b't'));
        if is_end {
            lines.push(start..position);
            start = position + 2;
        }
        // The second of two backslashes begins no escape.
        position += if byte == b'\\' { 2 } else { 1 };
    }
    lines.push(start.min(text.len())..text.len());
    lines.into_iter().flat_map(move |line| {
        let begin = line.start;
        words(&text[line]).map(move |word| begin + word.start..begin + word.end)
    })
}

/// The length of a slash or backslash at the beginning; percent-encoded ones have three letters.
fn separator(text: &[u8]) -> usize {
    match text {
        [b'/' | b'\\', ..] => 1,
        [b'%', b'2', b'f' | b'F', ..] | [b'%', b'5', b'c' | b'C', ..] => 3,
        _ => 0,
    }
}

/// Where the host of an address begins in a word: after `://`, which can be percent-encoded.
fn after_scheme(word: &[u8]) -> Option<usize> {
    let plain = word
        .windows(3)
        .position(|window| window == b"://")
        .map(|start| start + 3);
    plain.or_else(|| {
        word.windows(9)
            .position(|window| window.eq_ignore_ascii_case(b"%3a%2f%2f"))
            .map(|start| start + 9)
    })
}

/// The parts of a word between slashes.
fn components(text: &[u8], word: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = word.start;
    for position in word.clone() {
        let length = separator(&text[position..word.end]);
        if length > 0 && position >= start {
            parts.push(start..position);
            start = position + length;
        }
    }
    parts.push(start..word.end);
    parts
}

/// A component without a line number (`train.py:12:3`) and a final dot.
fn without_line(text: &[u8], mut part: Range<usize>) -> Range<usize> {
    while part.end > part.start && matches!(text[part.end - 1], b':' | b'.' | b'0'..=b'9') {
        let Some(colon) = text[part.clone()].iter().rposition(|&byte| byte == b':') else {
            break;
        };
        if !text[part.start + colon + 1..part.end]
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'.')
        {
            break;
        }
        part.end = part.start + colon;
    }
    while part.end > part.start && text[part.end - 1] == b'.' {
        part.end -= 1;
    }
    part
}

/// Where the ending of a file name begins, with its dot.
fn ending(name: &[u8]) -> Option<usize> {
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    (dot > 0 && is_any(ENDINGS, &name[dot + 1..])).then_some(dot)
}

/// Where the components of a path begin, if the word is one.
fn path(text: &[u8], word: &Range<usize>) -> Option<(Vec<Range<usize>>, bool)> {
    let bytes = &text[word.clone()];
    if let Some(scheme_end) = after_scheme(bytes) {
        return Some((components(text, word.start + scheme_end..word.end), true));
    }
    let parts = components(text, word.clone());
    let first = parts.iter().find(|part| !part.is_empty()).cloned()?;
    let last = without_line(text, parts.last().cloned().unwrap_or_default());
    let has_ending = ending(&text[last.clone()]).is_some_and(|dot| {
        parts.len() > 1 || is_any(SURE_ENDINGS, &text[last.start + dot + 1..last.end])
    });
    let has_drive =
        bytes.get(1) == Some(&b':') && bytes[0].is_ascii_alphabetic() && parts.len() > 1;
    // `/device:TPU:0` and `/job:worker/task:0` are no paths; `a/b/c` may be a scope.
    let names_device = text[first].contains(&b':') && !has_drive;
    // The rest of a scope: `jit(step)/layer/dot`.
    let goes_on = word
        .start
        .checked_sub(1)
        .is_some_and(|before| b")]}>".contains(&text[before]));
    let is_network = bytes.starts_with(br"\\");
    let is_rooted = matches!(bytes[0], b'/' | b'~' | b'.')
        || is_network
        || (bytes[0] == b'%' && separator(bytes) > 0);
    let is_absolute = is_rooted && parts.len() > 2 && !bytes.starts_with(b"...");
    let is_absolute = is_absolute && !goes_on;
    (has_ending || has_drive || (is_absolute && !names_device)).then_some((parts, false))
}

pub(super) fn names(text: &[u8], is_json: bool) -> Vec<(Range<usize>, NameKind)> {
    let mut found_names = Vec::new();
    let (mut end_of_query, mut before) = (0, None);
    for word in words_of_lines(text, is_json) {
        if word.start < end_of_query {
            continue;
        }
        let is_named = before
            .replace(word.clone())
            .is_some_and(|key| follows_key(text, &key, &word));
        if let Some((parts, is_url)) = path(text, &word) {
            if is_url {
                let (values, end) = network::query(text, word.end);
                found_names.extend(values.into_iter().map(|value| (value, NameKind::Address)));
                end_of_query = end;
            }
            let names = names_of_path(text, &parts, is_url).into_iter();
            let names = names.map(|part| {
                if is_json {
                    after_escape(text, part)
                } else {
                    part
                }
            });
            found_names.extend(
                names
                    .filter(|part| !part.is_empty())
                    .map(|part| (part, NameKind::Path)),
            );
        } else if let Some(parts) = mail(text, &word) {
            found_names.extend(parts.into_iter().map(|part| (part, NameKind::User)));
        } else if is_named {
            found_names.push((word, NameKind::User));
        } else if let Some(number) =
            ipv4(text, word.clone()).or_else(|| network::number(text, word.clone()))
        {
            found_names.push((number, NameKind::Address));
        } else {
            found_names.extend(network::host(text, word).map(|name| (name, NameKind::Host)));
        }
    }
    found_names
}

/// Whether a word is the value of a key that stands for a person or machine.
fn follows_key(text: &[u8], key: &Range<usize>, word: &Range<usize>) -> bool {
    let between = text.get(key.end..word.start).unwrap_or_default();
    network::is_key(text, key) && matches!(between, b"=" | b"=\"" | b"='" | b"=\\\"")
}

/// A name in JSON without the letters of an escape before it: the `n` of `\\n`, the `u00e9` of `\\u00e9`.
fn after_escape(text: &[u8], part: Range<usize>) -> Range<usize> {
    let backslashes = text[..part.start]
        .iter()
        .rev()
        .take_while(|&&byte| byte == b'\\')
        .count();
    let escape = match text.get(part.start) {
        _ if backslashes % 2 == 0 => 0,
        Some(b'u') => 5,
        _ => 1,
    };
    (part.start + escape).min(part.end)..part.end
}

/// The components of a path that are not the same everywhere.
fn names_of_path(text: &[u8], parts: &[Range<usize>], is_url: bool) -> Vec<Range<usize>> {
    let mut names = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let part = without_line(text, part.clone());
        let name = &text[part.clone()];
        let before = index
            .checked_sub(1)
            .map(|before| &text[parts[before].clone()]);
        let may_be_package =
            before.is_none_or(|before| before.is_empty() || is_any(HOMES_OF_PACKAGES, before));
        if !is_url && may_be_package && is_any(PACKAGES, name) {
            // The rest is inside a package that everybody has.
            return names;
        }
        let has_letters = name.iter().any(u8::is_ascii_alphanumeric) || !name.is_ascii();
        let is_drive = parts[index].len() == 2 && text[parts[index].end - 1] == b':';
        let is_python = name.starts_with(b"python3") && name.len() <= "python3.99".len();
        let is_known = is_any(COMMON, name) || (parts.len() == 1 && is_any(KNOWN_FILES, name));
        if !has_letters || is_drive || is_python || is_known {
            continue;
        }
        let end = ending(name).map_or(part.end, |dot| part.start + dot);
        names.push(part.start..end);
    }
    names
}

/// Both sides of a mail address.
fn mail(text: &[u8], word: &Range<usize>) -> Option<[Range<usize>; 2]> {
    let sign = word.start + text[word.clone()].iter().position(|&byte| byte == b'@')?;
    let is_name = |range: Range<usize>| {
        text.get(range)
            .is_some_and(|name| name.iter().any(u8::is_ascii_alphanumeric))
    };
    let has_dot = text[sign..word.end].contains(&b'.');
    (has_dot && is_name(word.start..sign) && is_name(sign + 1..word.end))
        .then(|| [word.start..sign, sign + 1..word.end])
}

/// `10.0.0.2`, with or without a port.
fn ipv4(text: &[u8], word: Range<usize>) -> Option<Range<usize>> {
    let bytes = &text[word.clone()];
    let host = bytes.split(|&byte| byte == b':').next()?;
    let numbers: Vec<&[u8]> = host.split(|&byte| byte == b'.').collect();
    let is_byte =
        |number: &&[u8]| std::str::from_utf8(number).is_ok_and(|text| text.parse::<u8>().is_ok());
    let is_local = host == b"127.0.0.1" || host == b"0.0.0.0";
    (numbers.len() == 4 && numbers.iter().all(is_byte) && !is_local)
        .then(|| word.start..word.start + host.len())
}

/// Names of people and machines in a text, which are then found in all texts: what comes after `/home/` and `/Users/`,
/// what a text names as such, names with a domain.
pub(super) fn people_and_machines(
    text: &[u8],
    is_json: bool,
) -> impl Iterator<Item = (Range<usize>, NameKind)> {
    let mut before: Option<Range<usize>> = None;
    words_of_lines(text, is_json).filter_map(move |word| {
        let key = before.replace(word.clone());
        let parts = components(text, word.clone());
        let home = parts
            .iter()
            .position(|part| is_any(&["home", "Users"], &text[part.clone()]));
        // `/home/NAME`, not `a/home/b`.
        let is_root = |home: usize| {
            home >= 1
                && (parts[home - 1].is_empty() || text[parts[home - 1].clone()].ends_with(b":"))
        };
        let user = home
            .filter(|&home| is_root(home))
            .and_then(|home| parts.get(home + 1));
        if let Some(user) = user.filter(|user| !user.is_empty()) {
            return Some((user.clone(), NameKind::User));
        }
        if key.is_some_and(|key| follows_key(text, &key, &word)) && path(text, &word).is_none() {
            return Some((word, NameKind::User));
        }
        let is_plain = path(text, &word).is_none()
            && mail(text, &word).is_none()
            && ipv4(text, word.clone()).is_none();
        network::host(text, word)
            .filter(|_| is_plain)
            .map(|name| (name, NameKind::Host))
    })
}
