//! The tables of planned memory.

use engine::{Provenance, Table, Tabular};
use math::unit::Unit;

use super::{
    BuffersReport, HBM, HOST, MemoryPlan, PlannedBuffer, ProgramPlan, VMEM, in_words, percent, plan,
};

/// Maximum number of rows in a table of buffers.
const SHOWN: usize = 20;
/// Padding below this share of a buffer, or below this many bytes, gets no row.
const LEAST_PADDING_PERCENT: f64 = 1.0;
const LEAST_PADDING: u64 = 1 << 16;
/// Buffers below this share of the program's memory are combined in one row.
const LEAST_SHARE_PERCENT: f64 = 0.01;
/// Smaller donations are not listed.
const LEAST_DONATION: u64 = 1 << 20;

impl Tabular for BuffersReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.programs()];
        tables.extend(
            self.programs
                .first()
                .and_then(|program| at_peak(program, program.plan(HBM)?, self.main_memory)),
        );
        tables.extend(self.donations());
        tables.extend(self.padding());
        tables
    }
}

impl BuffersReport {
    /// Programs and memories, without sync flags and similar memories.
    fn plans(&self) -> impl Iterator<Item = (&ProgramPlan, &MemoryPlan)> {
        let plans = self
            .programs
            .iter()
            .flat_map(|program| program.plans.iter().map(move |plan| (program, plan)));
        plans.filter(|(_, plan)| [HBM, VMEM, HOST].contains(&plan.space))
    }

    fn programs(&self) -> Table {
        let mut notes = vec![format!("{}.", self.statement)];
        if self.capacity.is_none() && self.main_memory == super::HBM_NAME {
            notes.push(
                "The size of the HBM is not known: name the chip with --device-spec.".to_owned(),
            );
        }
        notes.extend(self.set_aside.as_ref().map(|set_aside| {
            format!(
                "When {} was fullest {} were set aside for programs: {} plans {} of temporaries.",
                set_aside.memory,
                in_words(set_aside.bytes),
                set_aside.program,
                in_words(set_aside.planned_bytes)
            )
        }));
        notes.push(
            "Total: what one execution needs; arguments and results of other programs come on top. Live: temporaries \
             in use at once, at most; unused: room in their heap that holds nothing then. Reuse: bytes of all \
             temporaries over those of their heap."
                .to_owned(),
        );
        let odd: usize = self.plans().map(|(_, plan)| plan.odd_events).sum();
        if odd > 0 {
            notes.push(format!(
                "{odd} heap events match no known buffer; live bytes can be more than shown."
            ));
        }
        let of_capacity = self
            .capacity
            .as_ref()
            .map_or(Provenance::StaticCost, |capacity| capacity.provenance);
        Table::of("buffers", "Memory planned by the compiler", self.plans())
            .compiler("program", "Program", Unit::None, |(program, _)| {
                &program.program
            })
            .compiler("memory", "Memory", Unit::None, |(_, plan)| {
                self.memory_name(plan.space)
            })
            .compiler("total_bytes", "Total", Unit::Bytes, |(_, plan)| {
                plan.total_bytes
            })
            .column(
                "total_percent",
                "Of memory",
                Unit::Percent,
                of_capacity,
                |(_, plan)| percent(plan.total_bytes, self.capacity_of(plan.space)?),
            )
            .compiler("argument_bytes", "Arguments", Unit::Bytes, |(_, plan)| {
                plan.argument_bytes
            })
            .compiler("donated_bytes", "Donated", Unit::Bytes, |(_, plan)| {
                plan.donated_bytes
            })
            .compiler("output_bytes", "Results", Unit::Bytes, |(_, plan)| {
                plan.output_bytes
            })
            .compiler("temporary_bytes", "Temporary", Unit::Bytes, |(_, plan)| {
                plan.temporary_bytes
            })
            .derived("heap_peak_bytes", "Live", Unit::Bytes, |(_, plan)| {
                plan.heap_peak_bytes
            })
            .derived("fragmentation_bytes", "Unused", Unit::Bytes, |(_, plan)| {
                plan.fragmentation_bytes
            })
            .derived("padding_bytes", "Padding", Unit::Bytes, |(_, plan)| {
                plan.padding_bytes
            })
            .derived("donatable_bytes", "Donatable", Unit::Bytes, |(_, plan)| {
                plan.donatable_bytes
            })
            .derived("reuse", "Reuse", Unit::None, |(_, plan)| plan.reuse)
            .compiler("constant_bytes", "Constants", Unit::Bytes, |(_, plan)| {
                plan.constant_bytes
            })
            .derived(
                "peak_instruction",
                "Fullest during",
                Unit::None,
                |(_, plan)| &plan.peak_instruction,
            )
            .notes(notes)
            .build()
    }

