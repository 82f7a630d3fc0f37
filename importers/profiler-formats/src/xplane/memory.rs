//! Memory use over time, from the allocations that the host records.
//!
//! `MemoryAllocation` and `MemoryDeallocation` are instants on host threads; each records the bytes in use after it.
//! The samples of all threads form one counter per memory, on the device that the memory belongs to.

use importer_common::names;
use importer_common::prelude::*;
use trace_model::SliceBatch;

/// A memory: that of a device, by its number on the host, or that of a named allocator (`StringId` index).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct MemoryCounters {
    device: Option<i64>,
    allocator: Option<i64>,
}

/// The content of an allocation or release event.
#[derive(Clone, Copy, Default)]
struct MemorySample {
    memory: MemoryCounters,
    reserved: i64,
    allocated: i64,
    fragmentation: Option<f64>,
}

/// Samples of all memories of a file.
#[derive(Default)]
pub(super) struct MemoryCurves {
    samples: BTreeMap<MemoryCounters, Vec<(Timestamp, MemorySample)>>,
    /// A track of the host that recorded them.
    track: Option<TrackId>,
}

impl MemoryCurves {
    /// Collects the samples of a line: the slices at `indices` of its batch, in order.
    pub fn collect(&mut self, track: TrackId, indices: &[u32], batch: &SliceBatch) {
        if indices.is_empty() {
            return;
        }
        self.track.get_or_insert(track);
        let mut samples = vec![MemorySample::default(); indices.len()];
        for &(attr, index, value) in batch.attrs() {
            let Some(sample) = indices
                .binary_search(&index)
                .ok()
                .and_then(|index| samples.get_mut(index))
            else {
                continue;
            };
            match attr {
                SliceAttr::DeviceOrdinal => sample.memory.device = Some(value),
                SliceAttr::Allocator => sample.memory.allocator = Some(value),
                SliceAttr::MemoryReserved => sample.reserved = value,
                SliceAttr::MemoryAllocated => sample.allocated = value,
                SliceAttr::FragmentationBits => {
                    sample.fragmentation = Some(f64::from_bits(value as u64));
                }
                _ => {}
            }
        }
        for (&index, sample) in indices.iter().zip(samples) {
            self.samples
                .entry(sample.memory)
                .or_default()
                .push((batch.range(index).start, sample));
        }
    }

    /// Adds a counter track per memory: bytes in use, and fragmentation if there is any.
    pub fn add_to(self, out: &mut TraceBuilder) {
        let Some(track) = self.track else { return };
        let host = out.track_mut(track).group;
        for (memory, samples) in self.samples {
            let (group, name) = place(out, host, memory);
            let used = add_track(out, group, &format!("{name} in use"));
            for (time, sample) in &samples {
                let bytes = sample.reserved.saturating_add(sample.allocated);
                out.add_counter_sample(used, *time, None, bytes as f64);
            }
            out.set_counter_unit(used, "bytes");
            let fragmentation =
                |sample: &MemorySample| sample.fragmentation.filter(|share| share.is_finite());
            if samples
                .iter()
                .filter_map(|(_, sample)| fragmentation(sample))
                .any(|share| share > 0.0)
            {
                let track = add_track(out, group, &format!("{name} fragmentation"));
                for (time, sample) in &samples {
                    if let Some(share) = fragmentation(sample) {
                        out.add_counter_sample(track, *time, None, 100.0 * share);
                    }
                }
                out.set_counter_unit(track, "% of free bytes");
            }
        }
    }
}

/// The group and name of a memory's counter. The stack, reserved by programs, and the heap, used by buffers, share one
/// memory.
fn place(out: &TraceBuilder, host: GroupId, memory: MemoryCounters) -> (GroupId, String) {
    if let Some(name) = memory.allocator {
        return (
            host,
            format!("Memory of {}", out.str(StringId::from_index(name))),
        );
    }
    let Some(device) = memory.device else {
        return (host, "Memory".to_owned());
    };
    let source_of = |group: GroupId| out.groups().get(group.index()).map(|group| group.source);
    let is_device = |group: GroupId| {
        let kind = out.groups().get(group.index()).map(|group| group.kind);
        matches!(kind, Some(GroupKind::TensorCore { ordinal }) if i64::from(ordinal) == device)
    };
    let mut groups = out.tracks().map(|(_, track)| track.group);
    match groups.find(|&group| is_device(group) && source_of(group) == source_of(host)) {
        Some(core) => (core, "HBM".to_owned()),
        None => (host, format!("Memory of device {device}")),
    }
}

fn add_track(out: &mut TraceBuilder, group: GroupId, name: &str) -> TrackId {
    let track = out.track(group, TrackKind::Counter, 0, name);
    out.track_mut(track).sort = names::track_sort(TrackKind::Counter);
    track
}

