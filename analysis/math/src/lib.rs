//! Intervals, statistics and tests of significance. Knows nothing of traces but time.

pub mod bounds;
pub mod intervals;
pub mod parallel;
pub mod quantile;
pub mod rank_test;
pub mod resample;
pub mod stats;
pub mod unit;
