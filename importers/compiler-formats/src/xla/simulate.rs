//! Simulates a scheduled program on a device.
//!
//! The core runs instructions one after the other. Copies go through one queue to HBM, and transfers between chips
//! through one queue per link, in the order of their starts; a `-done` waits until its start's transfer has finished:
//!
//! ```text
//! ops : copy-start [fusion.1     ][wait copy-done][fusion.2 ]
//! HBM :            [copy-start                   ]
//! ```

use hlo::{ComputationId, Instruction, InstructionId};
use importer_common::prelude::*;
use trace_model::ImportLog;

use super::collective::{CollectiveTransfer, RingLinks};
use super::machine::MachineModel;
use super::program::ScheduledProgram;
use super::step::InstructionEffect;

/// The resource that an event occupies.
#[derive(Clone, Copy, Debug)]
pub(super) enum SimulatedResource {
    Core,
    Hbm,
    Ici(RingLinks),
}

/// An event with a duration.
#[derive(Debug)]
pub(super) struct SimulatedEvent {
    pub lane: SimulatedResource,
    /// Picoseconds.
    pub start: i64,
    pub end: i64,
    pub at: InstructionId,
    /// The instruction that awaits it.
    pub done: Option<InstructionId>,
    /// Bytes transferred.
    pub bytes: Option<u64>,
    /// The compiler's estimate; `None` for modelled times and for waits.
    pub cycles: Option<u64>,
    /// Whether the duration comes from a model of bandwidth and latency.
    pub modelled: bool,
}

/// The result of a simulation.
#[derive(Debug, Default)]
pub(super) struct SimulatedProgram {
    pub events: Vec<SimulatedEvent>,
    /// When each instruction of the entry computation started and ended.
    pub entry: Vec<(i64, i64)>,
    /// Issues to log.
    pub issues: ImportLog,
    /// Instructions that do work and take no time, because nothing says how long they take.
    pub without_time: BTreeSet<InstructionId>,
}

/// Latest time: 27 hours.
const LAST: i64 = 100_000_000_000_000_000;

/// Loop iterations are simulated one by one until there are this many events or executed instructions.
const MAX_EVENTS: usize = 100_000;
const MAX_STEPS: u64 = 1_000_000;

/// Maximum nesting of loops and calls.
const MAX_DEPTH: usize = 32;

struct ScheduleSimulator<'p, 'a> {
    program: &'p ScheduledProgram<'a>,
    machine: &'p MachineModel,
    progress: &'p Progress,
    now: i64,
    hbm_free: i64,
    next_free: i64,
    previous_free: i64,
    /// Event of each transfer in flight, by its start.
    flights: HashMap<InstructionId, usize>,
    /// Effects of instructions, computed on their first execution.
    known: HashMap<InstructionId, InstructionEffect>,
    /// Duration of the last execution of each computation.
    durations: HashMap<ComputationId, i64>,
    steps: u64,
    run: SimulatedProgram,
}

/// Simulates the entry computation. The only error is cancellation.
pub(super) fn play(
    program: &ScheduledProgram<'_>,
    machine: &MachineModel,
    progress: &Progress,
) -> Result<SimulatedProgram> {
    let mut player = ScheduleSimulator {
        program,
        machine,
        progress,
        now: 0,
        hbm_free: 0,
        next_free: 0,
        previous_free: 0,
        flights: HashMap::new(),
        known: HashMap::new(),
        durations: HashMap::new(),
        steps: 0,
        run: SimulatedProgram::default(),
    };
    if let Some(entry) = program.module.entry {
        player.computation(entry, 0)?;
    }
    Ok(player.run)
}

impl ScheduleSimulator<'_, '_> {
    fn computation(&mut self, id: ComputationId, depth: usize) -> Result<()> {
        let program = self.program;
        let begin = self.now;
        for (instruction_id, instruction) in program.module.iter_of(id) {
            if self.steps.is_multiple_of(1024) {
                self.progress.check()?;
            }
            let before = self.now;
            self.steps += 1;
            self.instruction(instruction, instruction_id, depth)?;
            if depth == 0 {
                self.run.entry.push((before, self.now));
            }
        }
        self.durations.insert(id, self.now - begin);
        Ok(())
    }

