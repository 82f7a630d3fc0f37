//! Categories of time use, shared by the verdict and the hints, so that hints can address what the verdict names.

use serde::Serialize;

use crate::category::OpGroup;

/// A category of time use.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum TimeUse {
    /// Ops of [`OpGroup::MatMul`].
    #[serde(rename = "matmul")]
    MatMul,
    /// Ops of [`OpGroup::Collective`].
    Collective,
    /// Ops of [`OpGroup::AsyncWait`].
    AsyncWait,
    /// Ops of [`OpGroup::DataMovement`].
    DataMovement,
    /// Ops of [`OpGroup::Vector`].
    Vector,
    /// Ops of [`OpGroup::CustomKernel`].
    CustomKernel,
    /// Ops of [`OpGroup::HostIo`].
    HostIo,
    /// Ops of [`OpGroup::Control`].
    Control,
    /// Ops of [`OpGroup::SparseCore`].
    SparseCore,
    /// Ops of no known kind.
    Other,
    /// No op runs.
    Idle,
    /// The host traces, lowers, compiles or loads programs.
    Compile,
    /// A host without devices waits for input.
    Input,
    /// Steps that take much longer than the median step.
    SlowSteps,
}

impl TimeUse {
    /// Stable name, as in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::MatMul => "matmul",
            Self::Collective => "collective",
            Self::AsyncWait => "async-wait",
            Self::DataMovement => "data-movement",
            Self::Vector => "vector",
            Self::CustomKernel => "custom-kernel",
            Self::HostIo => "host-io",
            Self::Control => "control",
            Self::SparseCore => "sparse-core",
            Self::Other => "other",
            Self::Idle => "idle",
            Self::Compile => "compile",
            Self::Input => "input",
            Self::SlowSteps => "slow-steps",
        }
    }

    /// Display name, in lower case.
    pub fn title(self) -> &'static str {
        match self {
            Self::MatMul => "matrix products",
            Self::Collective => "waiting for communication",
            Self::AsyncWait => "waiting for copies",
            Self::DataMovement => "copies and layout changes",
            Self::Vector => "element-wise",
            Self::CustomKernel => "custom kernels",
            Self::HostIo => "host transfers",
            Self::Control => "loop overhead",
            Self::SparseCore => "SparseCore",
            Self::Other => "other ops",
            Self::Idle => "idle",
            Self::Compile => "idle while compiling",
            Self::Input => "waiting for input",
            Self::SlowSteps => "slow steps",
        }
    }

    /// Whether it is computation or data movement, which is the purpose of a program. The others are waiting and
    /// overhead.
    pub fn is_work(self) -> bool {
        matches!(
            self,
            Self::MatMul
                | Self::DataMovement
                | Self::Vector
                | Self::CustomKernel
                | Self::SparseCore
                | Self::Other
        )
    }
}

impl From<OpGroup> for TimeUse {
    fn from(group: OpGroup) -> Self {
        match group {
            OpGroup::MatMul => Self::MatMul,
            OpGroup::Collective => Self::Collective,
            OpGroup::AsyncWait => Self::AsyncWait,
            OpGroup::DataMovement => Self::DataMovement,
            OpGroup::Vector => Self::Vector,
            OpGroup::CustomKernel => Self::CustomKernel,
            OpGroup::HostIo => Self::HostIo,
            OpGroup::Control => Self::Control,
            OpGroup::SparseCore => Self::SparseCore,
            OpGroup::Other => Self::Other,
            OpGroup::Idle => Self::Idle,
        }
    }
}
