//! How much of a matrix multiplication is padding.
//!
//! Matrix units work on square tiles and vector registers on 8 to 32 rows: an
//! `m × k` by `k × n` product is computed on sizes rounded up to those.

/// Rows that a register packs: more for narrower elements.
pub fn sublanes(element_bits: u64) -> u64 {
    match element_bits {
        0..=8 => 32,
        9..=16 => 16,
        _ => 8,
    }
}

/// Useful share of the work of an `m × k × n` product on `tile`-sized matrix units
/// with `rows` rows per register, 0 to 1; `None` for empty products:
/// `m·k·n / (⌈m/rows⌉·rows · ⌈k/tile⌉·tile · ⌈n/tile⌉·tile)`.
pub fn efficiency(m: u64, k: u64, n: u64, tile: u64, rows: u64) -> Option<f64> {
    if [m, k, n, tile, rows].contains(&0) {
        return None;
    }
    let fill = |size: u64, unit: u64| size as f64 / (size.div_ceil(unit) as f64 * unit as f64);
    Some(fill(m, rows) * fill(k, tile) * fill(n, tile))
}

/// The better of both roles that the compiler may give `m` and `n`: whoever warns
/// about padding should not raise a false alarm.
pub fn best_efficiency(m: u64, k: u64, n: u64, tile: u64, rows: u64) -> Option<f64> {
    Some(efficiency(m, k, n, tile, rows)?.max(efficiency(n, k, m, tile, rows)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_products() {
        let e = |m, k, n, tile, rows| efficiency(m, k, n, tile, rows).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 5e-6, "{a} {b}");
        near(e(1000, 1000, 1000, 128, 8), 0.95367);
        near(e(1000, 1000, 1000, 256, 8), 0.95367);
        near(e(8, 128, 128, 256, 8), 0.25);
        near(e(4096, 4096, 50257, 128, 8), 0.99907);
        near(e(4096, 4096, 50257, 256, 8), 0.99653);
    }

    #[test]
    fn full_tiles_waste_nothing_and_empty_products_have_no_answer() {
        assert_eq!(efficiency(512, 512, 512, 256, 16), Some(1.0));
        assert_eq!(best_efficiency(128, 128, 8, 128, 8), Some(1.0));
        assert_eq!(efficiency(0, 512, 512, 256, 16), None);
        assert_eq!([sublanes(32), sublanes(16), sublanes(8), sublanes(4)], [8, 16, 32, 32]);
    }
}
