//! A small `xla.HloProto` of a synthetic program: parameters and instructions of
//! the entry computation with names, operations, shapes and operands.
//!
//! Field numbers: `xla/service/hlo.proto` and `xla/xla_data.proto` in openxla/xla.

use super::program::Program;
use crate::write::wire::Message;

const F32: u64 = 11;
const TUPLE: u64 = 13;
const BF16: u64 = 16;

/// The serialized program.
pub(super) fn proto(program: &Program) -> Vec<u8> {
    let mut out = Message::default();
    out.message(1, |module| {
        module.text(1, program.name);
        module.text(2, "main");
        module.message(3, |computation| entry(program, computation));
        module.uint(5, program.id);
        module.uint(6, 1);
    });
    out.into_bytes()
}

fn entry(program: &Program, out: &mut Message) {
    out.text(1, "main");
    let tokens = format!("bf16[{},1]", program.tokens);
    out.message(2, |parameter| {
        parameter.text(1, "tokens");
        parameter.text(2, "parameter");
        parameter.message(3, |shape| write_shape(&tokens, shape));
        parameter.int(9, 0);
        parameter.uint(35, 1);
    });
    for (index, op) in program.schedule.ops.iter().enumerate() {
        let id = index as u64 + 2;
        out.message(2, |instruction| {
            instruction.text(1, &op.name);
            instruction.text(2, op.opcode);
            instruction.message(3, |shape| write_shape(&op.shape, shape));
            instruction.message(7, |metadata| {
                metadata.text(2, &op.framework_name);
                metadata.text(3, "train.py");
                metadata.uint(4, u64::from(op.source_line));
            });
            instruction.uint(35, id);
            // Each uses the one before it: a chain is all that a viewer needs to show.
            instruction.packed(36, [id - 1]);
        });
    }
    out.uint(5, 1);
    out.uint(6, program.schedule.ops.len() as u64 + 1);
}

/// `bf16[8,128]{…}`, or a tuple without its parts.
fn write_shape(text: &str, out: &mut Message) {
    let Some((element, rest)) = text.split_once('[').filter(|(element, _)| !element.starts_with('(')) else {
        out.uint(2, TUPLE);
        return;
    };
    out.uint(2, if element == "bf16" { BF16 } else { F32 });
    let dimensions = rest.split(']').next().unwrap_or_default();
    out.packed(3, dimensions.split(',').filter_map(|dimension| dimension.parse().ok()));
}
