//! The visible part of the time axis, and the position of a time on the screen.
//!
//! `f32` pixels are fine on a screen, `f64` seconds are not: one day into a trace
//! an `f64` of picoseconds has steps of 16 ps. A [`Viewport`] therefore keeps its
//! left edge as a whole picosecond plus a fraction, and computes with differences
//! from it, which are exact wherever a picosecond is visible.

use crate::prelude::*;

/// Shortest visible span, in picoseconds.
pub const MIN_SPAN_PS: f64 = 1.0;
/// How far past the ends of the trace one may look, as a share of the span.
const OVERSCROLL: f64 = 0.5;
/// Space that "fit" leaves at each side, as a share of the range.
const FIT_MARGIN: f64 = 0.02;

/// The visible part of the time axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Viewport {
    /// Whole picosecond at or before the left edge.
    base: Timestamp,
    /// Left edge minus `base`, in picoseconds, `0.0..1.0`.
    offset: f64,
    /// Visible length in picoseconds.
    span: f64,
}

impl Default for Viewport {
    fn default() -> Self {
        Self {
            base: Timestamp::ZERO,
            offset: 0.0,
            span: 1e12,
        }
    }
}

impl Viewport {
    /// Exactly `range`.
    pub fn of(range: TimeRange) -> Self {
        Self {
            base: range.start,
            offset: 0.0,
            span: range.dur().as_ps_f64().max(MIN_SPAN_PS),
        }
    }

    /// `range` with a margin at both sides.
    pub fn fit(range: TimeRange) -> Self {
        let exact = Self::of(range);
        exact.with_span(exact.span * (1.0 + 2.0 * FIT_MARGIN), 0.5)
    }

    /// Visible length in picoseconds.
    pub fn span_ps(&self) -> f64 {
        self.span
    }

    /// Every whole picosecond that is at least partly visible.
    pub fn range(&self) -> TimeRange {
        let end = Picos::from_ps((self.offset + self.span).ceil() as i64);
        TimeRange::at(self.base, end)
    }

    /// Left edge relative to `from`, in picoseconds.
    pub fn start_after(&self, from: Timestamp) -> f64 {
        (self.base - from).as_ps_f64() + self.offset
    }

    /// The left edge, rounded down.
    pub fn start(&self) -> Timestamp {
        self.base
    }

    /// Position of `time`: 0 at the left edge, 1 at the right edge.
    pub fn fraction(&self, time: Timestamp) -> f64 {
        ((time - self.base).as_ps_f64() - self.offset) / self.span
    }

    /// The time at `fraction` of the width.
    pub fn time_at(&self, fraction: f64) -> Timestamp {
        self.base + Picos::from_ps((self.offset + fraction * self.span).floor() as i64)
    }

    /// Moved right by `fraction` of the width.
    #[must_use]
    pub fn panned(&self, fraction: f64) -> Self {
        self.moved_ps(fraction * self.span)
    }

    /// This span, moved by a time.
    #[must_use]
    pub fn shifted(&self, by: Picos) -> Self {
        Self {
            base: self.base + by,
            ..*self
        }
    }

    /// Zooms: the time at `anchor` (a fraction of the width) stays while the
    /// visible span shrinks by `factor`.
    #[must_use]
    pub fn zoomed(&self, factor: f64, anchor: f64) -> Self {
        if factor.is_finite() && factor > 0.0 {
            self.with_span(self.span / factor, anchor)
        } else {
            *self
        }
    }

    /// Limits span and position to reasonable values for a trace of this extent.
    #[must_use]
    pub fn clamped(&self, extent: TimeRange) -> Self {
        let whole = extent.dur().as_ps_f64().max(MIN_SPAN_PS);
        let limit = whole * (1.0 + 2.0 * OVERSCROLL);
        let view = self.with_span(self.span.clamp(MIN_SPAN_PS, limit), 0.5);
        let before = -view.start_after(extent.start) - view.span * OVERSCROLL;
        let after = view.start_after(extent.start) + view.span * OVERSCROLL - whole;
        if before > 0.0 {
            view.moved_ps(before)
        } else if after > 0.0 {
            view.moved_ps(-after)
        } else {
            view
        }
    }

    /// Moved sideways, by no more than necessary, until `range` is visible.
    #[must_use]
    pub fn revealing(&self, range: TimeRange) -> Self {
        let (start, end) = (self.fraction(range.start), self.fraction(range.end));
        if start < 1.0 && end > 0.0 && (end <= 1.0 || start >= 0.0 || end - start > 1.0) {
            return *self;
        }
        self.panned(f64::midpoint(start, end) - 0.5)
    }

