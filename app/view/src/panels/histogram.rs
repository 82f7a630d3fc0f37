//! The distribution of the durations of all slices of a name.

use crate::prelude::*;

/// Maximum number of bars.
const MOST_BARS: usize = 40;

/// Durations of all slices of a label, in bars.
#[derive(Debug, Default)]
pub struct Histogram {
    /// Number of slices.
    pub count: usize,
    /// Shortest, in picoseconds.
    pub min: i64,
    pub median: i64,
    pub max: i64,
    pub total: i64,
    /// Number of slices in each bar. Bars divide `min..=max` evenly, on a logarithmic scale if the longest slice is
    /// more than ten times the shortest.
    pub bars: Vec<usize>,
    is_log: bool,
}

impl Histogram {
    /// From durations in any order.
    pub fn of(mut times: Vec<i64>) -> Self {
        times.sort_unstable();
        let (Some(&min), Some(&max)) = (times.first(), times.last()) else {
            return Self::default();
        };
        let mut histogram = Self {
            count: times.len(),
            min,
            median: times[times.len() / 2],
            max,
            total: times
                .iter()
                .fold(0, |sum: i64, &time| sum.saturating_add(time)),
            bars: Vec::new(),
            is_log: max / min.max(1) >= 10,
        };
        // More bars than slices would leave gaps.
        let bars = if min == max {
            1
        } else {
            MOST_BARS.min(times.len().max(2))
        };
        histogram.bars = vec![0; bars];
        for time in times {
            let bar = histogram.bar_of(time);
            histogram.bars[bar] += 1;
        }
        histogram
    }

    /// The bar of a duration.
    pub fn bar_of(&self, time: i64) -> usize {
        let position = |time: i64| {
            if self.is_log {
                (time.max(1) as f64).ln()
            } else {
                time as f64
            }
        };
        let (from, to) = (position(self.min), position(self.max));
        let share = if to > from {
            (position(time) - from) / (to - from)
        } else {
            0.0
        };
        ((share * self.bars.len() as f64) as usize).min(self.bars.len().saturating_sub(1))
    }

    /// Whether durations are on a logarithmic scale.
    pub fn is_logarithmic(&self) -> bool {
        self.is_log
    }

    /// Where powers of ten are, as shares of the width, if the scale is logarithmic.
    pub fn powers_of_ten(&self) -> impl Iterator<Item = f32> {
        let [from, to] = [self.min, self.max].map(|ps| (ps.max(1) as f64).log10());
        let powers = from.ceil() as i32..=to.floor() as i32;
        let share = move |power| ((f64::from(power) - from) / (to - from).max(1e-9)) as f32;
        powers.filter(|_| self.is_log).map(share)
    }

    /// The bars between two shares of the width, and the durations that they cover: of the shortest to the longest,
    /// each rounded outwards, in picoseconds.
    pub fn part(&self, from: f32, to: f32) -> (std::ops::RangeInclusive<usize>, i64, i64) {
        let last = self.bars.len().saturating_sub(1);
        let bar =
            |share: f32| ((share.clamp(0.0, 1.0) * self.bars.len() as f32) as usize).min(last);
        let (first, end) = (bar(from.min(to)), bar(from.max(to)));
        (
            first..=end,
            self.bounds(first).0.floor() as i64,
            self.bounds(end).1.ceil() as i64,
        )
    }

    /// The bounds of a bar, in picoseconds.
    pub fn bounds(&self, bar: usize) -> (f64, f64) {
        let time_at = |edge: usize| {
            let share = edge as f64 / self.bars.len().max(1) as f64;
            if self.is_log {
                let (from, to) = ((self.min.max(1) as f64).ln(), (self.max.max(1) as f64).ln());
                (from + (to - from) * share).exp()
            } else {
                self.min as f64 + (self.max - self.min) as f64 * share
            }
        };
        (time_at(bar), time_at(bar + 1))
    }
}

/// Durations of all slices of a label, by the clock that timed them.
pub fn durations(
    model: &TraceModel,
    label: LabelId,
    progress: &Progress,
) -> Result<Histogram, String> {
    let mut times = Vec::new();
    for (i, slice) in model.all_slices().enumerate() {
        if i % (1 << 16) == 0 {
            progress.check().map_err(|error| error.to_string())?;
        }
        if slice.label_id() == label {
            times.push(measured_range(slice, model).dur().ps());
        }
    }
    Ok(Histogram::of(times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selected_part_covers_touched_bars() {
        let histogram = Histogram::of((100..140).collect());
        let (bars, from, to) = histogram.part(0.52, 0.27);
        assert_eq!(bars, 10..=20);
        assert!(from <= 110 && to >= 120, "{from} {to}");
        assert_eq!(histogram.part(-1.0, 2.0).0, 0..=histogram.bars.len() - 1);
    }

    #[test]
    fn every_duration_is_in_its_bar() {
        for times in [
            vec![5],
            vec![7, 7, 7],
            (100..200).collect(),
            vec![1, 10, 100, 100_000, 5_000_000],
        ] {
            let histogram = Histogram::of(times.clone());
            assert_eq!(histogram.bars.iter().sum::<usize>(), times.len());
            for time in times {
                let (from, to) = histogram.bounds(histogram.bar_of(time));
                assert!(
                    from * 0.999 <= time as f64 && time as f64 <= to * 1.001,
                    "{time} in {from}..{to}"
                );
            }
        }
        assert_eq!(Histogram::of(Vec::new()).count, 0);
        let histogram = Histogram::of(vec![1, 2, 3, 4, 100]);
        assert_eq!((histogram.median, histogram.total), (3, 110));
    }
}
