//! A drawing as SVG.

use std::fmt;

use crate::prelude::*;
use session::xml::escaped;
use view::drawing::{
    Anchor, DASH, DrawingPoint, DrawingShape, EDGE, HALO, Ink, MarkerKind, OPACITY, baseline,
    corners, tip,
};
use view::palette::{Palette, Rgb};

/// A length with at most two decimals.
struct Length(f32);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The sum with zero is not -0.
        write!(f, "{}", (self.0 * 100.0).round() / 100.0 + 0.0)
    }
}

/// The whole file.
pub fn svg(drawing: &Drawing, palette: &Palette<Rgb>) -> String {
    let ((width, height), ground) = (drawing.size, palette.role(drawing.ground));
    // A page may show a picture in both themes.
    let id = ground.to_string().replace('#', "c") + "-";
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" data-tool=\"systole\" font-family=\"Inter, Segoe UI, Helvetica, Arial, sans-serif\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{ground}\"/>\n{}</svg>\n",
        shapes(drawing, &id, |ink| match ink.of(palette) {
            (color, opacity) if opacity < 1.0 => {
                let Rgb([r, g, b]) = color;
                format!("rgba({r},{g},{b},{opacity})")
            }
            (color, _) => color.to_string(),
        })
    )
}

/// The elements of the shapes. `id` distinguishes this drawing from others of a page, and `paint` writes a colour.
pub fn shapes(drawing: &Drawing, id: &str, paint: impl Fn(Ink) -> String) -> String {
    let mut writer = SvgWriter {
        text: String::new(),
        id,
        clips: 0,
        paint,
    };
    for shape in &drawing.shapes {
        // Writing to a string cannot fail.
        let _ = writer.shape(shape);
    }
    writer.text
}

struct SvgWriter<'a, P> {
    text: String,
    id: &'a str,
    clips: u32,
    paint: P,
}

impl<P: Fn(Ink) -> String> SvgWriter<'_, P> {
    fn shape(&mut self, shape: &DrawingShape) -> fmt::Result {
        match shape {
            DrawingShape::Rect {
                at: position,
                size,
                fill,
                title,
            } => {
                let (place, fill) = (area(*position, *size), (self.paint)(*fill));
                write!(self.text, "<rect {place} fill=\"{fill}\"")?;
                self.end_with_title(title, "rect")
            }
            DrawingShape::Bars { bars, fill } => {
                self.text += "<path d=\"";
                for ((x, y), (width, height)) in bars {
                    let [x, y, width, height] = [x, y, width, height].map(|length| Length(*length));
                    write!(self.text, "M{x} {y}h{width}v{height}h-{width}z")?;
                }
                writeln!(self.text, "\" fill=\"{}\"/>", (self.paint)(*fill))
            }
            DrawingShape::Line {
                from,
                to,
                color,
                width,
                is_dashed,
            } => {
                let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(Length);
                write!(
                    self.text,
                    "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{}\" stroke-width=\"{width}\"",
                    (self.paint)(*color)
                )?;
                if *is_dashed {
                    write!(self.text, " stroke-dasharray=\"{} {}\"", DASH.0, DASH.1)?;
                }
                writeln!(self.text, "/>")
            }
            DrawingShape::Marker {
                kind,
                at: position,
                r,
                fill,
                title,
            } => self.marker((*kind, *position, *r), *fill, title),
            DrawingShape::Arrow {
                curve,
                color,
                width,
            } => {
                let place = |(x, y): DrawingPoint| format!("{} {}", Length(x), Length(y));
                let ([from, bend, back, to], tip) = (curve.map(place), tip(*curve).map(place));
                writeln!(
                    self.text,
                    "<path d=\"M{from}C{bend} {back} {to}M{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"/>",
                    tip.join("L"),
                    (self.paint)(*color)
                )
            }
            DrawingShape::Text { .. } => self.letters(shape),
            DrawingShape::BeginClip(position, size) => {
                self.clips += 1;
                let (id, clips, place) = (self.id, self.clips, area(*position, *size));
                writeln!(
                    self.text,
                    "<clipPath id=\"{id}{clips}\"><rect {place}/></clipPath><g clip-path=\"url(#{id}{clips})\">"
                )
            }
            DrawingShape::EndClip => writeln!(self.text, "</g>"),
        }
    }

    fn marker(
        &mut self,
        (kind, at, r): (MarkerKind, DrawingPoint, f32),
        fill: Ink,
        title: &str,
    ) -> fmt::Result {
        let element = if kind == MarkerKind::Circle {
            let [x, y, r] = [at.0, at.1, r].map(Length);
            write!(self.text, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\"")?;
            "circle"
        } else {
            let corner = |(x, y): DrawingPoint| format!("{},{}", Length(x), Length(y));
            write!(
                self.text,
                "<polygon points=\"{}\"",
                joined(corners(kind, at, r).into_iter().map(corner), " ")
            )?;
            "polygon"
        };
        let (fill, edge) = ((self.paint)(fill), (self.paint)(ColorRole::Canvas.into()));
        write!(
            self.text,
            " fill=\"{fill}\" fill-opacity=\"{OPACITY}\" stroke=\"{edge}\" stroke-width=\"{EDGE}\""
        )?;
        self.end_with_title(title, element)
    }

    fn letters(&mut self, shape: &DrawingShape) -> fmt::Result {
        let DrawingShape::Text {
            at,
            anchor,
            size,
            color,
            text,
            has_halo,
        } = shape
        else {
            return Ok(());
        };
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y) = (Length(at.0), Length(at.1 + baseline(*size)));
        write!(
            self.text,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{}\"{anchor}",
            (self.paint)(*color)
        )?;
        if *has_halo {
            let (edge, width) = ((self.paint)(ColorRole::Canvas.into()), 2.0 * HALO);
            write!(
                self.text,
                " paint-order=\"stroke\" stroke=\"{edge}\" stroke-width=\"{width}\""
            )?;
        }
        writeln!(self.text, ">{}</text>", escaped(text))
    }

    fn end_with_title(&mut self, title: &str, tag: &str) -> fmt::Result {
        if title.is_empty() {
            writeln!(self.text, "/>")
        } else {
            writeln!(self.text, "><title>{}</title></{tag}>", escaped(title))
        }
    }
}

fn area((x, y): DrawingPoint, (width, height): (f32, f32)) -> String {
    let [x, y, width, height] = [x, y, width, height].map(Length);
    format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"")
}
