//! Paints drawings with egui.

mod zoom;

use crate::prelude::*;
use egui::Mesh;
use egui::epaint::{CircleShape, CubicBezierShape};

pub use self::zoom::zoomed_ui;
use crate::theme::{self, Theme};
use crate::times;
use view::charts::ChartFrame;
use view::drawing::{
    Anchor, DASH, Drawing, DrawingPoint, DrawingShape, EDGE, HALO, Ink, MarkerKind, OPACITY,
    corners, tip,
};

/// The frame of a chart of this size.
pub fn frame(size: Vec2) -> ChartFrame {
    ChartFrame {
        width: size.x,
        height: size.y,
        font: theme::small_font().size,
        times: times::format(),
        has_titles: false,
    }
}

/// A chart of this size that reacts to the pointer, and the number of what is below it.
pub fn chart_ui(
    ui: &mut Ui,
    (size, sense): (Vec2, Sense),
    label: &str,
    draw: impl FnOnce(&ChartFrame) -> Drawing,
) -> (Response, Option<usize>) {
    let (rect, response) = ui.allocate_exact_size(size, sense);
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, label));
    let drawing = draw(&frame(rect.size()));
    paint(&ui.painter_at(rect), rect.min, &drawing, theme::current(ui));
    let number = number_at(&drawing, &response);
    (response, number)
}

/// The number of what is below the pointer.
pub fn number_at(drawing: &Drawing, response: &Response) -> Option<usize> {
    let pos = response.hover_pos()? - response.rect.min;
    drawing.number_at((pos.x, pos.y))
}

/// Where the pointer is, as a share of the width.
pub fn hovered_share(response: &Response) -> Option<f32> {
    let x = response.hover_pos()?.x - response.rect.left();
    Some((x / response.rect.width().max(1.0)).clamp(0.0, 1.0))
}

pub fn color_of(theme: &Theme, ink: Ink) -> Color32 {
    let color = theme.role(ink.role);
    match ink.ground {
        _ if ink.share >= 1.0 => color,
        Some(ground) => theme.role(ground).lerp_to_gamma(color, ink.share),
        None => color.gamma_multiply(ink.share),
    }
}

/// Paints shapes with the upper left corner of the drawing at `origin`.
pub fn paint(painter: &Painter, origin: Pos2, drawing: &Drawing, theme: &Theme) {
    let mut canvas = DrawingCanvas {
        painter: painter.clone(),
        origin,
        theme,
    };
    for shape in &drawing.shapes {
        match shape {
            DrawingShape::BeginClip(corner, size) => {
                let clip = painter.clip_rect().intersect(canvas.area(*corner, *size));
                canvas.painter.set_clip_rect(clip);
            }
            DrawingShape::EndClip => canvas.painter.set_clip_rect(painter.clip_rect()),
            shape => canvas.shape(shape),
        }
    }
}

struct DrawingCanvas<'a> {
    painter: Painter,
    origin: Pos2,
    theme: &'a Theme,
}

impl DrawingCanvas<'_> {
    fn at(&self, (x, y): DrawingPoint) -> Pos2 {
        self.origin + vec2(x, y)
    }

    fn area(&self, corner: DrawingPoint, (width, height): (f32, f32)) -> Rect {
        Rect::from_min_size(self.at(corner), vec2(width, height))
    }

    fn color(&self, ink: Ink) -> Color32 {
        color_of(self.theme, ink)
    }

    fn shape(&self, shape: &DrawingShape) {
        match shape {
            DrawingShape::Rect {
                at: corner,
                size,
                fill,
                ..
            } => {
                let area = self.area(*corner, *size);
                self.painter.rect_filled(area, 0.0, self.color(*fill));
            }
            DrawingShape::Bars { bars, fill } => {
                let mut mesh = Mesh::default();
                for (corner, size) in bars {
                    mesh.add_colored_rect(self.area(*corner, *size), self.color(*fill));
                }
                self.painter.add(Shape::mesh(mesh));
            }
            DrawingShape::Line {
                from,
                to,
                color,
                width,
                is_dashed,
            } => {
                let stroke = Stroke::new(*width, self.color(*color));
                let ends = [self.at(*from), self.at(*to)];
                if *is_dashed {
                    let dashes = Shape::dashed_line(&ends, stroke, DASH.0, DASH.1);
                    self.painter.extend(dashes);
                } else {
                    self.painter.line_segment(ends, stroke);
                }
            }
            DrawingShape::Marker {
                kind, at, r, fill, ..
            } => self.marker(*kind, *at, *r, *fill),
            DrawingShape::Arrow {
                curve,
                color,
                width,
            } => {
                let stroke = Stroke::new(*width, self.color(*color));
                let (points, clear) = (curve.map(|point| self.at(point)), Color32::TRANSPARENT);
                let line = CubicBezierShape::from_points_stroke(points, false, clear, stroke);
                self.painter.add(line);
                let tip = tip(*curve).map(|point| self.at(point)).to_vec();
                self.painter.add(Shape::line(tip, stroke));
            }
            DrawingShape::Text {
                at,
                anchor,
                size,
                color,
                text,
                has_halo,
            } => {
                let align = match anchor {
                    Anchor::Start => Align2::LEFT_CENTER,
                    Anchor::Middle => Align2::CENTER_CENTER,
                    Anchor::End => Align2::RIGHT_CENTER,
                };
                let (font, color) = (FontId::proportional(*size), self.color(*color));
                let galley = self.painter.layout_no_wrap(text.clone(), font, color);
                let area_of_text = align.anchor_size(self.at(*at), galley.size());
                if *has_halo {
                    let ground = self.theme.canvas.gamma_multiply(0.8);
                    let area = area_of_text.expand2(vec2(HALO, -HALO));
                    self.painter.rect_filled(area, 2.0, ground);
                }
                self.painter.galley(area_of_text.min, galley, color);
            }
            // These change the painter.
            DrawingShape::BeginClip(..) | DrawingShape::EndClip => {}
        }
    }

    fn marker(&self, kind: MarkerKind, pos: DrawingPoint, radius: f32, fill: Ink) {
        let fill = self.color(fill).gamma_multiply(OPACITY);
        let stroke = Stroke::new(EDGE, self.theme.canvas);
        let corners = corners(kind, pos, radius);
        let center = self.at(pos);
        self.painter.add(if corners.is_empty() {
            Shape::Circle(CircleShape {
                center,
                radius,
                fill,
                stroke,
            })
        } else {
            let corners = corners.into_iter().map(|pos| self.at(pos)).collect();
            Shape::convex_polygon(corners, fill, stroke)
        });
    }
}
