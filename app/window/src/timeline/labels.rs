//! The column of names beside the tracks.

use crate::prelude::*;
use egui::FontFamily;

use super::elide::{elided, elided_name};
use super::paint::fold_mark;
use crate::keys::menu_entry;
use crate::panels::widgets::ResponseExt as _;
use crate::theme::{self, Theme, readable_on, small_font};
use view::state::MOST_HEIGHT;
use view::timeline::tree::{HEADER, LANE, TrackNode, TrackRow};

/// Indentation per level.
const INDENT: f32 = 12.0;
/// Width of the mark of a late device.
const LATE: f32 = 4.0;

/// The column of names.
#[derive(Clone, Copy)]
pub struct NameColumn<'a> {
    pub rect: Rect,
    /// The rows beside it.
    pub list: &'a DrawList,
    /// Scroll position in points.
    pub scroll: f32,
    /// The side of the rows, if the tracks of two traces are interleaved.
    pub side: Option<TraceSide>,
    /// Devices that the others wait for.
    pub late: &'a [GroupId],
}

/// Draws the names of the visible rows; a click folds and unfolds.
pub fn names_ui(
    ui: &mut Ui,
    names: NameColumn<'_>,
    trace: &OpenTrace,
    state: &ViewState,
    out: &mut ViewCommands,
) {
    let NameColumn {
        rect,
        list,
        scroll,
        side,
        late,
    } = names;
    let theme = theme::current(ui);
    let painter = ui.painter_at(rect);
    if side != Some(TraceSide::B) {
        painter.rect_filled(rect, 0.0, theme.labels);
    }
    let split = rect.top() + list.pinned_height;
    let heading = side
        .is_none()
        .then(|| sticky_heading(list, trace))
        .flatten();
    let parts = [
        (&list.scrolled.rows, rect.with_min_y(split)),
        (&list.pinned.rows, rect.with_max_y(split)),
    ];
    for (is_pinned, (rows, clip)) in [false, true].into_iter().zip(parts) {
        let painter = painter.with_clip_rect(clip);
        let heading = heading.as_ref().filter(|_| !is_pinned);
        let below = clip.top() + heading.map_or(0.0, |heading| heading.height);
        // The heading covers what scrolls below it.
        for row in rows
            .iter()
            .filter(|row| heading.is_none_or(|heading| heading.node != row.node))
            .chain(heading)
        {
            let area = Rect::from_x_y_ranges(
                rect.x_range(),
                rect.top() + row.y..=rect.top() + row.y + row.height,
            );
            if area.intersects(clip) {
                let is_group = matches!(trace.tree.node(row.node).item, TreeItem::Group(_));
                let top = if is_group {
                    area.top()
                } else {
                    name_top(area, below)
                };
                name_ui(
                    ui,
                    &painter,
                    clip,
                    (area, top),
                    (row, is_pinned, late),
                    trace,
                    state,
                    out,
                );
                if let Some(side) = side.filter(|_| !is_group) {
                    badge(&painter, area.with_min_y(top), side, theme);
                }
            }
        }
    }
    if list.pinned_height > 0.0 {
        painter.hline(rect.x_range(), split, (2.0, theme.edge));
    }
    let wheel = ui.input(|i| i.smooth_scroll_delta().y);
    if wheel != 0.0 && ui.rect_contains_pointer(rect) {
        out.push(ViewCommand::ScrollTo((scroll - wheel).max(0.0)));
    }
    painter.vline(rect.right() - 0.5, rect.y_range(), (1.0, theme.edge));
}

