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

use crate::session::{SampleEventMetadata, SamplePlane, SampleSession, SampleStat};
use crate::synthetic::SyntheticRun;
use crate::write::ProtoMessage;

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

const MIB: u64 = 1 << 20;
/// Fingerprint of the planned program.
const PROGRAM: u64 = 77;

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

/// Memory that the program `jit_planned(77)` needs, in bytes.
#[derive(Clone, Debug)]
pub struct ExpectedPlan {
    /// Total HBM.
    pub total: u64,
    /// Arguments: the tokens, and the state, which could be donated.
    pub arguments: u64,
    /// Donated arguments: the weights.
    pub donated: u64,
    /// Outputs: the new state.
    pub outputs: u64,
    /// Temporary buffers: the heap.
    pub temporaries: u64,
    /// Largest part of the heap that is live at the same time.
    pub live: u64,
    /// Padding of the tokens: 1 of 128 lanes is used.
    pub padding: u64,
    /// Arguments that could be donated: the state.
    pub donatable: u64,
    pub vmem: u64,
}

impl ExpectedPlan {
    const TOKENS: u64 = 4 * MIB;
    const STATE: u64 = 16 * MIB;
    const WEIGHTS: u64 = 64 * MIB;
    /// Buffers `a`, `b`, `c` of the heap: first `a` and `b` are live together, then `b` and
    /// `c`. The buffer `d` shares the memory of `c`.
    const HEAP: [u64; 3] = [4 * MIB, 6 * MIB, 3 * MIB];
    /// Size of the heap; a quarter of a MiB of it is never used.
    const HEAP_SIZE: u64 = 10 * MIB + MIB / 4;
    const VMEM: u64 = 8 * MIB;

    fn new() -> Self {
        Self {
            total: Self::TOKENS + 2 * Self::STATE + Self::WEIGHTS + Self::HEAP_SIZE,
            arguments: Self::TOKENS + Self::STATE,
            donated: Self::WEIGHTS,
            outputs: Self::STATE,
            temporaries: Self::HEAP_SIZE,
            live: Self::HEAP[0] + Self::HEAP[1],
            padding: Self::TOKENS / 128 * 127,
            donatable: Self::STATE,
            vmem: Self::VMEM,
        }
    }
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
    if let Some(plane) = session
        .planes
        .iter_mut()
        .find(|plane| plane.name == "/host:CPU")
    {
        peak_at_ps = (0..run.spec.devices())
            .map(|device| MemoryDevice::record(run, device, weights, plane))
            .collect();
        plane.sort();
    }
    if let Some(plane) = session
        .planes
        .iter_mut()
        .find(|plane| plane.name == "/host:metadata")
    {
        plane.metadata.push(SampleEventMetadata {
            id: Some(PROGRAM as i64),
            name: format!("jit_planned({PROGRAM})"),
            stats: vec![SampleStat::bytes("Hlo Proto", proto())],
            ..SampleEventMetadata::default()
        });
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
    line: usize,
    number: i64,
    reserved: i64,
    heap: i64,
}

impl<'a> MemoryDevice<'a> {
    /// Records the events of a device and returns the time of its memory peak.
    fn record(run: &SyntheticRun, number: u32, weights: i64, plane: &'a mut SamplePlane) -> i64 {
        let line = plane.line(9_000 + i64::from(number), &format!("tfrt-memory/{number}"));
        let mut device = Self {
            plane,
            line,
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
            SampleStat::int("requested_bytes", requested),
            SampleStat::int("allocation_bytes", got),
        ]);
        stats.extend(shape.map(|shape| SampleStat::shared("shape", shape)));
        self.plane
            .event(self.line, "MemoryAllocation", at, 0, stats);
    }

    fn release(&mut self, at: i64, address: i64, bytes: i64) {
        self.heap -= bytes;
        let stats = self.stats(address, FRAGMENTATION.1);
        self.plane
            .event(self.line, "MemoryDeallocation", at, 0, stats);
    }

    fn stats(&self, address: i64, fragmentation: f64) -> Vec<SampleStat> {
        vec![
            SampleStat::int("index_on_host", self.number),
            SampleStat::int("bytes_reserved", self.reserved),
            SampleStat::int("bytes_allocated", self.heap),
            SampleStat::int("bytes_available", CAPACITY - self.heap - self.reserved),
            SampleStat::double("fragmentation", fragmentation),
            SampleStat::int("peak_bytes_in_use", self.heap),
            SampleStat::int("addr", address),
        ]
    }
}

/// Numbers of element types and memory colors in the serialized program.
const F32: u64 = 11;
const BF16: u64 = 16;
const HBM: u64 = 0;
const VMEM: u64 = 1;

/// A buffer of the planned program.
struct PlannedAllocation {
    name: &'static str,
    opcode: &'static str,
    element: u64,
    dims: [u64; 2],
    bytes: u64,
    color: u64,
}

/// The buffers, with ids from 1 that are also the ids of their instructions.
fn planned() -> [PlannedAllocation; 9] {
    let [a, b, c] = ExpectedPlan::HEAP;
    let buffer = |name, opcode, element, dims, bytes, color| PlannedAllocation {
        name,
        opcode,
        element,
        dims,
        bytes,
        color,
    };
    let rows = |bytes: u64| [bytes / 512, 128];
    [
        buffer(
            "tokens",
            "parameter",
            BF16,
            [ExpectedPlan::TOKENS / 256, 1],
            ExpectedPlan::TOKENS,
            HBM,
        ),
        buffer(
            "weights",
            "parameter",
            F32,
            rows(ExpectedPlan::WEIGHTS),
            ExpectedPlan::WEIGHTS,
            HBM,
        ),
        buffer(
            "state",
            "parameter",
            F32,
            rows(ExpectedPlan::STATE),
            ExpectedPlan::STATE,
            HBM,
        ),
        buffer(
            "new_state",
            "fusion",
            F32,
            rows(ExpectedPlan::STATE),
            ExpectedPlan::STATE,
            HBM,
        ),
        buffer("a", "fusion", F32, rows(a), a, HBM),
        buffer("b", "fusion", F32, rows(b), b, HBM),
        buffer("c", "fusion", F32, rows(c), c, HBM),
        buffer("d", "bitcast", F32, rows(c), c, HBM),
        buffer(
            "prefetch",
            "copy",
            F32,
            rows(ExpectedPlan::VMEM),
            ExpectedPlan::VMEM,
            VMEM,
        ),
    ]
}

