//! The allocations and releases of each memory, in time order.

use std::collections::BTreeMap;

use trace_model::{GroupId, GroupKind, SliceAttr, SliceId, SliceRef, SourceId, StringId, Timestamp, TraceModel};

/// Host events that say what an allocator did.
const ALLOCATION: &str = "MemoryAllocation";
const RELEASE: &str = "MemoryDeallocation";

/// Which memory of which file: that of a device, by its number on the host, or
/// that of a named allocator (`StringId` index). An allocator's name wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MemoryKey {
    pub(super) source: SourceId,
    pub(super) allocator: Option<i64>,
    pub(super) device: Option<i64>,
}

/// One allocation or release, and how full the memory was right after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryEvent {
    pub(super) slice: SliceId,
    pub(super) at: Timestamp,
    pub(super) is_allocation: bool,
    /// Set aside for programs: the stack.
    pub(super) reserved: i64,
    /// In buffers: the heap.
    pub(super) allocated: i64,
    pub(super) available: Option<i64>,
    /// Share of the free bytes outside of the largest free block.
    pub(super) fragmentation: Option<f64>,
    pub(super) requested: Option<i64>,
    pub(super) size: Option<i64>,
    pub(super) address: Option<i64>,
}

impl MemoryEvent {
    fn new(slice: SliceRef<'_>, is_allocation: bool, allocated: i64) -> Self {
        Self {
            slice: slice.id(),
            at: slice.start(),
            is_allocation,
            reserved: 0,
            allocated: allocated.max(0),
            available: None,
            fragmentation: None,
            requested: None,
            size: None,
            address: None,
        }
    }

    /// Bytes in use after it.
    pub(super) fn used(&self) -> i64 {
        self.reserved.saturating_add(self.allocated)
    }

    /// Bytes there are, where the allocator said how many are free.
    pub(super) fn capacity(&self) -> Option<i64> {
        self.available.map(|free| self.used().saturating_add(free)).filter(|&capacity| capacity > 0)
    }

    /// Bytes that an allocation took.
    pub(super) fn taken(&self) -> i64 {
        self.size.or(self.requested).unwrap_or(0)
    }
}

/// All events of all memories, each in time order.
pub(super) fn collect(model: &TraceModel) -> BTreeMap<MemoryKey, Vec<MemoryEvent>> {
    let kinds: Vec<Option<bool>> = model
        .labels()
        .iter()
        .map(|label| match model.str(label.name) {
            ALLOCATION => Some(true),
            RELEASE => Some(false),
            _ => None,
        })
        .collect();
    let kind_of = |slice: SliceRef<'_>| kinds.get(slice.label_id().index()).copied().flatten();
    let slices = model.slices_with(SliceAttr::MemoryAllocated);
    let mut events: Vec<(MemoryKey, MemoryEvent)> = slices
        .filter_map(|(slice, allocated)| {
            let source = model.group(model.track(slice.track()).group).source;
            let key = MemoryKey { source, allocator: None, device: None };
            Some((key, MemoryEvent::new(slice, kind_of(slice)?, allocated)))
        })
        .collect();
    fill(model, &mut events);
    let mut memories: BTreeMap<MemoryKey, Vec<MemoryEvent>> = BTreeMap::new();
    for (key, event) in events {
        memories.entry(key).or_default().push(event);
    }
    for events in memories.values_mut() {
        events.sort_by_key(|event| (event.at, event.slice));
    }
    memories
}

/// Joins the other facts of the events: all columns are sorted by row, so each is
/// one walk along both.
fn fill(model: &TraceModel, events: &mut [(MemoryKey, MemoryEvent)]) {
    let mut join = |attr, set: fn(&mut MemoryKey, &mut MemoryEvent, i64)| {
        let mut rows = events.iter_mut().peekable();
        for (slice, value) in model.slices_with(attr) {
            while rows.next_if(|(_, event)| event.slice < slice.id()).is_some() {}
            if let Some((key, event)) = rows.next_if(|(_, event)| event.slice == slice.id()) {
                set(key, event, value);
            }
        }
    };
    // No allocator holds a negative number of bytes.
    join(SliceAttr::DeviceOrdinal, |key, _, value| key.device = Some(value));
    join(SliceAttr::Allocator, |key, _, value| (key.allocator, key.device) = (Some(value), None));
    join(SliceAttr::MemoryReserved, |_, event, value| event.reserved = value.max(0));
    join(SliceAttr::MemoryAvailable, |_, event, value| event.available = (value >= 0).then_some(value));
    join(SliceAttr::RequestedBytes, |_, event, value| event.requested = (value >= 0).then_some(value));
    join(SliceAttr::AllocationBytes, |_, event, value| event.size = (value >= 0).then_some(value));
    join(SliceAttr::Address, |_, event, value| event.address = Some(value));
    join(SliceAttr::FragmentationBits, |_, event, bits| {
        let share = f64::from_bits(bits as u64);
        event.fragmentation = (0.0..=1.0).contains(&share).then_some(share);
    });
}

impl MemoryKey {
    /// What to call the memory: the device, where the capture shows one.
    pub(super) fn title(&self, model: &TraceModel) -> String {
        if let Some(name) = self.allocator {
            return model.str(StringId::from_index(name)).to_owned();
        }
        let Some(device) = self.device else { return "memory".to_owned() };
        let core = self.core(model).map(|core| model.group(core));
        core.map_or_else(|| format!("device {device}"), |group| model.str(group.name).to_owned())
    }

    /// The device, where the capture shows it.
    pub(super) fn core(&self, model: &TraceModel) -> Option<GroupId> {
        let ordinal = self.ordinal()?;
        let is_it = |&core: &GroupId| {
            let group = model.group(core);
            group.source == self.source && group.kind == GroupKind::TensorCore { ordinal }
        };
        model.tensor_cores().into_iter().find(is_it)
    }

    /// Its device's number, where it is that of a device.
    pub(super) fn ordinal(&self) -> Option<u32> {
        self.device.and_then(|device| u32::try_from(device).ok())
    }
}
