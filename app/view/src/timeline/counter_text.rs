//! Values of counters as text.

use crate::prelude::*;
use analysis::number;

/// A value of a counter with its unit as recorded: bytes and rates are scaled, other numbers keep their unit.
pub fn counter_value(recorded: f64, unit: &str) -> String {
    match unit.to_ascii_lowercase().as_str() {
        "bytes" | "byte" | "b" => number::value(recorded, Unit::Bytes),
        "bytes/s" | "b/s" => number::value(recorded, Unit::BytesPerSecond),
        "%" | "percent" => number::value(recorded, Unit::Percent),
        "" => number::value(recorded, Unit::Count),
        _ => format!("{} {unit}", number::value(recorded, Unit::Count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_scaled_and_other_units_are_kept() {
        assert_eq!(counter_value(15_032_385_536.0, "bytes"), "15.03 GB");
        assert_eq!(counter_value(2.5e9, "bytes/s"), "2.500 GB/s");
        assert_eq!(counter_value(12.0, "%"), "12.00 %");
        assert_eq!(counter_value(1_234_567.0, ""), "1,234,567");
        assert_eq!(
            counter_value(3.25, "% of free bytes"),
            "3.250 % of free bytes"
        );
    }
}
