//! The table of matrix multiplications.

use facts::prelude::*;

use super::{MatmulsReport, SizesFrom};

/// Columns that follow from sizes.
const OF_SIZES: [&str; 11] = [
    "m",
    "k",
    "n",
    "batch",
    "types",
    "passes",
    "flops",
    "products",
    "padding_efficiency_percent",
    "pad_first",
    "padding_gain_percent",
];

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
    /// Whether shapes alone tell some sizes, and so all that follows from sizes.
    fn are_sizes_inferred(&self) -> bool {
        self.rows
            .iter()
            .any(|row| row.sizes_from == Some(SizesFrom::Shapes))
    }

    fn size_table(&self) -> Table {
        let over = self.sums_over;
        Table::of("matmul_sizes", self.title(), &self.sizes)
            .peak(Provenance::of_peak(self.peaks.flops))
            .declared(["m", "k", "n"])
            .derived(
                "self_time_each_ps",
                over.self_time_title(),
                Unit::Picoseconds,
                move |row| over.each_ps(row.self_time_ps),
            )
            .declared([
                "self_of_op_time_percent",
                "flops_percent",
                "padding_efficiency_percent",
                "pad_first",
                "ops",
                "occurrences",
            ])
            .remaining()
            .inferred_if(self.are_sizes_inferred(), OF_SIZES)
            .notes(self.notes())
            .build()
    }

    fn op_table(&self) -> Table {
        let notes = if self.sizes.is_empty() {
            self.notes()
        } else {
            Vec::new()
        };
        let over = self.sums_over;
        Table::of("matmuls", "Matrix multiplications by op", &self.rows)
            .peak(Provenance::of_peak(self.peaks.flops))
            .declared(["name"])
            .derived(
                "self_time_each_ps",
                over.self_time_title(),
                Unit::Picoseconds,
                move |row| over.each_ps(row.self_time_ps),
            )
            .declared([
                "self_of_op_time_percent",
                "m",
                "k",
                "n",
                "flops_percent",
                "padding_efficiency_percent",
                "pad_first",
                "source",
                "occurrences",
            ])
            .remaining()
            .inferred_if(self.are_sizes_inferred(), OF_SIZES)
            .notes(notes)
            .build()
    }

    fn title(&self) -> String {
        match self.self_of_op_time_percent {
            Some(share) => format!("Matrix multiplications: {share:.1} of the time of all ops"),
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
                .map(|all| format!("; {all:.1} of all work"))
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
        if self.are_sizes_inferred() {
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
                .map(|(reason, count)| format!("no sizes for {}: {reason}", counted(*count, "op"))),
        );
        notes
    }
}
