//! A drawing as PNG, rasterized with the renderer and the font that draw the text of
//! the window, so that neither a display nor an installed font is needed.

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder as _};
use skrifa::instance::{LocationRef, Size};
use skrifa::outline::{DrawSettings, OutlinePen};
use skrifa::{FontRef, MetadataProvider as _};
use vello_cpu::kurbo::{BezPath, Circle, Point, Rect, Shape as _, Stroke};
use vello_cpu::peniko::Color;
use vello_cpu::{Pixmap, RenderContext, Resources};

use session::files::PNG_SOFTWARE;
use view::drawing::{
    Anchor, ColorRole, DASH, Drawing, DrawingPoint, DrawingShape, EDGE, HALO, Ink, OPACITY,
    baseline, corners, tip,
};
use view::palette::{Palette, Rgb};

/// Pixels of the largest picture: four bytes each, and as much again while it is drawn.
const MAX_POINTS: f32 = 64e6;
/// Largest deviation of a drawn circle from a true one, in pixels.
const TOLERANCE: f64 = 0.05;

/// The whole file, with `scale` pixels for each pixel of the drawing. The error is a sentence.
pub fn png(drawing: &Drawing, palette: &Palette<Rgb>, scale: f32) -> Result<Vec<u8>, String> {
    let (width, height) = (
        (drawing.size.0 * scale).round().max(1.0),
        (drawing.size.1 * scale).round().max(1.0),
    );
    let side = f32::from(u16::MAX);
    if width * height > MAX_POINTS || width > side || height > side {
        return Err(format!(
            "{width}x{height} points are too many for a PNG: ask for less, or for SVG"
        ));
    }
    let (width, height) = (width as u16, height as u16);
    let mut canvas = Canvas::new(width, height, scale, palette)?;
    canvas.fill(
        &Rect::new(0.0, 0.0, drawing.size.0.into(), drawing.size.1.into()).to_path(TOLERANCE),
        drawing.ground.into(),
        1.0,
    );
    for shape in &drawing.shapes {
        canvas.draw(shape);
    }
    let pixels = canvas.finish(width, height);
    let mut file = Vec::new();
    let encoder =
        PngEncoder::new_with_quality(&mut file, CompressionType::Default, FilterType::Adaptive);
    let written = encoder.write_image(
        &pixels,
        width.into(),
        height.into(),
        ExtendedColorType::Rgb8,
    );
    written.map_err(|error| format!("cannot make a PNG: {error}"))?;
    Ok(signed(&file))
}

/// The file with a chunk that names this program, behind the header.
fn signed(file: &[u8]) -> Vec<u8> {
    /// Signature, and the header with its length, name and checksum.
    const HEADER: usize = 8 + 12 + 13;
    let (header, rest) = file.split_at(file.len().min(HEADER));
    let chunk = [b"tEXt", PNG_SOFTWARE.as_bytes()].concat();
    let mut crc = flate2::Crc::new();
    crc.update(&chunk);
    let length = PNG_SOFTWARE.len() as u32;
    [
        header,
        &length.to_be_bytes(),
        &chunk,
        &crc.sum().to_be_bytes(),
        rest,
    ]
    .concat()
}

struct Canvas<'a> {
    context: RenderContext,
    palette: &'a Palette<Rgb>,
    scale: f64,
    font: FontRef<'a>,
    clips: usize,
}

impl<'a> Canvas<'a> {
    fn new(width: u16, height: u16, scale: f32, palette: &'a Palette<Rgb>) -> Result<Self, String> {
        let font = FontRef::new(epaint_default_fonts::UBUNTU_LIGHT)
            .map_err(|error| format!("no font: {error}"))?;
        Ok(Self {
            context: RenderContext::new(width, height),
            palette,
            scale: scale.into(),
            font,
            clips: 0,
        })
    }

    /// Opaque pixels, red green blue.
    fn finish(mut self, width: u16, height: u16) -> Vec<u8> {
        for _ in 0..self.clips {
            self.context.pop_clip_path();
        }
        let mut target = Pixmap::new(width, height);
        self.context.flush();
        self.context.render(&mut target, &mut Resources::new());
        target
            .data()
            .iter()
            .flat_map(|pixel| [pixel.r, pixel.g, pixel.b])
            .collect()
    }

