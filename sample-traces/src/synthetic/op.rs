//! Ops of a synthetic program, and how long they take.

use super::spec::TrainingSpec;

/// What an op is to the analyses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntheticRole {
    /// Uses the matrix unit.
    Matmul,
    /// Any other compute.
    Vector,
    /// A collective that the core waits for.
    SyncCollective,
    /// Starts a collective.
    CollectiveStart,
    /// Waits for the rest of a collective.
    CollectiveDone,
    /// Starts a copy.
    CopyStart,
    /// Waits for the rest of a copy.
    CopyDone,
    /// Contains other ops.
    Loop,
}

impl SyntheticRole {
    /// Whether it computes, as opposed to moving data and waiting.
    pub fn is_compute(self) -> bool {
        matches!(self, Self::Matmul | Self::Vector)
    }
}

/// What an op calls, in its HLO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InnerOp {
    /// Nothing.
    #[default]
    Nothing,
    /// A fusion of a matrix multiplication, written as a convolution.
    Product,
    /// A fusion of elementwise operations.
    Elementwise,
    /// A fusion that writes a part of its first operand.
    Update,
    /// Other ops, so many times.
    Loop {
        /// Iterations, known to the compiler.
        times: u64,
    },
}

/// Which devices communicate: `[count,size]<=[dims]T(permutation)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaGroupPattern {
    /// Identity of the op across devices.
    pub channel: u32,
    /// Number of groups.
    pub count: u64,
    /// Devices in each.
    pub size: u64,
    /// The grid that numbers the devices.
    pub dims: Vec<u64>,
    /// Order of its dimensions; empty if unchanged.
    pub permutation: Vec<u64>,
}

impl ReplicaGroupPattern {
    /// As in HLO text.
    pub(super) fn text(&self) -> String {
        let list = |values: &[u64]| values.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let order = if self.permutation.is_empty() { String::new() } else { format!("T({})", list(&self.permutation)) };
        format!("replica_groups=[{},{}]<=[{}]{order}", self.count, self.size, list(&self.dims))
    }
}

/// One instruction of a program.
#[derive(Clone, Debug)]
pub struct SyntheticOp {
    /// Instruction name.
    pub name: String,
    /// `hlo_category`.
    pub category: &'static str,
    /// What it is to the analyses.
    pub role: SyntheticRole,
    /// Operation in HLO.
    pub opcode: &'static str,
    /// Result, with layout.
    pub shape: String,
    /// Operands: shape and name.
    pub operands: Vec<(String, String)>,
    /// What follows the operands in HLO text.
    pub attributes: String,
    /// Provenance in the framework.
    pub framework_name: String,
    /// Line of the imaginary `train.py`.
    pub source_line: u32,
    /// How long one execution takes, ps.
    pub dur_ps: i64,
    /// Operations of one execution.
    pub flops: u64,
    /// Bytes of one execution from HBM, to HBM, and from VMEM.
    pub bytes: [u64; 3],
    /// Communicating devices and the size of the whole buffer, of collectives.
    pub collective: Option<(u32, u64)>,
    /// What it calls.
    pub inner: InnerOp,
    /// The loop that contains it.
    pub inside: Option<usize>,
    /// Which devices communicate.
    pub groups: Option<ReplicaGroupPattern>,
}

impl SyntheticOp {
    /// The instruction as HLO text.
    pub fn text(&self) -> String {
        let operands: Vec<_> = self.operands.iter().map(|(shape, name)| format!("{shape} %{name}")).collect();
        let Self { name, shape, opcode, attributes, .. } = self;
        format!("%{name} = {shape} {opcode}({}){attributes}", operands.join(", "))
    }

    /// The number at the end of its name.
    pub(super) fn number(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    /// Bytes to and from HBM of one execution.
    pub fn hbm_bytes(&self) -> u64 {
        self.bytes[0] + self.bytes[1]
    }

    /// Bytes to and from all memories of one execution.
    pub fn all_bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }
}

/// How long things take: the roofline, with an efficiency for each resource.
pub struct CorePace<'a> {
    pub(super) spec: &'a TrainingSpec,
}

impl CorePace<'_> {
    /// The longer of computing and moving, ps. `fill` is the share of the MXU's
    /// tiles that is not padding.
    pub fn op_ps(&self, flops: u64, fill: f64, hbm_bytes: u64) -> i64 {
        let compute = flops as f64 / (self.spec.chip.peak_flops() * self.spec.mxu_efficiency * fill);
        (compute.max(self.hbm_seconds(hbm_bytes)) * 1e12).round() as i64
    }

    /// Moving alone, ps.
    pub fn hbm_ps(&self, bytes: u64) -> i64 {
        (self.hbm_seconds(bytes) * 1e12).round() as i64
    }

    /// A collective over an axis of `devices` with a buffer of `bytes`, which
    /// passes the ring `rounds` times, ps.
    pub fn ring_ps(&self, devices: u32, bytes: u64, rounds: u32) -> i64 {
        const HOP_SECONDS: f64 = 1e-6;
        let chip = &self.spec.chip;
        let moving = bytes as f64 / (chip.ring_bytes(devices) * self.spec.link_efficiency);
        let latency = f64::from(chip.hops(devices)) * HOP_SECONDS;
        (f64::from(rounds) * moving.max(latency) * 1e12).round() as i64
    }

    fn hbm_seconds(&self, bytes: u64) -> f64 {
        bytes as f64 / (self.spec.chip.hbm_bytes() * self.spec.hbm_efficiency)
    }
}
