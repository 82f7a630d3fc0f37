//! The plan of one program for one memory: its buffers by size.

use facts::prelude::*;
use std::collections::HashMap;

use hlo::{Allocation, ArrayShape, BufferAssignment, HloModule, LogicalBuffer};

use super::heap::{self, CurvePoint, HeapReplay};

/// The use of a planned buffer.
#[engine::titled]
#[derive(Default)]
pub enum Purpose {
    /// An argument that still belongs to the caller afterwards.
    Argument,
    /// An argument that is reused for a result: donated.
    Donated = "donated argument",
    /// A result.
    Output = "result",
    /// A constant of the program.
    Constant,
    /// A temporary, needed while the program runs.
    #[default]
    Temporary,
    /// Unused space of a heap at its peak.
    Unused,
    /// Several buffers combined.
    Several,
}

impl Purpose {
    fn of(allocation: &Allocation) -> Self {
        match (allocation.parameter.is_some(), allocation.maybe_live_out) {
            (true, true) => Self::Donated,
            (true, false) => Self::Argument,
            (false, true) => Self::Output,
            (false, false) if allocation.is_constant => Self::Constant,
            (false, false) => Self::Temporary,
        }
    }
}

/// Something that is in memory when a program needs the most of it.
#[engine::row(compiler)]
#[derive(Default)]
pub struct PlannedBuffer {
    /// The instruction that produces it, with the index in its tuple: `copy-start{0}`.
    #[column(with = Self::instruction_title)]
    pub instruction: String,
    /// Its use.
    #[column("What")]
    pub purpose: Purpose,
    /// Bytes, padding included.
    #[column]
    pub bytes: u64,
    /// Its shape with layout; `None` for tables of addresses.
    #[column]
    pub shape: Option<String>,
    /// Bytes of its elements only.
    #[column(derived, id = "padding_bytes", with = Self::padding_bytes)]
    #[column(derived, id = "padding_percent", with = Self::padding_percent)]
    pub element_bytes: Option<u64>,
    /// Provenance in the framework, if recorded.
    #[column("Op")]
    pub op_name: Option<String>,
    /// `file:line`, if recorded.
    #[column]
    pub source: Option<String>,
}

impl PlannedBuffer {
    fn instruction_title(&self) -> &str {
        if self.instruction.is_empty() {
            "–"
        } else {
            &self.instruction
        }
    }

    /// Bytes that contain no element (padding).
    pub(crate) fn padding_bytes(&self) -> u64 {
        self.element_bytes
            .map_or(0, |elements| self.bytes.saturating_sub(elements))
    }

    /// Padding as a share of the buffer; `None` if its elements are not known.
    fn padding_percent(&self) -> Option<Percent> {
        self.element_bytes?;
        percent(self.padding_bytes(), self.bytes)
    }
}

/// An argument whose memory a result could have reused.
#[engine::row(compiler)]
pub struct Donation {
    /// Name of the parameter.
    #[column]
    pub argument: String,
    /// Instruction that produces a result of the same shape.
    #[column("Result")]
    pub output: String,
    /// Their shape.
    #[column]
    pub shape: String,
    /// Bytes that donating one of them would save.
    #[column("Would save", derived)]
    pub bytes: u64,
}

