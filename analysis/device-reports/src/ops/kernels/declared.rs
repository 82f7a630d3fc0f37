//! Plausibility of the operations that a kernel declares.
//!
//! Too high a number shows in the kernel's time: the rate exceeds the peak. Too low a number shows in its shapes, if
//! the kernel is known ([`super::shapes`]) or these are those of a matrix product: a cost that was computed for one block and not for all steps of the grid is
//! too low by the number of steps. Shapes do not prove what a kernel does, so no number is replaced. The kernel is
//! flagged if one more fact suggests a product: its name, more operations per result than any elementwise work has,
//! or a missing factor equal to the number of grid steps.

use facts::prelude::*;

use super::shapes::{CostLimit, ShapeCost};
use crate::ops::matmuls;
use crate::ops::op_stats::OpRow;

/// Assessment of the costs that a kernel declares.
#[engine::titled]
pub enum DeclaredCosts {
    /// It declares operations.
    Yes = "declared",
    /// It declares operations for some of its ops.
    Partly,
    /// It declares nothing, or zero.
    No = "none",
    /// More operations than the device can do in that time.
    Impossible,
    /// Far fewer operations than its shapes need.
    TooFew,
}

/// A larger missing factor is neither rounding nor an algorithmic optimisation.
const TOO_FEW: f64 = 2.0;
/// More operations per result than any elementwise work has.
const OF_A_PRODUCT: u64 = 32;
/// Parts of names of kernels that multiply matrices.
const NAMES: [&str; 3] = ["matmul", "gemm", "dot_general"];
/// Tolerance between the missing factor and the number of grid steps.
const NEAR: f64 = 0.1;

/// Operations of one execution that its shapes suggest; `None` if the shapes are not those of a known kernel or a
/// product, or if they agree with the declared `flops` of one execution.
pub(super) fn needed(
    cx: &Context<'_>,
    row: &OpRow,
    cost: Option<&ShapeCost>,
    name: &str,
    flops: u64,
    steps: Option<f64>,
) -> Option<u64> {
    if let Some(cost) = cost {
        // A mask leaves any part, and what is only a limit says nothing.
        let is_known = cost.limit == CostLimit::Exact && !cost.kind.is_masked() && flops > 0;
        let least = cost.flops.filter(|_| is_known);
        return least.filter(|&least| least as f64 / flops as f64 >= TOO_FEW);
    }
    let product = matmuls::plain_product(&cx.instruction(row.op?)?)?;
    let needed = product.flops()?;
    let results = product
        .batch
        .checked_mul(product.m)?
        .checked_mul(product.n)?;
    let factor = needed as f64 / flops as f64;
    let named = || {
        NAMES
            .iter()
            .any(|part| name.to_ascii_lowercase().contains(part))
    };
    let as_steps =
        || steps.is_some_and(|steps| steps >= TOO_FEW && (factor / steps - 1.0).abs() <= NEAR);
    let is_product = named() || flops / results.max(1) >= OF_A_PRODUCT || as_steps();
    (flops > 0 && factor >= TOO_FEW && is_product).then_some(needed)
}
