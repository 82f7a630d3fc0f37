//! Memory of a synthetic run: allocations recorded by the runtime, and a program with a buffer assignment, with the
//! expected answers for both.
//!
//! Each device holds weights that were allocated before the capture. Every step allocates its
//! input and a new state, reserves memory for the program, and releases the input and the old
//! state. It also leaks a small buffer:
//!
//! ```text
//! weights  |=======================================|
//! leak           |---------------|---------------…
//! input          |===========|   |===========|
//! state             |===============|===========…
//! program           |=======|       |=======|
//! peak               ^       highest in the last step, because leaks add up
//! ```

mod plan;

use crate::session::{SamplePlane, SampleSession, SampleStat, double, int, shared};
use crate::synthetic::SyntheticRun;

pub use plan::ExpectedPlan;

/// Memory of a device, in bytes.
const CAPACITY: i64 = 16 << 30;
/// Bytes of buffers that were allocated before the capture.
const WEIGHTS: i64 = 5 << 30;
/// Bytes that a step requests for its input, and bytes that it is granted.
const INPUT: (i64, i64) = (1_000_000, 1_000_448);
const STATE: i64 = 1 << 30;
const LEAK: i64 = 4096;
/// Bytes reserved for the program while it runs.
const RESERVED: i64 = 3 << 30;
/// Fragmentation (share of the free bytes outside the largest free block) after an allocation and after a release.
const FRAGMENTATION: (f64, f64) = (0.0, 0.25);

#[derive(Clone, Debug)]
pub struct ExpectedMemory {
    /// Memory of a device, in bytes.
    pub capacity_bytes: i64,
    /// Peak of the bytes in use, including those reserved for programs.
    pub peak_bytes: i64,
    /// Time of the peak on each device, ps.
    pub peak_at_ps: Vec<i64>,
    /// Step with the peak: the last one.
    pub peak_step: u32,
    /// Bytes reserved for programs at the peak.
    pub reserved_bytes: i64,
    /// Bytes of buffers that were allocated before the capture.
    pub older_bytes: i64,
    /// Number of allocations on each device.
    pub allocations: u64,
    /// Number of releases on each device.
    pub releases: u64,
    /// Total bytes of all allocations on each device.
    pub allocated_bytes: i64,
    /// Bytes granted in excess of the requested bytes.
    pub rounding_bytes: i64,
    /// Bytes allocated and never released: the leaks and the last state.
    pub kept_bytes: i64,
    /// Memory plan of the program `jit_planned(77)`.
    pub plan: ExpectedPlan,
}

/// The capture of `run` with memory events, and the expected answers.
pub fn session_with_memory(run: &SyntheticRun) -> (SampleSession, ExpectedMemory) {
    session_with_weights(run, WEIGHTS)
}

/// Like [`session_with_memory`], but with `weights` bytes allocated on each device before the capture starts. A
/// device has 16 GiB.
pub fn session_with_weights(run: &SyntheticRun, weights: i64) -> (SampleSession, ExpectedMemory) {
    let mut session = run.session();
    let mut peak_at_ps = Vec::new();
    for plane in &mut session.planes {
        match plane.name.as_str() {
            "/host:CPU" => {
                peak_at_ps = (0..run.spec.devices())
                    .map(|device| MemoryDevice::record(run, device, weights, plane))
                    .collect();
                plane.sort();
            }
            "/host:metadata" => {
                plane.add(plan::metadata());
            }
            _ => {}
        }
    }
    let steps = i64::from(run.spec.steps);
    let states = if steps > 1 { 2 * STATE } else { STATE };
    let expected = ExpectedMemory {
        capacity_bytes: CAPACITY,
        peak_bytes: weights + RESERVED + INPUT.1 + states + steps * LEAK,
        peak_at_ps,
        peak_step: run.spec.steps.saturating_sub(1),
        reserved_bytes: RESERVED,
        older_bytes: weights,
        allocations: 3 * u64::from(run.spec.steps),
        releases: 2 * u64::from(run.spec.steps) - 1,
        allocated_bytes: steps * (LEAK + INPUT.1 + STATE),
        rounding_bytes: steps * (INPUT.1 - INPUT.0),
        kept_bytes: steps * LEAK + STATE,
        plan: ExpectedPlan::new(),
    };
    (session, expected)
}

/// The memory of one device while the host records it.
struct MemoryDevice<'a> {
    plane: &'a mut SamplePlane,
    line: String,
    number: i64,
    reserved: i64,
    heap: i64,
}

impl<'a> MemoryDevice<'a> {
    /// Records the events of a device and returns the time of its memory peak.
    fn record(run: &SyntheticRun, number: u32, weights: i64, plane: &'a mut SamplePlane) -> i64 {
        let mut device = Self {
            plane,
            line: format!("tfrt-memory/{number}"),
            number: i64::from(number),
            reserved: 0,
            heap: weights,
        };
        let mut fullest = 0;
        for (index, step) in run.steps.iter().enumerate() {
            // Each device runs a little later than the one before it. The old and the new state swap their addresses.
            let late = i64::from(number) * 1_000;
            let state = |index: usize| 1 << 32 | (index as i64 & 1);
            device.allocate(
                step.input_end + late,
                index as i64 * LEAK,
                (LEAK, LEAK),
                None,
            );
            device.allocate(
                step.input_end + late + 1,
                1 << 33,
                INPUT,
                Some("bf16[500000,1]{1,0:T(8,128)(2,1)}"),
            );
            device.reserved = RESERVED;
            fullest = step.enqueue + late;
            device.allocate(
                fullest,
                state(index),
                (STATE, STATE),
                Some("f32[16384,16384]{1,0:T(8,128)}"),
            );
            device.reserved = 0;
            device.release(step.end + late, 1 << 33, INPUT.1);
            if index > 0 {
                device.release(step.end + late + 1, state(index - 1), STATE);
            }
        }
        fullest
    }

    fn allocate(
        &mut self,
        at: i64,
        address: i64,
        (requested, got): (i64, i64),
        shape: Option<&str>,
    ) {
        self.heap += got;
        let mut stats = self.stats(address, FRAGMENTATION.0);
        stats.extend([
            int("requested_bytes", requested),
            int("allocation_bytes", got),
        ]);
        stats.extend(shape.map(|shape| shared("shape", shape)));
        self.event("MemoryAllocation", at, stats);
    }

    fn release(&mut self, at: i64, address: i64, bytes: i64) {
        self.heap -= bytes;
        let stats = self.stats(address, FRAGMENTATION.1);
        self.event("MemoryDeallocation", at, stats);
    }

    fn event(&mut self, name: &str, at: i64, stats: Vec<SampleStat>) {
        let line = (9_000 + self.number, self.line.as_str());
        self.plane.event(line, name, at, 0, stats);
    }

    fn stats(&self, address: i64, fragmentation: f64) -> Vec<SampleStat> {
        vec![
            int("index_on_host", self.number),
            int("bytes_reserved", self.reserved),
            int("bytes_allocated", self.heap),
            int("bytes_available", CAPACITY - self.heap - self.reserved),
            double("fragmentation", fragmentation),
            int("peak_bytes_in_use", self.heap),
            int("addr", address),
        ]
    }
}
