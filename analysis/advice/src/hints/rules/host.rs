//! Rules about devices that wait for their host.

use super::devices::who;
use super::prelude::*;
use device_reports::Dcn;
use run_reports::host::gaps::{Gap, GapPlace};
use run_reports::host::input::{Input, InputWait};
use run_reports::{DeviceGaps, Gaps, GapsReport, IdleCause};

pub(super) static RULES: &[Rule] = &[
    rule!("K31", "The device is idle", High, [IDLE, UNEXPLAINED], idle),
    rule!(
        "K32",
        "Programs are launched too slowly",
        Medium,
        [GAP_SHARE, DISPATCH],
        dispatch_bound
    ),
    rule!(
        "K33",
        "The host waits for results between steps",
        Medium,
        [SYNC],
        host_sync
    ),
    rule!(
        "K34",
        "The program waits for input",
        High,
        [INPUT],
        input_bound
    ),
    rule!(
        "K35",
        "The device waits for host-to-device copies",
        Medium,
        [UPLOAD],
        upload_bound
    ),
    rule!(
        "K42",
        "Programs call back to the host",
        Medium,
        [CALLBACK],
        callbacks
    ),
];

static CALLBACK: Threshold = Threshold::percent(
    "K42.callback_percent",
    5.0,
    "a value printed now and then costs far less",
);
static IDLE: Threshold = Threshold::percent(
    "K31.idle_percent",
    3.0,
    "programs that are launched in time leave gaps of microseconds",
);
static UNEXPLAINED: Threshold = Threshold::percent(
    "K31.unexplained_percent",
    10.0,
    "nobody can act on less if the host shows no cause of it, or other rules name one; XProf's check_host_boundness has the same limit",
);
static GAP_SHARE: Threshold = Threshold::percent(
    "K32.between_percent",
    5.0,
    "a launch that is queued in time leaves no gap",
);
static DISPATCH: Threshold = Threshold::percent(
    "K32.dispatch_percent",
    50.0,
    "where launching is not most of the gap time, fix the other cause first",
);
static SYNC: Threshold = Threshold::percent(
    "K33.wait_percent",
    3.0,
    "reading a loss every hundred steps costs far less",
);
static INPUT: Threshold = Threshold::percent(
    "K34.input_percent",
    2.0,
    "prefetched input costs nothing; XProf calls 5 % moderately input-bound",
);
static UPLOAD: Threshold = Threshold::percent(
    "K35.copy_percent",
    5.0,
    "a batch of tokens is copied in microseconds",
);

/// Idle time below this share of a step is none worth a fix.
const HARDLY: f64 = 0.5;

/// Idle time that no other rule has a better word for.
fn idle(facts: &HintFacts<'_>) -> RuleResult {
    let ops = facts.ops()?;
    let gaps = facts.report::<Gaps>();
    let is_explained = gaps.as_ref().is_ok_and(|gaps| gaps.has_known_cause());
    let share = Percent::of(ops.idle_ps, ops.total_time_ps)
        .unwrap_or_default()
        .0;
    let limit = facts.reached(if is_explained { &IDLE } else { &UNEXPLAINED }, share)?;
    let step = facts.step()?;
    let change = Scenario::Idle(0.0);
    let all = facts.saving(std::slice::from_ref(&change))?.clamped();
    let (explained, by) = explained(facts);
    let left = (all - explained).clamped();
    let left_percent = 100.0 * left.as_ps_f64() / step.ps.max(1.0);
    let rest = facts.limit(&UNEXPLAINED);
    if !by.is_empty() && left_percent < rest {
        return Err(Nothing);
    }
    // Causes and places are those of the steps, whose time is saved; where these have none, those of the capture.
    let hardly = 100.0 * all.as_ps_f64() / step.ps.max(1.0) < HARDLY;
    let of_steps = facts
        .in_steps::<Gaps>()
        .ok()
        .filter(|_| !hardly && facts.steps().is_some());
    let which = match facts.cx.scope {
        Scope::Steps { .. } => "in these steps",
        Scope::WholeTrace | Scope::Range(_) => "in the steps after warm-up",
    };
    let mut statement = format!("no op runs for {:.1} of device time", Percent(share));
    let lost_host = facts.has_lost_its_host();
    if lost_host {
        statement
            .push_str("; the file ends before what the host did, so the reasons are not known");
    } else if let Some(of_steps) = &of_steps {
        if let Some(why) = of_steps.leading_causes() {
            statement = format!("{statement}; {which} {why}");
        }
    } else if let Some(why) = gaps.as_ref().ok().and_then(|gaps| gaps.main_cause()) {
        statement = format!("{statement}, mostly {why}");
    }
    if hardly {
        statement = format!("{statement}; hardly any of it {which}");
    }
    let places = of_steps.or(gaps.ok());
    let mut evidence = vec![HintEvidence::percent(
        "idle",
        share,
        "device time, from first op to last",
        Some(limit),
    )];
    if !by.is_empty() {
        let of = match step.noun() {
            "step" => format!("step ({})", step.of),
            _ => step.of.clone(),
        };
        let what = format!("idle, that of {} left out", by.join(", "));
        evidence.push(
            HintEvidence::percent(what, left_percent, of, Some(rest)).by(Provenance::Inferred),
        );
    }
    let advice = lost_host.then_some("Copy the whole file, or capture again.");
    Ok(Finding {
        statement,
        advice: advice.unwrap_or_default().to_owned(),
        code: advice.map(|_| String::new()),
        evidence,
        about: TimeUse::IDLE,
        spots: places.map(|gaps| longest_gaps(&gaps)).unwrap_or_default(),
        saving: PossibleSaving::Replay {
            changes: vec![change],
            at_most: (!by.is_empty()).then_some(left),
        },
        leaves_to: by,
        ..Finding::default()
    })
}

