//! Converts layers to tracks.

use importer_common::csv_table::KeptArgs;
use importer_common::cycles::CycleClock;
use importer_common::prelude::*;
use importer_common::simulated::{add_fact, hbm, label_of_op, track_at};
use trace_model::{Access as Direction, MemoryAccess, MemorySpace};

use super::inputs::ScaleSimInputs;
use super::layer::{STREAMS, ScaleSimAccess, ScaleSimLayer};

/// Tracks of the array.
struct ScaleSimTracks {
    core: GroupId,
    run: TrackId,
    array: TrackId,
    stalls: TrackId,
    reads: TrackId,
    writes: TrackId,
    /// Utilization of all multipliers, and share of the multipliers with mapped data.
    utilization: [TrackId; 2],
    bandwidth: [TrackId; 3],
}

/// Writes one run.
pub(super) struct ScaleSimTimeline<'a> {
    out: &'a mut TraceBuilder,
    tracks: ScaleSimTracks,
    clock: CycleClock,
    inputs: &'a ScaleSimInputs,
    /// Cycle at which the current layer starts to compute.
    zero: i64,
}

/// Creates the device and its slices.
pub(super) fn write(
    layers: &[ScaleSimLayer],
    inputs: &ScaleSimInputs,
    clock_mhz: Option<f64>,
    out: &mut TraceBuilder,
) {
    if clock_mhz.is_none() {
        let cure = "give it with --clock: 700MHz for TPU v1, 940MHz for v2 and v3, 1050MHz for v4, 1500MHz for v5e, \
                    1750MHz for v5p and v6e";
        out.log(IssueKind::AssumedClock, || {
            format!("SCALE-Sim has no clock; {cure}")
        });
    }
    let tracks = tracks(out);
    let mut writer = ScaleSimTimeline {
        out,
        tracks,
        clock: clock_mhz.map_or(CycleClock::NONE, |mhz| CycleClock { mhz }),
        inputs,
        zero: 0,
    };
    writer.describe(clock_mhz.is_some());
    let mut args = KeptArgs::default();
    let mut begin: i64 = 0;
    for layer in layers {
        writer.zero = begin.saturating_add(layer.prefetch());
        let end = writer.zero.saturating_add(layer.end());
        if writer.clock.at(end).is_none() {
            let id = layer.id;
            writer.out.log(IssueKind::BeyondTimeline, || {
                format!("layer {id} and all later ones start beyond the timeline")
            });
            break;
        }
        let args = args.keep(layer.rows.clone(), layer.sizes.iter().cloned().collect());
        writer.layer(layer, begin, end, args);
        begin = end;
    }
    writer.finish(begin, args);
}

fn tracks(out: &mut TraceBuilder) -> ScaleSimTracks {
    let core = out.group(
        None,
        GroupKind::TensorCore { ordinal: 0 },
        "systolic array 0",
    );
    let mut next = 0;
    let mut track = |kind, name: &str| {
        next += 1;
        track_at(next, core, kind, name, out)
    };
    ScaleSimTracks {
        core,
        run: track(TrackKind::Modules, "Run"),
        array: track(TrackKind::Ops, "Array"),
        reads: track(TrackKind::AsyncOps, "DRAM reads"),
        writes: track(TrackKind::AsyncOps, "DRAM writes"),
        stalls: track(TrackKind::Derived, "Stalls (how many cycles, not when)"),
        utilization: ["Multipliers in use", "Multipliers mapped"]
            .map(|name| track(TrackKind::Counter, name)),
        bandwidth: STREAMS.map(|stream| {
            track(
                TrackKind::Counter,
                &format!("DRAM {}", stream.name.to_lowercase()),
            )
        }),
    }
}

