//! The imports of a source file, read from its text without a parser.

use std::collections::BTreeSet;

pub(super) fn absolute(module: &[String], path: &[String]) -> Vec<String> {
    if path[0] == "crate" {
        return path[1..].to_vec();
    }
    let ups = path.iter().take_while(|part| *part == "super").count();
    let mut target = module[..module.len().saturating_sub(ups)].to_vec();
    target.extend_from_slice(&path[ups..]);
    target
}

/// Absolute paths that a module uses, by `crate`, `super` or the name of a child, and those that it re-exports.
pub(super) fn imports(module: &[String], text: &str) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let tokens = tokens(text);
    let children: BTreeSet<&str> = tokens
        .windows(3)
        .filter(|three| three[0] == "mod" && three[2] == ";")
        .map(|three| three[1])
        .collect();
    let (mut used, mut on, mut at) = (Vec::new(), Vec::new(), 0);
    let mut hands_on = false;
    while at < tokens.len() {
        let is_first = at == 0 || tokens[at - 1] != "::";
        match tokens[at] {
            "use" => hands_on = at > 0 && matches!(tokens[at - 1], "pub" | ")"),
            ";" => hands_on = false,
            name if is_first && tokens.get(at + 1) == Some(&"::") => {
                let is_own = name == "self" || children.contains(name);
                if is_own || matches!(name, "crate" | "super") {
                    let mut paths = Vec::new();
                    at = tree(&tokens, at, &[], &mut paths);
                    let whole = |path: &Vec<String>| {
                        if is_own {
                            [module, path].concat()
                        } else {
                            absolute(module, path)
                        }
                    };
                    (if hands_on { &mut on } else { &mut used }).extend(paths.iter().map(whole));
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    (used, on)
}

/// The text without comments, string and character literals, and test code.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(hashes) = raw_hashes(rest, &out) {
            let end = format!("\"{}", "#".repeat(hashes));
            let from = hashes + 2;
            rest[from..]
                .find(&end)
                .map_or(rest.len(), |at| from + at + end.len())
        } else if first == '"' {
            quoted(rest, '"')
        } else if first == '\'' && is_character(rest) {
            quoted(rest, '\'')
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        out.push(' ');
        rest = &rest[skipped..];
    }
    without_tests(&out)
}

/// Number of `#` of a raw string that begins here.
fn raw_hashes(rest: &str, before: &str) -> Option<usize> {
    let after = rest
        .strip_prefix('r')
        .filter(|_| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))?;
    let hashes = after.chars().take_while(|c| *c == '#').count();
    after[hashes..].starts_with('"').then_some(hashes)
}

/// Whether this is a character literal, not a lifetime.
fn is_character(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

/// Length of a literal, including both quotes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The text without items below `#[cfg(test)]`.
fn without_tests(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("#[cfg(test)]") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let mut depth = 0_usize;
        let end = rest.char_indices().find(|(_, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && matches!(c, '}' | ';')
        });
        rest = &rest[end.map_or(rest.len(), |(at, _)| at + 1)..];
    }
    out + rest
}

/// Every path that begins with `crate` or `super`, one for each leaf of a tree.
pub(super) fn paths(text: &str) -> Vec<Vec<String>> {
    let tokens = tokens(text);
    let mut out = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let begins = matches!(tokens[at], "crate" | "super") && (at == 0 || tokens[at - 1] != "::");
        if begins && tokens.get(at + 1) == Some(&"::") {
            at = tree(&tokens, at, &[], &mut out);
        } else {
            at += 1;
        }
    }
    out
}

/// Reads one tree from `at`; returns what is after it.
fn tree(tokens: &[&str], mut at: usize, before: &[String], out: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at) {
            Some(&"{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| *token != "}") {
                    at = if tokens[at] == "," {
                        at + 1
                    } else {
                        tree(tokens, at, &path, out)
                    };
                }
                return at + 1;
            }
            Some(&"self" | &"*") => at += 1,
            Some(name) if is_name(name) => {
                path.push((*name).to_owned());
                at += 1;
            }
            _ => {
                // Not a path: skipped.
                at += 1;
            }
        }
        if tokens.get(at) == Some(&"as") {
            at += 2;
        }
        if tokens.get(at) != Some(&"::") {
            out.push(path);
            return at;
        }
        at += 1;
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names, `::`, and single signs.
fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first.is_alphanumeric() || first == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        out.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    out
}