/// Needs of a program for one memory.
#[engine::row(compiler)]
#[derive(Default)]
pub struct MemoryPlan {
    /// Number of the memory: 0 is HBM, 1 VMEM, 5 host memory.
    pub space: u64,
    /// Bytes of all allocations together.
    #[column]
    pub total_bytes: u64,
    /// Arguments that remain the caller's.
    #[column("Arguments")]
    pub argument_bytes: u64,
    /// Arguments whose memory results reuse.
    #[column]
    pub donated_bytes: u64,
    /// Results with their own memory.
    #[column("Results")]
    pub output_bytes: u64,
    /// Constants.
    #[column("Constants")]
    pub constant_bytes: u64,
    /// Everything else: temporaries that the program needs while it runs.
    #[column]
    pub temporary_bytes: u64,
    /// The part of them in heaps, which buffers share over time.
    pub heap_bytes: u64,
    /// Most bytes live at once in the heaps.
    #[column("Live", derived)]
    pub heap_peak_bytes: u64,
    /// Bytes of the heaps that are unused even then.
    #[column("Unused", derived)]
    pub fragmentation_bytes: u64,
    /// Sum of the bytes of all buffers placed in the heaps ÷ size of the heaps: how often memory is reused.
    #[column(derived)]
    pub reuse: Option<f64>,
    /// The instruction during which most of the (largest) heap is live.
    #[column("Fullest during", derived)]
    pub peak_instruction: Option<String>,
    /// Padding of the memory contents at the peak.
    #[column(derived)]
    pub padding_bytes: u64,
    /// Bytes that donating arguments would save.
    #[column(derived)]
    pub donatable_bytes: u64,
    /// Contents of the memory at the peak, largest first, small ones combined; adds up to `total_bytes`.
    pub at_peak: Vec<PlannedBuffer>,
    /// Arguments that could be donated, largest first.
    pub donations: Vec<Donation>,
    /// Number of inconsistent heap events, which the numbers above do not include.
    pub odd_events: usize,
    /// Live bytes of the largest heap over the schedule.
    #[serde(skip)]
    pub curve: Vec<CurvePoint>,
}

/// Plans of a program for each memory that it uses, by number of the memory.
pub(super) fn plans(module: &HloModule, assignment: &BufferAssignment) -> Vec<MemoryPlan> {
    let heaps = BufferHeaps::new(assignment);
    let spaces = grouped(
        assignment
            .allocations
            .iter()
            .filter(|allocation| !allocation.is_thread_local)
            .map(|allocation| (allocation.color, allocation)),
    );
    let plan = |(space, allocations): (u64, Vec<&Allocation>)| {
        let mut plan = MemoryPlan {
            space,
            ..MemoryPlan::default()
        };
        for allocation in &allocations {
            plan.add(module, assignment, &heaps, allocation);
        }
        plan.donations = donations(module, assignment, &allocations);
        plan.donatable_bytes = plan
            .donations
            .iter()
            .fold(0, |sum, donation| donation.bytes.saturating_add(sum));
        plan.padding_bytes = plan
            .at_peak
            .iter()
            .fold(0, |sum, buffer| buffer.padding_bytes().saturating_add(sum));
        plan.at_peak.retain(|buffer| buffer.bytes > 0);
        largest_first(
            &mut plan.at_peak,
            |buffer| buffer.bytes,
            |buffer| &buffer.instruction,
        );
        plan
    };
    spaces
        .into_iter()
        .map(plan)
        .filter(|plan| plan.total_bytes > 0)
        .collect()
}

/// Heaps by the allocation that they fill. A trace uses the number that the allocation had before the final
/// numbering, so the buffers identify it.
struct BufferHeaps {
    replays: HashMap<u64, HeapReplay>,
    /// Buffers that occur in any trace.
    traced: std::collections::HashSet<u64>,
}

impl BufferHeaps {
    fn new(assignment: &BufferAssignment) -> Self {
        let slots = assignment.allocations.iter().flat_map(|allocation| {
            allocation
                .slots
                .iter()
                .map(|slot| (slot.buffer, allocation.index))
        });
        let allocation_of: HashMap<u64, u64> = slots.collect();
        let mut out = Self {
            replays: HashMap::new(),
            traced: std::collections::HashSet::new(),
        };
        for trace in &assignment.heap_traces {
            let Some(&allocation) = trace
                .events
                .iter()
                .find_map(|event| allocation_of.get(&event.buffer))
            else {
                continue;
            };
            out.traced
                .extend(trace.events.iter().map(|event| event.buffer));
            let replay = heap::replay(assignment, trace);
            match out.replays.get(&allocation) {
                Some(other) if other.peak_bytes >= replay.peak_bytes => {}
                _ => drop(out.replays.insert(allocation, replay)),
            }
        }
        out
    }
}

