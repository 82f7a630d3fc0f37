//! The parts of the timeline's rectangle.
//!
//! ```text
//! ┌ filter ─┬ minimap ─────────────┐
//! ├ corner ─┼ ruler ───────────────┤
//! │ names   │ canvas              ▐│ ← scroll bar
//! └─────────┴──────────────────────┘
//! ```

use crate::prelude::*;

use view::timeline::ruler::HEIGHT as RULER;

/// Height of the minimap.
const MINIMAP: f32 = 34.0;
/// Heights of ruler and minimap where two traces share the window.
const SLIM: (f32, f32) = (30.0, 20.0);
/// Width of the scroll bar.
const SCROLL_BAR: f32 = 10.0;

/// What is above the tracks.
#[derive(Clone, Copy, Debug)]
pub struct TimelineHead {
    /// The minimap and the field that filters tracks.
    pub minimap: bool,
    pub ruler: bool,
    /// Whether both are lower, because two traces share the window.
    pub is_slim: bool,
}

impl TimelineHead {
    /// Neither: another timeline has them.
    pub const NONE: Self = Self {
        minimap: false,
        ruler: false,
        is_slim: false,
    };

    pub fn with_ruler(minimap: bool) -> Self {
        Self {
            minimap,
            ruler: true,
            is_slim: false,
        }
    }

    /// A lower head, with a ruler.
    pub fn slim(minimap: bool) -> Self {
        Self {
            is_slim: true,
            ..Self::with_ruler(minimap)
        }
    }

    /// Height of what is above the tracks.
    pub fn height(self) -> f32 {
        let ruler = if self.is_slim { SLIM.0 } else { RULER };
        self.minimap_height() + if self.ruler { ruler } else { 0.0 }
    }

    fn minimap_height(self) -> f32 {
        match (self.minimap, self.is_slim) {
            (false, _) => 0.0,
            (true, false) => MINIMAP,
            (true, true) => SLIM.1,
        }
    }
}

/// The parts of the timeline's rectangle.
#[derive(Clone, Copy)]
pub struct TimelineAreas {
    /// The filter field above the names; without a minimap it replaces the corner and appears only when needed.
    pub filter: Rect,
    /// The minimap; empty if it is hidden.
    pub minimap: Rect,
    /// Left of the ruler.
    pub corner: Rect,
    pub ruler: Rect,
    /// The names of tracks.
    pub names: Rect,
    pub canvas: Rect,
    /// Right of the tracks.
    pub scroll_bar: Rect,
}

impl TimelineAreas {
    pub fn of(rect: Rect, label_width: f32, head: TimelineHead) -> Self {
        let y = (rect.top() + head.height()).min(rect.bottom());
        Self::apart(rect, rect.with_min_y(y), label_width, head)
    }

    /// Divides a rectangle, with the tracks elsewhere: in `body`.
    pub fn apart(rect: Rect, body: Rect, label_width: f32, head: TimelineHead) -> Self {
        let x = rect.left() + label_width.min(rect.width() * 0.5);
        let top = rect.top() + head.minimap_height();
        let y = rect.top() + head.height();
        let right = rect.right() - SCROLL_BAR;
        Self {
            filter: Rect::from_min_max(rect.min, pos2(x, if head.minimap { top } else { y })),
            minimap: Rect::from_min_max(pos2(x, rect.top()), pos2(rect.right(), top)),
            corner: Rect::from_min_max(pos2(rect.left(), top), pos2(x, y)),
            ruler: Rect::from_min_max(pos2(x, top), pos2(right, y)),
            names: Rect::from_min_max(body.min, pos2(x, body.bottom())),
            canvas: Rect::from_min_max(pos2(x, body.top()), pos2(right, body.bottom())),
            scroll_bar: Rect::from_min_max(pos2(right, body.top()), body.max),
        }
    }
}
