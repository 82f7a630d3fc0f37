//! Reports on what devices do: one module for each question.

pub mod communication;
pub mod memory;
pub mod ops;
pub mod steps;

pub use communication::collectives::{CollectiveRow, Collectives};
pub use communication::dcn::Dcn;
pub use communication::overlap::{CoreTraffic, Overlap, OverlapReport};
pub use memory::buffers::Buffers;
pub use memory::hbm::Memory;
pub use ops::expected::{Expected, TimeLimit};
pub use ops::kernels::{DeclaredCosts, Kernel, Kernels, KernelsReport};
pub use ops::matmuls::Matmuls;
pub use ops::op_stats::{CoreOps, LikeOps, OpRow, Ops, OpsReport};
pub use ops::roofline::{Roofline, RooflinePoint, RooflineReport};
pub use steps::balance::{Balance, BalanceReport, DeviceLoad};
pub use steps::step_parts::{DividedStep, StepPart, StepParts, StepPartsReport, TimeByPart};
pub use steps::step_times::Steps;
