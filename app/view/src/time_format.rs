//! Formats of times: short, exact, or all in one unit. Copied values are always exact.

use std::fmt::Write as _;

use crate::prelude::*;
use trace_model::time::{PS_PER_NS, UNITS};

use crate::viewport::tick_label;

/// A format of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeFormat {
    /// `1.235 ms`: four significant digits in a suitable unit.
    #[default]
    Digits,
    /// `1 ms 234 µs 567 ns`: exact to the picosecond.
    Exact,
    /// `0.001234567 s`
    Seconds,
    /// `1.234567 ms`
    Milliseconds,
    /// `1234.567 µs`
    Microseconds,
    /// `1234567.000 ns`
    Nanoseconds,
}

impl TimeFormat {
    /// All formats with their names.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Digits, "four digits"),
        (Self::Exact, "exact"),
        (Self::Seconds, "s"),
        (Self::Milliseconds, "ms"),
        (Self::Microseconds, "µs"),
        (Self::Nanoseconds, "ns"),
    ];

    #[must_use]
    pub fn next(self) -> Self {
        let index = Self::ALL
            .iter()
            .position(|(format, _)| *format == self)
            .unwrap_or(0);
        Self::ALL[(index + 1) % Self::ALL.len()].0
    }

    pub fn text(self, time: Picos) -> String {
        match self.unit() {
            Some(unit) => in_unit(time, unit, decimals_of(time, unit)),
            None if self == Self::Exact => exact(time),
            None => time.to_string(),
        }
    }

    /// The label of a ruler mark, with enough digits to distinguish marks that are `step` apart.
    pub fn tick(self, time: Picos, step: Picos) -> String {
        match self.unit() {
            _ if time == Picos::ZERO => "0".to_owned(),
            Some(unit) => {
                let (mut rest, mut decimals) = (unit.0, 0);
                while step.ps() % rest != 0 {
                    rest /= 10;
                    decimals += 1;
                }
                in_unit(time, unit, decimals)
            }
            None if self == Self::Exact => exact(time),
            None => tick_label(time, step),
        }
    }

    /// Minimum distance between labelled ruler marks, in points.
    pub fn tick_distance(self) -> f32 {
        match self {
            Self::Digits => 96.0,
            _ => 150.0,
        }
    }

    fn unit(self) -> Option<(i64, &'static str)> {
        match self {
            Self::Digits | Self::Exact => None,
            Self::Seconds => Some(UNITS[0]),
            Self::Milliseconds => Some(UNITS[1]),
            Self::Microseconds => Some(UNITS[2]),
            Self::Nanoseconds => Some(UNITS[3]),
        }
    }
}

/// Parses a time in any of these formats, and as [`Picos`] parses it.
pub fn read(text: &str) -> Option<Picos> {
    if let Ok(time) = text.parse() {
        return Some(time);
    }
    let (rest, sign) = text
        .trim()
        .strip_prefix('-')
        .map_or((text, 1), |rest| (rest, -1));
    let words: Vec<&str> = rest.split_whitespace().collect();
    let mut sum = 0_i64;
    for pair in words.chunks(2) {
        let &[count, unit] = pair else { return None };
        let &(unit, _) = UNITS.iter().find(|(_, name)| *name == unit)?;
        sum = sum.checked_add(i64::from(count.parse::<u32>().ok()?).checked_mul(unit)?)?;
    }
    (!words.is_empty()).then_some(Picos::from_ps(sign * sum))
}

/// Number of decimals: to the nanosecond, or to the picosecond if the time would become zero.
fn decimals_of(time: Picos, (unit, _): (i64, &str)) -> usize {
    let all = unit.ilog10() as usize;
    if time.ps().unsigned_abs() < PS_PER_NS as u64 {
        all
    } else {
        all.saturating_sub(3).max(3)
    }
}

