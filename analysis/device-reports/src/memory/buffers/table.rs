//! The tables of planned memory.

use facts::prelude::*;

use super::{
    BuffersReport, HBM, HOST, MemoryPlan, PlannedBuffer, ProgramPlan, VMEM, in_words, percent, plan,
};

/// Maximum number of rows in a table of buffers.
const SHOWN: usize = 20;
/// Padding below this share of a buffer, or below this many bytes, gets no row.
const LEAST_PADDING_SHARE: Percent = Percent(1.0);
const LEAST_PADDING: u64 = 1 << 16;
/// Buffers below this share of the program's memory are combined in one row.
const LEAST_SHARE: Percent = Percent(0.01);
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
            .declared_by(|(program, _)| program, ["program"])
            .compiler("memory", "Memory", Unit::None, |(_, plan)| {
                self.memory_name(plan.space)
            })
            .declared_by(|(_, plan)| plan, ["total_bytes"])
            .column(
                "total_percent",
                "Of memory",
                Unit::Percent,
                of_capacity,
                |(_, plan)| percent(plan.total_bytes, self.capacity_of(plan.space)?),
            )
            .declared_by(
                |(_, plan)| plan,
                [
                    "argument_bytes",
                    "donated_bytes",
                    "output_bytes",
                    "temporary_bytes",
                    "heap_peak_bytes",
                    "fragmentation_bytes",
                    "padding_bytes",
                    "donatable_bytes",
                    "reuse",
                    "constant_bytes",
                    "peak_instruction",
                ],
            )
            .notes(notes)
            .build()
    }

    fn donations(&self) -> Option<Table> {
        let mut donations: Vec<_> = self
            .plans()
            .flat_map(|(program, plan)| {
                plan.donations
                    .iter()
                    .map(move |donation| (program, donation))
            })
            .filter(|(_, donation)| donation.bytes >= LEAST_DONATION)
            .collect();
        donations.sort_by_key(|(_, donation)| Reverse(donation.bytes));
        (!donations.is_empty()).then(|| {
            Table::of("donations", "Arguments that could be donated", donations.into_iter().take(SHOWN))
                .declared_by(|(program, _)| program, ["program"])
                .declared_by(|(_, donation)| donation, ["argument", "output", "shape", "bytes"])
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
            padding >= LEAST_PADDING && percent(padding, buffer.bytes) >= Some(LEAST_PADDING_SHARE)
        };
        let mut padded: Vec<_> = self
            .plans()
            .flat_map(|(program, plan)| {
                let padded = plan.at_peak.iter().filter(is_padded);
                padded.map(move |buffer| (program, plan, buffer))
            })
            .collect();
        padded.sort_by_key(|(_, _, buffer)| Reverse(buffer.padding_bytes()));
        (!padded.is_empty()).then(|| {
            Table::of("buffer_padding", "Padding at the peak", padded.into_iter().take(SHOWN))
                .declared_by(|(program, ..)| program, ["program"])
                .compiler("memory", "Memory", Unit::None, |(_, plan, _)| self.memory_name(plan.space))
                .declared_by(
                    |(.., buffer)| buffer,
                    ["instruction", "shape", "padding_bytes", "padding_percent", "bytes", "op_name", "source"],
                )
                .note(
                    "Memory comes in tiles: T(8,128) rounds the two minor dimensions up to multiples of 8 and 128, and \
                     allocations to 512 bytes. Make the minor dimension a multiple of 128, or a large one minor.",
                )
                .build()
        })
    }
}

fn at_peak(program: &ProgramPlan, plan: &MemoryPlan, memory: &str) -> Option<Table> {
    let is_shown =
        |buffer: &PlannedBuffer| percent(buffer.bytes, plan.total_bytes) >= Some(LEAST_SHARE);
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
        .declared(["instruction", "purpose", "bytes"])
        .derived("share_percent", "Share", Unit::Percent, |buffer| {
            percent(buffer.bytes, plan.total_bytes)
        })
        .declared(["shape", "padding_percent", "op_name", "source"])
        .notes(notes)
        .build()
    })
}
