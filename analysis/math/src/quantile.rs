//! The one definition of a quantile, for all reports, gates, queries and lists.
//!
//! It is definition 7 of Hyndman and Fan ("Sample Quantiles in Statistical Packages", The American Statistician 50(4),
//! 1996), the default of R, `NumPy` and spreadsheets: of n numbers in ascending order, counted from 0, the quantile
//! `share` lies at the place h = (n − 1) · `share`, linear between the two neighbours of h. The median of an even count is
//! then the mean of the middle two; 0 is the smallest number and 1 the largest.
//!
//! Which form to call is a question of cost only: [`quantile`] copies, [`of_sorted`] needs the order, [`in_place`] takes
//! linear time.

/// The quantile `share` (0 to 1; beyond, the nearest of the two) of the finite ones of `values`; `None` if there are
/// none, or if `share` is no number.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut finite: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| value.is_finite())
        .collect();
    in_place(&mut finite, share)
}

/// The quantile of numbers in ascending order.
pub fn of_sorted(sorted: &[f64], quantile: f64) -> Option<f64> {
    let (below, share) = place(sorted.len(), quantile)?;
    let low = *sorted.get(below)?;
    Some(between(
        low,
        sorted.get(below + 1).copied().unwrap_or(low),
        share,
    ))
}

/// The quantile of numbers in ascending order of which each occurs as often as its count says; `total` is the sum of the
/// counts.
pub(crate) fn of_counted(
    sorted: &[f64],
    counts: &[u32],
    total: usize,
    quantile: f64,
) -> Option<f64> {
    let (below, share) = place(total, quantile)?;
    let mut numbers = sorted.iter().zip(counts);
    let (mut seen, mut low) = (0, None);
    while seen <= below {
        let (&number, &count) = numbers.next()?;
        seen += count as usize;
        low = Some(number);
    }
    let low = low?;
    let mut next = || {
        numbers
            .find(|(_, count)| **count > 0)
            .map(|(&number, _)| number)
    };
    let high = if seen > below + 1 {
        low
    } else {
        next().unwrap_or(low)
    };
    Some(between(low, high, share))
}

/// The quantile of any numbers, which are reordered.
pub fn in_place(values: &mut [f64], share: f64) -> Option<f64> {
    let [value] = rising_in_place(values, [share]);
    value
}

/// Several quantiles, the lowest first. The numbers are reordered: each quantile leaves smaller ones before it, where the
/// next one need not look.
pub fn rising_in_place<const N: usize>(values: &mut [f64], shares: [f64; N]) -> [Option<f64>; N] {
    let mut before = 0;
    shares.map(|share| {
        let (below, share) = place(values.len(), share)?;
        let (_, low, above) =
            values[before..].select_nth_unstable_by(below.checked_sub(before)?, f64::total_cmp);
        before = below;
        let low = *low;
        Some(between(
            low,
            above.iter().copied().min_by(f64::total_cmp).unwrap_or(low),
            share,
        ))
    })
}

/// The place of a quantile among `count` numbers: the index below it, and how far it is towards the next one.
fn place(count: usize, share: f64) -> Option<(usize, f64)> {
    let place =
        Some(share.clamp(0.0, 1.0)).filter(|share| !share.is_nan())? * count.checked_sub(1)? as f64;
    Some((place.floor() as usize, place.fract()))
}

fn between(low: f64, high: f64, share: f64) -> f64 {
    low + (high - low) * share
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: `quantile(c(15, 20, 35, 40, 50), c(.05, .3, .4, .5, 1), type = 7)`.
    #[test]
    fn quantiles_match_definition_seven() {
        let values = [35.0, 15.0, 50.0, 20.0, 40.0];
        for (at, expected) in [
            (0.0, 15.0),
            (0.05, 16.0),
            (0.3, 23.0),
            (0.4, 29.0),
            (0.5, 35.0),
            (1.0, 50.0),
        ] {
            let found = quantile(&values, at).unwrap();
            assert!((found - expected).abs() < 1e-12, "{at}: {found}");
        }
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 10.0], 0.5), Some(2.5));
    }

    #[test]
    fn all_forms_agree() {
        let mut values: Vec<f64> = (0..57).map(|i| f64::from(i * 31 % 57) * 1.7).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        for percent in 0..=100 {
            let at = f64::from(percent) / 100.0;
            let expected = quantile(&values, at).map(f64::to_bits);
            assert_eq!(of_sorted(&sorted, at).map(f64::to_bits), expected, "{at}");
            assert_eq!(
                in_place(&mut values, at).map(f64::to_bits),
                expected,
                "{at}"
            );
            // Every third number twice, and every fifth not at all.
            let counts: Vec<u32> = (0..57)
                .map(|i| u32::from(i % 5 > 0) << u32::from(i % 3 == 0))
                .collect();
            let times = |(&value, &count): (&f64, &u32)| vec![value; count as usize];
            let drawn: Vec<f64> = sorted.iter().zip(&counts).flat_map(times).collect();
            assert_eq!(
                of_counted(&sorted, &counts, drawn.len(), at).map(f64::to_bits),
                of_sorted(&drawn, at).map(f64::to_bits),
                "{at}"
            );
            let rising = rising_in_place(&mut values, [at / 2.0, at, at])
                .map(|found| found.map(f64::to_bits));
            assert_eq!(
                rising,
                [
                    quantile(&values, at / 2.0).map(f64::to_bits),
                    expected,
                    expected
                ],
                "{at}"
            );
        }
    }

    #[test]
    fn places_outside_and_empty_lists_are_no_panic() {
        assert_eq!(
            (quantile(&[], 0.5), quantile(&[f64::NAN], 0.5)),
            (None, None)
        );
        assert_eq!(
            (quantile(&[3.0], 7.0), quantile(&[3.0, 4.0], -1.0)),
            (Some(3.0), Some(3.0))
        );
        assert_eq!(quantile(&[3.0, 4.0], f64::NAN), None);
    }
}
