//! A drawing as SVG.

use std::fmt::{self, Write as _};

use session::xml::escaped;
use view::drawing::{
    Anchor, ColorRole, DASH, Drawing, DrawingPoint, DrawingShape, EDGE, HALO, Ink, MarkerKind,
    OPACITY, baseline, corners, tip,
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
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" data-tool=\"systole\" font-family=\"Inter, Segoe UI, Helvetica, Arial, sans-serif\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{ground}\"/>\n{}</svg>\n",
        shapes(drawing, "c", |ink| match ink.of(palette) {
            (color, opacity) if opacity < 1.0 => {
                let Rgb([r, g, b]) = color;
                format!("rgba({r},{g},{b},{opacity})")
            }
            (color, _) => color.to_string(),
        })
    )
}

/// The elements of the shapes. `id` distinguishes this drawing from others of a page, and `color` writes a colour.
pub fn shapes(drawing: &Drawing, id: &str, color: impl Fn(Ink) -> String) -> String {
    let (mut text, mut clips) = (String::new(), 0);
    for shape in &drawing.shapes {
        // Writing to a string cannot fail.
        let _ = write_shape(&mut text, shape, (id, &mut clips), &color);
    }
    text
}

fn write_shape(
    text: &mut String,
    shape: &DrawingShape,
    (id, clips): (&str, &mut u32),
    paint: impl Fn(Ink) -> String,
) -> fmt::Result {
    match shape {
        DrawingShape::Rect {
            at: (x, y),
            size: (width, height),
            fill,
            title,
        } => {
            let [x, y, width, height] = [x, y, width, height].map(|own| Length(*own));
            write!(
                text,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{}\"",
                paint(*fill)
            )?;
            end_with_title(text, title, "rect")
        }
        DrawingShape::Bars { bars, fill } => {
            text.push_str("<path d=\"");
            for ((x, y), (width, height)) in bars {
                let [x, y, width, height] = [x, y, width, height].map(|own| Length(*own));
                write!(text, "M{x} {y}h{width}v{height}h-{width}z")?;
            }
            writeln!(text, "\" fill=\"{}\"/>", paint(*fill))
        }
        DrawingShape::Line {
            from: (x1, y1),
            to: (x2, y2),
            color,
            width,
            is_dashed,
        } => {
            let color = paint(*color);
            let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(|own| Length(*own));
            write!(
                text,
                "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{color}\" stroke-width=\"{width}\""
            )?;
            if *is_dashed {
                write!(text, " stroke-dasharray=\"{} {}\"", DASH.0, DASH.1)?;
            }
            writeln!(text, "/>")
        }
        DrawingShape::Marker {
            kind,
            at: (x, y),
            r,
            fill,
            title,
        } => {
            let element = if *kind == MarkerKind::Circle {
                let [x, y, r] = [x, y, r].map(|own| Length(*own));
                write!(text, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\"")?;
                "circle"
            } else {
                text.push_str("<polygon points=\"");
                for (x, y) in corners(*kind, (*x, *y), *r) {
                    let (x, y) = (Length(x), Length(y));
                    write!(text, "{x},{y} ")?;
                }
                text.push('"');
                "polygon"
            };
            let (fill, edge) = (paint(*fill), paint(ColorRole::Canvas.into()));
            write!(
                text,
                " fill=\"{fill}\" fill-opacity=\"{OPACITY}\" stroke=\"{edge}\" stroke-width=\"{EDGE}\""
            )?;
            end_with_title(text, title, element)
        }
        DrawingShape::Arrow {
            curve,
            color,
            width,
        } => {
            let place = |(x, y): DrawingPoint| format!("{} {}", Length(x), Length(y));
            let ([a, b, c, d], [e, f, g]) = (curve.map(place), tip(*curve).map(place));
            writeln!(
                text,
                "<path d=\"M{a}C{b} {c} {d}M{e}L{f} {g}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"/>",
                paint(*color)
            )
        }
        DrawingShape::Text {
            at: (x, y),
            anchor,
            size,
            color,
            text: content,
            has_halo,
        } => {
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let (x, y) = (Length(*x), Length(y + baseline(*size)));
            let (color, content) = (paint(*color), escaped(content));
            write!(
                text,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{color}\"{anchor}"
            )?;
            if *has_halo {
                let (edge, width) = (paint(ColorRole::Canvas.into()), 2.0 * HALO);
                write!(
                    text,
                    " paint-order=\"stroke\" stroke=\"{edge}\" stroke-width=\"{width}\""
                )?;
            }
            writeln!(text, ">{content}</text>")
        }
        DrawingShape::BeginClip((x, y), (width, height)) => {
            *clips += 1;
            let [x, y, width, height] = [x, y, width, height].map(|own| Length(*own));
            writeln!(
                text,
                "<clipPath id=\"{id}{clips}\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/></clipPath>\
                 <g clip-path=\"url(#{id}{clips})\">"
            )
        }
        DrawingShape::EndClip => writeln!(text, "</g>"),
    }
}

fn end_with_title(text: &mut String, title: &str, tag: &str) -> fmt::Result {
    if title.is_empty() {
        writeln!(text, "/>")
    } else {
        writeln!(text, "><title>{}</title></{tag}>", escaped(title))
    }
}
