//! Checks whether two runs are comparable, before any percentage is shown.

use facts::StepSource;
use facts::prelude::*;

use super::environment;
use super::odd_devices::{other_device_steps, other_stragglers};
use super::summary::{HealthFact, ProgramFacts, StepFacts, Summary};
use super::traffic::other_traffic;

/// How much a difference between two runs matters for comparing them.
#[engine::titled]
pub enum Weight {
    /// A note: such differences are often the purpose of a comparison.
    Note,
    /// Numbers are comparable with reservations.
    Care = "with care",
    /// The runs did not do the same work: what a step takes says nothing about the program.
    OtherWork = "not the same work",
    /// Percentages would be meaningless.
    #[serde(rename = "bars")]
    Incomparable = "not comparable",
}

/// Something in which two runs differ.
#[engine::row(derived)]
#[schemars(rename = "Difference")]
pub struct RunDifference {
    /// Stable name: `device_type`, `module_fingerprint` …
    pub id: &'static str,
    /// Display name.
    #[column(id = "what")]
    pub title: &'static str,
    /// Value of the first run.
    #[column]
    pub base: String,
    /// Value of the second run.
    #[column]
    pub cand: String,
    /// How much it matters.
    #[column]
    pub weight: Weight,
    /// Why it matters, one sentence.
    #[column("Why it matters")]
    pub why: &'static str,
}

/// Names of differences that a project may declare to prevent a comparison.
pub const IDS: [&str; 17] = [
    "model_file",
    "weights",
    "versions",
    "device_type",
    "device_count",
    "device_steps",
    "stragglers",
    "topology",
    "hosts",
    "program",
    "module_fingerprint",
    "memory_traffic",
    "shapes",
    "steps",
    "step_source",
    "format",
    "health",
];

/// What differs of a program that has the same fingerprint.
pub(super) const OPS_OF_PROGRAM: &str = "Ops of the program that ran";
/// Shown for facts that a capture does not have.
pub(super) const UNKNOWN: &str = "not known";
/// From this share of op time in shapes that the other side does not have, the work is considered different.
const OTHER_SHAPES_PERCENT: f64 = 5.0;
/// From this share on it is another model, or another batch.
const OTHER_MODEL_PERCENT: f64 = 50.0;
/// With fewer than this share of the steps, in less than this share of the time, the loops are not the same work. Of
/// captures of the same time the faster run has more steps.
const FEWER_STEPS: f64 = 0.9;
/// Differences that concern the work; the others concern how it was recorded or built.
const WORK: [&str; 5] = ["device_type", "device_count", "program", "shapes", "steps"];

impl RunDifference {
    /// Whether the runs did not do the same work.
    pub fn is_other_work(&self) -> bool {
        self.weight >= Weight::OtherWork && WORK.contains(&self.id)
    }
}

/// The differences between two runs, most important first. Names in `require` prevent a comparison.
pub(crate) fn differences(
    base: &Summary,
    cand: &Summary,
    require: &[String],
) -> Vec<RunDifference> {
    let mut differences = KnownDifferences {
        require,
        out: Vec::new(),
    };
    hardware(base, cand, &mut differences);
    sources(base, cand, &mut differences);
    programs(base, cand, &mut differences);
    steps(base, cand, &mut differences);
    let formats = |run: &Summary| run.facts.formats.join(", ");
    let why = "formats record different things: a number that only one run has is shown as missing";
    differences.differ(
        "format",
        "Format",
        [formats(base), formats(cand)],
        Weight::Note,
        why,
    );
    let weight = if base.facts.lost > 0 || cand.facts.lost > 0 {
        Weight::Care
    } else {
        Weight::Note
    };
    let why = "a defect of one capture can look like a change; systole doctor explains each";
    differences.differ(
        "health",
        "Trace health",
        [health(base, cand), health(cand, base)],
        weight,
        why,
    );
    let mut out = differences.out;
    out.sort_by_key(|difference| Reverse(difference.weight));
    out
}

