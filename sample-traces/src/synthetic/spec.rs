//! The run that is pretended.

use trace_model::Picos;

use super::chip::SyntheticChip;

/// Which devices record asynchronous spans of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsyncLine {
    /// Every device.
    All,
    /// Only the first, as in captures of several real chips.
    FirstDevice,
}

/// A training run of an MLP with sharded weights.
///
/// The mesh is `data × model`. Each layer multiplies `tokens × width` by
/// `width × hidden/model` and back. Its weights are gathered over `data` before
/// use, activations are reduced over `model` (forward and backward), gradients
/// are reduce-scattered over `data`; at the end a loop updates the weights.
#[derive(Clone, Debug)]
pub struct TrainingSpec {
    /// Names the files.
    pub name: String,
    /// Chip generation.
    pub chip: SyntheticChip,
    /// Devices along the data axis.
    pub data: u32,
    /// Devices along the model axis.
    pub model: u32,
    /// Layers.
    pub layers: u32,
    /// Tokens that each data shard processes in a step.
    pub tokens: u64,
    /// Width of the residual stream.
    pub width: u64,
    /// Hidden units of a layer, all model shards together.
    pub hidden: u64,
    /// Steps recorded.
    pub steps: u32,
    /// Whether collectives run beside compute where the data allow.
    pub overlap: bool,
    /// A step with half the tokens: its program must be compiled first.
    pub recompile_at: Option<u32>,
    /// A step that waits so much longer for its input.
    pub stall: Option<(u32, Picos)>,
    /// Makes the host dawdle up to 200 µs before each step.
    pub jitter_seed: Option<u64>,
    /// Whether devices record a `Steps` line.
    pub steps_line: bool,
    /// Which devices record asynchronous spans.
    pub async_line: AsyncLine,
    /// Share of the MXU's peak that an unpadded matmul reaches.
    pub mxu_efficiency: f64,
    /// Share of the HBM bandwidth that is reached.
    pub hbm_efficiency: f64,
    /// Share of the ICI bandwidth that is reached.
    pub link_efficiency: f64,
    /// How far the device clock is ahead of the timeline.
    pub device_clock_ahead: Picos,
    /// How much too early the devices are on the timeline, compared to the host.
    pub device_skew: Picos,
}

impl Default for TrainingSpec {
    /// Eight v5e chips as 4 × 2, three layers, four steps, nothing overlapped.
    fn default() -> Self {
        Self {
            name: "synthetic".to_owned(),
            chip: SyntheticChip::V5E,
            data: 4,
            model: 2,
            layers: 3,
            tokens: 2048,
            width: 2048,
            hidden: 8192,
            steps: 4,
            overlap: false,
            recompile_at: None,
            stall: None,
            jitter_seed: None,
            steps_line: true,
            async_line: AsyncLine::FirstDevice,
            mxu_efficiency: 0.9,
            hbm_efficiency: 0.85,
            link_efficiency: 0.9,
            device_clock_ahead: Picos::from_ps(14_616_250),
            device_skew: Picos::from_ps(450_000_000),
        }
    }
}

impl TrainingSpec {
    /// Chips, each one device.
    pub fn devices(&self) -> u32 {
        self.data * self.model
    }

    /// Tokens of a data shard in step `step`.
    pub fn tokens_in(&self, step: u32) -> u64 {
        if self.recompile_at == Some(step) { self.tokens / 2 } else { self.tokens }
    }
}
