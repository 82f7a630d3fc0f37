//! Which instructions of two programs are the same, whatever their names and numbers.
//!
//! ```text
//! 1  equal all the way up to the parameters           same
//! 2  equal, with operands that are the same           same
//! 3  equal, an operand was added or changed           same: the operand says what changed
//! 4  equal except for layout and memory               changed
//! 5  same opcode, framework name, line, sizes …       changed
//! ```
//!
//! Each pass takes the instructions that the passes before it left, in the order of the programs. Instructions that do
//! not run by themselves (what is inside fusions and reductions) belong to the one that calls them; collectives are looked
//! for there, too.

mod content;
mod divided;
mod order;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{ComputationId, HloModule, InstructionId};
use content::{Contents, InstructionContent, hash, is_collective};

pub use content::running_computations;
pub use divided::DividedFusion;
use divided::{divided, work};
pub use order::{MatchedInstruction, ScheduleDifference};

/// Candidates of the same content that are looked at for the one with the right operands.
const MOST_CANDIDATES: usize = 32;

/// Instructions of two programs, matched by content.
#[derive(Debug, Default)]
pub struct ProgramMatch {
    /// Instructions of both, in the order of the first program.
    pub pairs: Vec<MatchedInstruction>,
    /// Instructions that only the first has.
    pub only_first: Vec<InstructionId>,
    /// Instructions that only the second has.
    pub only_second: Vec<InstructionId>,
    /// Fusions of the first program whose work is in several instructions of the second. What belongs to one is in no
    /// list above.
    pub split: Vec<DividedFusion>,
    /// Fusions of the second program whose work is in several instructions of the first.
    pub joined: Vec<DividedFusion>,
    /// Pairs that do the same with another configuration of the backend: tiles, cost estimates, serialized kernels.
    pub configured_otherwise: usize,
    /// Of these, custom calls, whose configuration holds the kernel.
    pub kernels_otherwise: usize,
    /// How the order of execution differs; `None` if one program is not scheduled.
    pub order: Option<ScheduleDifference>,
    /// Whether all attributes were compared: a text and a serialized program do not spell them alike.
    pub is_complete: bool,
}

impl ProgramMatch {
    /// Matches two programs.
    pub fn of(first: &HloModule, second: &HloModule) -> Self {
        let is_complete = first.is_serialized() == second.is_serialized();
        let contents = [first, second].map(|module| Contents::of(module, is_complete));
        let mut matching = Matching::new([first, second], &contents);
        matching.by_depth();
        matching.by_operands();
        matching.by_content(true, |content| content.labelled);
        matching.by_content(true, |content| content.local);
        matching.by_operands();
        // Equal except for layouts and memory spaces.
        matching.by_content(false, |content| content.bare);
        matching.by_labels();
        let mut matched = matching.finish();
        matched.is_complete = is_complete;
        matched.divide([first, second]);
        matched.order = order::difference([first, second], &matched.pairs);
        for pair in matched.pairs.iter_mut().filter(|pair| pair.is_same) {
            // The compiler states it in the configuration, which is not compared.
            let trips = [(first, pair.first), (second, pair.second)]
                .map(|(module, id)| module.trip_count(module.instruction(id)?));
            pair.is_same = trips[0].is_none() || trips[1].is_none() || trips[0] == trips[1];
        }
        for pair in matched.pairs.iter().filter(|pair| pair.is_same) {
            if let (Some(a), Some(b)) = (
                first.instruction(pair.first),
                second.instruction(pair.second),
            ) && is_complete
                && a.config != b.config
                // All that it holds of loops is what the compiler found out.
                && &*a.opcode != "while"
            {
                matched.configured_otherwise += 1;
                matched.kernels_otherwise += usize::from(&*a.opcode == "custom-call");
            }
        }
        matched
    }

    /// Finds fusions that were split or joined among what differs.
    fn divide(&mut self, [first, second]: [&HloModule; 2]) {
        // A changed pair that does the same work is no part of another change.
        let (kept, changed): (Vec<_>, Vec<_>) = std::mem::take(&mut self.pairs)
            .into_iter()
            .partition(|pair| pair.is_same || work(first, pair.first) == work(second, pair.second));
        self.pairs = kept;
        let with = |only: &[InstructionId], of: fn(&MatchedInstruction) -> InstructionId| {
            let mut all = [only, &changed.iter().map(of).collect::<Vec<_>>()].concat();
            all.sort_unstable();
            all
        };
        let mut a = with(&self.only_first, |pair| pair.first);
        let mut b = with(&self.only_second, |pair| pair.second);
        let remove = |all: &mut Vec<InstructionId>, gone: Vec<InstructionId>| {
            let gone: HashSet<InstructionId> = gone.into_iter().collect();
            all.retain(|id| !gone.contains(id));
        };
        let wholes = |fusions: &[DividedFusion]| fusions.iter().map(|it| it.whole).collect();
        let parts =
            |fusions: &[DividedFusion]| fusions.iter().flat_map(|it| it.parts.clone()).collect();
        self.split = divided((first, &a), (second, &b));
        remove(&mut a, wholes(&self.split));
        remove(&mut b, parts(&self.split));
        self.joined = divided((second, &b), (first, &a));
        remove(&mut b, wholes(&self.joined));
        remove(&mut a, parts(&self.joined));
        let (a, b): (HashSet<_>, HashSet<_>) = (a.into_iter().collect(), b.into_iter().collect());
        for pair in changed {
            match (a.contains(&pair.first), b.contains(&pair.second)) {
                (true, true) => self.pairs.push(pair),
                (true, false) => self.only_first.push(pair.first),
                (false, true) => self.only_second.push(pair.second),
                (false, false) => {}
            }
        }
        self.pairs.sort_by_key(|pair| pair.first);
        self.only_first.retain(|id| a.contains(id));
        self.only_second.retain(|id| b.contains(id));
        self.only_first.sort_unstable();
        self.only_second.sort_unstable();
    }

