//! The field that filters the list of tracks, and what is shown where no track is left.

use crate::prelude::*;

use crate::theme;
use egui::Margin;

/// Id of the filter field; of two timelines, the one with this name.
pub fn filter_id(name: Option<&'static str>) -> Id {
    Id::unique(("filter tracks", name))
}

/// The field that filters the list of tracks.
pub fn filter_ui(
    ui: &mut Ui,
    rect: Rect,
    state: &ViewState,
    name: Option<&'static str>,
    out: &mut ViewCommands,
) {
    let theme = theme::current(ui);
    ui.painter().rect_filled(rect, 0.0, theme.labels);
    let is_slim = rect.height() < 28.0;
    let inner = if is_slim {
        rect.shrink2(vec2(6.0, 0.0)).with_min_y(rect.top() + 3.0)
    } else {
        rect.shrink2(vec2(6.0, 5.0))
    };
    let mut ui = ui.new_child(
        egui::UiBuilder::new()
            .max_rect(inner)
            .layout(Layout::left_to_right(Align::Center)),
    );
    let hidden = state.leaves_out() || !state.track_filter.is_empty();
    let room = if hidden {
        inner.width() - 64.0
    } else {
        inner.width()
    };
    let mut text = state.track_filter.clone();
    let field = TextEdit::singleline(&mut text)
        .id(filter_id(name))
        .hint_text("Filter tracks")
        .font(if is_slim {
            theme::small_font()
        } else {
            FontId::proportional(13.0)
        })
        .margin(Margin::symmetric(4, if is_slim { 0 } else { 2 }))
        .desired_width(room.max(40.0));
    let response = ui.add(field);
    response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "Filter tracks"));
    if response.changed() {
        out.push(ViewCommand::FilterTracks(text));
    }
    if hidden
        && ui
            .button("Show all")
            .on_hover_text("Show all tracks again")
            .clicked()
    {
        out.push(ViewCommand::ShowAllTracks);
    }
}

/// Shown in place of the tracks if none is visible.
pub fn nothing_left_ui(ui: &mut Ui, canvas: Rect, state: &ViewState, out: &mut ViewCommands) {
    let text = if state.track_filter.is_empty() {
        "All tracks are hidden.".to_owned()
    } else {
        format!("No track has “{}” in its name.", state.track_filter)
    };
    let rect =
        Rect::from_center_size(canvas.center(), vec2(canvas.width() * 0.8, 60.0)).intersect(canvas);
    let layout = Layout::top_down(Align::Center);
    let mut ui = ui.new_child(egui::UiBuilder::new().max_rect(rect).layout(layout));
    ui.label(text);
    ui.add_space(4.0);
    if ui.button("Show all tracks").clicked() {
        out.push(ViewCommand::ShowAllTracks);
    }
}
