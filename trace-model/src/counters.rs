//! Values over time.

use serde::{Deserialize, Serialize};

use crate::strings::StringId;
use crate::time::{Picos, TimeRange, Timestamp};
use crate::track::TrackId;

/// The samples of one counter track, sorted by time. A sample holds from its
/// start to its end; ends never reach past the next sample.
#[derive(Debug, Serialize, Deserialize)]
pub struct CounterSeries {
    pub(crate) track: TrackId,
    pub(crate) unit: Option<StringId>,
    #[serde(with = "crate::plain")]
    pub(crate) starts: Vec<Timestamp>,
    #[serde(with = "crate::plain")]
    pub(crate) ends: Vec<Timestamp>,
    #[serde(with = "crate::plain")]
    pub(crate) values: Vec<f64>,
}

impl CounterSeries {
    /// The track of the counter.
    pub fn track(&self) -> TrackId {
        self.track
    }
    /// Unit as recorded (`% util`, `bytes`).
    pub fn unit(&self) -> Option<StringId> {
        self.unit
    }
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.values.len()
    }
    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
    /// Every sample: the range in which it holds, and its value.
    pub fn samples(&self) -> impl Iterator<Item = (TimeRange, f64)> {
        self.starts
            .iter()
            .zip(&self.ends)
            .zip(&self.values)
            .map(|((&start, &end), &value)| (TimeRange::new(start, end), value))
    }
    /// One sample: the range in which it holds, and its value.
    pub fn sample(&self, index: usize) -> Option<(TimeRange, f64)> {
        let range = TimeRange::new(*self.starts.get(index)?, *self.ends.get(index)?);
        Some((range, *self.values.get(index)?))
    }
    /// Index of the first sample that ends after `time`.
    pub fn first_after(&self, time: Timestamp) -> usize {
        self.ends.partition_point(|&end| end <= time)
    }
    /// The samples within `range`, clipped to it; zero-length ones are left out.
    pub fn samples_in(&self, range: TimeRange) -> impl Iterator<Item = (TimeRange, f64)> + '_ {
        let from = self.first_after(range.start);
        let rest = self.starts[from..]
            .iter()
            .zip(&self.ends[from..])
            .zip(&self.values[from..]);
        rest.take_while(move |((start, _), _)| **start < range.end)
            .filter_map(move |((&start, &end), &value)| {
                let part = TimeRange::new(start, end).intersect(range)?;
                (!part.is_empty()).then_some((part, value))
            })
    }
    /// The value that holds at `time`.
    pub fn value_at(&self, time: Timestamp) -> Option<f64> {
        let i = self
            .starts
            .partition_point(|&start| start <= time)
            .checked_sub(1)?;
        (time < self.ends[i] || self.starts[i] == time).then(|| self.values[i])
    }
    /// Mean over `range`, weighted by how long each value holds; `None` if no sample holds.
    pub fn mean(&self, range: TimeRange) -> Option<f64> {
        let mut held = Picos::ZERO;
        let mut sum = 0.0;
        for (part, value) in self.samples_in(range) {
            held += part.dur();
            sum += value * part.dur().as_ps_f64();
        }
        (held > Picos::ZERO).then(|| sum / held.as_ps_f64())
    }
}
