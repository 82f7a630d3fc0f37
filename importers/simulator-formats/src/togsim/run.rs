//! Converts lines to spans of units, in cycles.

use std::collections::VecDeque;

use importer_common::prelude::*;
use importer_common::simulated::{LineProblem, core_of, unreadable, went_back};

use super::line::{TogSimInstruction, TogSimLine, TogSimUnit};

/// Maximum number of arrays, more than any core has; each gets tracks of its own.
const MAX_ARRAYS: u32 = 4096;

/// Maximum number of statistics of a core, more than the simulator prints.
const MAX_STATISTICS: usize = 1 << 10;

/// An executed instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct InstructionSpan {
    pub unit: TogSimUnit,
    pub array: u32,
    pub name: StringId,
    pub begin: i64,
    /// `None` until it ends.
    pub end: Option<i64>,
}

/// Activity of one core.
#[derive(Debug, Default)]
pub(super) struct TogSimCore {
    /// Executed instructions, in issue order.
    pub spans: Vec<InstructionSpan>,
    /// The last statistics of the core, by subject. They refer to the whole run if it finished,
    /// otherwise to an interval.
    pub statistics: BTreeMap<String, String>,
    /// Number of ends without an issue.
    pub only_ended: u64,
    /// Open spans by number.
    numbered: HashMap<u64, usize>,
    /// Open spans without a number, by unit and name.
    named: HashMap<(TogSimUnit, StringId), VecDeque<usize>>,
    /// Cycle from which each pipeline is free.
    free: HashMap<(TogSimUnit, u32), i64>,
}

/// An operator that ran on all cores of a scheduler.
#[derive(Clone, Copy, Debug)]
pub(super) struct TogSimKernel {
    pub scheduler: u32,
    pub number: u64,
    pub name: StringId,
    pub start: Option<i64>,
    pub end: i64,
}

/// One simulation run.
#[derive(Debug, Default)]
pub(super) struct TogSimRun {
    pub cores: BTreeMap<u32, TogSimCore>,
    pub kernels: Vec<TogSimKernel>,
    pub mhz: Option<f64>,
    /// Number of cycles of the run, if it finished.
    pub ended: Option<i64>,
    /// The last cycle in the log.
    pub now: i64,
}

type TogSimUpdate = Result<(), LineProblem>;

impl TogSimRun {
    /// Handles a message of the log.
    pub fn add(&mut self, message: &str, out: &mut TraceBuilder) -> TogSimUpdate {
        match super::line::parse(message) {
            None => Ok(()),
            Some(Ok(parsed)) => self.add_parsed(parsed, out),
            Some(Err(())) => Err(unreadable()),
        }
    }

    fn add_parsed(&mut self, line: TogSimLine<'_>, out: &mut TraceBuilder) -> TogSimUpdate {
        match line {
            TogSimLine::Clock { mhz } => self.mhz = Some(mhz),
            TogSimLine::End { cycle } => {
                self.ended = Some(cycle);
                self.now = self.now.max(cycle);
            }
            TogSimLine::Statistic { core, text } => {
                let (name, value) = statistic(text);
                let statistics = &mut core_of(&mut self.cores, core)?.statistics;
                if statistics.len() < MAX_STATISTICS || statistics.contains_key(name) {
                    statistics.insert(name.to_owned(), value);
                }
            }
            TogSimLine::Kernel {
                scheduler,
                number,
                name,
                end,
            } => {
                self.now = self.now.max(end);
                self.kernels.push(TogSimKernel {
                    scheduler,
                    number,
                    name: out.intern(name),
                    start: None,
                    end,
                });
            }
            TogSimLine::KernelTimes {
                scheduler,
                number,
                start,
            } => {
                let mut last = self.kernels.iter_mut().rev().take(64);
                let kernel =
                    last.find(|kernel| (kernel.scheduler, kernel.number) == (scheduler, number));
                if let Some(kernel) = kernel.filter(|kernel| start <= kernel.end) {
                    kernel.start = Some(start);
                } else {
                    return Err((
                        IssueKind::MalformedEvent,
                        format!("times of kernel {number}, which did not end"),
                    ));
                }
            }
            TogSimLine::Issued(instruction, end) => {
                self.check(&instruction)?;
                let name = out.intern(instruction.name);
                self.issue(&instruction, name, end)?;
            }
            TogSimLine::Finished(instruction) => {
                self.check(&instruction)?;
                let name = out.intern(instruction.name);
                self.finish(&instruction, name)?;
            }
        }
        Ok(())
    }