    fn paint(&mut self, ink: Ink, opacity: f32) {
        let (Rgb([r, g, b]), ink_opacity) = ink.of(self.palette);
        self.context
            .set_paint(Color::from_rgba8(r, g, b, 255).with_alpha(opacity * ink_opacity));
    }

    fn fill(&mut self, path: &BezPath, ink: Ink, opacity: f32) {
        self.paint(ink, opacity);
        self.context
            .fill_path(&(vello_cpu::kurbo::Affine::scale(self.scale) * path.clone()));
    }

    fn stroke(&mut self, path: &BezPath, ink: Ink, width: f32, is_dashed: bool) {
        self.paint(ink, 1.0);
        let stroke = Stroke::new(f64::from(width) * self.scale);
        let dashes = [DASH.0, DASH.1].map(|length| f64::from(length) * self.scale);
        self.context.set_stroke(if is_dashed {
            stroke.with_dashes(0.0, dashes)
        } else {
            stroke
        });
        self.context
            .stroke_path(&(vello_cpu::kurbo::Affine::scale(self.scale) * path.clone()));
    }

    fn draw(&mut self, shape: &DrawingShape) {
        match shape {
            DrawingShape::Rect {
                at: position,
                size,
                fill,
                ..
            } => self.rect(*position, *size, *fill),
            DrawingShape::Bars { bars, fill } => bars
                .iter()
                .for_each(|(position, size)| self.rect(*position, *size, *fill)),
            DrawingShape::Line {
                from,
                to,
                color,
                width,
                is_dashed,
            } => self.stroke(&polyline(&[*from, *to]), *color, *width, *is_dashed),
            DrawingShape::Marker {
                kind,
                at: position,
                r,
                fill,
                ..
            } => {
                let mut path = polyline(&corners(*kind, *position, *r));
                if path.is_empty() {
                    path = Circle::new(point(*position), f64::from(*r)).to_path(TOLERANCE);
                } else {
                    path.close_path();
                }
                self.fill(&path, *fill, OPACITY);
                self.stroke(&path, ColorRole::Canvas.into(), EDGE, false);
            }
            DrawingShape::Arrow {
                curve,
                color,
                width,
            } => {
                let mut path = polyline(&curve[..1]);
                let [_, first, second, end] = curve.map(point);
                path.curve_to(first, second, end);
                path.extend(polyline(&tip(*curve)));
                self.stroke(&path, *color, *width, false);
            }
            DrawingShape::Text {
                at: position,
                anchor,
                size,
                color,
                text,
                has_halo,
            } => {
                let letters = self.letters(*position, *anchor, *size, text);
                if *has_halo {
                    self.stroke(&letters, ColorRole::Canvas.into(), 2.0 * HALO, false);
                }
                self.fill(&letters, *color, 1.0);
            }
            DrawingShape::BeginClip(position, size) => {
                self.context
                    .push_clip_path(&rect(*position, *size, self.scale).to_path(TOLERANCE));
                self.clips += 1;
            }
            DrawingShape::EndClip if self.clips > 0 => {
                self.context.pop_clip_path();
                self.clips -= 1;
            }
            DrawingShape::EndClip => {}
        }
    }

    /// Draws a rectangle without a path, because most shapes are rectangles.
    fn rect(&mut self, corner: (f32, f32), size: (f32, f32), ink: Ink) {
        self.paint(ink, 1.0);
        self.context.fill_rect(&rect(corner, size, self.scale));
    }

    /// The outlines of a text.
    fn letters(&self, (x, y): DrawingPoint, anchor: Anchor, size: f32, text: &str) -> BezPath {
        let font = self.font.clone();
        let (letters, outlines) = (font.charmap(), font.outline_glyphs());
        let (location, size) = (LocationRef::default(), Size::new(size));
        let metrics = font.glyph_metrics(size, location);
        // Characters that the font lacks are left blank: a placeholder box would not help.
        let glyphs = || text.chars().map(|letter| letters.map(letter));
        let advance = |glyph| metrics.advance_width(glyph).unwrap_or_default();
        let blank = size.ppem().unwrap_or(1.0) * 0.5;
        let width: f32 = glyphs().map(|glyph| glyph.map_or(blank, advance)).sum();
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        let mut pen = PixelPen {
            path: BezPath::new(),
            x: left,
            y: y + baseline(size.ppem().unwrap_or(1.0)),
        };
        for glyph in glyphs() {
            if let Some(outline) = glyph.and_then(|glyph| outlines.get(glyph)) {
                // A glyph that cannot be drawn leaves its place empty.
                let _ = outline.draw(DrawSettings::unhinted(size, location), &mut pen);
            }
            pen.x += glyph.map_or(blank, advance);
        }
        pen.path
    }
}

