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
/// those of a known kernel. The scope counts where the name alone tells nothing: other kernels may stand in it, too.
pub(super) fn cost(name: &str, scope: &str, call: &InstructionRef) -> Option<ShapeCost> {
    let shapes = CallShapes::new(call)?;
    let [name, scope] = [name, scope].map(|it| it.to_ascii_lowercase().replace('-', "_"));
    let attention = |scope| attention_cost(&name, scope, &shapes);
    let product = |scope| product_cost(&name, scope, &shapes);
    let by_name = attention("").or_else(|| product(""));
    by_name.or_else(|| attention(&scope).or_else(|| product(&scope)))
}

fn attention_cost(name: &str, scope: &str, shapes: &CallShapes<'_>) -> Option<ShapeCost> {
    let any = |parts: &[&str]| is_in(parts, name, scope);
    let dense = |kind| attention::attention(kind, name, shapes);
    if any(&["ragged_paged_attention", "rpa_kernel"]) || paged::is_rpa(name) {
        paged::ragged(name, shapes)
    } else if any(&["paged_attention", "paged_flash_attention"]) {
        paged::paged(shapes)
    } else if any(&["splash"]) {
        dense(KernelKind::SplashAttention)
    } else if any(&["flash_attention", "flash_mha", "flash_mqa"]) {
        dense(KernelKind::FlashAttention)
    } else {
        None
    }
}

fn product_cost(name: &str, scope: &str, shapes: &CallShapes<'_>) -> Option<ShapeCost> {
    let any = |parts: &[&str]| is_in(parts, name, scope);
    let grouped = if any(&["tgmm"]) {
        products::transposed_grouped(shapes)
    } else if any(&["gmm", "grouped_matmul", "megablox"]) {
        products::grouped(shapes)
    } else {
        None
    };
    if grouped.is_some() {
        return grouped;
    }
    let is_product = is_in(&["matmul", "gemm", "dot_general"], name, "");
    let gathers = any(&["all_gather", "allgather"]);
    let scatters = any(&["reduce_scatter", "reducescatter"]);
    match (gathers, scatters) {
        _ if is_product && (gathers || scatters || any(&["collective_matmul"])) => {
            products::collective(shapes)
        }
        _ if is_product && name.contains("quant") => {
            products::plain(KernelKind::QuantizedMatmul, shapes)
        }
        _ if is_product => products::plain(KernelKind::Matmul, shapes),
        (true, false) => products::moved(KernelKind::AllGather, shapes),
        (false, true) => products::moved(KernelKind::ReduceScatter, shapes),
        _ => None,
    }
}

fn is_in(parts: &[&str], name: &str, scope: &str) -> bool {
    parts
        .iter()
        .any(|part| name.contains(part) || scope.contains(part))
}
