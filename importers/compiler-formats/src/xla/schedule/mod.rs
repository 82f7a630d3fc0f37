//! Schedules of XLA's latency-hiding scheduler: `*.schedule.txt`.
//!
//! Written by `--xla_dump_latency_hiding_schedule=true` next to other dumps, for programs with asynchronous ops. It is
//! a text-format protobuf with the module at the time of scheduling and, for each computation, the start and end of its
//! instructions in cycles. Known from libtpu 0.0.51.
//!
//! The scheduler's costs only serve to choose an order: matrix products take several times the cycles that the code
//! generator estimates later. Gaps between instructions are waits for the next `-done`. Ignored: literals, shardings,
//! and statistics of instructions.

mod proto;
mod render;
mod rows;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use hashbrown::HashMap;
use importer_common::{DetectionConfidence, ImportOptions, Importer, TraceFormat};
use input::{ImportError, InputSource, Progress};
use trace_model::{
    Arg, ArgRows, ArgSourceId, ArgValue, Caveat, GroupId, GroupKind, IssueKind, LabelId,
    ProgramBytes, SliceAttr, SliceSpec, Timestamp, TraceBuilder, TrackId, TrackKind,
};

use super::collective::collective;
use super::emit;
use super::hlo::ScheduledProgram;
use super::labels::ScheduleLabels;
use super::simulate::InstructionIndex;
use super::text_of;
use proto::{TextProtoDamage, TextProtoMessage};
use render::InstructionNames;
use rows::{FORMAT, ParsedSchedule, ScheduleCut, ScheduleRow, malformed};

/// Reads schedules of the latency-hiding scheduler.
#[derive(Debug)]
pub struct LatencyHidingSchedule;

const CANNOT_KNOW: [&str; 3] = [
    "measured times",
    "actual durations of ops (the scheduler's costs only define their order)",
    "host activity",
];

/// Limit of the HLO text as a multiple of the text-format protobuf.
const MAX_GROWTH: usize = 4;

impl Importer for LatencyHidingSchedule {
    fn format(&self) -> &'static TraceFormat {
        &FORMAT
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        if head.starts_with(b"hlo_module {") {
            DetectionConfidence::Certain
        } else {
            DetectionConfidence::No
        }
    }

    fn import(
        &self,
        source: &InputSource,
        options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<(), ImportError> {
        let (text, _) = text_of(source.content(progress)?, out);
        progress.check()?;
        let parsed = TextProtoMessage::parse(&text)
            .map_err(|TextProtoDamage { offset, line, what }| malformed(offset, line, &what))?;
        let (root, module) = (&parsed.root, parsed.root.message("hlo_module"));
        let schedules: Vec<&TextProtoMessage<'_>> = root.all("computation_schedules").collect();
        let Some(module) = module.filter(|_| !schedules.is_empty()) else {
            let lines = text.lines().count();
            return Err(malformed(
                text.len(),
                lines,
                "the file ends without the schedule of a computation",
            ));
        };
        if !parsed.cut_in.is_empty() {
            out.log(IssueKind::TruncatedFile, || {
                format!("the file ends inside {}", parsed.cut_in.join(" / "))
            });
        }
        let names = InstructionNames::of(module);
        let most = text
            .len()
            .saturating_mul(MAX_GROWTH)
            .saturating_add(1 << 20);
        let Some(hlo) = render::text(module, &names, most) else {
            let what = "repeated names make the module's text many times larger than the file";
            return Err(ImportError::TooLarge {
                what: what.to_owned(),
            });
        };
        let cut_names = names.cut();
        out.log_mut().add_many(IssueKind::TextCut, cut_names, || {
            "names or lists of names of the module were truncated".to_owned()
        });
        let Some(program) = ScheduledProgram::parse(&hlo) else {
            return Err(malformed(0, 1, "the module has no name"));
        };
        progress.check()?;
        let cut = ScheduleCut::of(&parsed.cut_in);
        let last = schedules.len() - 1;
        let schedules: Vec<ParsedSchedule> = schedules
            .into_iter()
            .enumerate()
            .map(|(at, it)| ParsedSchedule::read(it, &names, options, cut.filter(|_| at == last)))
            .collect::<Result<_, _>>()?;
        let main = main_of(&program, &schedules);
        if main.is_none() && parsed.cut_in.is_empty() {
            let entry = program
                .entry
                .and_then(|entry| program.computation(entry))
                .map_or("the entry", |it| it.name);
            out.log(IssueKind::TruncatedFile, || {
                format!("no schedule of {entry}, the entry computation")
            });
        }
        describe(&program, &schedules, main, out);
        convert(&program, &names, &schedules, main, out);
        let id = out.program(program.name, None);
        let len = hlo.len();
        out.set_program_hlo(id, ProgramBytes::new(Arc::new(hlo.clone()), 0..len));
        Ok(())
    }
}

