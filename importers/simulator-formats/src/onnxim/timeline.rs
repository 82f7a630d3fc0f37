//! Writes a run as tracks of one device.

use importer_common::cycles::CycleClock;
use importer_common::prelude::*;
use importer_common::simulated::{add_fact, track_at};
use trace_model::Label;

use super::config::{self, OnnximConfig};
use super::labels::OnnximLabels;
use super::run::{OnnximLayer, OnnximMatmul, OnnximNumber, OnnximRun, OnnximSample};
use crate::chakra::npu::is_matmul;

/// Minimum run length whose log determines the clock to 0.1 %.
const LONG_US: i64 = 1000;
/// Resolution of printed percentages, in percentage points.
const ROUNDING: f64 = 0.01;

struct OnnximTimeline<'a> {
    out: &'a mut TraceBuilder,
    core: GroupId,
    clock: CycleClock,
    /// Factor between the chosen clock and the simulator's clock.
    faster: f64,
    next: i64,
}

/// Writes the device. `named` is the clock given by the user.
pub(super) fn write(
    run: &OnnximRun,
    config: Option<&OnnximConfig>,
    named: Option<f64>,
    out: &mut TraceBuilder,
) {
    let configured = config
        .map(|config| CycleClock { mhz: config.mhz })
        .or_else(|| Some(config::implied(run)?.0));
    let clock = named
        .map(|mhz| CycleClock { mhz })
        .or(configured)
        .unwrap_or(CycleClock::NONE);
    let core = out.group(None, GroupKind::TensorCore { ordinal: 0 }, "NPU 0");
    // Rates per second scale with the clock.
    let faster = configured.map_or(1.0, |configured| clock.mhz / configured.mhz);
    let mut writer = OnnximTimeline {
        out,
        core,
        clock,
        faster,
        next: 0,
    };
    writer.describe(run, config);
    writer.say_clock(run, config, named);
    let products = products(run, writer.out);
    writer.layers(run, &products);
    writer.requests(run);
    writer.cores(run);
}

/// The matrix product of each layer, in start order.
fn products<'a>(run: &'a OnnximRun, out: &mut TraceBuilder) -> Vec<Option<&'a OnnximMatmul>> {
    let none = || vec![None; run.layers.len()];
    if run.products.is_empty() {
        return none();
    }
    let named: Vec<usize> = run
        .layers
        .iter()
        .enumerate()
        .filter(|(_, layer)| is_matmul(out.str(layer.name)))
        .map(|(index, _)| index)
        .collect();
    let of: Vec<usize> = match run.products.len() {
        all if all == run.layers.len() => (0..all).collect(),
        some if some == named.len() => named,
        _ => Vec::new(),
    };
    let of = in_order(run, of);
    if of.is_empty() {
        let (products, layers) = (run.products.len(), run.layers.len());
        out.log(IssueKind::WorkUnknown, || {
            format!(
                "the {products} matmul sizes of the log cannot be assigned to its {layers} layers: no FLOPs, no bytes"
            )
        });
        return none();
    }
    let mut of_layers = none();
    for (product, layer) in run.products.iter().zip(of) {
        of_layers[layer] = Some(product);
    }
    of_layers
}

/// Layers in the order in which their products are printed, which is graph order. Empty if the order is unknown.
fn in_order(run: &OnnximRun, of: Vec<usize>) -> Vec<usize> {
    if run
        .products
        .windows(2)
        .all(|two| matches!(two, [one, other] if one == other))
    {
        return of;
    }
    if run.has_several_models() {
        return Vec::new();
    }
    let number = |index: &usize| match run.layers.get(*index)?.id {
        OnnximNumber::Known(number) => Some((number, *index)),
        _ => None,
    };
    if let Some(mut numbered) = of.iter().map(number).collect::<Option<Vec<_>>>() {
        numbered.sort_unstable();
        let are_distinct = numbered
            .windows(2)
            .all(|two| matches!(two, [one, other] if one.0 < other.0));
        return if are_distinct {
            numbered.into_iter().map(|(_, index)| index).collect()
        } else {
            Vec::new()
        };
    }
    // A chain runs in the order of the graph.
    let all = run.layers.len();
    let is_chain = run.announced == all && run.without_choice >= all && !run.had_choice;
    if is_chain { of } else { Vec::new() }
}