    /// Interpolates between `self` (at 0) and `to` (at 1): spans logarithmically, so
    /// that a long zoom looks even, and edges so that both ends match.
    #[must_use]
    pub fn towards(&self, to: &Self, share: f64) -> Self {
        if share <= 0.0 {
            return *self;
        }
        if share >= 1.0 {
            return *to;
        }
        let span = (self.span.ln() + (to.span.ln() - self.span.ln()) * share).exp();
        // The left edge moves in step with the span, so that the point which both
        // views show at the same place stays there.
        let change = to.span - self.span;
        let progress = if change.abs() > 1e-9 * to.span {
            (span - self.span) / change
        } else {
            share
        };
        let moved = to.start_after(self.base) - self.offset;
        Self { span, ..*self }.moved_ps(moved * progress)
    }

    fn with_span(&self, span: f64, anchor: f64) -> Self {
        let span = if span.is_finite() {
            span.max(MIN_SPAN_PS)
        } else {
            self.span
        };
        Self { span, ..*self }.moved_ps((self.span - span) * anchor)
    }

    fn moved_ps(&self, by: f64) -> Self {
        let offset = self.offset + by;
        let whole = offset.floor();
        Self {
            base: self.base + Picos::from_ps(whole as i64),
            offset: offset - whole,
            span: self.span,
        }
    }
}

/// A mark of the ruler.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    pub at: Timestamp,
    /// Whether it has a label.
    pub major: bool,
}

/// Distance between labelled ticks: 1, 2 or 5 times a power of ten picoseconds, at
/// least `min_px` apart.
pub fn tick_step(view: &Viewport, width_px: f32, min_px: f32) -> Picos {
    let wanted = view.span_ps() * f64::from(min_px) / f64::from(width_px.max(1.0));
    let mut power = 1_i64;
    loop {
        for step in [1, 2, 5] {
            let step = power.saturating_mul(step);
            if step as f64 >= wanted || step == i64::MAX {
                return Picos::from_ps(step);
            }
        }
        power = power.saturating_mul(10);
    }
}

/// The ticks of `view`, counted from `origin`: a labelled one every `step`, and
/// four between where whole picoseconds allow.
pub fn ticks(view: &Viewport, origin: Timestamp, step: Picos) -> Vec<Tick> {
    let step = step.ps().max(1);
    let minor = if step % 5 == 0 { step / 5 } else { step };
    let first = (view.start() - origin).ps().div_euclid(minor);
    let last = (view.range().end - origin).ps().div_euclid(minor) + 1;
    // A view never holds many: its step was chosen for its width.
    (first..=last.min(first.saturating_add(2_000)))
        .map(|i| Tick {
            at: origin + Picos::from_ps(i.saturating_mul(minor)),
            major: i.saturating_mul(minor).rem_euclid(step) == 0,
        })
        .collect()
}

/// The time that the texts of the ruler are relative to: the beginning of the trace, or
/// a round time nearby if times from the beginning would need too many digits.
pub fn ruler_base(time: &Viewport, origin: Timestamp, step: Picos) -> Timestamp {
    let round = step.ps().saturating_mul(1_000);
    let away = (time.start() - origin).ps();
    if away.abs() < round {
        origin
    } else {
        origin + Picos::from_ps(away.div_euclid(round).saturating_mul(round))
    }
}

/// The largest power of ten that divides a time, so that it is written with no more digits than it has.
pub fn roundness(time: Picos) -> Picos {
    let last = std::iter::successors(Some(1_i64), |power| power.checked_mul(10))
        .take_while(|power| time != Picos::ZERO && time.ps() % power == 0)
        .last();
    Picos::from_ps(last.unwrap_or(1))
}

