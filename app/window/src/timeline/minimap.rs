//! The minimap: the whole trace, and which part of it is visible.

use crate::prelude::*;
use egui::{Mesh, PointerButton};

use crate::theme;
use crate::theme::Theme;
use view::timeline::columns::RowStack;
use view::timeline::density::MinimapDensity;

/// What the minimap keeps between frames.
#[derive(Default)]
pub struct MinimapState {
    /// Where a selection began.
    select_from: Option<f32>,
    drawn: Option<DrawnDensity>,
}

/// The load as it was drawn last: it is the same in most frames.
struct DrawnDensity {
    of: Arc<MinimapDensity>,
    rect: Rect,
    theme: &'static Theme,
    mesh: Arc<Mesh>,
}

impl MinimapState {
    /// The load, drawn anew only if it, the place or the colours are others.
    fn density(
        &mut self,
        rect: Rect,
        density: &Arc<MinimapDensity>,
        theme: &'static Theme,
    ) -> Arc<Mesh> {
        let last = self.drawn.take().filter(|last| {
            Arc::ptr_eq(&last.of, density) && last.rect == rect && std::ptr::eq(last.theme, theme)
        });
        let draw = || DrawnDensity {
            of: Arc::clone(density),
            rect,
            theme,
            mesh: density_mesh(rect, density, theme),
        };
        Arc::clone(&self.drawn.insert(last.unwrap_or_else(draw)).mesh)
    }
}

/// Draws the minimap. Dragging the visible part moves it, dragging elsewhere selects what to show, a click centers the
/// view.
pub fn minimap_ui(
    ui: &Ui,
    rect: Rect,
    trace: &OpenTrace,
    state: &ViewState,
    kept: &mut MinimapState,
    out: &mut ViewCommands,
) {
    let theme = theme::current(ui);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, theme.labels);
    let inner = rect.shrink2(vec2(0.0, 4.0));
    painter.add(Shape::Mesh(kept.density(inner, &trace.density, theme)));
    let select_from = &mut kept.select_from;

    let extent = trace.model.extent();
    let whole = Viewport::of(extent);
    let x_of = |time| inner.left() + (whole.fraction(time) as f32).clamp(0.0, 1.0) * inner.width();
    let spans = |range: TimeRange| {
        let (left, right) = (x_of(range.start), x_of(range.end));
        Rect::from_x_y_ranges(left..=right.max(left + 2.0), inner.y_range())
    };
    let view = spans(state.place.time.range());
    for hidden in [
        inner.with_max_x(view.left()),
        inner.with_min_x(view.right()),
    ] {
        painter.rect_filled(hidden, 0.0, theme.labels.gamma_multiply(0.55));
    }
    for note in &state.notes {
        painter.vline(
            x_of(note.range.start),
            inner.y_range(),
            (1.5, theme.warning),
        );
    }
    if let Some(mark) = state.place.mark {
        painter.rect_filled(spans(mark), 0.0, theme.accent.gamma_multiply(0.35));
    }
    painter.rect_stroke(view, 2.0, (1.0, theme.accent), StrokeKind::Inside);
    ui.painter()
        .hline(rect.x_range(), rect.bottom(), (1.0, theme.edge));

    let response = ui.interact(
        inner,
        ui.scope_id().with("minimap"),
        Sense::click_and_drag(),
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "Minimap"));
    let time_at = |x: f32| {
        whole.time_at(f64::from((x - inner.left()) / inner.width().max(1.0)).clamp(0.0, 1.0))
    };
    let moves =
        |x: f32| view.width() < inner.width() * 0.95 && view.x_range().expand(2.0).contains(x);
    if response.drag_started_by(PointerButton::Primary)
        && let Some(from) = ui.input(|i| i.pointer.press_origin())
    {
        *select_from = (!moves(from.x)).then_some(from.x);
    }
    if let Some(x) = response.hover_pos().map(|at| at.x) {
        ui.ctx().set_cursor_icon(if moves(x) {
            CursorIcon::Grab
        } else {
            CursorIcon::Crosshair
        });
    }
    let Some(pointer) = response.interact_pointer_pos() else {
        return;
    };
    if let Some(from) = *select_from {
        let [left, right] = [from.min(pointer.x), from.max(pointer.x)]
            .map(|x| x.clamp(inner.left(), inner.right()));
        let band = Rect::from_x_y_ranges(left..=right, inner.y_range());
        painter.rect_filled(band, 0.0, theme.accent.gamma_multiply(0.25));
        painter.rect_stroke(band, 0.0, (1.0, theme.accent), StrokeKind::Inside);
        if response.drag_stopped() {
            *select_from = None;
            let range = TimeRange::new(time_at(left), time_at(right));
            if right - left > 3.0 && !range.is_empty() {
                out.push(ViewCommand::Show(range));
            }
        }
    } else if response.dragged() {
        let share = f64::from(response.drag_delta().x / inner.width().max(1.0)) * whole.span_ps();
        if share != 0.0 {
            out.push(ViewCommand::Pan(share / state.place.time.span_ps()));
        }
    } else if response.clicked() {
        out.push(ViewCommand::Center(time_at(pointer.x)));
    }
}

/// Draws the load of devices at the top and of everything else at the bottom.
fn density_mesh(rect: Rect, density: &MinimapDensity, theme: &Theme) -> Arc<Mesh> {
    let both = !density.devices.is_empty() && !density.others.is_empty();
    let middle = if both {
        rect.top() + rect.height() * 0.62
    } else {
        rect.bottom()
    };
    let mut mesh = Mesh::default();
    let upper = rect.with_max_y(middle - 1.0);
    if density.devices.is_empty() {
        strip(
            &mut mesh,
            upper,
            &density.others,
            theme.accent.gamma_multiply(0.75),
        );
    } else {
        stacked(&mut mesh, upper, density, theme);
    }
    if both {
        strip(
            &mut mesh,
            rect.with_min_y(middle),
            &density.others,
            theme.text_weak.gamma_multiply(0.75),
        );
    }
    Arc::new(mesh)
}

/// The categories of the work of devices, stacked from whole points; a bar is a point wide.
fn stacked(mesh: &mut Mesh, rect: Rect, density: &MinimapDensity, theme: &Theme) {
    let bars = (rect.width() as usize).max(1);
    let width = rect.width() / bars as f32;
    let rows = rect.height().floor().max(1.0);
    let mut stack = RowStack::new(rows as usize);
    for (bar, shares) in density.resampled(bars).enumerate() {
        let left = rect.left() + bar as f32 * width;
        let mut bottom = rect.bottom();
        for (color, count) in stack.rows_of(shares.into_iter()) {
            let top = bottom - count as f32 / rows * rect.height();
            let fill = theme.slice(color).fill;
            mesh.add_colored_rect(
                Rect::from_min_max(pos2(left, top), pos2(left + width, bottom)),
                fill,
            );
            bottom = top;
        }
    }
}

fn strip(mesh: &mut Mesh, rect: Rect, columns: &[f32], color: Color32) {
    let width = rect.width() / columns.len().max(1) as f32;
    for (i, &share) in columns
        .iter()
        .enumerate()
        .filter(|&(_, &share)| share > 0.0)
    {
        let left = rect.left() + i as f32 * width;
        // A small load must stay visible.
        let height = (rect.height() * share).max(1.0);
        let bar = Rect::from_min_max(
            pos2(left, rect.bottom() - height),
            pos2(left + width, rect.bottom()),
        );
        mesh.add_colored_rect(bar, color);
    }
}
