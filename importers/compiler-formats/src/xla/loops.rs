//! Trip counts of loops.
//!
//! The compiler states some of them (`known_trip_count`). The others follow from the text: the condition compares an
//! element of the loop's tuple with a constant, and the body increases that element by a constant, starting from a
//! constant.

use hlo::InstructionId;

use super::program::ScheduledProgram;

/// Values are followed through at most this many copies.
const MAX_STEPS: usize = 16;

/// Trip count of a `while`; `None` if it depends on data.
pub(super) fn trip_count(program: &ScheduledProgram<'_>, id: InstructionId) -> Option<u64> {
    let known = program.instruction(id)?.attributes().trip_count;
    known.or_else(|| counted(program, id))
}

fn counted(program: &ScheduledProgram<'_>, id: InstructionId) -> Option<u64> {
    let module = program.module;
    let (body, condition) = module.loop_body(program.instruction(id)?)?;
    let root = |computation, opcode| {
        let root = module.computation(computation)?.root?;
        (program.line(root).opcode == opcode).then_some(root)
    };
    let compare = root(condition, "compare")?;
    let (left, right) = operands(program, compare)?;
    let (counter, limit, flipped) = match element(program, left) {
        Some(counter) => (counter, right, false),
        None => (element(program, right)?, left, true),
    };
    // The value of an element before the loop, and after each iteration.
    let start = source(program, program.operand(id, 0)?)
        .filter(|&start| program.line(start).opcode == "tuple")?;
    let before = |index| source(program, program.operand(start, index)?);
    let end = root(body, "tuple")?;
    let after = |index| source(program, program.operand(end, index)?);
    let value = |id| program.line(id).constant();
    let constant = |index: usize| {
        let stays = element(program, after(index)?) == Some(index);
        value(before(index).filter(|_| stays)?)
    };
    let limit = value(limit).or_else(|| constant(element(program, limit)?))?;
    let first = value(before(counter)?)?;
    let add = after(counter).filter(|&next| program.line(next).opcode == "add")?;
    let (a, b) = operands(program, add)?;
    let step = if element(program, a) == Some(counter) {
        b
    } else {
        Some(a).filter(|_| element(program, b) == Some(counter))?
    };
    let step = value(step)
        .or_else(|| constant(element(program, step)?))
        .filter(|&step| step > 0)?;
    let distance = limit.checked_sub(first)?;
    let turns = match (program.line(compare).attribute("direction")?, flipped) {
        ("LT", false) | ("GT", true) => distance.checked_add(step - 1)? / step,
        ("LE", false) | ("GE", true) => distance.checked_add(step)? / step,
        ("NE", _) if distance % step == 0 => distance / step,
        _ => return None,
    };
    Some(u64::try_from(turns).unwrap_or(0))
}

fn operands(
    program: &ScheduledProgram<'_>,
    id: InstructionId,
) -> Option<(InstructionId, InstructionId)> {
    let value = |number| source(program, program.operand(id, number)?);
    Some((value(0)?, value(1)?))
}

/// The instruction that produces a value, looking through copies.
fn source(program: &ScheduledProgram<'_>, mut id: InstructionId) -> Option<InstructionId> {
    for _ in 0..MAX_STEPS {
        if !matches!(
            program.line(id).opcode,
            "copy" | "bitcast" | "copy-start" | "copy-done" | "opt-barrier"
        ) {
            return Some(id);
        }
        id = program.operand(id, 0)?;
    }
    None
}

/// The index of the tuple element that an instruction reads.
fn element(program: &ScheduledProgram<'_>, id: InstructionId) -> Option<usize> {
    let line = program.line(id);
    let takes = line.opcode == "get-tuple-element";
    line.attribute("index").filter(|_| takes)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use hlo::TextProgram;

    use super::*;

    /// A `lax.scan` over twelve layers, as libtpu writes it.
    const SCAN: &str = "HloModule m, is_scheduled=true

%body (t: (s32[], f32[8], s32[])) -> (s32[], f32[8], s32[]) {
  %one = s32[] constant(1)
  %t = (s32[], f32[8], s32[]) parameter(0)
  %i = s32[] get-tuple-element(%t), index=0
  %copy.2 = s32[]{:S(6)} copy(%i)
  %next = s32[] add(%copy.2, %one)
  %x = f32[8] get-tuple-element(%t), index=1
  %n = s32[] get-tuple-element(%t), index=2
  ROOT %tuple.1 = (s32[], f32[8], s32[]) tuple(%next, %x, %n)
}

%cond (c: (s32[], f32[8], s32[])) -> pred[] {
  %c = (s32[], f32[8], s32[]) parameter(0)
  %limit = s32[] constant(12)
  %m = s32[] get-tuple-element(%c), index=2
  %j = s32[] get-tuple-element(%c), index=0
  ROOT %lt = pred[] compare(%j, %limit), direction=LT
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %zero = s32[] constant(0)
  %copy.10 = s32[] copy(%zero)
  %n.1 = s32[] constant(30)
  %x.1 = f32[8] parameter(0)
  %tuple.2 = (s32[], f32[8], s32[]) tuple(%copy.10, %x.1, %n.1)
  ROOT %while.1 = (s32[], f32[8], s32[]) while(%tuple.2), condition=%cond, body=%body
}
";

    fn count(text: &str) -> Option<u64> {
        let read = TextProgram::read(text).unwrap();
        let program = ScheduledProgram::new(&read.module, &read.lines, text.len());
        trip_count(&program, read.module.last().unwrap())
    }

    #[test]
    fn trip_count_of_counting_loops() {
        assert_eq!(count(SCAN), Some(12));
        assert_eq!(
            count(&SCAN.replace("direction=LT", "direction=LE")),
            Some(13)
        );
        assert_eq!(
            count(&SCAN.replace(
                "compare(%j, %limit), direction=LT",
                "compare(%limit, %j), direction=GT"
            )),
            Some(12)
        );
        assert_eq!(count(&SCAN.replace("constant(1)", "constant(5)")), Some(3));
        assert_eq!(count(&SCAN.replace("constant(0)", "constant(20)")), Some(0));
        // The limit can be an element of the tuple that the body does not change.
        let passed = SCAN.replace("compare(%j, %limit)", "compare(%j, %m)");
        assert_eq!(count(&passed), Some(30));
        assert_eq!(
            count(&passed.replace("tuple(%next, %x, %n)", "tuple(%next, %x, %next)")),
            None
        );
        assert_eq!(count(&SCAN.replace("direction=LT", "direction=EQ")), None);
        assert_eq!(count(&SCAN.replace("constant(1)", "constant(0)")), None);
        assert_eq!(
            count(&SCAN.replace("add(%copy.2", "multiply(%copy.2")),
            None
        );
        // The result of any other op is unknown.
        assert_eq!(
            count(&SCAN.replace(
                "tuple(%copy.10, %x.1, %n.1)",
                "fusion(%copy.10, %x.1, %n.1)"
            )),
            None
        );
        assert_eq!(
            count(&SCAN.replace("constant(0)", "constant(-9223372036854775808)")),
            None
        );
    }
}
