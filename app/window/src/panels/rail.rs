//! The rail of icons at the right edge: one for each tab of reports.

use super::prelude::*;

use super::icons;
use super::tabs::{offered, tab::Tab};
use super::tabs_with_data::TabWithoutData;

/// Width with names, and without.
const WIDTHS: [f32; 2] = [68.0, 40.0];
/// Height of an entry: the most, the least with a name, and the least.
const HEIGHTS: [f32; 3] = [48.0, 38.0, 24.0];

/// A tab that is being dragged to the other side.
pub struct DraggedTab(pub &'static str);

/// The entry that moves a tab to the other side.
pub fn move_menu(ui: &mut Ui, id: &'static str, below: bool, view: &mut ViewCommands) {
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
    out: &mut ViewCommands,
) {
    let shown: Vec<&'static Tab> = offered(context).collect();
    let room = ui.available_height() - 8.0;
    let (width, named) = width(room, shown.len());
    let [most, _, least] = HEIGHTS;
    let height = (room / shown.len().max(1) as f32).clamp(least, most);
    let panel = EguiPanel::right("rail").exact_size(width).resizable(false);
    panel
        .frame(Frame::NONE.fill(theme::current(ui).labels))
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(0.0, 0.0);
            ScrollArea::vertical()
                .id_salt("rail")
                .auto_shrink([false, false])
                .show(ui, |ui| {
                    ui.add_space(4.0);
                    for tab in shown {
                        let empty = without_data.iter().find(|(other, _)| other.id == tab.id);
                        let reason = empty.map(|(_, reason)| &**reason);
                        entry_ui(ui, context, (tab, reason), vec2(width, height), named, out);
                    }
                });
        });
}

/// An entry; one that the trace has no data for keeps its place, in a weaker colour, and its tooltip says why.
fn entry_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    (tab, why_empty): (&'static Tab, Option<&str>),
    size: Vec2,
    named: bool,
    out: &mut ViewCommands,
) {
    let theme = theme::current(ui);
    let (state, id, title) = (context.state, tab.id, tab.full_title(context));
    let is_open = state.shows_tab(id);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    let label = why_empty.map_or_else(|| title.clone(), |_| format!("{title}: no data"));
    response.labeled_choice(Role::Tab, is_open, label);
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
    } else if why_empty.is_some() {
        theme.text_weak
    } else {
        theme.text
    };
    // The name stays readable; the icon says at a glance that there is nothing.
    let is_dim = why_empty.is_some() && !is_open && !response.hovered();
    let icon = if is_dim {
        color.gamma_multiply(0.6)
    } else {
        color
    };
    if named {
        icons::draw(
            &painter,
            pos2(rect.center().x, rect.top() + rect.height() * 0.36),
            16.0,
            icon,
            tab.icon,
        );
        let pos = pos2(rect.center().x, rect.bottom() - rect.height() * 0.2);
        painter.text(
            pos,
            Align2::CENTER_CENTER,
            tab.title,
            FontId::proportional(10.5),
            color,
        );
    } else {
        icons::draw(&painter, rect.center(), 15.0, icon, tab.icon);
    }
    if response.clicked() {
        out.push(if is_open && !state.is_below(id) {
            ViewCommand::ShowPanel(Panel::Reports, false)
        } else {
            tab.show()
        });
    }
    response.context_menu(|ui| move_menu(ui, id, state.is_below(id), out));
    let about = why_empty.map_or(title.clone(), |why| format!("{title}, no data: {why}"));
    let text = tooltip(ui.ctx(), &about, is_open);
    let _ = response.hint_left(|ui| drop(ui.label(text)));
}

fn tooltip(ctx: &Context, title: &str, is_open: bool) -> String {
    if is_open {
        hint(ctx, &format!("{title}; click to close"), "reports")
    } else {
        title.to_owned()
    }
}
