//! The list of analyses. To add one: a file in its folder below `reports`, and a line here.

use crate::engine::{AnalysisEntry, entry};
use crate::hints;
use crate::reports::communication::{collectives, dcn, overlap, sparse_cores};
use crate::reports::host::{clocks, compile, dispatch, gaps, input, serving};
use crate::reports::memory::{buffers, hbm};
use crate::reports::ops::{bundles, expected, kernels, loops, matmuls, op_stats, roofline};
use crate::reports::steps::{balance, devices, step_parts, step_times};
use crate::reports::summary::{doctor, hardware_counters, targets, utilization, verdict};

/// Every analysis, in the order of a report.
#[rustfmt::skip]
pub static ANALYSES: &[AnalysisEntry] = &[
    entry::<verdict::Verdict>(),
    entry::<targets::Targets>(),
    entry::<hints::Hints>(),
    entry::<step_times::Steps>(),
    entry::<step_parts::StepParts>(),
    entry::<devices::Devices>(),
    entry::<balance::Balance>(),
    entry::<utilization::Utilization>(),
    entry::<op_stats::Ops>(),
    entry::<roofline::Roofline>(),
    entry::<expected::Expected>(),
    entry::<matmuls::Matmuls>(),
    entry::<loops::Loops>(),
    entry::<kernels::Kernels>(),
    entry::<bundles::Code>(),
    entry::<hardware_counters::HardwareCounters>(),
    entry::<sparse_cores::SparseCores>(),
    entry::<overlap::Overlap>(),
    entry::<collectives::Collectives>(),
    entry::<dcn::Dcn>(),
    entry::<hbm::Memory>(),
    entry::<buffers::Buffers>(),
    entry::<compile::Compile>(),
    entry::<gaps::Gaps>(),
    entry::<dispatch::Dispatch>(),
    entry::<input::Input>(),
    entry::<serving::Serving>(),
    entry::<clocks::Clocks>(),
    entry::<doctor::Doctor>(),
];
