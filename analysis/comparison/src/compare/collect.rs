//! Creates the summary of a trace.

use device_reports::{Memory, Ops, Overlap, StepPart, Steps};
use engine::{AnalysisEntry, entry};
use facts::prelude::*;
use run_reports::host::input::Input;
use run_reports::{Doctor, Gaps};
use trace_model::{Caveat, IssueKind};

use super::idle::{idle_by_cause, idle_times};
use super::likeness::{device_steps, model_file, stragglers, weight_types};
use super::metrics::MOST_STEPS;
use super::op_times::add_ops;
use super::run_values::values;
use super::summary::{
    HealthFact, SCHEMA, StepFacts, StepSeries, Summary, SummaryFacts, SummaryInput, WHOLE_CAPTURE,
    thinned,
};
use super::times::{self, DividedSteps};
use super::{programs, run_loop};

/// The reports that a summary takes most of its numbers from; where they apply, several are computed at a time.
const AHEAD: [AnalysisEntry; 6] = [
    entry::<Memory>(),
    entry::<Input>(),
    entry::<Ops>(),
    entry::<Gaps>(),
    entry::<Overlap>(),
    entry::<Doctor>(),
];

/// Maximum number of classes of steps that are kept.
const MOST_CLASSES: usize = 8;

impl Summary {
    /// The summary of a trace, or of some of its steps.
    ///
    /// # Errors
    ///
    /// The trace has no steps and no ops to compare.
    pub fn of(cx: &Context<'_>) -> Result<Self> {
        if cx.model.has_programs_only() {
            return Ok(Self::of_programs(cx));
        }
        if let Err(why) = cx.require_times() {
            return Ok(Self::without_times(cx, facts(cx), &why.to_string()));
        }
        let steps = cx.report::<Steps>()?;
        cx.reports_of(&AHEAD.each_ref());
        let why_none = no_loop(cx, &steps);
        let (mut chosen, mut classes_not_listed) = classes(&steps);
        if steps.has_steps() && why_none.is_some() {
            (chosen, classes_not_listed) = (vec![Vec::new()], 0);
        }
        let divided = times::collect(cx, &steps, &chosen)?;
        let idle = idle_by_cause(cx);
        let mut classes = chosen.iter().zip(&divided).map(|(chosen, divided)| {
            let chosen = divided.as_ref().map_or(chosen, |divided| &divided.chosen);
            let mut class = Self {
                steps: step_facts(&steps, chosen, divided.as_ref()),
                series: series(chosen, divided.as_ref()),
                ..Self::default()
            };
            if let Some(divided) = divided {
                add_ops(cx.model, cx.classes(), divided, &mut class);
                class.rest = idle_times(divided, idle.as_ref());
            }
            class.into_class()
        });
        let mut main = classes.next().unwrap_or_default();
        main.steps.why_none = why_none.clone().filter(|_| main.steps.counted == 0);
        let mut facts = facts(cx);
        // A shortened summary no longer has all ops.
        (facts.model_file, facts.weights) = (model_file(&main.ops), weight_types(&main.ops));
        facts.device_steps = device_steps(cx, &steps);
        facts.stragglers = stragglers(cx);
        let mut summary = Self {
            loop_series: if why_none.is_some() {
                Vec::new()
            } else {
                run_loop::series(&steps)
            },
            values: values(cx, &steps, why_none.as_deref()),
            classes: classes.collect(),
            classes_not_listed,
            ..Self::with_facts(cx, facts).with_steps(main)
        };
        // Ops of a CPU have no times of their own: its programs are the largest that the capture holds.
        let are_untimed = summary.facts.programs.is_empty();
        if are_untimed {
            summary.facts.programs = programs::without_times(cx);
        }
        programs::add_parts(cx, &mut summary.facts.programs);
        summary
            .values
            .extend(programs::values(&summary.facts.programs));
        if are_untimed {
            // There, ids number the programs of a process.
            let programs = summary.facts.programs.iter_mut();
            programs.for_each(|program| program.id = None);
        }
        Ok(summary.rounded())
    }

