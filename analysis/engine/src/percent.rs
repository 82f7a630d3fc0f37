//! Percentages as text, as every renderer shows them.

use std::fmt;

use serde::{Deserialize, Serialize};
use trace_model::Picos;

use super::digits::LARGEST;

/// A percentage with its sign, in a statement: `format!("{:.1}", Percent(12.34))` is `12.3 %`. The precision is the
/// least number of decimals: values other than 0 and 100 are never printed as 0 or 100 (`99.96 %`, not `100.0 %`), as far
/// as six decimals tell them apart. What is a thousand times as much is said as a multiple: `885,224 times`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Percent(pub f64);

/// Largest number of decimals.
const MOST: usize = 6;
/// From here on, percentages are multiples.
pub(crate) const MULTIPLE: f64 = 100_000.0;
/// What is said of percentages that are closer to zero than their digits tell.
pub(crate) const NEARLY_NOTHING: &str = "nearly 0 %";
/// Tolerance for rounding in sums of shares.
const ROUNDING: f64 = 1e-9;

impl Percent {
    /// `part` of `whole`; `None` of nothing.
    pub fn of(part: Picos, whole: Picos) -> Option<Self> {
        math::stats::percent(part.ps(), whole.ps()).map(Self)
    }

    /// `part` of `whole`; `None` unless `whole` is above 0.
    pub fn ratio(part: f64, whole: f64) -> Option<Self> {
        (whole > 0.0).then(|| Self(100.0 * part / whole))
    }

    /// A share of one: 0.25 is 25 %.
    pub fn of_fraction(share: f64) -> Self {
        Self(100.0 * share)
    }

    /// Number of decimals to print, at least `least`: more if rounding would print 0 or 100 for another value; `None`
    /// if no reasonable number of decimals suffices.
    pub(crate) fn decimals(self, least: usize) -> Option<usize> {
        let value = self.0.abs();
        if !value.is_finite() || value == 0.0 || (value - 100.0).abs() < ROUNDING {
            return Some(least);
        }
        let is_rounded = |decimals: usize| {
            let unit = 10_f64.powi(decimals as i32);
            let shown = (value * unit).round();
            // Both sides are integers.
            shown < 0.5 || (shown - 100.0 * unit).abs() < 0.5
        };
        (least..=MOST.max(least)).find(|&decimals| !is_rounded(decimals))
    }
}

impl std::iter::Sum for Percent {
    fn sum<I: Iterator<Item = Self>>(shares: I) -> Self {
        Self(shares.map(|share| share.0).sum())
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = f.precision().unwrap_or(1);
        let size = self.0.abs();
        let text = match self.decimals(least) {
            _ if size >= LARGEST && size.is_finite() => format!("{size:.1e} %"),
            _ if size >= MULTIPLE && size.is_finite() => {
                format!("{} times", crate::digits::count(size / 100.0))
            }
            Some(decimals) => format!("{size:.decimals$} %"),
            None if size < 1.0 => return f.write_str(NEARLY_NOTHING),
            None => format!("{size:.least$} %"),
        };
        f.pad_integral(!self.0.is_sign_negative(), "", &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_0_and_100_print_as_such() {
        let text = |value: f64| format!("{:.1}", Percent(value));
        for (value, expected) in [
            (0.0, "0.0 %"),
            (100.0, "100.0 %"),
            (100.0 - 1e-12, "100.0 %"),
            (12.34, "12.3 %"),
            (99.94, "99.9 %"),
            (99.96, "99.96 %"),
            (99.9996, "99.9996 %"),
            (100.004, "100.004 %"),
            (0.04, "0.04 %"),
            (-0.04, "-0.04 %"),
            (0.000_000_12, "nearly 0 %"),
            (-0.000_000_12, "nearly 0 %"),
            (100.0 + 2e-7, "100.0 %"),
            (203.0, "203.0 %"),
            (88_522_437.0, "885,224 times"),
            (-2.5e300, "-2.5e300 %"),
        ] {
            assert_eq!(text(value), expected);
        }
        assert_eq!(
            format!(
                "{:+.1} {:+.1} {:+.1}",
                Percent(2.0),
                Percent(-2.0),
                Percent(0.04)
            ),
            "+2.0 % -2.0 % +0.04 %"
        );
        assert_eq!(format!("{:.0}", Percent(99.5)), "99.5 %");
        assert_eq!(format!("{:.0}", Percent(99.4)), "99 %");
    }
}