/// The heading of the group of the topmost rows; it stays at the top when it would be scrolled out of sight.
fn sticky_heading(list: &DrawList, trace: &OpenTrace) -> Option<TrackRow> {
    let top = list.pinned_height;
    let first = list
        .scrolled
        .rows
        .iter()
        .find(|row| row.y + row.height > top + HEADER)?;
    let group = match trace.tree.node(first.node).item {
        TreeItem::Group(_) if !first.folded => return None,
        _ => trace.tree.group_of(first.node)?,
    };
    let heading = list.scrolled.rows.iter().find(|row| row.node == group);
    let is_in_sight = heading.is_some_and(|row| row.y >= top);
    (!is_in_sight).then_some(TrackRow {
        node: group,
        y: top,
        height: HEADER,
        lanes: 0,
        folded: false,
        hidden: 0,
        is_joined: false,
    })
}

/// Where the name of a track is: beside its first lane, or beside the first one in sight below the heading.
fn name_top(area: Rect, below: f32) -> f32 {
    area.top().max(below.min(area.bottom() - LANE))
}

/// The letter of the side that a track belongs to.
fn badge(painter: &Painter, area: Rect, side: TraceSide, theme: &Theme) {
    let rect = Rect::from_min_size(area.min + vec2(6.0, (LANE - 14.0) / 2.0), vec2(14.0, 14.0));
    let fill = if side == TraceSide::A {
        theme.edge
    } else {
        theme.accent
    };
    painter.rect_filled(rect, 3.0, fill);
    let font = FontId::new(10.0, FontFamily::Proportional);
    painter.text(
        rect.center(),
        Align2::CENTER_CENTER,
        side.name(),
        font,
        readable_on(fill),
    );
}

#[expect(clippy::too_many_arguments, reason = "one row, all of it is drawn")]
fn name_ui(
    ui: &Ui,
    painter: &Painter,
    clip: Rect,
    (area, top): (Rect, f32),
    (row, is_pinned, late): (&TrackRow, bool, &[GroupId]),
    trace: &OpenTrace,
    state: &ViewState,
    out: &mut ViewCommands,
) {
    let theme = theme::current(ui);
    let node = trace.tree.node(row.node);
    let is_derived = node.item.derived().is_some();
    let can_fold = matches!(node.item, TreeItem::Group(_)) || (node.lanes.1 > 1 && !is_derived);
    let visible = area.intersect(clip);
    let response = ui.interact(
        visible,
        ui.scope_id().with(("name", row.node)),
        Sense::click(),
    );
    let verb = if row.folded { "Unfold" } else { "Fold" };
    if can_fold {
        response.labeled(Role::Button, format_args!("{verb} {}", node.title));
    } else {
        response.labeled(Role::Label, &node.title);
    }
    if response.clicked() {
        out.extend(match node.item {
            TreeItem::Group(group) => Some(ViewCommand::FoldGroup(group, !row.folded)),
            TreeItem::Track(track) => Some(ViewCommand::FoldTrack(track, !row.folded)),
            TreeItem::Derived(_) => None,
        });
    }
    if response.hovered() && can_fold {
        ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
    }

    let is_group = matches!(node.item, TreeItem::Group(_));
    if is_group {
        painter.rect_filled(area, 0.0, theme.heading);
    }
    if response.hovered() && can_fold {
        painter.rect_filled(area, 0.0, theme.edge.gamma_multiply(0.4));
    }
    let height = if is_group { row.height } else { LANE };
    let mut x = area.left() + 8.0 + INDENT * f32::from(node.indent);
    let y = top + height / 2.0;
    if can_fold {
        fold_mark(painter, pos2(x + 4.0, y), row.folded, theme.text_weak);
    }
    x += 14.0;
    let is_late = matches!(node.item, TreeItem::Group(group) if late.contains(&group));
    let (font, color) = font_and_color(theme, row, is_group, is_late);
    if is_late {
        // As high as the heading, so that it is seen where a name is too small to read.
        let mark = visible.with_max_x(visible.left() + LATE);
        painter.rect_filled(mark, 0.0, theme.warning);
        ui.interact(mark, response.id.with("late"), Sense::hover())
            .labeled(Role::Label, format_args!("{} is late", node.title));
    }
    let room = area.right() - 8.0 - x;
    let size = elided_name(painter, pos2(x, y), &node.title, room, &font, color);
    let small = FontId::new(font.size.min(small_font().size), FontFamily::Proportional);
    let small_text = |pos, text: &str, room, color| {
        if !text.is_empty() {
            elided(painter, pos, Align2::LEFT_CENTER, text, room, &small, color);
        }
    };
    let hidden = row.hidden_text().unwrap_or_default();
    let has_room_below = row.lanes > 1 && top + 2.0 * LANE <= area.bottom();
    if has_room_below {
        small_text(pos2(x, y + LANE), &hidden, room, theme.accent);
    }
    let group = group_outside(trace, state, row, is_pinned);
    let note = match group {
        Some(group) => group,
        None if is_group => &node.note,
        None if has_room_below => "",
        None => &hidden,
    };
    let free = room - size.x - 12.0;
    if free > 40.0 {
        small_text(pos2(x + size.x + 10.0, y), note, free, theme.text_weak);
    }
    if !is_group && !row.is_joined {
        painter.hline(
            area.x_range(),
            area.bottom() - 1.0,
            (1.0, theme.edge.gamma_multiply(0.5)),
        );
    }
    response.context_menu(|ui| menu_ui(ui, trace, (node, row), state, out));
    hover_ui(response, node, group.map(String::as_str), is_late);
}