    fn instruction(
        &mut self,
        instruction: &Instruction,
        id: InstructionId,
        depth: usize,
    ) -> Result<()> {
        let (program, chip) = (self.program, self.machine.chip);
        let step = self
            .known
            .entry(id)
            .or_insert_with(|| InstructionEffect::of(program, id, instruction, chip));
        match step.clone() {
            InstructionEffect::Nothing => {}
            InstructionEffect::While { trips, body } => {
                return self.repeat(instruction, (trips, body), id, depth);
            }
            InstructionEffect::Call(callee) => return self.branch(instruction, callee, depth),
            InstructionEffect::Choose(branch) => {
                let (begin, index) = (self.now, self.run.events.len());
                self.push(SimulatedEvent {
                    modelled: false,
                    ..event(SimulatedResource::Core, begin, begin, id)
                });
                self.branch(instruction, branch, depth)?;
                self.lasts_until_now(index);
            }
            InstructionEffect::Done(start) => self.wait(instruction, start, id),
            InstructionEffect::Update(start) => {
                let flight = start.and_then(|start| self.flights.get(&start).copied());
                self.flights.extend(flight.map(|flight| (id, flight)));
            }
            InstructionEffect::Compute(cycles) => {
                let end = self.after(cycles as f64 / self.machine.clock_hz, self.now);
                self.push(SimulatedEvent {
                    cycles: Some(cycles),
                    modelled: false,
                    ..event(SimulatedResource::Core, self.now, end, id)
                });
                self.now = end;
            }
            InstructionEffect::Send(transfer) => {
                let (begin, end) = self.transfer(transfer);
                let lane = SimulatedResource::Ici(transfer.links);
                self.push(SimulatedEvent {
                    bytes: Some(transfer.bytes),
                    ..event(lane, begin, end, id)
                });
                self.flights.insert(id, self.run.events.len() - 1);
            }
            InstructionEffect::Communicate(transfer) => {
                // The core is blocked while it waits for the link.
                let (_, end) = self.transfer(transfer);
                self.push(SimulatedEvent {
                    bytes: Some(transfer.bytes),
                    ..event(SimulatedResource::Core, self.now, end, id)
                });
                self.now = end;
            }
            InstructionEffect::Copy(bytes) => {
                let begin = self.now.max(self.hbm_free);
                let end = self.after(bytes as f64 / self.machine.chip.hbm, begin);
                self.hbm_free = end;
                self.push(SimulatedEvent {
                    bytes: Some(bytes),
                    ..event(SimulatedResource::Hbm, begin, end, id)
                });
                self.flights.insert(id, self.run.events.len() - 1);
            }
            InstructionEffect::Unknown(why) => {
                self.run.without_time.insert(id);
                self.issue(IssueKind::CostMissing, instruction, || why.to_owned());
            }
        }
        Ok(())
    }

    /// Start and end of a transfer between chips.
    fn transfer(&mut self, transfer: CollectiveTransfer) -> (i64, i64) {
        let free = match transfer.links {
            RingLinks::Next => self.next_free,
            RingLinks::Previous => self.previous_free,
            RingLinks::Both => self.next_free.max(self.previous_free),
        };
        let begin = self.now.max(free);
        let end = self.after(transfer.seconds, begin);
        self.book(transfer.links, end);
        (begin, end)
    }

    fn wait(&mut self, instruction: &Instruction, start: Option<InstructionId>, id: InstructionId) {
        let Some(flight) = start.and_then(|start| self.flights.remove(&start)) else {
            if !matches!(&*instruction.opcode, "send-done" | "recv-done") {
                let start = start.and_then(|start| self.program.instruction(start));
                let start = start.map_or("nothing", |start| &*start.name);
                let what = || format!("{} awaits {start}", instruction.name);
                self.run.issues.add(IssueKind::AsyncWithoutStart, what);
            }
            return;
        };
        let Some(event) = self.run.events.get_mut(flight) else {
            return;
        };
        event.done = Some(id);
        let end = event.end;
        if end > self.now {
            self.push(SimulatedEvent {
                modelled: false,
                ..self::event(SimulatedResource::Core, self.now, end, id)
            });
            self.now = end;
        }
    }

