//! Messages of one sentence.

use super::super::need::{MemoryShortage, NeededBuffer};
use super::super::size::{size, size_after};
use super::parts::{KERNEL, OF_CORES, RAN_OUT_ON, add, limited, quoted, unknown};

/// What a line tells as a whole; `None` if it is no such message.
pub(super) fn told(line: &str) -> Option<MemoryShortage> {
    in_one_sentence(line)
        .or_else(|| of_cores(line))
        .or_else(|| of_kernel(line))
}

/// `Ran out of memory on HBM, the total memory required for HLO temporaries (40.34G) exceeds available HBM (15.75G).`
fn in_one_sentence(line: &str) -> Option<MemoryShortage> {
    let (_, rest) = line.split_once(RAN_OUT_ON)?;
    let (memory, rest) = rest.split_once(',')?;
    let (_, rest) = rest.split_once("memory required for ")?;
    let (kind, rest) = rest.split_once(" (")?;
    let kind = match kind {
        "HLO temporaries" => "temporaries",
        other => other,
    };
    let needed = size(rest)?;
    let (_, available) = rest.split_once("exceeds available")?;
    let mut told = of_compiler(memory, needed, size_after(available, "("));
    // The rest of the program needs memory, too.
    told.is_least = true;
    add(&mut told, &limited(kind), needed, None);
    unknown(&mut told, "what else the program needs");
    Some(told)
}

/// `TPU TensorCore Hbm usage: 34.82G, SparseCore Hbm usage 174.10G, exceeding available bytes: 95.74G`
fn of_cores(line: &str) -> Option<MemoryShortage> {
    let tensor = size_after(line, OF_CORES)?;
    let sparse = size_after(line, "SparseCore Hbm usage")?;
    let mut told = of_compiler(
        "hbm",
        tensor.saturating_add(sparse),
        size_after(line, "exceeding available bytes:"),
    );
    add(&mut told, "program of the TensorCore", tensor, None);
    add(&mut told, "program of the SparseCores", sparse, None);
    Some(told)
}

fn of_compiler(memory: &str, needed: u64, capacity: Option<u64>) -> MemoryShortage {
    MemoryShortage {
        told_by: "the compiler".to_owned(),
        memory: limited(&memory.to_ascii_lowercase()),
        needed_bytes: Some(needed),
        capacity_bytes: capacity,
        over_bytes: capacity.map(|capacity| needed.saturating_sub(capacity)),
        ..MemoryShortage::default()
    }
}

/// `Allocation (size=2097152) would exceed memory (size=1048576) :: #allocation4 [shape = 'u8[2097152]{0}', space=smem,
/// tag = 'prefetched SMEM operand 0']`
fn of_kernel(line: &str) -> Option<MemoryShortage> {
    let (before, rest) = line.split_once(KERNEL)?;
    let needed = size_after(before, "Allocation (size=")?;
    let space = rest.split_once("space=").map(|(_, space)| space);
    let space = space.and_then(|space| space.split([',', ']', ' ']).next());
    let mut told = of_compiler(space.unwrap_or("memory of the kernel"), needed, size(rest));
    told.buffers.push(NeededBuffer {
        bytes: needed,
        instruction: quoted(rest, "tag = '", '\'').unwrap_or_default(),
        kind: "scoped".to_owned(),
        shape: quoted(rest, "shape = '", '\''),
        ..NeededBuffer::default()
    });
    // What else lies there is not told.
    told.is_least = true;
    Some(told)
}
