//! Writing SVG: rectangles, lines, circles and texts that fit.

use std::fmt::Write as _;

use crate::view::palette::Rgb;

/// Mean width of a letter, as a share of the size of the font.
const LETTER: f32 = 0.55;

/// Where a text lies relative to its point.
#[derive(Clone, Copy)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

/// A picture on its way.
pub struct Svg {
    text: String,
}

impl Svg {
    /// An empty one.
    pub fn new(width: f32, height: f32, ground: Rgb) -> Self {
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"Inter, Segoe UI, Helvetica, Arial, sans-serif\">\n"
        );
        let _ = writeln!(text, "<rect width=\"100%\" height=\"100%\" fill=\"{ground}\"/>");
        Self { text }
    }

    /// Everything from here to [`Self::end_clip`] is cut at a rectangle.
    pub fn begin_clip(&mut self, id: &str, x: f32, y: f32, width: f32, height: f32) {
        let _ = writeln!(
            self.text,
            "<clipPath id=\"{id}\"><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/></clipPath>\
             <g clip-path=\"url(#{id})\">"
        );
    }

    /// See [`Self::begin_clip`].
    pub fn end_clip(&mut self) {
        self.text.push_str("</g>\n");
    }

    /// A filled rectangle; `title` appears below the pointer where it is not empty.
    pub fn rect(&mut self, x: f32, y: f32, width: f32, height: f32, fill: Rgb, title: &str) {
        let _ = write!(
            self.text,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\"",
            width.max(0.1),
            height.max(0.1)
        );
        self.end_with_title(title, "rect");
    }

    /// A line.
    pub fn line(&mut self, (x1, y1): (f32, f32), (x2, y2): (f32, f32), color: Rgb, width: f32) {
        let _ = writeln!(
            self.text,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\" stroke-width=\"{width}\"/>"
        );
    }

    /// A filled circle with a thin edge.
    pub fn circle(&mut self, x: f32, y: f32, r: f32, fill: Rgb, edge: Rgb, title: &str) {
        let _ = write!(
            self.text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\" fill=\"{fill}\" fill-opacity=\"0.85\" stroke=\"{edge}\" \
             stroke-width=\"0.7\""
        );
        self.end_with_title(title, "circle");
    }

    /// An arrow from left to right, bent.
    pub fn arrow(&mut self, from: (f32, f32), to: (f32, f32), color: Rgb) {
        let bend = ((to.0 - from.0).abs() * 0.5).clamp(20.0, 120.0);
        let _ = writeln!(
            self.text,
            "<path d=\"M{:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}m-6 -4l6 4l-6 4\" fill=\"none\" stroke=\"{color}\" \
             stroke-width=\"1.5\"/>",
            from.0,
            from.1,
            from.0 + bend,
            from.1,
            to.0 - bend,
            to.1,
            to.0,
            to.1
        );
    }

    /// A text, its middle at `y`.
    pub fn text(&mut self, x: f32, y: f32, anchor: Anchor, size: f32, color: Rgb, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let _ = writeln!(
            self.text,
            "<text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"{size}\" fill=\"{color}\"{anchor}>{}</text>",
            y + size * 0.35,
            escaped(text)
        );
    }

    /// A text that is cut where it does not fit into `room`.
    pub fn fitted(&mut self, x: f32, y: f32, room: f32, size: f32, color: Rgb, text: &str) {
        let letters = (room / (size * LETTER)).max(0.0) as usize;
        if text.chars().count() <= letters {
            self.text(x, y, Anchor::Start, size, color, text);
        } else if letters >= 2 {
            let cut: String = text.chars().take(letters - 1).collect();
            self.text(x, y, Anchor::Start, size, color, &format!("{cut}…"));
        }
    }

    /// The whole file.
    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    fn end_with_title(&mut self, title: &str, tag: &str) {
        if title.is_empty() {
            self.text.push_str("/>\n");
        } else {
            let _ = writeln!(self.text, "><title>{}</title></{tag}>", escaped(title));
        }
    }
}

/// Width of a text, roughly.
pub fn width_of(text: &str, size: f32) -> f32 {
    text.chars().count() as f32 * size * LETTER
}

/// Texts come from files: no markup, and nothing that XML forbids.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_cut() {
        assert_eq!(escaped("a<b & \"c\"\n\u{1}"), "a&lt;b &amp; &quot;c&quot;  ");
        let mut svg = Svg::new(10.0, 10.0, Rgb([0; 3]));
        svg.fitted(0.0, 0.0, 60.0, 10.0, Rgb([0; 3]), "a name that is too long");
        // 60 points hold ten letters of 5.5.
        assert!(svg.finish().contains(">a name th…<"));
    }
}