/// The schedule of the entry computation; `None` if the file only has schedules of other computations.
fn main_of(program: &ScheduledProgram<'_>, schedules: &[ParsedSchedule]) -> Option<usize> {
    let entry = program
        .entry
        .and_then(|entry| program.computation(entry))
        .map(|entry| entry.name);
    schedules
        .iter()
        .position(|it| Some(&*it.computation) == entry)
}

fn describe(
    program: &ScheduledProgram<'_>,
    schedules: &[ParsedSchedule],
    main: Option<usize>,
    out: &mut TraceBuilder,
) {
    let Some(main) = schedules.get(main.unwrap_or(0)) else {
        return;
    };
    let about = out.source_mut();
    about.simulator = Some("XLA's latency-hiding scheduler".to_owned());
    about.caveats = vec![Caveat::Predicted, Caveat::LoopsApart];
    about.cannot_know = CANNOT_KNOW.to_vec();
    about
        .facts
        .push(("clock".to_owned(), format!("{:.0} MHz", main.mhz)));
    about
        .facts
        .push(("devices".to_owned(), program.devices().to_string()));
    about.facts.extend(
        main.statistics
            .iter()
            .map(|(key, value)| (format!("scheduler.{key}"), value.clone())),
    );
}

fn convert(
    program: &ScheduledProgram<'_>,
    names: &InstructionNames,
    schedules: &[ParsedSchedule],
    main: Option<usize>,
    out: &mut TraceBuilder,
) {
    let id = out.program(program.name, None);
    let mut labels = ScheduleLabels::new(program, id);
    let facts = |schedule: &ParsedSchedule| {
        let cycles = |row: &ScheduleRow| {
            vec![Arg {
                name: "cycles".to_owned(),
                value: ArgValue::Float(row.cycles),
            }]
        };
        Arc::new(ArgRows(schedule.rows.iter().map(cycles).collect()))
    };
    for (index, schedule) in schedules.iter().enumerate() {
        let is_main = Some(index) == main;
        let group = if is_main {
            // No chip is set, because its peaks would be compared with costs that are not times.
            let group = emit::device(out, None);
            let module = emit::module(out, group, program.name, schedule.end());
            if schedule.is_cut {
                out.set_attr(module, SliceAttr::Unterminated, 1);
            }
            group
        } else {
            // The body of a loop is drawn once, with times that start at 0.
            let host = emit::host(out);
            out.group(
                Some(host),
                GroupKind::Custom,
                &format!("{} (once, by itself)", schedule.computation),
            )
        };
        let facts = out.add_arg_source(facts(schedule));
        let mut writer = ScheduleWriter {
            program,
            names,
            group,
            is_main,
            facts,
            flights: HashMap::new(),
        };
        writer.write(schedule, &mut labels, out);
        memory(out, group, schedule);
    }
    labels.log(out);
}

/// Adds one schedule to the model.
struct ScheduleWriter<'p, 'a> {
    program: &'p ScheduledProgram<'a>,
    names: &'p InstructionNames,
    group: GroupId,
    is_main: bool,
    facts: ArgSourceId,
    /// Start time and row of each start without a done so far, by name.
    flights: HashMap<&'a str, (i64, usize)>,
}

