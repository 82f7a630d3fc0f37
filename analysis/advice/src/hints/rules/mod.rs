//! The rules, by theme.

/// A rule: its id, what is the matter, how sure it is, the thresholds that it compares with, and the function that looks.
/// Its page is the file of its id in `docs/hints`.
macro_rules! rule {
    ($id:literal, $title:literal, $confidence:ident, [$($threshold:ident),*], $check:expr) => {
        $crate::hints::Rule {
            id: $id,
            title: $title,
            confidence: $crate::hints::Confidence::$confidence,
            thresholds: &[$(&$threshold),*],
            check: $check,
            page: include_str!(concat!("../../../../../docs/hints/", $id, ".md")),
        }
    };
}

mod arrays;
mod chip_series;
mod clock;
mod communication;
mod compile;
mod compute;
mod device_clock;
mod devices;
mod hardware;
mod health;
mod host;
mod jitter;
mod kinds;
mod lazy_tensors;
mod matmuls;
mod memory;
mod messages;
mod offload;
mod prelude;
mod serving;

use std::sync::LazyLock;

use super::Rule;

/// Every rule, by id.
pub fn rules() -> &'static [&'static Rule] {
    static RULES: LazyLock<Vec<&Rule>> = LazyLock::new(|| {
        let themes = [
            clock::RULES,
            communication::RULES,
            compile::RULES,
            compute::RULES,
            devices::RULES,
            hardware::RULES,
            health::RULES,
            host::RULES,
            jitter::RULES,
            lazy_tensors::RULES,
            matmuls::RULES,
            memory::RULES,
            messages::RULES,
            serving::RULES,
        ];
        let mut rules: Vec<&Rule> = themes.into_iter().flatten().collect();
        rules.sort_by_key(|rule| rule.id);
        rules
    });
    &RULES
}

#[cfg(test)]
mod tests;
