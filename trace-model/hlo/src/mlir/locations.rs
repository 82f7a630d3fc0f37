//! Where an op comes from: `#loc3 = loc("dot_general"(#loc20))`.

use std::collections::HashMap;

use super::scan;

/// Locations that refer to others are followed this far.
const MAX_STEPS: usize = 64;

/// The named locations of a text.
pub(super) struct Locations<'a> {
    named: HashMap<&'a str, &'a str>,
    /// What was resolved before: many ops share a location.
    known: HashMap<&'a str, SourceOfOp<'a>>,
}

/// Framework name, file and line; empty where unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SourceOfOp<'a> {
    pub name: &'a str,
    pub file: &'a str,
    pub line: u32,
}

impl<'a> Locations<'a> {
    pub fn of(text: &'a str) -> Self {
        let rows = text.lines().filter(|line| line.starts_with("#loc"));
        let named = rows.filter_map(|row| {
            let (name, rest) = row.split_once(" = ")?;
            Some((name.trim(), scan::inside(rest, rest.find('(')?).0))
        });
        Self {
            named: named.collect(),
            known: HashMap::new(),
        }
    }

    /// The name nearest to the op, and the innermost file.
    pub fn resolve(&mut self, location: &'a str) -> SourceOfOp<'a> {
        if let Some(&known) = self.known.get(location) {
            return known;
        }
        let source = self.followed(location);
        self.known.insert(location, source);
        source
    }

    fn followed(&self, location: &'a str) -> SourceOfOp<'a> {
        let (mut text, mut out) = (location.trim(), SourceOfOp::default());
        for _ in 0..MAX_STEPS {
            if let Some(&named) = self.named.get(text) {
                text = named.trim();
            } else if let Some(rest) = text.strip_prefix('"') {
                let Some((quoted, rest)) = rest.split_once('"') else {
                    return out;
                };
                if let Some(place) = rest.strip_prefix(':') {
                    let line = place.split(':').next().unwrap_or(place);
                    (out.file, out.line) = (quoted, line.parse().unwrap_or(0));
                    return out;
                }
                if out.name.is_empty() {
                    out.name = quoted.trim_end_matches(':');
                }
                let Some(open) = rest.find('(') else {
                    return out;
                };
                text = scan::inside(rest, open).0.trim();
            } else if let Some(callee) = text.strip_prefix("callsite(") {
                text = callee.split(" at ").next().unwrap_or(callee).trim();
            } else if let Some(list) = text.strip_prefix("fused") {
                let list = list.split('[').nth(1).unwrap_or_default();
                text = list.split([',', ']']).next().unwrap_or_default().trim();
            } else {
                return out;
            }
        }
        out
    }
}
