//! The rules: each checks one limitation of a capture.

use device_reports::ops::op_stats::cause;
use device_reports::{Ops, Steps};
use facts::StepSource;
use facts::prelude::*;
use facts::steps::has_annotations;
use hardware::peaks::PeakSource;
use hlo::HloText;
use trace_model::{Caveat, Group, IssueKind, Op, Severity, about_times};

use super::clocks::{assumed_clock, clock_skew, host_clocks, misplaced_ops, sessions_apart};
use super::finding::{CaptureFinding, IMPOSSIBLE_RATES};
use super::kernels::{too_few_operations, untraced_kernels};
use super::losses::unreadable_events;

/// Every rule.
pub(super) const RULES: &[fn(&Context<'_>) -> Option<CaptureFinding>] = &[
    sessions_apart,
    truncated,
    dropped_traces,
    no_steps,
    no_device,
    assumed_peaks,
    clock_skew,
    host_clocks,
    partial_async_line,
    partial_hosts,
    slow_first_step,
    profiler_overhead,
    misplaced_ops,
    unreadable_events,
    simulated,
    assumed_clock,
    impossible_rates,
    too_few_operations,
    untraced_kernels,
];

/// Exporters stop at an event limit, and files are truncated.
fn truncated(cx: &Context<'_>) -> Option<CaptureFinding> {
    let log = cx.model.import_log();
    let limit = log.count(IssueKind::ExportLimit);
    let cut = log.count(IssueKind::TruncatedFile);
    (limit + cut > 0).then(|| CaptureFinding {
        id: "Q01",
        name: "truncated",
        severity: Severity::Loss,
        message: match cut_devices(cx) {
            Some((cut, all)) if cut < all => format!(
                "The end of the file is missing: {cut} of {} {} left out of the numbers.",
                counted(all, "device"),
                if cut == 1 { "is" } else { "are" }
            ),
            Some(_) => "The end of the file is missing: what devices did after their last recorded op is unknown."
                .to_owned(),
            None => "The end of the session is missing.".to_owned(),
        },
        evidence: if limit > 0 {
            "the export holds exactly its limit of events"
        } else {
            "the file ends inside an event"
        }
        .to_owned(),
        cure: if limit > 0 {
            "Open the .xplane.pb of the same session; it has no limit."
        } else {
            "Copy the file once more from where it was written; if it is no longer there, capture again."
        },
    })
}

/// How many devices the file cuts, and how many there are; `None` if none is cut.
fn cut_devices(cx: &Context<'_>) -> Option<(usize, usize)> {
    let cores = cx.model.tensor_cores();
    let cut = cores.iter().filter(|&&core| cx.model.group(core).is_cut);
    Some((cut.count(), cores.len())).filter(|(cut, _)| *cut > 0)
}

fn dropped_traces(cx: &Context<'_>) -> Option<CaptureFinding> {
    let model = cx.model;
    let counts = model
        .slices_with(SliceAttr::DroppedTraces)
        .map(|(_, count)| count.max(0));
    let counted = counts.fold(0, i64::saturating_add);
    let dropped = u64::try_from(counted)
        .unwrap_or(0)
        .max(model.import_log().count(IssueKind::DroppedTraces));
    let markers = model
        .track_ids()
        .filter(|&track| model.track(track).kind == TrackKind::DeviceScopes)
        .flat_map(|track| model.slices_on(track))
        .filter(|slice| slice.name().to_ascii_lowercase().contains("dropped"))
        .count();
    (dropped > 0 || markers > 0).then(|| CaptureFinding {
        id: "Q02",
        name: "dropped-traces",
        severity: Severity::Loss,
        message: "The hardware dropped events: times and counts are too low.".to_owned(),
        evidence: format!("{dropped} events dropped, {markers} markers"),
        cure: "Profile fewer steps, or trace fewer chips.",
    })
}

fn no_steps(cx: &Context<'_>) -> Option<CaptureFinding> {
    let steps = cx.report::<Steps>().ok()?;
    let severity = match steps.source {
        StepSource::StepsLine | StepSource::AnnotatedPrograms | StepSource::HostAnnotations => {
            return None;
        }
        StepSource::Modules => Severity::Info,
        StepSource::WholeCapture => Severity::Warning,
    };
    let inferred = format!(
        "Steps are not recorded but inferred: {}.",
        steps.source.title()
    );
    // The last reason is why this one was taken, which the message says of the whole capture.
    let (message, reasons) = match (steps.source, steps.why.split_last()) {
        (StepSource::WholeCapture, Some((_, reasons))) => (
            "Steps are not recorded: the whole capture counts as one step.".to_owned(),
            reasons,
        ),
        _ => (inferred, &steps.why[..]),
    };
    Some(CaptureFinding {
        id: "Q03",
        name: "no-steps",
        severity,
        message,
        evidence: reasons.join("; "),
        cure: if cx.model.simulator().is_some() {
            "Nothing to do for one simulated step; several need a line of programs."
        } else if has_annotations(cx.model) {
            "Trace the host with host_tracer_level 2: the launches of programs tell which annotated step they belong to."
        } else {
            "Wrap the loop body in jax.profiler.StepTraceAnnotation(\"train\", step_num=i)."
        },
    })
}

fn no_device(cx: &Context<'_>) -> Option<CaptureFinding> {
    let model = cx.model;
    let is_device = |group: &Group| match group.kind {
        GroupKind::TensorCore { .. } | GroupKind::SparseCore { .. } | GroupKind::Gpu { .. } => true,
        // Of a kind that is not known here.
        _ => model.str(group.name).starts_with("/device:"),
    };
    if model.groups().iter().any(is_device) || model.recorded_slices() == 0 {
        return None;
    }
    let is_foreign = model
        .groups()
        .iter()
        .any(|group| matches!(group.kind, GroupKind::Process { .. }));
    let (message, evidence, cure) = if is_foreign {
        (
            "Another tool recorded this: which of its processes are devices is not known, so device metrics do not exist.",
            "only processes of another tool",
            "Name its tracks of devices with --roles FILE.toml (\"Simulations and predictions\" in the guide), or capture on a TPU \
             with the profiler of JAX, PyTorch/XLA or TensorFlow.",
        )
    } else {
        (
            "No device was recorded: device metrics do not exist.",
            "only host threads",
            "Check that jax.devices() lists TPUs, and capture a few steps again with \
             ProfileOptions.raise_error_on_start_failure = True: without it, a device profiler that fails to start is not \
             reported.",
        )
    };
    Some(CaptureFinding {
        id: "Q04",
        name: "no-device",
        severity: Severity::Warning,
        message: message.to_owned(),
        evidence: evidence.to_owned(),
        cure,
    })
}

fn assumed_peaks(cx: &Context<'_>) -> Option<CaptureFinding> {
    let cores = cx.tensor_cores();
    let peaks = cores.iter().map(|&core| cx.peaks(core));
    let unrecorded: Vec<Peaks> = peaks
        .filter(|peaks| {
            let source = peaks.flops.map(|peak| peak.source);
            !matches!(source, Some(PeakSource::Recorded | PeakSource::Configured))
        })
        .collect();
    let missing = unrecorded.len();
    (missing > 0).then(|| CaptureFinding {
        id: "Q05",
        name: "assumed-peaks",
        severity: Severity::Warning,
        message: "The capture does not record the peaks of its devices.".to_owned(),
        evidence: match unrecorded
            .iter()
            .find_map(|peaks| peaks.flops.and(peaks.chip.as_ref()))
        {
            Some(chip) => format!(
                "{missing} of {}; peaks of {chip} are assumed",
                counted(cores.len(), "device")
            ),
            None => format!(
                "{missing} of {}; utilizations are not computed",
                counted(cores.len(), "device")
            ),
        },
        cure: if cx
            .model
            .sources()
            .iter()
            .any(|source| source.format == "xplane")
        {
            "Name the chip with --device-spec."
        } else {
            "Name the chip with --device-spec, or open the .xplane.pb of the same session."
        },
    })
}

fn partial_async_line(cx: &Context<'_>) -> Option<CaptureFinding> {
    let model = cx.model;
    let mut recorded = 0;
    let mut rebuilt = Vec::new();
    for core in cx.tensor_cores() {
        match model.slices_of_kind(core, TrackKind::AsyncOps).next() {
            Some(span) if span.attr(SliceAttr::Reconstructed).is_some() => {
                rebuilt.push(model.device_name(core));
            }
            Some(_) => recorded += 1,
            None => {}
        }
    }
    (recorded > 0 && !rebuilt.is_empty()).then(|| CaptureFinding {
        id: "Q07",
        name: "async-line-partial",
        severity: Severity::Info,
        message: "The profiler recorded asynchronous spans on some devices only.".to_owned(),
        evidence: format!(
            "recorded on {recorded}, rebuilt from starts and dones on {}",
            rebuilt.join(", ")
        ),
        cure: "No action needed: rebuilding loses nothing.",
    })
}

/// The collective that names most devices: the whole program, of which a capture may hold a part.
pub(super) struct LargestCollective(Option<(usize, Arc<str>)>);

impl Fact for LargestCollective {
    fn find(cx: &Context<'_>) -> Self {
        let model = cx.model;
        // A simulator shows any number of devices: one represents all that do the same.
        let mut sources = model.sources().iter();
        if model.tensor_cores().is_empty() || sources.all(|source| source.simulator.is_some()) {
            return Self(None);
        }
        let classes = cx.classes();
        let devices = |op: &Op| {
            let hlo = HloText::parse(model.str(op.hlo_text?))?;
            Some(hlo.replica_groups()?.iter().map(Vec::len).sum::<usize>())
        };
        let ids = model.labels().iter().filter_map(|label| label.op);
        let named = ids
            .filter(|&op| classes.class(op).is_collective())
            .filter_map(|id| Some((devices(model.op(id))?, model.op(id).name)));
        let largest = named.reduce(|most, next| if next.0 > most.0 { next } else { most });
        Self(largest.map(|(devices, name)| (devices, model.str(name).into())))
    }
}

impl LargestCollective {
    /// The devices of the program and the collective that names them, if not all of them were captured.
    fn beyond(&self, cx: &Context<'_>) -> Option<(usize, &str)> {
        let (devices, name) = self.0.as_ref()?;
        (*devices > cx.model.tensor_cores().len()).then_some((*devices, name))
    }

    /// Devices that the program runs on, if not all of them were captured.
    pub fn devices_of_program(cx: &Context<'_>) -> Option<u64> {
        let (devices, _) = cx.fact::<Self>().beyond(cx)?;
        Some(devices as u64)
    }
}

/// Collectives name more devices than the capture contains.
fn partial_hosts(cx: &Context<'_>) -> Option<CaptureFinding> {
    let captured = cx.model.tensor_cores().len();
    let (devices, op) = cx.fact::<LargestCollective>().beyond(cx)?;
    Some(CaptureFinding {
        id: "Q08",
        name: "partial-hosts",
        severity: Severity::Warning,
        message: format!(
            "The program runs on {devices} devices, and the capture holds {captured} of them."
        ),
        evidence: format!("replica groups of {op}"),
        cure: "Capture all hosts and open their common run directory; otherwise waiting between hosts is not visible.",
    })
}

/// The first step may take this much longer than the median.
const WARM_UP_RATIO: f64 = 3.0;

fn slow_first_step(cx: &Context<'_>) -> Option<CaptureFinding> {
    let steps = cx.report::<Steps>().ok()?;
    let first = steps.steps.first().filter(|step| !step.is_warmup)?;
    let ratio = first.time_ps.as_ps_f64() / steps.time?.median.max(1.0);
    (steps.steps.len() > 2 && ratio > WARM_UP_RATIO).then(|| CaptureFinding {
        id: "Q09",
        name: "first-step-included",
        severity: Severity::Warning,
        message: "The capture contains warm-up, and the statistics include it.".to_owned(),
        evidence: format!("step {} took {ratio:.1} × the median", first.number),
        cure: "Exclude the first steps with --warmup 1, or start profiling later.",
    })
}

/// From this share of host events on, the Python tracer dominates host time.
const TRACER_SHARE: f64 = 0.5;

fn profiler_overhead(cx: &Context<'_>) -> Option<CaptureFinding> {
    let model = cx.model;
    let python: Vec<bool> = model
        .labels()
        .iter()
        .map(|label| model.str(label.name).starts_with('$'))
        .collect();
    if !python.contains(&true) {
        return None;
    }
    let is_traced = |label: LabelId| python.get(label.index()) == Some(&true);
    let mut traced = 0_u64;
    let mut all = 0_u64;
    for slice in host_threads(model).flat_map(|track| model.slices_on(track)) {
        all += 1;
        traced += u64::from(is_traced(slice.label_id()));
    }
    for (label, count) in model.unread().iter().flat_map(|unread| &unread.counts) {
        all = all.saturating_add(*count);
        traced = traced.saturating_add(if is_traced(*label) { *count } else { 0 });
    }
    let share = traced as f64 / all.max(1) as f64;
    (share >= TRACER_SHARE).then(|| CaptureFinding {
        id: "Q10",
        name: "profiler-overhead",
        severity: Severity::Warning,
        message: "The Python tracer was on: host times are inflated.".to_owned(),
        evidence: format!(
            "{traced} of {all} host events are Python calls ({:.0})",
            Percent(100.0 * share)
        ),
        cure: "Set python_tracer_level = 0 in jax.profiler.ProfileOptions.",
    })
}

/// The numbers of a simulator depend on its model.
fn simulated(cx: &Context<'_>) -> Option<CaptureFinding> {
    let simulators: BTreeSet<&str> = cx
        .model
        .sources()
        .iter()
        .filter_map(|source| source.simulator.as_deref())
        .collect();
    let by = Vec::from_iter(simulators).join(", ");
    let has_durations = cx.model.has_caveat(Caveat::GivenDurations);
    let all = match cx.model.import_log().count(IssueKind::CostMissing) {
        0 => "all of them".to_owned(),
        count => format!("all but {}", counted(count, "execution")),
    };
    (!by.is_empty()).then(|| CaptureFinding {
        id: "Q13",
        name: "simulated",
        severity: Severity::Warning,
        message: if has_durations {
            let about = about_times(|caveat| cx.model.has_caveat(caveat));
            format!("{}: {by}.", engine::capitalised(about))
        } else {
            format!("No time here was measured: {by} computed {all}.")
        },
        evidence: "the format is a simulator's".to_owned(),
        cure: "Compare with a profile of the same program before relying on it.",
    })
}

/// Maximum number of ops that are named as evidence.
const NAMED: usize = 3;

/// A rate above a peak: the work or the peak is wrong.
fn impossible_rates(cx: &Context<'_>) -> Option<CaptureFinding> {
    let ops = cx.report::<Ops>().ok()?;
    let rows: Vec<_> = ops
        .rows
        .iter()
        .filter_map(|row| Some((row, row.rates.beyond_peak?)))
        .collect();
    let time = rows.iter().map(|(row, _)| row.self_time_ps).sum();
    let share = Percent::of(time, ops.op_time_ps)?;
    let named = rows.iter().take(NAMED).map(|&(row, (limit, percent))| {
        let name = engine::shortened(&row.name, 48);
        let why = cause(cx.model, row, limit, &ops.peaks);
        format!(
            "{name} at {:.1} of peak ({}): {why}",
            Percent(percent),
            limit.title()
        )
    });
    let (count, verb) = if rows.len() == 1 {
        ("1 op".to_owned(), "is")
    } else {
        (format!("{} ops", rows.len()), "are")
    };
    (!rows.is_empty()).then(|| CaptureFinding {
        id: "Q15",
        name: IMPOSSIBLE_RATES,
        severity: Severity::Warning,
        message: format!("{count} {verb} faster than a peak allows; utilizations exclude their claimed work."),
        evidence: format!("{share:.2} of op time; {}", joined(named, "; ")),
        cure: "Name the right chip with --device-spec where the peak is assumed, and correct the cost_estimate of kernels.",
    })
}
