//! Reports: one module for each question.

pub mod communication;
pub mod hlo;
pub mod host;
pub mod memory;
pub mod ops;
pub mod steps;
pub mod summary;
