//! Devices numbered along the dimensions of a grid.

/// Largest group list that is expanded: far beyond any pod.
pub(super) const MAX_DEVICES: u64 = 1 << 20;

/// Product of `sizes`; `None` on overflow.
pub(super) fn product(sizes: &[u64]) -> Option<u64> {
    sizes
        .iter()
        .try_fold(1u64, |product, &size| product.checked_mul(size))
}

/// `0..count` in shape `dims`, its dimensions reordered by `permutation` (unchanged if empty), flattened.
pub(super) fn transposed(dims: &[u64], permutation: &[u64], count: u64) -> Option<Vec<u64>> {
    // Distance in the row-major numbering between neighbours along each dimension.
    let mut strides = vec![1u64; dims.len()];
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i].checked_mul(dims[i])?;
    }
    let axis = |axis: u64| Some((*dims.get(axis as usize)?, *strides.get(axis as usize)?));
    let unchanged: Vec<u64> = (0..dims.len() as u64).collect();
    let permutation = if permutation.is_empty() {
        &unchanged
    } else {
        permutation
    };
    let axes: Vec<(u64, u64)> = permutation
        .iter()
        .map(|&number| axis(number))
        .collect::<Option<_>>()?;
    let id = |position: u64| {
        let mut rest = position;
        axes.iter().rev().fold(0, |id, &(size, stride)| {
            let index = rest % size.max(1);
            rest /= size.max(1);
            id + index * stride
        })
    };
    Some((0..count).map(id).collect())
}
