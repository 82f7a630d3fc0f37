//! Small drawings for buttons, drawn as lines so that they are sharp at every scale.

use std::f32::consts::TAU;

use egui::{
    Button, Color32, Painter, Pos2, Rect, Response, Role, Shape, Stroke, StrokeKind, Ui,
    WidgetInfo, pos2, vec2,
};

use view::state::MouseMode;
use view::state::tabs::{COMPARE, FOUND, HLO, MORE, QUERY, SOURCE};

/// Draws in a square whose sides are 0 to 1.
struct Pen<'a> {
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

    fn line(&self, points: &[(f32, f32)]) {
        let points = points.iter().map(|&point| self.at(point)).collect();
        self.painter.add(Shape::line(points, self.stroke));
    }

    fn frame(&self, from: (f32, f32), to: (f32, f32)) {
        let rect = Rect::from_min_max(self.at(from), self.at(to));
        self.painter
            .rect_stroke(rect, 1.5, self.stroke, StrokeKind::Middle);
    }

    fn bar(&self, from: (f32, f32), to: (f32, f32)) {
        self.painter.rect_filled(
            Rect::from_min_max(self.at(from), self.at(to)),
            1.0,
            self.stroke.color,
        );
    }

    fn ring(&self, center: (f32, f32), radius: f32) {
        self.painter
            .circle_stroke(self.at(center), radius * self.rect.width(), self.stroke);
    }

    fn dot(&self, center: (f32, f32), radius: f32) {
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

/// The icon of a tab of reports; a ring for tabs without one of their own.
pub fn tab(painter: &Painter, center: Pos2, size: f32, color: Color32, id: &str) {
    let pen = pen(painter, center, size, color);
    match id {
        "overview" => {
            pen.frame((0.05, 0.05), (0.42, 0.6));
            pen.frame((0.05, 0.75), (0.42, 0.95));
            pen.frame((0.58, 0.05), (0.95, 0.25));
            pen.frame((0.58, 0.4), (0.95, 0.95));
        }
        "hints" => {
            pen.ring((0.5, 0.36), 0.31);
            pen.line(&[(0.36, 0.78), (0.64, 0.78)]);
            pen.line(&[(0.41, 0.94), (0.59, 0.94)]);
        }
        "ops" => {
            pen.bar((0.05, 0.1), (0.95, 0.26));
            pen.bar((0.05, 0.42), (0.7, 0.58));
            pen.bar((0.05, 0.74), (0.4, 0.9));
        }
        "roofline" => {
            pen.line(&[(0.05, 0.05), (0.05, 0.95), (0.95, 0.95)]);
            pen.line(&[(0.14, 0.78), (0.52, 0.25), (0.95, 0.25)]);
            pen.dot((0.68, 0.55), 0.07);
        }
        HLO => {
            for (from, to) in [
                ((0.3, 0.0), (0.7, 0.28)),
                ((0.0, 0.72), (0.36, 1.0)),
                ((0.64, 0.72), (1.0, 1.0)),
            ] {
                pen.frame(from, to);
            }
            pen.line(&[(0.5, 0.28), (0.18, 0.72)]);
            pen.line(&[(0.5, 0.28), (0.82, 0.72)]);
        }
        "collectives" => {
            pen.line(&[(0.5, 0.18), (0.16, 0.8), (0.84, 0.8), (0.5, 0.18)]);
            for at in [(0.5, 0.18), (0.16, 0.8), (0.84, 0.8)] {
                pen.dot(at, 0.14);
            }
        }
        "steps" => {
            for (x, top) in [(0.06, 0.5), (0.31, 0.25), (0.56, 0.4), (0.81, 0.1)] {
                pen.bar((x, top), (x + 0.15, 0.95));
            }
        }
        "compile" => {
            pen.line(&[(0.3, 0.22), (0.04, 0.5), (0.3, 0.78)]);
            pen.line(&[(0.7, 0.22), (0.96, 0.5), (0.7, 0.78)]);
            pen.line(&[(0.58, 0.14), (0.42, 0.86)]);
        }
        "memory" => {
            pen.frame((0.2, 0.12), (0.8, 0.88));
            for y in [0.28, 0.5, 0.72] {
                pen.line(&[(0.02, y), (0.2, y)]);
                pen.line(&[(0.8, y), (0.98, y)]);
            }
        }
        "kernels" => {
            let corner = |i: u8| {
                let angle = (f32::from(i) + 0.5) / 6.0 * TAU;
                (0.5 + 0.47 * angle.cos(), 0.5 + 0.47 * angle.sin())
            };
            pen.line(&(0..=6).map(corner).collect::<Vec<_>>());
            pen.dot((0.5, 0.5), 0.14);
        }
        "serving" => {
            pen.bar((0.0, 0.1), (0.6, 0.26));
            pen.bar((0.2, 0.42), (0.8, 0.58));
            pen.bar((0.4, 0.74), (1.0, 0.9));
        }
        "host" => {
            pen.frame((0.05, 0.1), (0.95, 0.7));
            pen.line(&[(0.5, 0.7), (0.5, 0.92)]);
            pen.line(&[(0.28, 0.92), (0.72, 0.92)]);
        }
        "health" => pen.line(&[
            (0.0, 0.55),
            (0.28, 0.55),
            (0.42, 0.15),
            (0.6, 0.9),
            (0.72, 0.55),
            (1.0, 0.55),
        ]),
        id => tab_without_reports(&pen, id),
    }
}

/// The icon of a tab that is no report.
fn tab_without_reports(pen: &Pen<'_>, id: &str) {
    match id {
        COMPARE => {
            pen.frame((0.05, 0.05), (0.65, 0.65));
            pen.frame((0.35, 0.35), (0.95, 0.95));
        }
        QUERY => {
            pen.line(&[(0.08, 0.2), (0.38, 0.45), (0.08, 0.7)]);
            pen.line(&[(0.45, 0.85), (0.95, 0.85)]);
        }
        SOURCE => {
            for (left, right, y) in [
                (0.05, 0.7, 0.15),
                (0.25, 0.95, 0.38),
                (0.25, 0.75, 0.61),
                (0.05, 0.55, 0.84),
            ] {
                pen.line(&[(left, y), (right, y)]);
            }
        }
        FOUND => search(pen),
        MORE => [0.15, 0.5, 0.85]
            .into_iter()
            .for_each(|x| pen.dot((x, 0.5), 0.1)),
        _ => {
            pen.ring((0.5, 0.5), 0.42);
            pen.dot((0.5, 0.5), 0.12);
        }
    }
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
            search(&pen);
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

fn search(pen: &Pen<'_>) {
    pen.ring((0.4, 0.4), 0.34);
    pen.line(&[(0.66, 0.66), (0.96, 0.96)]);
}
