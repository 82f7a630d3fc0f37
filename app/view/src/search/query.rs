//! What is searched for, as typed.
//!
//! ```text
//! fusion                  anywhere: name, category, framework name, source, program
//! "all reduce"            as one text
//! /fusion\.\d+/           a regular expression
//! name:fusion cat:copy    in one field; all terms must hold
//! cat:collective          a category of the legend is one, too
//! -name:fusion            not that
//! dur>100us dur<=1ms      how long
//! core:3 track:modules    on which device, on which track
//! ```

use crate::prelude::*;
use regex_lite::{Regex, RegexBuilder};
use trace_model::Label;

/// Field names with their aliases and descriptions.
pub const FIELDS: [(&str, &[&str], &str); 7] = [
    ("name", &["op"], "what the timeline shows"),
    (
        "cat",
        &["category"],
        "the category of the op, as recorded or in the legend",
    ),
    ("module", &["program"], "the program of the op"),
    (
        "scope",
        &["framework", "tf_op"],
        "the name that the framework gave the op",
    ),
    ("source", &["file", "src"], "file and line"),
    (
        "track",
        &["thread", "line"],
        "the track, or a group around it",
    ),
    ("core", &["device"], "the number of the device"),
];

#[derive(Debug, Default)]
pub struct Query {
    terms: Vec<QueryTerm>,
    least: Option<Picos>,
    most: Option<Picos>,
}

#[derive(Debug)]
struct QueryTerm {
    field: Option<&'static str>,
    pattern: TextPattern,
    negated: bool,
}

#[derive(Debug)]
enum TextPattern {
    /// Lower-case text.
    Text(String),
    Regex(Regex),
}

impl TextPattern {
    fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Text(wanted) => text.to_lowercase().contains(wanted),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

impl Query {
    /// Parses a query. The error is a sentence.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut query = Self::default();
        for word in words(text) {
            query.add(&word)?;
        }
        Ok(query)
    }

    fn add(&mut self, word: &str) -> Result<(), String> {
        if let Some(rest) = word
            .strip_prefix("duration")
            .or_else(|| word.strip_prefix("dur"))
            && let Some(operator) = rest.find(['<', '>', ':', '='])
            && operator == 0
        {
            return self.add_duration(rest);
        }
        let (negated, word) = match word.strip_prefix('-') {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, word),
        };
        let named = |name: &str| {
            FIELDS
                .iter()
                .find(|(field, others, _)| *field == name || others.contains(&name))
                .map(|field| field.0)
        };
        // Text with a colon but an unknown field is searched literally: "std::vector" is a name.
        let (field, value) = match word.split_once(':') {
            Some((name, value)) if !value.is_empty() && named(&name.to_lowercase()).is_some() => {
                (named(&name.to_lowercase()), value)
            }
            _ => (None, word),
        };
        let pattern = match value
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'))
        {
            Some(regex) if !regex.is_empty() => {
                let regex = RegexBuilder::new(regex)
                    .case_insensitive(true)
                    .size_limit(1 << 20)
                    .build();
                TextPattern::Regex(
                    regex.map_err(|error| format!("this is no regular expression: {error}"))?,
                )
            }
            _ => TextPattern::Text(value.trim_matches('"').to_lowercase()),
        };
        self.terms.push(QueryTerm {
            field,
            pattern,
            negated,
        });
        Ok(())
    }

    fn add_duration(&mut self, rest: &str) -> Result<(), String> {
        let value = rest.trim_start_matches(['<', '>', '=', ':']);
        let time: Picos = value
            .parse()
            .map_err(|_error| format!("write a time with its unit: dur>100us, not dur{rest}"))?;
        let one = Picos::from_ps(1);
        match &rest[..rest.len() - value.len()] {
            ">" => self.least = Some(time + one),
            ">=" => self.least = Some(time),
            "<" => self.most = Some(time - one),
            "<=" => self.most = Some(time),
            _ => (self.least, self.most) = (Some(time), Some(time)),
        }
        Ok(())
    }

    /// Whether it asks for slices of some lengths only.
    pub fn limits_durations(&self) -> bool {
        self.least.is_some() || self.most.is_some()
    }

    /// Whether a slice of this length matches.
    pub fn allows(&self, dur: Picos) -> bool {
        self.least.is_none_or(|least| dur >= least) && self.most.is_none_or(|most| dur <= most)
    }

    /// Whether the label matches.
    pub fn has_label(&self, model: &TraceModel, classes: &OpClasses, label: Label) -> bool {
        let holds = |term: &QueryTerm| term.has_label(model, classes, label) != term.negated;
        self.terms
            .iter()
            .all(|term| is_track_field(term.field) || holds(term))
    }

    /// Whether the track matches.
    pub fn has_track(&self, model: &TraceModel, track: TrackId) -> bool {
        self.terms
            .iter()
            .all(|term| !is_track_field(term.field) || term.has_track(model, track) != term.negated)
    }
}

