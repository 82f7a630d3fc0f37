//! Attributes that only some instructions have: dimension numbers, groups, targets.

use std::ops::Range;

use super::ReplicaGroups;

/// Attributes that only some instructions have; absent unless the compiler records them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The kind of a `fusion`.
    pub fusion_kind: Option<FusionKind>,
    /// The dimensions of a `dot` or `ragged-dot`.
    pub dot: Option<Box<DotDimensions>>,
    /// The window and dimensions of a `convolution`.
    pub convolution: Option<Box<Convolution>>,
    /// The precision of a `dot` or `convolution`.
    pub precision: PrecisionConfig,
    /// The groups and channel of an op that communicates between devices.
    pub collective: Option<Box<CollectiveAttributes>>,
    /// The kernel that a `custom-call` runs.
    pub custom_call_target: Option<String>,
    /// Operations of a kernel, as its author declares them: `cost_estimate`.
    pub declared_flops: Option<u64>,
    /// Trip count of a `while`, if the compiler states it; see [`HloModule::trip_count`](crate::HloModule::trip_count).
    pub trip_count: Option<u64>,
    /// `send` and `recv` to and from the host.
    pub is_host_transfer: bool,
    /// Slice sizes of a `dynamic-slice`.
    pub slice_sizes: Vec<u64>,
    /// How the result is distributed over devices, as a text states it; absent in serialized programs.
    pub sharding: Option<String>,
    /// Position of the backend configuration in the serialized program.
    pub(super) backend_config: Option<Range<usize>>,
}

/// How the compiler emits a fusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FusionKind {
    /// One loop over the elements of the result.
    Loop,
    /// Around the op that reads the inputs, such as a reduction.
    Input,
    /// Around the op that makes the output, such as a matrix multiplication.
    Output,
    /// By the backend's own rules.
    Custom,
}

impl FusionKind {
    /// Reads `kLoop`, `kInput`, `kOutput`, `kCustom`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "kLoop" => Self::Loop,
            "kInput" => Self::Input,
            "kOutput" => Self::Output,
            "kCustom" => Self::Custom,
            _ => return None,
        })
    }
}

/// The contracting and batch dimensions of a `dot`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotDimensions {
    /// Contracting dimensions of the left operand.
    pub lhs_contracting: Vec<u64>,
    /// Contracting dimensions of the right operand.
    pub rhs_contracting: Vec<u64>,
    /// Batch dimensions of the left operand.
    pub lhs_batch: Vec<u64>,
    /// Batch dimensions of the right operand.
    pub rhs_batch: Vec<u64>,
    /// Ragged dimensions of the left operand of a `ragged-dot`: split into groups of different sizes.
    pub lhs_ragged: Vec<u64>,
    /// Group dimensions of the right operand of a `ragged-dot`: one part per group.
    pub rhs_group: Vec<u64>,
}

/// Dimension numbers and window of a `convolution`; on TPUs it mostly computes a matrix product.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Convolution {
    /// A window dimension for each spatial dimension.
    pub window: Vec<WindowDimension>,
    /// Batch dimension of the left operand.
    pub input_batch: u64,
    /// Contracting (feature) dimension of the left operand.
    pub input_feature: u64,
    /// Spatial dimensions of the left operand.
    pub input_spatial: Vec<u64>,
    /// Contracting (feature) dimension of the right operand.
    pub kernel_input_feature: u64,
    /// Output feature dimension of the right operand.
    pub kernel_output_feature: u64,
    /// Spatial dimensions of the right operand.
    pub kernel_spatial: Vec<u64>,
    /// Batch dimension of the result.
    pub output_batch: u64,
    /// Feature dimension of the result.
    pub output_feature: u64,
    /// Spatial dimensions of the result.
    pub output_spatial: Vec<u64>,
    /// Number of groups of the input features; at least 1.
    pub feature_groups: u64,
    /// Number of groups of the batch; at least 1.
    pub batch_groups: u64,
}

/// How a window moves along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowDimension {
    /// Elements in the window.
    pub size: u64,
    /// Distance of neighbouring windows.
    pub stride: u64,
    /// Elements added at the start; negative if elements are removed.
    pub padding_low: i64,
    /// Elements added after.
    pub padding_high: i64,
    /// Distance of neighbouring elements in the window.
    pub window_dilation: u64,
    /// Distance of neighbouring elements of the input.
    pub base_dilation: u64,
    /// Whether the kernel is reversed along this dimension.
    pub is_reversed: bool,
}

impl Default for WindowDimension {
    fn default() -> Self {
        Self {
            size: 1,
            stride: 1,
            padding_low: 0,
            padding_high: 0,
            window_dilation: 1,
            base_dilation: 1,
            is_reversed: false,
        }
    }
}

/// The required precision of a product.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrecisionConfig {
    /// Precision of each operand; empty for the default.
    pub operands: Vec<ProductPrecision>,
    /// `xla.PrecisionConfig.Algorithm`; 0 if none is prescribed.
    pub algorithm: u64,
}

/// The required precision of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProductPrecision {
    /// Fastest: one bf16 pass on TPUs.
    #[default]
    Default,
    /// Higher: three bf16 passes.
    High,
    /// Highest: six bf16 passes, as precise as the type.
    Highest,
}

/// Participants of an op that communicates between devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveAttributes {
    /// The groups of participants; absent for point-to-point ops and unknown forms.
    pub groups: Option<ReplicaGroups>,
    /// Source and target of each transfer, for permutes.
    pub pairs: Vec<(u64, u64)>,
    /// Identity across devices.
    pub channel_id: Option<u64>,
    /// Whether the ids in the groups are global device numbers.
    pub uses_global_ids: bool,
}

/// Whether an opcode is that of communication among groups of devices, or of its start.
pub(crate) fn has_groups(opcode: &str) -> bool {
    matches!(
        opcode.strip_suffix("-start").unwrap_or(opcode),
        "all-reduce"
            | "all-gather"
            | "reduce-scatter"
            | "all-to-all"
            | "ragged-all-to-all"
            | "collective-broadcast"
    )
}

/// The meaning of ids in replica groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupMode {
    /// Replicas, separately for each partition.
    Replicas,
    /// Replicas (of all-reduce and the like), with all partitions of each.
    ReplicasAndPartitions,
    /// Partitions, separately for each replica.
    Partitions,
    /// Devices: `replica × number of partitions + partition`.
    Devices,
}

impl CollectiveAttributes {
    /// What the ids number. `all-reduce`, `all-gather` and `reduce-scatter` with a
    /// channel name replicas and mean all partitions of them; `all-to-all` and
    /// permutes with a channel name partitions.
    pub fn group_mode(&self, opcode: &str) -> GroupMode {
        let by_partition = [
            "all-to-all",
            "ragged-all-to-all",
            "collective-permute",
            "collective-broadcast",
        ];
        match (self.channel_id, self.uses_global_ids) {
            (Some(_), true) => GroupMode::Devices,
            (None, _) => GroupMode::Replicas,
            (Some(_), false) if by_partition.iter().any(|base| opcode.starts_with(base)) => {
                GroupMode::Partitions
            }
            (Some(_), false) => GroupMode::ReplicasAndPartitions,
        }
    }
}
