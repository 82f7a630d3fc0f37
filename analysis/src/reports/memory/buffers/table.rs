//! Planned memory as tables.

use super::{BuffersReport, HBM, HOST, MemoryPlan, PlannedBuffer, ProgramPlan, VMEM, as_i64, in_words, percent, plan};
use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::math::unit::Unit;

/// Rows of a table of buffers.
const SHOWN: usize = 20;
/// Padding below this share of a buffer, or this many bytes, is not worth a row.
const LEAST_PADDING_PERCENT: f64 = 1.0;
const LEAST_PADDING: u64 = 1 << 16;
/// Buffers below this share of what a program needs are shown as one row.
const LEAST_SHARE_PERCENT: f64 = 0.01;
/// Donations below this are not worth the trouble.
const LEAST_DONATION: u64 = 1 << 20;

impl Tabular for BuffersReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.programs()];
        tables.extend(self.programs.first().and_then(|program| at_peak(program, program.plan(HBM)?, self.main_memory)));
        tables.extend(self.donations());
        tables.extend(self.padding());
        tables
    }
}

fn planned(id: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { id, title, unit, provenance: Provenance::StaticCost }
}

fn derived(id: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { id, title, unit, provenance: Provenance::Derived }
}

fn bytes(value: u64) -> Cell {
    Cell::Int(as_i64(value))
}

fn text(value: Option<&String>) -> Cell {
    value.map_or(Cell::Missing, Cell::text)
}

impl BuffersReport {
    /// Programs and memories, without sync flags and the like.
    fn plans(&self) -> impl Iterator<Item = (&ProgramPlan, &MemoryPlan)> {
        let plans = self.programs.iter().flat_map(|program| program.plans.iter().map(move |plan| (program, plan)));
        plans.filter(|(_, plan)| [HBM, VMEM, HOST].contains(&plan.space))
    }

    fn programs(&self) -> Table {
        let row = |(program, plan): (&ProgramPlan, &MemoryPlan)| {
            let share = self.capacity_of(plan.space).and_then(|capacity| percent(plan.total_bytes, capacity));
            vec![
                Cell::text(&program.program),
                Cell::text(self.memory_name(plan.space)),
                bytes(plan.total_bytes),
                Cell::maybe(share),
                bytes(plan.argument_bytes),
                bytes(plan.donated_bytes),
                bytes(plan.output_bytes),
                bytes(plan.temporary_bytes),
                bytes(plan.heap_peak_bytes),
                bytes(plan.fragmentation_bytes),
                bytes(plan.padding_bytes),
                bytes(plan.donatable_bytes),
                Cell::maybe(plan.reuse),
                bytes(plan.constant_bytes),
                text(plan.peak_instruction.as_ref()),
            ]
        };
        let mut notes = vec![format!("{}.", self.statement)];
        if self.capacity.is_none() && self.main_memory == super::HBM_NAME {
            notes.push("The size of the HBM is not known: name the chip with --device-spec.".to_owned());
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
            notes.push(format!("{odd} events of heaps fit nothing that is known; live bytes can be more than shown."));
        }
        Table {
            id: "buffers",
            title: "Memory planned by the compiler".to_owned(),
            columns: vec![
                planned("program", "Program", Unit::None),
                planned("memory", "Memory", Unit::None),
                planned("total_bytes", "Total", Unit::Bytes),
                Column {
                    provenance: self.capacity.as_ref().map_or(Provenance::StaticCost, |capacity| capacity.provenance),
                    ..derived("total_percent", "Of memory", Unit::Percent)
                },
                planned("argument_bytes", "Arguments", Unit::Bytes),
                planned("donated_bytes", "Donated", Unit::Bytes),
                planned("output_bytes", "Results", Unit::Bytes),
                planned("temporary_bytes", "Temporary", Unit::Bytes),
                derived("heap_peak_bytes", "Live", Unit::Bytes),
                derived("fragmentation_bytes", "Unused", Unit::Bytes),
                derived("padding_bytes", "Padding", Unit::Bytes),
                derived("donatable_bytes", "Donatable", Unit::Bytes),
                derived("reuse", "Reuse", Unit::None),
                planned("constant_bytes", "Constants", Unit::Bytes),
                derived("peak_instruction", "Fullest during", Unit::None),
            ],
            rows: self.plans().map(row).collect(),
            notes,
        }
    }

