//! The specification of a synthetic run.

use trace_model::Picos;

use super::chip::SyntheticChip;

/// The devices that record an async line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsyncLine {
    All,
    /// Only the first one, as in captures of several real chips.
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
    /// Name, used for the files.
    pub name: String,
    pub chip: SyntheticChip,
    /// Number of devices along the data axis.
    pub data: u32,
    /// Number of devices along the model axis.
    pub model: u32,
    pub layers: u32,
    /// Number of tokens that each data shard processes in a step.
    pub tokens: u64,
    /// Width of the residual stream.
    pub width: u64,
    /// Hidden units of a layer, over all model shards.
    pub hidden: u64,
    /// Number of recorded steps.
    pub steps: u32,
    /// Whether collectives overlap with compute where data dependencies allow it.
    pub overlap: bool,
    /// Whether the program states the mesh of its devices, with names.
    pub states_mesh: bool,
    /// A step with half the tokens, whose program must be compiled first.
    pub recompile_at: Option<u32>,
    /// A step that waits longer for its input, and by how much.
    pub stall: Option<(u32, Picos)>,
    /// Seed of random host delays of up to 200 µs before each step.
    pub jitter_seed: Option<u64>,
    /// Whether devices record a `Steps` line.
    pub steps_line: bool,
    /// The devices that record asynchronous spans.
    pub async_line: AsyncLine,
    /// Share of the MXU's peak that an unpadded matmul reaches.
    pub mxu_efficiency: f64,
    /// Share of the HBM bandwidth that is achieved.
    pub hbm_efficiency: f64,
    /// Share of the ICI bandwidth that is achieved.
    pub link_efficiency: f64,
    /// How far the device clock is ahead of the timeline.
    pub device_clock_ahead: Picos,
    /// How much too early devices appear on the timeline relative to the host.
    pub device_skew: Picos,
}

impl Default for TrainingSpec {
    /// Eight v5e chips as 4 × 2, three layers, four steps, no overlap.
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
            states_mesh: false,
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
    /// Number of chips, each of which is one device.
    pub fn devices(&self) -> u32 {
        self.data * self.model
    }

    /// Tokens of a data shard in step `step`.
    pub fn tokens_in(&self, step: u32) -> u64 {
        if self.recompile_at == Some(step) {
            self.tokens / 2
        } else {
            self.tokens
        }
    }
}
