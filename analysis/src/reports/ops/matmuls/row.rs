//! One op that multiplies matrices.

use serde::Serialize;
use std::sync::Arc;
use trace_model::OpId;

use super::from_shapes;
use crate::hardware::limits::{BoundBy, possible};
use crate::hardware::padding::{self, Dimension, Padding};
use crate::hlo::{HloOrigin, InstructionRef, MatrixProduct, NoProduct};
use crate::reports::ops::op_stats::OpRow;

/// Below this difference to the padding efficiency the measured utilization shows
/// that the compiler found a better layout.
const SLACK_PERCENT: f64 = 10.0;

/// The source of the sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SizesFrom {
    /// Dimension numbers in the program.
    Program,
    /// Dimension numbers in the op's HLO text.
    Text,
    /// The only reading that shapes and recorded operations allow.
    Shapes,
}

impl SizesFrom {
    /// Display name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Program => "HLO",
            Self::Text => "text",
            Self::Shapes => "shapes",
        }
    }
}

/// `batch` products of `m × k` by `k × n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
pub struct MatmulSizes {
    /// Independent products.
    pub batch: u64,
    /// Rows of the left operand.
    pub m: u64,
    /// The dimension that is summed over.
    pub k: u64,
    /// Columns of the right operand.
    pub n: u64,
}

/// One op of one program that multiplies matrices, on all cores.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct MatmulRow {
    /// The op.
    #[serde(skip)]
    pub op: Option<OpId>,
    /// Program, with its id.
    pub program: Arc<str>,
    /// Instruction name.
    pub name: Arc<str>,
    /// Sizes of the product; of the largest one if the op contains several.
    pub sizes: Option<MatmulSizes>,
    /// The source of the sizes.
    pub sizes_from: Option<SizesFrom>,
    /// Why the sizes are missing.
    pub missing: Option<String>,
    /// Number of products in the op.
    pub products: u64,
    /// Whether a window slides over the operand, so that it is more than a matrix multiplication.
    pub is_convolution: bool,
    /// Types of operands and sum: `bf16 × bf16 → f32`.
    pub types: Option<String>,
    /// Passes through the matrix unit: 1 for bf16, up to 6 for exact `f32`.
    pub passes: Option<u32>,
    /// Operations of one execution, from the sizes of all products.
    pub flops: Option<u64>,
    /// Operations of one execution, as the compiler counts them.
    pub recorded_flops: Option<u64>,
    /// Useful share of the work on whole tiles: an upper bound for the share of the peak.
    pub padding_efficiency_percent: Option<f64>,
    /// The dimension whose padding costs most.
    pub pad_first: Option<Dimension>,
    /// The efficiency if that dimension were a multiple of its unit.
    pub padding_gain_percent: Option<f64>,
    /// Upper bound of the time that padding costs; missing if the measured speed shows that the compiler avoided it,
    /// or if memory limits the op.
    pub padding_loss_ps: Option<f64>,
    /// Executions.
    pub occurrences: u64,
    /// Time of all executions.
    pub total_time_ps: i64,
    /// The same without ops inside (self time).
    pub self_time_ps: i64,
    /// Share of the self time of all ops.
    pub self_of_op_time_percent: Option<f64>,
    /// Operations over time.
    pub flops_per_second: Option<f64>,
    /// The same as a share of the peak.
    pub flops_percent: Option<f64>,
    /// `file:line`.
    pub source: Option<Arc<str>>,
    /// Provenance in the framework.
    pub framework_name: Option<Arc<str>>,
}

impl MatmulRow {
    /// The row of an op; `None` if the program shows that it multiplies nothing.
    pub(super) fn new(row: &OpRow, instruction: &InstructionRef, tile: Option<u64>, is_matmul: bool) -> Option<Self> {
        let mut out = Self::times(row);
        match instruction.module().products(instruction) {
            Ok(products) => {
                let from = match instruction.module().origin {
                    HloOrigin::Proto => SizesFrom::Program,
                    HloOrigin::Text => SizesFrom::Text,
                };
                out.take_products(&products, from);
            }
            Err(NoProduct::NotThere) if !is_matmul => return None,
            Err(NoProduct::NotShown) => match from_shapes::infer(instruction, out.recorded_flops) {
                Ok(product) => out.take_products(&[product], SizesFrom::Shapes),
                Err(reason) => out.missing = Some(reason.to_owned()),
            },
            Err(error) => out.missing = Some(error.to_string()),
        }
        let bits = out.types.as_deref().and_then(|types| crate::hlo::element_bits(types.split(' ').next()?));
        if let (Some(sizes), Some(tile), Some(bits)) = (out.sizes, tile, bits) {
            out.pad([sizes.m, sizes.k, sizes.n], tile, padding::sublanes(bits), row.rates.bound_by);
        }
        Some(out)
    }

    fn times(row: &OpRow) -> Self {
        let per_execution = |sum: u64| sum.checked_div(row.occurrences).filter(|&flops| flops > 0);
        Self {
            op: row.op,
            program: Arc::clone(&row.program),
            name: Arc::clone(&row.name),
            sizes: None,
            sizes_from: None,
            missing: None,
            products: 0,
            is_convolution: false,
            types: None,
            passes: None,
            flops: None,
            recorded_flops: row.costs.model_flops.or(row.costs.flops).and_then(per_execution),
            padding_efficiency_percent: None,
            pad_first: None,
            padding_gain_percent: None,
            padding_loss_ps: None,
            occurrences: row.occurrences,
            total_time_ps: row.total_time_ps,
            self_time_ps: row.self_time_ps,
            self_of_op_time_percent: row.self_of_op_time_percent,
            flops_per_second: row.rates.model_flops_per_second.or(row.rates.flops_per_second),
            flops_percent: row.rates.flops_percent.and_then(possible),
            source: row.source.clone(),
            framework_name: row.framework_name.clone(),
        }
    }

    fn take_products(&mut self, products: &[MatrixProduct], from: SizesFrom) {
        let Some(largest) = products.iter().max_by_key(|product| product.multiplications) else { return };
        self.sizes = Some(MatmulSizes { batch: largest.batch, m: largest.m, k: largest.k, n: largest.n });
        self.sizes_from = Some(from);
        self.products = products.len() as u64;
        self.is_convolution = largest.is_convolution;
        self.types = Some(format!("{} × {} → {}", largest.lhs, largest.rhs, largest.sum));
        self.passes = largest.passes;
        self.flops = products.iter().try_fold(0u64, |sum, product| sum.checked_add(product.flops()?));
        // If the compiler's count is missing, the count from the sizes is used.
        let seconds = self.total_time_ps as f64 / 1e12;
        let all = self.flops.map(|flops| flops as f64 * self.occurrences as f64);
        self.flops_per_second = self.flops_per_second.or(all.filter(|_| seconds > 0.0).map(|flops| flops / seconds));
    }

    fn pad(&mut self, sizes: [u64; 3], tile: u64, rows: u64, bound_by: Option<BoundBy>) {
        let Some(Padding { efficiency, worst, without_worst }) = padding::best(sizes, tile, rows) else { return };
        self.padding_efficiency_percent = Some(100.0 * efficiency);
        self.pad_first = worst;
        self.padding_gain_percent = worst.map(|_| 100.0 * without_worst);
        let avoided = self.flops_percent.is_some_and(|measured| measured > 100.0 * efficiency + SLACK_PERCENT);
        let loses = !avoided && bound_by.is_none_or(|limit| limit == BoundBy::Compute);
        self.padding_loss_ps = loses.then_some(self.total_time_ps as f64 * (1.0 - efficiency));
    }
}
