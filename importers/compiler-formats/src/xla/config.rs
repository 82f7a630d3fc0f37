//! Reads numbers from the compiler's configuration of an instruction, which is JSON inside its text.

/// The number after `"key":"` or `"key":` in JSON text.
pub(super) fn json_number(json: &str, key: &str) -> Option<u64> {
    let quoted = format!("\"{key}\":");
    let value = json
        .get(json.find(&quoted)? + quoted.len()..)?
        .trim_start_matches([' ', '"']);
    let end = value
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(value.len());
    value.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers_with_and_without_quotes() {
        let config = r#"{"x":"}","n":"12","m": 3}"#;
        assert_eq!(
            ["n", "m", "k"].map(|key| json_number(config, key)),
            [Some(12), Some(3), None]
        );
    }
}
