//! Rules about data that is moved rather than computed.

use super::prelude::*;
use device_reports::communication::sparse_cores::SparseCores;
use device_reports::memory::hbm::{NEARLY_FULL_PERCENT, bytes_text};
use device_reports::{Expected, Memory, TimeLimit};
use facts::Framework;
use run_reports::Serving;

use crate::hints::OpSelection;

pub(super) static RULES: &[Rule] = &[
    rule!(
        "K19",
        "Time is spent on layout changes",
        Medium,
        [LAYOUT],
        layout
    ),
    rule!(
        "K20",
        "Array slices are read or written one by one",
        Medium,
        [SLICES],
        slices
    ),
    rule!(
        "K21",
        "Gathers, scatters or sorts take long",
        Low,
        [GATHER],
        gather
    ),
    rule!(
        "K24",
        "Recomputation (rematerialization) takes long",
        Medium,
        [REMAT, REMAT_FULL],
        remat
    ),
    rule!(
        "K25",
        "The core waits for copies",
        High,
        [COPY_WAIT],
        copy_wait
    ),
    rule!(
        "K26",
        "Host offload is not hidden",
        High,
        [OFFLOAD],
        host_offload
    ),
    rule!("K50", "HBM is nearly full", High, [FULL], full_memory),
];

static LAYOUT: Threshold = Threshold::percent(
    "K19.layout_percent",
    5.0,
    "a few copies are unavoidable; a rule in the source of XProf calls 30 % a bottleneck",
);
static SLICES: Threshold = Threshold::percent(
    "K20.slices_percent",
    5.0,
    "updating a cache in place costs next to nothing",
);
static GATHER: Threshold = Threshold::percent(
    "K21.gather_percent",
    10.0,
    "an embedding lookup at the start and the end of a model takes a few percent",
);
static REMAT: Threshold = Threshold::percent(
    "K24.remat_percent",
    5.0,
    "recomputing cheap elementwise work is worthwhile",
);
static REMAT_FULL: Threshold = Threshold::percent(
    "K24.memory_percent",
    80.0,
    "storing values instead of recomputing them needs free memory, and there is none",
);
static COPY_WAIT: Threshold = Threshold::percent(
    "K25.wait_percent",
    3.0,
    "prefetches that are issued in time cost nothing",
);
static OFFLOAD: Threshold =
    Threshold::percent("K26.wait_percent", 2.0, "offloading is meant to be free");

static FULL: Threshold = Threshold::percent(
    "K50.peak_percent",
    NEARLY_FULL_PERCENT,
    "fragmentation takes the rest: a slightly longer input or larger batch no longer fits",
);

/// What the op is by its category, or for a fusion by the name that XLA gave it.
fn is_kind(row: &OpRow, kinds: &[&str]) -> bool {
    let by_name = || {
        let stem = row
            .name
            .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let first = stem.trim_end_matches("_fusion");
        stem.ends_with("_fusion")
            && kinds
                .iter()
                .any(|kind| first == *kind || first == kind.replace('-', "_"))
    };
    !row.is_async
        && row.is_leaf
        && (kinds.contains(&row.category.trim_end_matches(" fusion")) || by_name())
}

/// Changes of layout, where they take much of the time.
fn heavy_layout<'f>(facts: &'f HintFacts<'_>) -> RuleResult<OpSelection<'f>> {
    const KINDS: [&str; 4] = ["data formatting", "copy", "transpose", "reshape"];
    facts.heavy(&LAYOUT, |row| is_kind(row, &KINDS))
}

/// Ops that K19 or K20 speaks of, and gives the reason of.
pub(super) fn moved(facts: &HintFacts<'_>) -> BTreeSet<OpId> {
    let selections = [heavy_layout(facts), heavy_slices(facts)].into_iter();
    selections
        .flatten()
        .flat_map(|selections| selections.ops())
        .collect()
}

fn layout(facts: &HintFacts<'_>) -> RuleResult {
    let selection = heavy_layout(facts)?;
    let saving = PossibleSaving::ops("changes of layout", selection.vanish());
    Ok(selection.finding("copies and changes of layout", saving))
}

