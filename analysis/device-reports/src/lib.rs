//! Reports on what devices do: one module for each question.

pub mod communication;
pub mod memory;
pub mod ops;
pub mod steps;