    /// Checks that time never goes back; cores run in lockstep.
    fn check(&mut self, instruction: &TogSimInstruction<'_>) -> TogSimUpdate {
        let TogSimInstruction { cycle, array, .. } = *instruction;
        if array >= MAX_ARRAYS {
            return Err((
                IssueKind::MalformedEvent,
                format!("there is no array {array}"),
            ));
        }
        // A core finishes instructions before it increments the cycle in which it issues others.
        if cycle.saturating_add(1) < self.now {
            return Err(went_back(cycle, self.now));
        }
        self.now = self.now.max(cycle);
        Ok(())
    }

    fn issue(
        &mut self,
        instruction: &TogSimInstruction<'_>,
        name: StringId,
        end: Option<i64>,
    ) -> TogSimUpdate {
        let TogSimInstruction {
            cycle,
            unit,
            array,
            id,
            ..
        } = *instruction;
        let core = core_of(&mut self.cores, instruction.core)?;
        let is_moved = unit.moves_data();
        // A pipeline executes one instruction after the other. Of loads and stores it is only
        // known that they are in flight.
        let begin = if is_moved {
            cycle
        } else {
            core.free
                .get(&(unit, array))
                .copied()
                .unwrap_or(0)
                .max(cycle)
        };
        let index = core.spans.len();
        let end = end.map(|end| end.max(begin));
        core.spans.push(InstructionSpan {
            unit,
            array,
            name,
            begin,
            end,
        });
        if let Some(end) = end {
            core.free.insert((unit, array), end);
            self.now = self.now.max(cycle);
        } else if let Some(id) = id {
            core.numbered.insert(id, index);
        } else {
            core.named.entry((unit, name)).or_default().push_back(index);
        }
        Ok(())
    }

    fn finish(&mut self, instruction: &TogSimInstruction<'_>, name: StringId) -> TogSimUpdate {
        let TogSimInstruction {
            cycle, unit, id, ..
        } = *instruction;
        let core = core_of(&mut self.cores, instruction.core)?;
        let is_moved = unit.moves_data();
        let open = match id {
            // Data of an asynchronous load may arrive after the load was fully issued, so the last end counts.
            Some(id) if is_moved => core.numbered.get(&id).copied(),
            Some(id) => core.numbered.remove(&id),
            None => core
                .named
                .get_mut(&(unit, name))
                .and_then(VecDeque::pop_front),
        };
        let Some(span) = open.and_then(|index| core.spans.get_mut(index)) else {
            // The older generation gives the end of a computation at its issue.
            core.only_ended += u64::from(is_moved || id.is_some());
            return Ok(());
        };
        if !is_moved {
            let free = core.free.entry((unit, span.array)).or_default();
            span.begin = span.begin.max(*free).min(cycle);
            *free = cycle.max(*free);
        }
        span.end = Some(cycle.max(span.begin));
        Ok(())
    }
}

/// Splits `Systolic array [1] utilization(%) 41.5, active_cycles 3` into its subject and its
/// value, `41.5 %, active_cycles 3`.
fn statistic(text: &str) -> (&str, String) {
    let Some((name, value)) = text.split_once("(%)") else {
        let name = text.split_once("active").map_or(text, |(name, _)| name);
        return (name.trim(), text.to_owned());
    };
    let value = value.trim_start_matches([':', ' ']);
    let (percent, rest) = value.split_once(',').unwrap_or((value, ""));
    let comma = if rest.is_empty() { "" } else { "," };
    (name.trim(), format!("{} %{comma}{rest}", percent.trim()))
}
