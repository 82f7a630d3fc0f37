//! The largest value of a counter in any range.

use trace_model::CounterSeries;

use crate::view::timeline::peaks::MaximumIndex;

/// The values of a counter, and where the largest of any range is.
#[derive(Clone, Debug, Default)]
pub struct CounterPeaks {
    values: Vec<f64>,
    peaks: MaximumIndex,
}

/// Counters of fewer samples are drawn sample by sample.
const MANY: usize = 4_096;

impl CounterPeaks {
    /// Of a counter; `None` where it has so few samples that looking at each is fast.
    pub fn new(series: &CounterSeries) -> Option<Self> {
        if series.len() < MANY {
            return None;
        }
        let values: Vec<f64> = series.samples().map(|(_, value)| value).collect();
        let peaks = MaximumIndex::new(values.len(), |i| values.get(i).copied());
        Some(Self { values, peaks })
    }

    /// The largest of some of the values.
    pub fn largest(&self, range: std::ops::Range<usize>) -> Option<f64> {
        let at = self.peaks.largest(range, |i| self.values.get(i).copied())?;
        self.values.get(at).copied()
    }
}