#[cfg(test)]
mod tests {
    use importers::import;
    use input::{InputSource, Progress};
    use trace_model::{GroupKind, SliceAttr, TraceModel, TrackKind};

    use super::super::tests::writer::{PlaneWriter, WrittenStat, space};

    /// Two threads allocate memory of device 0 and of an allocator.
    fn model(device_plane: &'static str) -> TraceModel {
        let mut core = PlaneWriter::new(device_plane);
        let op = core.event("op", 0, 90_000, &[]);
        core.line(3, "XLA Ops", 0, &[op]);
        let mut host = PlaneWriter::new("/host:CPU");
        let mut event =
            |name: &str, at: i64, memory: (&'static str, WrittenStat), heap: i64, share: f64| {
                let stats = [
                    memory,
                    ("bytes_reserved", WrittenStat::Int(300)),
                    ("bytes_allocated", WrittenStat::Uint(heap as u64)),
                    ("fragmentation", WrittenStat::Double(share)),
                    ("addr", WrittenStat::Int(7)),
                ];
                host.event(name, at, 0, &stats)
            };
        let device = || ("index_on_host", WrittenStat::Int(0));
        let first = event("MemoryAllocation", 10_000, device(), 100, 0.0);
        let third = event("MemoryDeallocation", 60_000, device(), 0, 0.25);
        let second = event("MemoryAllocation", 30_000, device(), 200, 0.0);
        let named = event(
            "MemoryAllocation",
            40_000,
            ("allocator_name", WrittenStat::Ref("pinned")),
            5,
            0.0,
        );
        host.line(1, "a", 0, &[first, third]);
        host.line(2, "b", 0, &[second, named]);
        import(
            &InputSource::from_bytes("host0.xplane.pb", space(&[&core, &host])).unwrap(),
            &Progress::new(),
        )
        .unwrap()
    }

    #[test]
    fn last_value_of_a_repeated_stat_counts_if_it_is_zero() {
        let mut host = PlaneWriter::new("/host:CPU");
        let reserved = |bytes: i64| ("bytes_reserved", WrittenStat::Int(bytes));
        let events =
            [[5, 0], [0, 5]].map(|both| host.event("MemoryAllocation", 0, 0, &both.map(reserved)));
        host.line(1, "a", 0, &events);
        let source = InputSource::from_bytes("host0.xplane.pb", space(&[&host])).unwrap();
        let model = import(&source, &Progress::new()).unwrap();
        let found: Vec<_> = model
            .all_slices()
            .map(|slice| slice.attr(SliceAttr::MemoryReserved))
            .collect();
        assert_eq!(found, [None, Some(5)]);
    }

    type Samples = Vec<(i64, f64)>;

    fn curves(model: &TraceModel) -> Vec<(GroupKind, &str, &str, Samples)> {
        let curve = |series: &trace_model::CounterSeries| {
            let track = model.track(series.track());
            let samples = series
                .samples()
                .map(|(range, value)| (range.start.ps(), value))
                .collect();
            let unit = series.unit().map_or("", |unit| model.str(unit));
            (
                model.group(track.group).kind,
                model.str(track.name),
                unit,
                samples,
            )
        };
        model.counters().iter().map(curve).collect()
    }

    #[test]
    fn allocations_of_all_threads_form_one_counter_per_memory() {
        let core = GroupKind::TensorCore { ordinal: 0 };
        let model = model("/device:TPU:0");
        let used = vec![(10_000, 400.0), (30_000, 500.0), (60_000, 300.0)];
        let fragmented = vec![(10_000, 0.0), (30_000, 0.0), (60_000, 25.0)];
        let expected = [
            (
                GroupKind::HostProcess,
                "Memory of pinned in use",
                "bytes",
                vec![(40_000, 305.0)],
            ),
            (core, "HBM in use", "bytes", used),
            (core, "HBM fragmentation", "% of free bytes", fragmented),
        ];
        assert_eq!(curves(&model), expected);
        // Each sample holds until the next one; the last holds until the end of the trace.
        assert_eq!(
            model.counters()[1]
                .samples()
                .map(|(range, _)| range.end.ps())
                .collect::<Vec<_>>(),
            [30_000, 60_000, 90_000]
        );
        let named = model.slices_with(SliceAttr::Allocator).next().unwrap();
        assert_eq!(
            (
                named.0.name(),
                model.str(trace_model::StringId::from_index(named.1))
            ),
            ("MemoryAllocation", "pinned")
        );
    }

    #[test]
    fn memory_of_an_uncaptured_device_is_on_the_host() {
        let model = model("/device:TPU:1");
        let names: Vec<_> = curves(&model)
            .into_iter()
            .map(|(kind, name, ..)| (kind, name))
            .collect();
        assert_eq!(
            names[1],
            (GroupKind::HostProcess, "Memory of device 0 in use")
        );
        assert!(
            model
                .tracks()
                .iter()
                .any(|track| track.kind == TrackKind::Counter)
        );
    }
}
