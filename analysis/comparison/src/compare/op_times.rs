//! Times of ops in the steps of a summary.

use facts::prelude::*;
use hlo::HloText;

use super::summary::{OpTimes, ProgramFacts, Summary};
use super::times::{DividedSteps, OpSum};
use super::work;

pub(super) fn add_ops(
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
            let number = *slot.get_or_insert(programs.len());
            if number == programs.len() {
                let program = model.program(program);
                let id = program.id.map(|id| id.to_string());
                programs.push(ProgramFacts {
                    name: model.str(program.name).to_owned(),
                    id,
                    ..ProgramFacts::default()
                });
            }
            let facts = programs.get_mut(number)?;
            facts.ops += 1;
            facts.time_ps += op.middle_ps;
            Some(number)
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
    let key = |index: usize| {
        (
            programs[index].time_ps,
            &programs[index].name,
            &programs[index].id,
        )
    };
    order.sort_by(|&a, &b| {
        let a = key(a);
        let b = key(b);
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
        operands: None,
        place: sum.place.unwrap_or_default(),
        runs: sum.runs as f64 / steps,
        middle_ps: sum.middle.as_ps_f64() / steps,
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
        let hlo = text(op.hlo_text).and_then(HloText::parse);
        let shape = text(op.shape).or(hlo.map(|text| text.shape));
        out.shape = shape.map(without_layout);
        out.operands = hlo.as_ref().and_then(work::operands);
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
    shape
        .chars()
        .filter(|c| {
            let inside = depth > 0;
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            !inside && *c != '{'
        })
        .collect()
}
