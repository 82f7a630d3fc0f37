//! Finding instructions of a program by name and by the compiler's number.
//!
//! Sorted lists take a third of what hash tables of the same take, and programs stay
//! in memory as long as the trace.

use std::hash::{DefaultHasher, Hasher as _};

use super::module::{Instruction, InstructionId};

/// Instructions by name and by number.
#[derive(Debug, Default)]
pub(super) struct HloIndex {
    /// By hash of the name, then in order of the program.
    names: Box<[(u32, InstructionId)]>,
    /// By the compiler's number.
    numbers: Box<[(u64, InstructionId)]>,
}

impl HloIndex {
    /// Of all that have a name; `numbers` are the compiler's, where it has any.
    pub(super) fn new(instructions: &[Instruction], mut numbers: Vec<(u64, InstructionId)>) -> Self {
        let named = |instruction: &&Instruction| !instruction.name.is_empty();
        let mut names = Vec::with_capacity(instructions.iter().filter(named).count());
        let ids = (0..).map(InstructionId).zip(instructions).filter(|(_, instruction)| named(instruction));
        names.extend(ids.map(|(id, instruction)| (hash(&instruction.name), id)));
        names.sort_unstable();
        numbers.sort_unstable();
        Self { names: names.into_boxed_slice(), numbers: numbers.into_boxed_slice() }
    }

    /// The first instruction with a name.
    pub(super) fn named(&self, instructions: &[Instruction], name: &str) -> Option<InstructionId> {
        let wanted = hash(name);
        let from = self.names.partition_point(|&(hash, _)| hash < wanted);
        let alike = self.names.get(from..)?.iter().take_while(|&&(hash, _)| hash == wanted);
        let is_it = |id: &InstructionId| instructions.get(id.index()).is_some_and(|it| &*it.name == name);
        alike.map(|&(_, id)| id).find(is_it)
    }

    /// The instruction with a number; `None` if two share it.
    pub(super) fn numbered(&self, number: u64) -> Option<InstructionId> {
        let from = self.numbers.partition_point(|&(other, _)| other < number);
        let mut alike = self.numbers.get(from..)?.iter().take_while(|&&(other, _)| other == number);
        alike.next().filter(|_| alike.next().is_none()).map(|&(_, id)| id)
    }
}

/// Half of the hash tells names apart well enough.
fn hash(name: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    hasher.write(name.as_bytes());
    hasher.finish() as u32
}
