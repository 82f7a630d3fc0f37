//! Schedules of XLA's latency-hiding scheduler: `*.schedule.txt`.
//!
//! Written by `--xla_dump_latency_hiding_schedule=true` next to other dumps, for programs with asynchronous ops. It is
//! a text-format protobuf with the module at the time of scheduling and, for each computation, the start and end of its
//! instructions in cycles. Known from libtpu 0.0.51.
//!
//! The scheduler's costs only serve to choose an order: matrix products take several times the cycles that the code
//! generator estimates later. Gaps between instructions are waits for the next `-done`. Ignored: literals, shardings,
//! and statistics of instructions.

mod encode;
mod lines;
mod proto;
mod rows;
#[cfg(test)]
mod tests;

use hlo::{ComputationId, HloError, HloModule, HloText, InstructionId};
use importer_common::prelude::*;
use trace_model::{Arg, ArgRows, ArgSourceId, Caveat, ProgramBytes};

use super::collective::collective;
use super::emit;
use super::labels::ScheduleLabels;
use super::program::ScheduledProgram;
use super::text_of;
use lines::LineTexts;
use proto::{ParsedTextProto, TextProtoDamage, TextProtoMessage};
use rows::{FORMAT, ParsedSchedule, ScheduleCut, ScheduleRow, malformed};

/// Reads schedules of the latency-hiding scheduler.
#[derive(Debug)]
pub struct LatencyHidingSchedule;

const CANNOT_KNOW: [&str; 3] = [
    "measured times",
    "actual durations of ops (the scheduler's costs only define their order)",
    "host activity",
];

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
    ) -> Result<()> {
        let (text, _) = text_of(source.content(progress)?, out);
        progress.check()?;
        let parsed = TextProtoMessage::parse(&text)
            .map_err(|TextProtoDamage { offset, line, what }| malformed(offset, line, &what))?;
        let (message, schedules) = parts(&parsed, &text)?;
        if !parsed.cut_in.is_empty() {
            out.log(IssueKind::TruncatedFile, || {
                format!("the file ends inside {}", parsed.cut_in.join(" / "))
            });
        }
        let encoded = encode::program(message);
        let len = encoded.len();
        let blob = ProgramBytes::new(Arc::new(encoded), 0..len);
        let module = HloModule::from_proto(blob.clone(), &message.text("name"));
        let module = module.map_err(|error| {
            let what = match error {
                HloError::Damaged { why, .. } => why.to_owned(),
                other => other.to_string(),
            };
            malformed(message.offset, message.line, &what)
        })?;
        progress.check()?;
        let texts = LineTexts::all(&module, message);
        let lines = texts.iter().zip(&module.instructions);
        let lines: Vec<HloText<'_>> = lines.map(|(it, of)| it.line(of)).collect();
        let program = ScheduledProgram::new(&module, &lines, text.len());
        let numbers = message.all("computations").zip(module.computation_ids());
        let ids: HashMap<u64, ComputationId> = numbers
            .map(|(computation, id)| (computation.number("id").unwrap_or(0), id))
            .collect();
        let cut = ScheduleCut::of(&parsed.cut_in);
        let last = schedules.len() - 1;
        let schedules = schedules.into_iter().enumerate().map(|(index, it)| {
            let id = it.number("computation_id").unwrap_or(0);
            let cut = cut.filter(|_| index == last);
            ParsedSchedule::read(it, &module, ids.get(&id).copied(), options, cut)
        });
        let schedules = schedules.collect::<Result<Vec<_>, _>>()?;
        let main = main_of(&module, &schedules);
        if main.is_none() && parsed.cut_in.is_empty() {
            let entry = module.entry.and_then(|entry| module.computation(entry));
            let entry = entry.map_or("the entry", |it| &it.name);
            out.log(IssueKind::TruncatedFile, || {
                format!("no schedule of {entry}, the entry computation")
            });
        }
        describe(&program, &schedules, main, out);
        convert(&program, &schedules, main, out);
        let id = out.program(&module.name, None);
        out.set_program_hlo(id, blob);
        Ok(())
    }
}

/// The module and the schedules of a file; what is missing is an error.
fn parts<'p, 'a>(
    parsed: &'p ParsedTextProto<'a>,
    text: &str,
) -> Result<(&'p TextProtoMessage<'a>, Vec<&'p TextProtoMessage<'a>>)> {
    let root = &parsed.root;
    let schedules: Vec<&TextProtoMessage<'_>> = root.all("computation_schedules").collect();
    let module = root.message("hlo_module").filter(|_| !schedules.is_empty());
    let module = module.ok_or_else(|| {
        let what = "the file ends without the schedule of a computation";
        malformed(text.len(), text.lines().count(), what)
    })?;
    Ok((module, schedules))
}

