//! Why two runs are thought to do the same work, or not: the file of the model, types of weights, versions.

use math::stats::median;
use math::summed;

use device_reports::{Balance, StepPart};
use facts::prelude::*;

use super::comparable::RunDifference;
use super::summary::{OpTimes, Summary};
use super::work::{OpPurpose, weight_type};

/// Types with less than this share of the time of matrix products are not named.
const WORTH_NAMING: f64 = 0.05;
/// Folders of packages, whose files are not the user's.
const PACKAGES: [&str; 2] = ["site-packages/", "dist-packages/"];

/// The file that defines the model, as far as sources of ops tell: one in a folder `models` or with `model` in its name,
/// else the user's file with the most time. Without folders.
pub(super) fn model_file(ops: &[OpTimes]) -> Option<String> {
    let mut files: BTreeMap<&str, f64> = BTreeMap::new();
    for op in ops {
        let path = op.source.as_deref().unwrap_or_default();
        let path = path.rsplit_once(':').map_or(path, |(path, _)| path);
        if !path.is_empty() && !PACKAGES.iter().any(|folder| path.contains(folder)) {
            *files.entry(path).or_default() += op.middle_ps;
        }
    }
    let is_model = |path: &str| path.contains("/models/") || name(path).contains("model");
    let most = |named: bool| {
        let files = files.iter().filter(|(path, _)| !named || is_model(path));
        files.max_by(|a, b| a.1.total_cmp(b.1))
    };
    let (path, _) = most(true).or_else(|| most(false))?;
    Some(name(path).to_owned())
}

/// The last part of a path.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Element types of the weights of matrix products, most time first: `bf16, s8`. `None` if no operand is known.
pub(super) fn weight_types(ops: &[OpTimes]) -> Option<String> {
    let products = ops.iter().filter(|op| {
        matches!(op.part, StepPart::MatMul | StepPart::Kernel)
            && op.operands.is_some()
            && OpPurpose::of(op).time_use == TimeUse::MatMul
    });
    let times = summed(products.filter_map(|op| Some((weight_type(op)?, op.middle_ps))));
    let all: f64 = times.values().sum();
    let mut times: Vec<(String, f64)> = times.into_iter().collect();
    times.retain(|(_, time)| *time >= WORTH_NAMING * all);
    largest_number_first(&mut times, |one| one.1, |one| &one.0);
    let names: Vec<String> = times.into_iter().map(|(dtype, _)| dtype).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Counted steps of the device that runs fewest of them, and of the one that runs most; `None` where none runs any.
pub(super) fn device_steps(cx: &Context<'_>, steps: &StepsReport) -> Option<[usize; 2]> {
    let mut counts: BTreeMap<GroupId, usize> = BTreeMap::new();
    for span in steps.counted().flat_map(|step| &step.spans) {
        *counts.entry(span.group).or_default() += 1;
    }
    let cores = cx.tensor_cores();
    let of = |core: &GroupId| counts.get(core).copied().unwrap_or(0);
    let least = cores.iter().map(of).min()?;
    let most = cores.iter().map(of).max()?;
    (most > 0).then_some([least, most])
}

/// The devices that the others wait for because they work much longer, and how many percent longer than the median one;
/// `None` where devices cannot be compared.
pub(super) fn stragglers(cx: &Context<'_>) -> Option<BTreeMap<String, f64>> {
    let balance = cx.report::<Balance>().ok()?;
    let known = balance.devices.iter().filter_map(|device| device.work_ps);
    let median_ps = median(&known.collect::<Vec<_>>())?;
    let stragglers = balance.devices.iter().filter(|device| device.is_straggler);
    Some(
        stragglers
            .filter_map(|device| {
                let over = Percent::ratio(device.work_ps? - median_ps, median_ps)?;
                Some((device.core.clone(), over.0))
            })
            .collect(),
    )
}

/// What is known of both runs and equal: the name of the difference that it is not, and words (`2 devices`).
pub(super) fn alike(
    base: &Summary,
    cand: &Summary,
    differences: &[RunDifference],
) -> Vec<(&'static str, String)> {
    let differs = |id: &str| differences.iter().any(|difference| difference.id == id);
    let both = |of: fn(&Summary) -> Option<String>| of(base).filter(|_| of(cand).is_some());
    let mut words = Vec::new();
    let mut say = |id, text: Option<String>| {
        words.extend(text.filter(|_| !differs(id)).map(|text| (id, text)));
    };
    say(
        "device_type",
        base.facts
            .device_type
            .clone()
            .filter(|_| base.facts.device_type == cand.facts.device_type),
    );
    let devices = base.facts.devices;
    say(
        "device_count",
        (devices > 0).then(|| counted(devices, "device")),
    );
    say(
        "model_file",
        both(|run| run.facts.model_file.clone()).map(|file| format!("model file {file}")),
    );
    say(
        "weights",
        both(|run| run.facts.weights.clone()).map(|types| format!("{types} weights")),
    );
    let knows_shapes = |run: &Summary| run.ops.iter().any(|op| op.shape.is_some());
    let shapes = knows_shapes(base) && knows_shapes(cand);
    say("shapes", shapes.then(|| "shapes".to_owned()));
    let steps = base.steps.counted;
    say("steps", (steps > 0).then(|| counted(steps, "steady step")));
    let has_program = |run: &Summary| run.facts.programs.first().is_some_and(|it| it.id.is_some());
    let programs = has_program(base) && has_program(cand);
    say(
        "module_fingerprint",
        programs.then(|| "program fingerprint".to_owned()),
    );
    let sums = |run: &Summary| {
        let program = run.facts.programs.first()?;
        (program.id.is_none() && !program.parts.is_empty()).then(|| program.parts.clone())
    };
    let are_equal = sums(base).is_some() && sums(base) == sums(cand);
    let all = "all sums of the program";
    say("program_sums", are_equal.then(|| all.to_owned()));
    say("versions", both(|run| run.facts.versions_in_words()));
    words
}
