//! Assigns ops to the slices on op tracks. Op executions do not record their program; it follows from the program
//! execution (`XLA Modules`) around them.

use std::ops::Range;

use importer_common::names::{NO_NAME, op_name, program_name};
use importer_common::prelude::*;
use trace_model::Label;

use super::facts::{EventFactsStore, FactsId};

/// One execution of a program.
struct ProgramExecution {
    range: TimeRange,
    program: ProgramId,
}

/// The label of a slice, and the numbers of this execution that differ from those of the op.
struct OpLabel {
    label: LabelId,
    attrs: Vec<(SliceAttr, i64)>,
}

/// The slices of one thread. Several threads can share a track.
pub(super) struct ThreadOps {
    pub track: TrackId,
    /// Its slices on the track.
    pub slices: Range<u32>,
    /// Facts about their ops, by index among the slices of the thread.
    pub facts: Vec<(u32, FactsId)>,
}

/// Assigns every slice on an op track its op.
pub(super) fn label_ops(
    builder: &mut TraceBuilder,
    facts: &EventFactsStore,
    threads: Vec<ThreadOps>,
) {
    let mut executions_of: HashMap<GroupId, Vec<ProgramExecution>> = HashMap::new();
    let mut cache: HashMap<(LabelId, Option<FactsId>, Option<ProgramId>), OpLabel> = HashMap::new();
    for ThreadOps {
        track,
        slices,
        facts: said,
    } in threads
    {
        let (group, kind) = (
            builder.track_ref(track).group,
            builder.track_ref(track).kind,
        );
        if kind != TrackKind::Ops {
            continue;
        }
        let executions = executions_of
            .entry(group)
            .or_insert_with(|| executions(builder, group));
        let mut said = said.into_iter().peekable();
        for index in slices.clone() {
            let facts_id = said
                .next_if(|&(offset, _)| slices.start + offset == index)
                .map(|(_, id)| id);
            let program = program_at(executions, builder.batch(track).range(index));
            let key = (builder.batch(track).label(index), facts_id, program);
            let new = cache
                .entry(key)
                .or_insert_with(|| relabel(builder, facts, key.0, facts_id, program));
            let batch = builder.batch_mut(track);
            batch.set_label(index, new.label);
            for &(attr, value) in &new.attrs {
                batch.set_attr(index, attr, value);
            }
        }
    }
}

/// Executions of programs on a core, by start.
fn executions(builder: &mut TraceBuilder, group: GroupId) -> Vec<ProgramExecution> {
    let lines = builder
        .tracks_in(group)
        .filter(|(_, track)| track.kind == TrackKind::Modules);
    let lines: Vec<TrackId> = lines.map(|(id, _)| id).collect();
    let mut executions = Vec::new();
    for line in lines {
        for index in 0..builder.batch(line).len() as u32 {
            let (range, label) = (
                builder.batch(line).range(index),
                builder.batch(line).label(index),
            );
            let name = builder.label_name(label).to_owned();
            let (name, id) = program_name(&name);
            executions.push(ProgramExecution {
                range,
                program: builder.program(name, id),
            });
        }
    }
    executions.sort_by_key(|execution| (execution.range.start, execution.range.end));
    executions
}

/// The program whose execution contains the start of `op`.
fn program_at(executions: &[ProgramExecution], op: TimeRange) -> Option<ProgramId> {
    let after = executions.partition_point(|execution| execution.range.start <= op.start);
    let execution = executions.get(after.checked_sub(1)?)?;
    (op.start < execution.range.end || op.start == execution.range.start)
        .then_some(execution.program)
}

fn relabel(
    builder: &mut TraceBuilder,
    facts: &EventFactsStore,
    label: LabelId,
    said: Option<FactsId>,
    program: Option<ProgramId>,
) -> OpLabel {
    let shown = builder.label_ref(label).name;
    let mut op = Op {
        program,
        ..facts.op(shown, said)
    };
    // Without a display name, the name is the whole instruction.
    let text = builder.str(shown).to_owned();
    if let Some(short) = op_name(&text) {
        op.hlo_text = op.hlo_text.or(Some(shown));
        op.name = builder.intern(short);
    } else if text == NO_NAME
        && let Some(short) = op
            .hlo_text
            .and_then(|text| op_name(builder.str(text)).map(str::to_owned))
    {
        op.name = builder.intern(&short);
    }
    let stated = op.clone();
    let id = builder.op(op);
    let label = builder.label_of(Label {
        name: stated.name,
        op: Some(id),
    });
    OpLabel {
        label,
        attrs: differences(builder, id, &stated),
    }
}

/// Numbers of one execution that differ from those of its op, as custom calls have.
fn differences(builder: &TraceBuilder, id: OpId, stated: &Op) -> Vec<(SliceAttr, i64)> {
    let op = builder.op_ref(id);
    [
        (SliceAttr::Flops, stated.flops, op.flops),
        (SliceAttr::ModelFlops, stated.model_flops, op.model_flops),
        (SliceAttr::Bytes, stated.bytes_accessed, op.bytes_accessed),
    ]
    .into_iter()
    .filter(|(_, stated, known)| stated.is_some() && stated != known)
    .filter_map(|(attr, stated, _)| Some((attr, i64::try_from(stated?).ok()?)))
    .collect()
}