    /// A loop: iterations are simulated one by one while there is room.
    fn repeat(
        &mut self,
        instruction: &Instruction,
        (known, body): (Option<u64>, Option<ComputationId>),
        id: InstructionId,
        depth: usize,
    ) -> Result<()> {
        if known.is_none() {
            let why = || "no known_trip_count, and not a counting loop".to_owned();
            self.issue(IssueKind::TripCountUnknown, instruction, why);
        }
        let (trips, begin, index) = (known.unwrap_or(1), self.now, self.run.events.len());
        self.push(SimulatedEvent {
            modelled: false,
            ..event(SimulatedResource::Core, begin, begin, id)
        });
        let Some(body) = body else {
            self.issue(IssueKind::NotPlayed, instruction, || {
                "its body is not in the file".to_owned()
            });
            return Ok(());
        };
        for trip in 0..trips {
            let takes_nothing = trip > 0 && self.durations.get(&body) == Some(&0);
            if takes_nothing {
                break;
            }
            if self.is_full(depth) {
                self.fold(instruction, body, trips - trip, trips);
                break;
            }
            self.computation(body, depth + 1)?;
        }
        self.lasts_until_now(index);
        Ok(())
    }

    /// Runs a called computation.
    fn branch(
        &mut self,
        instruction: &Instruction,
        callee: Option<ComputationId>,
        depth: usize,
    ) -> Result<()> {
        let Some(callee) = callee else {
            self.issue(IssueKind::NotPlayed, instruction, || {
                "the computation it calls is not in the file".to_owned()
            });
            return Ok(());
        };
        // Nested calls can multiply the work without any loop.
        if self.is_full(depth) {
            self.fold(instruction, callee, 1, 1);
            return Ok(());
        }
        self.computation(callee, depth + 1)
    }

    /// Whether called computations are no longer simulated.
    fn is_full(&self, depth: usize) -> bool {
        depth >= MAX_DEPTH || self.run.events.len() > MAX_EVENTS || self.steps > MAX_STEPS
    }

    /// Skips the `left` remaining executions and assumes that each takes as long as the last one.
    fn fold(&mut self, instruction: &Instruction, callee: ComputationId, left: u64, of: u64) {
        let Some(&last) = self.durations.get(&callee) else {
            let why = || format!("{left} of {of} executions, whose duration is unknown");
            return self.issue(IssueKind::NotPlayed, instruction, why);
        };
        self.now = self.after(last as f64 * 1e-12 * left as f64, self.now);
        self.issue(IssueKind::LoopFolded, instruction, || {
            format!("{left} of {of} executions")
        });
    }

    /// Extends an event that contains others to the current time.
    fn lasts_until_now(&mut self, index: usize) {
        let end = self.now;
        if let Some(event) = self.run.events.get_mut(index) {
            event.end = end;
        }
    }

    /// The time `seconds` after `begin`.
    fn after(&mut self, seconds: f64, begin: i64) -> i64 {
        let end = begin.saturating_add((seconds * 1e12).round() as i64);
        if end > LAST {
            self.run.issues.add(IssueKind::TimeOutOfRange, || {
                format!("{seconds:e} s after {begin} ps")
            });
        }
        end.min(LAST)
    }

    fn book(&mut self, links: RingLinks, until: i64) {
        if links != RingLinks::Previous {
            self.next_free = self.next_free.max(until);
        }
        if links != RingLinks::Next {
            self.previous_free = self.previous_free.max(until);
        }
    }

    fn push(&mut self, event: SimulatedEvent) {
        self.run.events.push(event);
    }

    fn issue(&mut self, kind: IssueKind, instruction: &Instruction, why: impl FnOnce() -> String) {
        self.run.issues.add(kind, || {
            format!("{} ({}): {}", instruction.name, instruction.opcode, why())
        });
    }
}

fn event(lane: SimulatedResource, start: i64, end: i64, id: InstructionId) -> SimulatedEvent {
    SimulatedEvent {
        lane,
        start,
        end,
        at: id,
        done: None,
        bytes: None,
        cycles: None,
        modelled: true,
    }
}
