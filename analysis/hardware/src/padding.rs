//! Padding of matrix multiplications.
//!
//! Matrix units work on square tiles and vector registers on 8 to 32 rows: an `m × k` by `k × n` product is computed on
//! sizes rounded up to those.

use serde::Serialize;

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
pub(crate) fn efficiency(m: u64, k: u64, n: u64, tile: u64, rows: u64) -> Option<f64> {
    if [m, k, n, tile, rows].contains(&0) {
        return None;
    }
    Some(fill(m, rows) * fill(k, tile) * fill(n, tile))
}

/// A size of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dimension {
    /// Rows of the left operand.
    M,
    /// The contracted dimension.
    K,
    /// Columns of the right operand.
    N,
}

impl Dimension {
    /// For people, a letter.
    pub fn title(self) -> &'static str {
        match self {
            Self::M => "M",
            Self::K => "K",
            Self::N => "N",
        }
    }
}

/// Padding of a product, and how to reduce it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Padding {
    /// Useful share of the work, 0 to 1.
    pub efficiency: f64,
    /// The dimension whose rounding costs most; `None` if nothing is padded.
    pub worst: Option<Dimension>,
    /// The useful share if that dimension were a multiple of its unit.
    pub without_worst: f64,
}

/// Padding of an `m × k × n` product, in the better of both roles that the compiler may give `m` and `n`: a warning
/// about padding should not be a false alarm. `None` for empty products.
pub fn best([m, k, n]: [u64; 3], tile: u64, rows: u64) -> Option<Padding> {
    let (as_is, swapped) = (
        efficiency(m, k, n, tile, rows)?,
        efficiency(n, k, m, tile, rows)?,
    );
    let best = as_is.max(swapped);
    let (m_unit, n_unit) = if swapped > as_is {
        (tile, rows)
    } else {
        (rows, tile)
    };
    let fills = [
        (Dimension::K, fill(k, tile)),
        (Dimension::N, fill(n, n_unit)),
        (Dimension::M, fill(m, m_unit)),
    ];
    let worst = fills
        .into_iter()
        .filter(|&(_, fill)| fill < 1.0)
        .min_by(|a, b| a.1.total_cmp(&b.1));
    Some(Padding {
        efficiency: best,
        worst: worst.map(|(dimension, _)| dimension),
        without_worst: worst.map_or(best, |(_, fill)| best / fill),
    })
}

/// Useful share of a dimension that is rounded up to a unit.
fn fill(size: u64, unit: u64) -> f64 {
    size as f64 / (size.div_ceil(unit) as f64 * unit as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_of_reference_matmuls() {
        let e = |m, k, n, tile, rows| efficiency(m, k, n, tile, rows).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 5e-6, "{a} {b}");
        near(e(1000, 1000, 1000, 128, 8), 0.95367);
        near(e(1000, 1000, 1000, 256, 8), 0.95367);
        near(e(8, 128, 128, 256, 8), 0.25);
        near(e(4096, 4096, 50257, 128, 8), 0.99907);
        near(e(4096, 4096, 50257, 256, 8), 0.99653);
    }

    #[test]
    fn full_tiles_waste_nothing_and_empty_matmuls_have_no_padding() {
        assert_eq!(efficiency(512, 512, 512, 256, 16), Some(1.0));
        let nothing = Padding {
            efficiency: 1.0,
            worst: None,
            without_worst: 1.0,
        };
        assert_eq!(best([512, 512, 512], 256, 16), Some(nothing));
        // With the roles of rows and columns changed nothing is padded.
        assert_eq!(best([128, 128, 8], 128, 8), Some(nothing));
        assert_eq!(efficiency(0, 512, 512, 256, 16), None);
        assert_eq!(
            [sublanes(32), sublanes(16), sublanes(8), sublanes(4)],
            [8, 16, 32, 32]
        );
    }

    #[test]
    fn suggests_growing_the_least_filled_dimension() {
        // A head of 64 on a 256-wide unit: a quarter of the work is useful.
        let padding = best([4096, 64, 4096], 256, 16).unwrap();
        assert_eq!(
            (padding.efficiency, padding.worst, padding.without_worst),
            (0.25, Some(Dimension::K), 1.0)
        );
        let padding = best([4, 64, 200], 128, 8).unwrap();
        // m 4 of 8, k 64 of 128, n 200 of 256: k and m are both half full.
        assert_eq!(
            (padding.efficiency, padding.worst),
            (0.5 * 0.5 * 200.0 / 256.0, Some(Dimension::K))
        );
        assert_eq!(best([0, 64, 64], 128, 8), None);
    }
}
