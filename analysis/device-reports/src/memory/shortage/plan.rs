//! What a program needs by the compiler's plan of its memory.

use super::finish::finished;
use super::need::{MemoryShortage, NeededBuffer, NeededKind};
use crate::memory::buffers::{BuffersReport, HBM, MemoryPlan, PlannedBuffer, Purpose};

/// The program that needs most, against the memory there is.
pub fn of_program(report: &BuffersReport) -> Option<MemoryShortage> {
    let program = report.programs.first()?;
    let plan = program.plan(HBM)?;
    let mut out = MemoryShortage {
        told_by: "the compiler's plan".to_owned(),
        memory: report.main_memory.to_lowercase(),
        program: Some(program.program.clone()),
        needed_bytes: Some(plan.total_bytes),
        capacity_bytes: report.capacity_of(HBM),
        kinds: Vec::new(),
        shared_bytes: Some(plan.donated_bytes),
        buffers: plan
            .at_peak
            .iter()
            .filter(|buffer| buffer.purpose != Purpose::Unused)
            .map(buffer)
            .collect(),
        ..MemoryShortage::default()
    };
    let state = out
        .buffers
        .iter()
        .filter(|buffer| buffer.is_optimizer_state())
        .map(|buffer| buffer.bytes)
        .fold(0, u64::saturating_add);
    out.kinds = kinds(plan, state);
    if out.capacity_bytes.is_none() {
        out.unknown
            .push("how much memory there is: name the chip with --device-spec".to_owned());
    }
    out.unknown
        .push("what other programs keep in memory meanwhile: a plan is of one program".to_owned());
    Some(finished(out))
}

/// By kind; together the whole need. Of the arguments `state` bytes are the state of an optimizer.
fn kinds(plan: &MemoryPlan, state: u64) -> Vec<NeededKind> {
    let padding = |purposes: &[Purpose]| {
        let buffers = plan
            .at_peak
            .iter()
            .filter(|buffer| purposes.contains(&buffer.purpose));
        Some(
            buffers
                .map(PlannedBuffer::padding_bytes)
                .fold(0, u64::saturating_add),
        )
    };
    let kind = |kind: &str, bytes, padding_bytes| NeededKind {
        kind: kind.to_owned(),
        bytes,
        padding_bytes,
    };
    let temporaries = plan
        .temporary_bytes
        .saturating_sub(plan.fragmentation_bytes);
    let arguments = plan.argument_bytes.saturating_add(plan.donated_bytes);
    let state = state.min(arguments);
    let kinds = [
        kind(
            "arguments",
            arguments - state,
            padding(&[Purpose::Argument, Purpose::Donated]),
        ),
        kind("optimizer state", state, None),
        kind("results", plan.output_bytes, padding(&[Purpose::Output])),
        kind("temporaries", temporaries, padding(&[Purpose::Temporary])),
        kind("fragmentation", plan.fragmentation_bytes, None),
        kind(
            "constants",
            plan.constant_bytes,
            padding(&[Purpose::Constant]),
        ),
    ];
    kinds.into_iter().filter(|kind| kind.bytes > 0).collect()
}

fn buffer(planned: &PlannedBuffer) -> NeededBuffer {
    NeededBuffer {
        instruction: planned.instruction.clone(),
        kind: planned.purpose.title().to_owned(),
        bytes: planned.bytes,
        padding_bytes: planned.element_bytes.map(|_| planned.padding_bytes()),
        shape: planned.shape.clone(),
        op_name: planned.op_name.clone(),
        source: planned.source.clone(),
    }
}
