//! The order of a scheduled program, played on a device.
//!
//! The core does one thing after the other. Copies go through one queue to HBM, and
//! what chips send each other through one queue a link, in the order of their starts;
//! a `-done` waits until its start's transfer has finished:
//!
//! ```text
//! ops : copy-start [fusion.1     ][wait copy-done][fusion.2 ]
//! HBM :            [copy-start                   ]
//! ```

use hashbrown::HashMap;
use trace_model::IssueKind;

use super::collective::{Links, transfer};
use super::hlo::{Computation, Instruction, Program};
use super::loops::trip_count;
use super::machine::Machine;
use super::scan::json_number;
use super::shape;

/// An instruction of a program: its computation and its place in that.
pub(super) type Place = (usize, usize);

/// Where something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Core,
    Hbm,
    Ici(Links),
}

/// Something that takes time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub lane: Lane,
    /// Picoseconds.
    pub start: i64,
    pub end: i64,
    pub at: Place,
    /// The instruction that awaits it.
    pub done: Option<Place>,
    /// What it moves.
    pub bytes: Option<u64>,
    /// The compiler's estimate; `None` where a model stands in, or it is a wait.
    pub cycles: Option<u64>,
    /// Its length is by a model of bandwidth and latency.
    pub modelled: bool,
}

/// How a program ran.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub events: Vec<Event>,
    /// When each instruction of the entry computation began and ended.
    pub entry: Vec<(i64, i64)>,
    /// Things to be logged.
    pub issues: Vec<(IssueKind, String)>,
}

/// Nothing happens later than this: 27 hours.
const LAST: i64 = 100_000_000_000_000_000;

/// Loops are drawn until there are this many events, or instructions executed.
const MAX_EVENTS: usize = 100_000;
const MAX_STEPS: u64 = 1_000_000;

/// Deepest nesting of loops and calls.
const MAX_DEPTH: usize = 32;

struct Player<'p, 'a> {
    program: &'p Program<'a>,
    machine: &'p Machine,
    now: i64,
    hbm_free: i64,
    next_free: i64,
    previous_free: i64,
    /// Event of each transfer in flight, by the name of its start.
    flights: HashMap<&'a str, usize>,
    /// Estimated cycles of computations that are branches.
    cycles: HashMap<usize, u64>,
    steps: u64,
    run: Run,
}

/// Plays the entry computation.
pub(super) fn play(program: &Program<'_>, machine: &Machine) -> Run {
    let mut player = Player {
        program,
        machine,
        now: 0,
        hbm_free: 0,
        next_free: 0,
        previous_free: 0,
        flights: HashMap::new(),
        cycles: HashMap::new(),
        steps: 0,
        run: Run::default(),
    };
    if let Some(entry) = program.entry {
        player.computation(entry, 0);
    }
    player.run
}

