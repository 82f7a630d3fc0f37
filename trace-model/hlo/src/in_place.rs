//! Which parts of a result are written into the memory of an operand.

use crate::counter::CounterPart;
use crate::fused::{FusedResult, InPlaceUpdate};
use crate::{ComputationId, HloModule, Instruction};

/// Most views of one value that are followed.
const MAX_VIEWS: usize = 32;

/// The results of bodies that are known so far, by computation.
struct FusedResults<'m> {
    module: &'m HloModule,
    known: &'m [FusedResult],
}

impl HloModule {
    /// Parts of a result that stay in the memory of an operand; a fusion may have them beside others.
    pub(crate) fn updates_in_place(&self, it: &Instruction) -> Vec<InPlaceUpdate> {
        let mut out = self.fused_results().updates(it);
        let arrays = it.arrays();
        out.retain(|update| {
            let from = it.operands.get(update.operand);
            let from = from.and_then(|&id| self.instruction(id));
            let from = from.and_then(|it| it.arrays().first().map(|array| array.memory_space));
            from.is_some() && from == arrays.get(update.part).map(|array| array.memory_space)
        });
        out
    }

    /// Whether an instruction only reinterprets its operand.
    pub(crate) fn is_view(&self, it: &Instruction) -> bool {
        self.fused_results().is_view(it)
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

    /// Those of all computations, found when they are first asked for.
    fn fused_results(&self) -> FusedResults<'_> {
        let known = self.fused_results.get_or_init(|| {
            let mut known = Vec::with_capacity(self.computations.len());
            // Callers come after what they call.
            for computation in self.computation_ids() {
                let results = FusedResults {
                    module: self,
                    known: &known,
                };
                let result = results.of_body(computation);
                known.push(result);
            }
            known
        });
        FusedResults {
            module: self,
            known,
        }
    }
}

impl<'m> FusedResults<'m> {
    fn of_body(&self, body: ComputationId) -> FusedResult {
        let module = self.module;
        let all = module.instructions_of(body);
        let is_view = |it: &Instruction| matches!(&*it.opcode, "bitcast" | "parameter");
        let mut updates = Vec::new();
        if let Some(root) = module.root(body) {
            if &*root.opcode == "tuple" {
                let parts = module.operands(root).enumerate();
                updates.extend(parts.filter_map(|(place, made)| {
                    let (made, element) = self.maker(made);
                    let inner = self.update(made, element.unwrap_or(0))?;
                    self.of_parameter(
                        made,
                        InPlaceUpdate {
                            part: place,
                            ..inner
                        },
                    )
                }));
            } else {
                let (made, element) = self.maker(root);
                let inner = self.updates(made).into_iter();
                let inner = inner.filter(|inner| element.is_none_or(|it| it == inner.part));
                updates.extend(inner.filter_map(|inner| self.of_parameter(made, inner)));
            }
        }
        FusedResult {
            is_view: !all.is_empty() && all.iter().all(is_view),
            updates,
        }
    }

    /// An update of an operand of `made` as one of the parameter that the operand is.
    fn of_parameter(&self, made: &'m Instruction, inner: InPlaceUpdate) -> Option<InPlaceUpdate> {
        let onto = self
            .module
            .instruction(*made.operands.get(inner.operand)?)?;
        let onto = Some(self.viewed(onto)).filter(|it| &*it.opcode == "parameter");
        Some(InPlaceUpdate {
            operand: onto?.parameter_number? as usize,
            ..inner
        })
    }

    fn of(&self, it: &Instruction) -> Option<&FusedResult> {
        let body = it.called.first().filter(|_| &*it.opcode == "fusion")?;
        self.known.get(body.index())
    }

    fn updates(&self, it: &Instruction) -> Vec<InPlaceUpdate> {
        if &*it.opcode == "fusion" {
            return self.of(it).map_or_else(Vec::new, |of| of.updates.clone());
        }
        let parts = 0..it.operands.len();
        parts.filter_map(|part| self.update(it, part)).collect()
    }

    /// That of one part of the result.
    fn update(&self, it: &Instruction, part: usize) -> Option<InPlaceUpdate> {
        if &*it.opcode == "fusion" {
            let updates = &self.of(it)?.updates;
            let index = updates.binary_search_by_key(&part, |update| update.part);
            return updates.get(index.ok()?).copied();
        }
        Some(InPlaceUpdate {
            part,
            operand: part,
            bytes: self.module.update_of(it, part)?.bytes(),
        })
    }

    /// The instruction that makes a value, and which element of its result the value is.
    fn maker(&self, it: &'m Instruction) -> (&'m Instruction, Option<usize>) {
        let it = self.viewed(it);
        match (it.counter, self.module.operands(it).next()) {
            (CounterPart::Element(part), Some(of)) => (self.viewed(of), Some(part as usize)),
            _ => (it, None),
        }
    }

    /// The value that an instruction only reinterprets, or the instruction itself.
    fn viewed(&self, mut it: &'m Instruction) -> &'m Instruction {
        for _ in 0..MAX_VIEWS {
            match self.module.operands(it).next().filter(|_| self.is_view(it)) {
                Some(of) => it = of,
                None => break,
            }
        }
        it
    }

    fn is_view(&self, it: &Instruction) -> bool {
        &*it.opcode == "bitcast" || self.of(it).is_some_and(|of| of.is_view)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

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

    /// Each of these fusions has twice what the one before has, so that following them all would double with each.
    #[test]
    fn nested_fusions_are_followed_once() {
        let mut text = "HloModule m, is_scheduled=true\n\n%f0 (p: f32[8], u: f32[2]) -> f32[8] {\n  \
            %p = f32[8]{0} parameter(0)\n  %u = f32[2]{0} parameter(1)\n  %z = s32[] constant(0)\n  \
            ROOT %d = f32[8]{0} dynamic-update-slice(%p, %u, %z)\n}\n\n"
            .to_owned();
        for depth in 1..20 {
            let inner = depth - 1;
            let call =
                format!("f32[8]{{0}} fusion(%p.{depth}, %u.{depth}), kind=kLoop, calls=%f{inner}");
            let _ = write!(
                text,
                "%f{depth} (p: f32[8], u: f32[2]) -> f32[8] {{\n  %p.{depth} = f32[8]{{0}} parameter(0)\n  \
                 %u.{depth} = f32[2]{{0}} parameter(1)\n  %a.{depth} = {call}\n  %b.{depth} = {call}\n  \
                 ROOT %t.{depth} = f32[8]{{0}} tuple(%a.{depth}, %b.{depth})\n}}\n\n"
            );
        }
        text += "ENTRY %main (x: f32[8], y: f32[2]) -> f32[8] {\n  %x = f32[8]{0} parameter(0)\n  \
            %y = f32[2]{0} parameter(1)\n  ROOT %r = f32[8]{0} fusion(%x, %y), kind=kLoop, calls=%f19\n}\n";
        let module = TextProgram::read(&text).unwrap().module;
        let root = module.instructions.last().unwrap();
        assert_eq!(module.updates_in_place(root).len(), 1);
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
