//! Numbers in reports, formatted as on the command line; times in the chosen format.

use analysis::{Cell, Unit};

use crate::times;

/// A cell as text.
pub fn shown(cell: &Cell, unit: Unit) -> String {
    match (cell, unit) {
        (Cell::Int(ps), Unit::Picoseconds) => times::time_ps(*ps),
        (Cell::Float(ps), Unit::Picoseconds) => number(*ps, unit),
        _ => session::number::cell(cell, unit),
    }
}

pub fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Picoseconds if value.is_finite() => times::time_ps(value.round() as i64),
        _ => session::number::value(value, unit),
    }
}

/// Minimum width of names beside columns of numbers.
const NAME: f32 = 110.0;

/// The columns of numbers that fit beside the names, with their right edges, and their total width. `widths` are
/// counted from the right; columns of `spare` are dropped first, in that order.
pub fn fitting<const N: usize>(
    room: f32,
    widths: [f32; N],
    spare: [usize; 2],
) -> (Vec<(usize, f32)>, f32) {
    let mut kept: Vec<usize> = (0..N).collect();
    let width = |kept: &[usize]| kept.iter().filter_map(|&at| widths.get(at)).sum::<f32>();
    for spare in spare {
        if room - width(&kept) < NAME {
            kept.retain(|&at| at != spare);
        }
    }
    let placed = kept
        .iter()
        .enumerate()
        .map(|(n, &at)| (at, width(&kept[..n])))
        .collect();
    (placed, width(&kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_columns_shrink_for_long_names() {
        let shown = |room| fitting(room, [60.0, 70.0, 80.0, 50.0], [3, 0]).0;
        assert_eq!(shown(370.0), [(0, 0.0), (1, 60.0), (2, 130.0), (3, 210.0)]);
        assert_eq!(shown(369.0), [(0, 0.0), (1, 60.0), (2, 130.0)]);
        assert_eq!(shown(200.0), [(1, 0.0), (2, 70.0)]);
    }

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
