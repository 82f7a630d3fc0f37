//! What a program without a plan needs: the values that are live at the same time.

use hlo::{
    HloModule, Instruction, InstructionId, main_memory_bytes, peak_of_live_bytes, values_at_peak,
};

use super::finish::finished;
use super::need::{MemoryShortage, NeededBuffer, NeededKind};
use crate::memory::buffers::{HBM_NAME, Purpose};

/// The live values of a program in the order of its schedule, against the memory there is.
///
/// # Errors
///
/// Why they cannot be told.
pub fn of_schedule(
    module: &HloModule,
    program: &str,
    capacity_bytes: Option<u64>,
) -> Result<MemoryShortage, &'static str> {
    let peak = peak_of_live_bytes(module)?;
    let parameters = module.parameters();
    let arguments = parameters.iter().map(|(_, it)| {
        let bytes = main_memory_bytes(it.shape.as_deref());
        buffer(module, it, bytes, Purpose::Argument)
    });
    let live = values_at_peak(module);
    let values = live.iter().filter_map(|&(id, bytes)| {
        let purpose = if is_result(module, id) {
            Purpose::Output
        } else {
            Purpose::Temporary
        };
        Some(buffer(module, module.instruction(id)?, bytes, purpose))
    });
    let buffers: Vec<NeededBuffer> = arguments
        .chain(values)
        .filter(|buffer| buffer.bytes > 0)
        .collect();
    let kinds = [
        (Purpose::Argument, "arguments"),
        (Purpose::Output, "results"),
        (Purpose::Temporary, "temporaries"),
    ];
    let mut kinds = kinds.map(|(purpose, kind)| {
        let of_purpose = buffers.iter().filter(|it| it.kind == purpose.title());
        NeededKind {
            kind: kind.to_owned(),
            bytes: of_purpose.map(|it| it.bytes).fold(0, u64::saturating_add),
            padding_bytes: None,
        }
    });
    // What is written into the memory of other values takes none of its own.
    let all = kinds
        .iter()
        .map(|kind| kind.bytes)
        .fold(0, u64::saturating_add);
    let mut shared = all.saturating_sub(peak.bytes);
    for kind in kinds.iter_mut().skip(1) {
        let part = shared.min(kind.bytes);
        (kind.bytes, shared) = (kind.bytes - part, shared - part);
    }
    let donated = module.aliases.len();
    let mut unknown = vec![
        "padding, gaps and what is written in place: the program holds no plan of its memory, so that the need is an \
         estimate (a dump has the plan in *-buffer-assignment.txt)"
            .to_owned(),
    ];
    if capacity_bytes.is_none() {
        unknown.push("how much memory there is: name the chip with --device-spec".to_owned());
    }
    Ok(finished(MemoryShortage {
        told_by: "the order of the schedule".to_owned(),
        memory: HBM_NAME.to_lowercase(),
        program: Some(program.to_owned()),
        needed_bytes: Some(peak.bytes),
        is_estimate: true,
        capacity_bytes,
        kinds: kinds.into_iter().filter(|kind| kind.bytes > 0).collect(),
        shared_bytes: (donated == 0).then_some(0),
        buffers,
        unknown,
        ..MemoryShortage::default()
    }))
}

/// Whether a value is a result of the program.
fn is_result(module: &HloModule, id: InstructionId) -> bool {
    let entry = module.entry.and_then(|entry| module.computation(entry));
    let Some(root) = entry.and_then(|entry| entry.root) else {
        return false;
    };
    let of_tuple = module.instruction(root);
    id == root || of_tuple.is_some_and(|it| &*it.opcode == "tuple" && it.operands.contains(&id))
}

fn buffer(module: &HloModule, it: &Instruction, bytes: u64, purpose: Purpose) -> NeededBuffer {
    NeededBuffer {
        instruction: it.name.to_string(),
        kind: purpose.title().to_owned(),
        bytes,
        padding_bytes: None,
        shape: it.shape.as_deref().map(ToString::to_string),
        op_name: Some(it.op_name.to_string()).filter(|name| !name.is_empty()),
        source: module.source(it),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_add_up_to_the_need_where_results_are_written_in_place() {
        let text = "HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }\n\n\
                    ENTRY %main (a: f32[256], b: f32[256]) -> (f32[256], f32[256]) {\n  %a = f32[256]{0} parameter(0)\n  \
                    %b = f32[256]{0} parameter(1)\n  %c = f32[256]{0} add(%a, %b)\n  %d = f32[256]{0} negate(%c)\n  \
                    ROOT %r = (f32[256]{0}, f32[256]{0}) tuple(%c, %d)\n}\n";
        let module = hlo::TextProgram::read(text).unwrap().module;
        let need = of_schedule(&module, "m", None).unwrap();
        let kinds: u64 = need.kinds.iter().map(|kind| kind.bytes).sum();
        assert_eq!(Some(kinds), need.needed_bytes, "{:?}", need.kinds);
        assert_eq!(need.kind("arguments"), Some(2048));
    }
}
