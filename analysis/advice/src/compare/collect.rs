//! Creates the summary of a trace.

use device_reports::communication::collectives::Collectives;
use device_reports::communication::overlap::Overlap;
use device_reports::memory::hbm::Memory;
use device_reports::ops::matmuls::Matmuls;
use device_reports::ops::op_stats::{OpRow, Ops};
use device_reports::steps::step_parts::StepPart;
use device_reports::steps::step_times::Steps;
use engine::{AnalysisError, Context, Provenance, Scope};
use facts::TraceFacts as _;
use facts::category::OpClasses;
use facts::host_class::host_threads;
use facts::steps::{Step, StepsReport};
use math::stats::percent;
use math::unit::Unit;
use run_reports::host::compile::Compile;
use run_reports::host::input::Input as InputWaits;
use run_reports::summary::doctor::Doctor;
use run_reports::summary::utilization::Utilization;
use trace_model::hlo_text::HloText;
use trace_model::{Caveat, GroupKind, Picos, TraceModel};

use super::idle::{IdleByCause, idle_times};
use super::run_loop;
use super::summary::{
    Better, HealthFact, OpTimes, ProgramFacts, RunFacts, RunValue, SCHEMA, StepFacts, StepSeries,
    Summary, SummaryInput, thinned,
};
use super::times::{self, DividedSteps, OpSum};

/// Maximum number of steps whose values are kept.
const MOST_STEPS: usize = 2048;
/// Maximum number of classes of steps that are kept.
const MOST_CLASSES: usize = 8;

impl Summary {
    /// The summary of a trace, or of some of its steps.
    ///
    /// # Errors
    ///
    /// The trace has no steps and no ops to compare.
    pub fn of(cx: &Context<'_>) -> Result<Self, AnalysisError> {
        let steps = cx.report::<Steps>()?;
        let why_none = no_loop(cx, &steps);
        let (mut chosen, mut classes_not_listed) = classes(&steps);
        if steps.has_steps() && why_none.is_some() {
            (chosen, classes_not_listed) = (vec![Vec::new()], 0);
        }
        let divided = times::collect(cx, &steps, &chosen)?;
        let idle = IdleByCause::of(cx);
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
        let summary = Self {
            schema: SCHEMA.to_owned(),
            tool: format!("systole {}", env!("CARGO_PKG_VERSION")),
            inputs: inputs(cx.model),
            loop_series: if why_none.is_some() {
                Vec::new()
            } else {
                run_loop::series(&steps, MOST_STEPS)
            },
            values: values(cx, &steps, why_none.as_deref()),
            facts: facts(cx),
            ..Self::default()
        };
        let classes = classes.collect();
        Ok(Self {
            classes,
            classes_not_listed,
            ..summary.with_steps(main)
        }
        .rounded())
    }
}

/// The reason why there is no steady step, if there is none.
fn no_loop(cx: &Context<'_>, steps: &StepsReport) -> Option<String> {
    if !steps.has_steps() {
        return Some("no steps were found".to_owned());
    }
    let warmup = cx.options.warmup_steps;
    (warmup > 0 && steps.is_all_warmup()).then(|| {
        let count = steps.steps.len();
        format!("the run has {count} steps, and the first {warmup} are excluded as warm-up: no steady step remains")
    })
}

/// Steady steps by class, most time first, and the number of classes left out.
fn classes(steps: &StepsReport) -> (Vec<Vec<&Step>>, usize) {
    let mut classes: Vec<(i64, Vec<&Step>)> = vec![(0, Vec::new()); steps.classes.len().max(1)];
    for step in steps.counted() {
        if let Some((time, members)) = classes.get_mut(step.class) {
            *time = time.saturating_add(step.time_ps);
            members.push(step);
        }
    }
    classes.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    let members = classes.into_iter().map(|(_, members)| members).enumerate();
    let mut members: Vec<_> = members
        .filter(|(at, members)| *at == 0 || !members.is_empty())
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
        sha256: None, // Set by the caller that opened the file.
    };
    model.sources().iter().map(input).collect()
}

fn facts(cx: &Context<'_>) -> RunFacts {
    let model = cx.model;
    let cores = cx.tensor_cores();
    let type_of =
        |&core: &trace_model::GroupId| model.group(core).device.as_ref()?.type_name.clone();
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
    RunFacts {
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
        programs: Vec::new(),
        lost: model.import_log().lost(),
        health: health.collect(),
    }
}