fn is_track_field(field: Option<&str>) -> bool {
    matches!(field, Some("track" | "core"))
}

impl QueryTerm {
    fn has_label(&self, model: &TraceModel, classes: &OpClasses, label: Label) -> bool {
        let has = |id| self.pattern.is_in(model.str(id));
        let wants = |field| self.field.is_none() || self.field == Some(field);
        if wants("name") && has(label.name) {
            return true;
        }
        let Some(id) = label.op else { return false };
        let op = model.op(id);
        // Only where a category is asked for: "vector" alone must not find every op of that kind.
        let in_legend =
            || self.field.is_some() && self.pattern.is_in(classes.class(id).group.title());
        (wants("cat") && (self.pattern.is_in(classes.category(id)) || in_legend()))
            || (wants("scope") && op.framework_name.is_some_and(has))
            || (wants("source") && op.source.is_some_and(has))
            || (wants("module")
                && op
                    .program
                    .is_some_and(|program| has(model.program(program).name)))
    }

    fn has_track(&self, model: &TraceModel, track: TrackId) -> bool {
        let mut group = Some(model.track(track).group);
        if self.field == Some("track") && self.pattern.is_in(model.str(model.track(track).name)) {
            return true;
        }
        while let Some(id) = group {
            let around = model.group(id);
            let fits = match (self.field, around.kind) {
                (Some("core"), GroupKind::TensorCore { ordinal } | GroupKind::Gpu { ordinal }) => {
                    match &self.pattern {
                        // 1 must not match 12.
                        TextPattern::Text(wanted) => ordinal.to_string() == *wanted,
                        TextPattern::Regex(regex) => regex.is_match(&ordinal.to_string()),
                    }
                }
                (Some("core"), _) => false,
                _ => self.pattern.is_in(model.str(around.name)),
            };
            if fits {
                return true;
            }
            group = around.parent;
        }
        false
    }
}

/// Splits at spaces outside quotes and regular expressions.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut within: Option<char> = None;
    let mut before = ' ';
    for c in text.chars() {
        let opens = matches!(c, '"' | '/') && matches!(before, ' ' | ':' | '-');
        match within {
            Some(quote) if c == quote && before != '\\' => within = None,
            None if opens => within = Some(c),
            None if c.is_whitespace() => {
                words.push(String::new());
                before = ' ';
                continue;
            }
            _ => {}
        }
        words.last_mut().into_iter().for_each(|word| word.push(c));
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_splits_words_outside_quotes_and_patterns() {
        assert_eq!(
            words(r#"  a "b c" name:"d e" /f g\/h/ i/j "#),
            ["a", "\"b c\"", "name:\"d e\"", "/f g\\/h/", "i/j"]
        );
    }

    #[test]
    fn durations_are_exact_and_mistakes_are_explained() {
        let query = Query::read("dur>=1us dur<2us").unwrap();
        let allows = |ps| query.allows(Picos::from_ps(ps));
        assert!(!allows(999_999) && allows(1_000_000) && allows(1_999_999) && !allows(2_000_000));
        assert!(Query::read("dur>much").unwrap_err().contains("dur>100us"));
        assert!(
            Query::read("/(/")
                .unwrap_err()
                .contains("regular expression")
        );
        // Not a field of ours.
        assert_eq!(Query::read("std::vector during").unwrap().terms.len(), 2);
    }
}
