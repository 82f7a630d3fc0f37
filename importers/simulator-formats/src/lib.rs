//! Formats of simulators and cost models.

pub(crate) mod astra_sim;
pub(crate) mod chakra;
pub(crate) mod onnxim;
pub(crate) mod op_costs;
pub(crate) mod scale_sim;
pub(crate) mod togsim;
