//! Which devices take part in a collective: `{{0,1},{2,3}}` or `[4,2]<=[2,4]T(1,0)`.

/// Largest group list that is expanded: far beyond any pod.
const MAX_DEVICES: u64 = 1 << 20;

/// Reads `replica_groups`; an empty list means that all devices form one group.
pub fn parse_replica_groups(text: &str) -> Option<Vec<Vec<u64>>> {
    let text = text.trim();
    if text.starts_with('[') { parse_iota(text) } else { parse_lists(text) }
}

/// Reads `source_target_pairs={{0,1},{1,0}}`.
pub fn parse_pairs(text: &str) -> Option<Vec<(u64, u64)>> {
    let pair = |list: Vec<u64>| match list.as_slice() {
        &[source, target] => Some((source, target)),
        _ => None,
    };
    parse_lists(text.trim())?.into_iter().map(pair).collect()
}

/// `{{0,1},{2,3}}`, `{0,1}` (one group) or `{}` (no group).
fn parse_lists(text: &str) -> Option<Vec<Vec<u64>>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?.trim();
    if inner.is_empty() {
        return Some(Vec::new());
    }
    if !inner.starts_with('{') {
        return numbers(inner).map(|group| vec![group]);
    }
    inner
        .strip_prefix('{')?
        .strip_suffix('}')?
        .split('}')
        .map(|part| numbers(part.trim_start_matches([',', ' ', '{'])))
        .collect()
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(|part| part.trim().parse().ok()).collect()
}

/// Expands `[groups,size]<=[dims]T(permutation)`: number the devices in row-major
/// order of `dims`, transpose, read row by row, cut into groups.
fn parse_iota(text: &str) -> Option<Vec<Vec<u64>>> {
    let (shape, rest) = text.split_once("<=")?;
    let bracketed = |text: &str| numbers(text.trim().strip_prefix('[')?.strip_suffix(']')?);
    let shape = bracketed(shape)?;
    let (dims, order) = rest.split_once('T').map_or((rest, None), |(dims, order)| (dims, Some(order)));
    let dims = bracketed(dims)?;
    let permutation = match order {
        Some(order) => numbers(order.trim().strip_prefix('(')?.strip_suffix(')')?)?,
        None => (0..dims.len() as u64).collect(),
    };
    let product = |sizes: &[u64]| sizes.iter().try_fold(1u64, |product, &size| product.checked_mul(size));
    let count = product(&dims)?;
    let size = *shape.last()?;
    if count == 0 || count > MAX_DEVICES || size == 0 || product(&shape)? != count {
        return None;
    }
    let ids = transposed(&dims, &permutation, count)?;
    Some(ids.chunks(usize::try_from(size).ok()?).map(<[u64]>::to_vec).collect())
}

/// `0..count` in shape `dims`, its dimensions reordered by `permutation`, flattened.
fn transposed(dims: &[u64], permutation: &[u64], count: u64) -> Option<Vec<u64>> {
    let mut sorted = permutation.to_vec();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..dims.len() as u64) {
        return None;
    }
    // Distance in the row-major numbering between neighbours along each dimension.
    let mut strides = vec![1u64; dims.len()];
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i] * dims[i];
    }
    let axes: Vec<(u64, u64)> = permutation.iter().map(|&axis| (dims[axis as usize], strides[axis as usize])).collect();
    let id = |position: u64| {
        let mut rest = position;
        axes.iter().rev().fold(0, |id, &(size, stride)| {
            let index = rest % size;
            rest /= size;
            id + index * stride
        })
    };
    Some((0..count).map(id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iota_groups_expand_to_the_reference_answers() {
        let groups = |text: &str| parse_replica_groups(text).unwrap();
        assert_eq!(groups("[4,2]<=[2,4]T(1,0)"), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(groups("[2,4]<=[8]"), [[0, 1, 2, 3], [4, 5, 6, 7]]);
        assert_eq!(groups("[2,4]<=[4,2]T(1,0)"), [[0, 2, 4, 6], [1, 3, 5, 7]]);
        assert_eq!(groups("[1,2]<=[2]"), [[0, 1]]);
    }

    #[test]
    fn listed_groups_and_pairs() {
        assert_eq!(parse_replica_groups("{{0,1},{2,3}}"), Some(vec![vec![0, 1], vec![2, 3]]));
        assert_eq!(parse_replica_groups("{{0, 1, 2}, {3}}"), Some(vec![vec![0, 1, 2], vec![3]]));
        assert_eq!(parse_replica_groups("{0,1}"), Some(vec![vec![0, 1]]));
        assert_eq!(parse_replica_groups("{}"), Some(vec![]));
        assert_eq!(parse_pairs("{{0,1},{1,0}}"), Some(vec![(0, 1), (1, 0)]));
        assert_eq!(parse_pairs("{{0,1,2}}"), None);
    }

    #[test]
    fn nonsense_is_none() {
        for text in [
            "[2,4]<=[9]",
            "[0,0]<=[0]",
            "[2]<=[2]T(1)",
            "[2,2]<=[2,2]T(0,0)",
            "[99999999,99999999]<=[9]",
            "{{0,x}}",
            "",
        ] {
            assert_eq!(parse_replica_groups(text), None, "{text}");
        }
    }
}
