//! The allocations and releases of each memory, in time order.

use facts::prelude::*;
use trace_model::{SourceId, StringId};

/// Host events that record allocator activity.
const ALLOCATION: &str = "MemoryAllocation";
const RELEASE: &str = "MemoryDeallocation";

/// Identifies a memory of a file: that of a device, by its number on the host, or that of a named allocator
/// (`StringId` index). An allocator's name takes precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MemoryKey {
    pub source: SourceId,
    pub allocator: Option<i64>,
    pub device: Option<i64>,
}

/// One allocation or release, with the memory use after it. There can be as many as slices, so unknown values are
/// stored as impossible numbers.
#[derive(Clone, Copy)]
pub(super) struct MemoryEvent {
    pub slice: SliceId,
    /// Position of its memory among the keys.
    memory: u32,
    pub is_allocation: bool,
    has_address: bool,
    pub at: Timestamp,
    /// Bytes set aside for programs: the stack.
    pub reserved: i64,
    /// Bytes in buffers: the heap.
    pub allocated: i64,
    /// This and the next two fields are negative if unknown.
    available: i64,
    requested: i64,
    size: i64,
    /// Not a valid share if unknown.
    fragmentation: f64,
    address: i64,
}

impl MemoryEvent {
    fn new(slice: SliceRef<'_>, memory: u32, is_allocation: bool, allocated: i64) -> Self {
        Self {
            slice: slice.id(),
            memory,
            is_allocation,
            has_address: false,
            at: slice.start(),
            reserved: 0,
            allocated: allocated.max(0),
            available: -1,
            requested: -1,
            size: -1,
            fragmentation: f64::NAN,
            address: 0,
        }
    }

    /// Bytes in use after it.
    pub fn used(&self) -> i64 {
        self.reserved.saturating_add(self.allocated)
    }

    /// Bytes that are free after it.
    pub fn available(&self) -> Option<i64> {
        known(self.available)
    }

    /// Share of free bytes outside the largest free block.
    pub fn fragmentation(&self) -> Option<f64> {
        (0.0..=1.0)
            .contains(&self.fragmentation)
            .then_some(self.fragmentation)
    }

    /// Requested bytes.
    pub fn requested(&self) -> Option<i64> {
        known(self.requested)
    }

    /// Allocated bytes, with rounding.
    pub fn size(&self) -> Option<i64> {
        known(self.size)
    }

    /// Address of the buffer.
    pub fn address(&self) -> Option<i64> {
        self.has_address.then_some(self.address)
    }

    /// Capacity in bytes, if the allocator recorded the free bytes.
    pub fn capacity(&self) -> Option<i64> {
        self.available()
            .map(|free| self.used().saturating_add(free))
            .filter(|&capacity| capacity > 0)
    }

    /// Bytes that an allocation occupies.
    pub fn taken(&self) -> i64 {
        self.size().or(self.requested()).unwrap_or(0)
    }
}

/// Rejects negative values: no allocator holds a negative number of bytes.
fn known(bytes: i64) -> Option<i64> {
    (bytes >= 0).then_some(bytes)
}

/// The memories of a capture, numbered in the order of their first event.
#[derive(Default)]
struct MemoryNumbers {
    keys: Vec<MemoryKey>,
    numbers: BTreeMap<MemoryKey, u32>,
}

impl MemoryNumbers {
    fn number(&mut self, key: MemoryKey) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() as u32 - 1
        })
    }

    fn key(&self, event: &MemoryEvent) -> MemoryKey {
        self.keys[event.memory as usize]
    }
}

/// Recorded events of all memories.
pub(super) struct RecordedMemory {
    memories: MemoryNumbers,
    /// By memory, then in time order.
    events: Vec<MemoryEvent>,
}