/// Slices, where they take much of the time.
fn heavy_slices<'f>(facts: &'f HintFacts<'_>) -> RuleResult<OpSelection<'f>> {
    const KINDS: [&str; 2] = ["dynamic-slice", "dynamic-update-slice"];
    facts.heavy(&SLICES, |row| is_kind(row, &KINDS))
}

/// What is computed again, where it takes much of the time.
fn heavy_remat<'f>(facts: &'f HintFacts<'_>) -> RuleResult<OpSelection<'f>> {
    facts.heavy(&REMAT, |row| row.is_remat && row.is_leaf)
}

fn slices(facts: &HintFacts<'_>) -> RuleResult {
    let selection = heavy_slices(facts)?;
    // What is read and written must be moved; without recorded bytes the bound is all of it.
    let least = |row: &OpRow| Some(Picos::from_ps(row.rates.ideal_time_ps.unwrap_or(0.0) as i64));
    let saving = PossibleSaving::ops("slices", selection.shrink(least));
    let finding = selection.finding("dynamic slices and their updates", saving);
    let (advice, code) = slices_of(facts, heavy_remat(facts).is_ok());
    let leaves_out = if advice.is_empty() {
        Vec::new()
    } else {
        vec!["Training:", "Serving:"]
    };
    Ok(Finding {
        advice: advice.to_owned(),
        leaves_out,
        trades_with: Some("K24"),
        code: code
            .filter(|_| facts.framework == Framework::Jax)
            .map(str::to_owned),
        ..finding
    })
}

/// What slices are for in a program that differentiates, with code for JAX, and in one that serves; empty where it is
/// neither. To keep less is no advice where much is computed again already: that costs more of it.
fn slices_of(facts: &HintFacts<'_>, recomputes: bool) -> (&'static str, Option<&'static str>) {
    let model = facts.cx.model;
    // JAX names what it derives for the backward pass so.
    let is_backward = |name: &str| name.contains("transpose(");
    let mut names = model
        .ops()
        .iter()
        .filter_map(|op| Some(model.str(op.framework_name?)));
    let trains = names.any(is_backward);
    if trains && recomputes {
        let advice = "In training most of them stack what a scan over layers keeps for the backward pass, and read it \
                      back: unroll a few layers. To keep less would recompute more, which takes long already (K24).";
        let code =
            "x, _ = jax.lax.scan(layer, x, params, unroll=2)  # two layers in each iteration";
        return (advice, Some(code));
    }
    if trains {
        let advice = "In training most of them stack what a scan over layers keeps for the backward pass, and read it \
                      back: keep less (a checkpoint policy that saves fewer names), or unroll a few layers.";
        let code = "policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable\n\
                    x, _ = jax.lax.scan(jax.checkpoint(layer, policy=policy), x, params, unroll=2)";
        return (advice, Some(code));
    }
    let serves = |name: &str| {
        ["decode", "prefill", "generate"]
            .iter()
            .any(|word| name.contains(word))
    };
    if facts.report::<Serving>().is_ok()
        || model
            .programs()
            .iter()
            .any(|program| serves(model.str(program.name)))
    {
        let advice = "In serving most of them update the KV cache: donate it, and write the new positions of a whole \
                      batch at once, or inside the attention kernel.";
        return (advice, None);
    }
    ("", None)
}

fn gather(facts: &HintFacts<'_>) -> RuleResult {
    const KINDS: [&str; 3] = ["gather", "scatter", "sort"];
    let selection = facts.heavy(&GATHER, |row| is_kind(row, &KINDS))?;
    let half = selection.ops().into_iter().map(|op| (op, 0.5));
    Ok(selection.finding(
        "gathers, scatters and sorts",
        PossibleSaving::ops("gathers, scatters and sorts", half),
    ))
}

