//! Patterns for names.

use std::fmt;
use std::str::FromStr;

use analysis::glob;
use regex_lite::Regex;

/// A name, a pattern with `*`, or `re:` and a regular expression that is looked for anywhere in the text.
#[derive(Clone, Debug)]
pub struct NamePattern {
    text: String,
    regex: Option<Regex>,
}

impl NamePattern {
    pub fn matches(&self, text: &str) -> bool {
        self.regex
            .as_ref()
            .map_or_else(|| glob(&self.text, text), |regex| regex.is_match(text))
    }
}

impl FromStr for NamePattern {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let regex = text
            .strip_prefix("re:")
            .map(Regex::new)
            .transpose()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            text: text.to_owned(),
            regex,
        })
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_stars_or_an_expression() {
        let matches =
            |pattern: &str, text: &str| pattern.parse::<NamePattern>().unwrap().matches(text);
        assert!(matches("fusion.1", "fusion.1") && !matches("fusion.1", "fusion.12"));
        assert!(
            matches("*fusion*", "loop_fusion.12") && matches("re:fusion\\.\\d$", "loop_fusion.1")
        );
        assert!(!matches("re:^fusion", "loop_fusion.1"));
        assert!("re:(".parse::<NamePattern>().is_err());
    }
}
