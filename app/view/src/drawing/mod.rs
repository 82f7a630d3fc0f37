//! A picture before it is painted: shapes that fit, in drawing order, with colours by role. Painters (window, SVG,
//! PNG, HTML) look colours up and encode shapes; they make no layout decisions.

mod ink;
mod labels;
mod plot;

pub use ink::{ColorRole, Ink};
pub use labels::{LabelPlaces, around};
pub use plot::{PlotArea, PlotPlace, PlotRange, neighbours_per_label, power_of_ten};

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

/// The shape of a marker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MarkerKind {
    Circle,
    Diamond,
    Square,
}

/// A shape. `title` is its tooltip in formats that support tooltips.
#[derive(Clone, Debug, PartialEq)]
pub enum DrawingShape {
    Rect {
        /// Upper left corner.
        at: DrawingPoint,
        /// Width and height.
        size: (f32, f32),
        fill: Ink,
        /// Tooltip; empty for none.
        title: String,
    },
    /// Filled rectangles of one colour.
    Bars {
        /// Upper left corners, and widths and heights.
        bars: Vec<(DrawingPoint, (f32, f32))>,
        fill: Ink,
    },
    Line {
        from: DrawingPoint,
        to: DrawingPoint,
        color: Ink,
        width: f32,
        is_dashed: bool,
    },
    /// A filled, slightly transparent marker with a thin edge in the colour of the canvas.
    Marker {
        kind: MarkerKind,
        /// Its middle.
        at: DrawingPoint,
        /// Radius.
        r: f32,
        fill: Ink,
        /// Tooltip.
        title: String,
    },
    /// A cubic curve with a tip at its end.
    Arrow {
        curve: [DrawingPoint; 4],
        color: Ink,
        width: f32,
    },
    /// A line of text; `at` is the height of its middle.
    Text {
        /// Horizontal position, relative to `anchor`.
        at: DrawingPoint,
        /// The part of the text that lies at this position.
        anchor: Anchor,
        /// Height of the font.
        size: f32,
        color: Ink,
        text: String,
        /// Whether it stands over other shapes, from which the colour of the canvas separates it.
        has_halo: bool,
    },
    /// Clips the following shapes to a rectangle: upper left corner and size.
    BeginClip(DrawingPoint, (f32, f32)),
    EndClip,
}

impl DrawingShape {
    fn move_down(&mut self, by: f32) {
        match self {
            Self::Rect { at, .. }
            | Self::Marker { at, .. }
            | Self::Text { at, .. }
            | Self::BeginClip(at, _) => {
                at.1 += by;
            }
            Self::Line { from, to, .. } => {
                from.1 += by;
                to.1 += by;
            }
            Self::Arrow { curve, .. } => curve.iter_mut().for_each(|at| at.1 += by),
            Self::Bars { bars, .. } => bars.iter_mut().for_each(|(at, _)| at.1 += by),
            Self::EndClip => {}
        }
    }
}

/// Thickness of the edge of a marker.
pub const EDGE: f32 = 0.7;
/// Opacity of a marker.
pub const OPACITY: f32 = 0.85;
/// Lengths of the dashes of a line and of the gaps between them.
pub const DASH: (f32, f32) = (5.5, 4.5);
/// Thickness of the halo of a text, on each side.
pub const HALO: f32 = 1.5;

/// The tip of an arrow: a line from one side over the end to the other side.
pub fn tip([_, _, before, end]: [DrawingPoint; 4]) -> [DrawingPoint; 3] {
    /// Its length and half its width.
    const TIP: (f32, f32) = (6.0, 4.0);
    let (x, y) = (end.0 - before.0, end.1 - before.1);
    let length = x.hypot(y).max(f32::MIN_POSITIVE);
    let (x, y) = (x / length, y / length);
    let side = |half: f32| (end.0 - TIP.0 * x - half * y, end.1 - TIP.0 * y + half * x);
    [side(TIP.1), end, side(-TIP.1)]
}

/// Distance of the baseline below the middle of a text of this size.
pub fn baseline(size: f32) -> f32 {
    size * 0.35
}

/// The corners of a marker; none of a circle.
pub fn corners(kind: MarkerKind, (x, y): DrawingPoint, r: f32) -> Vec<DrawingPoint> {
    let corners = match kind {
        MarkerKind::Circle => return Vec::new(),
        MarkerKind::Diamond => [(0.0, -r), (r, 0.0), (0.0, r), (-r, 0.0)],
        MarkerKind::Square => {
            let side = r * 0.8;
            [(-side, -side), (side, -side), (side, side), (-side, side)]
        }
    };
    corners.map(|(right, down)| (x + right, y + down)).to_vec()
}

#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Width and height.
    pub size: (f32, f32),
    pub ground: ColorRole,
    /// The shapes, in drawing order.
    pub shapes: Vec<DrawingShape>,
    /// Areas that react to the pointer: upper left corner, size, and the number that the description gave it.
    hits: Vec<(DrawingPoint, (f32, f32), usize)>,
}

impl Drawing {
    pub fn new(width: f32, height: f32, ground: ColorRole) -> Self {
        Self {
            size: (width, height),
            ground,
            shapes: Vec::new(),
            hits: Vec::new(),
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
        let moved = other.hits.into_iter();
        self.hits
            .extend(moved.map(|((x, y), size, number)| ((x, y + down), size, number)));
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

    /// Makes a rectangle react to the pointer.
    pub fn hit(&mut self, x: f32, y: f32, width: f32, height: f32, number: usize) {
        self.hits.push(((x, y), (width, height), number));
    }

    /// The number of what reacts at a point; of several, the one whose middle is nearest.
    pub fn number_at(&self, (x, y): DrawingPoint) -> Option<usize> {
        let near = self.hits.iter().filter_map(|&(corner, size, number)| {
            let (right, down) = (x - corner.0, y - corner.1);
            let is_inside = (0.0..size.0).contains(&right) && (0.0..size.1).contains(&down);
            let distance = (right - size.0 / 2.0).hypot(down - size.1 / 2.0);
            is_inside.then_some((distance, number))
        });
        near.min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, number)| number)
    }

