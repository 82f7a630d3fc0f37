//! Movement of the view: speeds of held keys, and animation after a jump. Everything is a function of time, not of
//! frames, so that the speed does not depend on the machine.

use crate::prelude::*;

/// Initial panning speed, in points per second.
const PAN: f64 = 1_000.0;
/// Initial zooming speed, as the logarithm of the factor per second.
const ZOOM: f64 = 1.5;
/// The speed grows after the key was down for this many seconds …
const ACCELERATES_AFTER: f64 = 0.1;
/// … by this multiple of the initial speed per second …
const ACCELERATION: f64 = 10.0;
/// … up to this multiple.
const TOP_SPEED: f64 = 30.0;
/// Length of the animation after a jump, in seconds.
const ANIMATION_SECONDS: f64 = 0.25;

/// How Shift and Alt change the speed of a held key.
#[derive(Clone, Copy, Debug, Default)]
pub enum MovementSpeed {
    /// Neither.
    #[default]
    Normal,
    /// Shift.
    Fast,
    /// Alt.
    Fine,
}

impl MovementSpeed {
    fn factor(self) -> f64 {
        match self {
            Self::Normal => 1.0,
            Self::Fast => 3.0,
            Self::Fine => 0.15,
        }
    }
}

/// Points to pan in `dt` seconds, after the key was held for `held` seconds.
pub fn pan_points(held: f64, dt: f64, pace: MovementSpeed) -> f64 {
    PAN * speed(held) * dt * pace.factor()
}

/// Zoom factor for `dt` seconds, after the key was held for `held` seconds.
pub fn zoom_factor(held: f64, dt: f64, pace: MovementSpeed) -> f64 {
    // Zooming is exponential already: it accelerates far less than panning.
    let speed = speed(held).min(4.0);
    (ZOOM * speed * dt * pace.factor()).exp()
}

fn speed(held: f64) -> f64 {
    (1.0 + (held - ACCELERATES_AFTER).max(0.0) * ACCELERATION).min(TOP_SPEED)
}

/// Animates the view from one position to the next.
#[derive(Clone, Copy, Debug, Default)]
pub struct ViewAnimation {
    shown: Option<Viewport>,
    target: Option<Viewport>,
    from: Option<(Viewport, f64)>,
}

impl ViewAnimation {
    /// The view to show at `now` (seconds) on the way to `target`, and whether it is still moving. With `instantly`
    /// there is no animation.
    pub fn follow(&mut self, target: Viewport, now: f64, instantly: bool) -> (Viewport, bool) {
        if self.target != Some(target) {
            self.from = match self.shown {
                Some(shown) if !instantly => Some((shown, now)),
                _ => None,
            };
            self.target = Some(target);
        }
        let (view, moving) = match self.from {
            Some((from, since)) => {
                let share = ((now - since) / ANIMATION_SECONDS).clamp(0.0, 1.0);
                // Fast at first, soft at the end.
                let eased = 1.0 - (1.0 - share).powi(3);
                (from.towards(&target, eased), share < 1.0)
            }
            None => (target, false),
        };
        if !moving {
            self.from = None;
        }
        self.shown = Some(view);
        (view, moving)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::{TimeRange, Timestamp};

    fn view(start: i64, end: i64) -> Viewport {
        Viewport::of(TimeRange::new(
            Timestamp::from_ps(start),
            Timestamp::from_ps(end),
        ))
    }

    #[test]
    fn held_keys_move_by_elapsed_time() {
        let distance = |frames: u32| {
            let dt = 0.1 / f64::from(frames);
            (0..frames)
                .map(|i| pan_points(f64::from(i) * dt, dt, MovementSpeed::Normal))
                .sum::<f64>()
        };
        assert!((distance(6) - distance(100)).abs() < 1.0);
        assert!(
            pan_points(1.0, 0.016, MovementSpeed::Normal)
                > 5.0 * pan_points(0.0, 0.016, MovementSpeed::Normal)
        );
        assert!(pan_points(100.0, 1.0, MovementSpeed::Normal) <= PAN * TOP_SPEED);
        assert!(
            pan_points(0.0, 0.016, MovementSpeed::Fine)
                < pan_points(0.0, 0.016, MovementSpeed::Normal)
        );
        assert!(
            zoom_factor(0.0, 0.016, MovementSpeed::Fast)
                > zoom_factor(0.0, 0.016, MovementSpeed::Normal)
        );
    }

    #[test]
    fn jump_animates_to_its_target() {
        let mut animation = ViewAnimation::default();
        let (a, b) = (view(0, 1_000), view(5_000, 5_100));
        assert_eq!(
            animation.follow(a, 0.0, false),
            (a, false),
            "nothing to animate from"
        );
        assert_eq!(animation.follow(b, 1.0, false), (a, true));
        let (between, moving) = animation.follow(b, 1.1, false);
        assert!(moving && between != a && between != b);
        assert_eq!(
            animation.follow(b, 1.0 + ANIMATION_SECONDS, false),
            (b, false)
        );
        assert_eq!(animation.follow(b, 9.0, false), (b, false));
    }

    #[test]
    fn drag_moves_the_view_immediately() {
        let mut animation = ViewAnimation::default();
        animation.follow(view(0, 1_000), 0.0, false);
        let moved = view(10, 1_010);
        assert_eq!(animation.follow(moved, 0.1, true), (moved, false));
    }
}
