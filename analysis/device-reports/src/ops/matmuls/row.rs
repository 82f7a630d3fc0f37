//! One op that multiplies matrices.

use facts::prelude::*;
use hardware::limits::is_beyond_peak;
use hardware::padding::{self, Dimension, Padding};
use hlo::{HBM, HloOrigin, InstructionRef, MatrixProduct, NoProduct};

use super::from_shapes;
use crate::ops::op_stats::OpRow;

/// Below this difference to the padding efficiency the measured utilization shows
/// that the compiler found a better layout.
const SLACK_PERCENT: f64 = 10.0;

/// The source of the sizes.
#[engine::titled]
pub enum SizesFrom {
    /// Dimension numbers in the program.
    Program = "HLO",
    /// Dimension numbers in the op's HLO text.
    Text,
    /// The only reading that shapes and recorded operations allow.
    Shapes,
}

/// `batch` products of `m × k` by `k × n`.
#[engine::row(compiler)]
#[derive(Copy, Eq, PartialOrd, Ord)]
pub struct MatmulSizes {
    /// Independent products.
    #[column]
    pub batch: u64,
    /// Rows of the left operand.
    #[column]
    pub m: u64,
    /// The dimension that is summed over.
    #[column]
    pub k: u64,
    /// Columns of the right operand.
    #[column]
    pub n: u64,
}

/// One op of one program that multiplies matrices, on all cores.
#[engine::row(compiler)]
#[derive(Default)]
pub struct MatmulRow {
    /// The op.
    #[serde(skip)]
    pub op: Option<OpId>,
    /// Instruction name.
    #[column("Op", measured)]
    pub name: Arc<str>,
    /// Share of the self time of all ops.
    #[column("of op time", measured)]
    pub self_of_op_time_percent: Option<Percent>,
    /// Sizes of the product; of the largest one if the op contains several.
    #[column(nested)]
    pub sizes: Option<MatmulSizes>,
    /// Achieved share of the peak.
    #[column("of FLOP/s", peak)]
    pub flops_percent: Option<Percent>,
    /// Useful share of the work on whole tiles: an upper bound for the share of the peak.
    #[column("Useful")]
    pub padding_efficiency_percent: Option<Percent>,
    /// The dimension whose padding costs most.
    #[column]
    pub pad_first: Option<Dimension>,
    /// `file:line`.
    #[column(recorded, non_empty)]
    pub source: Option<Arc<str>>,
    /// Executions.
    #[column("Runs", measured)]
    pub occurrences: u64,
    /// Executions with the parts of those that a border of the scope cuts.
    #[serde(skip)]
    pub executions: f64,
    /// Why the sizes are missing.
    pub missing: Option<String>,
    /// Whether a window slides over the operand, so that it is more than a matrix multiplication.
    pub is_convolution: bool,
    /// Types of operands and sum: `bf16 × bf16 → f32`.
    #[column(non_empty)]
    pub types: Option<String>,
    /// Passes through the matrix unit: 1 for bf16, up to 6 for exact `f32`.
    #[column]
    pub passes: Option<u32>,
    /// The efficiency if the dimension to pad first were a multiple of its unit.
    #[column("then useful")]
    pub padding_gain_percent: Option<Percent>,
    /// Time of all executions.
    pub total_time_ps: Picos,
    /// Time of all executions without ops inside (self time).
    #[column("Self time (sum)", measured)]
    pub self_time_ps: Picos,
    /// Upper bound of the time that padding costs: 0 if nothing is padded, or if reading the operands takes longer than
    /// the padded product. Missing if the measured speed shows that the compiler avoided it, or if neither the matrix
    /// unit nor HBM limits the op.
    #[column("Lost, at most (sum)", inferred)]
    pub padding_loss_ps: Option<f64>,
    /// The limit of the op by its recorded costs; where these do not tell, by the sizes of the product.
    #[serde(skip)]
    pub bound_by: Option<BoundBy>,
    /// Operations over time.
    #[column("FLOP/s", derived)]
    pub flops_per_second: Option<f64>,
    /// Operations of one execution, from the sizes of all products.
    #[column("FLOP of one run")]
    pub flops: Option<u64>,
    /// Operations of one execution, as the compiler counts them.
    #[column("as recorded")]
    pub recorded_flops: Option<u64>,
    /// Number of products in the op.
    #[column(with = |row| (row.products > 0).then_some(row.products))]
    pub products: u64,
    /// The source of the sizes.
    #[column(recorded)]
    pub sizes_from: Option<SizesFrom>,
    /// Program, with its id.
    #[column(measured, non_empty)]
    pub program: Arc<str>,
    /// Provenance in the framework.
    #[column("Framework op", recorded, non_empty)]
    pub framework_name: Option<Arc<str>>,
}