    fn donations(&self) -> Option<Table> {
        let mut found: Vec<_> = self
            .plans()
            .flat_map(|(program, plan)| plan.donations.iter().map(move |donation| (program, donation)))
            .filter(|(_, donation)| donation.bytes >= LEAST_DONATION)
            .collect();
        found.sort_by_key(|(_, donation)| std::cmp::Reverse(donation.bytes));
        let row = |(program, donation): &(&ProgramPlan, &super::Donation)| {
            vec![
                Cell::text(&program.program),
                Cell::text(&donation.argument),
                Cell::text(&donation.output),
                Cell::text(&donation.shape),
                bytes(donation.bytes),
            ]
        };
        (!found.is_empty()).then(|| Table {
            id: "donations",
            title: "Arguments that could be donated".to_owned(),
            columns: vec![
                planned("program", "Program", Unit::None),
                planned("argument", "Argument", Unit::None),
                planned("output", "Result", Unit::None),
                planned("shape", "Shape", Unit::None),
                derived("bytes", "Would save", Unit::Bytes),
            ],
            rows: found.iter().take(SHOWN).map(row).collect(),
            notes: vec![
                "A result of the same shape could take over the memory, if the caller does not need the argument \
                 afterwards (donate_argnums)."
                    .to_owned(),
            ],
        })
    }

    fn padding(&self) -> Option<Table> {
        let is_padded = |buffer: &&PlannedBuffer| {
            let padding = buffer.padding_bytes();
            padding >= LEAST_PADDING && percent(padding, buffer.bytes) >= Some(LEAST_PADDING_PERCENT)
        };
        let mut found: Vec<_> = self
            .plans()
            .flat_map(|(program, plan)| {
                let padded = plan.at_peak.iter().filter(is_padded);
                padded.map(move |buffer| (program, plan, buffer))
            })
            .collect();
        found.sort_by_key(|(_, _, buffer)| std::cmp::Reverse(buffer.padding_bytes()));
        let row = |(program, plan, buffer): &(&ProgramPlan, &MemoryPlan, &PlannedBuffer)| {
            let share = percent(buffer.padding_bytes(), buffer.bytes);
            let mut row = vec![Cell::text(&program.program), Cell::text(self.memory_name(plan.space))];
            row.extend([Cell::text(&buffer.instruction), text(buffer.shape.as_ref()), bytes(buffer.padding_bytes())]);
            row.extend([Cell::maybe(share), bytes(buffer.bytes), text(buffer.op_name.as_ref())]);
            row.push(text(buffer.source.as_ref()));
            row
        };
        (!found.is_empty()).then(|| Table {
            id: "buffer_padding",
            title: "Padding at the peak".to_owned(),
            columns: vec![
                planned("program", "Program", Unit::None),
                planned("memory", "Memory", Unit::None),
                planned("instruction", "Instruction", Unit::None),
                planned("shape", "Shape", Unit::None),
                derived("padding_bytes", "Padding", Unit::Bytes),
                derived("padding_percent", "Of buffer", Unit::Percent),
                planned("bytes", "Buffer", Unit::Bytes),
                planned("op_name", "Op", Unit::None),
                planned("source", "Source", Unit::None),
            ],
            rows: found.iter().take(SHOWN).map(row).collect(),
            notes: vec![
                "Memory comes in tiles: T(8,128) rounds the two minor dimensions up to multiples of 8 and 128, and \
                 allocations to 512 bytes. Make the minor dimension a multiple of 128, or a large one minor."
                    .to_owned(),
            ],
        })
    }
}

fn at_peak(program: &ProgramPlan, plan: &MemoryPlan, memory: &str) -> Option<Table> {
    let row = |buffer: &PlannedBuffer| {
        vec![
            Cell::text(if buffer.instruction.is_empty() { "–" } else { &buffer.instruction }),
            Cell::text(buffer.purpose.title()),
            bytes(buffer.bytes),
            Cell::maybe(percent(buffer.bytes, plan.total_bytes)),
            text(buffer.shape.as_ref()),
            Cell::maybe(buffer.element_bytes.and_then(|_| percent(buffer.padding_bytes(), buffer.bytes))),
            text(buffer.op_name.as_ref()),
            text(buffer.source.as_ref()),
        ]
    };
    let is_shown = |buffer: &PlannedBuffer| percent(buffer.bytes, plan.total_bytes) >= Some(LEAST_SHARE_PERCENT);
    let shown = plan.at_peak.iter().take(SHOWN).take_while(|buffer| is_shown(buffer)).count();
    let rows = plan::cut(&plan.at_peak, shown).iter().map(row).collect();
    let notes = vec![format!("Shares are of all it needs, {}.", in_words(plan.total_bytes))];
    (!plan.at_peak.is_empty()).then(|| Table {
        id: "buffers_at_peak",
        title: format!("In {memory} when {} needs most of it", program.program),
        columns: vec![
            planned("instruction", "Instruction", Unit::None),
            planned("purpose", "What", Unit::None),
            planned("bytes", "Bytes", Unit::Bytes),
            derived("share_percent", "Share", Unit::Percent),
            planned("shape", "Shape", Unit::None),
            derived("padding_percent", "Padding", Unit::Percent),
            planned("op_name", "Op", Unit::None),
            planned("source", "Source", Unit::None),
        ],
        rows,
        notes,
    })
}
