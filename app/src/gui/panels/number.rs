//! Numbers of reports, for people.

use analysis::{Cell, Percent, Unit};

use crate::gui::times;

/// A cell for people.
pub fn shown(cell: &Cell, unit: Unit) -> String {
    match cell {
        Cell::Missing => "–".to_owned(),
        Cell::Text(text) => text.clone(),
        Cell::Int(value) => number(*value as f64, unit),
        Cell::Float(value) => number(*value, unit),
    }
}

/// A number with its unit, four digits.
pub fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Picoseconds => times::time(trace_model::Picos::from_ps(value as i64)),
        Unit::Percent if value > 0.0 && value < 0.000_05 => "< 0.0001 %".to_owned(),
        Unit::Percent if value != 0.0 && value.abs() < 0.01 => format!("{value:.4} %"),
        Unit::Percent if value.abs() < 1.0 => format!("{:.2}", Percent(value)),
        Unit::Percent => format!("{:.1}", Percent(value)),
        Unit::Count => crate::view::tree::group_digits(value.max(0.0) as u64),
        Unit::Bytes => scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]),
        Unit::Flop => scaled(value, 1000.0, &["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"]),
        Unit::FlopPerSecond => {
            scaled(value, 1000.0, &["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"])
        }
        Unit::BytesPerSecond => scaled(value, 1000.0, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]),
        Unit::FlopPerByte => format!("{value:.1} FLOP/B"),
        Unit::None => format!("{value}"),
    }
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value.abs() >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let decimals = match value.abs() {
        _ if unit == 0 => 0,
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$} {}", units.get(unit).copied().unwrap_or_default())
}

/// Least space for names beside columns of numbers.
const NAME: f32 = 110.0;

/// Which columns of numbers, so wide each and counted from the right, there is room for
/// beside names, with their right edges; and how wide they are together. Columns of `spare`
/// give way in that order.
pub fn fitting<const N: usize>(room: f32, widths: [f32; N], spare: [usize; 2]) -> (Vec<(usize, f32)>, f32) {
    let mut kept: Vec<usize> = (0..N).collect();
    let width = |kept: &[usize]| kept.iter().filter_map(|&at| widths.get(at)).sum::<f32>();
    for spare in spare {
        if room - width(&kept) < NAME {
            kept.retain(|&at| at != spare);
        }
    }
    let placed = kept.iter().enumerate().map(|(n, &at)| (at, width(&kept[..n]))).collect();
    (placed, width(&kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_give_way_where_names_need_the_room() {
        let shown = |room| fitting(room, [60.0, 70.0, 80.0, 50.0], [3, 0]).0;
        assert_eq!(shown(370.0), [(0, 0.0), (1, 60.0), (2, 130.0), (3, 210.0)]);
        assert_eq!(shown(369.0), [(0, 0.0), (1, 60.0), (2, 130.0)]);
        assert_eq!(shown(200.0), [(1, 0.0), (2, 70.0)]);
    }

    #[test]
    fn numbers_carry_their_unit() {
        assert_eq!(number(78.26e12, Unit::FlopPerSecond), "78.26 TFLOP/s");
        assert_eq!(number(305.7e9, Unit::BytesPerSecond), "305.7 GB/s");
        assert_eq!(number(1_536.0, Unit::Bytes), "1.500 KiB");
        assert_eq!(number(38.61, Unit::Percent), "38.6 %");
        assert_eq!(number(0.0061, Unit::Percent), "0.0061 %");
        assert_eq!(number(0.0, Unit::Percent), "0.00 %");
        assert_eq!(number(3_430_000.0, Unit::Picoseconds), "3.430 µs");
        assert_eq!(shown(&Cell::Missing, Unit::Percent), "–");
    }
}