fn step_facts(
    steps: &StepsReport,
    chosen: &[&Step],
    divided: Option<&DividedSteps<'_>>,
) -> StepFacts {
    let class = chosen.first().and_then(|step| steps.class_of(step));
    let source = serde_json::to_value(steps.source).ok();
    let numbers: Vec<f64> = chosen.iter().map(|step| f64::from(step.number)).collect();
    let times: Vec<f64> = chosen.iter().map(|step| step.time_ps as f64).collect();
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
            Some(divided) => mean_of(divided, |(time, _)| *time as f64),
            None => middle_mean(&times),
        },
    }
}

/// Mean over the steps of the middle half.
fn mean_of(
    divided: &DividedSteps<'_>,
    of: impl Fn(&(i64, device_reports::steps::step_parts::TimeByPart)) -> f64,
) -> f64 {
    let values = divided
        .middle
        .iter()
        .filter_map(|&step| divided.steps.get(step));
    values.map(of).sum::<f64>() / divided.middle.len().max(1) as f64
}

fn middle_mean(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quarter = sorted.len() / 4;
    let middle = sorted
        .get(quarter..sorted.len() - quarter)
        .unwrap_or_default();
    middle.iter().sum::<f64>() / middle.len().max(1) as f64
}

fn series(chosen: &[&Step], divided: Option<&DividedSteps<'_>>) -> Vec<StepSeries> {
    let mut out = Vec::new();
    let mut push = |id: &str, title: &str, unit: Unit, better: Better, values: Vec<f64>| {
        if !values.is_empty() {
            let values = thinned(&values, MOST_STEPS);
            out.push(StepSeries {
                id: id.to_owned(),
                title: title.to_owned(),
                unit,
                better,
                values,
            });
        }
    };
    let ps = Unit::Picoseconds;
    let Some(divided) = divided else {
        push(
            "step.time_ps",
            "Step time",
            ps,
            Better::Lower,
            chosen.iter().map(|step| step.time_ps as f64).collect(),
        );
        push(
            "step.interval_ps",
            "Begin to begin",
            ps,
            Better::Lower,
            intervals(chosen),
        );
        return out;
    };
    let steps = &divided.steps;
    push(
        "step.time_ps",
        "Step time",
        ps,
        Better::Lower,
        steps.iter().map(|(time, _)| *time as f64).collect(),
    );
    push(
        "step.interval_ps",
        "Begin to begin",
        ps,
        Better::Lower,
        intervals(chosen),
    );
    for part in StepPart::ALL {
        let values: Vec<f64> = steps
            .iter()
            .map(|(_, parts)| parts.get(part) as f64)
            .collect();
        if values.iter().any(|&value| value != 0.0) {
            push(
                &format!("step.{}", part.id()),
                part.title(),
                ps,
                Better::Lower,
                values,
            );
        }
    }
    for (id, title, part) in [
        (
            "step.exposed_comm_percent",
            "Exposed comm of the step",
            StepPart::ExposedComm,
        ),
        ("step.idle_percent", "Idle of the step", StepPart::Idle),
    ] {
        let share = |(time, parts): &(i64, device_reports::steps::step_parts::TimeByPart)| {
            if *time > 0 {
                100.0 * parts.get(part) as f64 / *time as f64
            } else {
                0.0
            }
        };
        push(
            id,
            title,
            Unit::Percent,
            Better::Lower,
            steps.iter().map(share).collect(),
        );
    }
    out
}

fn intervals(chosen: &[&Step]) -> Vec<f64> {
    chosen
        .iter()
        .filter_map(|step| step.interval_ps)
        .map(|ps| ps as f64)
        .collect()
}

