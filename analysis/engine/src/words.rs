//! Sentences from the clauses of reports.

/// The text with a full stop, and with a capital first letter unless it begins with a name.
pub fn sentence(clause: &str) -> String {
    let clause = clause.trim_end_matches('.');
    if begins_with_name(clause) {
        format!("{clause}.")
    } else {
        format!("{}.", capitalised(clause))
    }
}

/// Whether the first word is a name of an op, a type or a device (`fusion.1`, `bfloat16`, `vm TPU:0`), which has its own
/// spelling.
fn begins_with_name(clause: &str) -> bool {
    let mut words = clause.split_whitespace();
    let is_device = |word: &str| word.trim_end_matches(':').contains(':');
    words.next().is_some_and(|word| {
        word.contains(['_', '.', '/']) || word.contains(|c: char| c.is_ascii_digit())
    }) || words.next().is_some_and(is_device)
}

/// With a capital letter.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// `devices, steps and formats`
pub fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match &names[..] {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// `devices, steps and 2 more`: of more than `most` names the first ones.
pub fn listed_to<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let more = names.len().saturating_sub(most);
    if more == 0 {
        return listed(names);
    }
    trace_model::joined(names.iter().take(most).map(T::as_ref), ", ") + &and_more(more)
}

/// ` and 2 more`; nothing if there are no more.
pub fn and_more(more: usize) -> String {
    match more {
        0 => String::new(),
        _ => format!(" and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_count_what_they_leave_out() {
        let names = ["a", "b", "c"];
        assert_eq!(listed_to(&names, 3), "a, b and c");
        assert_eq!(listed_to(&names, 2), "a, b and 1 more");
        assert_eq!(listed_to(&names[..0], 2), "");
        assert_eq!(and_more(0), "");
    }

    #[test]
    fn names_at_the_beginning_keep_their_spelling() {
        assert_eq!(sentence("steps vary."), "Steps vary.");
        assert_eq!(sentence("all-to-all exchanges"), "All-to-all exchanges.");
        assert_eq!(sentence("fusion.1 repeats"), "fusion.1 repeats.");
        assert_eq!(sentence("bfloat16 matmuls"), "bfloat16 matmuls.");
        assert_eq!(sentence("host_b TPU:1 waits"), "host_b TPU:1 waits.");
        assert_eq!(sentence("vm TPU:1 waits"), "vm TPU:1 waits.");
        assert_eq!(sentence("what changed: a"), "What changed: a.");
        assert_eq!(sentence(""), ".");
    }
}