impl MemoryPlan {
    fn add(
        &mut self,
        module: &HloModule,
        assignment: &BufferAssignment,
        heaps: &BufferHeaps,
        allocation: &Allocation,
    ) {
        let purpose = Purpose::of(allocation);
        let bytes = allocation.size;
        self.total_bytes = self.total_bytes.saturating_add(bytes);
        let sum = match purpose {
            Purpose::Argument => &mut self.argument_bytes,
            Purpose::Donated => &mut self.donated_bytes,
            Purpose::Output => &mut self.output_bytes,
            Purpose::Constant => &mut self.constant_bytes,
            Purpose::Temporary | Purpose::Unused | Purpose::Several => &mut self.temporary_bytes,
        };
        *sum = sum.saturating_add(bytes);
        match heaps.replays.get(&allocation.index) {
            Some(replay) if purpose == Purpose::Temporary => {
                self.add_heap(module, assignment, heaps, allocation, replay);
            }
            _ => {
                let largest = allocation
                    .slots
                    .iter()
                    .max_by_key(|slot| (slot.size, Reverse(slot.buffer)));
                let buffer = largest.and_then(|slot| assignment.buffer(slot.buffer));
                let mut planned = buffer
                    .map(|buffer| describe(module, buffer, purpose))
                    .unwrap_or_default();
                (planned.bytes, planned.purpose) = (bytes, purpose);
                self.at_peak.push(planned);
            }
        }
    }

    fn add_heap(
        &mut self,
        module: &HloModule,
        assignment: &BufferAssignment,
        heaps: &BufferHeaps,
        allocation: &Allocation,
        replay: &HeapReplay,
    ) {
        // Buffers that occur in no trace (tables of addresses) may be needed at any time.
        let always = allocation
            .slots
            .iter()
            .map(|slot| slot.buffer)
            .filter(|buffer| !heaps.traced.contains(buffer));
        let live = always
            .chain(replay.live.iter().copied())
            .filter_map(|id| assignment.buffer(id));
        let mut left = allocation.size;
        let mut parts = Vec::new();
        for buffer in live {
            let mut planned = describe(module, buffer, Purpose::Temporary);
            // A plan that exceeds the size of the memory keeps its sum.
            planned.bytes = planned.bytes.min(left);
            left -= planned.bytes;
            parts.push(planned);
        }
        let live_bytes = allocation.size - left;
        if left > 0 {
            parts.push(PlannedBuffer {
                purpose: Purpose::Unused,
                bytes: left,
                ..PlannedBuffer::default()
            });
        }
        let is_largest = live_bytes > self.heap_peak_bytes;
        self.at_peak.append(&mut parts);
        let placed = allocation
            .slots
            .iter()
            .fold(0_u64, |sum, slot| sum.saturating_add(slot.size));
        let before = self.reuse.unwrap_or(0.0) * self.heap_bytes as f64;
        self.heap_bytes = self.heap_bytes.saturating_add(allocation.size);
        self.reuse =
            (self.heap_bytes > 0).then(|| (before + placed as f64) / self.heap_bytes as f64);
        self.heap_peak_bytes = self.heap_peak_bytes.saturating_add(live_bytes);
        self.fragmentation_bytes = self.fragmentation_bytes.saturating_add(left);
        self.odd_events += replay.odd_events;
        if is_largest {
            self.peak_instruction =
                Some(replay.peak_instruction.clone()).filter(|name| !name.is_empty());
            self.curve.clone_from(&replay.curve);
        }
    }
}

