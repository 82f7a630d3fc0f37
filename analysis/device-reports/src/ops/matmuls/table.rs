//! The table of matrix multiplications.

use engine::{Cell, Percent, Provenance, Table, Tabular};
use hardware::padding::Dimension;
use math::unit::Unit;
use trace_model::Picos;

use super::{MatmulRow, MatmulsReport, SizesFrom};

impl Tabular for MatmulsReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.op_table()];
        if !self.sizes.is_empty() {
            tables.insert(0, self.size_table());
        }
        tables
    }
}

impl MatmulsReport {
    /// Provenance of sizes and of shares of the peak.
    fn provenances(&self) -> (Provenance, Provenance) {
        let inferred = self
            .rows
            .iter()
            .any(|row| row.sizes_from == Some(SizesFrom::Shapes));
        let sizes = if inferred {
            Provenance::Inferred
        } else {
            Provenance::StaticCost
        };
        (sizes, Provenance::of_peak(self.peaks.flops))
    }

    fn size_table(&self) -> Table {
        let (sizes, rate) = self.provenances();
        let over = self.sums_over;
        Table::of("matmul_sizes", self.title(), &self.sizes)
            .column("m", "M", Unit::Count, sizes, |row| row.sizes.m)
            .column("k", "K", Unit::Count, sizes, |row| row.sizes.k)
            .column("n", "N", Unit::Count, sizes, |row| row.sizes.n)
            .derived(
                "self_time_each_ps",
                over.self_time_title(),
                Unit::Picoseconds,
                move |row| over.each_ps(Picos::from_ps(row.self_time_ps)),
            )
            .measured(
                "self_of_op_time_percent",
                "of op time",
                Unit::Percent,
                |row| row.self_of_op_time_percent,
            )
            .column("flops_percent", "of FLOP/s", Unit::Percent, rate, |row| {
                row.flops_percent
            })
            .column(
                "padding_efficiency_percent",
                "Useful",
                Unit::Percent,
                sizes,
                |row| row.padding_efficiency_percent,
            )
            .column("pad_first", "Pad first", Unit::None, sizes, |row| {
                row.pad_first.map(Dimension::title)
            })
            .measured("ops", "Ops", Unit::Count, |row| row.ops)
            .measured("occurrences", "Runs", Unit::Count, |row| row.occurrences)
            .column("batch", "Batch", Unit::Count, sizes, |row| row.sizes.batch)
            .derived("flops_per_second", "FLOP/s", Unit::FlopPerSecond, |row| {
                row.flops_per_second
            })
            .column("types", "Types", Unit::None, sizes, |row| {
                Cell::non_empty(&row.types)
            })
            .column(
                "padding_gain_percent",
                "then useful",
                Unit::Percent,
                sizes,
                |row| row.padding_gain_percent,
            )
            .measured(
                "self_time_ps",
                "Self time (sum)",
                Unit::Picoseconds,
                |row| row.self_time_ps,
            )
            .inferred(
                "padding_loss_ps",
                "Lost, at most (sum)",
                Unit::Picoseconds,
                |row| row.padding_loss_ps,
            )
            .notes(self.notes())
            .build()
    }

