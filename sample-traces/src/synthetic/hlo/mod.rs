//! The `xla.HloProto` of a synthetic program, as the compiler would write it.
//!
//! ```text
//! fused_computation.N   parameters, then a convolution (matmuls), tanh (vector ops) …
//! body.N, condition.N   of loops
//! main                  parameters, then the ops of the schedule
//! ```
//!
//! Field numbers: `xla/service/hlo.proto` and `xla/xla_data.proto` in openxla/xla.

mod bodies;
mod shape;
mod writer;

use std::collections::{BTreeMap, BTreeSet};

use super::op::{InnerOp, ReplicaGroupPattern, SyntheticOp};
use super::program::SyntheticProgram;
use crate::write::ProtoMessage;
use writer::{HloWriter, WrittenComputation, WrittenInstruction};

/// The fictitious source file.
const FILE: &str = "train.py";
/// Source line that calls the step.
const CALLER: u64 = 80;

pub(super) fn proto(program: &SyntheticProgram) -> Vec<u8> {
    let mut builder = HloBuilder {
        program,
        writer: HloWriter::default(),
        add: None,
    };
    let (entry, order) = builder.entry();
    let mut out = ProtoMessage::default();
    out.message(1, |module| {
        module.text(1, program.name);
        module.text(2, "main");
        for computation in builder.writer.into_computations() {
            module.bytes(3, computation.into_bytes());
        }
        module.uint(5, program.id);
        module.uint(6, entry);
        module.message(7, |schedule| {
            schedule.message(1, |sequence| {
                sequence.uint(1, entry);
                sequence.message(2, |ids| ids.packed(1, order));
            });
        });
        module.message(15, |assignment| {
            assignment.uint(1, 1);
            assignment.uint(2, u64::from(program.devices));
            for device in 0..u64::from(program.devices) {
                assignment.message(3, |devices| devices.packed(1, [device]));
            }
        });
        module.message(17, |frames| stack_frames(&lines(program), frames));
        if let Some([data, model]) = program.mesh {
            let mesh = format!("{{mesh = #sdy.mesh<[\"data\"={data}, \"model\"={model}]>}}");
            module.message(19, |attributes| {
                attributes.message(1, |entry| {
                    entry.text(1, "xla.sdy.meshes");
                    entry.text(2, &mesh);
                });
            });
        }
    });
    out.into_bytes()
}

/// Distinct source lines of the program.
fn lines(program: &SyntheticProgram) -> Vec<u64> {
    let lines = program
        .schedule
        .ops
        .iter()
        .map(|op| u64::from(op.source_line))
        .filter(|&line| line > 0);
    lines.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Writes the stack frames: frame 1 is the caller, frame `i + 2` is `lines[i]` of the step.
fn stack_frames(lines: &[u64], out: &mut ProtoMessage) {
    out.text(1, FILE);
    out.text(2, "main");
    out.text(2, "train_step");
    for (function, line) in std::iter::once((1, CALLER)).chain(lines.iter().map(|&line| (2, line)))
    {
        out.message(3, |location| {
            location.uint(1, 1);
            location.uint(2, function);
            location.uint(3, line);
        });
    }
    for frame in 0..=lines.len() as u64 {
        out.message(4, |out| {
            out.uint(1, frame + 1);
            out.uint(2, u64::from(frame > 0));
        });
    }
}

struct HloBuilder<'a> {
    program: &'a SyntheticProgram,
    writer: HloWriter,
    /// The function that reductions call.
    add: Option<u64>,
}

impl HloBuilder<'_> {
    /// Writes the entry computation; returns its id and the order of its instructions.
    fn entry(&mut self) -> (u64, Vec<u64>) {
        let ops = &self.program.schedule.ops;
        // Called computations come before their callers.
        let called: Vec<Vec<u64>> = (0..ops.len()).map(|index| self.called(index)).collect();
        let mut main = WrittenComputation::new("main");
        let mut known = BTreeMap::new();
        let mut parameters = 0;
        for op in ops.iter().filter(|op| op.inside.is_none()) {
            for (shape, name) in &op.operands {
                let made = ops.iter().any(|op| op.name == *name && op.inside.is_none());
                if !made && !known.contains_key(name) {
                    known.insert(
                        name.clone(),
                        self.writer.parameter(&mut main, name, shape, parameters),
                    );
                    parameters += 1;
                }
            }
        }
        let mut last = 0;
        for (op, called) in ops.iter().zip(called).filter(|(op, _)| op.inside.is_none()) {
            last = self.op(&mut main, op, called, &mut known);
        }
        let order = main.instructions.clone();
        (self.writer.end(main, last, false), order)
    }

    /// Adds an op with operands given by name.
    fn op(
        &mut self,
        computation: &mut WrittenComputation,
        op: &SyntheticOp,
        called: Vec<u64>,
        known: &mut BTreeMap<String, u64>,
    ) -> u64 {
        let operands = op
            .operands
            .iter()
            .filter_map(|(_, name)| known.get(name).copied())
            .collect();
        let instruction = WrittenInstruction {
            name: &op.name,
            opcode: op.opcode,
            shape: &op.shape,
            operands,
            called,
        };
        let frame = lines(self.program)
            .iter()
            .position(|&line| line == u64::from(op.source_line));
        let id = self.writer.add(computation, &instruction, |out| {
            out.message(7, |metadata| {
                metadata.text(2, op.framework_name.trim_end_matches(':'));
                if op.source_line > 0 {
                    metadata.text(3, FILE);
                    metadata.uint(4, u64::from(op.source_line));
                }
                metadata.uint(15, frame.map_or(0, |frame| frame as u64 + 2));
            });
            write_facts(op, out);
        });
        known.insert(op.name.clone(), id);
        id
    }
}

/// Writes the fields that only some instructions have.
fn write_facts(op: &SyntheticOp, out: &mut ProtoMessage) {
    match op.category {
        "convolution fusion" => out.text(11, "kOutput"),
        "loop fusion" => out.text(11, "kLoop"),
        _ => {}
    }
    if let InnerOp::Loop { times } = op.inner {
        out.text(
            43,
            &format!("{{\"known_trip_count\":{{\"n\":\"{times}\"}}}}"),
        );
    }
    if let Some(ReplicaGroupPattern {
        channel,
        count,
        size,
        dims,
        permutation,
    }) = &op.groups
    {
        out.uint(26, u64::from(*channel));
        out.uint(71, 1);
        out.message(92, |groups| {
            groups.uint(1, *count);
            groups.uint(2, *size);
            groups.packed(3, dims.iter().copied());
            groups.packed(4, permutation.iter().copied());
        });
    }
}
