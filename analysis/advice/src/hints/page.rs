//! The page of documentation that each rule has.
//!
//! ```text
//! # Title
//! What it means, in a paragraph.
//! ## Cause
//! ## Check
//! ## Fix
//! The action that fits all; then, where they differ, one for each:
//! ### JAX
//! ### PyTorch/XLA
//! ### Pallas
//! ## Example
//! ## Source
//! ```

use facts::framework::Framework;

/// A page, cut into its sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page(pub &'static str);

/// Sections that every page has.
pub const SECTIONS: [&str; 5] = ["Cause", "Check", "Fix", "Example", "Source"];

impl Page {
    /// The text under a heading, down to the next; `None` without the heading.
    pub fn section(&self, heading: &str) -> Option<&'static str> {
        let level = |line: &str| line.bytes().take_while(|&byte| byte == b'#').count();
        let mut begin = None;
        let mut at = 0;
        for line in self.0.split_inclusive('\n') {
            if level(line) > 0 {
                if let Some(begin) = begin {
                    return self.0.get(begin..at).map(str::trim);
                }
                if level(line) > 1 && line.trim_start_matches('#').trim() == heading {
                    begin = Some(at + line.len());
                }
            }
            at += line.len();
        }
        self.0.get(begin?..).map(str::trim)
    }

    /// What to do, in the words of a framework: its section, else the general one.
    /// One paragraph.
    pub(crate) fn action(&self, framework: Framework) -> String {
        let own = self.section(framework.title());
        let text = own.or_else(|| self.section("Fix")).unwrap_or_default();
        let paragraph = text.split("\n\n").next().unwrap_or_default();
        paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_end_at_the_next_heading() {
        let page = Page(
            "# Title\nIntro.\n## Fix\nDo\nthis.\n\nMore.\n### JAX\nDo that.\n## Source\nA book.\n",
        );
        assert_eq!(page.section("Fix"), Some("Do\nthis.\n\nMore."));
        assert_eq!(page.section("Source"), Some("A book."));
        assert_eq!(page.section("Title"), None);
        assert_eq!(page.action(Framework::Jax), "Do that.");
        assert_eq!(page.action(Framework::PyTorchXla), "Do this.");
    }
}
