//! Small drawings for buttons, drawn as lines so that they are sharp at every scale.
//!
//! An icon is a text: shapes in a square whose sides are 0 to 1, with the numbers of each. A `line` goes through points, a
//! `frame` or `bar` has two corners, a `ring` or `dot` a center and a radius: `frame 0.1 0.1 0.9 0.5; dot 0.5 0.7 0.1`.

use crate::prelude::*;

use view::state::MouseMode;

/// Draws an icon.
pub fn draw(painter: &Painter, center: Pos2, size: f32, color: Color32, icon: &str) {
    let square = Rect::from_center_size(center, vec2(size, size));
    let stroke = Stroke::new(1.4, color);
    for shape in icon.split("; ") {
        let (kind, numbers) = shape.split_once(' ').unwrap_or_default();
        let numbers: Vec<f32> = numbers.split(' ').flat_map(str::parse).collect();
        let (points, rest) = numbers.as_chunks();
        let points = points
            .iter()
            .map(|&[x, y]| square.min + square.size() * vec2(x, y));
        let points: Vec<Pos2> = points.collect();
        let radius = square.width() * rest.first().copied().unwrap_or_default();
        match (kind, &points[..]) {
            ("frame", &[from, to]) => {
                let rect = Rect::from_min_max(from, to);
                painter.rect_stroke(rect, 1.5, stroke, StrokeKind::Middle)
            }
            ("bar", &[from, to]) => painter.rect_filled(Rect::from_min_max(from, to), 1.0, color),
            ("ring", &[center]) => painter.circle_stroke(center, radius, stroke),
            ("dot", &[center]) => painter.circle_filled(center, radius, color),
            ("line", _) => painter.add(Shape::line(points, stroke)),
            _ => continue,
        };
    }
}

/// The icon of a drag mode.
pub fn mouse_mode(mode: MouseMode) -> &'static str {
    match mode {
        MouseMode::Select => {
            "line 0.05 0.05 0.3 0.05; line 0.05 0.05 0.05 0.3; line 0.05 0.95 0.3 0.95; line 0.95 0.05 0.95 0.3; \
             line 0.7 0.05 0.95 0.05; line 0.05 0.7 0.05 0.95; line 0.7 0.95 0.95 0.95; line 0.95 0.7 0.95 0.95; \
             dot 0.5 0.5 0.1"
        }
        MouseMode::Pan => {
            "line 0 0.5 1 0.5; line 0.5 0 0.5 1; line 0.18 0.32 0 0.5 0.18 0.68; line 0.82 0.32 1 0.5 0.82 0.68"
        }
        MouseMode::Zoom => {
            "ring 0.4 0.4 0.34; line 0.66 0.66 0.96 0.96; line 0.24 0.4 0.56 0.4; line 0.4 0.24 0.4 0.56"
        }
        MouseMode::Time => {
            "line 0.05 0.1 0.05 0.9; line 0.95 0.1 0.95 0.9; line 0.18 0.5 0.82 0.5; \
             line 0.34 0.34 0.18 0.5 0.34 0.66; line 0.66 0.34 0.82 0.5 0.66 0.66"
        }
    }
}

/// An arrow to the left or right.
pub fn arrow(forth: bool) -> &'static str {
    if forth {
        "line 0.05 0.5 0.95 0.5; line 0.6 0.15 0.95 0.5 0.6 0.85"
    } else {
        "line 0.95 0.5 0.05 0.5; line 0.4 0.15 0.05 0.5 0.4 0.85"
    }
}

/// A square button with an icon of some size: its label, whether it can be pressed, whether it is on.
pub fn button(
    ui: &mut Ui,
    (label, enabled, is_on): (&str, bool, bool),
    size: f32,
    icon: &str,
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
    draw(ui.painter(), response.rect.center(), size, color, icon);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels::tabs::TABS;

    #[test]
    fn icons_consist_of_known_shapes_inside_their_square() {
        let modes = [
            MouseMode::Select,
            MouseMode::Pan,
            MouseMode::Zoom,
            MouseMode::Time,
        ];
        let tabs = TABS.iter().map(|tab| tab.icon);
        let icons = tabs
            .chain(modes.map(mouse_mode))
            .chain([true, false].map(arrow));
        for shape in icons.flat_map(|icon| icon.split("; ")) {
            let (kind, numbers) = shape.split_once(' ').unwrap();
            let numbers: Vec<f32> = numbers.split(' ').map(|one| one.parse().unwrap()).collect();
            let is_whole = match kind {
                "line" => numbers.len() >= 4 && numbers.len().is_multiple_of(2),
                "frame" | "bar" => numbers.len() == 4,
                "ring" | "dot" => numbers.len() == 3,
                _ => false,
            };
            let is_inside = numbers.iter().all(|number| (0.0..=1.0).contains(number));
            assert!(is_whole && is_inside, "{shape}");
        }
    }
}