impl OnnximTimeline<'_> {
    fn track(&mut self, kind: TrackKind, name: &str) -> TrackId {
        self.next += 1;
        track_at(self.next, self.core, kind, name, self.out)
    }

    fn fact(&mut self, name: &str, value: String) {
        add_fact(self.core, name, value, self.out);
    }

    fn describe(&mut self, run: &OnnximRun, config: Option<&OnnximConfig>) {
        let peak = config::peak(run).or_else(|| config.map(OnnximConfig::peak));
        let alike = config.and_then(|config| match config.arrays.split_first() {
            Some((first, rest)) if rest.iter().all(|array| array == first) => {
                Some((config.arrays.len(), *first))
            }
            _ => None,
        });
        let arrays = alike
            .map(|(count, (width, height))| format!("{count} systolic arrays {height}×{width}"));
        let square = alike.filter(|&(_, (width, height))| width == height);
        let device = DeviceInfo {
            type_name: Some(
                arrays.unwrap_or_else(|| format!("{} systolic arrays", run.cores.len())),
            ),
            matrix_unit: square.and_then(|(_, (width, _))| u32::try_from(width).ok()),
            peak_flops: peak.map(|peak| peak * self.faster),
            peak_hbm_bytes: run
                .dram_gigabytes
                .map(|gigabytes| gigabytes * 1e9 * self.faster)
                .filter(|bytes| *bytes > 0.0),
            ..DeviceInfo::default()
        };
        self.out.set_device(self.core, device);
        let configuration = match config {
            Some(config) => config.file.clone(),
            None => "not found; put the simulator's JSON configuration next to the log".to_owned(),
        };
        self.fact("configuration", configuration);
        for (number, core) in &run.cores {
            if let Some(OnnximSample { until, usage }) = core.total {
                let used = usage
                    .multipliers
                    .map(|percent| format!(" ({percent} % of its multipliers)"));
                let used = used.unwrap_or_default();
                let text = format!(
                    "array {} %{used}, vector unit {} % of {until} cycles",
                    usage.array, usage.vector
                );
                self.fact(&format!("core {number}"), text);
            }
        }
        if let Some(percent) = run.dram_percent {
            let text = format!("{percent} % of its peak, as a mean of the run");
            self.fact("DRAM bandwidth in use", text);
        }
    }

    fn say_clock(&mut self, run: &OnnximRun, config: Option<&OnnximConfig>, named: Option<f64>) {
        let mhz = self.clock.mhz;
        let source = match (named, config, config::implied(run)) {
            (Some(_), ..) => "named".to_owned(),
            (None, Some(config), _) => config.file.clone(),
            (None, None, Some((_, [least, most]))) => {
                let (cycles, us) = run.ended.unwrap_or_default();
                let what = format!(
                    "{cycles} cycles in {us} µs, rounded down: {least:.1} to {most:.1} MHz"
                );
                if us < LONG_US {
                    self.out.log(IssueKind::AssumedClock, || {
                        format!("{what}, taken as {mhz} MHz; put the configuration next to the log, or use --clock")
                    });
                }
                what
            }
            (None, None, None) => {
                let cure = "put the simulator's JSON configuration next to the log, or give the clock with --clock";
                self.out.log(IssueKind::AssumedClock, || {
                    format!("a cycle is shown as a nanosecond: {cure}")
                });
                "not known; a cycle is 1 ns here".to_owned()
            }
        };
        self.fact("clock", format!("{mhz} MHz ({source})"));
    }

    /// Adds layers in sequence. Some schedulers run several at once: a layer then begins where the previous one ends,
    /// and the full spans are on a track that reports ignore.
    fn layers(&mut self, run: &OnnximRun, products: &[Option<&OnnximMatmul>]) {
        let track = self.track(TrackKind::Ops, "Layers");
        let mut spans = self.spans(run, products);
        spans.sort_by_key(|(begin, end, ..)| (*begin, *end));
        let overlap = spans
            .windows(2)
            .any(|two| matches!(two, [before, after] if after.0 < before.1));
        let overlap = overlap.then(|| self.track(TrackKind::Derived, "Layers at once"));
        let mut labels = OnnximLabels::default();
        let mut free = 0;
        for (begin, end, layer, product) in spans {
            let label = labels.of(layer.name, product, self.out);
            if let (Some(track), Some(range)) = (overlap, self.clock.range(begin, end)) {
                self.out.add_slice(track, SliceSpec::new(range, label));
            }
            if begin < free {
                let name = self.out.str(layer.name).to_owned();
                self.out.log(IssueKind::ScheduleOverlaps, || {
                    format!(
                        "layer {name} starts at cycle {begin} while another runs until {free}: it is drawn from there"
                    )
                });
            }
            let span = (begin.max(free), end);
            let slice = self
                .clock
                .add_slice("a layer", span, (track, label), self.out);
            let Some(slice) = slice else { continue };
            if layer.end.is_none() {
                self.out.set_attr(slice, SliceAttr::Unterminated, 1);
            }
            free = free.max(end);
        }
    }

    /// Start, end and costs of layers.
    fn spans<'a>(
        &mut self,
        run: &'a OnnximRun,
        products: &[Option<&'a OnnximMatmul>],
    ) -> Vec<PlacedSpan<'a>> {
        let mut spans = Vec::new();
        for (layer, product) in run.layers.iter().zip(products) {
            let name = self.out.str(layer.name).to_owned();
            let (begin, end) = match (layer.begin, layer.end) {
                (Some(begin), end) => (begin, end.unwrap_or(run.now)),
                (None, None) => (run.now, run.now),
                (None, Some(end)) => {
                    let what = || {
                        format!("layer {name} ends at cycle {end} without a start: it was skipped")
                    };
                    self.out.log(IssueKind::EndWithoutBegin, what);
                    continue;
                }
            };
            if layer.end.is_none() {
                self.out.log(IssueKind::BeginWithoutEnd, || {
                    format!("layer {name} does not end")
                });
            }
            // The log does not contain how much of an unfinished layer was done.
            let product = product.filter(|_| layer.end.is_some());
            // No layer can be shorter than its work at full rate, on the simulator's clock.
            let ns = (end - begin) as f64 * 1e3 / self.clock.mhz * self.faster;
            let is_possible = |it: &OnnximMatmul| {
                it.least_ms
                    .is_none_or(|least| ns * (1.0 + 1e-3) + 1.0 >= least * 1e6)
            };
            if let Some(least) = product
                .filter(|it| !is_possible(it))
                .and_then(|it| it.least_ms)
            {
                let cycles = end - begin;
                self.out.log(IssueKind::WorkUnknown, || {
                    format!(
                        "layer {name} takes {cycles} cycles, less than the {least} ms of its matmul: no FLOPs, no bytes"
                    )
                });
            }
            spans.push((begin, end, layer, product.filter(|it| is_possible(it))));
        }
        spans
    }

    /// Adds requests as programs, or the whole run as one program; and the run itself, which includes the last writes.
    fn requests(&mut self, run: &OnnximRun) {
        let whole = self.track(TrackKind::Derived, "Simulation");
        let label = self.out.label("simulation", None);
        let placed = (whole, label);
        self.clock
            .add_slice("the simulation", (0, run.now), placed, self.out);
        let track = self.track(TrackKind::Modules, "Models");
        // Times in the log are on the simulator's clock.
        let cycles_of = |us: i64| (us as f64 * self.clock.mhz / self.faster) as i64;
        let mut spans: Vec<(i64, i64, LabelId)> = Vec::new();
        for request in &run.requests {
            spans.push((
                cycles_of(request.start_us).min(request.end),
                request.end,
                self.out.label_of(Label {
                    name: request.name,
                    op: None,
                }),
            ));
        }
        if spans.is_empty() {
            spans.push((0, run.now, self.out.label("ONNXim run", None)));
        }
        for (begin, end, label) in spans {
            self.clock
                .add_slice("a model", (begin, end), (track, label), self.out);
        }
    }

    /// Tiles and utilization of each core.
    fn cores(&mut self, run: &OnnximRun) {
        let mut tracks = HashMap::new();
        let mut unended = 0;
        for tile in &run.tiles {
            let track = *tracks.entry(tile.core).or_insert_with(|| {
                self.track(TrackKind::Derived, &format!("Core {} tiles", tile.core))
            });
            let label = self.out.label_of(Label {
                name: tile.layer,
                op: None,
            });
            let span = (tile.begin, tile.end.unwrap_or(run.now));
            let slice = self
                .clock
                .add_slice("a tile", span, (track, label), self.out);
            let Some(slice) = slice else { continue };
            if tile.end.is_none() {
                self.out.set_attr(slice, SliceAttr::Unterminated, 1);
                unended += 1;
            }
        }
        if unended > 0 {
            let log = self.out.log_mut();
            log.add_many(IssueKind::BeginWithoutEnd, unended, || {
                "tiles that did not end".to_owned()
            });
        }
        for (number, core) in &run.cores {
            let samples = samples(&core.samples, core.total);
            for (what, percent) in QUANTITIES {
                if samples.iter().all(|(_, sample)| percent(sample).is_none()) {
                    continue;
                }
                let track = self.track(TrackKind::Counter, &format!("Core {number} {what}"));
                self.out.set_counter_unit(track, "%");
                for (from, sample) in &samples {
                    let Some(percent) = percent(sample) else {
                        continue;
                    };
                    if let Some(range) = self.clock.range_of(what, *from, sample.until, self.out) {
                        self.out
                            .add_counter_sample(track, range.start, Some(range.dur()), percent);
                    }
                }
            }
        }
        let what = "DRAM bandwidth in use (of its peak, mean of the run)";
        if let Some(percent) = run.dram_percent
            && let Some(range) = self.clock.range_of(what, 0, run.now, self.out)
        {
            let track = self.track(TrackKind::Counter, what);
            self.out.set_counter_unit(track, "%");
            self.out
                .add_counter_sample(track, range.start, Some(range.dur()), percent);
        }
    }
}

