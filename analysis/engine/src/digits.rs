//! The digits of numbers.

/// From here on, digits are none of the number's.
pub(crate) const LARGEST: f64 = 1e18;

/// A whole number with a thin gap between thousands.
pub fn count(value: f64) -> String {
    if value.abs() >= LARGEST {
        return digits(value);
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0.0 {
        text.push('-');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Four significant digits, never fewer before the point than there are.
pub(crate) fn digits(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0".to_owned();
    }
    if (999.95..LARGEST).contains(&magnitude) {
        return format!("{value:.0}");
    }
    if !(1e-4..LARGEST).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    // Rounding first: 9.9996 has two digits before the point once rounded.
    let exponent = format!("{magnitude:.3e}")
        .rsplit('e')
        .next()
        .and_then(|text| text.parse::<i32>().ok());
    let decimals = (3 - exponent.unwrap_or(0)).clamp(0, 7) as usize;
    format!("{value:.decimals$}")
}
