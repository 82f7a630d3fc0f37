//! Time in picoseconds: points ([`Timestamp`]), lengths ([`Picos`]), half-open
//! ranges ([`TimeRange`]).
//!
//! Points and lengths are different types so that adding two points does not
//! compile. `i64` picoseconds reach 106 days to either side of the origin; the
//! origin itself (often an epoch time) is a fact of each file,
//! [`Source::origin_ps`](crate::Source::origin_ps), by which hosts are aligned.

use std::fmt;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Picoseconds in a nanosecond.
pub const PS_PER_NS: i64 = 1_000;
/// Picoseconds in a microsecond, the unit of Chrome's `ts` and `dur`.
pub const PS_PER_US: i64 = 1_000_000;
/// Picoseconds in a millisecond.
pub const PS_PER_MS: i64 = 1_000_000_000;
/// Picoseconds in a second.
pub const PS_PER_S: i64 = 1_000_000_000_000;

/// Units of time, the largest first.
pub const UNITS: [(i64, &str); 5] = [
    (PS_PER_S, "s"),
    (PS_PER_MS, "ms"),
    (PS_PER_US, "µs"),
    (PS_PER_NS, "ns"),
    (1, "ps"),
];

/// A point in time, in picoseconds after the origin of the trace.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Timestamp(i64);

/// A length of time in picoseconds; negative only as a difference.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Picos(i64);

/// `start..end`, half-open: a range that ends where another starts does not
/// overlap it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct TimeRange {
    /// Start: the first instant in the range.
    #[serde(rename = "start_ps", alias = "start")]
    pub start: Timestamp,
    /// End: the first instant after the range.
    #[serde(rename = "end_ps", alias = "end")]
    pub end: Timestamp,
}

impl Timestamp {
    /// The origin of the trace.
    pub const ZERO: Self = Self(0);
    /// The earliest point that can be represented.
    pub const MIN: Self = Self(i64::MIN);
    /// The latest point that can be represented.
    pub const MAX: Self = Self(i64::MAX);

    /// The point `ps` picoseconds after the origin.
    #[inline]
    pub const fn from_ps(ps: i64) -> Self {
        Self(ps)
    }
    /// Picoseconds after the origin.
    #[inline]
    pub const fn ps(self) -> i64 {
        self.0
    }
    /// The length from the origin to here.
    #[inline]
    pub const fn since_origin(self) -> Picos {
        Picos(self.0)
    }
}

impl Picos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The largest length.
    pub const MAX: Self = Self(i64::MAX);

    /// A length of `ps` picoseconds.
    #[inline]
    pub const fn from_ps(ps: i64) -> Self {
        Self(ps)
    }
    /// The length nearest to `ps` picoseconds.
    #[inline]
    pub fn rounded(ps: f64) -> Self {
        Self(ps.round() as i64)
    }
    /// The length in picoseconds.
    #[inline]
    pub const fn ps(self) -> i64 {
        self.0
    }
    /// The length in picoseconds, to compute means; exact up to 2.5 hours.
    #[inline]
    pub fn as_ps_f64(self) -> f64 {
        self.0 as f64
    }
    /// The length in seconds; exact to 1 ps up to 2.5 hours.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// The length in microseconds.
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / PS_PER_US as f64
    }
    /// This length, or zero if it is negative.
    #[inline]
    pub const fn clamped(self) -> Self {
        if self.0 < 0 { Self(0) } else { self }
    }
    /// How long a difference is, whatever its sign.
    #[inline]
    pub const fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }
    /// This length as a fraction of `whole`; `None` if `whole` is not positive.
    #[inline]
    pub fn fraction_of(self, whole: Self) -> Option<f64> {
        (whole.0 > 0).then(|| self.0 as f64 / whole.0 as f64)
    }
}