/// Idle time of a step that rules with a better word speak of, and these rules.
fn explained(facts: &HintFacts<'_>) -> (Picos, Vec<&'static str>) {
    type Check = fn(&HintFacts<'_>) -> RuleResult;
    let others: [(&str, Check); 6] = [
        ("K32", dispatch_bound),
        ("K33", host_sync),
        ("K34", input_bound),
        ("K35", upload_bound),
        ("K36", super::compile::in_loop),
        ("K49", super::compile::warm_up),
    ];
    let mut sum = Picos::ZERO;
    let mut by = Vec::new();
    for (id, check) in others {
        let Ok(finding) = check(facts) else {
            continue;
        };
        let saving = match finding.saving {
            PossibleSaving::PerStep(saving) => Some(saving),
            PossibleSaving::Replay { changes, .. } => facts.saving(&changes).ok(),
            PossibleSaving::Once { .. } => idle_while_compiling(facts).ok(),
            PossibleSaving::Nothing | PossibleSaving::Unknown => None,
        };
        if let Some(saving) = saving.filter(|saving| *saving > Picos::ZERO) {
            sum += saving;
            by.push(id);
        }
    }
    (sum, by)
}

/// Idle time of a step while the host compiles, mean of the devices.
fn idle_while_compiling(facts: &HintFacts<'_>) -> Result<Picos> {
    let gaps = facts.in_steps::<Gaps>()?;
    let all = facts.step()?.each(gaps.time_of(IdleCause::Compile));
    Ok(Picos::from_ps(all.ps() / gaps.devices.len().max(1) as i64))
}

/// Gaps between programs of a device in which some causes take most of the time.
fn gaps_with(device: &DeviceGaps, wanted: impl Fn(IdleCause) -> bool) -> Vec<FindingPlace> {
    let is_mostly = |gap: &&Gap| {
        let wanted = gap
            .causes
            .iter()
            .filter(|part| wanted(part.cause))
            .map(|part| part.time_ps)
            .sum::<Picos>();
        gap.place == GapPlace::Between && wanted + wanted > gap.length_ps
    };
    device
        .gaps
        .iter()
        .filter(is_mostly)
        .map(|gap| FindingPlace::span("idle", gap.range()))
        .collect()
}

/// The longest gaps of the device that idles most between programs; none if it idles more within them.
fn longest_gaps(report: &GapsReport) -> Vec<FindingPlace> {
    let between = |device: &&DeviceGaps| device.between_ps().as_ps_f64();
    let most = math::most(&report.devices, between, |device| &device.core);
    let most = most.map(|(device, _)| device).filter(|device| {
        let inside = device.inside.as_ref();
        inside.is_none_or(|inside| inside.idle_ps <= device.between_ps())
    });
    most.map(|device| gaps_with(device, |_| true))
        .unwrap_or_default()
}

/// Idle time between programs with some causes, on the device that has most of it.
struct MostIdleDevice<'r> {
    device: &'r DeviceGaps,
    time: Picos,
    /// Whether several have as much, and none has less.
    are_equal: bool,
}

