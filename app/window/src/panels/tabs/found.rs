//! The list of search results; only visible rows are laid out.

use super::prelude::*;
use analysis::measured_range;
use trace_model::short_device_name;

use crate::panels::copy::{csv_ui, made_row_menu};
use crate::panels::follow::ScrollToSelection;
use crate::panels::search::count_text;
use crate::panels::table::{PAD, heading_row_ui, order_mark, write_cell};
use view::search::{OrderBy, SearchResults, order, table};
use view::state::FOUND_TAB;
use view::viewport::tick_label;

pub const TAB: Tab = Tab {
    id: FOUND_TAB,
    title: "Found",
    subject: TabSubject::Other,
    icon: "ring 0.4 0.4 0.34; line 0.66 0.66 0.96 0.96",
    is_offered: |context| context.state.is_searching(),
    count: |context| Some(context.search.latest()?.total),
    panel: |wake| {
        Box::new(FoundPanel {
            list: ResultList::default(),
            order: Worker::new("order of what was found", wake),
        })
    },
    ..TABLES
};

struct FoundPanel {
    list: ResultList,
    order: Worker<ResultOrder, Vec<u32>>,
}

impl TabPanel for FoundPanel {
    fn poll(&mut self, is_open: bool) {
        self.order.poll();
        if !is_open {
            // The order can have millions of entries, so it is not kept.
            self.order.clear();
        }
    }

    fn is_settled(&self) -> bool {
        !self.order.is_running()
    }

    fn ui(&mut self, ui: &mut Ui, tab: TabContent<'_>) {
        let PanelContext { trace, search, .. } = tab.context;
        let wanted = search.latest().and_then(|results| self.list.order(results));
        if let (JobAnswer::Ready(_), Some(wanted)) = (search, &wanted) {
            let (model, tree) = (trace.model.clone(), Arc::clone(&trace.tree));
            let wanted_order = wanted.clone();
            self.order.ask(wanted.clone(), move |progress| {
                order(
                    &model,
                    &tree,
                    &wanted_order.found,
                    wanted_order.by,
                    wanted_order.descending,
                    progress,
                )
            });
        }
        let order = match self.order.memo() {
            JobAnswer::Ready(order) if wanted.is_some() && self.order.key() == wanted.as_ref() => {
                Some(order.as_slice())
            }
            _ => None,
        };
        found_ui(ui, tab.context, order, &mut self.list, tab.out);
    }
}

/// Height of a row.
const ROW: f32 = 20.0;

/// A request to sort search results.
#[derive(Clone)]
struct ResultOrder {
    /// The results to sort.
    pub found: Arc<SearchResults>,
    pub by: OrderBy,
    /// Whether the largest comes first.
    pub descending: bool,
}

impl PartialEq for ResultOrder {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.found, &other.found)
            && (self.by, self.descending) == (other.by, other.descending)
    }
}

/// Sort order and scroll position of the list.
#[derive(Default)]
struct ResultList {
    by: OrderBy,
    descending: bool,
    follow: ScrollToSelection,
}

impl ResultList {
    /// The sort that has to be computed; `None` for time order.
    fn order(&self, results: &Arc<SearchResults>) -> Option<ResultOrder> {
        let made = self.by != OrderBy::Time || self.descending;
        made.then(|| ResultOrder {
            found: Arc::clone(results),
            by: self.by,
            descending: self.descending,
        })
    }
}

/// The list; a click goes to the slice.
fn found_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    order: Option<&[u32]>,
    list: &mut ResultList,
    out: &mut AppCommands,
) {
    let PanelContext { trace, state, .. } = context;
    let Some(results) = context.search.latest().filter(|_| state.is_searching()) else {
        ui.weak("No search is active and nothing is highlighted.");
        return;
    };
    ui.horizontal(|ui| {
        ui.strong(count_text(&trace.model, results, state.place.selection));
        if order.is_none() && list.order(results).is_some() {
            ui.spinner();
        }
        at_right(ui, |ui| {
            let rows = || {
                (0..results.slices.len()).map(|row| {
                    order.map_or(row, |order| {
                        order.get(row).map_or(row, |&number| number as usize)
                    })
                })
            };
            csv_ui(
                ui,
                "found",
                || {
                    Some(table(
                        &trace.model,
                        rows().filter_map(|row| results.slices.get(row).copied()),
                    ))
                },
                out,
            );
        });
    });
    let widths = widths(ui.available_width() - 12.0);
    heading_ui(ui, list, &widths);
    let count = results.slices.len();
    let mut area = ScrollArea::vertical()
        .id_salt("found")
        .auto_shrink([false, false]);
    // Only in time order is the row of a slice known.
    let row = |slice| {
        results
            .number(&trace.model, Some(slice))
            .map(|number| number - 1)
            .filter(|_| order.is_none())
    };
    if let Some(offset) = list.follow.offset(state.place.selection, row, ROW) {
        area = area.vertical_scroll_offset(offset);
    }
    // Must be set before the scroll area computes row heights, which include the spacing.
    ui.spacing_mut().item_spacing = vec2(0.0, 0.0);
    area.show_rows(ui, ROW, count, |ui, rows| {
        list.follow
            .saw(&rows, ui.max_rect().top(), ui.clip_rect(), ROW);
        for row in rows {
            let number = order.map_or(Some(row), |order| {
                order.get(row).map(|&number| number as usize)
            });
            if let Some(&slice) = number.and_then(|number| results.slices.get(number))
                && row_ui(ui, trace, state, slice, &widths)
            {
                out.push(ViewCommand::GoTo(slice).into());
            }
        }
    });
}

