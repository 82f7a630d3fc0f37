//! Builds a module from the lines of several instructions of one program, such as those of the ops that ran.

use std::collections::HashMap;
use std::sync::Arc;

use super::{blank, instruction};
use crate::index::HloIndex;
use crate::instruction::{ComputationId, Instruction, InstructionId};
use crate::module::{Computation, HloModule, HloOrigin};
use crate::syntax::{HloText, Operand, Shape};

/// Instructions of which a line, or only the name and shape as an operand, is known.
#[derive(Default)]
struct KnownLines<'a> {
    places: HashMap<&'a str, usize>,
    names: Vec<&'a str>,
    lines: Vec<(Option<HloText<'a>>, Option<Operand<'a>>)>,
}

impl<'a> KnownLines<'a> {
    fn at(&mut self, name: &'a str) -> usize {
        let next = self.lines.len();
        let number = *self.places.entry(name).or_insert(next);
        if number == next {
            self.names.push(name);
            self.lines.push((None, None));
        }
        number
    }
}

impl HloModule {
    /// A module of one computation from lines of HLO text in any order. Operands without a line of their own have a
    /// name, and a shape where a line states it. Of two lines with one name the first counts. `None` if no line is an
    /// instruction.
    pub fn from_lines(name: &str, lines: &[&str]) -> Option<Self> {
        let mut known = KnownLines::default();
        let mut operands: Vec<Vec<usize>> = Vec::new();
        for hlo in lines.iter().filter_map(|line| HloText::parse(line)) {
            let number = known.at(hlo.name);
            if known
                .lines
                .get(number)
                .is_some_and(|(line, _)| line.is_some())
            {
                continue;
            }
            let mut own_operands = Vec::new();
            for operand in hlo
                .operand_list()
                .into_iter()
                .filter(|operand| !operand.name.is_empty())
            {
                let from = known.at(operand.name);
                own_operands.push(from);
                if let Some((_, shape @ None)) = known.lines.get_mut(from) {
                    *shape = Some(operand);
                }
            }
            operands.resize(operands.len().max(number + 1), Vec::new());
            if let (Some(slot), Some((line, _))) =
                (operands.get_mut(number), known.lines.get_mut(number))
            {
                *slot = own_operands;
                *line = Some(hlo);
            }
        }
        operands.resize(known.lines.len(), Vec::new());
        (!operands.is_empty()).then(|| module(name, &known, &operands))
    }
}

fn module(name: &str, known: &KnownLines<'_>, operands: &[Vec<usize>]) -> HloModule {
    let mut module = HloModule {
        name: name.to_owned(),
        origin: HloOrigin::Text,
        ..HloModule::default()
    };
    let mut ids: Vec<Option<InstructionId>> = vec![None; known.names.len()];
    for number in operands_first(operands) {
        let Some((line, operand)) = known.lines.get(number) else {
            continue;
        };
        let mut made = match line {
            Some(hlo) => instruction(hlo),
            None => blank(known.names.get(number).copied().unwrap_or_default(), ""),
        };
        if made.shape.is_none() {
            let shape = operand.as_ref().and_then(|operand| operand.shape.clone());
            made.shape = shape.map(Shape::into_static).map(Arc::new);
        }
        let of = |from: &usize| ids.get(*from).copied().flatten();
        made = Instruction {
            operands: operands
                .get(number)
                .into_iter()
                .flatten()
                .filter_map(of)
                .collect(),
            ..made
        };
        if let Some(slot) = ids.get_mut(number) {
            *slot = Some(InstructionId(module.instructions.len() as u32));
        }
        module.instructions.push(made);
    }
    let instructions = 0..module.instructions.len();
    module.computations.push(Computation {
        instructions,
        ..Computation::default()
    });
    module.entry = Some(ComputationId(0));
    module.index = HloIndex::new(&module.instructions, Vec::new());
    module
}

/// All numbers, each after its operands; a ring is cut where it closes.
fn operands_first(operands: &[Vec<usize>]) -> Vec<usize> {
    let (mut order, mut seen) = (
        Vec::with_capacity(operands.len()),
        vec![false; operands.len()],
    );
    for start in 0..operands.len() {
        let mut open = vec![(start, 0)];
        while let Some((number, next)) = open.pop() {
            if next == 0
                && seen
                    .get_mut(number)
                    .is_none_or(|seen| std::mem::replace(seen, true))
            {
                continue;
            }
            match operands.get(number).and_then(|operands| operands.get(next)) {
                Some(&operand) => open.extend([(number, next + 1), (operand, 0)]),
                None => order.push(number),
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_in_any_order_become_one_program() {
        let lines = [
            "%b = f32[8]{0} add(f32[8]{0} %a, f32[8]{0} %p), metadata={op_name=\"f/add\"}",
            "what is this",
            "%a = f32[8]{0} negate(f32[8]{0} %p)",
            "%b = f32[9]{0} add(f32[9]{0} %x, f32[9]{0} %y)",
        ];
        let module = HloModule::from_lines("jit_f", &lines).unwrap();
        let of = |name: &str| module.instruction(module.find(name).unwrap()).unwrap();
        assert_eq!(
            module.instructions.len(),
            3,
            "the second line of b is ignored"
        );
        let operands: Vec<&str> = module.operands(of("b")).map(|it| &*it.name).collect();
        assert_eq!(operands, ["a", "p"]);
        assert_eq!(
            (&*of("p").opcode, of("p").shape.as_ref().unwrap().bytes()),
            ("", Some(32))
        );
        assert!(module.find("a").unwrap() < module.find("b").unwrap());
    }

    #[test]
    fn cyclic_operands_terminate() {
        let module =
            HloModule::from_lines("f", &["%a = f32[] negate(%b)", "%b = f32[] negate(%a)"])
                .unwrap();
        let edges: usize = module.instructions.iter().map(|it| it.operands.len()).sum();
        assert_eq!((module.instructions.len(), edges), (2, 1));
        assert!(HloModule::from_lines("f", &["nothing"]).is_none());
    }
}
