//! What only some instructions have: dimension numbers, groups, targets.

use std::ops::Range;

use super::ReplicaGroups;

/// What only some instructions have. Everything is absent unless the compiler says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Of `fusion`.
    pub fusion_kind: Option<FusionKind>,
    /// Of `dot` and `ragged-dot`.
    pub dot: Option<Box<DotDimensions>>,
    /// Of `convolution`.
    pub convolution: Option<Box<Convolution>>,
    /// Of `dot` and `convolution`.
    pub precision: PrecisionConfig,
    /// Of ops that communicate between devices.
    pub collective: Option<Box<CollectiveAttributes>>,
    /// The kernel that a `custom-call` runs.
    pub custom_call_target: Option<String>,
    /// How often a `while` repeats, where the compiler knows.
    pub trip_count: Option<u64>,
    /// `send` and `recv` to and from the host.
    pub is_host_transfer: bool,
    /// Sizes that a `dynamic-slice` takes.
    pub slice_sizes: Vec<u64>,
    /// Where the backend's own configuration lies in the serialized program.
    pub(super) backend_config: Option<Range<usize>>,
}

impl Attributes {
    /// Of instructions without any.
    pub(super) const NONE: Self = Self {
        fusion_kind: None,
        dot: None,
        convolution: None,
        precision: PrecisionConfig { operands: Vec::new(), algorithm: 0 },
        collective: None,
        custom_call_target: None,
        trip_count: None,
        is_host_transfer: false,
        slice_sizes: Vec::new(),
        backend_config: None,
    };
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

/// Which dimensions of a `dot` are summed over, and which go through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotDimensions {
    /// Of the left operand, summed over.
    pub lhs_contracting: Vec<u64>,
    /// Of the right operand, summed over.
    pub rhs_contracting: Vec<u64>,
    /// Of the left operand, one product for each.
    pub lhs_batch: Vec<u64>,
    /// Of the right operand, one product for each.
    pub rhs_batch: Vec<u64>,
    /// Of the left operand of a `ragged-dot`: cut into groups of different sizes.
    pub lhs_ragged: Vec<u64>,
    /// Of the right operand of a `ragged-dot`: one part a group.
    pub rhs_group: Vec<u64>,
}

/// Dimension numbers and window of a `convolution`: on TPUs mostly a matrix
/// multiplication in disguise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Convolution {
    /// A window dimension for each spatial dimension.
    pub window: Vec<WindowDimension>,
    /// Dimension of the left operand that is the batch.
    pub input_batch: u64,
    /// Dimension of the left operand that is summed over.
    pub input_feature: u64,
    /// Spatial dimensions of the left operand.
    pub input_spatial: Vec<u64>,
    /// Dimension of the right operand that is summed over.
    pub kernel_input_feature: u64,
    /// Dimension of the right operand that goes to the result.
    pub kernel_output_feature: u64,
    /// Spatial dimensions of the right operand.
    pub kernel_spatial: Vec<u64>,
    /// Dimension of the result that is the batch.
    pub output_batch: u64,
    /// Dimension of the result that comes from the right operand.
    pub output_feature: u64,
    /// Spatial dimensions of the result.
    pub output_spatial: Vec<u64>,
    /// Input features are cut into this many groups; at least 1.
    pub feature_groups: u64,
    /// The batch is cut into this many groups; at least 1.
    pub batch_groups: u64,
}

/// How a window moves along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowDimension {
    /// Elements in the window.
    pub size: u64,
    /// Distance of neighbouring windows.
    pub stride: u64,
    /// Elements added before; negative where elements are cut off.
    pub padding_low: i64,
    /// Elements added after.
    pub padding_high: i64,
    /// Distance of neighbouring elements in the window.
    pub window_dilation: u64,
    /// Distance of neighbouring elements of the input.
    pub base_dilation: u64,
    /// Whether the window is read backwards.
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

/// How exactly a product must be computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrecisionConfig {
    /// Of each operand; empty if the default holds.
    pub operands: Vec<ProductPrecision>,
    /// `xla.PrecisionConfig.Algorithm`; 0 if none is prescribed.
    pub algorithm: u64,
}

/// How exactly an operand must be treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProductPrecision {
    /// As fast as possible: one pass of bf16 on TPUs.
    #[default]
    Default,
    /// Better: three passes of bf16.
    High,
    /// As exact as the type: six passes of bf16.
    Highest,
}

/// What an op that communicates between devices says about who talks to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveAttributes {
    /// Who communicates; absent for point-to-point ops and forms that are not known.
    pub groups: Option<ReplicaGroups>,
    /// From whom to whom, for permutes.
    pub pairs: Vec<(u64, u64)>,
    /// Identity across devices.
    pub channel_id: Option<u64>,
    /// The ids in the groups number devices, not replicas.
    pub uses_global_ids: bool,
}

/// What the ids in replica groups number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupMode {
    /// Replicas, for each partition by itself.
    Replicas,
    /// Replicas (of all-reduce and the like), with all partitions of each.
    ReplicasAndPartitions,
    /// Partitions, for each replica by itself.
    Partitions,
    /// Devices: `replica × number of partitions + partition`.
    Devices,
}

impl CollectiveAttributes {
    /// What the ids number. `all-reduce`, `all-gather` and `reduce-scatter` with a
    /// channel name replicas and mean all partitions of them; `all-to-all` and
    /// permutes with a channel name partitions.
    pub(crate) fn group_mode(&self, opcode: &str) -> GroupMode {
        let by_partition = ["all-to-all", "ragged-all-to-all", "collective-permute", "collective-broadcast"];
        match (self.channel_id, self.uses_global_ids) {
            (Some(_), true) => GroupMode::Devices,
            (None, _) => GroupMode::Replicas,
            (Some(_), false) if by_partition.iter().any(|base| opcode.starts_with(base)) => GroupMode::Partitions,
            (Some(_), false) => GroupMode::ReplicasAndPartitions,
        }
    }
}