impl ScaleSimTimeline<'_> {
    /// The time of a cycle of the run.
    fn at(&self, cycle: i64) -> Timestamp {
        self.clock.nearest(cycle)
    }

    /// The range between two cycles of the current layer; `last` is exclusive.
    fn range(&self, first: i64, last: i64) -> TimeRange {
        TimeRange::new(
            self.at(self.zero.saturating_add(first)),
            self.at(self.zero.saturating_add(last)),
        )
    }

    fn describe(&mut self, has_clock: bool) {
        let per_second = self.clock.mhz * 1e6;
        let device = DeviceInfo {
            type_name: Some(match &self.inputs.config {
                Some(config) => format!("systolic array {}×{}", config.height, config.width),
                None => "systolic array".to_owned(),
            }),
            peak_flops: self
                .inputs
                .multipliers
                .map(|multipliers| 2.0 * multipliers as f64 * per_second),
            matrix_unit: self
                .inputs
                .config
                .as_ref()
                .filter(|config| config.width == config.height)
                .and_then(|config| u32::try_from(config.width).ok()),
            ..DeviceInfo::default()
        };
        let core = self.tracks.core;
        self.out.set_device(core, device);
        let ScaleSimInputs {
            config,
            topology,
            multipliers,
        } = self.inputs;
        let clock = if has_clock {
            format!("{} MHz", self.clock.mhz)
        } else {
            "not known; a cycle is 1 ns here".into()
        };
        let configuration = match (config, multipliers) {
            (Some(config), _) => config.file.clone(),
            (None, Some(_)) => {
                "not found; the size of the array follows from the topology".to_owned()
            }
            (None, None) => {
                "not found, so no FLOPs; put the .cfg of the run beside its reports".to_owned()
            }
        };
        let layers = topology.as_ref().map(|topology| topology.file.clone());
        let mut facts = vec![
            ("clock", clock),
            ("word", "1 byte, as the simulator assumes".to_owned()),
            ("configuration", configuration),
            (
                "topology",
                layers.unwrap_or_else(|| "not found, so layers have no names".to_owned()),
            ),
        ];
        if let Some(config) = config.as_ref().filter(|config| !config.dataflow.is_empty()) {
            facts.push(("dataflow", config.dataflow.clone()));
        }
        for (name, value) in facts {
            add_fact(core, name, value, self.out);
        }
    }

    fn layer(&mut self, layer: &ScaleSimLayer, begin: i64, end: i64, args: u64) {
        let op = self.layer_op(layer);
        let spec = SliceSpec {
            args: Some(args),
            ..SliceSpec::new(self.range(0, layer.cycles), op)
        };
        let slice = self.out.add_slice(self.tracks.array, spec);
        if layer.stalls > 0 {
            let stalled = self.range(layer.cycles - layer.stalls, layer.cycles);
            self.out
                .set_attr(slice, SliceAttr::DmaStallPs, stalled.dur().ps());
            let label = self
                .out
                .label(&format!("{}: {} cycles", layer.name, layer.stalls), None);
            self.out
                .add_slice(self.tracks.stalls, SliceSpec::new(stalled, label));
        }
        let range = self.range(0, layer.cycles);
        for (percent, track) in [layer.overall, layer.mapping]
            .into_iter()
            .zip(self.tracks.utilization)
        {
            if let Some(percent) = percent {
                self.out
                    .add_counter_sample(track, range.start, Some(range.dur()), percent);
            }
        }
        let Some(access) = &layer.access else { return };
        let first = begin - self.zero;
        self.transfer(
            layer,
            access,
            false,
            TimeRange::new(self.at(begin), self.at(self.zero)),
            first,
        );
        let drained = self.range(layer.cycles.min(end - self.zero), end - self.zero);
        self.transfer(layer, access, true, drained, first);
        for (access, track) in access.iter().zip(self.tracks.bandwidth) {
            self.bandwidth(access, track);
        }
    }

    /// The label of a layer's op, with its operations and its SRAM traffic.
    fn layer_op(&mut self, layer: &ScaleSimLayer) -> LabelId {
        let multiplications = layer
            .busy_cycles()
            .zip(self.inputs.multipliers)
            .map(|(busy, all)| busy * all as f64);
        // A value that is too large cannot be a number of operations.
        let flops = multiplications
            .map(|number| (2.0 * number).round())
            .filter(|&flops| flops < 9e18);
        let row = self
            .inputs
            .topology
            .as_ref()
            .and_then(|topology| topology.layer(layer.id));
        let category = if row.is_some_and(|row| row.is_convolution) {
            "convolution"
        } else {
            "dot"
        };
        let hlo_text = row.map(|row| self.out.intern(&row.hlo_text));
        let sram = |written: bool| {
            let accesses = layer.access.iter().flatten().zip(STREAMS);
            accesses
                .filter(|(_, stream)| stream.is_written == written)
                .fold(0_u64, |sum, (access, _)| {
                    sum.saturating_add(access.sram.words)
                })
        };
        let mut memory = Vec::new();
        if layer.access.is_some() {
            let part = |access, bytes| MemoryAccess {
                space: MemorySpace::Vmem,
                access,
                bytes,
            };
            memory.extend([
                part(Direction::Read, sram(false)),
                part(Direction::Write, sram(true)),
            ]);
        }
        let op = Op {
            hlo_text,
            flops: flops.map(|flops| flops as u64),
            model_flops: flops.map(|flops| flops as u64),
            bytes_accessed: layer
                .access
                .is_some()
                .then(|| sram(false).saturating_add(sram(true))),
            memory,
            ..Op::default()
        };
        label_of_op(&layer.name, Some(category), op, self.out)
    }

    /// Adds the spans in flight in one direction, and the wait of the array for them.
    fn transfer(
        &mut self,
        layer: &ScaleSimLayer,
        access: &[ScaleSimAccess; 3],
        written: bool,
        wait: TimeRange,
        first: i64,
    ) {
        let (verb, direction) = if written {
            ("write", Direction::Write)
        } else {
            ("read", Direction::Read)
        };
        let streams = || {
            access
                .iter()
                .zip(STREAMS)
                .filter(move |(_, stream)| stream.is_written == written)
        };
        if streams().all(|(access, _)| access.dram.words == 0) {
            return;
        }
        let bytes = streams()
            .map(|(access, _)| access.dram_words())
            .try_fold(0_u64, |sum, words| sum.checked_add(words?));
        let name = format!("{} DRAM {verb}", layer.name);
        let memory = bytes.map(|bytes| hbm(direction, bytes));
        let done = Op {
            bytes_accessed: bytes,
            memory: memory.into_iter().collect(),
            ..Op::default()
        };
        let label = label_of_op(&name, Some("copy-done"), done, self.out);
        // Added even if nothing waits, because the bytes belong to this op.
        self.out
            .add_slice(self.tracks.array, SliceSpec::new(wait, label));
        let done = self.out.label_ref(label).name.index();
        let track = if written {
            self.tracks.writes
        } else {
            self.tracks.reads
        };
        for (access, stream) in streams().filter(|(access, _)| access.dram.words > 0) {
            let name = format!("{} {}", layer.name, stream.name.to_lowercase());
            let op = Op {
                bytes_accessed: access.dram_words(),
                ..Op::default()
            };
            let label = label_of_op(&name, Some("copy-start"), op, self.out);
            let range = self.range(
                access.dram.first.max(first),
                access.dram.last.saturating_add(1),
            );
            let slice = self.out.add_slice(track, SliceSpec::new(range, label));
            self.out.set_attr(slice, SliceAttr::DoneOp, done as i64);
            if let Some(bytes) = access
                .dram_words()
                .and_then(|words| i64::try_from(words).ok())
            {
                self.out.set_attr(slice, SliceAttr::TransferBytes, bytes);
            }
        }
    }

    /// Bandwidth of one stream in bytes per second: from its trace, otherwise the mean from the report.
    fn bandwidth(&mut self, access: &ScaleSimAccess, track: TrackId) {
        let sample = |writer: &mut Self, first: i64, cycles: i64, words: u64| {
            let range = writer.range(first, first.saturating_add(cycles));
            let rate = words as f64 / cycles.max(1) as f64 * writer.clock.mhz * 1e6;
            writer.out.add_counter_sample(
                track,
                range.start,
                Some(range.dur()).filter(|&dur| dur > Picos::ZERO),
                rate,
            );
        };
        let (first, last) = (access.dram.first, access.dram.last);
        match &access.counted {
            Some(counted) => {
                for (bin, &words) in counted.bins.iter().enumerate() {
                    let from = counted
                        .first
                        .saturating_add(counted.bin_cycles.saturating_mul(bin as i64));
                    let cycles = counted
                        .bin_cycles
                        .min(last.saturating_add(1).saturating_sub(from));
                    sample(self, from, cycles, words);
                }
            }
            None => {
                if let Some(words) = access.dram_words().filter(|&words| words > 0) {
                    sample(self, first, (last - first).saturating_add(1), words);
                }
            }
        }
    }

    fn finish(self, end: i64, args: KeptArgs) {
        let range = TimeRange::new(Timestamp::ZERO, self.at(end));
        let name = self
            .inputs
            .topology
            .as_ref()
            .map_or("SCALE-Sim run", |topology| {
                topology.file.trim_end_matches(".csv")
            });
        let Self { out, tracks, .. } = self;
        let label = out.label(name, None);
        out.add_slice(tracks.run, SliceSpec::new(range, label));
        let args = out.add_arg_source(Arc::new(args));
        out.set_arg_source(tracks.array, args);
        for track in tracks.utilization {
            out.set_counter_unit(track, "%");
        }
        for track in tracks.bandwidth {
            out.set_counter_unit(track, "bytes/s");
        }
    }
}
