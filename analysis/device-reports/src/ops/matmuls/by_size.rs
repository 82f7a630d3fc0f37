//! Matrix multiplications grouped by size: the layers of a model.

use facts::prelude::*;
use hardware::padding::Dimension;

use super::{MatmulRow, MatmulSizes};

/// All ops that multiply matrices of the same sizes and types.
#[engine::row(compiler)]
pub struct SizeRow {
    /// Sizes of the product.
    #[column(nested)]
    pub sizes: MatmulSizes,
    /// Share of the self time of all ops.
    #[column("of op time", measured)]
    pub self_of_op_time_percent: Option<Percent>,
    /// Achieved share of the peak, by time.
    #[column("of FLOP/s", peak)]
    pub flops_percent: Option<Percent>,
    /// Useful share of the work on whole tiles.
    #[column("Useful")]
    pub padding_efficiency_percent: Option<Percent>,
    /// The dimension whose padding costs most.
    #[column]
    pub pad_first: Option<Dimension>,
    /// Distinct ops.
    #[column(measured)]
    pub ops: u64,
    /// Executions.
    #[column("Runs", measured)]
    pub occurrences: u64,
    /// Operations over time.
    #[column("FLOP/s", derived)]
    pub flops_per_second: Option<f64>,
    /// Types of operands and sum.
    #[column(non_empty)]
    pub types: String,
    /// The efficiency if the dimension to pad first were a multiple of its unit.
    #[column("then useful")]
    pub padding_gain_percent: Option<Percent>,
    /// Time of all executions.
    pub total_time_ps: Picos,
    /// Time of all executions without ops inside (self time).
    #[column("Self time (sum)", measured)]
    pub self_time_ps: Picos,
    /// Upper bound of the time that padding costs.
    #[column("Lost, at most (sum)", inferred)]
    pub padding_loss_ps: Option<f64>,
}

/// Rows with known sizes by size, the most self time first.
pub(super) fn by_size(rows: &[MatmulRow], op_time_ps: Picos) -> Vec<SizeRow> {
    let groups = grouped(
        rows.iter()
            .filter_map(|row| Some(((row.sizes?, row.types.as_deref().unwrap_or_default()), row))),
    );
    let mut out: Vec<SizeRow> = groups
        .into_values()
        .filter_map(|rows| group(&rows, op_time_ps))
        .collect();
    out.sort_by_key(|row| (Reverse(row.self_time_ps), row.sizes));
    out
}

fn group(rows: &[&MatmulRow], op_time_ps: Picos) -> Option<SizeRow> {
    let first = *rows.first()?;
    let total_time_ps = rows.iter().map(|row| row.total_time_ps).sum::<Picos>();
    let self_time_ps = rows.iter().map(|row| row.self_time_ps).sum();
    // Rates are work over time, so that their mean is weighted by time.
    let mean = |rate: fn(&MatmulRow) -> Option<f64>| {
        let weighted = rows
            .iter()
            .map(|row| Some(rate(row)? * row.total_time_ps.as_ps_f64()))
            .sum::<Option<f64>>()?;
        let total = total_time_ps.ps();
        (total > 0).then(|| weighted / total as f64)
    };
    Some(SizeRow {
        sizes: first.sizes?,
        types: first.types.clone().unwrap_or_default(),
        ops: rows.len() as u64,
        occurrences: rows.iter().map(|row| row.occurrences).sum(),
        total_time_ps,
        self_time_ps,
        self_of_op_time_percent: Percent::of(self_time_ps, op_time_ps),
        flops_per_second: mean(|row| row.flops_per_second),
        flops_percent: mean(|row| Some(row.flops_percent?.0)).map(Percent),
        padding_efficiency_percent: first.padding_efficiency_percent,
        pad_first: first.pad_first,
        padding_gain_percent: first.padding_gain_percent,
        padding_loss_ps: rows
            .iter()
            .filter_map(|row| row.padding_loss_ps)
            .reduce(|sum, loss| sum + loss),
    })
}
