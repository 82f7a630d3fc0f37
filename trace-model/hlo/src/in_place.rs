//! Which parts of a result are written into the memory of an operand.

use crate::counter::CounterPart;
use crate::{HloModule, Instruction};

/// Deepest nesting of fusions, and most views of one value, that are followed.
const MAX_DEPTH: usize = 32;

/// A part of a result that is an operand of which some elements are new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InPlaceUpdate {
    /// Number of the array in the result.
    pub part: usize,
    /// Number of the operand.
    pub operand: usize,
    /// Bytes that are new.
    pub bytes: u64,
}

impl HloModule {
    /// Parts of a result that stay in the memory of an operand; a fusion may have them beside others.
    pub(crate) fn updates_in_place(&self, it: &Instruction) -> Vec<InPlaceUpdate> {
        let mut out = self.updates(it, 0);
        let arrays = it.arrays();
        out.retain(|update| {
            let from = it.operands.get(update.operand);
            let from = from.and_then(|&id| self.instruction(id));
            let from = from.and_then(|it| it.arrays().first().map(|array| array.memory_space));
            from.is_some() && from == arrays.get(update.part).map(|array| array.memory_space)
        });
        out
    }

    fn updates(&self, it: &Instruction, depth: usize) -> Vec<InPlaceUpdate> {
        if depth >= MAX_DEPTH {
            return Vec::new();
        }
        if &*it.opcode != "fusion" {
            let operands = 0..it.operands.len();
            let updates = operands.filter_map(|operand| {
                let bytes = self.update_of(it, operand)?.bytes();
                Some(InPlaceUpdate {
                    part: operand,
                    operand,
                    bytes,
                })
            });
            return updates.collect();
        }
        let Some(root) = self.body(it).and_then(|body| self.root(body)) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        let mut of_part = |made: &Instruction, place: Option<usize>| {
            let (made, element) = self.maker(made);
            for inner in self.updates(made, depth + 1) {
                let onto = made.operands.get(inner.operand);
                let onto = onto.and_then(|&id| self.instruction(id));
                let onto = onto.map(|it| self.viewed(it));
                let number = onto.filter(|it| &*it.opcode == "parameter");
                let number = number.and_then(|it| it.parameter_number);
                if let Some(number) = number.filter(|_| element.is_none_or(|it| it == inner.part)) {
                    out.push(InPlaceUpdate {
                        part: place.unwrap_or(inner.part),
                        operand: number as usize,
                        bytes: inner.bytes,
                    });
                }
            }
        };
        if &*root.opcode == "tuple" {
            for (place, made) in self.operands(root).enumerate() {
                of_part(made, Some(place));
            }
        } else {
            of_part(root, None);
        }
        out
    }

    /// What an instruction writes into the memory of an operand, which is its result then.
    pub(crate) fn update_of(&self, it: &Instruction, operand: usize) -> Option<&Instruction> {
        let update = match &*it.opcode {
            "dynamic-update-slice" if operand == 0 => 1,
            // Arrays, the indices, and an update for each array.
            "scatter" => {
                let arrays = it.operands.len() / 2;
                Some(arrays + 1 + operand).filter(|_| operand < arrays)?
            }
            _ => return None,
        };
        self.instruction(*it.operands.get(update)?)
    }

