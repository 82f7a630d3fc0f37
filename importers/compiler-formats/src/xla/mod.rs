//! Scheduled HLO text: the XLA:TPU compiler's prediction for a program, which needs no TPU.
//!
//! Written by `jax.jit(f).lower(…).compile().as_text()`, and by
//! `--xla_dump_to=DIR --xla_dump_hlo_as_text` (`*.after_codegen.txt`). Seen from jax
//! 0.10 with libtpu 0.0.51, for v5e, v5p and v6e.
//!
//! ```text
//! text ─ hlo ─▶ ScheduledProgram ─ simulate ─▶ SimulatedProgram ─ emit ─▶ TraceBuilder
//!                        │                ▲                         ▲
//!                        └─ labels ───────┼─────────────────────────┘
//!                                         machine, collective
//! ```
//!
//! The text has the order of instructions and, for most of them, the compiler's estimate
//! in cycles. Copies and communication have no estimate and are modelled ([`simulate`],
//! [`collective`]). Ignored: control dependencies (the order is given), sharding, and all
//! literals except those of loop counters. One device represents all that run the program.

mod collective;
mod config;
mod emit;
mod labels;
mod machine;
mod occupancy;
mod program;
mod schedule;
mod simulate;
mod step;
#[cfg(test)]
mod tests;

use std::io::Read;

use hlo::TextProgram;
use importer_common::prelude::*;
use trace_model::{Caveat, ProgramBytes, Source};

use machine::MachineModel;
pub(crate) use machine::chip_named;
use program::ScheduledProgram;
pub use schedule::LatencyHidingSchedule;

use input::source::SourceContent;
use input::{ImportError, SharedBytes};

/// Reads scheduled HLO text.
#[derive(Debug)]
pub struct ScheduledHlo;

/// Format id of programs next to which compiler dumps are searched.
pub const SCHEDULED_HLO: &str = "scheduled-hlo";
/// Name of the fact that holds the chip of a program.
pub(crate) const CHIP: &str = "chip";

static FORMAT: TraceFormat = TraceFormat {
    id: SCHEDULED_HLO,
    title: "scheduled HLO text",
    extensions: &["txt", "hlo"],
    markers: &["scheduled_hlo.txt", "*.after_codegen.txt"],
    about: "A program compiled for a TPU, also ahead of time (compiled.as_text(), *after_codegen.txt): what XLA \
            expects each op to cost, simulated in schedule order; copies and collectives are modelled.",
};

/// Facts that HLO text does not contain.
const CANNOT_KNOW: [&str; 3] = [
    "measured times",
    "durations of copies and collectives (modelled)",
    "host activity",
];

impl Importer for ScheduledHlo {
    fn format(&self) -> &'static TraceFormat {
        &FORMAT
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        if head.starts_with(b"HloModule ") {
            DetectionConfidence::Certain
        } else {
            DetectionConfidence::No
        }
    }

    fn beside(&self, _name: &str) -> Vec<String> {
        vec!["*.schedule.txt".to_owned()]
    }

    fn import(
        &self,
        source: &InputSource,
        options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<()> {
        let content = source.content(progress)?;
        let (text, blob) = text_of(content, out);
        let read = TextProgram::read(&text)
            .ok_or_else(|| malformed(0, "line 1: no HloModule".to_owned()))?;
        let program = ScheduledProgram::new(&read.module, &read.lines, text.len());
        progress.check()?;
        match check(&read, &text) {
            Err(why) if options.programs_only && !read.lines.is_empty() => {
                not_played(&read, out);
                // That a whole program was not compiled for a TPU is no loss where only the program is asked for.
                if read.module.cut.is_some() {
                    out.log(IssueKind::NotPlayed, || why.to_string());
                }
            }
            checked => {
                checked?;
                let beside = schedule_mhz(source, &program, progress)?;
                let machine =
                    MachineModel::find(&program, source.path(), options.clock_mhz, beside);
                let machine = match machine {
                    // Nor is it that the chip is not known.
                    Err(why) if options.programs_only => {
                        not_played(&read, out);
                        out.source_mut()
                            .facts
                            .push((Source::NOT_PLAYED.to_owned(), why));
                        add_program(&read, blob, text.len(), out);
                        return Ok(());
                    }
                    result => result.map_err(unusable)?,
                };
                let run = simulate::play(&program, &machine, progress)?;
                progress.check()?;
                describe(&program, &machine, out);
                log_damage(&read, out);
                emit::emit(out, &program, &machine, &run);
            }
        }
        add_program(&read, blob, text.len(), out);
        Ok(())
    }
}

/// Says that a program has no times.
fn not_played(read: &TextProgram<'_>, out: &mut TraceBuilder) {
    out.source_mut().cannot_know = vec!["times: the program was not played"];
    log_damage(read, out);
}

fn add_program(read: &TextProgram<'_>, blob: SharedBytes, len: usize, out: &mut TraceBuilder) {
    let id = out.program(&read.module.name, None);
    out.set_program_hlo(id, ProgramBytes::new(blob, 0..len));
}

/// The content as text, and as the bytes from which programs are read later.
fn text_of(content: SourceContent, out: &mut TraceBuilder) -> (String, SharedBytes) {
    if let Some(damage) = content.damage {
        out.log(IssueKind::TruncatedFile, || damage);
    }
    let bytes = (*content.bytes).as_ref();
    let text = String::from_utf8_lossy(bytes).into_owned();
    if text.len() == bytes.len() {
        return (text, content.bytes);
    }
    out.log(IssueKind::InvalidUtf8, || {
        "invalid UTF-8 bytes were replaced".to_owned()
    });
    (text.clone(), Arc::new(text))
}

