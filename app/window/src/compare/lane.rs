//! The lane between the two timelines: the change of each step, and headings that name the timelines.

use crate::prelude::*;

use analysis::distinct;

use super::areas::{ComparisonAreas, LANES};
use crate::command::{AppCommands, ComparisonCommand};
use crate::jobs::JobAnswer;
use crate::keys::hint;
use crate::panels::widgets::ResponseExt as _;
use crate::theme::{self, Theme, readable_on, small_font};
use crate::timeline::canvas_x;
use crate::timeline::elide::{elided, elided_name};
use crate::times;
use crate::workspace::Workspace;
use view::compare::{DeltaTone, StepAlignment, TimeDelta, TraceCorrespondence, deltas, tone_of};

/// Shapes wider than this also show the changes of step parts.
const TWO_LINES: f32 = 150.0;

/// The heading of a timeline. A click gives it the focus.
pub fn head_ui(
    ui: &Ui,
    rect: Rect,
    [own, other]: [&Workspace; 2],
    side: TraceSide,
    has_focus: bool,
    compared: Option<&TraceCorrespondence>,
    out: &mut AppCommands,
) {
    let theme = theme::current(ui);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, theme.heading);
    let badge = Rect::from_min_size(rect.min + vec2(6.0, 1.0), vec2(15.0, rect.height() - 2.0));
    let fill = if has_focus { theme.accent } else { theme.edge };
    painter.rect_filled(badge, 3.0, fill);
    let font = FontId::proportional((rect.height() - 2.5).min(12.0));
    painter.text(
        badge.center(),
        Align2::CENTER_CENTER,
        side.name(),
        font.clone(),
        readable_on(fill),
    );
    let color = if has_focus {
        theme.text_strong
    } else {
        theme.text
    };
    let name = distinct(&[&own.trace.name(), &other.trace.name()]).swap_remove(0);
    let mut pos = pos2(badge.right() + 6.0, rect.center().y);
    if let Some(text) = own.trace.model.badge() {
        let warning = ui.visuals().warn_fg_color;
        let room = rect.right() - pos.x;
        pos.x += elided(
            &painter,
            pos,
            Align2::LEFT_CENTER,
            &text,
            room,
            &font,
            warning,
        )
        .x + 8.0;
    }
    let used = elided_name(
        &painter,
        pos,
        &name,
        (rect.right() - pos.x) * 0.62,
        &font,
        color,
    );
    if let Some(compared) = compared {
        let steps = match side {
            TraceSide::A => &compared.comparison.base,
            TraceSide::B => &compared.comparison.cand,
        };
        let text = match steps.steps {
            0 => "no steady steps".to_owned(),
            n => format!("{n} × {}", times::time_ps(steps.middle_ps as i64)),
        };
        let pos = pos + vec2(used.x + 10.0, 0.0);
        elided(
            &painter,
            pos,
            Align2::LEFT_CENTER,
            &text,
            (rect.right() - pos.x).max(0.0),
            &font,
            theme.text_weak,
        );
    }
    let response = ui.interact(
        rect,
        ui.scope_id().with(("head", side.name())),
        Sense::click(),
    );
    let label = || format!("{}: {}", side.name(), own.trace.title());
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, has_focus, label()));
    let about = hint(
        ui.ctx(),
        "Click to direct keys and panels to this trace",
        "swap-focus",
    );
    let steps = compared.map_or(
        "",
        |_| "\nBeside it: the number of steady steps and their mean of the middle half",
    );
    let hint = format!("{}{steps}\n{about}", own.trace.path.display());
    response
        .on_hover_text(hint)
        .on_hover_cursor(CursorIcon::PointingHand)
        .sends(out, ComparisonCommand::Focus(side));
}