fn remat(facts: &HintFacts<'_>) -> RuleResult {
    let selection = heavy_remat(facts)?;
    let saving = PossibleSaving::ops("rematerialised ops", selection.vanish());
    let what = "ops computed a second time to save memory";
    let mut finding = selection.finding(what, saving);
    finding.trades_with = Some("K20");
    if heavy_slices(facts).is_ok() {
        let advice = "A scan over layers stacks what is kept and reads it back, and slices take long already (K20): keep \
                      what takes longer to compute than to read.";
        advice.clone_into(&mut finding.advice);
    }
    let full = facts.limit(&REMAT_FULL);
    if let Some(peak) = facts
        .report::<Memory>()
        .ok()
        .and_then(|memory| memory.peak_percent())
    {
        finding.evidence.push(HintEvidence::percent(
            "peak of the fullest memory",
            peak.0,
            "its capacity",
            Some(full),
        ));
        if peak.0 >= full {
            finding.statement = format!(
                "{}; memory is {peak:.0} full at its peak, so there is no room to store more",
                selection.take(what)
            );
            finding.saving = PossibleSaving::Unknown;
            let advice =
                "Free memory first: shard activations further, or put fewer rows on each device.";
            finding = finding.advising(advice, &["Keep more results", "Where there is room"], None);
        }
    }
    Ok(finding)
}

/// Those of the host have another fix and another limit (K26), and what `SparseCores` do is no copy (K27). Where the memories
/// of a copy are not recorded, it may be one of the host.
fn copy_wait(facts: &HintFacts<'_>) -> RuleResult {
    let offloads = facts.report::<SparseCores>().ok();
    let awaits_sparse_core = |op| offloads.iter().any(|report| report.awaits(op));
    let wanted = |row: &OpRow| {
        row.group == OpGroup::AsyncWait
            && row.waits_for_host != Some(true)
            && !row.op.is_some_and(awaits_sparse_core)
    };
    let selection = facts.heavy(&COPY_WAIT, wanted)?;
    let saving = PossibleSaving::ops("copies", selection.vanish());
    let unknown = selection.part(|row| row.waits_for_host.is_none());
    if unknown.rows.is_empty() {
        return Ok(selection.finding("waits for copies within the device", saving));
    }
    let some = unknown.rows.len();
    let all = selection.rows.len();
    let which = if some == all {
        ", between which memories is not recorded".to_owned()
    } else {
        format!("; for {some} of these {all} copies it is not recorded between which memories")
    };
    let finding = selection.finding("waits for copies", saving);
    let advice = "Issue them earlier or copy less; where they load from the host or store to it, which is not \
                  recorded, K26 says how.";
    Ok(Finding {
        statement: finding.statement + &which,
        advice: advice.to_owned(),
        leaves_out: vec!["The compiler issues these copies"],
        ..finding
    })
}

/// For arrays that fit into HBM; the code of the page loads early what does not.
const KEPT_ON_DEVICE: &str =
    "params = jax.device_put(params, jax.memory.Space.Device)  # once, before the loop";

fn host_offload(facts: &HintFacts<'_>) -> RuleResult {
    let wanted = |row: &OpRow| row.waits_for_host == Some(true);
    let selection = facts.heavy(&OFFLOAD, wanted)?;
    let what = "waits for copies to and from the host";
    let mut finding = selection.finding(what, PossibleSaving::Unknown);
    let step = facts.step()?;
    let devices = facts.devices()?;
    let fitting = super::offload::what_fits(facts, &selection.rows);
    let kept = fitting.as_ref().map_or(0.0, |fitting| fitting.of_loads);
    if let Some(fitting) = fitting {
        if kept <= 0.0 {
            finding.leaves_out = vec!["Keep on the device what fits"];
        } else if facts.framework == Framework::Jax {
            finding.code = Some(KEPT_ON_DEVICE.to_owned());
        }
        finding.advice = fitting.advice;
    }
    let changes = vec![Scenario::Ops {
        what: what.to_owned(),
        factors: selection.vanish().into_iter().collect(),
    }];
    let mut at_most = None;
    match host_link(facts, step.count)? {
        Some(link) => {
            // However well hidden, the copies that stay keep the link busy for this long.
            let now = link.busy_ps();
            let left = link.without_loads(kept).busy_ps();
            at_most = Some(Picos::from_ps((step.ps - left) as i64).clamped());
            let length = |ps: f64| Picos::from_ps(ps as i64);
            let needs = if left < now {
                let each = if step.noun() == "step" {
                    "a step"
                } else {
                    "in the window"
                };
                let left = length(left);
                format!("{each}, {left} if what fits in HBM is never copied")
            } else {
                let each = if step.noun() == "step" { "each" } else { "the" };
                let noun = step.noun();
                let step = length(step.ps);
                format!("of {each} {noun} ({step}) until less is copied")
            };
            finding.statement = format!(
                "{}; the link needs {} {needs}",
                finding.statement,
                length(now)
            );
            let mut least = |what: &str, time| {
                let of = format!("{}, mean of {}", step.noun(), devices.noun());
                let least = HintEvidence::time(what, time, of);
                finding.evidence.push(least.by(Provenance::AssumedPeak));
            };
            least("all copies in the busier direction at full speed", now);
            if left < now {
                least(
                    "the same without the loads that HBM has room for, and as many bytes of stores",
                    left,
                );
            }
        }
        None => {
            finding.statement = format!(
                "{}; how much the link allows is not known (name the chip with --device-spec)",
                finding.statement
            );
        }
    }
    finding.saving = PossibleSaving::Replay { changes, at_most };
    Ok(finding)
}

