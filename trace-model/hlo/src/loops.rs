//! How often loops run.
//!
//! The compiler states some trip counts (`known_trip_count`). Others follow from the program: the condition compares a
//! value of the loop with a constant, and the body increases that value by a constant, starting from a constant.

use crate::counter::{CompareDirection, CounterPart};
use crate::{ComputationId, HloModule, Instruction, InstructionId, Shape};

/// Values are followed through at most this many copies.
const MAX_STEPS: usize = 16;

impl HloModule {
    /// How often the body of a `while` runs: as the compiler states it, or as it follows from the program. `None` if it
    /// depends on data, or if this is no loop.
    pub fn trip_count(&self, instruction: &Instruction) -> Option<u64> {
        let stated = instruction.attributes().trip_count;
        stated.or_else(|| CountingLoop::of(self, instruction)?.trip_count())
    }
}

/// A `while` whose parts are known.
struct CountingLoop<'a> {
    module: &'a HloModule,
    /// The loop itself.
    outer: &'a Instruction,
    body: ComputationId,
    condition: ComputationId,
    /// Its values are the elements of one tuple, as in compiled programs; else they are operands and parameters of their
    /// own.
    is_tuple: bool,
}

/// An instruction with two operands, which the compiler may have put into a fusion of its own.
struct Binary<'a> {
    op: &'a Instruction,
    operands: [&'a Instruction; 2],
}

impl<'a> CountingLoop<'a> {
    fn of(module: &'a HloModule, outer: &'a Instruction) -> Option<Self> {
        let (body, condition) = module.loop_body(outer)?;
        let parameters = module.instructions_of(body).iter();
        let parameters = parameters.filter(|it| &*it.opcode == "parameter").count();
        let is_tuple = parameters == 1 && matches!(outer.shape.as_deref()?, Shape::Tuple(_));
        // Values from outside of a region are not among the operands, which then have other places.
        let results = module.root(body)?;
        let has_all = outer.operands.len() == parameters
            && (parameters == 1 || results.operands.len() == parameters);
        (is_tuple || has_all).then_some(Self {
            module,
            outer,
            body,
            condition,
            is_tuple,
        })
    }

    fn trip_count(&self) -> Option<u64> {
        let compare = self.binary("compare", self.module.root(self.condition)?)?;
        let CounterPart::Compare(comparison) = compare.op.counter else {
            return None;
        };
        let [left, right] = compare.operands;
        let (counter, limit, comparison) = match self.element(left) {
            Some(counter) if self.changes(counter) => (counter, right, comparison),
            _ => (self.element(right)?, left, comparison.flipped()),
        };
        let limit = value(limit).or_else(|| self.unchanged(self.element(limit)?))?;
        let first = value(self.before(counter)?)?;
        let step = self.step(counter)?;
        let (distance, step, comparison) = if step < 0 {
            (
                first.checked_sub(limit)?,
                step.checked_neg()?,
                comparison.flipped(),
            )
        } else {
            (limit.checked_sub(first)?, step, comparison)
        };
        let turns = match comparison {
            _ if step == 0 => return None,
            CompareDirection::Less => distance.checked_add(step - 1)? / step,
            CompareDirection::LessOrEqual => distance.checked_add(step)? / step,
            CompareDirection::NotEqual if distance >= 0 && distance % step == 0 => distance / step,
            _ => return None,
        };
        Some(u64::try_from(turns).unwrap_or(0))
    }

    /// By how much an iteration increases a value.
    fn step(&self, counter: usize) -> Option<i64> {
        let next = self.after(counter)?;
        let constant = |it| value(it).or_else(|| self.unchanged(self.element(it)?));
        let is_counter = |it| self.element(it) == Some(counter);
        if let Some(add) = self.binary("add", next) {
            let [a, b] = add.operands;
            let other = if is_counter(a) { b } else { a };
            (is_counter(a) || is_counter(b)).then(|| constant(other))?
        } else {
            let [a, b] = self.binary("subtract", next)?.operands;
            constant(b).filter(|_| is_counter(a))?.checked_neg()
        }
    }

