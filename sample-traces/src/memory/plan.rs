//! A program with a buffer assignment.

use crate::session::{SampleEventMetadata, bytes};
use crate::write::ProtoMessage;

const MIB: u64 = 1 << 20;
/// Fingerprint of the program.
const PROGRAM: u64 = 77;

const TOKENS: u64 = 4 * MIB;
const STATE: u64 = 16 * MIB;
const WEIGHTS: u64 = 64 * MIB;
/// Buffers `a`, `b`, `c` of the heap: first `a` and `b` are live together, then `b` and
/// `c`. The buffer `d` shares the memory of `c`.
const HEAP: [u64; 3] = [4 * MIB, 6 * MIB, 3 * MIB];
/// Size of the heap; a quarter of a MiB of it is never used.
const HEAP_SIZE: u64 = 10 * MIB + MIB / 4;
const VMEM: u64 = 8 * MIB;

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
    pub(super) fn new() -> Self {
        Self {
            total: TOKENS + 2 * STATE + WEIGHTS + HEAP_SIZE,
            arguments: TOKENS + STATE,
            donated: WEIGHTS,
            outputs: STATE,
            temporaries: HEAP_SIZE,
            live: HEAP[0] + HEAP[1],
            padding: TOKENS / 128 * 127,
            donatable: STATE,
            vmem: VMEM,
        }
    }
}

/// The program, as it is in the plane of programs.
pub(super) fn metadata() -> SampleEventMetadata {
    let name = format!("jit_planned({PROGRAM})");
    SampleEventMetadata {
        id: Some(PROGRAM as i64),
        ..SampleEventMetadata::new(&name, vec![bytes("Hlo Proto", proto())])
    }
}

/// Numbers of element types in the serialized program.
const F32: u64 = 11;
const BF16: u64 = 16;
/// Number of VMEM; that of HBM is 0.
const IN_VMEM: u64 = 1;

/// A buffer of the program.
struct PlannedAllocation {
    name: &'static str,
    opcode: &'static str,
    element: u64,
    dims: [u64; 2],
    bytes: u64,
    memory: u64,
}

/// The buffers, with ids from 1 that are also the ids of their instructions.
fn planned() -> [PlannedAllocation; 9] {
    let [a, b, c] = HEAP;
    let buffer = |name, opcode, bytes| PlannedAllocation {
        name,
        opcode,
        element: F32,
        dims: [bytes / 512, 128],
        bytes,
        memory: 0,
    };
    [
        PlannedAllocation {
            element: BF16,
            dims: [TOKENS / 256, 1],
            ..buffer("tokens", "parameter", TOKENS)
        },
        buffer("weights", "parameter", WEIGHTS),
        buffer("state", "parameter", STATE),
        buffer("new_state", "fusion", STATE),
        buffer("a", "fusion", a),
        buffer("b", "fusion", b),
        buffer("c", "fusion", c),
        buffer("d", "bitcast", c),
        PlannedAllocation {
            memory: IN_VMEM,
            ..buffer("prefetch", "copy", VMEM)
        },
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
            layout.uint(8, planned.memory);
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
            buffer.uint(4, planned.memory);
        });
    }
    let [a, b, c] = HEAP;
    // Size, memory, parameter number, whether it is live out, buffers with offset and size.
    let allocations: [(u64, u64, Option<u64>, bool, MemorySlots<'_>); 6] = [
        (TOKENS, 0, Some(0), false, &[(1, 0, TOKENS)]),
        (WEIGHTS, 0, Some(1), true, &[(2, 0, WEIGHTS)]),
        (STATE, 0, Some(2), false, &[(3, 0, STATE)]),
        (STATE, 0, None, true, &[(4, 0, STATE)]),
        (
            HEAP_SIZE,
            0,
            None,
            false,
            &[(5, b, a), (6, 0, b), (7, b, c), (8, b, c)],
        ),
        (VMEM, IN_VMEM, None, false, &[(9, 0, VMEM)]),
    ];
    for (index, (size, memory, parameter, live_out, slots)) in allocations.into_iter().enumerate() {
        out.message(3, |allocation| {
            allocation.uint(1, index as u64);
            allocation.uint(2, size);
            allocation.uint(5, u64::from(parameter.is_some()));
            allocation.uint(6, parameter.unwrap_or(0));
            allocation.uint(7, u64::from(live_out));
            allocation.uint(8, memory);
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