    /// The summary of programs that were not run.
    fn of_programs(cx: &Context<'_>) -> Self {
        let mut facts = facts(cx);
        facts.programs = programs::without_times(cx);
        // The quality of a capture says nothing of a program.
        facts.health.clear();
        facts.is_program = true;
        Self::without_times(cx, facts, "a program has no times")
    }

    /// What can be told of a run without its times.
    fn without_times(cx: &Context<'_>, mut facts: SummaryFacts, why: &str) -> Self {
        programs::add_parts(cx, &mut facts.programs);
        Self {
            steps: StepFacts {
                source: WHOLE_CAPTURE.to_owned(),
                why_none: Some(why.to_owned()),
                ..StepFacts::default()
            },
            values: programs::values(&facts.programs),
            ..Self::with_facts(cx, facts)
        }
    }

    /// A summary without steps and values yet.
    fn with_facts(cx: &Context<'_>, facts: SummaryFacts) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            tool: tool(),
            inputs: inputs(cx.model),
            facts,
            ..Self::default()
        }
    }
}

pub fn tool() -> String {
    format!("systole {}", env!("CARGO_PKG_VERSION"))
}

/// Why a run without any step has no steady one.
pub(super) const NO_STEPS: &str = "no steps were found";

/// The reason why there is no steady step, if there is none.
fn no_loop(cx: &Context<'_>, steps: &StepsReport) -> Option<String> {
    if !steps.has_steps() {
        return Some(NO_STEPS.to_owned());
    }
    let warmup = cx.options.warmup_steps;
    (warmup > 0 && steps.is_all_warmup()).then(|| {
        let count = steps.steps.len();
        format!("the run has {count} steps, and the first {warmup} are excluded as warm-up: no steady step remains")
    })
}

/// Steady steps by class, most time first, and the number of classes left out.
fn classes(steps: &StepsReport) -> (Vec<Vec<&Step>>, usize) {
    let mut classes: Vec<(Picos, Vec<&Step>)> =
        vec![(Picos::ZERO, Vec::new()); steps.classes.len().max(1)];
    for step in steps.counted() {
        if let Some((time, members)) = classes.get_mut(step.class) {
            *time += step.time_ps;
            members.push(step);
        }
    }
    classes.sort_by_key(|(time, _)| Reverse(*time));
    let members = classes.into_iter().map(|(_, members)| members).enumerate();
    let mut members: Vec<_> = members
        .filter(|(class, members)| *class == 0 || !members.is_empty())
        .map(|(_, members)| members)
        .collect();
    let left = members.len().saturating_sub(MOST_CLASSES);
    members.truncate(MOST_CLASSES);
    (members, left)
}

fn inputs(model: &TraceModel) -> Vec<SummaryInput> {
    let input = |source: &trace_model::Source| SummaryInput {
        name: source.name.clone(),
        path: source.path.as_ref().map(|path| path.display().to_string()),
        format: source.format.to_owned(),
        // Fingerprints are set by the caller that opened the file.
        ..SummaryInput::default()
    };
    model.sources().iter().map(input).collect()
}

fn facts(cx: &Context<'_>) -> SummaryFacts {
    let model = cx.model;
    let cores = cx.tensor_cores();
    let type_of = |&core: &GroupId| model.group(core).device.as_ref()?.type_name.clone();
    let doctor = cx.report::<Doctor>().ok();
    let health = doctor.iter().flat_map(|doctor| &doctor.findings);
    let health = health
        .filter(|finding| finding.severity > trace_model::Severity::Info)
        .map(|finding| HealthFact {
            id: finding.id.to_owned(),
            severity: format!("{:?}", finding.severity).to_lowercase(),
            message: finding.message.clone(),
        });
    let mut formats: Vec<String> = model
        .sources()
        .iter()
        .map(|source| source.format.to_owned())
        .collect();
    formats.sort();
    formats.dedup();
    SummaryFacts {
        device_type: cores.iter().find_map(type_of),
        devices: cores.len(),
        hosts: model
            .groups()
            .iter()
            .filter(|group| group.kind == GroupKind::Host)
            .count(),
        topology: cx.options.topology.as_ref().map(ToString::to_string),
        formats,
        simulator: model.simulator().map(str::to_owned),
        is_predicted: model.has_caveat(Caveat::Predicted),
        caveats: [Caveat::PlaceholderTimes, Caveat::GivenDurations]
            .into_iter()
            .filter(|&caveat| model.has_caveat(caveat))
            .collect(),
        versions: versions(model),
        environment: facts::environment(cx),
        lost: model.import_log().lost(),
        sessions_apart: Some(model.import_log().count(IssueKind::SessionsApart))
            .filter(|&others| others > 0)
            .map(|others| others + 1),
        health: health.collect(),
        ..SummaryFacts::default()
    }
}