fn polyline(points: &[DrawingPoint]) -> BezPath {
    let mut path = BezPath::new();
    for (index, to) in points.iter().enumerate() {
        match index {
            0 => path.move_to(point(*to)),
            _ => path.line_to(point(*to)),
        }
    }
    path
}

fn point((x, y): (f32, f32)) -> Point {
    Point::new(x.into(), y.into())
}

fn rect((x, y): (f32, f32), (width, height): (f32, f32), scale: f64) -> Rect {
    let corner = |x: f32, y: f32| Point::new(f64::from(x) * scale, f64::from(y) * scale);
    Rect::from_points(corner(x, y), corner(x + width, y + height))
}

/// Outlines of letters, whose y axis points upwards, as a path of the picture.
struct PixelPen {
    path: BezPath,
    x: f32,
    y: f32,
}

impl PixelPen {
    fn at(&self, x: f32, y: f32) -> Point {
        point((self.x + x, self.y - y))
    }
}

impl OutlinePen for PixelPen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.at(x, y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.at(x, y));
    }

    fn quad_to(&mut self, cx0: f32, cy0: f32, x: f32, y: f32) {
        self.path.quad_to(self.at(cx0, cy0), self.at(x, y));
    }

    fn curve_to(&mut self, cx0: f32, cy0: f32, cx1: f32, cy1: f32, x: f32, y: f32) {
        self.path
            .curve_to(self.at(cx0, cy0), self.at(cx1, cy1), self.at(x, y));
    }

    fn close(&mut self) {
        self.path.close_path();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn palette() -> &'static Palette<Rgb> {
        Palette::of(false, view::palette::Preset::default())
    }

    fn pixels(drawing: &Drawing, scale: f32) -> image::RgbImage {
        let file = png(drawing, palette(), scale).unwrap();
        image::load_from_memory(&file).unwrap().to_rgb8()
    }

    #[test]
    fn rectangles_are_placed_and_clipped() {
        let mut drawing = Drawing::new(20.0, 10.0, ColorRole::Canvas);
        drawing.begin_clip(0.0, 0.0, 10.0, 10.0);
        drawing.rect(5.0, 2.0, 20.0, 4.0, ColorRole::Accent, "");
        drawing.end_clip();
        drawing.rect(15.0, 8.0, 5.0, 2.0, ColorRole::Warning, "");
        let picture = pixels(&drawing, 2.0);
        assert_eq!(picture.dimensions(), (40, 20));
        let at = |x, y| Rgb(picture.get_pixel(x, y).0);
        let Palette {
            canvas,
            accent,
            warning,
            ..
        } = *palette();
        assert_eq!((at(11, 5), at(19, 11)), (accent, accent));
        assert_eq!(
            (at(21, 5), at(9, 5), at(11, 13)),
            (canvas, canvas, canvas),
            "cut, beside and below"
        );
        assert_eq!(at(39, 19), warning, "what follows is not cut");
    }

    #[test]
    fn text_is_drawn_at_its_anchor() {
        let mut drawing = Drawing::new(100.0, 20.0, ColorRole::Canvas);
        drawing.text(
            98.0,
            10.0,
            Anchor::End,
            14.0,
            ColorRole::Selection,
            "mm µs …",
        );
        let picture = pixels(&drawing, 1.0);
        let dark = |columns: std::ops::Range<u32>| {
            columns
                .flat_map(|x| (0..20).map(move |y| (x, y)))
                .filter(|&(x, y)| picture.get_pixel(x, y).0[0] < 128)
                .count()
        };
        assert!(dark(50..98) > 40, "{} points of letters", dark(50..98));
        assert_eq!((dark(0..30), dark(98..100)), (0, 0));
    }

    #[test]
    fn rejects_input_that_is_too_large() {
        let drawing = Drawing::new(20_000.0, 20_000.0, ColorRole::Canvas);
        assert!(
            png(&drawing, palette(), 1.0)
                .unwrap_err()
                .contains("20000x20000")
        );
    }
}