fn font_and_color(
    theme: &Theme,
    row: &TrackRow,
    is_group: bool,
    is_late: bool,
) -> (FontId, Color32) {
    let size = if is_group {
        // Among many folded groups, names are as small as their rows.
        (row.height - 1.0).min(13.0)
    } else {
        12.0
    };
    let color = match (is_late, is_group) {
        (true, _) => theme.warning,
        (_, true) => theme.text_strong,
        _ => theme.text,
    };
    (FontId::new(size, FontFamily::Proportional), color)
}

/// The name of the group of a track that is shown outside of it.
fn group_outside<'a>(
    trace: &'a OpenTrace,
    state: &ViewState,
    row: &TrackRow,
    is_pinned: bool,
) -> Option<&'a String> {
    let item = trace.tree.node(row.node).item;
    let is_first = matches!(item, TreeItem::Group(group) if state.ordered.contains(&group));
    if !is_pinned && !is_first {
        return None;
    }
    let group = trace.tree.group_of(row.node)?;
    Some(&trace.tree.node(group).title)
}

/// The tooltip of a name; `group` is that of a track outside of its group.
fn hover_ui(response: Response, node: &TrackNode, group: Option<&str>, is_late: bool) {
    response.on_hover_ui(|ui| {
        ui.strong(&node.title);
        if let Some(group) = group {
            ui.label(group);
        }
        if !node.note.is_empty() {
            ui.label(&node.note);
        }
        if is_late {
            ui.label("Late: over the whole trace, the other devices wait for this one");
        }
        ui.weak(if node.item.derived().is_some() {
            "Right-click: hide"
        } else {
            "Right-click: pin, hide, move"
        });
    });
}