/// Columns from the left: sort key, title, width.
type ColumnWidths = [(OrderBy, &'static str, f32); 4];

fn widths(room: f32) -> ColumnWidths {
    let time = 90.0 + times::more_room();
    let track = (room * 0.28).clamp(60.0, 220.0);
    let name = (room - 2.0 * time - track).max(90.0);
    [
        (OrderBy::Time, "Time", time),
        (OrderBy::Duration, "Duration", time),
        (OrderBy::Name, "Name", name),
        (OrderBy::Track, "Track", track),
    ]
}

fn heading_ui(ui: &mut Ui, list: &mut ResultList, widths: &ColumnWidths) {
    let theme = theme::current(ui);
    let (rect, painter) = heading_row_ui(ui);
    let mut x = rect.left();
    for &(by, title, width) in widths {
        let cell = Rect::from_x_y_ranges(x..=x + width, rect.y_range());
        x += width;
        let response = ui.interact(
            cell,
            ui.scope_id().with(("found by", title)),
            Sense::click(),
        );
        response.labeled(Role::Button, format_args!("Sort found by {title}"));
        let is_own = list.by == by;
        let color = if is_own || response.hovered() {
            theme.text_strong
        } else {
            theme.text_weak
        };
        write_cell(
            &painter,
            cell,
            title,
            matches!(by, OrderBy::Name | OrderBy::Track),
            &small_font(),
            color,
        );
        if is_own {
            order_mark(&painter, cell, list.descending, theme.accent);
        }
        if response.on_hover_text("Click to sort").clicked() {
            // The longest first, because they are needed more often than the shortest.
            list.descending = if is_own {
                !list.descending
            } else {
                by == OrderBy::Duration
            };
            list.by = by;
        }
    }
}

/// One slice; returns whether it was clicked.
fn row_ui(
    ui: &mut Ui,
    trace: &OpenTrace,
    state: &ViewState,
    slice: SliceId,
    widths: &ColumnWidths,
) -> bool {
    let theme = theme::current(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    let found_slice = trace.model.slice(slice);
    response.labeled(Role::Button, format_args!("Found {}", found_slice.name()));
    let fill = match () {
        () if state.place.selection == Some(slice) => theme.accent.gamma_multiply(0.22),
        () if response.hovered() => theme.raised,
        () => Color32::TRANSPARENT,
    };
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, fill);
    let track = found_slice.track_ref();
    let group = trace.model.str(trace.model.group(track.group).name);
    let font = FontId::proportional(12.0);
    let mut x = rect.left();
    for &(by, _, width) in widths {
        let cell = Rect::from_x_y_ranges(x..=x + width, rect.y_range());
        x += width;
        match by {
            OrderBy::Time => write_cell(
                &painter,
                cell,
                &start_text(trace, found_slice.start()),
                false,
                &font,
                theme.text,
            ),
            OrderBy::Duration => {
                write_cell(
                    &painter,
                    cell,
                    &time(measured_range(found_slice, &trace.model).dur()),
                    false,
                    &font,
                    theme.text,
                );
            }
            OrderBy::Name => write_cell(
                &painter,
                cell,
                found_slice.name(),
                true,
                &font,
                theme.text_strong,
            ),
            OrderBy::Track => {
                let text = format!(
                    "{} {}",
                    short_device_name(group),
                    trace.model.str(track.name)
                );
                let pos = pos2(cell.left() + PAD, cell.center().y);
                elided(
                    &painter,
                    pos,
                    Align2::LEFT_CENTER,
                    &text,
                    cell.width() - PAD,
                    &font,
                    theme.text_weak,
                );
            }
        }
    }
    made_row_menu(&response, || table(&trace.model, std::iter::once(slice)));
    let response = response
        .on_hover_cursor(CursorIcon::PointingHand)
        .on_hover_ui(|ui| {
            ui.strong(found_slice.name());
            ui.label(format!("{} of {group}", trace.model.str(track.name)));
            ui.weak(format!(
                "Time: as on the ruler. Duration: {}, by the clock that timed it.",
                times::origin()
            ));
        });
    response.clicked()
}

/// The start of a slice with a precision of at least a millionth of the trace; with four digits, neighbouring rows
/// would look the same.
fn start_text(trace: &OpenTrace, start: Timestamp) -> String {
    let extent = trace.model.extent();
    let start = start.since_origin();
    if times::format() != TimeFormat::Digits {
        return time(start);
    }
    let digits = extent.dur().ps().max(1).ilog10().saturating_sub(6);
    tick_label(start, Picos::from_ps(10_i64.pow(digits)))
}
