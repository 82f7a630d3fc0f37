//! Attention whose keys and values are in pages.
//!
//! The lengths of the sequences, and how many there are, are values. The page table limits them: it has a row for each
//! sequence, and a full row is the longest one. Sizes are those of the operands, padded heads and tokens included.

use hlo::ArrayShape;

use super::call::{CallShapes, CostLimit, KernelKind, ShapeCost, times};

/// Whether a kernel has the name of one of tpu-inference: `RPA-bq_32-bkvp_64-p_64-`, `RPAd-p_128-…` for decoding only.
pub(super) fn is_rpa(name: &str) -> bool {
    let rest = name.strip_prefix("rpa");
    let rest = rest.map(|rest| rest.trim_start_matches(['d', 'p', 'm']));
    rest.is_some_and(|rest| rest.starts_with('_'))
}

/// Sequences, and pages of each, of the page table among the indices: `[sequences, pages]`, or the same in one dimension,
/// for `known` sequences or between the lengths of the sequences and the `sequences + 1` starts of their queries.
fn page_table(shapes: &CallShapes<'_>, known: Option<u64>) -> Option<[u64; 2]> {
    let indices = shapes.indices();
    let place = (0..indices.len())
        .max_by_key(|index| indices.get(*index).and_then(|array| array.elements()))?;
    let table = indices.get(place)?;
    if let &[sequences, pages] = table.dims.as_slice() {
        return Some([sequences, pages]);
    }
    let &[all] = table.dims.as_slice() else {
        return None;
    };
    let list = |index: Option<usize>| match *indices.get(index?)?.dims.as_slice() {
        [length] => Some(length),
        _ => None,
    };
    let sequences = known.or_else(|| {
        let lengths = list(place.checked_sub(1))?;
        let begins = list(place.checked_add(1))?;
        (begins.checked_sub(1) == Some(lengths)).then_some(lengths)
    })?;
    (sequences > 0 && all % sequences == 0).then(|| [sequences, all / sequences])
}

struct Paged<'a> {
    kind: KernelKind,
    heads: u64,
    queries: u64,
    size: u64,
    /// Positions of one page, and its elements of keys and values of all heads.
    page: [u64; 2],
    pages: u64,
    cache: &'a ArrayShape<'static>,
    q: &'a ArrayShape<'static>,
    /// Operands and results that are moved as a whole.
    others: Vec<&'a ArrayShape<'static>>,
}

impl Paged<'_> {
    fn cost(self, [sequences, pages_each]: [u64; 2]) -> Option<ShapeCost> {
        let [positions, elements] = self.page;
        let keys = pages_each.checked_mul(positions)?;
        let flops = times(&[4, self.heads, self.queries, keys, self.size])?;
        let pages = self.pages.min(sequences.checked_mul(pages_each)?);
        let read = times(&[pages, elements, hlo::element_bits(self.cache.dtype)?])? / 8;
        let mut others = self.others.iter();
        let bytes = others.try_fold(read, |sum, array| sum.checked_add(array.bytes()?))?;
        Some(ShapeCost {
            kind: self.kind,
            flops: Some(flops),
            causal_flops: None,
            products: Vec::new(),
            bytes: Some(bytes),
            cache_bytes: Some(read),
            received_bytes: None,
            limit: CostLimit::AtMost,
            formula: format!(
                "4 × {} heads × {} queries × {keys} keys × {}",
                self.heads, self.queries, self.size
            ),
            types: [self.q.dtype, self.cache.dtype],
        })
    }
}

/// Queries `[tokens, heads, size]` and pages `[pages, positions, heads of keys and values, size]`, or both with packed
/// numbers: `[heads of keys, tokens, heads of each ÷ packed, packed, size]`, new keys and values `[tokens, heads ÷ packed,
/// packed, size]`, and pages `[pages, positions, heads ÷ packed, packed, size]`.
pub(super) fn ragged(name: &str, shapes: &CallShapes<'_>) -> Option<ShapeCost> {
    let floats = shapes.floats();
    let (q, cache, others, [heads, tokens, size]) = match *floats.as_slice() {
        [q, cache] => {
            let &[tokens, heads, size] = q.dims.as_slice() else {
                return None;
            };
            let others = vec![q, q];
            (q, cache, others, [heads, tokens, size])
        }
        [q, new, cache] => {
            let &[of_keys, tokens, each, packed, size] = q.dims.as_slice() else {
                return None;
            };
            let is_new = new.dims.first() == Some(&tokens);
            let heads = times(&[of_keys, each, packed]).filter(|_| is_new)?;
            // New keys and values are read, and written into their pages.
            (q, cache, vec![q, q, new, new], [heads, tokens, size])
        }
        _ => return None,
    };
    let (&pages, page) = cache.dims.split_first()?;
    let positions = *page.first().filter(|_| page.len() >= 3)?;
    let is_result = shapes.results.iter().any(|result| result.dims == q.dims);
    let table = page_table(shapes, None).filter(|_| is_result && page.last() == Some(&size))?;
    // Only one token of each sequence is decoded at a time.
    let queries = if name.starts_with("rpad") {
        tokens.min(table[0])
    } else {
        tokens
    };
    let paged = Paged {
        kind: KernelKind::RaggedPagedAttention,
        heads,
        queries,
        size,
        page: [positions, times(page)?],
        pages,
        cache,
        q,
        others,
    };
    paged.cost(table)
}

/// Queries `[sequences, heads, size]`, perhaps with a dimension of 1, and pages of keys and of values
/// `[heads of keys, pages, positions, size]`.
pub(super) fn paged(shapes: &CallShapes<'_>) -> Option<ShapeCost> {
    let &[q, k, v, ..] = shapes.floats().as_slice() else {
        return None;
    };
    let (&[sequences, heads, size] | &[sequences, heads, 1, size]) = q.dims.as_slice() else {
        return None;
    };
    let &[of_keys, pages, positions, key_size] = k.dims.as_slice() else {
        return None;
    };
    let fits = k.dims == v.dims && key_size == size && of_keys > 0 && heads % of_keys == 0;
    let table =
        page_table(shapes, Some(sequences)).filter(|table| fits && table[0] == sequences)?;
    let paged = Paged {
        kind: KernelKind::PagedAttention,
        heads,
        queries: sequences,
        size,
        page: [positions, times(&[2, of_keys, positions, size])?],
        pages,
        cache: k,
        q,
        others: vec![q, q],
    };
    paged.cost(table)
}
