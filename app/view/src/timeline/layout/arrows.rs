//! Flow arrows: their curves, and which one is at a point.

use crate::prelude::*;

/// Straight pieces that stand for a curve when a point is looked for on it.
const PIECES: usize = 24;

/// A flow arrow between two slices, from right end to left end.
#[derive(Clone, Copy, Debug)]
pub struct FlowArrow {
    pub from: (f32, f32),
    pub to: (f32, f32),
    /// The slices at both ends.
    pub slices: [SliceId; 2],
    /// Whether it starts at the selected slice.
    pub outgoing: bool,
    /// Whether it is the chosen flow.
    pub is_chosen: bool,
}

impl FlowArrow {
    /// The cubic curve: both ends, and the points between that bend it.
    pub fn curve(&self) -> [(f32, f32); 4] {
        let (from, to) = (self.from, self.to);
        let half = (to.0 - from.0).abs() * 0.5;
        // Along one lane it runs below the names of slices.
        let is_level = (to.1 - from.1).abs() < 1.0;
        let (bend, dip) = if is_level {
            (half.min(120.0), half.min(14.0))
        } else {
            (half.clamp(20.0, 120.0), 0.0)
        };
        [
            from,
            (from.0 + bend, from.1 + dip),
            (to.0 - bend, to.1 + dip),
            to,
        ]
    }

    /// Whether the curve passes within `reach` of a point.
    pub fn is_near(&self, x: f32, y: f32, reach: f32) -> bool {
        let points = self.curve();
        let point = |share: f32| {
            let rest = 1.0 - share;
            let weights = [
                rest * rest * rest,
                3.0 * rest * rest * share,
                3.0 * rest * share * share,
                share.powi(3),
            ];
            weights
                .iter()
                .zip(&points)
                .fold((0.0, 0.0), |sum, (w, point)| {
                    (sum.0 + w * point.0, sum.1 + w * point.1)
                })
        };
        let pieces = (0..PIECES).map(|i| {
            (
                point(i as f32 / PIECES as f32),
                point((i + 1) as f32 / PIECES as f32),
            )
        });
        pieces
            .into_iter()
            .any(|(a, b)| distance((x, y), a, b) <= reach)
    }
}

/// The distance of a point from the straight line between two others.
fn distance((x, y): (f32, f32), a: (f32, f32), b: (f32, f32)) -> f32 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = (dx * dx + dy * dy).max(1e-6);
    let share = (((x - a.0) * dx + (y - a.1) * dy) / length).clamp(0.0, 1.0);
    (x - a.0 - share * dx).hypot(y - a.1 - share * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrow_is_found_along_its_curve() {
        let slices = [SliceId::from_index(0), SliceId::from_index(1)];
        let arrow = FlowArrow {
            from: (10.0, 20.0),
            to: (210.0, 120.0),
            slices,
            outgoing: true,
            is_chosen: false,
        };
        // The curve is symmetric, so it passes the middle of both ends.
        assert!(
            arrow.is_near(110.0, 70.0, 1.0)
                && arrow.is_near(10.0, 20.0, 0.1)
                && arrow.is_near(210.0, 120.0, 0.1)
        );
        assert!(!arrow.is_near(110.0, 90.0, 4.0) && !arrow.is_near(230.0, 120.0, 4.0));
        let level = FlowArrow {
            to: (210.0, 20.0),
            ..arrow
        };
        assert!(
            !level.is_near(110.0, 20.0, 4.0) && level.is_near(110.0, 30.5, 1.0),
            "it dips below the names"
        );
    }
}
