//! Intervals, statistics and tests of significance. Knows nothing of traces but time.

pub(crate) mod bounds;
pub mod intervals;
pub(crate) mod parallel;
pub mod quantile;
pub mod rank_test;
pub mod resample;
pub mod stats;
pub mod unit;