/// `time` as the ruler writes it: in the unit of `step`, with enough digits to
/// distinguish neighbours.
pub fn tick_label(time: Picos, step: Picos) -> String {
    const UNITS: [(i64, &str); 5] = [
        (1_000_000_000_000, "s"),
        (1_000_000_000, "ms"),
        (1_000_000, "µs"),
        (1_000, "ns"),
        (1, "ps"),
    ];
    if time == Picos::ZERO {
        return "0".to_owned();
    }
    // The largest unit of which the step is at least a thousandth, so "1.234 s" but never "0.000001 s".
    let (unit, name) = UNITS
        .into_iter()
        .find(|&(unit, _)| {
            time.ps().saturating_abs() >= unit && step.ps().saturating_mul(1_000) >= unit
        })
        .unwrap_or((1, "ps"));
    let mut decimals = 0;
    let mut rest = unit;
    while step.ps() % rest != 0 {
        rest /= 10;
        decimals += 1;
    }
    format!("{:.decimals$} {name}", time.as_ps_f64() / unit as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400 * 1_000_000_000_000;

    fn range(start: i64, end: i64) -> TimeRange {
        TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
    }

    #[test]
    fn time_is_exact_to_a_picosecond_after_a_day() {
        let view = Viewport::of(range(DAY + 1, DAY + 101));
        for i in 0..=100 {
            let x = view.fraction(Timestamp::from_ps(DAY + 1 + i));
            assert!((x - i as f64 / 100.0).abs() < 1e-12, "{i}: {x}");
            assert_eq!(view.time_at(i as f64 / 100.0 + 1e-9).ps(), DAY + 1 + i);
        }
    }

    #[test]
    fn zoom_keeps_the_time_below_the_pointer() {
        let view = Viewport::of(range(DAY, DAY + 1_000_000));
        let before = view.time_at(0.3);
        let mut zoomed = view;
        for _ in 0..50 {
            zoomed = zoomed.zoomed(1.2, 0.3);
        }
        assert!((zoomed.fraction(before) - 0.3).abs() < 0.02);
        assert!(zoomed.span_ps() < 200.0);
        assert!(view.zoomed(1e30, 0.5).span_ps() >= MIN_SPAN_PS);
    }

    #[test]
    fn subpicosecond_panning_accumulates() {
        let mut view = Viewport::of(range(0, 10));
        for _ in 0..40 {
            view = view.panned(0.025);
        }
        assert!((view.start_after(Timestamp::ZERO) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn clamping_keeps_the_trace_visible() {
        let extent = range(1_000, 2_000);
        let far_left = Viewport::of(range(-100_000, -99_000)).clamped(extent);
        assert!(far_left.range().overlaps(extent));
        let far_right = Viewport::of(range(100_000, 101_000)).clamped(extent);
        assert!(far_right.range().overlaps(extent));
        assert!(
            Viewport::of(range(-1_000_000, 1_000_000))
                .clamped(extent)
                .span_ps()
                <= 2_000.0
        );
        let inside = Viewport::of(range(1_200, 1_300));
        assert_eq!(inside.clamped(extent), inside);
    }

    #[test]
    fn animation_starts_and_ends_exactly() {
        let (from, to) = (
            Viewport::of(range(0, 1_000_000)),
            Viewport::of(range(500_000, 500_100)),
        );
        assert!((from.towards(&to, 0.0).span_ps() - 1e6).abs() < 1e-3);
        assert_eq!(from.towards(&to, 1.0), to);
        let near = from.towards(&to, 0.999_999);
        assert!((near.start_after(Timestamp::ZERO) - 500_000.0).abs() < 10.0);
    }

    #[test]
    fn reveal_moves_only_if_needed() {
        let view = Viewport::of(range(0, 1_000));
        assert_eq!(view.revealing(range(100, 200)), view);
        let moved = view.revealing(range(5_000, 5_100));
        assert!(moved.range().encloses(range(5_000, 5_100)));
        assert!((moved.span_ps() - view.span_ps()).abs() < 1e-9);
    }

    #[test]
    fn ticks_are_one_two_or_five_and_spaced() {
        let view = Viewport::of(range(0, 1_000_000));
        assert_eq!(tick_step(&view, 1_000.0, 80.0).ps(), 100_000);
        assert_eq!(tick_step(&view, 2_000.0, 80.0).ps(), 50_000);
        assert_eq!(tick_step(&view, 400.0, 80.0).ps(), 200_000);
        assert_eq!(
            tick_step(&Viewport::of(range(0, 10)), 1_000.0, 80.0).ps(),
            1
        );
        let all = ticks(
            &Viewport::of(range(95, 305)),
            Timestamp::ZERO,
            Picos::from_ps(100),
        );
        let major: Vec<_> = all.iter().filter(|t| t.major).map(|t| t.at.ps()).collect();
        assert_eq!(major, [100, 200, 300]);
        assert!(all.iter().any(|t| t.at.ps() == 120 && !t.major));
    }

    #[test]
    fn tick_labels_have_significant_digits() {
        let label = |at, step| tick_label(Picos::from_ps(at), Picos::from_ps(step));
        assert_eq!(label(0, 1), "0");
        assert_eq!(label(1_500_000_000, 500_000_000), "1.5 ms");
        assert_eq!(label(2_000_000_000, 500_000_000), "2.0 ms");
        assert_eq!(label(1_234_000_000_000, 1_000_000_000), "1.234 s");
        assert_eq!(label(20, 10), "20 ps");
        assert_eq!(label(1_234_567, 1), "1234.567 ns");
        let alone = |at| tick_label(Picos::from_ps(at), roundness(Picos::from_ps(at)));
        let bases = [
            0,
            55_000_000_000_000,
            93_837_000_000_000,
            -4_400_000_000_000,
            93_837_113_000_000,
        ];
        assert_eq!(
            bases.map(alone),
            ["0", "55 s", "93.837 s", "-4.4 s", "93837.113 ms"]
        );
    }
}
