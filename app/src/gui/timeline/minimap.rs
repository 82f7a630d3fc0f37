//! The minimap: the whole trace, and which part of it is visible.

use egui::{CursorIcon, Mesh, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2};
use trace_model::TimeRange;

use crate::gui::theme::Theme;
use crate::view::state::{ViewCommand, ViewState};
use crate::view::timeline::density::MinimapDensity;
use crate::view::timeline::trace::OpenTrace;
use crate::view::viewport::Viewport;

/// Draws the minimap; a click or drag moves the view.
pub fn minimap_ui(ui: &Ui, rect: Rect, trace: &OpenTrace, state: &ViewState, out: &mut Vec<ViewCommand>) {
    let theme = Theme::current(ui);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, theme.labels);
    let inner = rect.shrink2(egui::vec2(0.0, 4.0));
    density(&painter, inner, &trace.density, theme);

    let extent = trace.model.extent();
    let whole = Viewport::of(extent);
    let x_of = |at| inner.left() + (whole.fraction(at) as f32).clamp(0.0, 1.0) * inner.width();
    let spans = |range: TimeRange| {
        let (left, right) = (x_of(range.start), x_of(range.end));
        Rect::from_x_y_ranges(left..=right.max(left + 2.0), inner.y_range())
    };
    let view = spans(state.place.time.range());
    for hidden in [inner.with_max_x(view.left()), inner.with_min_x(view.right())] {
        painter.rect_filled(hidden, 0.0, theme.labels.gamma_multiply(0.62));
    }
    for note in &state.notes {
        painter.vline(x_of(note.range.start), inner.y_range(), Stroke::new(1.5, theme.warning));
    }
    if let Some(mark) = state.place.mark {
        painter.rect_filled(spans(mark), 0.0, theme.accent.gamma_multiply(0.35));
    }
    painter.rect_stroke(view, 2.0, Stroke::new(1.0, theme.accent), StrokeKind::Inside);
    ui.painter().hline(rect.x_range(), rect.bottom(), Stroke::new(1.0, theme.edge));

    let response = ui.interact(inner, ui.scope_id().with("minimap"), Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "Minimap"));
    if response.hovered() {
        ui.ctx().set_cursor_icon(CursorIcon::Grab);
    }
    if let Some(pointer) = response.interact_pointer_pos() {
        let wanted = f64::from((pointer.x - inner.left()) / inner.width().max(1.0));
        let center =
            f64::midpoint(whole.fraction(state.place.time.start()), whole.fraction(state.place.time.range().end));
        let share = (wanted - center) * whole.span_ps() / state.place.time.span_ps();
        if share.abs() > 1e-6 {
            out.push(ViewCommand::Pan(share));
        }
    }
}

/// Draws the load of devices at the top and of everything else at the bottom.
fn density(painter: &egui::Painter, rect: Rect, density: &MinimapDensity, theme: &Theme) {
    let both = !density.devices.is_empty() && !density.others.is_empty();
    let middle = if both { rect.top() + rect.height() * 0.62 } else { rect.bottom() };
    let mut mesh = Mesh::default();
    let upper = if density.devices.is_empty() { &density.others } else { &density.devices };
    strip(&mut mesh, rect.with_max_y(middle - 1.0), upper, theme.accent.gamma_multiply(0.75));
    if both {
        strip(&mut mesh, rect.with_min_y(middle), &density.others, theme.text_weak.gamma_multiply(0.75));
    }
    painter.add(mesh);
}

fn strip(mesh: &mut Mesh, rect: Rect, columns: &[f32], color: egui::Color32) {
    let width = rect.width() / columns.len().max(1) as f32;
    for (i, &share) in columns.iter().enumerate().filter(|&(_, &share)| share > 0.0) {
        let left = rect.left() + i as f32 * width;
        // A little is not nothing.
        let height = (rect.height() * share).max(1.0);
        let bar = Rect::from_min_max(pos2(left, rect.bottom() - height), pos2(left + width, rect.bottom()));
        mesh.add_colored_rect(bar, color);
    }
}
