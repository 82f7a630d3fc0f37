//! Matrix multiplications in a program, and their sizes.
//!
//! On TPUs a matrix multiplication is a `dot`, or (mostly) a `convolution` inside a
//! fused computation: its dimension numbers say what is summed over, and its spatial
//! dimensions are batch, rows, columns or more to sum over, depending on the window.

use std::collections::BTreeSet;

use super::window::{SpatialRole, spatial};
use super::{
    Convolution, DotDimensions, HloModule, Instruction, PrecisionConfig, ProductPrecision, Shape,
};

/// `batch` products of `m × k` by `k × n` matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatrixProduct {
    /// Independent products.
    pub batch: u64,
    /// Rows of the left operand and of the result.
    pub m: u64,
    /// The contracted dimension.
    pub k: u64,
    /// Columns of the right operand and of the result.
    pub n: u64,
    /// Multiplications; fewer than `batch·m·k·n` for a window that extends beyond the edge.
    pub multiplications: u64,
    /// Type of the left operand.
    pub lhs: &'static str,
    /// Type of the right operand.
    pub rhs: &'static str,
    /// Type of the accumulated sum.
    pub sum: &'static str,
    /// Number of passes through the matrix unit per product.
    pub passes: Option<u32>,
    /// Whether a window slides over the operand, so that it is more than a matrix product.
    pub is_convolution: bool,
}

impl MatrixProduct {
    /// Operations: two a multiplication. `None` if that cannot be counted.
    pub fn flops(&self) -> Option<u64> {
        self.multiplications.checked_mul(2)
    }
}

/// Why the dimensions of a product are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProduct {
    /// Nothing in the op multiplies matrices.
    #[error("no matrix multiplication in it")]
    NotThere,
    /// The content of a fusion is unknown, because only its line of text is recorded.
    #[error("the capture does not show what the fusion multiplies")]
    NotShown,
    /// A shape or dimension number is missing.
    #[error("the shapes of the operands are not known")]
    NoShapes,
    /// Dimension numbers and shapes contradict each other.
    #[error("dimension numbers do not fit the shapes")]
    Contradiction,
    /// Counting the positions of the window would take too long.
    #[error("a window too large to be counted")]
    TooLarge,
}

impl HloModule {
    /// All matrix products of an instruction, including those in nested fusions. Loops and conditionals have none of
    /// their own.
    ///
    /// # Errors
    ///
    /// A shape or a list of dimensions is missing; the error says which.
    pub fn products(&self, instruction: &Instruction) -> Result<Vec<MatrixProduct>, NoProduct> {
        let mut products = Vec::new();
        let mut seen = BTreeSet::new();
        let mut todo = vec![instruction];
        let mut hidden = false;
        while let Some(instruction) = todo.pop() {
            match self.product(instruction) {
                Ok(product) => products.push(product),
                Err(NoProduct::NotThere) => {}
                Err(error) => return Err(error),
            }
            let body = self.body(instruction);
            let content = body
                .map(|body| self.instructions_of(body))
                .unwrap_or_default();
            hidden |= content.is_empty()
                && matches!(&*instruction.opcode, "fusion" | "call" | "async-start");
            if body.is_some_and(|body| seen.insert(body)) {
                todo.extend(content.iter().rev());
            }
        }
        match (products.is_empty(), hidden) {
            (false, _) => Ok(products),
            (true, true) => Err(NoProduct::NotShown),
            (true, false) => Err(NoProduct::NotThere),
        }
    }