impl<'r> MostIdleDevice<'r> {
    fn most(report: &'r GapsReport, causes: &[IdleCause]) -> Option<Self> {
        let of = |device: &'r DeviceGaps| {
            let parts = device
                .between
                .iter()
                .filter(|part| causes.contains(&part.cause));
            Self {
                device,
                time: parts.map(|part| part.time_ps).sum(),
                are_equal: false,
            }
        };
        let all = report.devices.iter().map(of);
        let (most, are_equal) =
            math::most(all, |one| one.time.as_ps_f64(), |one| &one.device.core)?;
        Some(Self { are_equal, ..most })
    }

    fn share_of(&self, whole: Picos) -> Percent {
        Percent::of(self.time, whole).unwrap_or_default()
    }

    /// Host events that take most of it.
    fn events(&self, causes: &[IdleCause]) -> String {
        let parts = self
            .device
            .between
            .iter()
            .filter(|part| causes.contains(&part.cause));
        let names: Vec<&str> = parts
            .filter_map(|part| part.event.as_deref())
            .take(2)
            .collect();
        if names.is_empty() {
            String::new()
        } else {
            format!(" ({})", names.join(", "))
        }
    }

    /// The longest gaps of which it is the most.
    fn gaps(&self, causes: &[IdleCause]) -> Vec<FindingPlace> {
        gaps_with(self.device, |cause| causes.contains(&cause))
    }
}

/// The finding about the device that idles most with some causes.
fn idle_because(
    facts: &HintFacts<'_>,
    causes: &[IdleCause],
    what: &str,
    about: &'static [TimeUse],
    limit: &Threshold,
) -> RuleResult {
    let gaps = facts.in_steps::<Gaps>()?;
    let waiting = MostIdleDevice::most(&gaps, causes).ok_or(Nothing)?;
    let core = &waiting.device.core;
    let share = waiting.share_of(waiting.device.window_ps);
    let limit = facts.reached(limit, share.0)?;
    let (whole, of) = facts.whole_of(core);
    Ok(Finding {
        statement: format!(
            "{} {what} for {share:.1} of {whole}{}",
            who(core, waiting.are_equal),
            waiting.events(causes)
        ),
        evidence: vec![
            HintEvidence::percent(what, share.0, of, Some(limit)).by(Provenance::Inferred),
        ],
        about,
        spots: waiting.gaps(causes),
        saving: PossibleSaving::PerStep(facts.step()?.each(waiting.time)),
        ..Finding::default()
    })
}

fn dispatch_bound(facts: &HintFacts<'_>) -> RuleResult {
    const CAUSES: [IdleCause; 1] = [IdleCause::Dispatch];
    let gaps = facts.in_steps::<Gaps>()?;
    let waiting = MostIdleDevice::most(&gaps, &CAUSES).ok_or(Nothing)?;
    let Percent(part) = waiting.share_of(waiting.device.between_ps());
    let least = facts.reached(&DISPATCH, part)?;
    let mut finding = idle_because(
        facts,
        &CAUSES,
        "waits for launches",
        &[TimeUse::Idle, TimeUse::Launch],
        &GAP_SHARE,
    )?;
    finding.evidence.push(HintEvidence::percent(
        "launching",
        part,
        "idle time between programs",
        Some(least),
    ));
    Ok(finding)
}

fn host_sync(facts: &HintFacts<'_>) -> RuleResult {
    idle_because(
        facts,
        &[IdleCause::DeviceToHost, IdleCause::Wait],
        "is idle while the host reads or waits for results",
        &[TimeUse::Idle, TimeUse::Results],
        &SYNC,
    )
}

