//! The sizes of a product if the HLO text only shows operands and result.
//!
//! Nothing is guessed. With recorded operations `F`, a product with `E` results sums
//! over `k = F / (2·E)`; a fused elementwise op adds a little. The `k` must be a size of
//! a two-dimensional operand, whose other size divides the result into rows and
//! columns. Without recorded operations only `[m,k] × [k,n] → [m,n]` counts, alone, in a
//! batch (all three begin with the same dimensions), or with rows of several dimensions
//! (`[a,b,k] × [k,n] → [a,b,n]`). More than one answer is none.

use facts::prelude::*;
use hlo::{ArrayShape, Instruction, InstructionRef, MatrixProduct, Shape};

/// Operations of elementwise ops that are fused with a product are less than this share of it.
const FUSED_SHARE: f64 = 0.02;
/// Ops with more operands or results than this are not examined.
const MAX_ARRAYS: usize = 64;

pub(super) const AMBIGUOUS: &str = "the capture holds no HLO, and shapes allow several answers";
const NO_ANSWER: &str = "the capture holds no HLO, and no operand explains the recorded operations";
pub(super) const NO_SHAPES: &str = "the capture holds no HLO, and the text no shapes";

/// The product that a fusion must contain, or why it is unknown.
pub(super) fn infer(
    fusion: &InstructionRef,
    recorded_flops: Option<u64>,
) -> Result<MatrixProduct, &'static str> {
    let arrays = |instruction: &Instruction| -> Vec<OperandArray> {
        instruction
            .shape
            .as_deref()
            .into_iter()
            .flat_map(Shape::arrays)
            .filter_map(OperandArray::new)
            .take(MAX_ARRAYS)
            .collect()
    };
    let results = arrays(fusion);
    let operands: Vec<OperandArray> = fusion
        .operands()
        .take(MAX_ARRAYS)
        .flat_map(arrays)
        .collect();
    if results.is_empty() || operands.is_empty() {
        return Err(NO_SHAPES);
    }
    let answers = match recorded_flops {
        Some(flops) => with_flops(&results, &operands, flops),
        None => plain(&results, &operands),
    };
    let mut answers = answers.into_iter();
    match (answers.next(), answers.next()) {
        (Some(answer), None) => Ok(answer),
        (Some(_), Some(_)) => Err(AMBIGUOUS),
        (None, _) => Err(NO_ANSWER),
    }
}

/// An array without dimensions of size 1, which have no effect.
struct OperandArray {
    dtype: &'static str,
    dims: Vec<u64>,
    elements: u64,
}

impl OperandArray {
    fn new(shape: &ArrayShape<'static>) -> Option<Self> {
        let dims = shape.dims.iter().copied().filter(|&dim| dim != 1).collect();
        let elements = shape.elements().filter(|&elements| elements > 1)?;
        Some(Self {
            dtype: shape.dtype,
            dims,
            elements,
        })
    }
}

fn with_flops(
    results: &[OperandArray],
    operands: &[OperandArray],
    flops: u64,
) -> BTreeSet<MatrixProduct> {
    let mut answers = BTreeSet::new();
    for result in results {
        for operand in operands {
            let &[a, b] = operand.dims.as_slice() else {
                continue;
            };
            for (k, n) in [(a, b), (b, a)] {
                let Some(multiplications) = result.elements.checked_mul(k) else {
                    continue;
                };
                let Some(matmul_flops) = multiplications.checked_mul(2) else {
                    continue;
                };
                let explained = matmul_flops <= flops
                    && (flops - matmul_flops) as f64 <= FUSED_SHARE * matmul_flops as f64;
                if explained && result.dims.contains(&n) {
                    answers.insert(answer(
                        operand,
                        result,
                        [result.elements / n, k, n],
                        multiplications,
                    ));
                }
            }
        }
    }
    answers
}

/// `[m,k] × [k,n] → [m,n]`, each with its two dimensions in any order, after the batch dimensions if there are any.
fn plain(results: &[OperandArray], operands: &[OperandArray]) -> BTreeSet<MatrixProduct> {
    let mut answers = BTreeSet::new();
    let ([result], [left, right]) = (results, operands) else {
        return answers;
    };
    for ([left_dims, right_dims, [m, n]], batch) in as_matrices([left, right, result]) {
        let both_ways = |[first, second]: [u64; 2]| [(first, second), (second, first)];
        let ways = both_ways(left_dims)
            .into_iter()
            .flat_map(|left| both_ways(right_dims).map(|right| (left, right)));
        for ((k, free), (other_k, other_free)) in ways {
            let fits =
                k == other_k && ((free, other_free) == (m, n) || (free, other_free) == (n, m));
            let multiplications = result.elements.checked_mul(k).filter(|_| fits);
            if let Some(multiplications) = multiplications {
                answers.insert(MatrixProduct {
                    batch,
                    ..answer(left, result, [m, k, n], multiplications)
                });
            }
        }
    }
    answers
}

/// The ways to read two operands and their result as matrices, each with the number of products.
fn as_matrices([left, right, result]: [&OperandArray; 3]) -> Vec<([[u64; 2]; 3], u64)> {
    let mut ways = Vec::new();
    // A batch: the leading dimensions that all three share. Empty for plain matrices.
    let split = |array: &OperandArray| {
        array
            .dims
            .split_last_chunk::<2>()
            .map(|(batch, matrix)| (batch.to_vec(), *matrix))
    };
    if let (Some((batch, left)), Some((of_right, right)), Some((of_result, result))) =
        (split(left), split(right), split(result))
        && batch == of_right
        && batch == of_result
        && let Some(count) = product(&batch)
    {
        ways.push(([left, right, result], count));
    }
    // Rows of several dimensions on one side, a plain matrix on the other.
    let flat = |array: &OperandArray| match array.dims.split_last() {
        Some((&last, rows)) if rows.len() > 1 => Some((rows.to_vec(), last)),
        _ => None,
    };
    let plain = |array: &OperandArray| <[u64; 2]>::try_from(array.dims.as_slice()).ok();
    for (rows, matrix) in [(left, right), (right, left)] {
        if let (Some((rows, k)), Some(matrix), Some((of_result, n))) =
            (flat(rows), plain(matrix), flat(result))
            && rows == of_result
            && let Some(m) = product(&rows)
        {
            ways.push(([[m, k], matrix, [m, n]], 1));
        }
    }
    ways
}

fn product(dims: &[u64]) -> Option<u64> {
    dims.iter()
        .try_fold(1_u64, |all, &dim| all.checked_mul(dim))
}

/// Rows and columns may swap roles: the smaller one comes first, so that both readings count as one.
fn answer(
    operand: &OperandArray,
    result: &OperandArray,
    [m, k, n]: [u64; 3],
    multiplications: u64,
) -> MatrixProduct {
    MatrixProduct {
        batch: 1,
        m: m.min(n),
        k,
        n: m.max(n),
        multiplications,
        lhs: operand.dtype,
        rhs: operand.dtype,
        sum: result.dtype,
        passes: None,
        is_convolution: false,
    }
}
