//! Cells of tables for people; the exact values are in the JSON and CSV exports.

use analysis::number;
pub use analysis::number::{MISSING, bytes, value};
use analysis::{Cell, Column, Unit};
use trace_model::Picos;

/// `1 slice`, `1,234 slices`: for nouns whose plural ends in `s`.
pub fn counted(count: u64, what: &str) -> String {
    format!(
        "{} {what}{}",
        number::count(count as f64),
        if count == 1 { "" } else { "s" }
    )
}

/// One cell as its column shows it: with its unit, and with a sign in columns of
/// changes (`change`, and ids that begin with `change_`).
pub fn in_column(one: &Cell, column: &Column) -> String {
    let text = cell(one, column.unit);
    let is_more = match one {
        Cell::Int(number) => *number > 0,
        Cell::Float(number) => *number > 0.0,
        Cell::Missing | Cell::Text(_) => false,
    };
    let is_digit = text.starts_with(|first: char| first.is_ascii_digit());
    if is_more && is_digit && (column.id == "change" || column.id.starts_with("change_")) {
        format!("+{text}")
    } else {
        text
    }
}

/// One cell of a table, in its column's unit.
pub fn cell(cell: &Cell, unit: Unit) -> String {
    match cell {
        Cell::Missing => MISSING.to_owned(),
        Cell::Text(text) => text.clone(),
        Cell::Int(number) if unit == Unit::None => number.to_string(),
        Cell::Int(number) if unit == Unit::Picoseconds => Picos::from_ps(*number).to_string(),
        Cell::Int(number) => value(*number as f64, unit),
        Cell::Float(number) => value(*number, unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_do_not_print_as_zero() {
        assert_eq!(cell(&Cell::Missing, Unit::Percent), MISSING);
        assert_eq!(cell(&Cell::Int(0), Unit::Percent), "0 %");
        assert_eq!(cell(&Cell::Int(1_234_567), Unit::None), "1234567");
    }
}