    /// The instruction that makes a value, and which element of its result the value is.
    fn maker<'a>(&'a self, it: &'a Instruction) -> (&'a Instruction, Option<usize>) {
        let it = self.viewed(it);
        match (it.counter, self.operands(it).next()) {
            (CounterPart::Element(part), Some(of)) => (self.viewed(of), Some(part as usize)),
            _ => (it, None),
        }
    }

    /// The value that an instruction only reinterprets, or the instruction itself.
    fn viewed<'a>(&'a self, mut it: &'a Instruction) -> &'a Instruction {
        for _ in 0..MAX_DEPTH {
            match self.operands(it).next().filter(|_| self.is_view(it)) {
                Some(of) => it = of,
                None => break,
            }
        }
        it
    }

    /// Whether an instruction only reinterprets its operand.
    pub(crate) fn is_view(&self, it: &Instruction) -> bool {
        let is_bitcast = |it: &Instruction| &*it.opcode == "bitcast";
        let is_fusion = &*it.opcode == "fusion";
        let body = self.body(it).filter(|_| is_fusion);
        is_bitcast(it)
            || body.is_some_and(|body| {
                let mut all = self.instructions_of(body).iter();
                !self.instructions_of(body).is_empty()
                    && all.all(|it| is_bitcast(it) || &*it.opcode == "parameter")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CostAnalysis, TextProgram};
    use trace_model::Access;

    /// One row of 64 bytes of a table of four, and half of it converted.
    const TUPLE: &str = "HloModule m, is_scheduled=true\n\n\
        %f (p: f32[4,16], u: f32[16]) -> (f32[4,16], bf16[16]) {\n  \
        %p = f32[4,16]{1,0} parameter(0)\n  %u = f32[16]{0} parameter(1)\n  \
        %flat = f32[64]{0} bitcast(%p)\n  %z = s32[] constant(0)\n  \
        %d = f32[64]{0} dynamic-update-slice(%flat, %u, %z)\n  \
        %b = f32[4,16]{1,0} bitcast(%d)\n  %c = bf16[16]{0} convert(%u)\n  \
        ROOT %t = (f32[4,16]{1,0}, bf16[16]{0}) tuple(%b, %c)\n}\n\n\
        ENTRY %main (a: f32[4,16], r: f32[16]) -> (f32[4,16], bf16[16]) {\n  \
        %a = f32[4,16]{1,0} parameter(0)\n  %r = f32[16]{0} parameter(1)\n  \
        ROOT %fu = (f32[4,16]{1,0}, bf16[16]{0}) fusion(%a, %r), kind=kLoop, calls=%f\n}\n";

    /// Bytes read and written by the last instruction.
    fn moved(text: &str) -> [u64; 2] {
        let module = TextProgram::read(text).unwrap().module;
        let bytes = CostAnalysis::new(&module).bytes(module.instructions.last().unwrap());
        [Access::Read, Access::Write].map(|access| {
            let own = bytes.iter().filter(|it| it.access == access);
            own.map(|it| it.bytes).sum()
        })
    }

    #[test]
    fn updates_are_found_through_tuples_and_bitcasts() {
        assert_eq!(moved(TUPLE), [64, 64 + 32]);
        let module = TextProgram::read(TUPLE).unwrap().module;
        let update = InPlaceUpdate {
            part: 0,
            operand: 0,
            bytes: 64,
        };
        let fusion = module.instructions.last().unwrap();
        assert_eq!(module.updates_in_place(fusion), [update]);
        // What the fusion makes itself is written as a whole.
        let made = TUPLE.replace("bitcast(%p)", "broadcast(%z), dimensions={}");
        let made = made.replace("%flat =", "%z.1 = s32[] constant(0)\n  %flat =");
        assert_eq!(moved(&made)[1], 256 + 32);
        // In another memory it is a copy.
        let other = TUPLE.replace("%fu = (f32[4,16]{1,0}", "%fu = (f32[4,16]{1,0:S(1)}");
        assert_eq!(moved(&other)[1], 256 + 32);
    }

    #[test]
    fn scatter_touches_only_the_rows_of_its_updates() {
        let text = "HloModule m\n\nENTRY %main (e: f32[50000,512], i: s32[64], u: f32[64,512]) -> f32[50000,512] {\n  \
            %e = f32[50000,512]{1,0} parameter(0)\n  %i = s32[64]{0} parameter(1)\n  \
            %u = f32[64,512]{1,0} parameter(2)\n  \
            ROOT %s = f32[50000,512]{1,0} scatter(%e, %i, %u), to_apply=%add\n}\n";
        let rows = 64 * 512 * 4;
        // Rows are read to be added to.
        assert_eq!(moved(text), [rows + 64 * 4 + rows, rows]);
    }
}