/// Numbers of the whole run from the other reports, as far as they apply.
fn values(cx: &Context<'_>, steps: &StepsReport, why_none: Option<&str>) -> Vec<RunValue> {
    let mut out: Vec<RunValue> = Vec::new();
    if let Ok(report) = cx.report::<Utilization>() {
        out.extend(report.combined.iter().map(|metric| RunValue {
            id: metric.id.to_owned(),
            title: metric.title.to_owned(),
            unit: metric.unit,
            better: better(metric.id),
            value: metric.value,
            of: metric.of.clone(),
            provenance: metric.provenance,
            note: metric.note.clone(),
        }));
    }
    let mut push =
        |id: &str, title: &str, unit, better, value: Option<f64>, of: &str, provenance| {
            let (id, title, of) = (id.to_owned(), title.to_owned(), of.to_owned());
            out.push(RunValue {
                id,
                title,
                unit,
                better,
                value,
                of,
                provenance,
                note: None,
            });
        };
    let (lower, measured) = (Better::Lower, Provenance::Measured);
    if let Ok(overlap) = cx.report::<Overlap>() {
        let sum = &overlap.summary;
        let of = "window of the device with most of it";
        let share = sum.exposed_share_percent;
        push(
            "overlap.exposed_share_percent",
            "Exposed communication",
            Unit::Percent,
            lower,
            share,
            of,
            measured,
        );
        let of = "time communicating, all devices";
        let ratio = sum.overlap_ratio_percent;
        push(
            "overlap.hidden_percent",
            "Communication hidden",
            Unit::Percent,
            Better::Higher,
            ratio,
            of,
            measured,
        );
    }
    if let Ok(collectives) = cx.report::<Collectives>() {
        for kind in collectives.kinds.iter().filter(|kind| !kind.is_fused) {
            let id = format!("collectives.{}.bus_bytes_per_second", kind.kind);
            let title = format!("Bus bandwidth, {}", kind.kind);
            let unit = Unit::BytesPerSecond;
            push(
                &id,
                &title,
                unit,
                Better::Higher,
                kind.bus_bandwidth,
                "sent ÷ time",
                Provenance::Derived,
            );
        }
    }
    if let Ok(compile) = cx.report::<Compile>()
        && compile.is_recorded
    {
        let count = Some(compile.compilations as f64);
        push(
            "compile.count",
            "Compilations",
            Unit::Count,
            lower,
            count,
            "capture",
            measured,
        );
        let again = Some(compile.recompilations as f64);
        push(
            "compile.recompilations",
            "Recompilations",
            Unit::Count,
            lower,
            again,
            "capture",
            Provenance::Inferred,
        );
        let wall = Some(compile.wall_ps.unwrap_or(0) as f64);
        push(
            "compile.wall_ps",
            "Compiling",
            Unit::Picoseconds,
            lower,
            wall,
            "capture, union over threads",
            measured,
        );
    }
    let mut of_loop = if why_none.is_none() {
        run_loop::times(cx, steps)
    } else {
        Vec::new()
    };
    of_loop.extend(run_loop::compilations(cx, steps, why_none));
    if let Ok(memory) = cx.report::<Memory>()
        && let Some(fullest) = memory.memories.first()
    {
        let (bytes, profile) = (Some(fullest.peak_bytes as f64), Provenance::Profile);
        push(
            "memory.peak_bytes",
            "Memory peak",
            Unit::Bytes,
            lower,
            bytes,
            &fullest.memory,
            profile,
        );
        let percent = fullest.peak_percent;
        push(
            "memory.peak_percent",
            "Memory peak of capacity",
            Unit::Percent,
            lower,
            percent,
            &fullest.memory,
            profile,
        );
    }
    if let Some((waits, percent)) = input_wait(cx, steps) {
        let of = format!("time of the steady steps, {waits}");
        push(
            "input_wait_percent",
            "Waiting for input",
            Unit::Percent,
            lower,
            Some(percent),
            &of,
            Provenance::Inferred,
        );
    }
    if let Ok(ops) = cx.report::<Ops>() {
        let mut share = |id: &str, title: &str, provenance, wanted: fn(&OpRow) -> bool| {
            let time: Picos = ops
                .rows
                .iter()
                .filter(|row| wanted(row))
                .map(|row| row.self_time_ps)
                .sum();
            let share = percent(time.ps(), ops.op_time_ps);
            push(
                id,
                title,
                Unit::Percent,
                lower,
                share,
                "time of ops, all devices",
                provenance,
            );
        };
        share(
            "host_offload_wait_percent",
            "Waiting for copies to and from the host",
            measured,
            |row| row.waits_for_host,
        );
        let title = "Computed a second time to save memory";
        share("recompute_percent", title, Provenance::Inferred, |row| {
            row.is_remat && row.is_leaf
        });
    }
    if let Ok(matmuls) = cx.report::<Matmuls>() {
        let waste = matmuls
            .padding_efficiency_percent
            .map(|useful| 100.0 - useful);
        let of = "work on whole tiles, of the matmuls whose sizes are known";
        push(
            "padding_waste_percent",
            "Padding of matmuls",
            Unit::Percent,
            lower,
            waste,
            of,
            Provenance::Derived,
        );
    }
    out.extend(of_loop);
    out
}

/// The device (without a TPU the host) that waits most for input, and the share of the time that it waits between the
/// first and the last steady step; `None` if neither a host nor an infeed op shows it.
fn input_wait(cx: &Context<'_>, steps: &StepsReport) -> Option<(String, f64)> {
    let numbers = || steps.counted().map(|step| step.number);
    let scope = match (numbers().min(), numbers().max()) {
        (Some(first), Some(last)) if steps.has_steps() && steps.left_out > 0 => {
            Scope::Steps { first, last }
        }
        _ => cx.scope,
    };
    let input = cx.scoped(scope).report::<InputWaits>().ok()?;
    let has_host = host_threads(cx.model).next().is_some();
    let known = input
        .devices
        .iter()
        .filter(|wait| has_host || wait.infeed_ps.is_some_and(|time| time > 0));
    let known = known.filter_map(|wait| Some((&wait.name, wait.percent?)));
    let most = known.reduce(|most, wait| if wait.1 > most.1 { wait } else { most })?;
    Some((most.0.clone(), most.1))
}

