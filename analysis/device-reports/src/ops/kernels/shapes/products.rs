//! Matrix products, and kernels that move parts between devices.

use hlo::ArrayShape;

use super::call::{CallShapes, CostLimit, KernelKind, KernelProduct, ShapeCost, is_float, times};

/// The costs of a product of matrices on one device, of `m` × `k` and `k` × `n` elements.
fn cost(
    [m, k, n]: [u64; 3],
    kind: KernelKind,
    limit: CostLimit,
    shapes: &CallShapes<'_>,
) -> Option<ShapeCost> {
    let product = KernelProduct {
        batch: 1,
        sizes: [m, k, n],
    };
    // The rows of each group, and with them the padding, are values.
    let is_known = limit == CostLimit::Exact;
    Some(ShapeCost {
        kind,
        flops: Some(times(&[2, m, k, n])?),
        causal_flops: None,
        products: is_known.then_some(product).into_iter().collect(),
        bytes: shapes.bytes(),
        cache_bytes: None,
        received_bytes: None,
        limit,
        formula: format!("2 × {m} rows × {k} × {n} columns"),
        types: factors(shapes)?.map(|factor| factor.dtype),
    })
}

/// The two dimensions of a matrix.
fn matrix(array: &ArrayShape<'static>) -> Option<[u64; 2]> {
    array.dims.as_slice().try_into().ok()
}

/// Inner size and columns of the right operand, whichever way it lies, that go with a left one of inner size `k`.
fn right(array: [u64; 2], k: u64, n: u64) -> bool {
    array == [k, n] || array == [n, k]
}

/// Operands that can be factors, in order: scales and indices of quantized products follow them.
fn factors<'a>(shapes: &CallShapes<'a>) -> Option<[&'a ArrayShape<'static>; 2]> {
    let mut matrices = shapes.operands.iter().copied().filter(|array| {
        array.dims.len() >= 2 && (is_float(array.dtype) || !matches!(array.dtype, "s32" | "pred"))
    });
    Some([matrices.next()?, matrices.next()?])
}

/// `[m, k] × [k, n] → [m, n]`, the right operand perhaps transposed.
pub(super) fn plain(kind: KernelKind, shapes: &CallShapes<'_>) -> Option<ShapeCost> {
    let [lhs, rhs] = factors(shapes)?;
    let [m, n] = matrix(shapes.results.first()?)?;
    let [rows, k] = matrix(lhs)?;
    let fits = rows == m && right(matrix(rhs)?, k, n);
    fits.then(|| cost([m, k, n], kind, CostLimit::Exact, shapes))?
}

/// `[m, k] × [groups, k, n] → [m, n]`: each row belongs to one group or to none. The matrices of groups without rows are not
/// read.
pub(super) fn grouped(shapes: &CallShapes<'_>) -> Option<ShapeCost> {
    let [lhs, rhs] = factors(shapes)?;
    let [m, n] = matrix(shapes.results.first()?)?;
    let [rows, k] = matrix(lhs)?;
    let &[_, first, second] = rhs.dims.as_slice() else {
        return None;
    };
    let fits = rows == m && right([first, second], k, n);
    let kind = KernelKind::GroupedMatmul;
    fits.then(|| cost([m, k, n], kind, CostLimit::AtMost, shapes))?
}

/// `[m, k]ᵀ × [m, n] → [groups, k, n]`: the rows of each group give its matrix.
pub(super) fn transposed_grouped(shapes: &CallShapes<'_>) -> Option<ShapeCost> {
    let [lhs, rhs] = factors(shapes)?;
    let &[_, k, n] = shapes.results.first()?.dims.as_slice() else {
        return None;
    };
    let [rows, columns] = matrix(rhs)?;
    let fits = columns == n && right(matrix(lhs)?, rows, k);
    let kind = KernelKind::TransposedGroupedMatmul;
    // The rows are what is summed over.
    fits.then(|| cost([rows, k, n], kind, CostLimit::AtMost, shapes))?
}

/// A product whose left operand is gathered from all devices, or whose result is divided among them. How many there are
/// follows from the rows.
pub(super) fn collective(shapes: &CallShapes<'_>) -> Option<ShapeCost> {
    let [lhs, rhs] = factors(shapes)?;
    let result = shapes.results.first()?;
    let [out_rows, n] = matrix(result)?;
    let [rows, k] = matrix(lhs)?;
    if !right(matrix(rhs)?, k, n) || out_rows == 0 || rows == 0 || out_rows == rows {
        return None;
    }
    let (kind, m, part, moved) = if out_rows % rows == 0 {
        (KernelKind::AllGatherMatmul, out_rows, rows, lhs)
    } else if rows % out_rows == 0 {
        (KernelKind::ReduceScatterMatmul, rows, out_rows, *result)
    } else {
        return None;
    };
    Some(ShapeCost {
        received_bytes: moved.bytes()?.checked_mul(m / part - 1),
        ..cost([m, k, n], kind, CostLimit::Exact, shapes)?
    })
}

/// An operand whose parts on all devices are the result, or the other way round.
pub(super) fn moved(kind: KernelKind, shapes: &CallShapes<'_>) -> Option<ShapeCost> {
    let mut data = shapes
        .operands
        .iter()
        .copied()
        .filter(|array| array.dims.len() >= 2 && array.dtype != "s32");
    let (part, None) = (data.next()?, data.next()) else {
        return None;
    };
    let result = *shapes.results.first()?;
    let (small, large) = if kind == KernelKind::AllGather {
        (part, result)
    } else {
        (result, part)
    };
    let of_small = small.elements()?;
    let of_large = large.elements()?;
    let devices = of_large.checked_div(of_small)?;
    let is_divided = small.dtype == large.dtype && devices > 1 && of_small * devices == of_large;
    let received = small.bytes()?.checked_mul(devices - 1)?;
    is_divided.then(|| ShapeCost {
        kind,
        flops: None,
        causal_flops: None,
        products: Vec::new(),
        bytes: shapes.bytes(),
        cache_bytes: None,
        received_bytes: Some(received),
        limit: CostLimit::Exact,
        formula: format!(
            "{} other devices × {} bytes",
            devices - 1,
            received / (devices - 1)
        ),
        types: [small.dtype, large.dtype],
    })
}