/// What is wrong with the capture of `run` and not with that of `other`: `1 lost, Q03: No steps are recorded`.
fn health(run: &Summary, other: &Summary) -> String {
    let lost = run.facts.lost;
    let lost = (lost > 0).then(|| format!("{lost} lost"));
    let is_shared =
        |fact: &HealthFact| other.facts.health.iter().any(|theirs| theirs.id == fact.id);
    let unshared = run.facts.health.iter().filter(|fact| !is_shared(fact));
    let words = unshared.map(|fact| format!("{}: {}", fact.id, fact.message.trim_end_matches('.')));
    let problems: Vec<String> = lost.into_iter().chain(words).collect();
    match (problems.is_empty(), run.facts.health.is_empty()) {
        (true, true) => "clean".to_owned(),
        (true, false) => "nothing else".to_owned(),
        (false, _) => problems.join(", "),
    }
}

/// `device (TPU v5 Lite against TPU v6 Lite), devices (1 against 4)`
pub(super) fn differing(differences: Vec<&RunDifference>) -> String {
    joined(
        differences.into_iter().map(|difference| {
            format!(
                "{} ({} against {})",
                difference.title.to_lowercase(),
                difference.base,
                difference.cand
            )
        }),
        ", ",
    )
}

/// In what two runs differ so that they are no points of one series, in words: what `compare` refuses or calls other work, the
/// class of steps, and what computed the times. How many steps there are does not matter where each run has one number.
pub fn other_series(one: &Summary, other: &Summary) -> Option<String> {
    let mut differences = differences(one, other, &[]);
    differences
        .retain(|difference| difference.weight >= Weight::OtherWork && difference.id != "steps");
    let mut differences = KnownDifferences {
        require: &[],
        out: differences,
    };
    let classes = [one, other].map(|run| run.steps.class.clone());
    if classes.iter().all(|class| !class.is_empty()) {
        let why = "they are steps of other programs";
        differences.differ("class", "Steps", classes, Weight::OtherWork, why);
    }
    let times = [one, other].map(|run| match &run.facts.simulator {
        Some(by) => format!("computed by {by}"),
        None => "measured".to_owned(),
    });
    let why = "a prediction is no measurement";
    differences.differ("simulator", "Times", times, Weight::OtherWork, why);
    let differences = differences.out;
    (!differences.is_empty()).then(|| differing(differences.iter().collect()))
}

/// What should be the same and is not known of both runs.
pub(crate) fn unknown(base: &Summary, cand: &Summary) -> Vec<&'static str> {
    let both = |is_known: fn(&Summary) -> bool| is_known(base) && is_known(cand);
    let known = [
        ("devices", both(|run| run.facts.devices > 0)),
        ("programs", both(|run| !run.facts.programs.is_empty())),
        ("shapes", both(|run| shapes(run).next().is_some())),
    ];
    known
        .into_iter()
        .filter(|(_, is_known)| !is_known)
        .map(|(what, _)| what)
        .collect()
}

struct KnownDifferences<'a> {
    require: &'a [String],
    out: Vec<RunDifference>,
}

impl KnownDifferences<'_> {
    /// Adds a difference if the two strings differ.
    fn differ(
        &mut self,
        id: &'static str,
        title: &'static str,
        texts: [String; 2],
        weight: Weight,
        why: &'static str,
    ) {
        if texts[0] != texts[1] {
            self.note(id, title, texts, weight, why);
        }
    }

    fn note(
        &mut self,
        id: &'static str,
        title: &'static str,
        texts: [String; 2],
        weight: Weight,
        why: &'static str,
    ) {
        let [base, cand] = texts;
        let weight = if self.require.iter().any(|required| required == id) {
            Weight::Incomparable
        } else {
            weight
        };
        self.out.push(RunDifference {
            id,
            title,
            base,
            cand,
            weight,
            why,
        });
    }

    /// Records facts that differ; if one side does not know its fact, it is a note, unless required.
    fn facts(
        &mut self,
        id: &'static str,
        title: &'static str,
        facts: [Option<&str>; 2],
        why: &'static str,
    ) {
        let weight = if facts.iter().all(Option::is_some) {
            Weight::Incomparable
        } else {
            Weight::Note
        };
        self.differ(
            id,
            title,
            facts.map(|fact| fact.unwrap_or(UNKNOWN).to_owned()),
            weight,
            why,
        );
    }
}