fn input_bound(facts: &HintFacts<'_>) -> RuleResult {
    let input = facts.in_steps::<Input>()?;
    let limit = facts.limit(&INPUT);
    let known = input
        .devices
        .iter()
        .filter_map(|device| Some((device, device.percent?, device.total_ps()?)));
    let worst = math::most(known, |one| one.1.0, |one| &one.0.name);
    let ((device, share, time), are_equal) = worst
        .filter(|((_, share, _), _)| share.0 >= limit)
        .ok_or(Nothing)?;
    let saving = PossibleSaving::PerStep(facts.step()?.each(time));
    if facts.cx.tensor_cores().is_empty() {
        return Ok(host_input_bound(device, are_equal, share, limit, saving));
    }
    let gaps = facts.in_steps::<Gaps>()?;
    let waiting = MostIdleDevice::most(&gaps, &[IdleCause::Input]);
    let events = waiting
        .as_ref()
        .map(|waiting| waiting.events(&[IdleCause::Input]));
    // Ops that wait show themselves.
    let waiting = waiting.filter(|waiting| waiting.time >= device.infeed_ps.unwrap_or_default());
    let infeed = facts.select(|row| &*row.category == "infeed")?;
    let (whole, of) = facts.whole_of(&device.name);
    Ok(Finding {
        statement: format!(
            "{} waits for input for {share:.1} of {whole}{}",
            who(&device.name, are_equal),
            events.unwrap_or_default()
        ),
        evidence: vec![
            HintEvidence::percent("waits for input", share.0, of, Some(limit))
                .by(Provenance::Inferred),
        ],
        ops: infeed.ops(),
        spots: waiting
            .map(|waiting| waiting.gaps(&[IdleCause::Input]))
            .unwrap_or_default(),
        about: &[TimeUse::Idle, TimeUse::Input],
        saving,
        ..Finding::default()
    })
}

/// The finding about a host whose devices were not recorded, or are no TPUs.
fn host_input_bound(
    host: &InputWait,
    are_equal: bool,
    share: Percent,
    limit: f64,
    saving: PossibleSaving,
) -> Finding {
    let event = host
        .event
        .as_ref()
        .map_or_else(String::new, |event| format!(" ({event})"));
    let of = format!("steps on host {}", host.name);
    let who = if are_equal {
        "every host".to_owned()
    } else {
        format!("the host {}", host.name)
    };
    Finding {
        statement: format!("{who} waits for input for {share:.1} of its steps{event}"),
        evidence: vec![
            HintEvidence::percent("waits for input", share.0, of, Some(limit))
                .by(Provenance::Inferred),
        ],
        about: &[TimeUse::Input, TimeUse::SlowSteps],
        saving,
        ..Finding::default()
    }
}

fn upload_bound(facts: &HintFacts<'_>) -> RuleResult {
    idle_because(
        facts,
        &[IdleCause::HostToDevice],
        "is idle while the host copies to it",
        &[TimeUse::Idle, TimeUse::Upload],
        &UPLOAD,
    )
}

/// Names that calls from a program into Python leave, on devices and on hosts.
const CALLBACKS: [&str; 6] = [
    "debug_callback",
    "debug_print",
    "io_callback",
    "pure_callback",
    "xla_ffi_python",
    "xla_python",
];

/// Ops that wait for Python, or exchange values with the host for it. Transfers
/// between slices look alike (K10).
fn callbacks(facts: &HintFacts<'_>) -> RuleResult {
    let is_call = |name: &str| CALLBACKS.iter().any(|call| name.contains(call));
    let has_slices = facts
        .report::<Dcn>()
        .is_ok_and(|report| !report.collectives.is_empty());
    let wanted = |row: &OpRow| {
        let exchange = row
            .category
            .strip_prefix("host ")
            .is_some_and(|kind| matches!(kind, "send" | "send-done" | "recv" | "recv-done"));
        let named = is_call(&row.name) || row.framework_name.as_deref().is_some_and(is_call);
        row.is_leaf && (named || exchange && !has_slices)
    };
    let selection = facts.heavy(&CALLBACK, wanted)?;
    let saving = PossibleSaving::ops("calls to the host", selection.vanish());
    let mut finding = selection.finding("calls from programs to the host", saving);
    let model = facts.cx.model;
    let mut events = model
        .labels()
        .iter()
        .filter(|label| label.op.is_none())
        .map(|label| model.str(label.name));
    if let Some(event) = events.find(|name| is_call(name)) {
        finding.statement = format!("{}; the host runs {event}", finding.statement);
    }
    Ok(finding)
}
