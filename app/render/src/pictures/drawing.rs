//! A picture before it is written: rectangles, lines, circles and texts that fit, in
//! drawing order. Writers only encode it; they make no layout decisions.

use view::palette::Rgb;

/// Mean width of a letter, as a share of the size of the font.
const LETTER: f32 = 0.55;

/// Where a text lies relative to its point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

/// A point, in pixels from the upper left corner.
pub type DrawingPoint = (f32, f32);

/// A shape. `title` is its tooltip in formats that support tooltips.
#[derive(Clone, Debug, PartialEq)]
pub enum DrawingShape {
    Rect {
        /// Upper left corner.
        at: DrawingPoint,
        /// Width and height.
        size: (f32, f32),
        fill: Rgb,
        /// Tooltip; empty for none.
        title: String,
    },
    /// Filled rectangles of one colour.
    Bars {
        /// Upper left corners, and widths and heights.
        bars: Vec<(DrawingPoint, (f32, f32))>,
        fill: Rgb,
    },
    Line {
        from: DrawingPoint,
        to: DrawingPoint,
        color: Rgb,
        width: f32,
    },
    /// A filled, slightly transparent circle with a thin edge.
    Circle {
        /// Its middle.
        at: DrawingPoint,
        /// Radius.
        r: f32,
        fill: Rgb,
        /// Colour of its edge.
        edge: Rgb,
        /// Tooltip.
        title: String,
    },
    /// An arrow, bent so that it leaves and arrives from left to right.
    Arrow {
        from: DrawingPoint,
        to: DrawingPoint,
        color: Rgb,
    },
    /// A line of text; `at` is the height of its middle.
    Text {
        /// Horizontal position, relative to `anchor`.
        at: DrawingPoint,
        /// The part of the text that lies at this position.
        anchor: Anchor,
        /// Height of the font.
        size: f32,
        color: Rgb,
        text: String,
    },
    /// Clips the following shapes to a rectangle: upper left corner and size.
    BeginClip(DrawingPoint, (f32, f32)),
    EndClip,
}

impl DrawingShape {
    fn move_down(&mut self, by: f32) {
        match self {
            Self::Rect { at, .. }
            | Self::Circle { at, .. }
            | Self::Text { at, .. }
            | Self::BeginClip(at, _) => {
                at.1 += by;
            }
            Self::Line { from, to, .. } | Self::Arrow { from, to, .. } => {
                from.1 += by;
                to.1 += by;
            }
            Self::Bars { bars, .. } => bars.iter_mut().for_each(|(at, _)| at.1 += by),
            Self::EndClip => {}
        }
    }
}

/// Thickness of the edge of a circle.
pub const EDGE: f32 = 0.7;
/// Opacity of a circle.
pub const OPACITY: f32 = 0.85;
/// Thickness of an arrow.
pub const ARROW: f32 = 1.5;
/// Length and half width of its tip.
pub const TIP: (f32, f32) = (6.0, 4.0);

/// Length of the straight part of an arrow before it bends.
pub fn bend(from: DrawingPoint, to: DrawingPoint) -> f32 {
    ((to.0 - from.0).abs() * 0.5).clamp(20.0, 120.0)
}

/// Distance of the baseline below the middle of a text of this size.
pub fn baseline(size: f32) -> f32 {
    size * 0.35
}

#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Width and height.
    pub size: (f32, f32),
    pub ground: Rgb,
    /// The shapes, in drawing order.
    pub shapes: Vec<DrawingShape>,
}

impl Drawing {
    pub fn new(width: f32, height: f32, ground: Rgb) -> Self {
        Self {
            size: (width, height),
            ground,
            shapes: Vec::new(),
        }
    }

    /// This drawing with another one below it.
    pub fn above(mut self, mut other: Self) -> Self {
        let down = self.size.1;
        other
            .shapes
            .iter_mut()
            .for_each(|shape| shape.move_down(down));
        self.shapes.append(&mut other.shapes);
        self.size = (self.size.0.max(other.size.0), down + other.size.1);
        self
    }

    /// Clips everything from here to [`Self::end_clip`] to a rectangle.
    pub fn begin_clip(&mut self, x: f32, y: f32, width: f32, height: f32) {
        self.shapes
            .push(DrawingShape::BeginClip((x, y), (width, height)));
    }