/// The direction of a utilization metric, by its name.
fn better(id: &str) -> Better {
    let has = |words: &[&str]| words.iter().any(|word| id.contains(word));
    if has(&["idle", "wait", "stall"]) {
        Better::Lower
    } else if has(&["mfu", "util", "busy", "duty", "hw_percent"]) {
        Better::Higher
    } else {
        Better::Neither
    }
}

fn add_ops(
    model: &TraceModel,
    classes: &OpClasses,
    divided: &DividedSteps<'_>,
    summary: &mut Summary,
) {
    let steps = divided.middle.len().max(1) as f64;
    let mut programs: Vec<ProgramFacts> = Vec::new();
    let mut index = vec![None; model.programs().len()];
    for sum in &divided.ops {
        let mut op = op_times(model, classes, sum, steps);
        let program = model
            .label(sum.label)
            .op
            .and_then(|op| model.op(op).program);
        op.program = program.and_then(|program| {
            let slot = index.get_mut(program.index())?;
            let at = *slot.get_or_insert(programs.len());
            if at == programs.len() {
                let program = model.program(program);
                let (name, id) = (
                    model.str(program.name).to_owned(),
                    program.id.map(|id| id.to_string()),
                );
                programs.push(ProgramFacts {
                    name,
                    id,
                    ops: 0,
                    time_ps: 0.0,
                });
            }
            let facts = programs.get_mut(at)?;
            facts.ops += 1;
            facts.time_ps += op.middle_ps;
            Some(at)
        });
        summary.ops.push(op);
    }
    sort_programs(&mut programs, &mut summary.ops);
    summary.facts.programs = programs;
    let time = |op: &OpTimes| op.middle_ps;
    summary.ops.sort_by(|a, b| {
        time(b)
            .total_cmp(&time(a))
            .then_with(|| (&a.name, a.place).cmp(&(&b.name, b.place)))
    });
}

/// Most time first; ops follow.
fn sort_programs(programs: &mut Vec<ProgramFacts>, ops: &mut [OpTimes]) {
    let mut order: Vec<usize> = (0..programs.len()).collect();
    let key = |at: usize| (programs[at].time_ps, &programs[at].name, &programs[at].id);
    order.sort_by(|&a, &b| {
        let (a, b) = (key(a), key(b));
        b.0.total_cmp(&a.0)
            .then_with(|| (a.1, a.2).cmp(&(b.1, b.2)))
    });
    let mut place = vec![0; order.len()];
    for (new, &old) in order.iter().enumerate() {
        place[old] = new;
    }
    for op in ops {
        op.program = op.program.and_then(|old| place.get(old).copied());
    }
    *programs = order.into_iter().map(|old| programs[old].clone()).collect();
}

fn op_times(model: &TraceModel, classes: &OpClasses, sum: &OpSum, steps: f64) -> OpTimes {
    let mut out = OpTimes {
        program: None,
        name: String::new(),
        category: String::new(),
        part: sum.part,
        is_collective: false,
        shape: None,
        source: None,
        framework: None,
        place: sum.place.unwrap_or_default(),
        runs: sum.runs as f64 / steps,
        middle_ps: sum.middle as f64 / steps,
        values: sum.values.clone(),
    };
    let text = |id: Option<trace_model::StringId>| {
        id.map(|id| model.str(id)).filter(|text| !text.is_empty())
    };
    if let Some(id) = model.label(sum.label).op {
        let op = model.op(id);
        model.str(op.name).clone_into(&mut out.name);
        classes.category(id).clone_into(&mut out.category);
        out.is_collective = classes.class(id).is_collective();
        let shape = || HloText::parse(text(op.hlo_text)?).map(|text| text.shape);
        out.shape = text(op.shape).or_else(shape).map(without_layout);
        out.source = text(op.source).map(str::to_owned);
        out.framework = text(op.framework_name).map(|name| name.trim_end_matches(':').to_owned());
    } else {
        model
            .str(model.label(sum.label).name)
            .clone_into(&mut out.name);
    }
    out
}

/// `f32[8,128]` of `f32[8,128]{1,0:T(8,128)}`: the layout of a value may change while the computed value stays the
/// same.
fn without_layout(shape: &str) -> String {
    let mut depth = 0_usize;
    let keep = |c: &char| {
        let inside = depth > 0;
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        !inside && *c != '{'
    };
    shape.chars().filter(keep).collect()
}
