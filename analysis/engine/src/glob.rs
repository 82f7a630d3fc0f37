//! Glob patterns with `*`.

/// Whether `text` matches `pattern`, in which `*` matches any characters.
pub fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = pattern.rsplit_once('*').map(|(_, last)| last) else {
        return rest.is_empty();
    };
    let count = pattern.matches('*').count();
    for part in parts.take(count.saturating_sub(1)) {
        let Some(start) = rest.find(part) else {
            return false;
        };
        rest = rest.get(start + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
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
        ] {
            assert_eq!(glob(pattern, text), is, "{pattern} {text}");
        }
    }
}