impl MatmulRow {
    /// The row of an op; `None` if the program shows that it multiplies nothing.
    pub(super) fn new(
        row: &OpRow,
        instruction: &InstructionRef,
        tile: Option<u64>,
        is_matmul: bool,
        peaks: &Peaks,
    ) -> Option<Self> {
        let mut out = Self::times(row);
        let mut read = None;
        match instruction.module().products(instruction) {
            Ok(products) => {
                let from = match instruction.module().origin {
                    HloOrigin::Proto => SizesFrom::Program,
                    HloOrigin::Text => SizesFrom::Text,
                };
                out.take_products(&products, from);
                read = operand_bytes(&products);
            }
            Err(NoProduct::NotThere) if !is_matmul => return None,
            Err(NoProduct::NotShown) => match from_shapes::infer(instruction, out.recorded_flops) {
                Ok(product) => {
                    out.take_products(&[product], SizesFrom::Shapes);
                    read = operand_bytes(&[product]);
                }
                Err(reason) => out.missing = Some(reason.to_owned()),
            },
            Err(error) => out.missing = Some(error.to_string()),
        }
        let bits = out
            .types
            .as_deref()
            .and_then(|types| hlo::element_bits(types.split(' ').next()?));
        let least = out.least_times(
            row,
            read.and_then(|read| Some(read.min(bytes_in_hbm(instruction)?))),
            peaks,
        );
        out.bound_by = row.rates.bound_by.or(least.map(LeastTimes::longer));
        if let (Some(sizes), Some(tile), Some(bits)) = (out.sizes, tile, bits) {
            out.pad(
                [sizes.m, sizes.k, sizes.n],
                tile,
                padding::sublanes(bits),
                least,
            );
        }
        Some(out)
    }

    fn times(row: &OpRow) -> Self {
        let per_execution = |sum: u64| {
            Some((sum as f64 / row.executions).round() as u64).filter(|&flops| flops > 0)
        };
        Self {
            op: row.op,
            program: Arc::clone(&row.program),
            name: Arc::clone(&row.name),
            recorded_flops: row
                .costs
                .model_flops
                .or(row.costs.flops)
                .and_then(per_execution),
            occurrences: row.occurrences,
            executions: row.executions,
            total_time_ps: row.total_time_ps,
            self_time_ps: row.self_time_ps,
            self_of_op_time_percent: row.self_of_op_time_percent,
            flops_per_second: row
                .rates
                .model_flops_per_second
                .or(row.rates.flops_per_second),
            flops_percent: row
                .rates
                .flops_percent
                .filter(|percent| !is_beyond_peak(percent.0)),
            source: row.source.clone(),
            framework_name: row.framework_name.clone(),
            ..Self::default()
        }
    }

    fn take_products(&mut self, products: &[MatrixProduct], from: SizesFrom) {
        let Some(largest) = products
            .iter()
            .max_by_key(|product| product.multiplications)
        else {
            return;
        };
        self.sizes = Some(MatmulSizes {
            batch: largest.batch,
            m: largest.m,
            k: largest.k,
            n: largest.n,
        });
        self.sizes_from = Some(from);
        self.products = products.len() as u64;
        self.is_convolution = largest.is_convolution;
        self.types = Some(format!(
            "{} × {} → {}",
            largest.lhs, largest.rhs, largest.sum
        ));
        self.passes = largest.passes;
        self.flops = products
            .iter()
            .try_fold(0u64, |sum, product| sum.checked_add(product.flops()?));
        // If the compiler's count is missing, the count from the sizes is used.
        let seconds = self.total_time_ps.as_ps_f64() / 1e12;
        let all = self.flops.map(|flops| flops as f64 * self.executions);
        self.flops_per_second = self
            .flops_per_second
            .or(all.filter(|_| seconds > 0.0).map(|flops| flops / seconds));
    }