/// Exact integer formatting, because floating-point numbers cannot hold hours in picoseconds.
fn in_unit(time: Picos, (unit, name): (i64, &str), decimals: usize) -> String {
    if time == Picos::ZERO {
        return format!("0 {name}");
    }
    let last = (unit as u64) / 10_u64.pow(decimals as u32);
    let rounded = (time.ps().unsigned_abs() + last / 2) / last;
    let per_unit = unit as u64 / last;
    let sign = if time.ps() < 0 { "-" } else { "" };
    let (whole, part) = (rounded / per_unit, rounded % per_unit);
    if decimals == 0 {
        format!("{sign}{whole} {name}")
    } else {
        format!("{sign}{whole}.{part:0decimals$} {name}")
    }
}

fn exact(time: Picos) -> String {
    if time == Picos::ZERO {
        return "0 s".to_owned();
    }
    let mut text = if time.ps() < 0 {
        "-".to_owned()
    } else {
        String::new()
    };
    let mut rest = time.ps().unsigned_abs();
    for (unit, name) in UNITS {
        let count = rest / unit as u64;
        rest %= unit as u64;
        if count > 0 {
            let gap = if text.is_empty() || text == "-" {
                ""
            } else {
                " "
            };
            // Writing to a string cannot fail.
            let _ = write!(text, "{gap}{count} {name}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::time::PS_PER_S;

    fn texts(ps: i64) -> Vec<String> {
        TimeFormat::ALL
            .iter()
            .map(|(format, _)| format.text(Picos::from_ps(ps)))
            .collect()
    }

    #[test]
    fn time_has_six_formats() {
        assert_eq!(
            texts(1_234_567_890_123),
            [
                "1.235 s",
                "1 s 234 ms 567 µs 890 ns 123 ps",
                "1.234567890 s",
                "1234.567890 ms",
                "1234567.890 µs",
                "1234567890.123 ns"
            ]
        );
        assert_eq!(texts(0), ["0 s", "0 s", "0 s", "0 ms", "0 µs", "0 ns"]);
        assert_eq!(
            texts(-5_000_000_001),
            [
                "-5.000 ms",
                "-5 ms 1 ps",
                "-0.005000000 s",
                "-5.000000 ms",
                "-5000.000 µs",
                "-5000000.001 ns"
            ]
        );
    }

    #[test]
    fn short_times_never_print_as_zero() {
        assert_eq!(
            texts(7),
            [
                "7 ps",
                "7 ps",
                "0.000000000007 s",
                "0.000000007 ms",
                "0.000007 µs",
                "0.007 ns"
            ]
        );
        assert_eq!(
            TimeFormat::Exact
                .text(Picos::from_ps(i64::MIN))
                .chars()
                .next(),
            Some('-')
        );
        assert!(
            TimeFormat::Seconds
                .text(Picos::from_ps(i64::MAX))
                .ends_with(" s")
        );
    }

    #[test]
    fn formatted_times_parse_back() {
        for ps in [0, 7, -5_000_000_001, 1_234_567_890_123, 86_400 * PS_PER_S] {
            let exact = TimeFormat::Exact.text(Picos::from_ps(ps));
            assert_eq!(read(&exact), Some(Picos::from_ps(ps)), "{exact}");
        }
        assert_eq!(read("1.5ms"), Some(Picos::from_ps(1_500_000_000)));
        for text in [
            "",
            "-",
            "1 ms 2",
            "1 ms two µs",
            "9999999999 s 1 ps",
            "1 ms -2 µs",
            "4000000000 s 4000000000 s",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn ruler_labels_have_significant_digits() {
        let ticks = |at, step| {
            TimeFormat::ALL.map(|(format, _)| format.tick(Picos::from_ps(at), Picos::from_ps(step)))
        };
        assert_eq!(
            ticks(1_500_000_000, 500_000_000),
            [
                "1.5 ms",
                "1 ms 500 µs",
                "0.0015 s",
                "1.5 ms",
                "1500 µs",
                "1500000 ns"
            ]
        );
        assert_eq!(ticks(0, 1), ["0"; 6]);
        assert_eq!(ticks(2_000, 5)[5], "2.000 ns");
    }

    #[test]
    fn formats_cycle_through_all() {
        let mut format = TimeFormat::default();
        for (expected, _) in TimeFormat::ALL {
            assert_eq!(format, expected);
            format = format.next();
        }
        assert_eq!(format, TimeFormat::default());
    }
}
