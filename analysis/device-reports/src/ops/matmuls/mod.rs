//! Matrix multiplications: their sizes, padding on the matrix unit, and speed.
//!
//! Sizes come from the program, if the capture contains it: dimension numbers of the `dot` or `convolution` in the
//! op. One line of HLO text shows them only for plain products, and for fusions whose shapes and recorded operations
//! allow a single reading; otherwise they are missing, with the reason.
//!
//! Matrix units work on square tiles (128 or 256 wide), registers on 8 to 32 rows. Sizes are rounded up to these, and
//! the share of useful work is the padding efficiency ([`padding`](hardware::padding)). It is an upper limit
//! of the utilization, unless the compiler lays the product out in another way.

mod by_size;
mod from_shapes;
mod row;
mod table;
#[cfg(test)]
mod tests;

use facts::TraceFacts;
use facts::prelude::*;
use hardware::chips::Chip;
use hlo::{InstructionRef, MatrixProduct};
use math::summed;

use crate::ops::op_stats::Ops;

pub use by_size::SizeRow;
pub use row::{MatmulRow, MatmulSizes, SizesFrom};

/// The analysis `matmuls`.
pub struct Matmuls;

/// Every op that multiplies matrices.
#[engine::reported]
pub struct MatmulsReport {
    /// By self time, the largest first.
    pub rows: Vec<MatmulRow>,
    /// The same, grouped by size; ops of unknown size are left out.
    pub sizes: Vec<SizeRow>,
    /// Self time of all of them.
    pub self_time_ps: Picos,
    /// The same as a share of the self time of all ops.
    pub self_of_op_time_percent: Option<Percent>,
    /// Useful share of the work on whole tiles, over all executions of the ops whose sizes are known.
    pub padding_efficiency_percent: Option<Percent>,
    /// Width of the matrix unit, if the chip is known.
    pub tile: Option<u64>,
    /// Peaks that utilizations refer to.
    pub peaks: Peaks,
    /// Why sizes are missing, and for how many ops.
    pub missing: BTreeMap<String, u64>,
    /// What times and amounts of all executions are sums over.
    pub sums_over: SumOver,
}

impl Analysis for Matmuls {
    type Report = MatmulsReport;
    const ID: &str = "matmuls";
    const TITLE: &str = "Matrix multiplications";

    fn run(cx: &Context<'_>) -> Result<MatmulsReport> {
        let ops = cx.report::<Ops>()?;
        let tile = tile(cx, &ops.peaks);
        let mut rows = Vec::new();
        for row in ops
            .rows
            .iter()
            .filter(|row| row.is_leaf && !row.is_async && row.collective.is_none())
        {
            let is_matmul = row.group == OpGroup::MatMul;
            // The text does not show the contents of other fusions.
            let find = if is_matmul {
                TraceFacts::instruction
            } else {
                TraceFacts::instruction_of_program
            };
            let Some(instruction) = row.op.and_then(|op| find(cx, op)) else {
                continue;
            };
            if let Some(row) = MatmulRow::new(row, &instruction, tile, is_matmul, &ops.peaks) {
                rows.push(row);
            }
        }
        if rows.is_empty() {
            let why = "no op of this capture multiplies matrices: there is no dot, convolution or fusion of one";
            return Err(why.into());
        }
        let self_time_ps = rows.iter().map(|row| row.self_time_ps).sum();
        let missing = rows
            .iter()
            .filter_map(|row| Some((row.missing.clone()?, 1)));
        let missing = summed(missing);
        Ok(MatmulsReport {
            self_of_op_time_percent: Percent::of(self_time_ps, ops.op_time_ps),
            self_time_ps,
            padding_efficiency_percent: overall_efficiency(&rows),
            tile,
            peaks: ops.peaks.clone(),
            missing,
            sizes: by_size::by_size(&rows, ops.op_time_ps),
            rows,
            sums_over: ops.sums_over,
        })
    }
}

/// The only product that an op with these shapes can be, if there is one: `[m,k] × [k,n] → [m,n]`.
pub(crate) fn plain_product(instruction: &InstructionRef) -> Option<MatrixProduct> {
    from_shapes::infer(instruction, None).ok()
}

/// Width of the matrix unit: of the simulated device, or of the chip that the capture or the user names.
pub(crate) fn tile(cx: &Context<'_>, peaks: &Peaks) -> Option<u64> {
    let simulated = cx
        .tensor_cores()
        .first()
        .and_then(|&core| cx.model.group(core).device.as_ref()?.matrix_unit);
    if let Some(width) = simulated.filter(|_| cx.options.chip().is_none()) {
        return Some(u64::from(width));
    }
    let typed = peaks.chip.as_deref().and_then(Chip::named);
    cx.options
        .chip()
        .or(typed)
        .map(|chip| u64::from(chip.mxu_dim))
        .filter(|&tile| tile > 0)
}

/// Useful work divided by work on whole tiles.
fn overall_efficiency(rows: &[MatmulRow]) -> Option<Percent> {
    let (mut useful, mut padded) = (0.0, 0.0);
    for row in rows {
        let (Some(flops), Some(efficiency)) = (row.flops, row.padding_efficiency_percent) else {
            continue;
        };
        let flops = flops as f64 * row.executions;
        useful += flops;
        padded += flops / (efficiency.0 / 100.0);
    }
    Percent::ratio(useful, padded)
}
