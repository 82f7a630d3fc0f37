//! Sizes as the compiler writes them: `17.54G`, of 2³⁰ bytes.

/// Units of 1024, smallest first.
const UNITS: [char; 5] = ['K', 'M', 'G', 'T', 'P'];

/// The size at the beginning of a text: `530.00M `, `4.0K`, `0B`, `1.2GiB`, `1234 bytes`. `None` if there is none.
pub(super) fn size(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text.get(..end)?.parse().ok()?;
    let letter = text.get(end..)?.trim_start().chars().next().unwrap_or('B');
    let power = UNITS
        .iter()
        .position(|unit| *unit == letter.to_ascii_uppercase());
    let factor = 1024_f64.powi(power.map_or(0, |power| power as i32 + 1));
    let bytes = number * factor;
    (bytes.is_finite() && bytes < 9e18).then_some(bytes.round() as u64)
}

/// The size after the first occurrence of `mark`.
pub(super) fn size_after(text: &str, mark: &str) -> Option<u64> {
    let start = text.find(mark)? + mark.len();
    size(text.get(start..)?)
}

/// `17.54 GiB`: as the messages count, so that numbers can be found again.
pub fn binary(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = None;
    for next in UNITS {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, Some(next));
    }
    match unit {
        None => format!("{bytes} bytes"),
        Some(unit) => format!("{value:.2} {unit}iB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written_with_units_of_1024() {
        for (text, bytes) in [
            ("0B", Some(0)),
            ("4.0K", Some(4096)),
            (" 530.00M reserved", Some(530 << 20)),
            ("1.5G", Some(3 << 29)),
            ("1234 bytes", Some(1234)),
            ("2GiB", Some(2 << 30)),
            ("unknown size", None),
            ("", None),
            ("9999999999999P", None),
            (".", None),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
        assert_eq!(binary(3 << 29), "1.50 GiB");
        assert_eq!(binary(1000), "1000 bytes");
        assert_eq!(size_after("Used 1.0K of 2.0K hbm", " of "), Some(2048));
    }
}