    /// A value before the first iteration.
    fn before(&self, index: usize) -> Option<&'a Instruction> {
        let of = if self.is_tuple {
            let start = self.source(self.operand(self.outer, 0)?);
            Some(start).filter(|it| &*it.opcode == "tuple")?
        } else {
            self.outer
        };
        Some(self.source(self.operand(of, index)?))
    }

    /// A value after an iteration.
    fn after(&self, index: usize) -> Option<&'a Instruction> {
        let root = self.module.root(self.body)?;
        let end = match &*root.opcode {
            "tuple" => self.operand(root, index)?,
            _ if index == 0 && !self.is_tuple => root,
            _ => return None,
        };
        Some(self.source(end))
    }

    fn changes(&self, index: usize) -> bool {
        self.after(index).and_then(|it| self.element(it)) != Some(index)
    }

    /// A constant that the body leaves as it is.
    fn unchanged(&self, index: usize) -> Option<i64> {
        value(self.before(index).filter(|_| !self.changes(index))?)
    }

    /// Which value of the loop an instruction of its body or condition is.
    fn element(&self, instruction: &Instruction) -> Option<usize> {
        match instruction.counter {
            CounterPart::Element(index) if self.is_tuple => {
                let of = self.operand(instruction, 0)?;
                (&*of.opcode == "parameter").then_some(index as usize)
            }
            _ if &*instruction.opcode == "parameter" && !self.is_tuple => {
                Some(instruction.parameter_number? as usize)
            }
            _ => None,
        }
    }

    fn operand(&self, instruction: &Instruction, number: usize) -> Option<&'a Instruction> {
        let operands: &[InstructionId] = &instruction.operands;
        self.module.instruction(*operands.get(number)?)
    }

    /// The instruction that makes a value, looking through copies.
    fn source(&self, mut instruction: &'a Instruction) -> &'a Instruction {
        for _ in 0..MAX_STEPS {
            let is_copy = matches!(
                &*instruction.opcode,
                "copy" | "bitcast" | "copy-start" | "copy-done" | "opt-barrier"
            );
            match self.operand(instruction, 0).filter(|_| is_copy) {
                Some(from) => instruction = from,
                None => break,
            }
        }
        instruction
    }

    fn binary(&self, opcode: &str, instruction: &'a Instruction) -> Option<Binary<'a>> {
        let fused = self.module.body(instruction);
        let op = match fused.filter(|_| &*instruction.opcode == "fusion") {
            Some(fused) => self.module.root(fused)?,
            None => instruction,
        };
        let outside = |it: &'a Instruction| match it.parameter_number {
            Some(number) if fused.is_some() => self.operand(instruction, number as usize),
            _ => Some(it),
        };
        let [left, right] = op.operands[..] else {
            return None;
        };
        let operand = |id| Some(self.source(outside(self.module.instruction(id)?)?));
        Some(Binary {
            op: Some(op).filter(|it| *it.opcode == *opcode)?,
            operands: [operand(left)?, operand(right)?],
        })
    }
}

fn value(instruction: &Instruction) -> Option<i64> {
    match instruction.counter {
        CounterPart::Constant(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::TextProgram;

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
        let module = TextProgram::read(text).unwrap().module;
        module.trip_count(module.instruction(module.last().unwrap()).unwrap())
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
        // It can count down.
        let down = SCAN
            .replace("constant(0)", "constant(7)")
            .replace("constant(1)", "constant(-2)")
            .replace("constant(12)", "constant(2)");
        assert_eq!(count(&down), None);
        assert_eq!(
            count(&down.replace("direction=LT", "direction=GT")),
            Some(3)
        );
        assert_eq!(
            count(&down.replace("direction=LT", "direction=GE")),
            Some(3)
        );
        assert_eq!(count(&down.replace("direction=LT", "direction=NE")), None);
        let down = down
            .replace("add(", "subtract(")
            .replace("constant(-2)", "constant(2)");
        assert_eq!(
            count(&down.replace("direction=LT", "direction=GT")),
            Some(3)
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

    /// The compiler for CPUs and GPUs puts the counter into fusions.
    #[test]
    fn trip_count_of_fused_counters() {
        let fused = SCAN
            .replace(
                "pred[] compare(%j, %limit), direction=LT",
                "pred[] fusion(%j), kind=kLoop, calls=%less",
            )
            .replace(
                "s32[] add(%copy.2, %one)",
                "s32[] fusion(%copy.2, %one), kind=kLoop, calls=%plus",
            )
            .replace(
                "%body (",
                "%less (p: s32[]) -> pred[] {
  %p = s32[] parameter(0)
  %many = s32[] constant(9)
  ROOT %lt.1 = pred[] compare(%p, %many), direction=LT
}

%plus (a: s32[], b: s32[]) -> s32[] {
  %a = s32[] parameter(0)
  %b = s32[] parameter(1)
  ROOT %sum = s32[] add(%a, %b)
}

%body (",
            );
        assert_eq!(count(&fused), Some(9));
        assert_eq!(count(&fused.replace("add(%a, %b)", "add(%a, %a)")), None);
    }
}
