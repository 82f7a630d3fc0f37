//! A drawing as SVG.

use std::fmt::Write as _;

use session::xml::escaped;

use super::drawing::{ARROW, Anchor, Drawing, DrawingShape, EDGE, OPACITY, TIP, baseline, bend};

pub fn svg(drawing: &Drawing) -> String {
    let ((width, height), ground) = (drawing.size, drawing.ground);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" data-tool=\"systole\" font-family=\"Inter, Segoe UI, Helvetica, Arial, sans-serif\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{ground}\"/>\n"
    );
    let mut clips = 0;
    for shape in &drawing.shapes {
        write_shape(&mut text, shape, &mut clips);
    }
    text.push_str("</svg>\n");
    text
}

fn write_shape(text: &mut String, shape: &DrawingShape, clips: &mut u32) {
    // Writing to a string cannot fail.
    let _ = match shape {
        DrawingShape::Rect {
            at: (x, y),
            size: (width, height),
            fill,
            title,
        } => {
            let _ = write!(
                text,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\""
            );
            end_with_title(text, title, "rect")
        }
        DrawingShape::Bars { bars, fill } => {
            text.push_str("<path d=\"");
            for ((x, y), (width, height)) in bars {
                let _ = write!(text, "M{x:.2} {y:.2}h{width:.2}v{height:.2}h-{width:.2}z");
            }
            writeln!(text, "\" fill=\"{fill}\"/>")
        }
        DrawingShape::Line {
            from: (x1, y1),
            to: (x2, y2),
            color,
            width,
        } => writeln!(
            text,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\" stroke-width=\"{width}\"/>"
        ),
        DrawingShape::Circle {
            at: (x, y),
            r,
            fill,
            edge,
            title,
        } => {
            let _ = write!(
                text,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\" fill=\"{fill}\" fill-opacity=\"{OPACITY}\" \
                 stroke=\"{edge}\" stroke-width=\"{EDGE}\""
            );
            end_with_title(text, title, "circle")
        }
        DrawingShape::Arrow { from, to, color } => {
            let ((x1, y1), (x2, y2), bend, (long, half)) = (*from, *to, bend(*from, *to), TIP);
            writeln!(
                text,
                "<path d=\"M{x1:.1} {y1:.1}C{:.1} {y1:.1} {:.1} {y2:.1} {x2:.1} {y2:.1}m-{long} -{half}l{long} {half}l-{long} {half}\" \
                 fill=\"none\" stroke=\"{color}\" stroke-width=\"{ARROW}\"/>",
                x1 + bend,
                x2 - bend,
            )
        }
        DrawingShape::Text {
            at: (x, y),
            anchor,
            size,
            color,
            text: content,
        } => {
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let (y, content) = (y + baseline(*size), escaped(content));
            writeln!(
                text,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" fill=\"{color}\"{anchor}>{content}</text>"
            )
        }
        DrawingShape::BeginClip((x, y), (width, height)) => {
            *clips += 1;
            writeln!(
                text,
                "<clipPath id=\"c{clips}\"><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/></clipPath>\
                 <g clip-path=\"url(#c{clips})\">"
            )
        }
        DrawingShape::EndClip => writeln!(text, "</g>"),
    };
}

fn end_with_title(text: &mut String, title: &str, tag: &str) -> std::fmt::Result {
    if title.is_empty() {
        writeln!(text, "/>")
    } else {
        writeln!(text, "><title>{}</title></{tag}>", escaped(title))
    }
}
