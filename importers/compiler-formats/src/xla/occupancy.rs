//! VMEM and HBM use of the values of a program over time.
//!
//! A value lives from the instruction that produces it to the end of the last one that uses it, under any name.
//! Parameters live from the beginning, and the result lives to the end. VMEM use includes the scratch memory of running
//! instructions. Bytes do not include the padding of tiles. A result that reuses the memory of an operand counts in
//! addition to the operand while the instruction runs.

use hlo::{ArrayShape, HBM, Instruction, InstructionId, VMEM};

use super::config::json_number;
use super::program::ScheduledProgram;

/// Bytes in use over time: each entry is a time, and the bytes in use from then on.
pub(super) type OccupancyCurve = Vec<(i64, u64)>;

/// The curves of VMEM and HBM for the times of each instruction of the entry computation.
pub(super) fn curves(program: &ScheduledProgram<'_>, times: &[(i64, i64)]) -> [OccupancyCurve; 2] {
    let Some(entry) = program.module.entry else {
        return Default::default();
    };
    let end = times.last().map_or(0, |&(_, end)| end);
    let instructions: Vec<(InstructionId, &Instruction)> = program.module.iter_of(entry).collect();
    let lives = lives(program, &instructions, times, end);
    let mut changes: [Vec<(i64, i128)>; 2] = Default::default();
    for ((&(id, instruction), &(begin, done)), &last) in instructions.iter().zip(times).zip(&lives)
    {
        for (space, changes) in [VMEM, HBM].into_iter().zip(&mut changes) {
            let mut add = |from: i64, to: i64, bytes: u64| {
                if bytes > 0 {
                    changes.extend([(from, i128::from(bytes)), (to, -i128::from(bytes))]);
                }
            };
            let from = if &*instruction.opcode == "parameter" {
                0
            } else {
                begin
            };
            add(from, last, allocated(program, id, instruction, space));
            if space == VMEM {
                add(begin, done, set_aside(program.config(id)));
            }
        }
    }
    changes.map(|changes| curve(changes, end))
}

/// The last use of each value.
fn lives(
    program: &ScheduledProgram<'_>,
    instructions: &[(InstructionId, &Instruction)],
    times: &[(i64, i64)],
    end: i64,
) -> Vec<i64> {
    let mut lives: Vec<i64> = times.iter().map(|&(_, end)| end).collect();
    lives.resize(instructions.len(), end);
    let ends = lives.clone();
    let first = instructions.first().map_or(0, |(id, _)| id.index());
    let position = |id: InstructionId| id.index().wrapping_sub(first);
    let done = |id| program.done(id).map(position);
    for (index, &(id, instruction)) in instructions.iter().enumerate().rev() {
        if program.line(id).is_root || &*instruction.opcode == "parameter" {
            lives[index] = end;
        }
        let until = if is_same_memory(instruction) {
            lives[index]
        } else if let Some(done) = done(id) {
            // The operand is read for as long as the transfer is in flight.
            ends.get(done).copied().unwrap_or(end)
        } else {
            ends[index]
        };
        for &operand in &instruction.operands {
            if let Some(life) = lives.get_mut(position(operand)) {
                *life = until.max(*life);
            }
        }
    }
    // The memory that a start op allocates holds the value of its done op.
    for (index, &(id, _)) in instructions.iter().enumerate() {
        if let Some(life) = done(id).and_then(|done| lives.get(done).copied()) {
            lives[index] = life.max(lives[index]);
        }
    }
    lives
}

/// Whether the result is just an operand under another name.
fn is_same_memory(instruction: &Instruction) -> bool {
    match &*instruction.opcode {
        "bitcast" | "tuple" | "get-tuple-element" | "opt-barrier" | "add-dependency" | "while" => {
            true
        }
        "custom-call" => is_bitcast_call(instruction),
        opcode => opcode.ends_with("-done") || opcode.ends_with("-update"),
    }
}

/// Whether a custom call gives its operand another type.
pub(super) fn is_bitcast_call(instruction: &Instruction) -> bool {
    let target = instruction.attributes().custom_call_target.as_deref();
    target.is_some_and(|target| target.contains("Bitcast"))
}

/// Bytes of a memory that an instruction needs for its result.
fn allocated(
    program: &ScheduledProgram<'_>,
    id: InstructionId,
    instruction: &Instruction,
    space: u64,
) -> u64 {
    if is_same_memory(instruction) || &*instruction.opcode == "constant" {
        return 0;
    }
    let done = program.done(id).and_then(|done| program.instruction(done));
    let arrays = done.unwrap_or(instruction).arrays().into_iter();
    arrays
        .filter(|array| array.memory_space == space)
        .filter_map(ArrayShape::bytes)
        .fold(0, u64::saturating_add)
}

/// VMEM scratch memory of an instruction with this configuration.
fn set_aside(config: &str) -> u64 {
    let list = config
        .split_once("\"used_scoped_memory_configs\":[")
        .and_then(|(_, rest)| rest.split(']').next());
    let entries = list.unwrap_or_default().split('}');
    let in_vmem = entries.filter(|entry| json_number(entry, "memory_space") == Some(VMEM));
    in_vmem
        .filter_map(|entry| json_number(entry, "size"))
        .fold(0, u64::saturating_add)
}

/// The running sum of changes.
fn curve(mut changes: Vec<(i64, i128)>, end: i64) -> OccupancyCurve {
    changes.sort_unstable();
    let mut out: OccupancyCurve = Vec::new();
    let mut sum = 0_i128;
    for (time, change) in changes {
        sum += change;
        let value = u64::try_from(sum).unwrap_or(if sum < 0 { 0 } else { u64::MAX });
        match out.last_mut() {
            Some(last) if last.0 == time => last.1 = value,
            _ => out.push((time, value)),
        }
    }
    // At the end all memory is released, so no value holds after that.
    out.retain(|&(time, _)| time < end);
    out.dedup_by_key(|&mut (_, value)| value);
    out
}

#[cfg(test)]
mod tests {
    use hlo::TextProgram;

    use super::*;

    #[test]
    fn values_live_from_definition_to_last_use() {
        let text = "HloModule m, is_scheduled=true\n\nENTRY %main (p: f32[10]) -> f32[10] {\n  \
            %p = f32[10]{0} parameter(0)\n  \
            %cs = (f32[10]{0:S(1)}, f32[10]{0}, u32[]{:S(2)}) copy-start(%p)\n  \
            %cd = f32[10]{0:S(1)} copy-done(%cs)\n  \
            %v = f32[10]{0:S(1)} bitcast(%cd)\n  \
            %f = f32[20]{0:S(1)} fusion(%v), backend_config={\"used_scoped_memory_configs\":[{\"memory_space\":\"1\",\"offset\":\"0\",\"size\":\"7\"}]}\n  \
            %g = f32[10]{0} fusion(%f)\n  ROOT %h = f32[10]{0} fusion(%g)\n}\n";
        let read = TextProgram::read(text).unwrap();
        let program = ScheduledProgram::new(&read.module, &read.lines, text.len());
        let times = [(0, 0), (0, 0), (0, 5), (5, 5), (5, 10), (10, 20), (20, 30)];
        let [vmem, hbm] = curves(&program, &times);
        assert_eq!(vmem, [(0, 40), (5, 40 + 80 + 7), (10, 80), (20, 0)]);
        assert_eq!(hbm, [(0, 40), (10, 80), (20, 120)]);
    }
}