fn hardware(base: &Summary, cand: &Summary, differences: &mut KnownDifferences<'_>) {
    let a = &base.facts;
    let b = &cand.facts;
    let why = "a different chip takes a different time for the same work";
    differences.facts(
        "device_type",
        "Device",
        [a.device_type.as_deref(), b.device_type.as_deref()],
        why,
    );
    let why = "more devices share the work: a step of one is not a step of the other";
    differences.differ(
        "device_count",
        "Devices",
        [a.devices, b.devices].map(|n| n.to_string()),
        Weight::Incomparable,
        why,
    );
    if let Some(texts) = other_device_steps(base, cand) {
        let title = "Steps of the device that runs fewest";
        let why = "a device that runs a part of the loop did less work, which the time of a step does not show";
        differences.note("device_steps", title, texts, Weight::Care, why);
    }
    if let Some(texts) = other_stragglers(base, cand) {
        let title = "Straggling device";
        let why = "the other devices wait for it: what it does longer is their communication";
        differences.note("stragglers", title, texts, Weight::Care, why);
    }
    let why = "collectives take different routes";
    let topologies = [a.topology.as_deref(), b.topology.as_deref()];
    differences.facts("topology", "Topology", topologies, why);
    let why = "a part of the hosts says less about waiting for the others";
    differences.differ(
        "hosts",
        "Hosts",
        [a.hosts, b.hosts].map(|n| n.to_string()),
        Weight::Care,
        why,
    );
}

/// What the runs were built from. That one run does not tell is no difference.
fn sources(base: &Summary, cand: &Summary, differences: &mut KnownDifferences<'_>) {
    let mut both = |id, title, texts: [Option<String>; 2], weight, why| {
        if let [Some(base), Some(cand)] = texts {
            differences.differ(id, title, [base, cand], weight, why);
        }
    };
    let files = [base, cand].map(|run| run.facts.model_file.clone());
    let why = "most sources of ops, or those in a folder of models, name another file: is it the same model?";
    both("model_file", "Model file", files, Weight::Care, why);
    let why = "the element type of what matrix products multiply with: fewer bits are read and multiplied faster";
    let weights = [base, cand].map(|run| run.facts.weights.clone());
    both("weights", "Weights", weights, Weight::Note, why);
    let why = "another compiler or another flag compiles the same code differently";
    let versions = environment::versions(base, cand);
    let title = "Versions and flags";
    let versions = versions.map_or([None, None], |sides| sides.map(Some));
    both("versions", title, versions, Weight::Note, why);
}

fn programs(base: &Summary, cand: &Summary, differences: &mut KnownDifferences<'_>) {
    let main = |run: &Summary| run.facts.programs.first().cloned();
    if let (Some(a), Some(b)) = (main(base), main(cand)) {
        let are_timed = a.time_ps > 0.0 && b.time_ps > 0.0;
        let why = if are_timed {
            "the programs with the most time have different names: is it the same workload?"
        } else {
            "the largest programs have different names: is it the same workload?"
        };
        differences.differ(
            "program",
            "Program",
            [a.name.clone(), b.name.clone()],
            Weight::Care,
            why,
        );
        let is_same = a.id.is_some() && a.id == b.id;
        let fingerprint = |program: &ProgramFacts| {
            let id = program.id.as_deref().unwrap_or(UNKNOWN);
            format!("{id}, {} ops", program.ops)
        };
        if is_same {
            let texts = [&a, &b].map(|program| program.ops.to_string());
            let why = "other parts of the same program ran, or were recorded";
            differences.differ(
                "module_fingerprint",
                OPS_OF_PROGRAM,
                texts,
                Weight::Note,
                why,
            );
        }
        let are_known = a.id.is_some() && b.id.is_some();
        let why = if are_known {
            "it was compiled from different code or by a different compiler, so ops are matched by their properties"
        } else {
            "whether it is the same program is not known, so ops are matched by their properties"
        };
        if !is_same {
            let texts = [fingerprint(&a), fingerprint(&b)];
            let title = "Program fingerprint";
            differences.differ("module_fingerprint", title, texts, Weight::Note, why);
        }
    }
    if let Some(texts) = other_traffic(base, cand) {
        let title = "Recorded memory traffic of a step";
        let why = "the same program moves the same bytes: one capture records other costs, or other parts of it ran";
        differences.note("memory_traffic", title, texts, Weight::Care, why);
    }
    let [first, second] =
        [(base, cand), (cand, base)].map(|(run, other)| other_shapes_percent(run, other));
    if let (Some(first), Some(second)) = (first, second)
        && first.max(second) >= OTHER_SHAPES_PERCENT
    {
        let text = |percent: f64| format!("{percent:.0}", percent = Percent(percent));
        let why = "different shapes can mean different work (batch size, sequence length) or the same work done differently";
        let is_other = first.max(second) >= OTHER_MODEL_PERCENT;
        let weight = if is_other {
            Weight::OtherWork
        } else {
            Weight::Care
        };
        let title = "Op time in shapes that the other run does not have";
        differences.note("shapes", title, [text(first), text(second)], weight, why);
    }
}