    fn donations(&self) -> Option<Table> {
        let mut found: Vec<_> = self
            .plans()
            .flat_map(|(program, plan)| {
                plan.donations
                    .iter()
                    .map(move |donation| (program, donation))
            })
            .filter(|(_, donation)| donation.bytes >= LEAST_DONATION)
            .collect();
        found.sort_by_key(|(_, donation)| std::cmp::Reverse(donation.bytes));
        (!found.is_empty()).then(|| {
            Table::of("donations", "Arguments that could be donated", found.iter().take(SHOWN))
                .compiler("program", "Program", Unit::None, |(program, _)| &program.program)
                .compiler("argument", "Argument", Unit::None, |(_, donation)| &donation.argument)
                .compiler("output", "Result", Unit::None, |(_, donation)| &donation.output)
                .compiler("shape", "Shape", Unit::None, |(_, donation)| &donation.shape)
                .derived("bytes", "Would save", Unit::Bytes, |(_, donation)| donation.bytes)
                .note(
                    "A result of the same shape could take over the memory, if the caller does not need the argument \
                 afterwards (donate_argnums).",
                )
                .build()
        })
    }

    fn padding(&self) -> Option<Table> {
        let is_padded = |buffer: &&PlannedBuffer| {
            let padding = buffer.padding_bytes();
            padding >= LEAST_PADDING
                && percent(padding, buffer.bytes) >= Some(LEAST_PADDING_PERCENT)
        };
        let mut found: Vec<_> = self
            .plans()
            .flat_map(|(program, plan)| {
                let padded = plan.at_peak.iter().filter(is_padded);
                padded.map(move |buffer| (program, plan, buffer))
            })
            .collect();
        found.sort_by_key(|(_, _, buffer)| std::cmp::Reverse(buffer.padding_bytes()));
        (!found.is_empty()).then(|| {
            Table::of("buffer_padding", "Padding at the peak", found.iter().take(SHOWN))
                .compiler("program", "Program", Unit::None, |(program, ..)| &program.program)
                .compiler("memory", "Memory", Unit::None, |(_, plan, _)| self.memory_name(plan.space))
                .compiler("instruction", "Instruction", Unit::None, |(.., buffer)| &buffer.instruction)
                .compiler("shape", "Shape", Unit::None, |(.., buffer)| &buffer.shape)
                .derived("padding_bytes", "Padding", Unit::Bytes, |(.., buffer)| buffer.padding_bytes())
                .derived("padding_percent", "Of buffer", Unit::Percent, |(.., buffer)| {
                    percent(buffer.padding_bytes(), buffer.bytes)
                })
                .compiler("bytes", "Buffer", Unit::Bytes, |(.., buffer)| buffer.bytes)
                .compiler("op_name", "Op", Unit::None, |(.., buffer)| &buffer.op_name)
                .compiler("source", "Source", Unit::None, |(.., buffer)| &buffer.source)
                .note(
                    "Memory comes in tiles: T(8,128) rounds the two minor dimensions up to multiples of 8 and 128, and \
                     allocations to 512 bytes. Make the minor dimension a multiple of 128, or a large one minor.",
                )
                .build()
        })
    }
}

fn at_peak(program: &ProgramPlan, plan: &MemoryPlan, memory: &str) -> Option<Table> {
    let is_shown = |buffer: &PlannedBuffer| {
        percent(buffer.bytes, plan.total_bytes) >= Some(LEAST_SHARE_PERCENT)
    };
    let shown = plan
        .at_peak
        .iter()
        .take(SHOWN)
        .take_while(|buffer| is_shown(buffer))
        .count();
    let notes = vec![format!(
        "Shares are of all it needs, {}.",
        in_words(plan.total_bytes)
    )];
    (!plan.at_peak.is_empty()).then(|| {
        Table::of(
            "buffers_at_peak",
            format!("In {memory} when {} needs most of it", program.program),
            plan::cut(&plan.at_peak, shown).iter(),
        )
        .compiler("instruction", "Instruction", Unit::None, |buffer| {
            if buffer.instruction.is_empty() {
                "–"
            } else {
                &buffer.instruction
            }
        })
        .compiler("purpose", "What", Unit::None, |buffer| {
            buffer.purpose.title()
        })
        .compiler("bytes", "Bytes", Unit::Bytes, |buffer| buffer.bytes)
        .derived("share_percent", "Share", Unit::Percent, |buffer| {
            percent(buffer.bytes, plan.total_bytes)
        })
        .compiler("shape", "Shape", Unit::None, |buffer| &buffer.shape)
        .derived("padding_percent", "Padding", Unit::Percent, |buffer| {
            buffer
                .element_bytes
                .and_then(|_| percent(buffer.padding_bytes(), buffer.bytes))
        })
        .compiler("op_name", "Op", Unit::None, |buffer| &buffer.op_name)
        .compiler("source", "Source", Unit::None, |buffer| &buffer.source)
        .notes(notes)
        .build()
    })
}
