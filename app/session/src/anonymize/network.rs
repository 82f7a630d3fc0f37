//! Finds what leads to machines and people: names of machines with their domains, numbers on networks, users that a text
//! names as such.

use std::net::Ipv6Addr;
use std::ops::Range;

/// Last parts of names that are only known within an organisation.
const INTERNAL: &[&str] = &[
    "internal",
    "local",
    "lan",
    "corp",
    "intra",
    "intranet",
    "localdomain",
    "private",
    "home",
    "arpa",
];
/// Last parts of names that everybody can ask for; those after the first five end names of modules, too.
const PUBLIC: &[&str] = &[
    "com", "net", "org", "edu", "gov", "io", "dev", "ai", "co", "app", "cloud",
];
const SURE: usize = 5;
/// What a text calls a person or machine before an equals sign.
const KEYS: &[&str] = &[
    "user", "username", "login", "logname", "owner", "author", "hostname",
];

/// A word up to the first of these bytes.
fn head<'a>(text: &'a [u8], word: &Range<usize>, ends: &[u8]) -> Option<&'a str> {
    let mut parts = text[word.clone()].split(|byte| ends.contains(byte));
    std::str::from_utf8(parts.next()?).ok()
}

/// The name of a machine in a word, without its last part: `db-1.acme` of `db-1.acme.com:5432`.
pub(super) fn host(text: &[u8], word: Range<usize>) -> Option<Range<usize>> {
    let head = head(text, &word, b":/\\")?;
    let name = head.trim_end_matches('.').trim_start_matches("*.");
    let start = word.start + head.find(name)?;
    let (front, last) = name.rsplit_once('.')?;
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let labels = front.split('.').count();
    let is = |of: &[&str]| of.iter().any(|one| one.eq_ignore_ascii_case(last));
    let is_host = is(INTERNAL) || is(&PUBLIC[..SURE]) || (is(PUBLIC) && labels > 1);
    (is_host && front.split('.').all(is_label)).then(|| start..start + front.len())
}

/// A number on a network in a word: of IPv6, or of a network card.
pub(super) fn number(text: &[u8], word: Range<usize>) -> Option<Range<usize>> {
    let number = head(text, &word, b"%/")?.trim_end_matches('.');
    // `a::b` is a name of C++.
    let has_digit = number.bytes().any(|byte| byte.is_ascii_digit());
    let is_ipv6 = || {
        number
            .parse::<Ipv6Addr>()
            .is_ok_and(|ip| has_digit && !ip.is_loopback() && !ip.is_unspecified())
    };
    (is_ipv6() || is_card(number)).then(|| word.start..word.start + number.len())
}

/// `02:42:ac:11:00:02`, also with hyphens.
fn is_card(number: &str) -> bool {
    let is_byte = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    [':', '-']
        .iter()
        .any(|&between| number.split(between).count() == 6 && number.split(between).all(is_byte))
}

/// Whether a word says that the one behind its equals sign is a person or machine: `user=`, `--owner=`.
pub(super) fn is_key(text: &[u8], word: &Range<usize>) -> bool {
    let name = text[word.clone()]
        .rsplit(|byte| !byte.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    text.get(word.end) == Some(&b'=')
        && KEYS
            .iter()
            .any(|key| key.as_bytes().eq_ignore_ascii_case(name))
}

/// What follows the path of an address: the values of its query and its fragment, signatures among them.
pub(super) fn query(text: &[u8], from: usize) -> (Vec<Range<usize>>, usize) {
    let is_inside = |byte: &&u8| !(**byte <= b' ' || b"\"'`<>()[]{}|\\".contains(byte));
    let end = from + text[from..].iter().take_while(is_inside).count();
    let mut values = Vec::new();
    if !matches!(text.get(from), Some(b'?' | b'#' | b';')) {
        return (values, from);
    }
    let mut start = from;
    for position in from..=end {
        let ends = position == end || b"?&#;".contains(&text[position]);
        if ends
            || (text[position] == b'=' && text[start..position].iter().all(|byte| is_name(*byte)))
        {
            // A key stays, unless nothing follows it.
            if ends && start < position {
                values.push(start..position);
            }
            start = position + 1;
        }
    }
    (values, end)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(
        find: impl Fn(&[u8], Range<usize>) -> Option<Range<usize>>,
        text: &str,
    ) -> Option<&str> {
        find(text.as_bytes(), 0..text.len()).map(|range| &text[range])
    }

    #[test]
    fn machines_are_known_by_their_domains() {
        for (text, name) in [
            (
                "t1v-n-0.us-central2-b.c.acme-prod.internal",
                "t1v-n-0.us-central2-b.c.acme-prod",
            ),
            ("*.internal", ""),
            ("db.ACME.com:5432", "db.ACME"),
            ("acme.corp/x", "acme"),
            ("build.acme.io.", "build.acme"),
        ] {
            assert_eq!(found(host, text).unwrap_or_default(), name, "{text}");
        }
        for text in [
            "fusion.12",
            "jax.numpy",
            "tf.io",
            "1.5",
            "a..com",
            "train.py",
            "tpu::System.com:x y",
            "com",
        ] {
            assert!(
                found(host, text).is_none_or(|name| text.starts_with(name) && text.contains("com")),
                "{text}"
            );
        }
    }

    #[test]
    fn numbers_of_networks_are_no_names_of_code() {
        for (text, number_of) in [
            ("fe80::1%eth0", "fe80::1"),
            ("2001:db8::8:800:200c:417a/64", "2001:db8::8:800:200c:417a"),
            ("02:42:ac:11:00:02", "02:42:ac:11:00:02"),
            ("02-42-AC-11-00-02", "02-42-AC-11-00-02"),
        ] {
            assert_eq!(found(number, text), Some(number_of));
        }
        for text in [
            "::1",
            "::",
            "a::b",
            "tsl::profiler",
            "12:34:56",
            "1:2",
            "2026-01-31",
        ] {
            assert_eq!(found(number, text), None, "{text}");
        }
    }

    #[test]
    fn values_of_an_address_are_found() {
        let text = "https://h/x?sig=ab%2Bc==&sv=2&bare#part rest";
        let (values, end) = query(text.as_bytes(), 11);
        let values: Vec<&str> = values.into_iter().map(|range| &text[range]).collect();
        assert_eq!(
            (values, &text[end..]),
            (vec!["ab%2Bc==", "2", "bare", "part"], " rest")
        );
    }
}