    /// The product that one `dot`, `ragged-dot` or `convolution` computes.
    ///
    /// # Errors
    ///
    /// A shape or a list of dimensions is missing; the error says which.
    pub(crate) fn product(&self, instruction: &Instruction) -> Result<MatrixProduct, NoProduct> {
        let attributes = instruction.attributes();
        let is_dot = matches!(&*instruction.opcode, "dot" | "ragged-dot");
        if !is_dot && &*instruction.opcode != "convolution" {
            return Err(NoProduct::NotThere);
        }
        let mut operands = self
            .operands(instruction)
            .map(|operand| operand.shape.as_deref().and_then(Shape::array));
        let (Some(Some(lhs)), Some(Some(rhs)), Some(result)) = (
            operands.next(),
            operands.next(),
            instruction.shape.as_deref().and_then(Shape::array),
        ) else {
            return Err(NoProduct::NoShapes);
        };
        let sizes = if is_dot {
            let dot = attributes.dot.as_ref().ok_or(NoProduct::NoShapes)?;
            dot_sizes(dot, &lhs.dims, &rhs.dims).ok_or(NoProduct::Contradiction)?
        } else {
            let convolution = attributes.convolution.as_ref().ok_or(NoProduct::NoShapes)?;
            convolution_sizes(convolution, &lhs.dims, &rhs.dims, &result.dims)?
        };
        let [batch, m, k, n] = sizes.bmkn;
        Ok(MatrixProduct {
            batch,
            m,
            k,
            n,
            multiplications: sizes.multiplications,
            lhs: lhs.dtype,
            rhs: rhs.dtype,
            sum: result.dtype,
            passes: passes(&attributes.precision, lhs.dtype, rhs.dtype),
            is_convolution: sizes.is_convolution,
        })
    }
}

struct ProductSizes {
    /// Batch, m, k, n.
    bmkn: [u64; 4],
    multiplications: u64,
    is_convolution: bool,
}

/// The size of a dimension.
fn size(dims: &[u64], number: u64) -> Option<u64> {
    dims.get(usize::try_from(number).ok()?).copied()
}

/// Product of the sizes of some dimensions.
fn product_of(dims: &[u64], numbers: &[u64]) -> Option<u64> {
    numbers.iter().try_fold(1u64, |product, &number| {
        product.checked_mul(size(dims, number)?)
    })
}

/// Product of the sizes of all other dimensions.
fn product_without(dims: &[u64], numbers: [&[u64]; 2]) -> Option<u64> {
    let free =
        (0..dims.len() as u64).filter(|number| !numbers.iter().any(|list| list.contains(number)));
    product_of(dims, &free.collect::<Vec<_>>())
}

fn dot_sizes(dot: &DotDimensions, lhs: &[u64], rhs: &[u64]) -> Option<ProductSizes> {
    let k = product_of(lhs, &dot.lhs_contracting)?;
    let batch = product_of(lhs, &dot.lhs_batch)?;
    let m = product_without(lhs, [&dot.lhs_contracting, &dot.lhs_batch])?;
    if k != product_of(rhs, &dot.rhs_contracting)? || batch != product_of(rhs, &dot.rhs_batch)? {
        return None;
    }
    let fixed: Vec<u64> = dot
        .rhs_batch
        .iter()
        .chain(&dot.rhs_group)
        .copied()
        .collect();
    // Every row of a ragged product belongs to one group: the groups do not multiply.
    let n = product_without(rhs, [&dot.rhs_contracting, &fixed])?;
    let multiplications = batch.checked_mul(m)?.checked_mul(k)?.checked_mul(n)?;
    Some(ProductSizes {
        bmkn: [batch, m, k, n],
        multiplications,
        is_convolution: false,
    })
}

