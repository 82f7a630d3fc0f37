//! Ops that do the same work at the same place of a program: the layers of an unrolled loop, the parts of a split op.
//! How a program is cut into ops says nothing about how well it runs, so they are judged as one.

use facts::prelude::*;
use trace_model::without_number;

use super::row::{OpRates, OpRow};

/// What like ops have in common: program, name without its number, category, place in the source or in the framework,
/// the limit, and operations and bytes of an execution.
type OpTraits<'r> = (
    &'r str,
    &'r str,
    &'r str,
    Option<&'r str>,
    Option<BoundBy>,
    [Option<u64>; 2],
);

/// Like ops, judged as one op.
pub struct LikeOps<'r> {
    /// The ops, in the order of the report.
    pub rows: Vec<&'r OpRow>,
    /// Executions of all of them.
    pub occurrences: u64,
    /// Their time.
    pub total_time_ps: Picos,
}

impl<'r> LikeOps<'r> {
    /// Groups rows by what they do and where.
    pub fn of(rows: impl Iterator<Item = &'r OpRow>) -> Vec<Self> {
        let groups = grouped(rows.map(|row| (likeness(row), row)));
        groups
            .into_values()
            .map(|rows| Self {
                occurrences: rows
                    .iter()
                    .map(|row| row.occurrences)
                    .fold(0, u64::saturating_add),
                total_time_ps: rows.iter().map(|row| row.total_time_ps).sum(),
                rows,
            })
            .collect()
    }

    /// A share of a peak over the time of all of them; `None` if it is unknown for one.
    pub fn percent(&self, of: impl Fn(&OpRates) -> Option<Percent>) -> Option<Percent> {
        if let [only] = &self.rows[..] {
            return of(&only.rates);
        }
        let work = self
            .rows
            .iter()
            .map(|row| Some(of(&row.rates)?.0 * row.total_time_ps.as_ps_f64()))
            .sum::<Option<f64>>()?;
        let time = self.total_time_ps.ps();
        (time > 0).then(|| Percent(work / time as f64))
    }
}

fn likeness(row: &OpRow) -> OpTraits<'_> {
    let work = [row.costs.flops.or(row.costs.model_flops), row.costs.bytes]
        .map(|amount| amount.and_then(|amount| amount.checked_div(row.occurrences)));
    let place = row.source.as_deref().or(row.framework_name.as_deref());
    (
        &row.program,
        without_number(&row.name),
        &row.category,
        place,
        row.rates.bound_by,
        work,
    )
}
