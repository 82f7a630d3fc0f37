//! The corner beside the ruler, and the scroll bar.

use crate::prelude::*;

use super::elide::elided;
use crate::theme::{self, Theme, small_font};
use crate::times;

/// The length of the visible range, and the time that the ruler counts from.
pub fn corner(ui: &Ui, rect: Rect, time: Viewport, base: Option<String>) {
    let theme = theme::current(ui);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, theme.labels);
    let span = Picos::rounded(time.span_ps());
    let (left, right) = (
        rect.left_center() + vec2(10.0, 0.0),
        rect.right_center() - vec2(8.0, 0.0),
    );
    // The time that "+5 µs" on the ruler is relative to; it comes first if both texts are long.
    let used = base.map_or(0.0, |text| {
        let room = rect.width() - 18.0;
        elided(
            &painter,
            right,
            Align2::RIGHT_CENTER,
            &text,
            room,
            &small_font(),
            theme.text,
        )
        .x + 10.0
    });
    let text = format!("{} in view", times::time(span));
    elided(
        &painter,
        left,
        Align2::LEFT_CENTER,
        &text,
        right.x - left.x - used,
        &small_font(),
        theme.text_weak,
    );
}

/// The scroll bar of the rows that scroll, which begin below `pinned`.
pub fn scroll_bar_ui(
    ui: &Ui,
    rect: Rect,
    pinned: f32,
    scroll: f32,
    most: f32,
    theme: &Theme,
    out: &mut ViewCommands,
) {
    ui.painter().rect_filled(rect, 0.0, theme.canvas);
    let rect = rect.with_min_y((rect.top() + pinned).min(rect.bottom()));
    let length = (rect.height() * rect.height() / (rect.height() + most).max(1.0)).max(24.0);
    let way = rect.height() - length;
    if most <= 0.0 || way <= 0.0 {
        return;
    }
    let top = rect.top() + way * scroll / most;
    let response = ui.interact(
        rect,
        ui.scope_id().with("scroll bar"),
        Sense::click_and_drag(),
    );
    response.widget_info(|| WidgetInfo::labeled(Role::ScrollBar, true, "Scroll tracks"));
    if let Some(pointer) = response.interact_pointer_pos() {
        let wanted = (pointer.y - rect.top() - length / 2.0) / way * most;
        out.push(ViewCommand::ScrollTo(wanted.clamp(0.0, most)));
    }
    let color = if response.hovered() || response.dragged() {
        theme.text_weak
    } else {
        theme.edge
    };
    let handle = Rect::from_min_size(
        pos2(rect.left() + 2.0, top),
        vec2(rect.width() - 4.0, length),
    );
    ui.painter().rect_filled(handle, 3.0, color);
}