impl TimeRange {
    /// The range from `start` to `end`; empty if `end` precedes `start`.
    #[inline]
    pub fn new(start: Timestamp, end: Timestamp) -> Self {
        Self {
            start,
            end: end.max(start),
        }
    }
    /// The range of length `dur` that starts at `start`.
    #[inline]
    pub fn at(start: Timestamp, dur: Picos) -> Self {
        Self::new(start, start + dur)
    }
    /// Length of the range.
    #[inline]
    pub fn dur(self) -> Picos {
        self.end - self.start
    }
    /// Whether nothing lies inside.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
    /// Whether `time` lies inside.
    #[inline]
    pub fn contains(self, time: Timestamp) -> bool {
        self.start <= time && time < self.end
    }
    /// Whether all of `other` lies inside.
    #[inline]
    pub fn encloses(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
    /// Whether the two share at least one instant; touching does not count.
    #[inline]
    pub fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }
    /// The part that both share; `None` if they only touch or are apart.
    #[inline]
    pub fn intersect(self, other: Self) -> Option<Self> {
        self.overlaps(other).then(|| Self {
            start: self.start.max(other.start),
            end: self.end.min(other.end),
        })
    }
    /// The smallest range around both.
    #[inline]
    pub fn hull(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

// Arithmetic saturates: a hostile file can contain any 64-bit number, and a slice clipped at
// the limit of 106 days is better than a panic or a wrapped time.
impl Add<Picos> for Timestamp {
    type Output = Self;
    #[inline]
    fn add(self, d: Picos) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}
impl Sub<Picos> for Timestamp {
    type Output = Self;
    #[inline]
    fn sub(self, d: Picos) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}
impl Sub for Timestamp {
    type Output = Picos;
    #[inline]
    fn sub(self, earlier: Self) -> Picos {
        Picos(self.0.saturating_sub(earlier.0))
    }
}
impl Add for Picos {
    type Output = Self;
    #[inline]
    fn add(self, o: Self) -> Self {
        Self(self.0.saturating_add(o.0))
    }
}
impl Sub for Picos {
    type Output = Self;
    #[inline]
    fn sub(self, o: Self) -> Self {
        Self(self.0.saturating_sub(o.0))
    }
}
impl AddAssign for Picos {
    #[inline]
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}
impl SubAssign for Picos {
    #[inline]
    fn sub_assign(&mut self, o: Self) {
        *self = *self - o;
    }
}
impl Neg for Picos {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}
impl std::iter::Sum for Picos {
    #[inline]
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

/// Sums lengths that are held as picoseconds.
impl std::iter::Sum<i64> for Picos {
    #[inline]
    fn sum<I: Iterator<Item = i64>>(iter: I) -> Self {
        iter.map(Self).sum()
    }
}

/// Four significant digits and a unit: `1.234 ms`, `78 ps`. Use
/// [`Picos::ps`] where the exact number is wanted.
impl fmt::Display for Picos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.pad("0 s");
        }
        let magnitude = self.0.unsigned_abs();
        // 999.96 µs rounds to 1000 µs at four digits: it belongs to the next unit.
        let (unit, name) = UNITS
            .into_iter()
            .find(|&(unit, _)| magnitude as f64 >= unit as f64 * 0.99995)
            .unwrap_or((1, "ps"));
        let value = self.0 as f64 / unit as f64;
        let whole_digits = if value.abs() >= 999.95 {
            4
        } else {
            (value.abs().max(1.0).log10() as usize) + 1
        };
        let decimals = if unit == 1 {
            0
        } else {
            4usize.saturating_sub(whole_digits)
        };
        f.pad(&format!("{value:.decimals$} {name}"))
    }
}

/// `12.5ms`, `3 s`, `7us`, `7µs`, `40ns`, `100` (picoseconds).
impl FromStr for Picos {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let bad =
            || format!("'{text}' is not a length of time; write for example 12.5ms, 40us or 3s");
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+')))
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let unit = match unit.trim() {
            // Nobody who leaves the unit out means picoseconds.
            "" if number.parse() == Ok(0.0) => "ps",
            "us" | "μs" => "µs",
            unit => unit,
        };
        let known = UNITS.into_iter().find(|&(_, name)| name == unit);
        let (unit, _) = known.ok_or_else(bad)?;
        let value: f64 = number
            .parse()
            .map_err(|_not_a_number: std::num::ParseFloatError| bad())?;
        let ps = (value * unit as f64).round();
        if ps.is_finite() && ps.abs() < i64::MAX as f64 {
            Ok(Self(ps as i64))
        } else {
            Err(bad())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_with_four_digits_and_a_fitting_unit() {
        let shown = |ps: i64| Picos::from_ps(ps).to_string();
        assert_eq!(shown(0), "0 s");
        assert_eq!(shown(78), "78 ps");
        assert_eq!(shown(13_750), "13.75 ns");
        assert_eq!(shown(3_430_000), "3.430 µs");
        assert_eq!(shown(999_960_000), "1.000 ms");
        assert_eq!(shown(999_940_000), "999.9 µs");
        assert_eq!(shown(1_234_500_000_000), "1.234 s");
        assert_eq!(shown(-2_000_000), "-2.000 µs");
        assert_eq!(shown(3_600 * PS_PER_S), "3600 s");
    }

    #[test]
    fn durations_parse_in_every_unit() {
        assert_eq!("12.5ms".parse(), Ok(Picos::from_ps(12_500_000_000)));
        assert_eq!(" 3 s ".parse(), Ok(Picos::from_ps(3 * PS_PER_S)));
        assert_eq!("40ps".parse(), Ok(Picos::from_ps(40)));
        assert_eq!("0".parse(), Ok(Picos::ZERO));
        assert!("40".parse::<Picos>().is_err(), "no unit");
        assert_eq!("1µs".parse::<Picos>(), "1us".parse());
        assert!("fast".parse::<Picos>().is_err());
        assert!("1e400s".parse::<Picos>().is_err());
    }

    #[test]
    fn ranges_that_touch_do_not_overlap() {
        let range = |a, b| TimeRange::new(Timestamp::from_ps(a), Timestamp::from_ps(b));
        assert!(!range(0, 10).overlaps(range(10, 20)));
        assert_eq!(range(0, 10).intersect(range(5, 20)), Some(range(5, 10)));
        assert_eq!(range(0, 10).intersect(range(10, 20)), None);
        assert!(range(7, 3).is_empty());
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Timestamp::MAX + Picos::from_ps(1), Timestamp::MAX);
        assert_eq!(Timestamp::MIN - Timestamp::MAX, Picos::from_ps(i64::MIN));
        assert_eq!([i64::MAX, 1].into_iter().sum::<Picos>(), Picos::MAX);
    }
}