    /// Whether both programs do the same, in whatever order.
    pub fn is_equal(&self) -> bool {
        self.only_first.is_empty()
            && self.only_second.is_empty()
            && self.split.is_empty()
            && self.joined.is_empty()
            && self.pairs.iter().all(|pair| pair.is_same)
    }
}

/// What is known of the match at some time.
struct Matching<'a> {
    modules: [&'a HloModule; 2],
    contents: &'a [Contents; 2],
    /// The instruction of the other program, and whether both do the same.
    mates: [Vec<Option<(u32, bool)>>; 2],
    /// Instructions of each program without a mate, in order.
    open: [Vec<u32>; 2],
    /// In the second program, the first instruction that does exactly the same: any of these can stand for another.
    class: Vec<u32>,
}

impl<'a> Matching<'a> {
    fn new(modules: [&'a HloModule; 2], contents: &'a [Contents; 2]) -> Self {
        let open = modules.map(|module| {
            let runs = running_computations(module);
            let all = module.iter().filter(|(_, it)| {
                let runs = runs.get(it.computation.index());
                let counts = runs.copied().unwrap_or(true) || is_collective(&it.opcode);
                counts && !it.opcode.is_empty()
            });
            all.map(|(id, _)| id.0).collect()
        });
        let mut firsts = HashMap::new();
        let class = (0..).zip(&contents[1].of_instructions);
        let class = class.map(|(id, it): (u32, _)| *firsts.entry(it.deep).or_insert(id));
        Self {
            modules,
            contents,
            mates: modules.map(|module| vec![None; module.instructions.len()]),
            open,
            class: class.collect(),
        }
    }

    fn content(&self, side: usize, id: u32) -> InstructionContent {
        let of_side = &self.contents[side].of_instructions;
        of_side.get(id as usize).copied().unwrap_or_default()
    }

    fn mate(&self, side: usize, id: u32) -> Option<(u32, bool)> {
        self.mates[side].get(id as usize).copied().flatten()
    }

    fn class_of(&self, id: u32) -> u32 {
        self.class.get(id as usize).copied().unwrap_or(id)
    }

    fn operands(&self, side: usize, id: u32) -> impl Iterator<Item = u32> + use<'a> {
        let instruction = self.modules[side].instruction(InstructionId(id));
        let operands = instruction.map(|it| it.operands.as_slice());
        operands.unwrap_or_default().iter().map(|id| id.0)
    }

    fn pair(&mut self, first: u32, second: u32, is_same: bool) {
        if let Some(slot) = self.mates[0].get_mut(first as usize) {
            *slot = Some((second, is_same));
        }
        if let Some(slot) = self.mates[1].get_mut(second as usize) {
            *slot = Some((first, is_same));
        }
    }

    /// Drops those that have a mate now.
    fn close(&mut self) {
        for (open, mates) in self.open.iter_mut().zip(&self.mates) {
            open.retain(|&id| mates.get(id as usize).is_some_and(Option::is_none));
        }
    }

    /// The open instructions of the second program by a key, in reverse order.
    fn waiting(&self, key: impl Fn(u32) -> Option<u64>) -> HashMap<u64, Vec<u32>> {
        let mut waiting: HashMap<u64, Vec<u32>> = HashMap::new();
        for &id in self.open[1].iter().rev() {
            if let Some(key) = key(id) {
                waiting.entry(key).or_default().push(id);
            }
        }
        waiting
    }

    /// Pairs the open instructions of the first program with what `find` finds for them.
    fn pair_open(&mut self, is_same: bool, mut find: impl FnMut(&Self, u32) -> Option<u32>) {
        for first in std::mem::take(&mut self.open[0]) {
            match find(self, first) {
                Some(second) => self.pair(first, second, is_same),
                None => self.open[0].push(first),
            }
        }
        self.close();
    }

    /// Pairs what is equal with everything that it depends on.
    fn by_depth(&mut self) {
        let mut waiting = self.waiting(|id| Some(self.content(1, id).deep));
        self.pair_open(true, |this, first| {
            waiting.get_mut(&this.content(0, first).deep)?.pop()
        });
    }