impl<'a> ScheduleWriter<'_, 'a> {
    fn place(&self, row: &ScheduleRow) -> Option<InstructionIndex> {
        let (computation, instruction) = self.names.instructions.get(&row.id)?;
        let index = self.program.find(computation)?;
        Some((
            index,
            self.program.computation(index)?.position(instruction)?,
        ))
    }

    fn track(&self, out: &mut TraceBuilder, kind: TrackKind, id: i64, name: &str) -> TrackId {
        let kind = if self.is_main { kind } else { TrackKind::Other };
        let track = emit::track(out, self.group, kind, id, name);
        out.set_arg_source(track, self.facts);
        track
    }

    fn write(
        &mut self,
        schedule: &ParsedSchedule,
        labels: &mut ScheduleLabels<'_, 'a>,
        out: &mut TraceBuilder,
    ) {
        let places: Vec<Option<InstructionIndex>> =
            schedule.rows.iter().map(|row| self.place(row)).collect();
        let awaited = next_dones(self.program, &places);
        let ops = self.track(out, TrackKind::Ops, 2, "XLA Ops");
        // A slice of one cycle stands for an instruction without cost.
        let cycle = (1e6 / schedule.mhz).ceil() as i64;
        let mut busy_until = 0;
        for (at, (row, place)) in schedule.rows.iter().zip(&places).enumerate() {
            let label = place.and_then(|place| labels.of(out, place));
            if label.is_none() {
                out.log(IssueKind::UnknownMetadata, || {
                    format!("the module has no instruction {}", row.id)
                });
            }
            let label = label.unwrap_or_else(|| out.label("(unknown instruction)", None));
            if row.start > busy_until + 1 {
                let done = awaited
                    .get(at)
                    .copied()
                    .flatten()
                    .and_then(|done| labels.of(out, done));
                let wait: LabelId = done.unwrap_or_else(|| out.label("wait", None));
                out.add_slice(
                    ops,
                    SliceSpec::new(emit::range(busy_until, row.start), wait),
                );
            } else if row.start < busy_until - 1 {
                let name = &schedule.computation;
                out.log(IssueKind::ScheduleOverlaps, || {
                    format!("{name}: at {} ps, before {busy_until} ps", row.start)
                });
            }
            if row.end - row.start > cycle {
                let spec = SliceSpec::new(emit::range(row.start, row.end), label);
                out.add_slice(
                    ops,
                    SliceSpec {
                        args: Some(at as u64),
                        ..spec
                    },
                );
            }
            busy_until = row.end.max(busy_until);
            if let Some(place) = *place {
                self.fly(schedule, at, place, labels, out);
            }
        }
        let mut open: Vec<_> = self.flights.drain().map(|(name, _)| name).collect();
        open.sort_unstable();
        for name in open {
            out.log(IssueKind::AsyncUnterminated, || {
                format!("{name} of {}", schedule.computation)
            });
        }
    }

    /// Remembers a start, or adds the in-flight span that ends here.
    fn fly(
        &mut self,
        schedule: &ParsedSchedule,
        at: usize,
        place: InstructionIndex,
        labels: &mut ScheduleLabels<'_, 'a>,
        out: &mut TraceBuilder,
    ) {
        let program = self.program;
        let Some(computation) = program.computation(place.0) else {
            return;
        };
        let (Some(instruction), Some(row)) =
            (computation.instructions.get(place.1), schedule.rows.get(at))
        else {
            return;
        };
        if instruction.opcode.ends_with("-start") {
            self.flights.insert(instruction.name, (row.start, at));
        }
        if !instruction.opcode.ends_with("-done") {
            return;
        }
        let name = instruction.operand_names().next();
        let begun =
            name.and_then(|name| Some((self.flights.remove(name)?, computation.position(name)?)));
        let Some(((begin, start_row), start)) = begun else {
            return out.log(IssueKind::AsyncWithoutStart, || instruction.name.to_owned());
        };
        let communicates = computation
            .instructions
            .get(start)
            .is_some_and(|start| collective(program, computation, start).is_some());
        let track = if communicates {
            self.track(out, TrackKind::AsyncOps, 4, "ICI")
        } else {
            self.track(out, TrackKind::AsyncOps, 3, "HBM DMA")
        };
        let (Some(label), Some(done)) = (labels.of(out, (place.0, start)), labels.of(out, place))
        else {
            return;
        };
        let spec = SliceSpec::new(emit::range(begin, row.end), label);
        let slice = out.add_slice(
            track,
            SliceSpec {
                args: Some(start_row as u64),
                ..spec
            },
        );
        let done = out.label_ref(done).name;
        out.set_attr(slice, SliceAttr::DoneOp, done.index() as i64);
    }
}

/// For each row, the next instruction that awaits something.
fn next_dones(
    program: &ScheduledProgram<'_>,
    places: &[Option<InstructionIndex>],
) -> Vec<Option<InstructionIndex>> {
    let is_done = |&(computation, at): &InstructionIndex| {
        let instruction = program
            .computation(computation)
            .and_then(|it| it.instructions.get(at));
        instruction.is_some_and(|it| it.opcode.ends_with("-done"))
    };
    let mut next = None;
    let mut out: Vec<Option<InstructionIndex>> = places
        .iter()
        .rev()
        .map(|place| {
            next = place.filter(is_done).or(next);
            next
        })
        .collect();
    out.reverse();
    out
}

/// Adds the scheduler's memory use over time, and its expected peak.
fn memory(out: &mut TraceBuilder, group: GroupId, schedule: &ParsedSchedule) {
    let track = emit::track(out, group, TrackKind::Counter, 7, "Memory by the scheduler");
    for row in &schedule.rows {
        out.add_counter_sample(track, Timestamp::from_ps(row.end), None, row.memory as f64);
    }
    out.set_counter_unit(track, "bytes");
    if let Some(peak) = schedule.memory_peak {
        let track = emit::track(
            out,
            group,
            TrackKind::Counter,
            8,
            "Most memory by the scheduler",
        );
        out.add_counter_sample(track, Timestamp::ZERO, None, peak as f64);
        out.set_counter_unit(track, "bytes");
    }
}
