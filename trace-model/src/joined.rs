//! Texts made of a list.

use std::fmt::{Display, Write as _};

/// The items with a separator between each two: `a, b, c`.
pub fn joined(items: impl IntoIterator<Item: Display>, separator: &str) -> String {
    let mut text = String::new();
    for (nth, item) in items.into_iter().enumerate() {
        if nth > 0 {
            text.push_str(separator);
        }
        // Writing into a text cannot fail.
        let _ = write!(text, "{item}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn a_separator_stands_between_items_and_nowhere_else() {
        assert_eq!(joined(["a", "", "b"], ", "), "a, , b");
        assert_eq!(joined([2, 3], "x"), "2x3");
        assert_eq!(joined([0_u8; 0], "x"), "");
    }
}