/// Facts of the files about versions and flags.
fn versions(model: &TraceModel) -> BTreeMap<String, String> {
    let facts = model.sources().iter().flat_map(|source| &source.facts);
    let says = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.contains("version") || name.ends_with("flags")
    };
    facts
        .filter(|(name, _)| says(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn step_facts(
    steps: &StepsReport,
    chosen: &[&Step],
    divided: Option<&DividedSteps<'_>>,
) -> StepFacts {
    let class = chosen.first().and_then(|step| steps.class_of(step));
    let source = serde_json::to_value(steps.source).ok();
    let numbers: Vec<f64> = chosen.iter().map(|step| f64::from(step.number)).collect();
    let times: Vec<f64> = chosen.iter().map(|step| step.time_ps.as_ps_f64()).collect();
    StepFacts {
        source: source
            .and_then(|source| source.as_str().map(str::to_owned))
            .unwrap_or_default(),
        marker: steps.marker.clone(),
        class: class.map(|class| class.title.clone()).unwrap_or_default(),
        counted: chosen.len(),
        left_out: steps.steps.len() - chosen.len(),
        numbers: thinned(&numbers, MOST_STEPS)
            .into_iter()
            .map(|number| number as u32)
            .collect(),
        why_none: None,
        middle_ps: match divided {
            Some(divided) => {
                let middle = divided.middle.iter();
                let steps = middle.filter_map(|&step| divided.steps.get(step));
                let sum: f64 = steps.map(|(time, _)| time.as_ps_f64()).sum();
                sum / divided.middle.len().max(1) as f64
            }
            None => middle_mean(&times),
        },
    }
}

fn middle_mean(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quarter = sorted.len() / 4;
    let middle = sorted
        .get(quarter..sorted.len() - quarter)
        .unwrap_or_default();
    math::stats::mean(middle).unwrap_or_default()
}

fn series(chosen: &[&Step], divided: Option<&DividedSteps<'_>>) -> Vec<StepSeries> {
    let mut out = Vec::new();
    let mut push = |metric: &str, title: &str, values: Vec<f64>| {
        if !values.is_empty() {
            let mut series = StepSeries::of(metric, &values);
            if !title.is_empty() {
                title.clone_into(&mut series.title);
            }
            out.push(series);
        }
    };
    let times = match divided {
        Some(divided) => divided.steps.iter().map(|(time, _)| *time).collect(),
        None => chosen.iter().map(|step| step.time_ps).collect(),
    };
    push("step.time_ps", "", numbers(times));
    let intervals = chosen.iter().filter_map(|step| step.interval_ps);
    push("step.interval_ps", "", numbers(intervals.collect()));
    let Some(divided) = divided else {
        return out;
    };
    let steps = &divided.steps;
    for part in StepPart::ALL {
        let values = numbers(steps.iter().map(|(_, parts)| parts.get(part)).collect());
        if values.iter().any(|&value| value != 0.0) {
            push(&format!("step.{}", part.id()), part.title(), values);
        }
    }
    for (metric, part) in [
        ("step.exposed_comm_percent", StepPart::ExposedComm),
        ("step.idle_percent", StepPart::Idle),
    ] {
        push(
            metric,
            "",
            steps
                .iter()
                .map(|(time, parts)| Percent::of(parts.get(part), *time).unwrap_or_default().0)
                .collect(),
        );
    }
    out
}

fn numbers(times: Vec<Picos>) -> Vec<f64> {
    times.into_iter().map(Picos::as_ps_f64).collect()
}