    fn op_table(&self) -> Table {
        let (sizes, rate) = self.provenances();
        let notes = if self.sizes.is_empty() {
            self.notes()
        } else {
            Vec::new()
        };
        let size =
            |row: &MatmulRow, get: fn(&super::MatmulSizes) -> u64| row.sizes.as_ref().map(get);
        let over = self.sums_over;
        Table::of("matmuls", "Matrix multiplications by op", &self.rows)
            .measured("name", "Op", Unit::None, |row| &row.name)
            .derived(
                "self_time_each_ps",
                over.self_time_title(),
                Unit::Picoseconds,
                move |row| over.each_ps(Picos::from_ps(row.self_time_ps)),
            )
            .measured(
                "self_of_op_time_percent",
                "of op time",
                Unit::Percent,
                |row| row.self_of_op_time_percent,
            )
            .column("m", "M", Unit::Count, sizes, |row| {
                size(row, |sizes| sizes.m)
            })
            .column("k", "K", Unit::Count, sizes, |row| {
                size(row, |sizes| sizes.k)
            })
            .column("n", "N", Unit::Count, sizes, |row| {
                size(row, |sizes| sizes.n)
            })
            .column("flops_percent", "of FLOP/s", Unit::Percent, rate, |row| {
                row.flops_percent
            })
            .column(
                "padding_efficiency_percent",
                "Useful",
                Unit::Percent,
                sizes,
                |row| row.padding_efficiency_percent,
            )
            .column("pad_first", "Pad first", Unit::None, sizes, |row| {
                row.pad_first.map(Dimension::title)
            })
            .recorded("source", "Source", Unit::None, |row| {
                row.source.as_deref().map(Cell::non_empty)
            })
            .measured("occurrences", "Runs", Unit::Count, |row| row.occurrences)
            .column("batch", "Batch", Unit::Count, sizes, |row| {
                size(row, |sizes| sizes.batch)
            })
            .column("types", "Types", Unit::None, sizes, |row| {
                row.types.as_deref().map(Cell::non_empty)
            })
            .column("passes", "Passes", Unit::Count, sizes, |row| {
                row.passes.map(u64::from)
            })
            .column(
                "padding_gain_percent",
                "then useful",
                Unit::Percent,
                sizes,
                |row| row.padding_gain_percent,
            )
            .measured(
                "self_time_ps",
                "Self time (sum)",
                Unit::Picoseconds,
                |row| row.self_time_ps,
            )
            .inferred(
                "padding_loss_ps",
                "Lost, at most (sum)",
                Unit::Picoseconds,
                |row| row.padding_loss_ps,
            )
            .derived("flops_per_second", "FLOP/s", Unit::FlopPerSecond, |row| {
                row.flops_per_second
            })
            .column("flops", "FLOP of one run", Unit::Flop, sizes, |row| {
                row.flops
            })
            .compiler("recorded_flops", "as recorded", Unit::Flop, |row| {
                row.recorded_flops
            })
            .column("products", "Products", Unit::Count, sizes, |row| {
                (row.products > 0).then_some(row.products)
            })
            .recorded("sizes_from", "Sizes from", Unit::None, |row| {
                row.sizes_from.map(SizesFrom::title)
            })
            .measured("program", "Program", Unit::None, |row| {
                Cell::non_empty(&row.program)
            })
            .recorded("framework_name", "Framework op", Unit::None, |row| {
                row.framework_name.as_deref().map(Cell::non_empty)
            })
            .notes(notes)
            .build()
    }

    fn title(&self) -> String {
        match self.self_of_op_time_percent {
            Some(share) => format!(
                "Matrix multiplications: {share:.1} of the time of all ops",
                share = Percent(share)
            ),
            None => "Matrix multiplications".to_owned(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            self.sums_over.note(),
            format!("of FLOP/s: {}", self.peaks.flops_share_text()),
        ];
        if let Some(tile) = self.tile {
            let all = self
                .padding_efficiency_percent
                .map(|all| format!("; {all:.1} of all work", all = Percent(all)))
                .unwrap_or_default();
            notes.push(format!(
                "Useful: share of the work that is not padding to the {tile} × {tile} matrix unit and whole registers{all}; \
                 Pad first: the size whose rounding costs most"
            ));
        } else {
            notes.push(
                "the chip is not known, and so the width of its matrix unit: name it with --device-spec".to_owned(),
            );
        }
        if self
            .rows
            .iter()
            .any(|row| row.sizes_from == Some(SizesFrom::Shapes))
        {
            notes.push(
                "Sizes from shapes: the only ones that explain the recorded operations; M and N may be exchanged"
                    .to_owned(),
            );
        }
        if self.rows.iter().any(|row| row.products > 1) {
            notes.push(
                "where an op does several products, the sizes are those of the largest".to_owned(),
            );
        }
        notes.extend(
            self.missing
                .iter()
                .map(|(reason, count)| format!("no sizes for {count} ops: {reason}")),
        );
        notes
    }
}
