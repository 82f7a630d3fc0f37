//! Categories of time use, shared by the verdict and the hints, so that hints can address what the verdict names.

use crate::category::OpGroup;

/// A category of time use.
#[engine::titled]
pub enum TimeUse {
    /// Ops of [`OpGroup::MatMul`].
    #[serde(rename = "matmul")]
    MatMul = "matrix products",
    /// Ops of [`OpGroup::Collective`].
    Collective = "waiting for communication",
    /// Ops of [`OpGroup::AsyncWait`].
    AsyncWait = "waiting for copies",
    /// Ops of [`OpGroup::DataMovement`].
    DataMovement = "copies and layout changes",
    /// Ops of [`OpGroup::Vector`].
    Vector = "element-wise",
    /// Ops of [`OpGroup::CustomKernel`].
    CustomKernel = "custom kernels",
    /// Ops of [`OpGroup::HostIo`].
    HostIo = "host transfers",
    /// Ops of [`OpGroup::Control`].
    Control = "loop overhead",
    /// Ops of [`OpGroup::SparseCore`].
    SparseCore = "SparseCore",
    /// Ops of no known kind.
    Other = "other ops",
    /// No op runs.
    Idle = "idle",
    /// The host traces, lowers, compiles or loads programs.
    Compile = "idle while compiling",
    /// The host prepares input, while its devices are idle, or by itself where it has none.
    Input = "waiting for input",
    /// Devices are idle while the host copies to them.
    Upload = "waiting for transfers to the device",
    /// Devices are idle while the host reads or waits for results.
    Results = "idle while the host waits for results",
    /// Devices are idle while the host launches programs.
    Launch = "waiting for programs to be launched",
    /// Steps that take much longer than the median step.
    SlowSteps = "slow steps",
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
            Self::Upload => "upload",
            Self::Results => "results",
            Self::Launch => "launch",
            Self::SlowSteps => "slow-steps",
        }
    }

    /// Idle time: without a cause, and with each that has a name of its own.
    pub const IDLE: &[Self] = &[
        Self::Idle,
        Self::Compile,
        Self::Input,
        Self::Upload,
        Self::Results,
        Self::Launch,
    ];

    /// Whether no op runs.
    pub fn is_idle(self) -> bool {
        Self::IDLE.contains(&self)
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
