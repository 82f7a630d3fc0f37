//! Rows of the memory report.

use facts::prelude::*;

use super::live::{LiveBuffer, SizeClass};

/// Activity of the allocators of all memories.
#[engine::reported]
pub struct MemoryReport {
    /// A sentence: the fullest memory, how full it was, and its contents.
    pub statement: String,
    /// Numbers of the fullest memory.
    pub metrics: Vec<Metric>,
    /// Each memory, the fullest (of its capacity) first.
    pub memories: Vec<MemoryTimeline>,
}

/// From this share of its capacity a memory is nearly full: the next allocation may not fit.
pub const NEARLY_FULL_PERCENT: f64 = 90.0;

impl MemoryReport {
    /// Memories of devices whose peak and capacity are both known, with the peak in percent; the fullest first.
    pub fn device_peaks(&self) -> impl Iterator<Item = (&MemoryTimeline, Percent)> {
        let of_devices = self.memories.iter().filter(|memory| memory.is_device);
        of_devices.filter_map(|memory| Some((memory, memory.peak_percent?)))
    }

    /// Peak of the fullest memory as a percentage of its capacity.
    pub fn peak_percent(&self) -> Option<Percent> {
        self.memories
            .iter()
            .filter_map(|memory| memory.peak_percent)
            .reduce(|a, b| Percent(a.0.max(b.0)))
    }
}

/// One memory over time.
#[engine::row(recorded)]
#[derive(Default)]
pub struct MemoryTimeline {
    /// The device (`/device:TPU:0`), or the name of the allocator.
    #[column]
    pub memory: String,
    /// Whether it is the memory of a device and not a pool of the host, as far as the capture shows.
    #[serde(skip)]
    pub is_device: bool,
    /// Capacity in bytes: in use plus free at the peak, as the allocator records them.
    #[column]
    pub capacity_bytes: Option<i64>,
    /// Most bytes in use within the window, stack and heap together.
    #[column]
    pub peak_bytes: i64,
    /// The peak as a share of the capacity.
    #[column("Of capacity")]
    pub peak_percent: Option<Percent>,
    /// When the peak was first reached, on the timeline.
    #[column("At")]
    pub peak_at_ps: Timestamp,
    /// The step in which the peak was reached.
    #[column("Step", derived, unit = None)]
    pub peak_step: Option<u32>,
    /// The part of the peak set aside for programs.
    #[column("Programs")]
    pub peak_reserved_bytes: i64,
    /// The part of the peak in buffers.
    #[column("Buffers")]
    pub peak_heap_bytes: i64,
    /// Bytes free at the peak.
    #[column("Free")]
    pub peak_free_bytes: Option<i64>,
    /// Share of the free bytes outside the largest free block.
    pub peak_fragmentation_percent: Option<Percent>,
    /// The largest free block at the peak: the largest buffer that would still have fitted.
    #[column("In a block", derived)]
    pub peak_largest_free_bytes: Option<i64>,
    /// The highest fragmentation in the window.
    #[column("Fragmentation")]
    pub max_fragmentation_percent: Option<Percent>,
    /// When it was first reached, on the timeline.
    pub max_fragmentation_at_ps: Option<Timestamp>,
    /// The highest peak that the allocator itself recorded, including the time before the capture. Runtimes count
    /// buffers only, so it can be lower than the peak of the window.
    pub lifetime_peak_bytes: Option<i64>,
    /// Mean use over the window, from the first event on.
    #[column("Mean in use", derived)]
    pub mean_bytes: Option<f64>,
    /// Bytes in buffers after the last event of the window minus those after the first: continuous growth eventually
    /// fills the memory.
    #[column(derived)]
    pub growth_bytes: i64,
    /// Allocations in the window.
    #[column("Allocated")]
    pub allocations: u64,
    /// Releases in the window.
    #[column("Released")]
    pub releases: u64,
    /// Bytes of all allocations in the window.
    #[column("Bytes")]
    pub allocated_bytes: i64,
    /// Requested bytes of these.
    pub requested_bytes: i64,
    /// Bytes that they received beyond the requested ones.
    #[column(derived)]
    pub rounding_bytes: i64,
    /// Allocations per step, over the complete steps of the capture.
    #[column("A step", derived, unit = Count)]
    pub allocations_per_step: Option<f64>,
    /// Bytes allocated per step, over the complete steps of the capture.
    #[column("Bytes a step", derived, unit = Bytes)]
    pub allocated_bytes_per_step: Option<f64>,
    /// Releases of buffers from before the capture.
    pub unknown_releases: u64,
    /// Buffers whose release was not recorded: their address was allocated again.
    pub lost_releases: u64,
    /// Contents of the memory at the peak; adds up to the peak.
    pub at_peak: Vec<LiveBuffer>,
    /// Buffers allocated in the window and still live at its end.
    pub kept: Vec<LiveBuffer>,
    /// Number of these buffers.
    pub kept_count: u64,
    /// Bytes of these buffers.
    #[column("Not released", derived)]
    pub kept_bytes: i64,
    /// Allocations by size, the sizes with the most bytes in total first.
    pub sizes: Vec<SizeClass>,
}

impl MemoryTimeline {
    pub(super) fn parts_per_million(&self) -> i64 {
        self.peak_percent
            .map_or(0, |percent| (percent.0 * 1e4) as i64)
    }
}