/// Start, end, layer and costs.
type PlacedSpan<'a> = (i64, i64, &'a OnnximLayer, Option<&'a OnnximMatmul>);

type CounterQuantity = (&'static str, fn(&OnnximSample) -> Option<f64>);

/// The counters of a core.
const QUANTITIES: [CounterQuantity; 3] = [
    ("array busy", |sample| Some(sample.usage.array)),
    ("multipliers in use", |sample| sample.usage.multipliers),
    ("vector unit busy", |sample| Some(sample.usage.vector)),
];

/// Samples with their start cycles. If the total contains more than the samples, the rest is one sample with its mean.
fn samples(each: &[OnnximSample], total: Option<OnnximSample>) -> Vec<(i64, OnnximSample)> {
    let mut from = 0;
    let mut samples = Vec::new();
    for sample in each {
        samples.push((from, *sample));
        from = sample.until;
    }
    // Percentages have two digits, which is not enough for a short remainder.
    let is_rest = |total: &OnnximSample| {
        total.until > from && ROUNDING * total.until as f64 / (total.until - from) as f64 <= 1.0
    };
    let Some(total) = total.filter(is_rest) else {
        return samples;
    };
    let rest = |percent: fn(&OnnximSample) -> Option<f64>| {
        let before: f64 = samples
            .iter()
            .map(|(from, sample)| Some((sample.until - from) as f64 * percent(sample)?))
            .sum::<Option<f64>>()?;
        let mean = (percent(&total)? * total.until as f64 - before) / (total.until - from) as f64;
        (-1.0..=101.0)
            .contains(&mean)
            .then_some(mean.clamp(0.0, 100.0))
    };
    let [array, multipliers, vector] = QUANTITIES.map(|(_, percent)| rest(percent));
    if let (Some(array), Some(vector)) = (array, vector) {
        let usage = super::line::CoreUtilization {
            array,
            multipliers,
            vector,
        };
        samples.push((
            from,
            OnnximSample {
                until: total.until,
                usage,
            },
        ));
    }
    samples
}