fn malformed(offset: usize, what: String) -> ImportError {
    ImportError::Malformed {
        format: FORMAT.title,
        offset: offset as u64,
        what,
    }
}

fn unusable(what: String) -> ImportError {
    ImportError::Unusable {
        format: FORMAT.title,
        what,
    }
}

/// Rejects text that is not a TPU schedule.
fn check(read: &TextProgram<'_>, text: &str) -> Result<()> {
    let cure = "systole hlo, compare, expect and memory read it as it is; times need compiled.as_text(), or the dump \
                *after_codegen.txt, of a program compiled for a TPU";
    let name = &read.module.name;
    if read.module.entry.is_none() {
        let lines = text.lines().count();
        let inside = read
            .cut_in
            .map(|it| format!(", inside computation {it}"))
            .unwrap_or_default();
        let what = format!(
            "the file ends at line {lines}{inside}, before the ENTRY computation: save it again; systole hlo reads what is there"
        );
        return Err(malformed(text.len(), what));
    }
    if !read.is_scheduled() {
        return Err(unusable(format!(
            "line 1: {name} is not scheduled (no is_scheduled=true): {cure}"
        )));
    }
    if !text.contains("\"estimated_cycles\"") {
        let what = format!(
            "no instruction of {name} has estimated_cycles: it was not compiled for a TPU; {cure}"
        );
        return Err(unusable(what));
    }
    Ok(())
}

/// The text before the clock in a schedule.
const CLOCK: &[u8] = b"cycles_per_microsecond:";
/// Maximum size of a schedule that is searched.
const MAX_SCHEDULE: u64 = 1 << 30;
/// Size of the pieces in which it is read.
const PIECE: u64 = 1 << 16;

/// The clock in a schedule that was dumped next to the program: `a.b.schedule.txt` next to `a.b.c.txt`, or a schedule
/// that is named after the module.
fn schedule_mhz(
    source: &InputSource,
    program: &ScheduledProgram<'_>,
    progress: &Progress,
) -> Result<Option<f64>> {
    let name = source.name();
    let stems = name
        .match_indices('.')
        .rev()
        .map(|(start, _)| &name[..start])
        .chain([program.module.name.as_str()]);
    let beside = stems
        .filter(|stem| !stem.contains(['/', '\\']))
        .find_map(|stem| source.beside(&format!("{stem}.schedule.txt")));
    let Some(beside) = beside else {
        return Ok(None);
    };
    last_clock(beside.reader().take(MAX_SCHEDULE), progress)
}

/// The last clock in a text, read in pieces, up to any damage.
fn last_clock(mut text: impl Read, progress: &Progress) -> Result<Option<f64>> {
    let mut clock = None;
    let mut buffer = Vec::new();
    loop {
        progress.check()?;
        let kept = buffer.len();
        let read = text.by_ref().take(PIECE).read_to_end(&mut buffer);
        let is_last = read.is_err() || buffer.len() == kept;
        // A line that continues in the next piece is parsed there. An unterminated last line may
        // have lost digits.
        let whole = memchr::memrchr(b'\n', &buffer).map_or(0, |newline| newline + 1);
        let lines = &buffer[..whole];
        if let Some(start) = memchr::memmem::rfind(lines, CLOCK) {
            let line = lines[start + CLOCK.len()..]
                .split(|&byte| byte == b'\n')
                .next()
                .unwrap_or_default();
            let number = std::str::from_utf8(line)
                .ok()
                .and_then(|line| line.trim().parse().ok());
            clock = number.filter(|mhz: &f64| *mhz > 0.0);
        }
        if is_last {
            return Ok(clock);
        }
        buffer.drain(..whole);
        // Limit for lines of a schedule; relevant lines are short.
        let excess = buffer.len().saturating_sub(PIECE as usize);
        buffer.drain(..excess);
    }
}

/// Records the assumptions, and what was lost.
fn describe(program: &ScheduledProgram<'_>, machine: &MachineModel, out: &mut TraceBuilder) {
    let chip = machine.chip;
    let source = out.source_mut();
    source.simulator = Some("XLA's cost model".to_owned());
    source.caveats = vec![Caveat::Predicted, Caveat::ModelledLinks];
    source.cannot_know = CANNOT_KNOW.to_vec();
    let facts = [
        (CHIP, chip.id.clone()),
        (
            "clock",
            format!("{:.0} MHz, {}", machine.clock_hz / 1e6, machine.clock_from),
        ),
        ("devices", program.devices().to_string()),
        (
            "copies",
            format!("modelled at {:.0} GB/s of HBM", chip.hbm / 1e9),
        ),
        (
            "collectives",
            format!(
                "modelled as a ring: {:.0} GB/s per link and direction, {:.0} µs per hop",
                chip.link / 1e9,
                chip.hop_s * 1e6
            ),
        ),
    ];
    source
        .facts
        .extend(facts.map(|(name, value)| (name.to_owned(), value)));
}

/// Records what could not be read.
fn log_damage(read: &TextProgram<'_>, out: &mut TraceBuilder) {
    for (line, text) in &read.broken {
        let text: String = text.chars().take(80).collect();
        out.log(IssueKind::MalformedEvent, || {
            format!("line {line}: not an instruction: {text:?}")
        });
    }
    if let Some(computation) = read.cut_in {
        out.log(IssueKind::TruncatedFile, || {
            format!("the file ends inside computation {computation}")
        });
    }
}
