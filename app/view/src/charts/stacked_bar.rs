//! The parts of a time as one horizontal bar.

use crate::prelude::*;
use analysis::facts::TimeUse;
use analysis::reports::StepPart;

use super::{Chart, ChartFrame, ChartSwatch};
use crate::drawing::{ColorRole, Drawing, DrawingPoint};

/// Lower bars have no names in them.
const NAMED: f32 = 20.0;

pub struct StackedBar {
    /// Colour, name and length of each part, in picoseconds.
    pub parts: Vec<(ColorRole, &'static str, i64)>,
    pub whole_ps: i64,
}

/// The colour of a part of a step.
pub fn role_of(part: StepPart) -> ColorRole {
    ColorRole::group(part.group())
}

/// The colour of a use of time: that of its ops, or of idle time.
pub fn role_of_use(id: TimeUse) -> ColorRole {
    let mut groups = OpGroup::ALL.into_iter();
    let group_of_use = groups.find(|&group| TimeUse::from(group) == id);
    ColorRole::group(group_of_use.unwrap_or(OpGroup::Idle))
}

/// A line around idle time, which has nearly the colour of the ground.
pub(super) fn outline(
    drawing: &mut Drawing,
    role: ColorRole,
    (x, y): DrawingPoint,
    (width, height): (f32, f32),
) {
    if role != ColorRole::group(OpGroup::Idle) || width < 3.0 || height < 2.0 {
        return;
    }
    let ([left, right], [top, bottom]) = ([x + 0.5, x + width - 0.5], [y + 0.5, y + height - 0.5]);
    let corners = [
        (left, top),
        (right, top),
        (right, bottom),
        (left, bottom),
        (left, top),
    ];
    for ends in corners.windows(2) {
        drawing.line(ends[0], ends[1], ColorRole::TextWeak, 1.0);
    }
}

impl StackedBar {
    pub fn of_step(parts: &[(StepPart, i64)], whole_ps: i64) -> Self {
        let part = |&(part, ps): &(StepPart, i64)| (role_of(part), part.title(), ps);
        Self {
            parts: parts.iter().map(part).collect(),
            whole_ps,
        }
    }

    fn share(&self, ps: i64) -> f64 {
        (ps as f64 / self.whole_ps.max(1) as f64).clamp(0.0, 1.0)
    }

    fn text(&self, (_, name, ps): (ColorRole, &'static str, i64), frame: &ChartFrame) -> String {
        let share = Percent(100.0 * self.share(ps));
        format!("{name} {share}, {}", frame.time(ps))
    }

    /// The bar in a part of a drawing, which begins at a point and is as large as `frame`.
    pub(super) fn draw_at(&self, drawing: &mut Drawing, (x, y): DrawingPoint, frame: &ChartFrame) {
        let (height, idle) = (frame.height, ColorRole::group(OpGroup::Idle));
        drawing.rect(x, y, frame.width, height, idle, "");
        let mut used = 0.0;
        for &part in &self.parts {
            let (role, name, ps) = part;
            let share = self.share(ps);
            let width = (frame.width * share as f32).min(frame.width - used);
            let (left, title) = (x + used, frame.titled(|| self.text(part, frame)));
            drawing.rect(left, y, width, height, role, &title);
            outline(drawing, role, (left, y), (width, height));
            if height >= NAMED {
                let text = format!("{name} {:.1}", Percent(100.0 * share));
                let color = match role {
                    ColorRole::Slice(key) => ColorRole::OnSlice(key),
                    _ => ColorRole::Canvas,
                };
                let (middle, room) = (y + height / 2.0, width - 10.0);
                drawing.fitted(left + 6.0, middle, room, frame.font, color, &text);
            }
            used += width;
        }
    }
}

impl Chart for StackedBar {
    fn legend(&self, frame: &ChartFrame) -> Vec<ChartSwatch> {
        let swatch = |&part: &(ColorRole, _, _)| ChartSwatch::new(part.0, self.text(part, frame));
        self.parts.iter().map(swatch).collect()
    }

    fn draw(&self, frame: &ChartFrame) -> Drawing {
        let mut drawing = Drawing::new(frame.width, frame.height, ColorRole::Panel);
        self.draw_at(&mut drawing, (0.0, 0.0), frame);
        drawing
    }
}
