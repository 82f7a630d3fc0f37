//! The largest value of a counter in any range.

use trace_model::CounterSeries;

use crate::timeline::peaks::MaximumIndex;

/// Index of the values of a counter for maximum queries.
#[derive(Clone, Debug, Default)]
pub struct CounterPeaks {
    values: Vec<f64>,
    peaks: MaximumIndex,
}

/// Counters with fewer samples need no index.
const MANY: usize = 4_096;

impl CounterPeaks {
    /// The index of a counter; `None` if it has few samples.
    pub fn new(series: &CounterSeries) -> Option<Self> {
        if series.len() < MANY {
            return None;
        }
        let values: Vec<f64> = series.samples().map(|(_, value)| value).collect();
        let peaks = MaximumIndex::new(values.len(), |i| values.get(i).copied());
        Some(Self { values, peaks })
    }

    /// The maximum in a range.
    pub fn largest(&self, range: std::ops::Range<usize>) -> Option<f64> {
        let index = self.peaks.largest(range, |i| self.values.get(i).copied())?;
        self.values.get(index).copied()
    }
}
