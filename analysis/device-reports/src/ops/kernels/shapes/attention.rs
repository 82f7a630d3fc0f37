//! Attention with queries, keys and values of the whole sequence, forward and backward.
//!
//! Operands are queries `[…, queries, size]`, keys `[…, keys, size]` and values `[…, keys, size of a value]`, after
//! descriptions of the mask and before ids of segments. Several heads of queries may share one of keys and values. The
//! results tell the pass: those of the forward pass have rows of queries as long as values, and gradients have the shapes
//! of what they belong to.

use hlo::ArrayShape;

use super::call::{CallShapes, CostLimit, KernelKind, KernelProduct, ShapeCost, times};

/// The part of attention that a kernel computes.
#[derive(Clone, Copy, PartialEq)]
enum Pass {
    Forward,
    KeysAndValues,
    Queries,
    All,
}

impl Pass {
    /// Rows, inner size and columns of each product of one head.
    fn products(self, [queries, keys, size, value]: [u64; 4]) -> Vec<[u64; 3]> {
        let scores = [queries, size, keys];
        let output = [queries, keys, value];
        let of_probabilities = [queries, value, keys];
        let of_values = [keys, queries, value];
        let of_keys = [keys, queries, size];
        let of_queries = [queries, keys, size];
        match self {
            Self::Forward => vec![scores, output],
            Self::KeysAndValues => vec![scores, of_probabilities, of_values, of_keys],
            Self::Queries => vec![scores, of_probabilities, of_queries],
            Self::All => vec![scores, of_probabilities, of_values, of_keys, of_queries],
        }
    }

    /// Scores and their gradients add up over `size`, the others over or along `value`: the sizes of all products of one
    /// query and one key.
    fn sizes(self, size: u64, value: u64) -> Option<u64> {
        let each = self.products([1, 1, size, value]);
        let mut sizes = each.iter().map(|sizes| times(sizes));
        sizes.try_fold(0_u64, |sum, size| sum.checked_add(size?))
    }
}

/// Dimensions before the last two, and these.
fn split<'a>(array: &'a ArrayShape<'static>) -> Option<(&'a [u64], [u64; 2])> {
    let (first, &last) = array.dims.split_last_chunk::<2>()?;
    Some((first, last))
}

pub(super) fn attention(
    kind: KernelKind,
    name: &str,
    shapes: &CallShapes<'_>,
) -> Option<ShapeCost> {
    let &[q, k, v, ..] = shapes.floats().as_slice() else {
        return None;
    };
    let (heads, [queries, size]) = split(q)?;
    let (key_heads, [keys, key_size]) = split(k)?;
    let (value_heads, [values, value_size]) = split(v)?;
    let heads = times(heads)?;
    let of_keys = times(key_heads)?;
    let fits = size == key_size
        && keys == values
        && key_heads == value_heads
        && of_keys > 0
        && heads % of_keys == 0;
    let pass = pass(name, [q, k, v], value_size, shapes).filter(|_| fits)?;
    let pairs = times(&[heads, queries, keys])?;
    let sizes = pass.sizes(size, value_size)?;
    let flops = times(&[2, pairs, sizes])?;
    let products = pass.products([queries, keys, size, value_size]);
    let of_each_head = |sizes| KernelProduct {
        batch: heads,
        sizes,
    };
    Some(ShapeCost {
        kind,
        flops: Some(flops),
        // Queries and keys begin at the same position, so half of the pairs are below the diagonal.
        causal_flops: (queries == keys).then_some(flops / 2),
        products: products.into_iter().map(of_each_head).collect(),
        bytes: shapes.bytes(),
        // Keys of more positions than the queries' were computed before.
        cache_bytes: (pass == Pass::Forward && queries < keys)
            .then(|| k.bytes()?.checked_add(v.bytes()?))
            .flatten(),
        received_bytes: None,
        limit: CostLimit::Exact,
        formula: format!("2 × {heads} heads × {queries} queries × {keys} keys × {sizes}"),
        types: [q.dtype, k.dtype],
    })
}

/// The pass that the results, and for gradients the name, show.
fn pass(
    name: &str,
    [q, k, v]: [&ArrayShape<'static>; 3],
    value_size: u64,
    shapes: &CallShapes<'_>,
) -> Option<Pass> {
    let has = |dims: &[u64]| shapes.results.iter().any(|result| result.dims == dims);
    // The first of these words tells: the sizes of blocks of all passes may follow.
    let words = ["fwd", "dkv", "dq"];
    let word = words
        .into_iter()
        .filter_map(|word| Some((name.find(word)?, word)))
        .min();
    match word.map(|(_, word)| word) {
        Some("dkv") => {
            // Gradients of queries of each block of keys, which another op adds up.
            let is_part = |result: &&ArrayShape<'static>| {
                result.dims.len() == q.dims.len() + 1 && result.dims.ends_with(&q.dims)
            };
            let pass = if shapes.results.iter().any(is_part) {
                Pass::All
            } else {
                Pass::KeysAndValues
            };
            return (has(&k.dims) && has(&v.dims)).then_some(pass);
        }
        Some("dq") => return has(&q.dims).then_some(Pass::Queries),
        None if name.contains("bwd") || name.contains("backward") => return None,
        _ => {}
    }
    let mut output = q.dims.clone();
    *output.last_mut()? = value_size;
    has(&output).then_some(Pass::Forward)
}
