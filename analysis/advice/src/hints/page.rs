//! The page of documentation that each rule has.
//!
//! ```text
//! # Title
//! What it means, in a paragraph.
//! ## Cause
//! ## Check
//! ## Fix
//! The first thing to do, in one sentence that fits all.
//!
//! What else fits all. Then, where a setting or a few lines cure the cause, one block of code to copy; its lines do not
//! begin with `#`, which begins a heading. Then, where they differ, the same for each:
//! ### JAX
//! ### PyTorch/XLA
//! ### Pallas
//! ## Example
//! ## Source
//! ```

use facts::Framework;
use trace_model::joined;

/// A page, cut into its sections.
#[derive(Clone, Copy, Debug)]
pub struct Page(pub &'static str);

/// Sections that every page has.
pub const SECTIONS: [&str; 5] = ["Cause", "Check", "Fix", "Example", "Source"];

/// Begins and ends a block of code.
const FENCE: &str = "```";

/// Each with the space that follows it.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.find(". ").map_or(rest.len(), |end| end + 2);
        let (sentence, others) = rest.split_at_checked(end)?;
        rest = others;
        (!sentence.is_empty()).then_some(sentence)
    })
}

fn words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    joined(words, " ")
}

impl Page {
    /// The text under a heading, down to the next; `None` without the heading.
    pub fn section(&self, heading: &str) -> Option<&'static str> {
        let level = |line: &str| line.bytes().take_while(|&byte| byte == b'#').count();
        let mut begin = None;
        let mut position = 0;
        for line in self.0.split_inclusive('\n') {
            if level(line) > 0 {
                if let Some(begin) = begin {
                    return self.0.get(begin..position).map(str::trim);
                }
                if level(line) > 1 && line.trim_start_matches('#').trim() == heading {
                    begin = Some(position + line.len());
                }
            }
            position += line.len();
        }
        self.0.get(begin?..).map(str::trim)
    }

    /// What to do, in the words of a framework: the sentences of its section, else of the general one.
    pub(crate) fn action(&self, framework: Framework) -> String {
        let of_framework = self.section(framework.title());
        let text = of_framework
            .or_else(|| self.section("Fix"))
            .unwrap_or_default();
        let paragraphs = text.split("\n\n").filter(|text| !text.starts_with(FENCE));
        words(paragraphs.flat_map(str::split_whitespace))
    }

    /// What to do, without the sentences that begin with one of `left_out`.
    pub(crate) fn action_without(&self, framework: Framework, left_out: &[&str]) -> String {
        let action = self.action(framework);
        joined(
            sentences(&action)
                .filter(|sentence| !left_out.iter().any(|begin| sentence.starts_with(begin))),
            "",
        )
        .trim_end()
        .to_owned()
    }

    /// Whether a sentence on what to do begins so, in the words of any framework.
    pub(crate) fn says(&self, begin: &str) -> bool {
        let all = [
            Framework::Jax,
            Framework::PyTorchXla,
            Framework::TensorFlow,
            Framework::Any,
        ];
        all.into_iter().any(|framework| {
            sentences(&self.action(framework)).any(|sentence| sentence.starts_with(begin))
        })
    }

    /// The first thing to do, in one sentence for all frameworks.
    pub fn brief(&self) -> String {
        let text = self.section("Fix").unwrap_or_default();
        words(text.split("\n\n").take(1).flat_map(str::split_whitespace))
    }

    /// The code or setting to copy: that of a framework, else the general one.
    pub fn code(&self, framework: Framework) -> Option<&'static str> {
        let block = |heading| {
            let (_, rest) = self.section(heading)?.split_once(FENCE)?;
            let (_language, rest) = rest.split_once('\n')?;
            Some(rest.split_once(FENCE)?.0.trim_end())
        };
        block(framework.title()).or_else(|| block("Fix"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hints::rules;

    #[test]
    fn sections_end_at_the_next_heading() {
        let page = Page(
            "# Title\nIntro.\n## Fix\nDo\nthis.\n\nMore.\n### JAX\nDo that.\n## Source\nA book.\n",
        );
        assert_eq!(page.section("Fix"), Some("Do\nthis.\n\nMore."));
        assert_eq!(page.section("Source"), Some("A book."));
        assert_eq!(page.section("Title"), None);
        assert_eq!(page.action(Framework::Jax), "Do that.");
        assert_eq!(page.action(Framework::PyTorchXla), "Do this. More.");
        assert_eq!(page.brief(), "Do this.");
        assert_eq!(page.action_without(Framework::Any, &["Do this"]), "More.");
        assert_eq!(page.action_without(Framework::Any, &["More"]), "Do this.");
        assert!(page.says("Do that") && page.says("More") && !page.says("this"));
    }

    #[test]
    fn code_is_that_of_the_framework_or_fits_all() {
        let page = Page(
            "# T\n## Fix\nDo.\n\n```sh\nexport A=1\n```\n\n### JAX\nSo.\n\n```python\na()\nb()\n```\n\n### TensorFlow\nNo.\n",
        );
        assert_eq!(page.code(Framework::Jax), Some("a()\nb()"));
        assert_eq!(page.code(Framework::TensorFlow), Some("export A=1"));
        assert_eq!(page.code(Framework::Any), Some("export A=1"));
        assert_eq!(page.action(Framework::Jax), "So.");
        assert_eq!(page.action(Framework::Any), "Do.");
        assert_eq!(Page("# T\n## Fix\nDo.\n").code(Framework::Jax), None);
    }

    /// The frameworks, and kernels: their section stands beside those of the framework that they are written in.
    const HEADINGS: [&str; 5] = ["Fix", "JAX", "PyTorch/XLA", "TensorFlow", "Pallas"];

    #[test]
    fn each_page_says_the_first_thing_to_do_in_a_short_sentence() {
        for rule in rules() {
            let brief = Page(rule.page).brief();
            let is_sentence = brief.ends_with('.') && !brief.contains(". ");
            assert!(
                is_sentence && brief.chars().count() <= 110,
                "{}: {brief}",
                rule.id
            );
        }
    }

    #[test]
    fn code_is_short_enough_to_be_copied_from_a_card() {
        for rule in rules() {
            for text in HEADINGS
                .into_iter()
                .filter_map(|heading| Page(rule.page).section(heading))
            {
                let parts: Vec<&str> = text.split(FENCE).collect();
                assert!(
                    matches!(parts[..], [_] | [_, _, ""]),
                    "{}: one block, at the end of its section: {text}",
                    rule.id
                );
                let lines: Vec<&str> = parts
                    .get(1)
                    .into_iter()
                    .flat_map(|code| code.lines())
                    .collect();
                assert!(
                    lines.len() <= 4,
                    "{}: more than three lines: {text}",
                    rule.id
                );
                for line in lines {
                    assert!(line.chars().count() <= 90, "{}: {line}", rule.id);
                }
            }
        }
    }

    /// What no setting and no three lines of code cure: machines, clocks, files, and simulators.
    const WITHOUT_CODE: [&str; 13] = [
        "K08", "K43", "Q01", "Q05", "Q06", "Q07", "Q09", "Q11", "Q12", "Q13", "Q14", "Q15", "Q18",
    ];

    #[test]
    fn pages_without_code_are_these() {
        let has_code = |page: &Page| {
            HEADINGS.into_iter().any(|heading| {
                page.section(heading)
                    .is_some_and(|text| text.contains(FENCE))
            })
        };
        let without: Vec<&str> = rules()
            .iter()
            .filter(|rule| !has_code(&Page(rule.page)))
            .map(|rule| rule.id)
            .collect();
        assert_eq!(without, WITHOUT_CODE);
    }
}
