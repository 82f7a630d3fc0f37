//! Numbers in reports, formatted as on the command line; times in the chosen format.

use crate::prelude::*;

use super::controls::with_controls;
use crate::times;

pub use session::number::bytes;

/// A cell as text.
pub fn shown(cell: &Cell, unit: Unit) -> String {
    match (cell, unit) {
        (Cell::Int(ps), Unit::Picoseconds) => times::time_ps(*ps),
        (Cell::Float(ps), Unit::Picoseconds) => number(*ps, unit),
        (Cell::Text(text), _) => with_controls(text).into_owned(),
        _ => session::number::cell(cell, unit),
    }
}

pub fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Picoseconds if value.is_finite() => times::time_ps(value.round() as i64),
        _ => session::number::value(value, unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_on_the_command_line() {
        for (value, unit, expected) in [
            (78.26e12, Unit::FlopPerSecond, "78.26 TFLOP/s"),
            (1_536.0, Unit::Bytes, "1.536 kB"),
            (-1_234.0, Unit::Count, "-1,234"),
            (0.0, Unit::Percent, "0 %"),
            (3_430_000.0, Unit::Picoseconds, "3.430 µs"),
            (f64::NAN, Unit::Picoseconds, "–"),
        ] {
            assert_eq!(number(value, unit), expected);
            assert_eq!(number(value, unit), session::number::value(value, unit));
        }
        assert_eq!(shown(&Cell::Missing, Unit::Percent), "–");
    }
}
