//! Positions of the buffers of a program that share a heap: their lifetime and their offset.
//!
//! ```text
//! offset   b b b b . c c c c
//!          b b b b . c c c c
//!          . . a a a a . . .
//!          instructions →
//! ```

use facts::hlo_for_now;
use facts::prelude::*;
use hlo::{Allocation, BufferAssignment, HeapEventKind, HeapTrace};

use super::heap;
use super::plan::{Purpose, describe};
use super::{Buffers, PlannedBuffer};

/// The largest heap of a program in one memory.
#[engine::reported]
pub struct BufferMap {
    /// Name and id of the program.
    pub program: String,
    /// Name of the memory.
    pub memory: String,
    /// Bytes of the heap.
    pub heap_bytes: u64,
    /// Bytes of all other allocations of the program in this memory: arguments, results, constants. Their position
    /// relative to the heap is not planned.
    pub other_bytes: u64,
    /// Instructions at which something is allocated or released, in the order of the program.
    pub instructions: Vec<String>,
    /// Bytes live after each of them.
    pub live_bytes: Vec<u64>,
    /// The first instruction at which the most bytes are live, by row of `instructions`.
    pub peak: usize,
    /// The buffers, in the order in which they are allocated.
    pub boxes: Vec<BufferBox>,
    /// Buffers of the heap whose time is unknown, because its events do not name them.
    pub untimed: usize,
}

/// A buffer with its position.
#[engine::reported]
pub struct BufferBox {
    /// What the buffer is for.
    #[serde(flatten)]
    pub buffer: PlannedBuffer,
    /// Offset in bytes from the start of the heap.
    pub offset: u64,
    /// Start of its lifetime, by row of the instructions.
    pub from: usize,
    /// End of its lifetime; the number of instructions if it is never released.
    pub to: usize,
}

impl BufferMap {
    /// Buffers live after an instruction, given by its row of `instructions`, largest first.
    pub fn live_at(&self, instruction: usize) -> Vec<&BufferBox> {
        let mut live: Vec<&BufferBox> = self
            .boxes
            .iter()
            .filter(|it| (it.from..it.to.max(it.from + 1)).contains(&instruction))
            .collect();
        largest_first(&mut live, |it| it.buffer.bytes, |it| &it.offset);
        live
    }
}

/// The map of the largest heap of a program in a memory, by the number of that memory.
///
/// # Errors
///
/// The capture has no plan of the program, or the program has no heap in this memory.
pub fn buffer_map(cx: &Context<'_>, program: ProgramId, space: u64) -> Result<BufferMap> {
    let no = |why: String| AnalysisError::NotApplicable(why);
    let title = cx.model.program_title(program);
    let module = hlo_for_now(cx, program).map_err(|error| no(error.to_string()))?;
    let assignment = module
        .buffer_assignment(&title)
        .map_err(|error| no(error.to_string()))?
        .ok_or_else(|| no(format!("{title} carries no buffer assignment")))?;
    let report = cx.whole().report::<Buffers>()?;
    let memory = report.memory_name(space);
    let (allocation, trace) = largest(&assignment, space).ok_or_else(|| {
        no(format!(
            "{title} has no buffers that share {memory} over time"
        ))
    })?;
    let colored = assignment
        .allocations
        .iter()
        .filter(|other| other.color == space && !other.is_thread_local);
    let other_bytes = colored
        .filter(|other| other.index != allocation.index)
        .fold(0_u64, |sum, it| sum.saturating_add(it.size));
    let replay = heap::replay(&assignment, trace);
    let (lives, _) = lives(trace);
    let mut boxes = Vec::new();
    let mut untimed = 0;
    for slot in &allocation.slots {
        let (Some(buffer), Some(&(from, to))) =
            (assignment.buffer(slot.buffer), lives.get(&slot.buffer))
        else {
            untimed += 1;
            continue;
        };
        let planned = PlannedBuffer {
            bytes: slot.size,
            ..describe(&module, buffer, Purpose::Temporary)
        };
        boxes.push(BufferBox {
            buffer: planned,
            offset: slot.offset,
            from,
            to,
        });
    }
    boxes.sort_by_key(|buffer| (buffer.from, buffer.offset));
    let live_bytes: Vec<u64> = replay.curve.iter().map(|point| point.live_bytes).collect();
    let peak = (0..live_bytes.len())
        .max_by_key(|&instruction| (live_bytes.get(instruction), Reverse(instruction)))
        .unwrap_or(0);
    Ok(BufferMap {
        program: title,
        memory,
        heap_bytes: allocation.size,
        other_bytes,
        instructions: replay
            .curve
            .into_iter()
            .map(|point| point.instruction)
            .collect(),
        live_bytes,
        peak,
        boxes,
        untimed,
    })
}

/// The largest allocation of a memory that a heap fills, and the events of that heap.
fn largest(assignment: &BufferAssignment, space: u64) -> Option<(&Allocation, &HeapTrace)> {
    let allocations = assignment
        .allocations
        .iter()
        .filter(|it| it.color == space && !it.is_thread_local);
    let of_buffer: BTreeMap<u64, &Allocation> = allocations
        .flat_map(|allocation| {
            allocation
                .slots
                .iter()
                .map(move |slot| (slot.buffer, allocation))
        })
        .collect();
    let heaps = assignment.heap_traces.iter().filter_map(|trace| {
        // A trace uses the number that the allocation had before the final numbering.
        let allocation = trace
            .events
            .iter()
            .find_map(|event| of_buffer.get(&event.buffer))?;
        Some((*allocation, trace))
    });
    heaps.max_by_key(|(allocation, trace)| (allocation.size, trace.events.len()))
}

/// For each buffer, the points of the schedule at which its lifetime starts and ends; and the number of points.
fn lives(trace: &HeapTrace) -> (BTreeMap<u64, (usize, usize)>, usize) {
    let mut lives: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
    let (mut instruction, mut last): (usize, Option<&str>) = (0, None);
    for event in &trace.events {
        instruction += usize::from(last.is_some_and(|last| last != event.instruction));
        last = Some(&event.instruction);
        match event.kind {
            HeapEventKind::Alloc | HeapEventKind::ShareWith => {
                lives
                    .entry(event.buffer)
                    .or_insert((instruction, usize::MAX));
            }
            HeapEventKind::Free => {
                if let Some(life) = lives.get_mut(&event.buffer) {
                    life.1 = instruction;
                }
            }
        }
    }
    let points = instruction + usize::from(last.is_some());
    for life in lives.values_mut() {
        life.1 = life.1.min(points);
    }
    (lives, points)
}

#[cfg(test)]
mod tests {
    use hlo::HeapEvent;

    use super::*;
    use HeapEventKind::{Alloc, Free, ShareWith};

    #[test]
    fn buffers_live_from_allocation_to_release() {
        let event = |kind, buffer, instruction: &str| HeapEvent {
            kind,
            buffer,
            instruction: instruction.to_owned(),
            ..HeapEvent::default()
        };
        let events = vec![
            event(Alloc, 1, "a"),
            event(Alloc, 2, "a"),
            event(Free, 1, "b"),
            event(ShareWith, 3, "c"),
            event(Free, 9, "c"),
            event(Free, 2, "d"),
        ];
        let (lives, points) = lives(&HeapTrace {
            events,
            ..HeapTrace::default()
        });
        let of = |buffer| lives.get(&buffer).copied();
        assert_eq!(
            (of(1), of(2), of(3), of(9)),
            (Some((0, 1)), Some((0, 3)), Some((2, 4)), None)
        );
        assert_eq!(points, 4);
    }
}
