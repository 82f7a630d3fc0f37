//! The computations that ops call.

use std::collections::BTreeMap;

use super::writer::{WrittenComputation, WrittenInstruction};
use super::{HloBuilder, InnerOp, SyntheticOp};

impl HloBuilder<'_> {
    /// The computations that op `index` calls.
    pub fn called(&mut self, index: usize) -> Vec<u64> {
        let op = &self.program.schedule.ops[index];
        match op.inner {
            InnerOp::Nothing if op.attributes.contains("to_apply=") => vec![self.add()],
            InnerOp::Nothing => Vec::new(),
            InnerOp::Product | InnerOp::Elementwise | InnerOp::Update => vec![self.fused(op)],
            InnerOp::Loop { .. } => self.loop_of(index),
        }
    }

    /// The addition function of reductions, written once.
    fn add(&mut self) -> u64 {
        if let Some(add) = self.add {
            return add;
        }
        let mut out = WrittenComputation::new("add");
        let operands = (0..2)
            .map(|i| {
                self.writer
                    .parameter(&mut out, &format!("add.arg.{i}"), "bf16[]", i)
            })
            .collect();
        let sum = WrittenInstruction::new("add.sum", "add", "bf16[]", operands);
        let root = self.writer.add(&mut out, &sum, |_| {});
        let id = self.writer.end(out, root, false);
        self.add = Some(id);
        id
    }

    fn fused(&mut self, op: &SyntheticOp) -> u64 {
        let number = op.number();
        let mut out = WrittenComputation::new(&format!("fused_computation.{number}"));
        let mut operands = Vec::new();
        for (i, (shape, _)) in op.operands.iter().enumerate() {
            let name = format!("param_{i}.{number}");
            operands.push(self.writer.parameter(&mut out, &name, shape, i as u64));
        }
        let (opcode, name) = match op.inner {
            InnerOp::Product => ("convolution", format!("convolution.{number}")),
            InnerOp::Update => (
                "dynamic-update-slice",
                format!("dynamic-update-slice.{number}"),
            ),
            _ => ("tanh", format!("tanh.{number}")),
        };
        let instruction = WrittenInstruction::new(&name, opcode, &op.shape, operands);
        let is_product = op.inner == InnerOp::Product;
        let root = self.writer.add(&mut out, &instruction, |out| {
            if is_product {
                // bf_io->bf: rows × inner by inner × columns.
                out.message(16, |dimensions| {
                    for field in [4, 8, 10] {
                        dimensions.uint(field, 1);
                    }
                });
                out.message(51, |precision| precision.packed(1, [0, 0]));
            }
        });
        self.writer.end(out, root, true)
    }

    /// Body and condition of the loop at `index`. Parameter and result are the counter and the state.
    fn loop_of(&mut self, index: usize) -> Vec<u64> {
        let program = self.program;
        let outer = &program.schedule.ops[index];
        let number = outer.number();
        let inner: Vec<usize> = (0..program.schedule.ops.len())
            .filter(|&at| program.schedule.ops[at].inside == Some(index))
            .collect();
        let called: Vec<Vec<u64>> = inner.iter().map(|&at| self.called(at)).collect();

        let mut body = WrittenComputation::new(&format!("body.{number}"));
        let state =
            self.writer
                .parameter(&mut body, &format!("body.state.{number}"), &outer.shape, 0);
        let mut known = BTreeMap::new();
        let mut results = Vec::new();
        let mut parts = 0;
        for (&at, called) in inner.iter().zip(called) {
            let op = &program.schedule.ops[at];
            for (shape, name) in &op.operands {
                if !known.contains_key(name) {
                    parts += 1;
                    let part =
                        WrittenInstruction::new(name, "get-tuple-element", shape, vec![state]);
                    known.insert(
                        name.clone(),
                        self.writer.add(&mut body, &part, |out| out.uint(13, parts)),
                    );
                }
            }
            results.push(self.op(&mut body, op, called, &mut known));
        }
        let name = format!("body.result.{number}");
        let tuple = WrittenInstruction::new(&name, "tuple", &outer.shape, results);
        let root = self.writer.add(&mut body, &tuple, |_| {});
        let body = self.writer.end(body, root, false);

        let mut condition = WrittenComputation::new(&format!("condition.{number}"));
        let state = self.writer.parameter(
            &mut condition,
            &format!("condition.state.{number}"),
            &outer.shape,
            0,
        );
        let name = format!("condition.compare.{number}");
        let compare = WrittenInstruction::new(&name, "compare", "pred[]", vec![state]);
        let root = self.writer.add(&mut condition, &compare, |_| {});
        vec![body, self.writer.end(condition, root, false)]
    }
}
