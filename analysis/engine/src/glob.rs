//! Glob patterns with `*`.

use wildmatch::WildMatchPattern;

/// Whether `text` matches `pattern`, in which `*` matches any characters.
pub fn glob(pattern: &str, text: &str) -> bool {
    WildMatchPattern::<'*', '\0'>::new(pattern).matches(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_matches_any_text() {
        for (pattern, text, is) in [
            ("fusion.1", "fusion.1", true),
            ("fusion.1", "fusion.12", false),
            ("fusion.*", "fusion.12", true),
            ("*.12", "fusion.12", true),
            ("*us*n*", "fusion.12", true),
            ("a*a", "a", false),
            ("*", "", true),
            ("f*x*2", "fusion.12", false),
            ("fusion.1?", "fusion.12", false),
            ("what?*", "what?!", true),
        ] {
            assert_eq!(glob(pattern, text), is, "{pattern} {text}");
        }
    }
}
