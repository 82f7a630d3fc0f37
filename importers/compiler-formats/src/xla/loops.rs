//! Trip counts of loops.
//!
//! The compiler states some of them (`known_trip_count`). The others follow from the text: the condition compares an
//! element of the loop's tuple with a constant, and the body increases that element by a constant, starting from a
//! constant.

use super::config::json_number;
use super::hlo::{Instruction, ScheduledComputation, ScheduledProgram};

/// Values are followed through at most this many copies.
const MAX_STEPS: usize = 16;

/// Trip count of `instruction`, a `while` of `computation`; `None` if it depends on data.
pub(super) fn trip_count(
    program: &ScheduledProgram<'_>,
    computation: &ScheduledComputation<'_>,
    instruction: &Instruction<'_>,
) -> Option<u64> {
    let config = instruction.attribute("backend_config").unwrap_or_default();
    let known = config
        .find("\"known_trip_count\"")
        .and_then(|from| json_number(config.get(from..)?, "n"));
    known.or_else(|| counted(program, computation, instruction))
}

fn counted(
    program: &ScheduledProgram<'_>,
    computation: &ScheduledComputation<'_>,
    instruction: &Instruction<'_>,
) -> Option<u64> {
    let called = |key| program.computation(program.find(instruction.computation(key)?)?);
    let (condition, body) = (called("condition")?, called("body")?);
    let compare = condition.root().filter(|root| root.opcode == "compare")?;
    let (left, right) = operands(condition, compare)?;
    let (counter, limit, flipped) = match element(left) {
        Some(counter) => (counter, right, false),
        None => (element(right)?, left, true),
    };
    // The value of an element before the loop, and after each iteration.
    let start = source(computation, instruction.operand_names().next()?)
        .filter(|it| it.opcode == "tuple")?;
    let before = |index| source(computation, start.operand_names().nth(index)?);
    let end = body.root().filter(|root| root.opcode == "tuple")?;
    let after = |index| source(body, end.operand_names().nth(index)?);
    let constant = |index: usize| {
        let stays = element(after(index)?) == Some(index);
        before(index).filter(|_| stays)?.constant()
    };
    let limit = limit.constant().or_else(|| constant(element(limit)?))?;
    let first = before(counter)?.constant()?;
    let add = after(counter).filter(|next| next.opcode == "add")?;
    let (a, b) = operands(body, add)?;
    let step = if element(a) == Some(counter) {
        b
    } else {
        Some(a).filter(|_| element(b) == Some(counter))?
    };
    let step = step
        .constant()
        .or_else(|| constant(element(step)?))
        .filter(|&step| step > 0)?;
    let distance = limit.checked_sub(first)?;
    let turns = match (compare.attribute("direction")?, flipped) {
        ("LT", false) | ("GT", true) => distance.checked_add(step - 1)? / step,
        ("LE", false) | ("GE", true) => distance.checked_add(step)? / step,
        ("NE", _) if distance % step == 0 => distance / step,
        _ => return None,
    };
    Some(u64::try_from(turns).unwrap_or(0))
}

fn operands<'p, 'a>(
    computation: &'p ScheduledComputation<'a>,
    instruction: &Instruction<'a>,
) -> Option<(&'p Instruction<'a>, &'p Instruction<'a>)> {
    let mut operands = instruction
        .operand_names()
        .map(|name| source(computation, name));
    Some((operands.next()??, operands.next()??))
}

/// The instruction that produces a value, looking through copies.
fn source<'p, 'a>(
    computation: &'p ScheduledComputation<'a>,
    name: &str,
) -> Option<&'p Instruction<'a>> {
    let mut found = computation.find(name)?;
    for _ in 0..MAX_STEPS {
        if !matches!(
            found.opcode,
            "copy" | "bitcast" | "copy-start" | "copy-done" | "opt-barrier"
        ) {
            return Some(found);
        }
        found = computation.find(found.operand_names().next()?)?;
    }
    None
}

/// The index of the tuple element that an instruction reads.
fn element(instruction: &Instruction<'_>) -> Option<usize> {
    let takes = instruction.opcode == "get-tuple-element";
    instruction
        .attribute("index")
        .filter(|_| takes)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
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
        let program = ScheduledProgram::parse(text).unwrap();
        let main = program.computation(program.entry.unwrap()).unwrap();
        trip_count(&program, main, main.root().unwrap())
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