fn convolution_sizes(
    convolution: &Convolution,
    input: &[u64],
    kernel: &[u64],
    output: &[u64],
) -> Result<ProductSizes, NoProduct> {
    use NoProduct::Contradiction;
    let need = |size: Option<u64>| size.ok_or(Contradiction);
    let groups = convolution.feature_groups.max(convolution.batch_groups);
    let features = need(size(kernel, convolution.kernel_input_feature))?;
    let out_features = need(size(kernel, convolution.kernel_output_feature))?;
    let out_batch = need(size(output, convolution.output_batch))?;
    let fits = size(input, convolution.input_feature)
        == features.checked_mul(convolution.feature_groups)
        && size(output, convolution.output_feature) == Some(out_features)
        && out_features.is_multiple_of(groups.max(1))
        && convolution.input_spatial.len() == convolution.kernel_spatial.len()
        && convolution.input_spatial.len() == convolution.output_spatial.len();
    if !fits {
        return Err(Contradiction);
    }
    let mut sizes = [groups, out_batch, features, out_features / groups.max(1)];
    let mut multiplications = product_of(&sizes, &[0, 1, 2, 3]).ok_or(NoProduct::TooLarge)?;
    let mut is_convolution = false;
    let numbers = convolution
        .input_spatial
        .iter()
        .zip(&convolution.kernel_spatial)
        .zip(&convolution.output_spatial);
    for (index, ((&from, &window), &to)) in numbers.enumerate() {
        let [from, kernel_size, to] = [
            need(size(input, from))?,
            need(size(kernel, window))?,
            need(size(output, to))?,
        ];
        let window = convolution.window.get(index).copied().unwrap_or_default();
        if window.size != kernel_size {
            return Err(Contradiction);
        }
        let spatial = spatial(window, from, to).ok_or(NoProduct::TooLarge)?;
        let grow = |slot: &mut u64, factor: u64| {
            *slot = slot.checked_mul(factor).ok_or(NoProduct::TooLarge)?;
            Ok(())
        };
        grow(&mut multiplications, spatial.multiplications)?;
        match spatial.role {
            SpatialRole::Batch => grow(&mut sizes[0], to)?,
            SpatialRole::Rows => grow(&mut sizes[1], to)?,
            SpatialRole::Summed => grow(&mut sizes[2], kernel_size)?,
            SpatialRole::Columns => grow(&mut sizes[3], to)?,
            SpatialRole::Window => {
                is_convolution = true;
                grow(&mut sizes[1], to)?;
                grow(&mut sizes[2], kernel_size)?;
            }
        }
    }
    Ok(ProductSizes {
        bmkn: sizes,
        multiplications,
        is_convolution,
    })
}