/// The serialized program (`xla/service/hlo.proto`, `xla/xla_data.proto`).
fn proto() -> Vec<u8> {
    let mut out = ProtoMessage::default();
    out.message(1, |module| {
        module.text(1, "jit_planned");
        module.text(2, "main");
        module.message(3, |computation| {
            computation.text(1, "main");
            for (index, planned) in planned().iter().enumerate() {
                computation.message(2, |out| instruction(planned, index as u64, out));
            }
            computation.uint(5, 1);
            computation.uint(6, 4);
        });
        module.uint(5, PROGRAM);
        module.uint(6, 1);
    });
    out.message(3, assignment);
    out.into_bytes()
}

fn instruction(planned: &PlannedAllocation, index: u64, out: &mut ProtoMessage) {
    out.text(1, planned.name);
    out.text(2, planned.opcode);
    out.message(3, |shape| {
        shape.uint(2, planned.element);
        shape.packed(3, planned.dims);
        shape.message(5, |layout| {
            layout.packed(1, [1, 0]);
            layout.message(6, |tile| tile.packed(1, [8, 128]));
            if planned.element == BF16 {
                layout.message(6, |tile| tile.packed(1, [2, 1]));
            }
            layout.uint(8, planned.color);
        });
    });
    out.message(7, |metadata| {
        metadata.text(2, &format!("jit(planned)/{}", planned.name));
        metadata.text(3, "plan.py");
        metadata.uint(4, 10 + index);
    });
    if planned.opcode == "parameter" {
        out.uint(9, index);
    }
    out.uint(35, index + 1);
}

/// Buffer id, offset and size of each buffer of an allocation.
type MemorySlots<'a> = &'a [(u64, u64, u64)];

fn assignment(out: &mut ProtoMessage) {
    for (index, planned) in planned().iter().enumerate() {
        out.message(1, |buffer| {
            buffer.uint(1, index as u64 + 1);
            buffer.uint(2, planned.bytes);
            buffer.message(3, |place| place.uint(4, index as u64 + 1));
            buffer.uint(4, planned.color);
        });
    }
    let [a, b, c] = ExpectedPlan::HEAP;
    // Index, size, color, parameter number, whether it is live out, buffers with offset and size.
    let allocations: [(u64, u64, u64, Option<u64>, bool, MemorySlots<'_>); 6] = [
        (
            0,
            ExpectedPlan::TOKENS,
            HBM,
            Some(0),
            false,
            &[(1, 0, ExpectedPlan::TOKENS)],
        ),
        (
            1,
            ExpectedPlan::WEIGHTS,
            HBM,
            Some(1),
            true,
            &[(2, 0, ExpectedPlan::WEIGHTS)],
        ),
        (
            2,
            ExpectedPlan::STATE,
            HBM,
            Some(2),
            false,
            &[(3, 0, ExpectedPlan::STATE)],
        ),
        (
            3,
            ExpectedPlan::STATE,
            HBM,
            None,
            true,
            &[(4, 0, ExpectedPlan::STATE)],
        ),
        (
            4,
            ExpectedPlan::HEAP_SIZE,
            HBM,
            None,
            false,
            &[(5, b, a), (6, 0, b), (7, b, c), (8, b, c)],
        ),
        (
            5,
            ExpectedPlan::VMEM,
            VMEM,
            None,
            false,
            &[(9, 0, ExpectedPlan::VMEM)],
        ),
    ];
    for (index, size, color, parameter, live_out, slots) in allocations {
        out.message(3, |allocation| {
            allocation.uint(1, index);
            allocation.uint(2, size);
            allocation.uint(5, u64::from(parameter.is_some()));
            allocation.uint(6, parameter.unwrap_or(0));
            allocation.uint(7, u64::from(live_out));
            allocation.uint(8, color);
            for &(buffer, offset, size) in slots {
                allocation.message(9, |slot| {
                    slot.uint(1, buffer);
                    slot.uint(2, offset);
                    slot.uint(3, size);
                });
            }
        });
    }
    let (alloc, free, share) = (0, 1, 2);
    let heap = [
        (alloc, 5, 0),
        (alloc, 6, 0),
        (free, 5, 0),
        (alloc, 7, 0),
        (share, 8, 7),
        (free, 6, 0),
        (free, 7, 0),
    ];
    trace(out, &heap);
    trace(out, &[(alloc, 9, 0), (free, 9, 0)]);
}

/// As compilers write it: the number of the allocation is one of before.
fn trace(out: &mut ProtoMessage, events: &[(u64, u64, u64)]) {
    let names = planned().map(|planned| planned.name);
    out.message(4, |trace| {
        for &(kind, buffer, shares_with) in events {
            trace.message(1, |event| {
                event.uint(1, kind);
                event.uint(2, buffer);
                event.text(
                    4,
                    names.get(buffer as usize - 1).copied().unwrap_or_default(),
                );
                event.uint(5, shares_with);
            });
        }
        trace.uint(2, 1);
        trace.uint(3, 40);
    });
}
