//! Suggests the known name nearest to a misspelt one.

/// The nearest of `names` by edit distance, provided that it is close: at most a third of the letters differ, or it
/// starts with what the user wrote.
pub fn of<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Maximum length of a name; longer ones are not typing errors.
    const MOST: usize = 200;
    let wrong: Vec<char> = wrong.to_lowercase().chars().take(MOST).collect();
    let distance = |name: &&str| {
        let name: Vec<char> = name.to_lowercase().chars().take(MOST).collect();
        (distance(&wrong, &name), wrong.len().max(name.len()))
    };
    let begins = |name: &str| {
        wrong.len() > 2
            && name
                .to_lowercase()
                .chars()
                .take(wrong.len())
                .eq(wrong.iter().copied())
    };
    let near = names.into_iter().map(|name| (distance(&name), name));
    let near = near
        .filter(|((edits, length), name)| edits * 3 <= length.saturating_add(2) || begins(name));
    near.min_by_key(|((edits, _), _)| *edits)
        .map(|(_, name)| name)
}

/// Number of letters to insert, remove, replace, or swap with their neighbour (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
            let mut least = (at(&last, j) + usize::from(x != y))
                .min(at(&last, j + 1) + 1)
                .min(at(&row, j) + 1);
            let is_swap = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if is_swap {
                least = least.min(at(&before, j - 1) + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_or_missing_letter_is_one_edit() {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        for (a, b, edits) in [
            ("tiem", "time", 1),
            ("tme", "time", 1),
            ("", "time", 4),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(&letters(a), &letters(b)), edits, "{a} {b}");
        }
    }

    #[test]
    fn only_similar_names_are_suggested() {
        assert_eq!(of("wran", ["off", "warn", "error"]), Some("warn"));
        assert_eq!(of("fatal", ["off", "warn", "error"]), None);
        assert_eq!(of("x", []), None);
    }
}
