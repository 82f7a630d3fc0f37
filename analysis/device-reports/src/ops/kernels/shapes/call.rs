//! The work of a kernel, and the arrays of a call.

use hardware::padding;
use hlo::{ArrayShape, HBM, InstructionRef};

/// What a kernel does.
#[engine::titled]
pub enum KernelKind {
    /// Dense attention, of which a mask may skip blocks.
    FlashAttention,
    /// Attention with a mask that is known when it is compiled.
    SplashAttention,
    /// Sequences of different lengths, whose keys and values are in pages.
    RaggedPagedAttention,
    /// One query for each sequence, whose keys and values are in pages.
    PagedAttention,
    /// Rows of each group times the matrix of the group.
    GroupedMatmul,
    /// The gradient of it by the matrices.
    TransposedGroupedMatmul,
    /// A product whose operands are narrow numbers with scales.
    QuantizedMatmul,
    /// A matrix product.
    Matmul,
    /// The rows of all devices times a matrix.
    AllGatherMatmul = "all-gather matmul",
    /// Products of all devices, added and divided among them.
    ReduceScatterMatmul = "reduce-scatter matmul",
    /// Each device receives the parts of all.
    AllGather = "all-gather",
    /// Each device receives a part of the sum.
    ReduceScatter = "reduce-scatter",
}

impl KernelKind {
    /// Whether a mask can make it skip a part of its work.
    pub(crate) fn is_masked(self) -> bool {
        matches!(self, Self::FlashAttention | Self::SplashAttention)
    }

    /// How its operations follow from sizes.
    pub(crate) fn rule(self) -> &'static str {
        match self {
            Self::FlashAttention | Self::SplashAttention => {
                "2 × heads of the whole batch × queries × keys × the sum of the sizes that its products add up or make: \
                 two products forward, four for the gradient of keys and values, three for that of queries, five for both"
            }
            Self::RaggedPagedAttention | Self::PagedAttention => {
                "at most 4 × heads × queries × keys of a full row of the page table × size of a head; lengths of sequences are \
                 not in the shapes"
            }
            Self::GroupedMatmul | Self::TransposedGroupedMatmul => {
                "at most 2 × rows × inner size × columns; sizes of groups are not in the shapes"
            }
            Self::QuantizedMatmul | Self::Matmul => "2 × rows × inner size × columns",
            Self::AllGatherMatmul | Self::ReduceScatterMatmul => {
                "2 × rows × inner size × columns of the product on this device; received: the parts of all other devices"
            }
            Self::AllGather | Self::ReduceScatter => {
                "no product; received: the parts of all other devices"
            }
        }
    }
}

/// Whether costs are known or limited.
#[engine::titled]
pub enum CostLimit {
    /// They follow from the shapes.
    Exact,
    /// They depend on values, which are not in the shapes, and are no more than this.
    AtMost,
}

/// `batch` products of `m × k` by `k × n`.
#[derive(Clone, Copy)]
pub(crate) struct KernelProduct {
    pub batch: u64,
    pub sizes: [u64; 3],
}

/// The work of one execution.
#[derive(Clone)]
pub(crate) struct ShapeCost {
    pub kind: KernelKind,
    /// Operations of its matrix products, without a mask.
    pub flops: Option<u64>,
    /// Half of them, if each query sees the keys before it only.
    pub causal_flops: Option<u64>,
    /// The matrix products, without a mask; empty where sizes depend on values.
    pub products: Vec<KernelProduct>,
    /// In HBM.
    pub bytes: Option<u64>,
    /// The part of `bytes` that is read of a cache of keys and values; `None` for what reads no cache.
    pub cache_bytes: Option<u64>,
    /// From other devices.
    pub received_bytes: Option<u64>,
    pub limit: CostLimit,
    /// With the sizes: `2 × m 1024 × k 512 × n 256`.
    pub formula: String,
    /// Types that are multiplied.
    pub types: [&'static str; 2],
}

impl ShapeCost {
    /// Operations of the products on whole tiles and registers of a matrix unit this wide, in the better of both roles
    /// that rows and columns may have; `None` where sizes depend on values.
    pub fn padded_flops(&self, tile: u64) -> Option<f64> {
        let rows = padding::sublanes(hlo::element_bits(self.types[0])?);
        let mut sum = None;
        for product in &self.products {
            let [m, k, n] = product.sizes;
            let flops = times(&[2, product.batch, m, k, n])? as f64;
            let efficiency = padding::best(product.sizes, tile, rows)?.efficiency;
            sum = Some(sum.unwrap_or(0.0) + flops / efficiency);
        }
        sum
    }
}

/// Operands or results of a call that are examined.
const MOST_ARRAYS: usize = 64;

/// The arrays of a call.
pub(super) struct CallShapes<'a> {
    pub operands: Vec<&'a ArrayShape<'static>>,
    pub results: Vec<&'a ArrayShape<'static>>,
}

impl<'a> CallShapes<'a> {
    /// The shapes of a call; `None` if some are unknown.
    pub fn new(call: &'a InstructionRef) -> Option<Self> {
        let mut operands = Vec::new();
        for operand in call.operands().take(MOST_ARRAYS) {
            operands.extend(operand.shape.as_deref()?.arrays());
        }
        let results = call.arrays();
        let is_known = !operands.is_empty() && !results.is_empty();
        (is_known && operands.len().max(results.len()) <= MOST_ARRAYS)
            .then_some(Self { operands, results })
    }

    /// Operands of floating-point numbers with at least two dimensions, in order.
    pub fn floats(&self) -> Vec<&'a ArrayShape<'static>> {
        let floats = self.operands.iter().copied();
        floats
            .filter(|array| is_float(array.dtype) && array.dims.len() >= 2)
            .collect()
    }

    /// Operands that hold indices, in order.
    pub fn indices(&self) -> Vec<&'a ArrayShape<'static>> {
        self.operands
            .iter()
            .copied()
            .filter(|array| array.dtype == "s32")
            .collect()
    }

    /// Each array in HBM once.
    pub fn bytes(&self) -> Option<u64> {
        let arrays = self.operands.iter().chain(&self.results);
        let mut in_hbm = arrays.filter(|array| array.memory_space == HBM);
        in_hbm.try_fold(0_u64, |sum, array| sum.checked_add(array.bytes()?))
    }
}

pub(super) fn is_float(dtype: &str) -> bool {
    dtype.starts_with('f') || dtype == "bf16"
}

/// The product of sizes, if it can be counted.
pub(super) fn times(sizes: &[u64]) -> Option<u64> {
    let mut sizes = sizes.iter();
    sizes.try_fold(1_u64, |all, &size| all.checked_mul(size))
}
