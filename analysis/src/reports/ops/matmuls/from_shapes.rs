//! The sizes of a product whose text shows only operands and result.
//!
//! Nothing is guessed. With recorded operations `F`, a product with `E` results sums
//! over `k = F / (2·E)`; a fused elementwise op adds a little. The `k` must be a size of
//! a two-dimensional operand, whose other size divides the result into rows and
//! columns. Without recorded operations only `[m,k] × [k,n] → [m,n]` counts. More than
//! one answer is none.

use std::collections::BTreeSet;

use crate::hlo::{ArrayShape, Instruction, InstructionRef, Product, Shape};

/// Operations of elementwise ops that are fused with a product are less than this of it.
const FUSED_SHARE: f64 = 0.02;
/// More operands or results than this are not looked through.
const MAX_ARRAYS: usize = 64;

pub(super) const AMBIGUOUS: &str = "the capture holds no HLO, and shapes allow several answers";
const NO_ANSWER: &str = "the capture holds no HLO, and no operand explains the recorded operations";
pub(super) const NO_SHAPES: &str = "the capture holds no HLO, and the text no shapes";

/// The product that a fusion must do, or why it is not known.
pub(super) fn infer(fusion: &InstructionRef, recorded_flops: Option<u64>) -> Result<Product, &'static str> {
    let arrays = |instruction: &Instruction| -> Vec<Array> {
        let shape = instruction.shape.as_deref();
        shape.into_iter().flat_map(Shape::arrays).filter_map(Array::new).take(MAX_ARRAYS).collect()
    };
    let results = arrays(fusion);
    let operands: Vec<Array> = fusion.operands().take(MAX_ARRAYS).flat_map(arrays).collect();
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

/// An array without dimensions of size 1, which change nothing.
struct Array {
    dtype: &'static str,
    dims: Vec<u64>,
    elements: u64,
}

impl Array {
    fn new(shape: &ArrayShape<'static>) -> Option<Self> {
        let dims = shape.dims.iter().copied().filter(|&dim| dim != 1).collect();
        let elements = shape.elements().filter(|&elements| elements > 1)?;
        Some(Self { dtype: shape.dtype, dims, elements })
    }
}

fn with_flops(results: &[Array], operands: &[Array], flops: u64) -> BTreeSet<Product> {
    let mut answers = BTreeSet::new();
    for result in results {
        for operand in operands {
            let &[a, b] = operand.dims.as_slice() else { continue };
            for (k, n) in [(a, b), (b, a)] {
                let Some(multiplications) = result.elements.checked_mul(k) else { continue };
                let Some(own) = multiplications.checked_mul(2) else { continue };
                let explained = own <= flops && (flops - own) as f64 <= FUSED_SHARE * own as f64;
                if explained && result.dims.contains(&n) {
                    answers.insert(answer(operand, result, [result.elements / n, k, n], multiplications));
                }
            }
        }
    }
    answers
}

/// `[m,k] × [k,n] → [m,n]`, each of two dimensions in any order.
fn plain(results: &[Array], operands: &[Array]) -> BTreeSet<Product> {
    let mut answers = BTreeSet::new();
    let ([result], [left, right]) = (results, operands) else { return answers };
    let pair = |array: &Array| <[u64; 2]>::try_from(array.dims.as_slice()).ok();
    let (Some(left_dims), Some(right_dims), Some([m, n])) = (pair(left), pair(right), pair(result)) else {
        return answers;
    };
    let both_ways = |[first, second]: [u64; 2]| [(first, second), (second, first)];
    let ways = both_ways(left_dims).into_iter().flat_map(|left| both_ways(right_dims).map(|right| (left, right)));
    for ((k, free), (other_k, other_free)) in ways {
        let fits = k == other_k && ((free, other_free) == (m, n) || (free, other_free) == (n, m));
        let multiplications = result.elements.checked_mul(k).filter(|_| fits);
        if let Some(multiplications) = multiplications {
            answers.insert(answer(left, result, [m, k, n], multiplications));
        }
    }
    answers
}

/// Rows and columns may change their roles: the smaller one comes first, so that both
/// ways are one answer.
fn answer(operand: &Array, result: &Array, [m, k, n]: [u64; 3], multiplications: u64) -> Product {
    Product {
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
