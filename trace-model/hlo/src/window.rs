//! The role of a spatial dimension of a convolution in a matrix product.

use super::WindowDimension;

/// Maximum length of the shorter of result and window, along which positions are counted one by one.
const MAX_WALKED: u64 = 1 << 12;

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
    pub role: SpatialRole,
    /// Number of pairs of result and kernel positions that meet an input element: the factor of the work of this
    /// dimension.
    pub multiplications: u64,
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

/// Counts the pairs of a position of the result and a place in the window that meet an element of the input. Of both,
/// the shorter sequence is walked; what the members of the other one meet follows from arithmetic.
fn count(window: WindowDimension, from: u64, to: u64) -> Option<SpatialWindow> {
    let size = window.size;
    if size.min(to) > MAX_WALKED {
        return None;
    }
    // Whatever is larger is not real, and products of two such numbers never overflow.
    let small = |number: u64| u32::try_from(number).ok().map(i128::from);
    let (number_of_places, number_of_positions) = (small(size)?, small(to)?);
    let (stride, dilation) = (small(window.stride)?, small(window.window_dilation)?);
    let padding = i128::from(i32::try_from(window.padding_low).ok()?);
    let base = small(window.base_dilation.max(1))?;
    let end = small(from)? * base;
    let walks_window = size <= to;
    let (walked, walked_step, met) = if walks_window {
        let positions = Progression::new(number_of_positions, stride, base);
        (number_of_places, dilation, positions)
    } else {
        let places = Progression::new(number_of_places, dilation, base);
        (number_of_positions, stride, places)
    };
    let mut multiplications = 0;
    // Of each place in the window that meets one element: at which position of the result, and which element.
    let mut only = Vec::new();
    for step in 0..walked {
        let first = step * walked_step - padding;
        let (number, index) = met.multiples_below(end, first);
        multiplications += number;
        only.extend((number == 1).then_some((index, first + index * met.step)));
    }
    let is_one_each = walks_window && size == to && only.len() as u64 == size && {
        let (positions, elements): (Vec<i128>, Vec<i128>) = only.into_iter().unzip();
        is_distinct(positions) && (from == 1 || is_distinct(elements))
    };
    let role = match from {
        _ if size == 1 => SpatialRole::Rows,
        _ if is_one_each && from == to => SpatialRole::Batch,
        1 if is_one_each => SpatialRole::Columns,
        _ => SpatialRole::Window,
    };
    let multiplications = u64::try_from(multiplications).ok()?;
    Some(SpatialWindow {
        role,
        multiplications,
    })
}

fn is_distinct(mut values: Vec<i128>) -> bool {
    let all = values.len();
    values.sort_unstable();
    values.dedup();
    values.len() == all
}

/// Places of a dilated input, from any first one on in equal steps; only multiples of its dilation hold an element.
struct Progression {
    number: i128,
    step: i128,
    base: i128,
    /// The greatest common divisor of step and base, and the number that `step` is multiplied by to get it modulo
    /// `base`.
    common: i128,
    factor: i128,
}

impl Progression {
    fn new(number: i128, step: i128, base: i128) -> Self {
        let (mut common, mut rest, mut factor, mut next) = (step, base, 1, 0);
        while rest != 0 {
            let times = common / rest;
            (common, rest) = (rest, common - times * rest);
            (factor, next) = (next, factor - times * next);
        }
        Self {
            number,
            step,
            base,
            common,
            factor,
        }
    }

    /// How many places hold an element below `end`, and the index of the first of them.
    fn multiples_below(&self, end: i128, first: i128) -> (i128, i128) {
        let is_inside = |place: i128| (0..end).contains(&place);
        if self.step == 0 {
            let all = is_inside(first) && first % self.base == 0;
            return (if all { self.number } else { 0 }, 0);
        }
        if first % self.common != 0 {
            return (0, 0);
        }
        let indices_up_to = |place: i128| (place - first + self.step - 1).max(0) / self.step;
        let (begin, end) = (indices_up_to(0), indices_up_to(end).min(self.number));
        let period = self.base / self.common;
        let residue = -first / self.common * self.factor;
        let index = begin + (residue - begin).rem_euclid(period);
        ((end - index + period - 1).max(0) / period, index)
    }
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
        let wide = WindowDimension {
            size: 1 << 20,
            ..window
        };
        assert_eq!(role(wide, 1 << 20, 4).1, 4 * (1 << 20) - 4);
        assert_eq!(spatial(wide, 1 << 20, 1 << 20), None);
        let empty = WindowDimension { size: 0, ..window };
        assert_eq!(role(empty, 8, u64::from(u32::MAX)).1, 0);
        let extreme = WindowDimension {
            size: 2,
            stride: u64::MAX,
            ..window
        };
        assert_eq!(spatial(extreme, 8, 8), None);
    }

    /// All pairs, one by one.
    fn counted(window: WindowDimension, from: u64, to: u64) -> u64 {
        let [from, to, size, stride, dilation, base] = [
            from,
            to,
            window.size,
            window.stride,
            window.window_dilation,
            window.base_dilation,
        ]
        .map(|number| i64::try_from(number).unwrap());
        let place = |(at, tap)| at * stride + tap * dilation - window.padding_low;
        let pairs = (0..to).flat_map(|at| (0..size).map(move |tap| (at, tap)));
        pairs
            .map(place)
            .filter(|place| (0..from * base).contains(place) && place % base == 0)
            .count() as u64
    }

    proptest::proptest! {
        #[test]
        fn arithmetic_equals_counting(
            (size, stride, padding_low) in (0..9_u64, 0..7_u64, -6..7_i64),
            (window_dilation, base_dilation) in (1..7_u64, 1..9_u64),
            (from, to) in (0..12_u64, 0..12_u64),
        ) {
            let window = WindowDimension {
                size, stride, padding_low, window_dilation, base_dilation, ..WindowDimension::default()
            };
            let arithmetic = count(window, from, to).unwrap().multiplications;
            proptest::prop_assert_eq!(arithmetic, counted(window, from, to));
        }
    }
}