    /// A filled rectangle; `title` is its tooltip, if not empty.
    pub fn rect(
        &mut self,
        x: f32,
        y: f32,
        width: f32,
        height: f32,
        fill: impl Into<Ink>,
        title: &str,
    ) {
        self.shapes.push(DrawingShape::Rect {
            at: (x, y),
            size: (width.max(0.1), height.max(0.1)),
            fill: fill.into(),
            title: title.to_owned(),
        });
    }

    /// Rectangles of one colour.
    pub fn bars(&mut self, bars: Vec<(DrawingPoint, (f32, f32))>, fill: impl Into<Ink>) {
        let fill = fill.into();
        if !bars.is_empty() {
            self.shapes.push(DrawingShape::Bars { bars, fill });
        }
    }

    pub fn line(
        &mut self,
        from: DrawingPoint,
        to: DrawingPoint,
        color: impl Into<Ink>,
        width: f32,
    ) {
        self.shapes.push(DrawingShape::Line {
            from,
            to,
            color: color.into(),
            width,
            is_dashed: false,
        });
    }

    pub fn dashed_line(&mut self, from: DrawingPoint, to: DrawingPoint, color: impl Into<Ink>) {
        self.shapes.push(DrawingShape::Line {
            from,
            to,
            color: color.into(),
            width: 1.2,
            is_dashed: true,
        });
    }

    pub fn marker(
        &mut self,
        kind: MarkerKind,
        center: DrawingPoint,
        r: f32,
        fill: impl Into<Ink>,
        title: String,
    ) {
        self.shapes.push(DrawingShape::Marker {
            kind,
            at: center,
            r,
            fill: fill.into(),
            title,
        });
    }

    pub fn arrow(&mut self, curve: [DrawingPoint; 4], color: impl Into<Ink>, width: f32) {
        let color = color.into();
        self.shapes.push(DrawingShape::Arrow {
            curve,
            color,
            width,
        });
    }

    /// A text with its middle at `y`. Texts come from files, so invisible characters become spaces.
    pub fn text(
        &mut self,
        x: f32,
        y: f32,
        anchor: Anchor,
        size: f32,
        color: impl Into<Ink>,
        text: &str,
    ) {
        self.shapes.push(DrawingShape::Text {
            at: (x, y),
            anchor,
            size,
            color: color.into(),
            text: analysis::printable(text),
            has_halo: false,
        });
    }

    /// A text over other shapes.
    pub fn label(
        &mut self,
        position: DrawingPoint,
        anchor: Anchor,
        size: f32,
        color: impl Into<Ink>,
        text: &str,
    ) {
        self.text(position.0, position.1, anchor, size, color, text);
        if let Some(DrawingShape::Text { has_halo, .. }) = self.shapes.last_mut() {
            *has_halo = true;
        }
    }

    /// A name that loses its middle if it does not fit into `room`.
    pub fn fitted_name(
        &mut self,
        (x, y): DrawingPoint,
        room: f32,
        size: f32,
        color: impl Into<Ink>,
        name: &str,
    ) {
        let letters = (room / (size * LETTER)).max(0.0) as usize;
        let name = shortened(name, letters);
        self.text(x, y, Anchor::Start, size, color, &name);
    }

    /// A text that is truncated if it does not fit into `room`.
    pub fn fitted(
        &mut self,
        x: f32,
        y: f32,
        room: f32,
        size: f32,
        color: impl Into<Ink>,
        text: &str,
    ) {
        let letters = (room / (size * LETTER)).max(0.0) as usize;
        if text.chars().count() <= letters {
            self.text(x, y, Anchor::Start, size, color, text);
        } else if letters >= 2 {
            let cut: String = text.chars().take(letters - 1).collect();
            self.text(x, y, Anchor::Start, size, color, &format!("{cut}…"));
        }
    }
}

/// The beginning and the end of a name; the end distinguishes ops.
pub fn shortened(name: &str, most: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= most {
        return name.to_owned();
    }
    let (head, tail) = letters.split_at(most / 2);
    let hidden = tail.len().saturating_sub(most.saturating_sub(most / 2 + 1));
    let tail = tail.iter().skip(hidden);
    head.iter().chain(&['…']).chain(tail).collect()
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
        let mut one = Drawing::new(10.0, 20.0, ColorRole::Text);
        one.begin_clip(0.0, 5.0, 10.0, 10.0);
        one.line((1.0, 2.0), (3.0, 4.0), ColorRole::Text, 1.0);
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
    fn long_names_keep_both_ends() {
        let name = format!("{}.17", "fusion_".repeat(30));
        let short = shortened(&name, 30);
        assert_eq!(
            (
                short.chars().count(),
                short.starts_with("fusion_fusion_"),
                short.ends_with("n_.17")
            ),
            (30, true, true)
        );
        assert_eq!(shortened("fusion.17", 30), "fusion.17");
    }

    #[test]
    fn long_text_is_truncated() {
        let mut drawing = Drawing::new(10.0, 10.0, ColorRole::Text);
        // 60 points hold ten letters of 5.5.
        drawing.fitted(
            0.0,
            0.0,
            60.0,
            10.0,
            ColorRole::Text,
            "a name that is too long",
        );
        drawing.fitted(0.0, 0.0, 60.0, 10.0, ColorRole::Text, "short\n");
        drawing.fitted(0.0, 0.0, 8.0, 10.0, ColorRole::Text, "nothing fits");
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