impl RecordedMemory {
    /// Reads the events of all memories.
    pub fn of(model: &TraceModel) -> Self {
        let kind = |slice: SliceRef<'_>| match slice.name() {
            ALLOCATION => Some(true),
            RELEASE => Some(false),
            _ => None,
        };
        let mut memories = MemoryNumbers::default();
        let mut events = Vec::with_capacity(model.slices_with(SliceAttr::MemoryAllocated).count());
        for (slice, allocated) in model.slices_with(SliceAttr::MemoryAllocated) {
            let Some(is_allocation) = kind(slice) else {
                continue;
            };
            let memory = memories.number(MemoryKey {
                source: model.group(slice.track_ref().group).source,
                allocator: None,
                device: None,
            });
            events.push(MemoryEvent::new(slice, memory, is_allocation, allocated));
        }
        fill(model, &mut memories, &mut events);
        events.sort_unstable_by_key(|event| (memories.key(event), event.at, event.slice));
        Self { memories, events }
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Each memory and its events in time order.
    pub fn memories(&self) -> impl Iterator<Item = (MemoryKey, &[MemoryEvent])> {
        let of_one = self.events.chunk_by(|a, b| a.memory == b.memory);
        of_one.filter_map(|events| Some((self.memories.key(events.first()?), events)))
    }
}

/// Joins the other facts of the events: all columns are sorted by row, so each join is one pass over both.
fn fill(model: &TraceModel, memories: &mut MemoryNumbers, events: &mut [MemoryEvent]) {
    let mut join = |attr, set: fn(&mut MemoryNumbers, &mut MemoryEvent, i64)| {
        let mut rows = events.iter_mut().peekable();
        for (slice, value) in model.slices_with(attr) {
            while rows.next_if(|event| event.slice < slice.id()).is_some() {}
            if let Some(event) = rows.next_if(|event| event.slice == slice.id()) {
                set(memories, event, value);
            }
        }
    };
    join(SliceAttr::DeviceOrdinal, |memories, event, value| {
        event.memory = memories.number(MemoryKey {
            device: Some(value),
            ..memories.key(event)
        });
    });
    join(SliceAttr::Allocator, |memories, event, value| {
        event.memory = memories.number(MemoryKey {
            allocator: Some(value),
            device: None,
            ..memories.key(event)
        });
    });
    join(SliceAttr::MemoryReserved, |_, event, value| {
        event.reserved = value.max(0);
    });
    join(SliceAttr::MemoryAvailable, |_, event, value| {
        event.available = value;
    });
    join(SliceAttr::RequestedBytes, |_, event, value| {
        event.requested = value;
    });
    join(SliceAttr::AllocationBytes, |_, event, value| {
        event.size = value;
    });
    join(SliceAttr::Address, |_, event, value| {
        (event.address, event.has_address) = (value, true);
    });
    join(SliceAttr::FragmentationBits, |_, event, bits| {
        event.fragmentation = f64::from_bits(bits as u64);
    });
}

impl MemoryKey {
    /// Display name of the memory: the device, if the capture contains it.
    pub fn title(&self, model: &TraceModel) -> String {
        if let Some(name) = self.allocator {
            return model.str(StringId::from_index(name)).to_owned();
        }
        let Some(device) = self.device else {
            return "memory".to_owned();
        };
        let core = self.core(model).map(|core| model.group(core));
        core.map_or_else(
            || format!("device {device}"),
            |group| model.str(group.name).to_owned(),
        )
    }

    /// Whether it belongs to a device and not to a named allocator, such as the pools of the host.
    pub fn is_device(&self) -> bool {
        self.allocator.is_none()
    }

    /// The device, if the capture contains it.
    pub fn core(&self, model: &TraceModel) -> Option<GroupId> {
        let ordinal = self.ordinal()?;
        model.tensor_cores().into_iter().find(|&core| {
            let group = model.group(core);
            group.source == self.source && group.kind == GroupKind::TensorCore { ordinal }
        })
    }

    /// The number of its device, if it belongs to one.
    pub fn ordinal(&self) -> Option<u32> {
        self.device.and_then(|device| u32::try_from(device).ok())
    }
}