impl<'a> Player<'_, 'a> {
    fn computation(&mut self, index: usize, depth: usize) {
        let program = self.program;
        let Some(computation) = program.computation(index) else { return };
        for (place, instruction) in computation.instructions.iter().enumerate() {
            let before = self.now;
            self.steps += 1;
            self.instruction(computation, instruction, (index, place), depth);
            if depth == 0 {
                self.run.entry.push((before, self.now));
            }
        }
    }

    fn instruction(&mut self, computation: &Computation<'a>, instruction: &Instruction<'a>, at: Place, depth: usize) {
        let opcode = instruction.opcode;
        match opcode {
            "while" => return self.repeat(computation, instruction, at, depth),
            "call" => return self.branch(instruction.called("to_apply"), depth),
            "conditional" => return self.choose(instruction, at, depth),
            _ => {}
        }
        if opcode.ends_with("-done") {
            return self.wait(instruction, at);
        }
        if opcode.ends_with("-update") {
            let flight = instruction.operands().next().and_then(|start| self.flights.get(start).copied());
            self.flights.extend(flight.map(|flight| (instruction.name, flight)));
            return;
        }
        let is_start = opcode.ends_with("-start");
        let config = instruction.attribute("backend_config").unwrap_or_default();
        let cycles = json_number(config, "estimated_cycles").filter(|&cycles| cycles > 0 && !is_start);
        if let Some(cycles) = cycles {
            let end = self.after(cycles as f64 / self.machine.clock_hz, self.now);
            self.push(Event { cycles: Some(cycles), modelled: false, ..event(Lane::Core, self.now, end, at) });
            self.now = end;
        } else if let Some(transfer) = transfer(self.program, computation, instruction, self.machine.chip) {
            let free = match transfer.links {
                Links::Next => self.next_free,
                Links::Previous => self.previous_free,
                Links::Both => self.next_free.max(self.previous_free),
            };
            let begin = self.now.max(free);
            let end = self.after(transfer.seconds, begin);
            self.book(transfer.links, end);
            let lane = if is_start { Lane::Ici(transfer.links) } else { Lane::Core };
            // Who waits for the link waits on the core.
            let begin = if is_start { begin } else { self.now };
            self.push(Event { bytes: Some(transfer.bytes), ..event(lane, begin, end, at) });
            if is_start {
                self.flights.insert(instruction.name, self.run.events.len() - 1);
            } else {
                self.now = end;
            }
        } else if is_start {
            self.copy(computation, instruction, at);
        } else if is_work(instruction) {
            self.issue(IssueKind::CostMissing, instruction, "no estimated_cycles");
        }
    }

    /// Starts a copy between HBM and VMEM.
    fn copy(&mut self, computation: &Computation<'a>, instruction: &Instruction<'a>, at: Place) {
        // The result of the done is what is copied.
        let done = computation.done(instruction.name);
        let parts = shape::arrays(instruction.shape);
        if parts.iter().any(|part| !matches!(part.space, 0..=4 | 6)) {
            return self.issue(IssueKind::CostMissing, instruction, "transfers to the host are not modelled");
        }
        let first = || parts.first().map_or(0, shape::Array::bytes);
        let bytes = done.map_or_else(first, |(_, done)| shape::bytes(done.shape));
        let begin = self.now.max(self.hbm_free);
        let end = self.after(bytes as f64 / self.machine.chip.hbm, begin);
        self.hbm_free = end;
        self.push(Event { bytes: Some(bytes), ..event(Lane::Hbm, begin, end, at) });
        self.flights.insert(instruction.name, self.run.events.len() - 1);
    }

    fn wait(&mut self, instruction: &Instruction<'a>, at: Place) {
        let start = instruction.operands().next();
        let Some(flight) = start.and_then(|start| self.flights.remove(start)) else {
            if !matches!(instruction.opcode, "send-done" | "recv-done") {
                let what = format!("{} awaits {}", instruction.name, start.unwrap_or("nothing"));
                self.run.issues.push((IssueKind::AsyncWithoutStart, what));
            }
            return;
        };
        let Some(event) = self.run.events.get_mut(flight) else { return };
        event.done = Some(at);
        let end = event.end;
        if end > self.now {
            self.push(Event { modelled: false, ..self::event(Lane::Core, self.now, end, at) });
            self.now = end;
        }
    }

    /// A loop: its body as often as it runs, drawn while there is room.
    fn repeat(&mut self, computation: &Computation<'a>, instruction: &Instruction<'a>, at: Place, depth: usize) {
        let known = trip_count(self.program, computation, instruction);
        if known.is_none() {
            self.issue(IssueKind::TripCountUnknown, instruction, "no known_trip_count, and it does not count");
        }
        let body = instruction.called("body").and_then(|name| self.program.find(name)).filter(|_| depth < MAX_DEPTH);
        let (trips, begin, index) = (known.unwrap_or(1), self.now, self.run.events.len());
        self.push(Event { modelled: false, ..event(Lane::Core, begin, begin, at) });
        let mut last = 0;
        for trip in 0..trips {
            let Some(body) = body else { break };
            let is_full = self.run.events.len() > MAX_EVENTS || self.steps > MAX_STEPS;
            if is_full || trip > 0 && last == 0 {
                let left = trips - trip;
                self.now = self.after(last as f64 * 1e-12 * left as f64, self.now);
                if is_full {
                    self.issue(IssueKind::LoopFolded, instruction, &format!("{left} of {trips} iterations"));
                }
                break;
            }
            let before = self.now;
            self.computation(body, depth + 1);
            last = self.now - before;
        }
        let end = self.now;
        if let Some(event) = self.run.events.get_mut(index) {
            event.end = end;
        }
    }

    /// A conditional: the branch with the most estimated cycles.
    fn choose(&mut self, instruction: &Instruction<'a>, at: Place, depth: usize) {
        let listed = instruction.attribute("branch_computations").unwrap_or_default().trim_matches(['{', '}']);
        let listed = listed.split(',').map(|name| name.trim().trim_start_matches('%'));
        let two = ["true_computation", "false_computation"].into_iter().filter_map(|key| instruction.called(key));
        let names: Vec<&str> = listed.chain(two).filter(|name| !name.is_empty()).collect();
        let longest = names.into_iter().max_by_key(|name| self.cycles_of(name));
        let (begin, index) = (self.now, self.run.events.len());
        self.push(Event { modelled: false, ..event(Lane::Core, begin, begin, at) });
        self.branch(longest, depth);
        let end = self.now;
        if let Some(event) = self.run.events.get_mut(index) {
            event.end = end;
        }
    }

    /// Estimated cycles of a computation itself.
    fn cycles_of(&mut self, name: &str) -> u64 {
        let Some(index) = self.program.find(name) else { return 0 };
        let program = self.program;
        *self.cycles.entry(index).or_insert_with(|| {
            let instructions = program.computation(index).map(|it| it.instructions.as_slice()).unwrap_or_default();
            let own = |it: &Instruction<'a>| json_number(it.attributes, "estimated_cycles").unwrap_or(0);
            instructions.iter().map(own).fold(0, u64::saturating_add)
        })
    }

    fn branch(&mut self, name: Option<&str>, depth: usize) {
        let index = name.and_then(|name| self.program.find(name)).filter(|_| depth < MAX_DEPTH);
        // A call inside of calls can multiply without a loop.
        if let Some(index) = index.filter(|_| self.steps <= MAX_STEPS) {
            self.computation(index, depth + 1);
        }
    }

    /// The end of what takes `seconds` from `begin` on.
    fn after(&mut self, seconds: f64, begin: i64) -> i64 {
        let end = begin.saturating_add((seconds * 1e12).round() as i64);
        if end > LAST {
            self.run.issues.push((IssueKind::TimeOutOfRange, format!("{seconds:e} s after {begin} ps")));
        }
        end.min(LAST)
    }

    fn book(&mut self, links: Links, until: i64) {
        if links != Links::Previous {
            self.next_free = self.next_free.max(until);
        }
        if links != Links::Next {
            self.previous_free = self.previous_free.max(until);
        }
    }

    fn push(&mut self, event: Event) {
        self.run.events.push(event);
    }

    fn issue(&mut self, kind: IssueKind, instruction: &Instruction<'_>, why: &str) {
        self.run.issues.push((kind, format!("{} ({}): {why}", instruction.name, instruction.opcode)));
    }
}

fn event(lane: Lane, start: i64, end: i64, at: Place) -> Event {
    Event { lane, start, end, at, done: None, bytes: None, cycles: None, modelled: true }
}

/// Whether an instruction without an estimate does something that takes time: results
/// of one element are the scalar unit's, and some instructions only name things.
fn is_work(instruction: &Instruction<'_>) -> bool {
    let names_only = matches!(
        instruction.opcode,
        "parameter"
            | "constant"
            | "bitcast"
            | "tuple"
            | "get-tuple-element"
            | "after-all"
            | "partition-id"
            | "replica-id"
            | "iota"
            | "opt-barrier"
            | "add-dependency"
            | "domain"
    );
    let is_bitcast = instruction.attribute("custom_call_target").is_some_and(|target| target.contains("Bitcast"));
    let large = |array: &shape::Array<'_>| array.elements() > 1;
    !names_only && !is_bitcast && shape::arrays(instruction.shape).iter().any(large)
}