/// The schedule of the entry computation; `None` if the file only has schedules of other computations.
fn main_of(module: &HloModule, schedules: &[ParsedSchedule]) -> Option<usize> {
    let entry = module.entry?;
    schedules
        .iter()
        .position(|it| it.computation == Some(entry))
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
    schedules: &[ParsedSchedule],
    main: Option<usize>,
    out: &mut TraceBuilder,
) {
    let id = out.program(&program.module.name, None);
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
            let module = emit::module(out, group, &program.module.name, schedule.end());
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
                &format!("{} (once, by itself)", schedule.name),
            )
        };
        let facts = out.add_arg_source(facts(schedule));
        let mut writer = ScheduleWriter {
            program,
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
    group: GroupId,
    is_main: bool,
    facts: ArgSourceId,
    /// Start time and row of each start without a done so far.
    flights: HashMap<InstructionId, (i64, usize)>,
}

impl<'a> ScheduleWriter<'_, 'a> {
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
        let module = self.program.module;
        let rows = schedule.rows.iter();
        let places: Vec<Option<InstructionId>> = rows
            .map(|row| module.instruction_by_compiler_id(row.id))
            .collect();
        let awaited = next_dones(self.program, &places);
        let ops = self.track(out, TrackKind::Ops, 2, "XLA Ops");
        // A slice of one cycle stands for an instruction without cost.
        let cycle = (1e6 / schedule.mhz).ceil() as i64;
        let mut busy_until = 0;
        for (index, (row, place)) in schedule.rows.iter().zip(&places).enumerate() {
            let label = place.and_then(|place| labels.of(out, place));
            if label.is_none() {
                out.log(IssueKind::UnknownMetadata, || {
                    format!("the module has no instruction {}", row.id)
                });
            }
            let label = label.unwrap_or_else(|| out.label("(unknown instruction)", None));
            if row.start > busy_until + 1 {
                let done = awaited
                    .get(index)
                    .copied()
                    .flatten()
                    .and_then(|done| labels.of(out, done));
                let wait: LabelId = done.unwrap_or_else(|| out.label("wait", None));
                out.add_slice(
                    ops,
                    SliceSpec::new(emit::range(busy_until, row.start), wait),
                );
            } else if row.start < busy_until - 1 {
                let name = &schedule.name;
                out.log(IssueKind::ScheduleOverlaps, || {
                    format!("{name}: at {} ps, before {busy_until} ps", row.start)
                });
            }
            if row.end - row.start > cycle {
                let spec = SliceSpec::new(emit::range(row.start, row.end), label);
                out.add_slice(
                    ops,
                    SliceSpec {
                        args: Some(index as u64),
                        ..spec
                    },
                );
            }
            busy_until = row.end.max(busy_until);
            if let Some(place) = *place {
                self.fly(schedule, index, place, labels, out);
            }
        }
        let open = self.flights.drain();
        let mut open: Vec<&str> = open.map(|(id, _)| self.program.line(id).name).collect();
        open.sort_unstable();
        for name in open {
            out.log(IssueKind::AsyncUnterminated, || {
                format!("{name} of {}", schedule.name)
            });
        }
    }

    /// Remembers a start, or adds the in-flight span that ends here.
    fn fly(
        &mut self,
        schedule: &ParsedSchedule,
        index: usize,
        place: InstructionId,
        labels: &mut ScheduleLabels<'_, 'a>,
        out: &mut TraceBuilder,
    ) {
        let program = self.program;
        let (Some(instruction), Some(row)) = (program.instruction(place), schedule.rows.get(index))
        else {
            return;
        };
        if instruction.opcode.ends_with("-start") {
            self.flights.insert(place, (row.start, index));
        }
        if !instruction.opcode.ends_with("-done") {
            return;
        }
        let start = program.operand(place, 0);
        let begun = start.and_then(|start| Some((self.flights.remove(&start)?, start)));
        let Some(((begin, start_row), start)) = begun else {
            return out.log(IssueKind::AsyncWithoutStart, || {
                instruction.name.to_string()
            });
        };
        let communicates = collective(program, start).is_some();
        let track = if communicates {
            self.track(out, TrackKind::AsyncOps, 4, "ICI")
        } else {
            self.track(out, TrackKind::AsyncOps, 3, "HBM DMA")
        };
        let (Some(label), Some(done)) = (labels.of(out, start), labels.of(out, place)) else {
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
    places: &[Option<InstructionId>],
) -> Vec<Option<InstructionId>> {
    let is_done = |&id: &InstructionId| program.line(id).opcode.ends_with("-done");
    let mut next = None;
    let mut out: Vec<Option<InstructionId>> = places
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