/// The lane. A click on a step shows it in both timelines; dragging moves the lane.
pub fn lane_ui(
    ui: &Ui,
    areas: &ComparisonAreas,
    sides: [&Workspace; 2],
    memo: &JobAnswer<TraceCorrespondence>,
    alignment: &StepAlignment,
    out: &mut AppCommands,
) {
    let theme = theme::current(ui);
    let rect = areas.lane;
    let x = canvas_x(rect, sides[0].state.label_width);
    let canvas = Rect::from_x_y_ranges(x, rect.y_range());
    let felt = rect.with_min_x(x.min);
    ui.painter_at(felt).rect_filled(felt, 0.0, theme.labels);
    let painter = ui.painter_at(canvas);
    let response = ui.interact(felt, ui.scope_id().with("deltas"), Sense::click_and_drag());
    response.labeled(Role::Canvas, "Changes of steps");
    if response.dragged()
        && areas.body.is_none()
        && let Some(pointer) = response.interact_pointer_pos()
    {
        let room = areas.whole.height() - rect.height();
        let above = pointer.y - areas.whole.top() - rect.height() / 2.0;
        out.push(ComparisonCommand::Split(above / room.max(1.0)).into());
    }
    if response.hovered() && areas.body.is_none() {
        ui.ctx().set_cursor_icon(CursorIcon::ResizeVertical);
    }
    let compared = memo.latest();
    if alignment.is_empty() {
        let why = match compared {
            Some(compared) => compared
                .why_not
                .as_deref()
                .unwrap_or("the traces have no matching steps"),
            None if memo.is_running() => "comparing …",
            None => "the traces are not compared",
        };
        painter.text(
            canvas.center(),
            Align2::CENTER_CENTER,
            capitalised(why),
            small_font(),
            theme.text_weak,
        );
        return;
    }
    let views = sides.map(Workspace::shown_time);
    let time_deltas = deltas(alignment, [&views[0], &views[1]], canvas.width());
    // Steps of runs that are not comparable, or not compared yet, are shown side by side, without a
    // number.
    // Noise is known for single steps; for several steps the mean is judged.
    let tone_of = |delta: &TimeDelta| {
        let mean = delta.change_ps / delta.steps.1.max(1) as i64;
        let compared = compared.filter(|compared| compared.comparison.is_comparable)?;
        Some(tone_of(mean, Some(&compared.comparison)))
    };
    for delta in &time_deltas {
        let tone = tone_of(delta);
        delta_ui(
            &painter,
            canvas,
            delta,
            tone,
            || parts_of(compared, delta),
            theme,
        );
    }
    selection_ui(&painter, canvas, sides, theme);
    let pointed = response.hover_pos().and_then(|pointer| {
        time_deltas
            .iter()
            .find(|delta| holds(delta, canvas, pointer))
    });
    if let Some(delta) = pointed {
        ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
        response.sends(
            out,
            ComparisonCommand::ShowSteps(delta.steps.0, delta.steps.1),
        );
        response.on_hover_text(about(alignment, delta, tone_of(delta), compared));
    }
}

/// The changes of the step parts of a shape, the largest first.
fn parts_of(compared: Option<&TraceCorrespondence>, delta: &TimeDelta) -> Vec<String> {
    let parts = compared
        .and_then(|compared| compared.parts.of(delta.steps.0, delta.steps.1))
        .unwrap_or_default();
    parts
        .iter()
        .map(|(part, ps)| format!("{} {}", part.title(), times::change(*ps as f64, None)))
        .collect()
}

/// Joins the same steps of both timelines.
fn paint_shape(painter: &Painter, canvas: Rect, delta: &TimeDelta, fill: Color32, theme: &Theme) {
    let (top, bottom) = (canvas.top() + 3.0, canvas.bottom() - 3.0);
    let x = |x: f32| canvas.left() + x;
    let gap = if delta.top.1 - delta.top.0 > 6.0 {
        0.5
    } else {
        0.0
    };
    let border = Stroke::new(1.0, theme.labels);
    let corners = vec![
        pos2(x(delta.top.0) + gap, top),
        pos2(x(delta.top.1) - gap, top),
        pos2(x(delta.bottom.1) - gap, bottom),
        pos2(x(delta.bottom.0) + gap, bottom),
    ];
    painter.add(Shape::convex_polygon(
        corners,
        fill,
        if gap > 0.0 { border } else { Stroke::NONE },
    ));
}

/// A shape with its change and, if there is room, the changes of its parts below.
fn delta_ui(
    painter: &Painter,
    canvas: Rect,
    delta: &TimeDelta,
    tone: Option<DeltaTone>,
    parts: impl FnOnce() -> Vec<String>,
    theme: &Theme,
) {
    let color = theme.slice(tone.unwrap_or(DeltaTone::Noise).color());
    paint_shape(painter, canvas, delta, color.fill, theme);
    let Some(tone) = tone else { return };
    // The horizontal range inside the shape at the upper and the lower edge of the text.
    let x_between =
        |(above, below): (f32, f32), share: f32| canvas.left() + above + (below - above) * share;
    let edges = [(delta.top.0, delta.bottom.0), (delta.top.1, delta.bottom.1)];
    let left = x_between(edges[0], 0.3)
        .max(x_between(edges[0], 0.7))
        .max(canvas.left());
    let right = x_between(edges[1], 0.3)
        .min(x_between(edges[1], 0.7))
        .min(canvas.right());
    let mark = if tone == DeltaTone::Noise { 0.0 } else { 12.0 };
    let room = right - left - 10.0 - mark;
    let font = small_font();
    let full = times::change(delta.change_ps as f64, delta.percent);
    let full = if tone == DeltaTone::Noise {
        format!("~ {full}")
    } else {
        full
    };
    let short = delta
        .percent
        .map(|percent| format!("{percent:+.1}"))
        .unwrap_or_default();
    let width = |text: &str| {
        painter
            .layout_no_wrap(text.to_owned(), font.clone(), color.text)
            .size()
            .x
    };
    let Some(text) = [full, short]
        .into_iter()
        .find(|text| !text.is_empty() && width(text) <= room)
    else {
        return;
    };
    let center = f32::midpoint(left, right) + mark / 2.0;
    let lines = if room < TWO_LINES || canvas.height() < LANES[1] {
        Vec::new()
    } else {
        parts()
    };
    // As many as fit, and at least two: a single part would look like the whole change.
    let fitting = (2..=lines.len())
        .rev()
        .map(|count| lines[..count].join(", "))
        .find(|text| width(text) <= right - left);
    let up = if fitting.is_some() { 7.0 } else { 0.0 };
    if let Some(text) = fitting {
        painter.text(
            pos2(center, canvas.center().y + up),
            Align2::CENTER_CENTER,
            text,
            font.clone(),
            color.text,
        );
    }
    let middle = pos2(center, canvas.center().y - up);
    let written = painter.text(
        middle,
        Align2::CENTER_CENTER,
        text,
        font.clone(),
        color.text,
    );
    if tone != DeltaTone::Noise {
        sign_mark(
            painter,
            pos2(written.left() - 8.0, middle.y),
            tone == DeltaTone::Slower,
            color.text,
        );
    }
}