/// The context menu of a track or group.
fn menu_ui(
    ui: &mut Ui,
    trace: &OpenTrace,
    (node, row): (&TrackNode, &TrackRow),
    state: &ViewState,
    out: &mut ViewCommands,
) {
    let mut entry = |ui: &mut Ui, label: &str, command: ViewCommand| {
        let id = match command {
            ViewCommand::HideEmpty => "hide-empty",
            ViewCommand::ShowAllTracks => "show-all",
            ViewCommand::Pin(..) => "pin",
            ViewCommand::ShowRows(rows, _) => rows.action(),
            _ => "",
        };
        if menu_entry(ui, label, id).clicked() {
            out.push(command);
            ui.close();
        }
    };
    match node.item {
        TreeItem::Track(track) => {
            let pinned = state.pinned.contains(&track);
            let label = if pinned { "Unpin" } else { "Pin to the top" };
            entry(ui, label, ViewCommand::Pin(track, !pinned));
            let label = if pinned {
                "Unpin on all devices"
            } else {
                "Pin on all devices"
            };
            entry(ui, label, ViewCommand::PinEverywhere(track, !pinned));
            if node.counter.is_some() {
                let times = state.track_heights.get(&track).copied().unwrap_or(1);
                if times < MOST_HEIGHT {
                    entry(ui, "Taller", ViewCommand::TrackHeight(track, times + 1));
                }
                if times > 1 {
                    entry(ui, "Lower", ViewCommand::TrackHeight(track, times - 1));
                }
            }
            if node.lanes.1 > 1 {
                let label = if row.folded { "Unfold" } else { "Fold" };
                entry(ui, label, ViewCommand::FoldTrack(track, !row.folded));
            }
            for (rows, title) in trace.tree.rows_beside(&trace.model, track) {
                let is_on = state.derived.contains(&rows);
                let label = if is_on {
                    format!("{title}: off")
                } else {
                    title.to_owned()
                };
                entry(ui, &label, ViewCommand::ShowRows(rows, !is_on));
            }
        }
        TreeItem::Group(group) => {
            entry(
                ui,
                if row.folded { "Unfold" } else { "Fold" },
                ViewCommand::FoldGroup(group, !row.folded),
            );
        }
        TreeItem::Derived(track) => {
            let label = match track.rows() {
                Some(_) => "Hide on all devices",
                None => "Remove this track",
            };
            entry(ui, label, ViewCommand::Hide(node.item, true));
            return copy_name_ui(ui, node);
        }
    }
    entry(ui, "Hide", ViewCommand::Hide(node.item, true));
    entry(
        ui,
        "Hide tracks without slices in sight",
        ViewCommand::HideEmpty,
    );
    entry(ui, "Move up", ViewCommand::Move(node.item, -1));
    entry(ui, "Move down", ViewCommand::Move(node.item, 1));
    if state.leaves_out() {
        entry(ui, "Show all that is hidden", ViewCommand::ShowAllTracks);
    }
    copy_name_ui(ui, node);
}

fn copy_name_ui(ui: &mut Ui, node: &TrackNode) {
    if ui.button("Copy name").clicked() {
        ui.ctx().copy_text(node.title.clone());
        ui.close();
    }
}

/// The edge between names and canvas, which can be dragged.
pub fn splitter_ui(ui: &Ui, names: Rect, state: &ViewState, out: &mut ViewCommands) {
    let edge = Rect::from_x_y_ranges(names.right() - 3.0..=names.right() + 3.0, names.y_range());
    let response = ui.interact(edge, ui.scope_id().with("splitter"), Sense::drag());
    response.labeled(Role::Splitter, "Width of names");
    if response.dragged() {
        out.push(ViewCommand::LabelWidth(
            state.label_width + response.drag_delta().x,
        ));
    }
    if response.hovered() || response.dragged() {
        ui.ctx().set_cursor_icon(CursorIcon::ResizeHorizontal);
        let line = Stroke::new(2.0, theme::current(ui).accent);
        ui.painter().line_segment(
            [edge.center_top() + vec2(0.0, 0.0), edge.center_bottom()],
            line,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_stays_in_sight_as_long_as_its_track() {
        let area = |top: f32| Rect::from_x_y_ranges(0.0..=100.0, top..=top + 10.0 * LANE);
        let is_at = |area: Rect, top: f32| (name_top(area, 30.0) - top).abs() < 0.01;
        assert!(is_at(area(50.0), 50.0));
        assert!(is_at(area(-60.0), 30.0), "its beginning is scrolled out");
        let leaving = area(30.0 - 9.5 * LANE);
        assert!(
            is_at(leaving, leaving.bottom() - LANE),
            "it leaves with its last lane"
        );
    }
}
