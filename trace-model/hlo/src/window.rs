//! The role of a spatial dimension of a convolution in a matrix product.

use super::WindowDimension;

/// Maximum number of window positions that are counted.
const MAX_COUNTED: u64 = 1 << 16;

/// The role of a spatial dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpatialRole {
    /// Each position of the input meets one position of the kernel: independent products.
    Batch,
    /// The kernel has one position: more rows.
    Rows,
    /// Each input position meets its own kernel position, in one result: contracted.
    Summed,
    /// The input has one position, which meets every kernel position: more columns.
    Columns,
    /// A sliding window.
    Window,
}

/// The analysis of a spatial dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpatialWindow {
    pub(super) role: SpatialRole,
    /// Number of pairs of result and kernel positions that meet an input element: the factor of the work of this
    /// dimension.
    pub(super) multiplications: u64,
}

/// Analyses a spatial dimension with `from` input and `to` result elements; `None` if that would take too long.
pub(super) fn spatial(window: WindowDimension, from: u64, to: u64) -> Option<SpatialWindow> {
    let size = window.size;
    let whole = WindowDimension {
        size,
        is_reversed: window.is_reversed,
        ..WindowDimension::default()
    };
    if window == whole && size == 1 && to == from {
        return Some(SpatialWindow {
            role: SpatialRole::Rows,
            multiplications: to,
        });
    }
    if window == whole && to == 1 && from == size {
        return Some(SpatialWindow {
            role: SpatialRole::Summed,
            multiplications: size,
        });
    }
    // How XLA writes a batch dimension: elements spread so far apart that each window
    // sees exactly one, at a place of its own.
    let spread = WindowDimension {
        size,
        stride: size.saturating_sub(1).max(1),
        base_dilation: size,
        ..Default::default()
    };
    if window == spread && from == size && to == size {
        return Some(SpatialWindow {
            role: SpatialRole::Batch,
            multiplications: size,
        });
    }
    count(window, from, to)
}

/// Counts all positions.
fn count(window: WindowDimension, from: u64, to: u64) -> Option<SpatialWindow> {
    if window.size.checked_mul(to)? > MAX_COUNTED {
        return None;
    }
    let signed = |value: u64| i64::try_from(value).ok();
    let (stride, dilation, base) = (
        signed(window.stride)?,
        signed(window.window_dilation)?,
        signed(window.base_dilation.max(1))?,
    );
    let last = signed(from)?.checked_sub(1)?.checked_mul(base)?;
    // Of each position of the result: places in the input and the kernel that it sees.
    let mut met: Vec<(u64, u64)> = Vec::new();
    let mut one_each = true;
    for position in 0..to {
        let begin = signed(position)?
            .checked_mul(stride)?
            .checked_sub(window.padding_low)?;
        let before = met.len();
        for place in 0..window.size {
            let at = begin.checked_add(signed(place)?.checked_mul(dilation)?)?;
            if (0..=last).contains(&at) && at % base == 0 {
                met.push(((at / base) as u64, place));
            }
        }
        one_each &= met.len() == before + 1;
    }
    let distinct = |mut places: Vec<u64>| {
        places.sort_unstable();
        places.dedup();
        places.len() == met.len()
    };
    let every_kernel_place = distinct(met.iter().map(|&(_, place)| place).collect());
    let every_input_place = distinct(met.iter().map(|&(at, _)| at).collect());
    let role = if window.size == 1 {
        SpatialRole::Rows
    } else if one_each && every_kernel_place && every_input_place && from == to && window.size == to
    {
        SpatialRole::Batch
    } else if one_each && every_kernel_place && from == 1 && window.size == to {
        SpatialRole::Columns
    } else {
        SpatialRole::Window
    };
    Some(SpatialWindow {
        role,
        multiplications: met.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(window: WindowDimension, from: u64, to: u64) -> (SpatialRole, u64) {
        let spatial = spatial(window, from, to).unwrap();
        (spatial.role, spatial.multiplications)
    }

    #[test]
    fn dimensions_of_a_convolution_that_is_a_matmul() {
        let plain = WindowDimension::default();
        assert_eq!(role(plain, 32, 32), (SpatialRole::Rows, 32));
        assert_eq!(
            role(WindowDimension { size: 16, ..plain }, 16, 1),
            (SpatialRole::Summed, 16)
        );
        let batch = WindowDimension {
            size: 8,
            stride: 7,
            base_dilation: 8,
            ..plain
        };
        assert_eq!(role(batch, 8, 8), (SpatialRole::Batch, 8));
        // The same, found by counting.
        assert_eq!(count(batch, 8, 8), spatial(batch, 8, 8));
        let columns = WindowDimension {
            size: 4,
            padding_low: 3,
            padding_high: 3,
            is_reversed: true,
            ..plain
        };
        assert_eq!(role(columns, 1, 4), (SpatialRole::Columns, 4));
    }

    #[test]
    fn sliding_window_counts_valid_positions() {
        let window = WindowDimension {
            size: 3,
            padding_low: 1,
            padding_high: 1,
            ..WindowDimension::default()
        };
        // 2 at each edge, 3 at the 6 positions between.
        assert_eq!(role(window, 8, 8), (SpatialRole::Window, 22));
        let strided = WindowDimension {
            size: 3,
            stride: 2,
            ..WindowDimension::default()
        };
        assert_eq!(role(strided, 9, 4), (SpatialRole::Window, 12));
        assert_eq!(
            spatial(
                WindowDimension {
                    size: 1 << 40,
                    ..window
                },
                8,
                8
            ),
            None
        );
        let extreme = WindowDimension {
            size: 2,
            stride: u64::MAX,
            ..window
        };
        assert_eq!(spatial(extreme, 8, 8), None);
    }
}