/// A triangle that points up for an increase and down for a decrease.
fn sign_mark(painter: &Painter, center: Pos2, up: bool, color: Color32) {
    let r = if up { -4.0 } else { 4.0 };
    let points = vec![
        center + vec2(-4.0, -r * 0.7),
        center + vec2(4.0, -r * 0.7),
        center + vec2(0.0, r * 0.7),
    ];
    painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
}

/// Draws a line from the selected slice above to the selected slice below.
fn selection_ui(painter: &Painter, canvas: Rect, sides: [&Workspace; 2], theme: &Theme) {
    let x_of = |workspace: &Workspace| {
        let range = workspace
            .trace
            .model
            .slice(workspace.state.place.selection?)
            .range();
        let view = workspace.shown_time();
        let middle = f64::midpoint(view.fraction(range.start), view.fraction(range.end));
        Some(canvas.left() + (middle.clamp(-5.0, 5.0) * f64::from(canvas.width())) as f32)
    };
    if let (Some(above), Some(below)) = (x_of(sides[0]), x_of(sides[1])) {
        let ends = [pos2(above, canvas.top()), pos2(below, canvas.bottom())];
        painter.line_segment(ends, (3.0, theme.canvas));
        painter.line_segment(ends, (1.5, theme.selection));
    }
}

fn holds(delta: &TimeDelta, canvas: Rect, pos: Pos2) -> bool {
    let share = ((pos.y - canvas.top()) / canvas.height().max(1.0)).clamp(0.0, 1.0);
    let x = pos.x - canvas.left();
    let edge = |above: f32, below: f32| above + (below - above) * share;
    canvas.contains(pos)
        && edge(delta.top.0, delta.bottom.0) <= x
        && x < edge(delta.top.1, delta.bottom.1)
}

/// What the step times of the lane are.
const STEP_TIMES: &str =
    "Times: each step on the device that took longest. Shares: of the time in A.";

fn about(
    alignment: &StepAlignment,
    delta: &TimeDelta,
    tone: Option<DeltaTone>,
    compared: Option<&TraceCorrespondence>,
) -> String {
    let (from, count) = delta.steps;
    let steps = alignment
        .steps()
        .get(from..from + count)
        .unwrap_or_default();
    let [a, b] = alignment.times_ps(from, count).map(times::time_ps);
    let change = times::change(delta.change_ps as f64, delta.percent);
    let verdict = match tone {
        Some(DeltaTone::Slower) => format!("{change}, longer in B"),
        Some(DeltaTone::Faster) => format!("{change}, shorter in B"),
        Some(DeltaTone::Noise) => format!("{change}, within noise"),
        None if compared.is_some() => "The runs are not comparable.".to_owned(),
        None => "Not compared yet.".to_owned(),
    };
    let verdict = parts_of(compared, delta)
        .iter()
        .fold(verdict, |text, part| format!("{text}\n  {part}"));
    let (what, them) = if let [step] = steps {
        let [a, b] = &step.titles;
        (format!("Step {a} of A, {b} of B"), "it")
    } else {
        let ends = [steps.first(), steps.last()].map(|step| step.map(|step| &step.titles));
        let [first, last] = ends.map(|titles| titles.map_or(["", ""], |[a, b]| [a, b]));
        let [a, b] = [0, 1].map(|side| format!("{} to {}", first[side], last[side]));
        (format!("{count} steps: {a} of A, {b} of B"), "them")
    };
    format!("{what}\n{a} in A, {b} in B\n{verdict}\n{STEP_TIMES}\nClick to show {them} in both")
}
