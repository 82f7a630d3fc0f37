//! Plausibility of the operations that a kernel declares.
//!
//! Too many show in its time: they exceed the peak. Too few show in its shapes, where these are those of a matrix
//! product: a cost that was computed for one block and not for all steps of the grid is too low by their number. What a
//! kernel does is not in its shapes, so nothing is replaced; it is flagged where more than the shapes speaks for a
//! product: its name, as many operations for each result as no elementwise work has, or exactly so many too few as the
//! grid has steps.

use serde::Serialize;

use crate::engine::Context;
use crate::facts::TraceFacts as _;
use crate::reports::ops::matmuls;
use crate::reports::ops::op_stats::OpRow;

/// What a kernel says of its own costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeclaredCosts {
    /// Operations.
    Yes,
    /// Operations for some of its ops.
    Partly,
    /// Nothing, or zero.
    No,
    /// More than the device can do in that time.
    Impossible,
    /// Far fewer than the matrix product of its shapes needs.
    TooFew,
}

impl DeclaredCosts {
    /// Display name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Yes => "declared",
            Self::Partly => "partly",
            Self::No => "none",
            Self::Impossible => "impossible",
            Self::TooFew => "too few",
        }
    }
}

/// So many times too few are no rounding and no trick of an algorithm.
const TOO_FEW: f64 = 2.0;
/// Operations for each result that no elementwise work has.
const OF_A_PRODUCT: u64 = 32;
/// Parts of names of kernels that multiply matrices.
const NAMES: [&str; 3] = ["matmul", "gemm", "dot_general"];
/// How near the missing factor is to the steps of the grid.
const NEAR: f64 = 0.1;

/// Operations of one execution of the product that its shapes suggest; `None` if they are not the shapes of a product,
/// or if they agree with the declared `flops` of one execution.
pub(super) fn needed(cx: &Context<'_>, row: &OpRow, name: &str, flops: u64, steps: Option<f64>) -> Option<u64> {
    let product = matmuls::plain_product(&cx.instruction(row.op?)?)?;
    let (needed, results) = (product.flops()?, product.batch.checked_mul(product.m)?.checked_mul(product.n)?);
    let factor = needed as f64 / flops as f64;
    let named = || NAMES.iter().any(|part| name.to_ascii_lowercase().contains(part));
    let as_steps = || steps.is_some_and(|steps| steps >= TOO_FEW && (factor / steps - 1.0).abs() <= NEAR);
    let is_product = named() || flops / results.max(1) >= OF_A_PRODUCT || as_steps();
    (flops > 0 && factor >= TOO_FEW && is_product).then_some(needed)
}
