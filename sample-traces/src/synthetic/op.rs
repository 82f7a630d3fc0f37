//! Ops of a synthetic program and their durations.

use super::spec::TrainingSpec;

/// The role of an op in the analyses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyntheticRole {
    /// Uses the matrix unit.
    Matmul,
    /// Any other compute.
    #[default]
    Vector,
    /// A collective that the core waits for.
    SyncCollective,
    CollectiveStart,
    /// Waits for the rest of a collective.
    CollectiveDone,
    CopyStart,
    /// Waits for the rest of a copy.
    CopyDone,
    /// Contains other ops.
    Loop,
}

impl SyntheticRole {
    /// Whether it computes, as opposed to moving data or waiting.
    pub fn is_compute(self) -> bool {
        matches!(self, Self::Matmul | Self::Vector)
    }
}

/// The computation that an op calls in its HLO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InnerOp {
    #[default]
    Nothing,
    /// A fusion of a matrix multiplication, written as a convolution.
    Product,
    /// A fusion of elementwise operations.
    Elementwise,
    /// A fusion that updates a part of its first operand.
    Update,
    /// A loop over other ops.
    Loop {
        /// Trip count, known to the compiler.
        times: u64,
    },
}

/// Which devices communicate: `[count,size]<=[dims]T(permutation)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaGroupPattern {
    /// Channel id, which identifies the op across devices.
    pub channel: u32,
    pub count: u64,
    /// Devices per group.
    pub size: u64,
    /// Sizes of the grid in which the devices are numbered.
    pub dims: Vec<u64>,
    /// Permutation of the grid's dimensions; empty if unchanged.
    pub permutation: Vec<u64>,
}

impl ReplicaGroupPattern {
    /// The groups in the syntax of HLO.
    pub(super) fn text(&self) -> String {
        let list = |values: &[u64]| trace_model::joined(values, ",");
        let order = if self.permutation.is_empty() {
            String::new()
        } else {
            format!("T({})", list(&self.permutation))
        };
        format!(
            "replica_groups=[{},{}]<=[{}]{order}",
            self.count,
            self.size,
            list(&self.dims)
        )
    }
}

/// One instruction of a program.
#[derive(Clone, Debug, Default)]
pub struct SyntheticOp {
    pub name: String,
    /// `hlo_category`.
    pub category: &'static str,
    /// Its role in the analyses.
    pub role: SyntheticRole,
    pub opcode: &'static str,
    /// Shape of the result, with its layout.
    pub shape: String,
    /// Operands: shape and name.
    pub operands: Vec<(String, String)>,
    /// Text after the operands in HLO.
    pub attributes: String,
    /// Provenance in the framework.
    pub framework_name: String,
    /// Line of the fictitious `train.py`.
    pub source_line: u32,
    /// Duration of one execution, ps.
    pub dur_ps: i64,
    /// Operations of one execution.
    pub flops: u64,
    /// Bytes of one execution from HBM, to HBM, and from VMEM.
    pub bytes: [u64; 3],
    /// For collectives: number of communicating devices, and size of the whole buffer.
    pub collective: Option<(u32, u64)>,
    /// The computation that it calls.
    pub inner: InnerOp,
    /// Index of the loop that contains it.
    pub inside: Option<usize>,
    /// Groups of communicating devices.
    pub groups: Option<ReplicaGroupPattern>,
}

impl SyntheticOp {
    /// The instruction as HLO text.
    pub fn text(&self) -> String {
        let operands = self
            .operands
            .iter()
            .map(|(shape, name)| format!("{shape} %{name}"));
        let Self {
            name,
            shape,
            opcode,
            attributes,
            ..
        } = self;
        format!(
            "%{name} = {shape} {opcode}({}){attributes}",
            trace_model::joined(operands, ", ")
        )
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

/// Cost model: the roofline with an efficiency for each resource.
pub struct CorePace<'a> {
    pub(super) spec: &'a TrainingSpec,
}

impl CorePace<'_> {
    /// Duration of an op in ps: the longer of its compute time and its HBM time. `fill` is the
    /// share of the MXU's tiles that is not padding.
    pub fn op_ps(&self, flops: u64, fill: f64, hbm_bytes: u64) -> i64 {
        let compute =
            flops as f64 / (self.spec.chip.peak_flops() * self.spec.mxu_efficiency * fill);
        (compute.max(self.hbm_seconds(hbm_bytes)) * 1e12).round() as i64
    }

    /// Time to move `bytes` to or from HBM, ps.
    pub fn hbm_ps(&self, bytes: u64) -> i64 {
        (self.hbm_seconds(bytes) * 1e12).round() as i64
    }

    /// Duration in ps of a collective along an axis of `devices` whose buffer of `bytes`
    /// passes around the ring `rounds` times.
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
