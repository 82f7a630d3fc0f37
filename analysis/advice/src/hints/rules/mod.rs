//! The rules, by theme.

mod communication;
mod compile;
mod compute;
mod devices;
mod hardware;
mod health;
mod host;
mod lazy_tensors;
mod matmuls;
mod memory;
mod messages;
mod offload;
mod serving;

use std::sync::LazyLock;

use super::Rule;

/// Every rule, by id.
pub fn rules() -> &'static [&'static Rule] {
    static RULES: LazyLock<Vec<&Rule>> = LazyLock::new(|| {
        let themes = [
            communication::RULES,
            compile::RULES,
            compute::RULES,
            devices::RULES,
            hardware::RULES,
            health::RULES,
            host::RULES,
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