/// The first `shown` of `buffers`, and the rest combined.
pub(super) fn cut(buffers: &[PlannedBuffer], shown: usize) -> Vec<PlannedBuffer> {
    let (first, rest) = buffers.split_at(shown.min(buffers.len()));
    let mut out = first.to_vec();
    if !rest.is_empty() {
        let sum = |bytes: fn(&PlannedBuffer) -> u64| {
            rest.iter()
                .fold(0_u64, |sum, one| sum.saturating_add(bytes(one)))
        };
        let bytes = sum(|buffer| buffer.bytes);
        out.push(PlannedBuffer {
            purpose: Purpose::Several,
            instruction: format!("{} more", rest.len()),
            bytes,
            element_bytes: Some(bytes.saturating_sub(sum(PlannedBuffer::padding_bytes))),
            ..PlannedBuffer::default()
        });
    }
    out
}

/// Facts about a buffer from the program.
pub(super) fn describe(
    module: &HloModule,
    buffer: &LogicalBuffer,
    purpose: Purpose,
) -> PlannedBuffer {
    let id = module
        .find(&buffer.instruction_name)
        .or(module.instruction_by_compiler_id(buffer.instruction_id));
    let instruction = id.and_then(|id| module.instruction(id));
    let name = instruction.map_or(buffer.instruction_name.as_str(), |instruction| {
        &instruction.name
    });
    let array = array_of(module, buffer);
    let place: Vec<String> = buffer.shape_index.iter().map(u64::to_string).collect();
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    PlannedBuffer {
        purpose,
        instruction: if place.is_empty() {
            name.to_owned()
        } else {
            format!("{name}{{{}}}", place.join(","))
        },
        shape: array.map(ToString::to_string),
        bytes: buffer.size,
        element_bytes: array.and_then(ArrayShape::bytes),
        op_name: instruction.and_then(|instruction| text(&instruction.op_name)),
        source: instruction.and_then(|instruction| module.source(instruction)),
    }
}

/// The array that a buffer holds; `None` for tables of addresses.
fn array_of<'a>(module: &'a HloModule, buffer: &LogicalBuffer) -> Option<&'a ArrayShape<'static>> {
    let id = module
        .find(&buffer.instruction_name)
        .or(module.instruction_by_compiler_id(buffer.instruction_id))?;
    let mut shape = module.instruction(id)?.shape.as_deref()?;
    for &place in &buffer.shape_index {
        shape = shape.parts().get(usize::try_from(place).ok()?)?;
    }
    shape.array()
}

/// Pairs arguments that remain the caller's with results of the same shape that have their own memory: donating the
/// argument would save the memory of one of them.
fn donations(
    module: &HloModule,
    assignment: &BufferAssignment,
    allocations: &[&Allocation],
) -> Vec<Donation> {
    let described = |allocation: &Allocation| {
        let slot = allocation
            .slots
            .iter()
            .max_by_key(|slot| (slot.size, Reverse(slot.buffer)))?;
        let buffer = assignment.buffer(slot.buffer)?;
        let array = array_of(module, buffer)?;
        let key = (allocation.size, array.dtype, array.dims.clone());
        Some((key, describe(module, buffer, Purpose::of(allocation))))
    };
    let mut outputs = grouped(
        allocations
            .iter()
            .filter(|allocation| Purpose::of(allocation) == Purpose::Output)
            .filter_map(|output| described(output)),
    );
    let arguments = allocations
        .iter()
        .filter(|allocation| Purpose::of(allocation) == Purpose::Argument);
    let donation = |allocation: &&&Allocation| {
        let (key, argument) = described(allocation)?;
        let output = outputs.get_mut(&key)?.pop()?;
        Some(Donation {
            argument: argument.instruction,
            output: output.instruction,
            shape: argument.shape.unwrap_or_default(),
            bytes: allocation.size,
        })
    };
    let mut donations: Vec<Donation> = arguments
        .collect::<Vec<_>>()
        .iter()
        .filter_map(donation)
        .collect();
    largest_first(&mut donations, |row| row.bytes, |row| &row.argument);
    donations
}

pub(super) fn percent(part: u64, whole: u64) -> Option<Percent> {
    Percent::ratio(part as f64, whole as f64)
}