    /// Pairs what is equal by itself and has the same operands. Operands come before their users.
    fn by_operands(&mut self) {
        let key = |local: u64, operands: Vec<u32>| hash(&(local, operands));
        let mut waiting = self.waiting(|id| {
            let operands = self.operands(1, id).map(|id| self.class_of(id)).collect();
            Some(key(self.content(1, id).local, operands))
        });
        self.pair_open(true, |this, first| {
            let mates = this.operands(0, first).map(|id| this.mate(0, id));
            let operands: Option<Vec<u32>> = mates
                .map(|mate| mate.map(|(id, _)| this.class_of(id)))
                .collect();
            let key = key(this.content(0, first).local, operands?);
            waiting.get_mut(&key)?.pop()
        });
    }

    /// Pairs what is equal by itself, if no operand contradicts: an operand may be new. Where equality is only in part
    /// (`is_same` is false), operands may contradict.
    fn by_content(&mut self, is_same: bool, key: impl Fn(InstructionContent) -> u64) {
        let mut waiting = self.waiting(|id| Some(key(self.content(1, id))));
        self.pair_open(is_same, |this, first| {
            let candidates = waiting.get_mut(&key(this.content(0, first)))?;
            this.take_best(first, candidates, !is_same)
        });
    }

    /// Removes the candidate whose operands agree most; of equal ones the first. Candidates are in reverse order.
    fn take_best(
        &self,
        first: u32,
        candidates: &mut Vec<u32>,
        may_contradict: bool,
    ) -> Option<u32> {
        let near = candidates.len().saturating_sub(MOST_CANDIDATES);
        let scored = candidates.iter().enumerate().skip(near).rev();
        let mut best = None;
        for (place, &second) in scored {
            let score = match self.agreement(first, second) {
                Some(agreeing) => agreeing + 1,
                None if may_contradict => 0,
                None => continue,
            };
            if best.is_none_or(|(known, _)| score > known) {
                best = Some((score, place));
            }
        }
        best.map(|(_, place)| candidates.remove(place))
    }

    /// Number of operands that are the same; `None` if one is another instruction of both programs.
    fn agreement(&self, first: u32, second: u32) -> Option<usize> {
        let (a, b) = (self.operands(0, first), self.operands(1, second));
        let mut agreeing = usize::from(self.number(0, first) == self.number(1, second));
        for (a, b) in a.zip(b) {
            match (self.mate(0, a), self.mate(1, b)) {
                (Some((mate, _)), _) if self.class_of(mate) == self.class_of(b) => agreeing += 1,
                (Some((_, true)), Some((_, true))) => return None,
                _ => {}
            }
        }
        Some(agreeing)
    }

    fn number(&self, side: usize, id: u32) -> Option<u32> {
        self.modules[side]
            .instruction(InstructionId(id))?
            .parameter_number
    }

    /// Pairs what has the same labels: the surest first.
    fn by_labels(&mut self) {
        for level in 0..content::LABELS {
            let mut groups: BTreeMap<u64, [Vec<u32>; 2]> = BTreeMap::new();
            for (side, open) in self.open.iter().enumerate() {
                for &id in open {
                    let key =
                        self.contents[side].label(self.modules[side], InstructionId(id), level);
                    if let Some(key) = key {
                        groups.entry(key).or_default()[side].push(id);
                    }
                }
            }
            for [first, second] in groups.into_values() {
                let is_sure = level < content::UNSURE || (first.len() == 1 && second.len() == 1);
                for (a, b) in first.into_iter().zip(second).filter(|_| is_sure) {
                    self.pair(a, b, false);
                }
            }
            self.close();
        }
    }

    fn finish(self) -> ProgramMatch {
        let pairs = (0..).zip(&self.mates[0]).filter_map(|(first, mate)| {
            let (second, is_same) = (*mate)?;
            // A mate that an operand found later may contradict.
            let is_same = is_same && self.agreement(first, second).is_some();
            Some(MatchedInstruction {
                first: InstructionId(first),
                second: InstructionId(second),
                is_same,
            })
        });
        let pairs = pairs.collect();
        let [only_first, only_second] = self
            .open
            .map(|open| open.into_iter().map(InstructionId).collect());
        ProgramMatch {
            pairs,
            only_first,
            only_second,
            ..ProgramMatch::default()
        }
    }
}

/// Instructions of a computation and of all that it calls, by opcode: what a fusion computes.
pub fn opcodes_inside(module: &HloModule, body: ComputationId) -> BTreeMap<&str, usize> {
    /// A body is not counted further than this.
    const MOST: usize = 10_000;
    let (mut counts, mut open, mut seen) = (BTreeMap::new(), vec![body], 0);
    while let Some(computation) = open.pop() {
        for instruction in module.instructions_of(computation) {
            seen += 1;
            if seen > MOST {
                return counts;
            }
            *counts.entry(&*instruction.opcode).or_insert(0) += 1;
            if &*instruction.opcode == "fusion" {
                open.extend(&instruction.called);
            }
        }
    }
    counts
}