    /// See [`Self::begin_clip`].
    pub fn end_clip(&mut self) {
        self.shapes.push(DrawingShape::EndClip);
    }

    /// A filled rectangle; `title` is its tooltip, if not empty.
    pub fn rect(&mut self, x: f32, y: f32, width: f32, height: f32, fill: Rgb, title: &str) {
        let size = (width.max(0.1), height.max(0.1));
        self.shapes.push(DrawingShape::Rect {
            at: (x, y),
            size,
            fill,
            title: title.to_owned(),
        });
    }

    pub fn line(&mut self, from: DrawingPoint, to: DrawingPoint, color: Rgb, width: f32) {
        self.shapes.push(DrawingShape::Line {
            from,
            to,
            color,
            width,
        });
    }

    /// A filled circle with a thin edge.
    pub fn circle(&mut self, x: f32, y: f32, r: f32, fill: Rgb, edge: Rgb, title: &str) {
        self.shapes.push(DrawingShape::Circle {
            at: (x, y),
            r,
            fill,
            edge,
            title: title.to_owned(),
        });
    }

    /// An arrow from left to right, bent.
    pub fn arrow(&mut self, from: DrawingPoint, to: DrawingPoint, color: Rgb) {
        self.shapes.push(DrawingShape::Arrow { from, to, color });
    }

    /// A text with its middle at `y`. Texts come from files, so invisible characters become spaces.
    pub fn text(&mut self, x: f32, y: f32, anchor: Anchor, size: f32, color: Rgb, text: &str) {
        let text = analysis::printable(text);
        self.shapes.push(DrawingShape::Text {
            at: (x, y),
            anchor,
            size,
            color,
            text,
        });
    }

    /// A text that is truncated if it does not fit into `room`.
    pub fn fitted(&mut self, x: f32, y: f32, room: f32, size: f32, color: Rgb, text: &str) {
        let letters = (room / (size * LETTER)).max(0.0) as usize;
        if text.chars().count() <= letters {
            self.text(x, y, Anchor::Start, size, color, text);
        } else if letters >= 2 {
            let cut: String = text.chars().take(letters - 1).collect();
            self.text(x, y, Anchor::Start, size, color, &format!("{cut}…"));
        }
    }
}

/// Approximate width of a text.
pub fn width_of(text: &str, size: f32) -> f32 {
    text.chars().count() as f32 * size * LETTER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_stacked_vertically() {
        let mut one = Drawing::new(10.0, 20.0, Rgb([0; 3]));
        one.begin_clip(0.0, 5.0, 10.0, 10.0);
        one.line((1.0, 2.0), (3.0, 4.0), Rgb([0; 3]), 1.0);
        one.end_clip();
        let both = one.clone().above(Drawing {
            size: (30.0, 7.0),
            ..one.clone()
        });
        assert_eq!(both.size, (30.0, 27.0));
        assert_eq!(both.shapes[..3], one.shapes);
        assert_eq!(
            both.shapes[3],
            DrawingShape::BeginClip((0.0, 25.0), (10.0, 10.0))
        );
        assert!(
            matches!(both.shapes[4], DrawingShape::Line { from: (_, y), to: (_, end), .. } if (y, end) == (22.0, 24.0))
        );
    }

    #[test]
    fn long_text_is_truncated() {
        let mut drawing = Drawing::new(10.0, 10.0, Rgb([0; 3]));
        // 60 points hold ten letters of 5.5.
        drawing.fitted(0.0, 0.0, 60.0, 10.0, Rgb([0; 3]), "a name that is too long");
        drawing.fitted(0.0, 0.0, 60.0, 10.0, Rgb([0; 3]), "short\n");
        drawing.fitted(0.0, 0.0, 8.0, 10.0, Rgb([0; 3]), "nothing fits");
        let texts: Vec<&str> = drawing
            .shapes
            .iter()
            .map(|shape| match shape {
                DrawingShape::Text { text, .. } => text.as_str(),
                _ => "",
            })
            .collect();
        assert_eq!(texts, ["a name th…", "short "]);
    }
}
