//! The work of kernels that are known by name, from the shapes of their operands and results.
//!
//! Name and shapes have to agree: a kernel that is called `flash_attention` but has no queries, keys and values of
//! fitting sizes gets no costs. Names and the order of operands are those of the kernels in JAX
//! (`jax.experimental.pallas.ops.tpu`), tpu-inference of vLLM, and SGLang-JAX.
//!
//! What shapes cannot tell stays unknown or is a limit: the lengths of the sequences of a ragged batch, and the rows of
//! each group of a grouped product, are values and not shapes. Operations are those of the matrix products; bytes are
//! each operand read once and each result written once, as far as they are in HBM.

mod attention;
mod call;
mod paged;
mod products;

use hlo::InstructionRef;

use call::CallShapes;
pub(super) use call::ShapeCost;
pub use call::{CostLimit, KernelKind};

/// The work of one execution of a kernel with this name, in this scope of the program; `None` if name and shapes are not
/// those of a known kernel.
pub(super) fn cost(name: &str, scope: &str, call: &InstructionRef) -> Option<ShapeCost> {
    let shapes = CallShapes::new(call)?;
    let name = name.to_ascii_lowercase().replace('-', "_");
    let scope = scope.to_ascii_lowercase().replace('-', "_");
    let said = |part: &str| name.contains(part) || scope.contains(part);
    let any = |parts: &[&str]| parts.iter().any(|part| said(part));
    if any(&["ragged_paged_attention", "rpa_kernel"]) || paged::is_rpa(&name) {
        return paged::ragged(&name, &shapes);
    }
    if any(&["paged_attention", "paged_flash_attention"]) {
        return paged::paged(&shapes);
    }
    if said("splash") {
        return attention::attention(KernelKind::SplashAttention, &name, &shapes);
    }
    if any(&["flash_attention", "flash_mha", "flash_mqa"]) {
        return attention::attention(KernelKind::FlashAttention, &name, &shapes);
    }
    if said("tgmm") {
        return products::transposed_grouped(&shapes);
    }
    if any(&["gmm", "grouped_matmul", "megablox"]) {
        return products::grouped(&shapes);
    }
    let is_product = ["matmul", "gemm", "dot_general"]
        .iter()
        .any(|part| name.contains(part));
    let (gathers, scatters) = (
        any(&["all_gather", "allgather"]),
        any(&["reduce_scatter", "reducescatter"]),
    );
    if is_product && (gathers || scatters || said("collective_matmul")) {
        return products::collective(&shapes);
    }
    if is_product {
        let kind = if name.contains("quant") {
            KernelKind::QuantizedMatmul
        } else {
            KernelKind::Matmul
        };
        return products::plain(kind, &shapes);
    }
    match (gathers, scatters) {
        (true, false) => products::moved(KernelKind::AllGather, &shapes),
        (false, true) => products::moved(KernelKind::ReduceScatter, &shapes),
        _ => None,
    }
}