/// Time that the link to the host needs in each step, mean of the devices that shares are of.
struct HostLinkTime {
    read_ps: f64,
    write_ps: f64,
}

impl HostLinkTime {
    /// It carries both directions at once.
    fn busy_ps(&self) -> f64 {
        self.read_ps.max(self.write_ps)
    }

    /// Without this part of the loads. What is not loaded needs no store either, which takes at most as long.
    fn without_loads(&self, part: f64) -> Self {
        let saved = self.read_ps * part;
        Self {
            read_ps: self.read_ps - saved,
            write_ps: (self.write_ps - saved).max(0.0),
        }
    }
}

/// `None` if the speed of the link is not known.
fn host_link(facts: &HintFacts<'_>, steps: usize) -> Result<Option<HostLinkTime>> {
    let Ok(expected) = facts.in_steps::<Expected>() else {
        return Ok(None);
    };
    let executions = (steps.max(1) * facts.devices()?.count().max(1)) as f64;
    let least = |limit: TimeLimit| {
        let mut rows = expected.limits.iter();
        let row = rows.find(|row| row.limit == limit)?;
        Some(row.least_ps / executions)
    };
    let read = least(TimeLimit::HostRead);
    let write = least(TimeLimit::HostWrite);
    Ok(read.or(write).map(|_| HostLinkTime {
        read_ps: read.unwrap_or_default(),
        write_ps: write.unwrap_or_default(),
    }))
}

fn full_memory(facts: &HintFacts<'_>) -> RuleResult {
    let memory = facts.report::<Memory>()?;
    let limit = facts.limit(&FULL);
    if memory.device_peaks().next().is_none() {
        let why = "no device memory has both its use and its capacity recorded";
        return Err(why.into());
    }
    let full = |(_, percent): &(_, Percent)| percent.0 >= limit;
    let (fullest, percent) = memory.device_peaks().find(full).ok_or(Nothing)?;
    let others = memory.device_peaks().filter(full).count() - 1;
    let others = if others > 0 {
        format!("; {others} more as well")
    } else {
        String::new()
    };
    let capacity = fullest.capacity_bytes.unwrap_or_default();
    let step = fullest
        .peak_step
        .map(|step| format!(" (step {step})"))
        .unwrap_or_default();
    let largest = fullest
        .at_peak
        .iter()
        .max_by_key(|part| part.bytes)
        .map_or_else(String::new, |part| {
            let name = part.op.as_deref().unwrap_or(&part.what);
            format!("; {} of it: {}", bytes_text(part.bytes), short_name(name))
        });
    let bytes = |what: &str, bytes: i64| HintEvidence {
        unit: Unit::Bytes,
        ..HintEvidence::number(what, bytes as f64, &fullest.memory, None).by(Provenance::Profile)
    };
    Ok(Finding {
        statement: format!(
            "{} is {percent:.1} full at its peak{step}: {} of {}{largest}{others}",
            fullest.memory,
            bytes_text(fullest.peak_bytes),
            bytes_text(capacity)
        ),
        evidence: vec![
            HintEvidence::percent(
                "peak of the fullest memory",
                percent.0,
                "its capacity",
                Some(limit),
            )
            .by(Provenance::Profile),
            bytes("most in use", fullest.peak_bytes),
            bytes("capacity", capacity),
        ],
        spots: vec![FindingPlace::span(
            "peak of memory",
            TimeRange::at(fullest.peak_at_ps, Picos::ZERO),
        )],
        explains: &["K24"],
        ..Finding::default()
    })
}
