//! The rules, by theme.

mod communication;
mod host;
mod memory;

use std::sync::LazyLock;

use super::Rule;

/// Every rule, by id.
pub fn rules() -> &'static [&'static Rule] {
    static RULES: LazyLock<Vec<&Rule>> = LazyLock::new(|| {
        let themes = [communication::RULES, memory::RULES, host::RULES];
        let mut rules: Vec<&Rule> = themes.into_iter().flatten().collect();
        rules.sort_by_key(|rule| rule.id);
        rules
    });
    &RULES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Framework;
    use crate::hints::{Page, SECTIONS};

    #[test]
    fn every_rule_has_an_id_a_page_and_reasons() {
        let rules = rules();
        assert!(rules.windows(2).all(|pair| pair[0].id < pair[1].id), "an id is used twice");
        for rule in rules {
            let page = Page(rule.page);
            assert!(rule.page.starts_with(&format!("# {} ", rule.id)), "{}: title of the page", rule.id);
            for heading in SECTIONS {
                let text = page.section(heading);
                assert!(
                    text.is_some_and(|text| !text.is_empty()),
                    "{}: the page says nothing under {heading}",
                    rule.id
                );
            }
            for framework in [Framework::Jax, Framework::PyTorchXla, Framework::TensorFlow] {
                assert!(page.action(framework).ends_with('.'), "{}: no sentence for {framework:?}", rule.id);
            }
            for threshold in rule.thresholds {
                assert!(threshold.id.starts_with(rule.id) && !threshold.why.is_empty(), "{}", threshold.id);
                let percent = threshold.unit == crate::Unit::Percent;
                assert!(!percent || threshold.id.ends_with("_percent"), "{}", threshold.id);
            }
        }
    }
}
