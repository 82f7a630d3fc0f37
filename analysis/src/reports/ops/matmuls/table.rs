//! The matrix multiplications as a table.

use super::{MatmulRow, MatmulsReport, SizeRow, SizesFrom};
use crate::engine::{Cell, Column, Percent, Provenance, Table, Tabular};
use crate::math::unit::Unit;

fn column(id: &'static str, title: &'static str, unit: Unit, provenance: Provenance) -> Column {
    Column { id, title, unit, provenance }
}

fn text(value: Option<&str>) -> Cell {
    value.filter(|text| !text.is_empty()).map_or(Cell::Missing, Cell::text)
}

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
        let inferred = self.rows.iter().any(|row| row.sizes_from == Some(SizesFrom::Shapes));
        let sizes = if inferred { Provenance::Inferred } else { Provenance::StaticCost };
        (sizes, Provenance::of_peak(self.peaks.flops))
    }

    fn size_table(&self) -> Table {
        let (sizes, rate) = self.provenances();
        let measured = |id, title, unit| column(id, title, unit, Provenance::Measured);
        let columns = vec![
            column("m", "M", Unit::Count, sizes),
            column("k", "K", Unit::Count, sizes),
            column("n", "N", Unit::Count, sizes),
            measured("self_time_ps", "Self time", Unit::Picoseconds),
            measured("self_of_op_time_percent", "of op time", Unit::Percent),
            column("flops_percent", "of FLOP/s", Unit::Percent, rate),
            column("padding_efficiency_percent", "Useful", Unit::Percent, sizes),
            column("pad_first", "Pad first", Unit::None, sizes),
            measured("ops", "Ops", Unit::Count),
            measured("occurrences", "Runs", Unit::Count),
            column("batch", "Batch", Unit::Count, sizes),
            column("flops_per_second", "FLOP/s", Unit::FlopPerSecond, Provenance::Derived),
            column("types", "Types", Unit::None, sizes),
            column("padding_gain_percent", "then useful", Unit::Percent, sizes),
            column("padding_loss_ps", "Lost, at most", Unit::Picoseconds, Provenance::Inferred),
        ];
        let row = |row: &SizeRow| {
            vec![
                Cell::count(row.sizes.m),
                Cell::count(row.sizes.k),
                Cell::count(row.sizes.n),
                Cell::Int(row.self_time_ps),
                Cell::maybe(row.self_of_op_time_percent),
                Cell::maybe(row.flops_percent),
                Cell::maybe(row.padding_efficiency_percent),
                text(row.pad_first.map(crate::hardware::padding::Dimension::title)),
                Cell::count(row.ops),
                Cell::count(row.occurrences),
                Cell::count(row.sizes.batch),
                Cell::maybe(row.flops_per_second),
                text(Some(&row.types)),
                Cell::maybe(row.padding_gain_percent),
                Cell::maybe(row.padding_loss_ps),
            ]
        };
        let rows = self.sizes.iter().map(row).collect();
        Table { id: "matmul_sizes", title: self.title(), columns, rows, notes: self.notes() }
    }

    fn op_table(&self) -> Table {
        let (sizes, rate) = self.provenances();
        let measured = |id, title, unit| column(id, title, unit, Provenance::Measured);
        let columns = vec![
            measured("name", "Op", Unit::None),
            measured("self_time_ps", "Self time", Unit::Picoseconds),
            measured("self_of_op_time_percent", "of op time", Unit::Percent),
            column("m", "M", Unit::Count, sizes),
            column("k", "K", Unit::Count, sizes),
            column("n", "N", Unit::Count, sizes),
            column("flops_percent", "of FLOP/s", Unit::Percent, rate),
            column("padding_efficiency_percent", "Useful", Unit::Percent, sizes),
            column("pad_first", "Pad first", Unit::None, sizes),
            column("source", "Source", Unit::None, Provenance::Profile),
            measured("occurrences", "Runs", Unit::Count),
            column("batch", "Batch", Unit::Count, sizes),
            column("types", "Types", Unit::None, sizes),
            column("passes", "Passes", Unit::Count, sizes),
            column("padding_gain_percent", "then useful", Unit::Percent, sizes),
            column("padding_loss_ps", "Lost, at most", Unit::Picoseconds, Provenance::Inferred),
            column("flops_per_second", "FLOP/s", Unit::FlopPerSecond, Provenance::Derived),
            column("flops", "FLOP of one run", Unit::Flop, sizes),
            column("recorded_flops", "as recorded", Unit::Flop, Provenance::StaticCost),
            column("products", "Products", Unit::Count, sizes),
            column("sizes_from", "Sizes from", Unit::None, Provenance::Profile),
            measured("program", "Program", Unit::None),
            column("framework_name", "Framework op", Unit::None, Provenance::Profile),
        ];
        let rows = self.rows.iter().map(cells).collect();
        let title = "Matrix multiplications by op".to_owned();
        let notes = if self.sizes.is_empty() { self.notes() } else { Vec::new() };
        Table { id: "matmuls", title, columns, rows, notes }
    }

    fn title(&self) -> String {
        match self.self_of_op_time_percent {
            Some(share) => format!("Matrix multiplications: {share:.1} of the time of all ops", share = Percent(share)),
            None => "Matrix multiplications".to_owned(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!("of FLOP/s: of the peak {}", self.peaks.flops_text())];
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
        if self.rows.iter().any(|row| row.sizes_from == Some(SizesFrom::Shapes)) {
            notes.push(
                "Sizes from shapes: the only ones that explain the recorded operations; M and N may be exchanged"
                    .to_owned(),
            );
        }
        if self.rows.iter().any(|row| row.products > 1) {
            notes.push("where an op does several products, the sizes are those of the largest".to_owned());
        }
        notes.extend(self.missing.iter().map(|(reason, count)| format!("no sizes for {count} ops: {reason}")));
        notes
    }
}

fn cells(row: &MatmulRow) -> Vec<Cell> {
    let size =
        |get: fn(&super::MatmulSizes) -> u64| row.sizes.as_ref().map_or(Cell::Missing, |sizes| Cell::count(get(sizes)));
    let count = |value: Option<u64>| value.map_or(Cell::Missing, Cell::count);
    vec![
        Cell::text(&row.name),
        Cell::Int(row.self_time_ps),
        Cell::maybe(row.self_of_op_time_percent),
        size(|sizes| sizes.m),
        size(|sizes| sizes.k),
        size(|sizes| sizes.n),
        Cell::maybe(row.flops_percent),
        Cell::maybe(row.padding_efficiency_percent),
        text(row.pad_first.map(crate::hardware::padding::Dimension::title)),
        text(row.source.as_deref()),
        Cell::count(row.occurrences),
        size(|sizes| sizes.batch),
        text(row.types.as_deref()),
        count(row.passes.map(u64::from)),
        Cell::maybe(row.padding_gain_percent),
        Cell::maybe(row.padding_loss_ps),
        Cell::maybe(row.flops_per_second),
        count(row.flops),
        count(row.recorded_flops),
        if row.products > 0 { Cell::count(row.products) } else { Cell::Missing },
        text(row.sizes_from.map(SizesFrom::title)),
        text(Some(&row.program)),
        text(row.framework_name.as_deref()),
    ]
}
