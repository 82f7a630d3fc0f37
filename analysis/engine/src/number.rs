//! Numbers for people: four significant digits and a unit, the same in tables, in
//! sentences and in the window. Exact values are in the JSON and CSV exports.

use math::unit::Unit;
use trace_model::Picos;

pub use super::digits::count;
use super::digits::{LARGEST, digits};
use super::percent::{MULTIPLE, NEARLY_NOTHING, Percent};

/// Stands for a number that cannot be known.
pub const MISSING: &str = "–";

/// The digits of percentages closer to zero tell nothing.
pub const LEAST_PERCENT: f64 = 0.001;

/// From here on, thousands are separated.
const MANY_DIGITS: f64 = 1e4;

/// A number with its unit.
pub fn value(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    match unit {
        Unit::Count if value.fract() == 0.0 => count(value),
        Unit::None | Unit::Count => plain(value),
        Unit::Picoseconds => Picos::rounded(value).to_string(),
        Unit::Percent if value != 0.0 && value.abs() < LEAST_PERCENT => NEARLY_NOTHING.to_owned(),
        Unit::Percent => percent(value),
        Unit::Bytes => scaled(value, "B"),
        Unit::BytesPerSecond => scaled(value, "B/s"),
        Unit::Flop => scaled(value, "FLOP"),
        Unit::FlopPerSecond => scaled(value, "FLOP/s"),
        Unit::FlopPerByte if value.abs() >= MANY_DIGITS => format!("{} FLOP/B", count(value)),
        Unit::FlopPerByte => format!("{} FLOP/B", digits(value)),
    }
}

/// An amount of bytes.
pub fn bytes(bytes: u64) -> String {
    value(bytes as f64, Unit::Bytes)
}

/// Four digits; more where these would show 100 for what is not.
fn percent(value: f64) -> String {
    match digits(value) {
        text if text.trim_start_matches('-') == "100.0" => format!("{:.1}", Percent(value)),
        _ if (MULTIPLE..LARGEST).contains(&value.abs()) => Percent(value).to_string(),
        text => format!("{text} %"),
    }
}

fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        digits(value)
    }
}

fn scaled(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let (mut scaled, mut prefix) = (value, 0);
    while scaled.abs() >= 999.95 && prefix + 1 < PREFIXES.len() {
        scaled /= 1000.0;
        prefix += 1;
    }
    let number = if prefix == 0 {
        plain(scaled)
    } else {
        digits(scaled)
    };
    format!("{number} {}{unit}", PREFIXES[prefix])
}

/// A number with all its digits, as programs read it; with an exponent in place of dozens of zeros.
pub fn exact(value: f64) -> String {
    const LEAST: f64 = 1e-15;
    let is_usual = value == 0.0 || !value.is_finite() || (LEAST..LARGEST).contains(&value.abs());
    if is_usual {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_four_digits_with_a_fitting_unit() {
        for (number, unit, expected) in [
            (78.26e12, Unit::FlopPerSecond, "78.26 TFLOP/s"),
            (305.7e9, Unit::BytesPerSecond, "305.7 GB/s"),
            (38.61, Unit::Percent, "38.61 %"),
            (0.006_1, Unit::Percent, "0.006100 %"),
            (0.000_000_12, Unit::Percent, "nearly 0 %"),
            (-0.000_000_12, Unit::Percent, "nearly 0 %"),
            (100.0, Unit::Percent, "100.0 %"),
            (99.999, Unit::Percent, "99.999 %"),
            (9.999_96, Unit::Percent, "10.00 %"),
            (0.0, Unit::Percent, "0 %"),
            (1_234_567.0, Unit::Count, "1,234,567"),
            (-1234.0, Unit::Count, "-1,234"),
            (999.0, Unit::Count, "999"),
            (512.0, Unit::Bytes, "512 B"),
            (999_960.0, Unit::Bytes, "1.000 MB"),
            (3.43e6, Unit::Picoseconds, "3.430 µs"),
            (240.5, Unit::FlopPerByte, "240.5 FLOP/B"),
            (5_515_480.0, Unit::FlopPerByte, "5,515,480 FLOP/B"),
            (1e300, Unit::Percent, "1.000e300 %"),
            (-1e300, Unit::Count, "-1.000e300"),
            (1e300, Unit::FlopPerSecond, "1.000e282 EFLOP/s"),
            (f64::NAN, Unit::Percent, MISSING),
        ] {
            assert_eq!(value(number, unit), expected);
        }
        for (number, text) in [
            (0.1, "0.1"),
            (-0.0, "-0"),
            (1e17, "100000000000000000"),
            (1e300, "1e300"),
            (-2.5e-300, "-2.5e-300"),
        ] {
            assert_eq!(
                (exact(number).as_str(), exact(number).parse()),
                (text, Ok(number))
            );
        }
    }
}
