//! Hardware counters of a v6e chip.

use crate::session::{OPS, SampleSession};
use crate::synthetic::SyntheticChip;

/// Hardware counters read after each of two kernels, identified by number. One number is unknown.
#[derive(Clone, Debug)]
pub struct CounterSamples {
    /// The samples, each with a name and counter values.
    pub samples: Vec<(&'static str, Vec<(CounterName, u64)>)>,
    /// `TPU v6 Lite`, or a chip with unknown counters.
    pub chip: SyntheticChip,
    /// Duration of an op that runs at the same time, in µs; 0 for no op.
    pub op_us: i64,
}

/// Some counters of v6e, with their numbers in `XProf`'s list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum CounterName {
    /// Cycles of the tensor core.
    Cycles = 3_257_466_888,
    /// Instructions in the first slot of the scalar unit.
    Scalar0 = 3_257_466_968,
    /// Cycles with both matrix units busy.
    MxuBusy2 = 3_257_467_416,
    /// Matmuls of bf16 rows from memory on the first matrix unit.
    MatmulBf16 = 3_257_467_352,
    /// Beats read by a controller of the first memory stack.
    HbmRead = 3_019_980_856,
    /// Cycles of the first core of v7x, including skipped ones.
    PowerCyclesV7x = 2_847_490_056,
    /// Cycles that this core skipped to save power.
    SkippedV7x = 2_847_490_064,
    Other = 12_345,
}

impl Default for CounterSamples {
    fn default() -> Self {
        use CounterName::{Cycles, HbmRead, MatmulBf16, MxuBusy2, Other, Scalar0};
        Self {
            samples: vec![
                (
                    "kernel_a",
                    vec![
                        (Cycles, 1_000_000),
                        (Scalar0, 500_000),
                        (MxuBusy2, 250_000),
                        (Other, 7),
                    ],
                ),
                (
                    "kernel_b",
                    vec![
                        (Cycles, 3_000_000),
                        (MxuBusy2, 1_750_000),
                        (MatmulBf16, 600_000),
                        (HbmRead, 40_000_000),
                    ],
                ),
            ],
            chip: SyntheticChip::V6E,
            op_us: 0,
        }
    }
}

impl CounterSamples {
    /// The capture: one line per sample, with all counters of a sample at one instant.
    pub fn session(&self) -> SampleSession {
        let mut plane = super::device(0, &self.chip);
        for (index, (name, counts)) in self.samples.iter().enumerate() {
            let line = (20 + index as i64, *name);
            for &(counter, value) in counts {
                plane.reading(line, counter, 5_000_000, value);
            }
        }
        if self.op_us > 0 {
            let fusion = "%fusion.1 = f32[64]{0} fusion(f32[64]{0} %p), kind=kOutput, calls=%dense";
            let fusion = plane.op(fusion, "convolution fusion", []);
            plane.execution(OPS, fusion, 5_000_000, self.op_us * 1_000_000, []);
        }
        super::session("counters", vec![plane])
    }
}
