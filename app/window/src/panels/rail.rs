//! The rail of icons at the right edge: one for each tab of reports.

use egui::{
    Align2, Context, FontId, Panel as EguiPanel, Rect, RichText, Role, ScrollArea, Sense, Ui, pos2,
    vec2,
};

use super::context::PanelContext;
use super::icons;
use super::tabs::{offered, tab::Tab};
use super::tabs_with_data::TabWithoutData;
use super::widgets::ResponseExt as _;
use crate::keys::hint;
use crate::theme;
use view::state::{Panel, ViewCommand, ViewState};

/// Width with names, and without.
const WIDTHS: [f32; 2] = [68.0, 40.0];
/// Height of an entry: the most, the least with a name, and the least.
const HEIGHTS: [f32; 3] = [48.0, 38.0, 24.0];

/// A tab that is being dragged to the other side.
pub struct DraggedTab(pub &'static str);

/// The entry that moves a tab to the other side.
pub fn move_menu(ui: &mut Ui, id: &'static str, below: bool, view: &mut Vec<ViewCommand>) {
    let label = if below {
        "Move to the right"
    } else {
        "Move below the timeline"
    };
    ui.button(label).chooses(
        ui,
        view,
        ViewCommand::MoveTab {
            tab: id.to_owned(),
            below: !below,
        },
    );
}

/// Width of the rail in a window of this height.
fn width(height: f32, entries: usize) -> (f32, bool) {
    let named = height / entries.max(1) as f32 >= HEIGHTS[1];
    (WIDTHS[usize::from(!named)], named)
}

/// Draws the rail; a click opens a tab, a click on the open tab closes the panel.
pub fn rail_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    without_data: &[TabWithoutData],
    out: &mut Vec<ViewCommand>,
) {
    let (hidden, shown): (Vec<_>, Vec<_>) = offered(context)
        .map(|tab| {
            let empty = without_data.iter().find(|(other, _)| other.id == tab.id);
            (tab, empty.filter(|_| !is_open(context.state, tab.id)))
        })
        .partition(|(_, empty)| empty.is_some());
    let hidden: Vec<&TabWithoutData> = hidden.into_iter().filter_map(|(_, empty)| empty).collect();
    let count = shown.len() + usize::from(!hidden.is_empty());
    let room = ui.available_height() - 8.0;
    let (width, named) = width(room, count);
    let [most, _, least] = HEIGHTS;
    let height = (room / count.max(1) as f32).clamp(least, most);
    let panel = EguiPanel::right("rail").exact_size(width).resizable(false);
    panel
        .frame(egui::Frame::NONE.fill(theme::current(ui).labels))
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(0.0, 0.0);
            ScrollArea::vertical()
                .id_salt("rail")
                .auto_shrink([false, false])
                .show(ui, |ui| {
                    ui.add_space(4.0);
                    for (tab, _) in shown {
                        entry_ui(ui, context, tab, vec2(width, height), named, out);
                    }
                    if !hidden.is_empty() {
                        hidden_ui(ui, &hidden, vec2(width, height.min(28.0)), out);
                    }
                });
        });
}

/// Whether a tab is open at its side.
fn is_open(state: &ViewState, id: &str) -> bool {
    state.tab == id || state.tab_below() == Some(id)
}

fn entry_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    tab: &'static Tab,
    size: egui::Vec2,
    named: bool,
    out: &mut Vec<ViewCommand>,
) {
    let theme = theme::current(ui);
    let (state, id, title) = (context.state, tab.id, tab.full_title(context));
    let is_open = state.shows_tab(id);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    response.labeled_choice(Role::Tab, is_open, &title);
    response.dnd_set_drag_payload(DraggedTab(id));
    let painter = ui.painter_at(rect);
    if is_open {
        painter.rect_filled(
            rect.shrink2(vec2(3.0, 1.0)),
            4.0,
            theme.accent.gamma_multiply(0.22),
        );
        painter.rect_filled(
            Rect::from_min_size(rect.min, vec2(3.0, rect.height())),
            0.0,
            theme.accent,
        );
    } else if response.hovered() {
        painter.rect_filled(rect.shrink2(vec2(3.0, 1.0)), 4.0, theme.raised);
    }
    let color = if is_open || response.hovered() {
        theme.text_strong
    } else {
        theme.text
    };
    if named {
        icons::tab(
            &painter,
            pos2(rect.center().x, rect.top() + rect.height() * 0.36),
            16.0,
            color,
            tab.icon,
        );
        let at = pos2(rect.center().x, rect.bottom() - rect.height() * 0.2);
        painter.text(
            at,
            Align2::CENTER_CENTER,
            tab.title,
            FontId::proportional(10.5),
            color,
        );
    } else {
        icons::tab(&painter, rect.center(), 15.0, color, tab.icon);
    }
    if response.clicked() {
        out.push(if is_open && !state.is_below(id) {
            ViewCommand::ShowPanel(Panel::Reports, false)
        } else {
            tab.show()
        });
    }
    response.context_menu(|ui| move_menu(ui, id, state.is_below(id), out));
    let text = tooltip(ui.ctx(), &title, is_open);
    let _ = response.hint_left(|ui| drop(ui.label(text)));
}

fn tooltip(ctx: &Context, title: &str, is_open: bool) -> String {
    if is_open {
        hint(ctx, &format!("{title}; click to close"), "reports")
    } else {
        title.to_owned()
    }
}

/// The menu of tabs that this trace has no data for.
fn hidden_ui(
    ui: &mut Ui,
    hidden: &[&TabWithoutData],
    size: egui::Vec2,
    out: &mut Vec<ViewCommand>,
) {
    ui.allocate_ui(size, |ui| {
        ui.centered_and_justified(|ui| {
            let text = RichText::new("no data").size(10.5).weak();
            let menu = ui.menu_button(text, |ui| {
                ui.spacing_mut().item_spacing = vec2(8.0, 5.0);
                ui.weak("This trace has no data for:");
                for (tab, reason) in hidden {
                    ui.button(tab.title)
                        .on_hover_text(reason)
                        .chooses(ui, out, tab.show());
                }
            });
            menu.response.labeled(Role::Button, "Reports without data");
            menu.response
                .on_hover_text("Reports that this trace has no data for");
        });
    });
}