/// Op time of `run` in results whose shapes `other` never computes; `None` if shapes are unknown on either side.
fn other_shapes_percent(run: &Summary, other: &Summary) -> Option<f64> {
    let theirs: BTreeSet<&str> = shapes(other).map(|(shape, _)| shape).collect();
    // A shortened summary of an earlier version does not know the shapes of smaller ones.
    let is_complete =
        |run: &Summary| run.ops_not_listed == 0 || run.rest.iter().any(|rest| rest.shape.is_some());
    let least = if is_complete(other) {
        0.0
    } else {
        other.listed_from_ps()
    };
    let mut all = 0.0;
    let mut alien = 0.0;
    for (shape, time) in shapes(run).filter(|(_, time)| *time > least) {
        all += time;
        alien += if theirs.contains(shape) { 0.0 } else { time };
    }
    (all > 0.0 && !theirs.is_empty()).then(|| 100.0 * alien / all)
}

/// Shapes of results, each with the time of its ops; those of ops that a shortened summary does not list are at its end.
fn shapes(run: &Summary) -> impl Iterator<Item = (&str, f64)> {
    let listed = run.ops.iter().map(|op| (op.shape.as_deref(), op.middle_ps));
    let rest = run
        .rest
        .iter()
        .map(|rest| (rest.shape.as_deref(), rest.middle_ps));
    listed
        .chain(rest)
        .filter_map(|(shape, time)| Some((shape?, time)))
}

fn steps(base: &Summary, cand: &Summary, differences: &mut KnownDifferences<'_>) {
    let a = &base.steps;
    let b = &cand.steps;
    let both = base.has_steps() == cand.has_steps();
    let weight = if both {
        Weight::Care
    } else {
        Weight::Incomparable
    };
    let why = if both {
        "steps were detected from a different source, so they may start and end at other times"
    } else {
        "one run has steps, the other is a whole capture"
    };
    let title = |id: &str| {
        let source = serde_json::from_value(id.into()).ok();
        source.map_or_else(
            || id.to_owned(),
            |source: StepSource| source.title().to_owned(),
        )
    };
    differences.differ(
        "step_source",
        "Source of steps",
        [title(&a.source), title(&b.source)],
        weight,
        why,
    );
    let is_less =
        |of: &dyn Fn(&StepFacts) -> f64| of(a).min(of(b)) < FEWER_STEPS * of(a).max(of(b));
    let time = |steps: &StepFacts| steps.counted as f64 * steps.middle_ps;
    let is_time_known = time(a).min(time(b)) > 0.0;
    let uneven = is_less(&|steps| steps.counted as f64) && (!is_time_known || is_less(&time));
    let weight = if uneven {
        Weight::OtherWork
    } else {
        Weight::Note
    };
    let why = "loops of different length are compared per step";
    differences.differ(
        "steps",
        "Steady steps",
        [a.counted, b.counted].map(|n| n.to_string()),
        weight,
        why,
    );
}
