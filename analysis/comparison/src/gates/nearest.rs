//! Suggests the known name nearest to a misspelt one.

/// The nearest of `names` by edit distance, provided that it is close: at most a third of the letters differ, or it
/// starts with what the user wrote.
pub fn of<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Maximum length of a name; longer ones are not typing errors.
    const MOST: usize = 200;
    let letters = |name: &str| -> String { name.to_lowercase().chars().take(MOST).collect() };
    let wrong = letters(wrong);
    let length = wrong.chars().count();
    let near = names.into_iter().filter_map(|name| {
        let known = letters(name);
        let edits = strsim::osa_distance(&wrong, &known);
        let is_near = edits * 3 <= length.max(known.chars().count()) + 2;
        (is_near || length > 2 && known.starts_with(&wrong)).then_some((edits, name))
    });
    near.min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_or_missing_letter_is_one_edit() {
        for wrong in ["tiem", "tme", "Time"] {
            assert_eq!(of(wrong, ["energy", "time"]), Some("time"), "{wrong}");
        }
        assert_eq!(of("ti", ["timeline"]), None);
        assert_eq!(of("tim", ["timeline"]), Some("timeline"));
    }

    #[test]
    fn only_similar_names_are_suggested() {
        assert_eq!(of("wran", ["off", "warn", "error"]), Some("warn"));
        assert_eq!(of("fatal", ["off", "warn", "error"]), None);
        assert_eq!(of("x", []), None);
    }
}
