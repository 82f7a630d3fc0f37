//! Formats of simulators and cost models.

pub mod astra_sim;
pub mod chakra;
pub mod onnxim;
pub mod op_costs;
pub mod scale_sim;
pub mod togsim;
