//! Index of the instructions of a program by name and by the compiler's id.

use std::collections::HashMap;
use std::sync::Arc;

use super::instruction::{Instruction, InstructionId};

/// Instructions by name and by number.
#[derive(Debug, Default)]
pub(super) struct HloIndex {
    names: HashMap<Arc<str>, InstructionId>,
    /// By the compiler's id; `None` if two share it.
    numbers: HashMap<u64, Option<InstructionId>>,
}

impl HloIndex {
    /// From all instructions with a name; `numbers` are the compiler's ids, if there are any.
    pub fn new(instructions: &[Instruction], numbers: Vec<(u64, InstructionId)>) -> Self {
        let mut index = Self::default();
        for (id, instruction) in (0..).map(InstructionId).zip(instructions) {
            if !instruction.name.is_empty() {
                index
                    .names
                    .entry(Arc::clone(&instruction.name))
                    .or_insert(id);
            }
        }
        for (number, id) in numbers {
            index
                .numbers
                .entry(number)
                .and_modify(|shared| *shared = None)
                .or_insert(Some(id));
        }
        index
    }

    /// The first instruction with a name.
    pub fn named(&self, name: &str) -> Option<InstructionId> {
        self.names.get(name).copied()
    }

    /// The instruction with this id; `None` if two share it.
    pub fn numbered(&self, number: u64) -> Option<InstructionId> {
        self.numbers.get(&number).copied().flatten()
    }
}