    /// What the peaks allow for all executions, with the traffic that is recorded, else with `read` bytes in each.
    fn least_times(&self, row: &OpRow, read: Option<u64>, peaks: &Peaks) -> Option<LeastTimes> {
        let work = row.work();
        let runs = self.occurrences as f64;
        let bytes = work.hbm_bytes.or(read.map(|bytes| bytes as f64 * runs))?;
        let flops = self.flops? as f64 * runs * f64::from(self.passes.unwrap_or(1));
        let rate = peaks.flops?.per_second * row.costs.speedup_over_bf16.unwrap_or(1.0);
        let memory = peaks.hbm?.per_second;
        (rate > 0.0 && memory > 0.0).then(|| LeastTimes {
            compute: flops / rate,
            memory: bytes / memory,
        })
    }

    fn pad(&mut self, sizes: [u64; 3], tile: u64, rows: u64, least: Option<LeastTimes>) {
        let Some(Padding {
            efficiency,
            worst,
            without_worst,
        }) = padding::best(sizes, tile, rows)
        else {
            return;
        };
        self.padding_efficiency_percent = Some(Percent(100.0 * efficiency));
        self.pad_first = worst;
        self.padding_gain_percent = worst.map(|_| Percent(100.0 * without_worst));
        let avoided = self
            .flops_percent
            .is_some_and(|measured| measured.0 > 100.0 * efficiency + SLACK_PERCENT);
        let on_chip = self
            .bound_by
            .is_some_and(|limit| !matches!(limit, BoundBy::Compute | BoundBy::Hbm));
        let lost = least.map_or(1.0 - efficiency, |least| least.lost_to_padding(efficiency));
        self.padding_loss_ps =
            (!avoided && !on_chip).then_some(self.total_time_ps.as_ps_f64() * lost);
    }
}

/// Seconds that a product needs at the peaks, without padding.
#[derive(Clone, Copy)]
struct LeastTimes {
    compute: f64,
    memory: f64,
}

impl LeastTimes {
    fn longer(self) -> BoundBy {
        if self.memory > self.compute {
            BoundBy::Hbm
        } else {
            BoundBy::Compute
        }
    }

    /// The part of the time that would go without padding: none where memory takes longer than the padded product.
    fn lost_to_padding(self, efficiency: f64) -> f64 {
        let padded = (self.compute / efficiency).max(self.memory);
        if padded > 0.0 {
            1.0 - self.compute.max(self.memory) / padded
        } else {
            0.0
        }
    }
}

/// Bytes of the matrices that products read.
fn operand_bytes(products: &[MatrixProduct]) -> Option<u64> {
    let bytes = |product: &MatrixProduct| {
        let matrix = |rows: u64, columns: u64, dtype| {
            rows.checked_mul(columns)?
                .checked_mul(product.batch)?
                .checked_mul(hlo::element_bits(dtype)?)
        };
        let bits = matrix(product.m, product.k, product.lhs)?.checked_add(matrix(
            product.k,
            product.n,
            product.rhs,
        )?)?;
        Some(bits / 8)
    };
    products
        .iter()
        .map(bytes)
        .try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?))
}

/// Bytes of the operands that lie in HBM, of which a fusion may read only a part; `None` without their shapes.
fn bytes_in_hbm(instruction: &InstructionRef) -> Option<u64> {
    let mut sum = None;
    for operand in instruction.operands() {
        for array in operand
            .shape
            .as_deref()?
            .arrays()
            .into_iter()
            .filter(|array| array.memory_space == HBM)
        {
            sum = Some(sum.unwrap_or(0_u64).checked_add(array.bytes()?)?);
        }
        sum = sum.or(Some(0));
    }
    sum
}
