//! The list of formats.

use compiler_formats::{jax_log, program, xla};
use importer_common::Importer;
use profiler_formats::{trace_event, xplane};
use simulator_formats::{astra_sim, chakra, onnxim, op_costs, scale_sim, togsim};

/// Every format; if several are equally certain, the first one is chosen.
pub static IMPORTERS: &[&dyn Importer] = &[
    &xplane::XPlane,
    &trace_event::TraceEventJson,
    &astra_sim::AstraSim,
    &chakra::ChakraImporter,
    &scale_sim::ScaleSim,
    &onnxim::OnnxIm,
    &togsim::TogSim,
    &op_costs::NEUSIM,
    &op_costs::GENZ,
    &xla::ScheduledHlo,
    &xla::LatencyHidingSchedule,
    &jax_log::JaxLog,
    &program::HLO_PROTO,
    &program::STABLEHLO,
];