/// Number of bf16 passes through the matrix unit. An `f32` operand is rounded to bf16, or split into parts that are
/// multiplied separately; narrower types need one pass.
fn passes(config: &PrecisionConfig, lhs: &str, rhs: &str) -> Option<u32> {
    // `xla.PrecisionConfig.Algorithm`: types of at most 16 bits, bf16 × 3, 6 and 9.
    match config.algorithm {
        0 => {}
        1..=6 => return Some(1),
        7 => return Some(3),
        8 => return Some(6),
        13 => return Some(9),
        _ => return None,
    }
    let is_wide = |dtype| dtype == "f32";
    if !is_wide(lhs) && !is_wide(rhs) {
        return matches!(super::element_bits(lhs), Some(1..=16)).then_some(1);
    }
    let precision = config.operands.iter().max().copied().unwrap_or_default();
    Some(match precision {
        ProductPrecision::Default => 1,
        ProductPrecision::High => 3,
        ProductPrecision::Highest => 6,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(text: &str) -> Result<MatrixProduct, NoProduct> {
        let module = HloModule::from_text(text).unwrap();
        let products = module.products(module.instructions.last().unwrap())?;
        assert_eq!(products.len(), 1);
        Ok(products[0])
    }

    fn sizes(text: &str) -> [u64; 4] {
        let product = product(text).unwrap();
        assert_eq!(
            product.flops(),
            Some(2 * product.batch * product.m * product.k * product.n),
            "{text}"
        );
        [product.batch, product.m, product.k, product.n]
    }

    #[test]
    fn product_of_a_dot() {
        let plain = "%d = f32[8,16] dot(bf16[8,4] %a, bf16[4,16] %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
        assert_eq!(sizes(plain), [1, 8, 4, 16]);
        let batched = concat!(
            "%d = f32[2,3,8,16] dot(bf16[2,8,3,4] %a, bf16[3,2,16,4] %b), lhs_batch_dims={0,2}, ",
            "rhs_batch_dims={1,0}, lhs_contracting_dims={3}, rhs_contracting_dims={3}"
        );
        assert_eq!(sizes(batched), [6, 8, 4, 16]);
        let ragged = concat!(
            "%d = f32[100,16] ragged-dot(bf16[100,4] %a, bf16[5,4,16] %b, s32[5] %g), lhs_contracting_dims={1}, ",
            "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}"
        );
        assert_eq!(sizes(ragged), [1, 100, 4, 16]);
        let wrong = "%d = f32[8,16] dot(bf16[8,4] %a, bf16[5,16] %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
        assert_eq!(product(wrong), Err(NoProduct::Contradiction));
        let bare = "%d = f32[8,16] dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
        assert_eq!(product(bare), Err(NoProduct::NoShapes));
    }

    #[test]
    fn product_of_a_matmul_convolution() {
        assert_eq!(
            sizes("%c = f32[8,16] convolution(bf16[8,4] %a, bf16[4,16] %b), dim_labels=bf_io->bf"),
            [1, 8, 4, 16]
        );
        assert_eq!(
            sizes("%c = f32[8,16] convolution(bf16[8,4] %a, bf16[16,4] %b), dim_labels=bf_oi->bf"),
            [1, 8, 4, 16]
        );
        let batched = concat!(
            "%c = f32[6,8,16] convolution(bf16[6,8,4] %a, bf16[6,4,16] %b), ",
            "window={size=6 stride=5 lhs_dilate=6}, dim_labels=0bf_0io->0bf"
        );
        assert_eq!(sizes(batched), [6, 8, 4, 16]);
        let rows = "%c = f32[3,8,16] convolution(bf16[3,8,4] %a, bf16[1,4,16] %b), window={size=1}, dim_labels=0bf_0io->0bf";
        assert_eq!(sizes(rows), [1, 24, 4, 16]);
        let summed = "%c = f32[1,8,16] convolution(bf16[3,8,4] %a, bf16[3,4,16] %b), window={size=3}, dim_labels=0bf_0io->0bf";
        assert_eq!(sizes(summed), [1, 8, 12, 16]);
        let grouped = "%c = f32[8,16] convolution(bf16[8,4] %a, bf16[2,16] %b), dim_labels=bf_io->bf, feature_group_count=2";
        assert_eq!(sizes(grouped), [2, 8, 2, 8]);
    }

    #[test]
    fn sliding_window_counts_edges() {
        let text = concat!(
            "%c = bf16[2,8,8,16]{3,2,1,0} convolution(bf16[2,8,8,4] %a, bf16[3,3,4,16] %b), ",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"
        );
        let product = product(text).unwrap();
        assert!(product.is_convolution);
        assert_eq!([product.m, product.k, product.n], [128, 36, 16]);
        assert_eq!(product.flops(), Some(2 * 2 * 22 * 22 * 4 * 16));
    }

    #[test]
    fn mxu_passes_follow_types_and_precision() {
        let passes = |dtype: &str, more: &str| {
            let contracting = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
            product(&format!(
                "%d = f32[8,8] dot({dtype}[8,8] %a, {dtype}[8,8] %b), {contracting}{more}"
            ))
            .unwrap()
            .passes
        };
        assert_eq!(
            passes("bf16", ", operand_precision={highest,highest}"),
            Some(1)
        );
        assert_eq!(passes("f32", ""), Some(1));
        assert_eq!(passes("f32", ", operand_precision={high,high}"), Some(3));
        assert_eq!(
            passes("f32", ", operand_precision={highest,default}"),
            Some(6)
        );
        assert_eq!(passes("f8e4m3fn", ""), Some(1));
        assert_eq!(passes("f64", ""), None);
    }

    #[test]
    fn fusion_text_alone_has_no_product() {
        let text = "%f = bf16[8,8] fusion(bf16[8,8] %a, bf16[8,8] %b), kind=kOutput, calls=%fused_computation";
        assert_eq!(product(text), Err(NoProduct::NotShown));
        assert_eq!(
            product("%a = bf16[8,8] add(bf16[8,8] %a, bf16[8,8] %b)"),
            Err(NoProduct::NotThere)
        );
    }
}
