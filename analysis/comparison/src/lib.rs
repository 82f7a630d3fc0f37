//! Comparisons, on top of reports: of two runs, of a run with limits, and of a program with what is expected of it.

pub mod compare;
pub mod expect;
pub mod gates;
pub mod kernels;
