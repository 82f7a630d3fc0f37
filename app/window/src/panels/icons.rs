//! Small drawings for buttons, drawn as lines so that they are sharp at every scale.

use crate::prelude::*;

use view::state::MouseMode;

/// Draws in a square whose sides are 0 to 1.
pub struct Pen<'a> {
    painter: &'a Painter,
    rect: Rect,
    stroke: Stroke,
}

impl Pen<'_> {
    fn at(&self, (x, y): (f32, f32)) -> Pos2 {
        pos2(
            self.rect.left() + x * self.rect.width(),
            self.rect.top() + y * self.rect.height(),
        )
    }

    pub fn line(&self, points: &[(f32, f32)]) {
        let points = points.iter().map(|&point| self.at(point)).collect();
        self.painter.add(Shape::line(points, self.stroke));
    }

    pub fn frame(&self, from: (f32, f32), to: (f32, f32)) {
        let rect = Rect::from_min_max(self.at(from), self.at(to));
        self.painter
            .rect_stroke(rect, 1.5, self.stroke, StrokeKind::Middle);
    }

    pub fn bar(&self, from: (f32, f32), to: (f32, f32)) {
        self.painter.rect_filled(
            Rect::from_min_max(self.at(from), self.at(to)),
            1.0,
            self.stroke.color,
        );
    }

    pub fn ring(&self, center: (f32, f32), radius: f32) {
        self.painter
            .circle_stroke(self.at(center), radius * self.rect.width(), self.stroke);
    }

    pub fn dot(&self, center: (f32, f32), radius: f32) {
        self.painter.circle_filled(
            self.at(center),
            radius * self.rect.width(),
            self.stroke.color,
        );
    }
}

fn pen(painter: &Painter, center: Pos2, size: f32, color: Color32) -> Pen<'_> {
    Pen {
        painter,
        rect: Rect::from_center_size(center, vec2(size, size)),
        stroke: Stroke::new(1.4, color),
    }
}

/// The icon of a tab of reports.
pub fn tab(painter: &Painter, center: Pos2, size: f32, color: Color32, draw: fn(&Pen<'_>)) {
    draw(&pen(painter, center, size, color));
}

/// The icon of a drag mode.
pub fn mouse_mode(painter: &Painter, center: Pos2, size: f32, color: Color32, mode: MouseMode) {
    let pen = pen(painter, center, size, color);
    match mode {
        MouseMode::Select => {
            for [from, to] in [[0.05, 0.3], [0.7, 0.95]] {
                for edge in [0.05, 0.95] {
                    pen.line(&[(from, edge), (to, edge)]);
                    pen.line(&[(edge, from), (edge, to)]);
                }
            }
            pen.dot((0.5, 0.5), 0.1);
        }
        MouseMode::Pan => {
            pen.line(&[(0.0, 0.5), (1.0, 0.5)]);
            pen.line(&[(0.5, 0.0), (0.5, 1.0)]);
            pen.line(&[(0.18, 0.32), (0.0, 0.5), (0.18, 0.68)]);
            pen.line(&[(0.82, 0.32), (1.0, 0.5), (0.82, 0.68)]);
        }
        MouseMode::Zoom => {
            magnifier(&pen);
            pen.line(&[(0.24, 0.4), (0.56, 0.4)]);
            pen.line(&[(0.4, 0.24), (0.4, 0.56)]);
        }
        MouseMode::Time => {
            pen.line(&[(0.05, 0.1), (0.05, 0.9)]);
            pen.line(&[(0.95, 0.1), (0.95, 0.9)]);
            pen.line(&[(0.18, 0.5), (0.82, 0.5)]);
            pen.line(&[(0.34, 0.34), (0.18, 0.5), (0.34, 0.66)]);
            pen.line(&[(0.66, 0.34), (0.82, 0.5), (0.66, 0.66)]);
        }
    }
}

/// An arrow to the left or right.
pub fn arrow(painter: &Painter, center: Pos2, size: f32, color: Color32, forth: bool) {
    let pen = pen(painter, center, size, color);
    let x = |x: f32| if forth { 1.0 - x } else { x };
    pen.line(&[(x(0.95), 0.5), (x(0.05), 0.5)]);
    pen.line(&[(x(0.4), 0.15), (x(0.05), 0.5), (x(0.4), 0.85)]);
}

/// A square button with a drawing: its label, whether it can be pressed, whether it is on.
pub fn button(
    ui: &mut Ui,
    (label, enabled, is_on): (&str, bool, bool),
    draw: impl FnOnce(&Painter, Pos2, Color32),
) -> Response {
    let button = Button::selectable(is_on, "").min_size(vec2(26.0, 0.0));
    let response = ui.add_enabled(enabled, button);
    response.widget_info(|| WidgetInfo::selected(Role::Button, enabled, is_on, label));
    let visuals = ui.style().interact_selectable(&response, is_on);
    let color = if enabled {
        visuals.text_color()
    } else {
        ui.visuals().weak_text_color().gamma_multiply(0.5)
    };
    draw(ui.painter(), response.rect.center(), color);
    response
}

pub fn magnifier(pen: &Pen<'_>) {
    pen.ring((0.4, 0.4), 0.34);
    pen.line(&[(0.66, 0.66), (0.96, 0.96)]);
}
