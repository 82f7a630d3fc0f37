//! The ops with the most device time.

use analysis::reports::ops::op_stats::{OpRow, Ops, OpsReport};
use analysis::{Analysis as _, Cell, Table, Unit, counted};
use egui::{Response, RichText, ScrollArea, Sense, Ui, vec2};
use trace_model::Picos;

use crate::gui::panels::context::PanelContext;
use crate::gui::panels::context::section_ui;
use crate::gui::panels::copy::row_menu;
use crate::gui::panels::follow::ScrollToSelection;
use crate::gui::panels::number::{fitting, number};
use crate::gui::theme::{Theme, small_font};
use crate::gui::timeline::paint::elided_middle;
use crate::gui::times;
use crate::view::state::HighlightedLabels;
use crate::view::state::ViewCommand;
use std::collections::BTreeSet;

/// Height of a row.
const ROW: f32 = 20.0;
/// Visible rows; the others are scrolled to.
const IN_SIGHT: usize = 12;

/// A column of numbers.
struct TopOpsColumn {
    title: &'static str,
    about: &'static str,
    width: f32,
    text: fn(&OpRow) -> String,
}

/// The columns, from the right.
static COLUMNS: [TopOpsColumn; 4] = [
    TopOpsColumn {
        title: "of limit",
        about: "Least time that the tightest known limit allows, as a share of the time taken",
        width: 62.0,
        text: |row| percent(row.rates.efficiency_percent),
    },
    TopOpsColumn {
        title: "of op time",
        about: "Self time as a share of all ops' self time, idle time left out",
        width: 72.0,
        text: |row| percent(row.self_of_op_time_percent),
    },
    TopOpsColumn {
        title: "self time",
        about: "Time of all executions, without their child ops",
        width: 78.0,
        text: |row| times::time(Picos::from_ps(row.self_time_ps)),
    },
    TopOpsColumn {
        title: "runs",
        about: "Executions",
        width: 50.0,
        text: |row| number(row.occurrences as f64, Unit::Count),
    },
];
/// Index of the column "of limit".
const LIMIT: usize = 0;
const TIME: usize = 2;
const RUNS: usize = 3;

/// The columns that fit into a width, with their right edges, and their total width.
fn columns(room: f32) -> (Vec<(f32, &'static TopOpsColumn)>, f32) {
    let mut widths = COLUMNS.each_ref().map(|column| column.width);
    widths[TIME] += times::more_room();
    let (placed, width) = fitting(room, widths, [RUNS, LIMIT]);
    (placed.into_iter().map(|(at, edge)| (edge, &COLUMNS[at])).collect(), width)
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| number(value, Unit::Percent))
}

/// A table; a click goes to the longest execution.
pub fn top_ops_ui(ui: &mut Ui, sight: PanelContext<'_>, follow: &mut ScrollToSelection, out: &mut Vec<ViewCommand>) {
    let Ok(Some(report)) = sight.reports.get::<Ops>() else { return };
    let trace = sight.trace;
    if report.rows.is_empty() {
        return;
    }
    section_ui(ui, "Ops", "by self time; click an op to see its longest execution");
    heading_ui(ui);
    let width = ui.available_width();
    let selected = sight.state.place.selection;
    let own = selected.and_then(|slice| trace.model.slice(slice).op());
    let row_of = |_| report.rows.iter().position(|row| own.is_some() && row.op == own);
    let mut area = ScrollArea::vertical();
    if let Some(offset) = follow.offset(selected, row_of, ROW) {
        area = area.vertical_scroll_offset(offset);
    }
    let area = area.id_salt("top ops").max_height(ROW * IN_SIGHT as f32).auto_shrink([false, true]);
    ui.scope(|ui| {
        // Must be set before the scroll area computes row heights, which include the spacing.
        ui.spacing_mut().item_spacing.y = 0.0;
        area.show_rows(ui, ROW, report.rows.len(), |ui, range| {
            follow.saw(&range, ui.max_rect().top(), ui.clip_rect(), ROW);
            for row in range.filter_map(|row| report.rows.get(row)) {
                let response = row_ui(ui, row, width, own.is_some() && row.op == own);
                row_menu(&response, || table_row(sight, row));
                let response = response.on_hover_ui(|ui| hover_ui(ui, row, report));
                if response.clicked()
                    && let Some(op) = row.op
                {
                    let labels = trace.labels_of(&BTreeSet::from([op]));
                    out.extend(trace.longest(&labels).map(ViewCommand::GoTo));
                    out.push(ViewCommand::Highlight(Some(HighlightedLabels::new(&*row.name, labels))));
                }
            }
        })
    });
}

/// The row of an op in the table of ops.
fn table_row<'a>(sight: PanelContext<'a>, row: &OpRow) -> Option<(&'a Table, &'a [Cell])> {
    let table = sight.reports.by_id(Ops::ID).ok()??.tables.iter().find(|table| table.id == "ops")?;
    let column = |id: &str| table.columns.iter().position(|column| column.id == id);
    let (name, program) = (column("name")?, column("program")?);
    let is = |cell: Option<&Cell>, text: &str| matches!(cell, Some(Cell::Text(own)) if own == text);
    let cells = table.rows.iter().find(|cells| is(cells.get(name), &row.name) && is(cells.get(program), &row.program));
    Some((table, cells?))
}

fn heading_ui(ui: &mut Ui) {
    let theme = Theme::current(ui);
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), ROW - 4.0), Sense::hover());
    for (offset, TopOpsColumn { title, about, .. }) in columns(rect.width()).0 {
        let at = rect.right_center() - vec2(offset + 6.0, 0.0);
        let drawn = ui.painter().text(at, egui::Align2::RIGHT_CENTER, title, small_font(), theme.text_weak);
        ui.interact(drawn, ui.scope_id().with(("top ops heading", title)), Sense::hover()).on_hover_text(*about);
    }
}

/// One op.
fn row_ui(ui: &mut Ui, row: &OpRow, width: f32, is_own: bool) -> Response {
    let theme = Theme::current(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(width, ROW), Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Op {}", &row.name)));
    let painter = ui.painter_at(rect);
    if is_own {
        painter.rect_filled(rect, 2.0, theme.accent.gamma_multiply(0.22));
    } else if response.hovered() {
        painter.rect_filled(rect, 2.0, theme.raised);
    }
    let swatch = egui::Rect::from_center_size(rect.left_center() + vec2(8.0, 0.0), vec2(9.0, 9.0));
    painter.rect_filled(swatch, 2.0, theme.group(row.group));
    let font = egui::FontId::proportional(12.0);
    let (columns, numbers) = columns(rect.width());
    let room = rect.width() - numbers - 18.0;
    elided_middle(&painter, rect.left_center() + vec2(18.0, 0.0), &row.name, room, &font, theme.text);
    for (offset, column) in columns {
        let at = rect.right_center() - vec2(offset + 6.0, 0.0);
        painter.text(at, egui::Align2::RIGHT_CENTER, (column.text)(row), font.clone(), theme.text);
    }
    response.on_hover_cursor(egui::CursorIcon::PointingHand)
}

fn hover_ui(ui: &mut Ui, row: &OpRow, report: &OpsReport) {
    ui.label(RichText::new(&*row.name).strong());
    ui.weak(format!("{} · {}", row.category, &row.program));
    ui.label(format!(
        "{}, {} each on average",
        counted(row.occurrences, "execution"),
        times::time(Picos::from_ps(row.mean_time_ps as i64))
    ));
    for (title, value, unit) in [
        ("achieved", row.rates.flops_per_second, Unit::FlopPerSecond),
        ("of peak FLOP/s", row.rates.flops_percent, Unit::Percent),
        ("HBM", row.rates.hbm_bytes_per_second, Unit::BytesPerSecond),
        ("of peak HBM bandwidth", row.rates.hbm_percent, Unit::Percent),
    ] {
        if let Some(value) = value {
            ui.label(format!("{title}: {}", number(value, unit)));
        }
    }
    if let Some(bound) = row.rates.bound_by {
        ui.label(format!("bound by {}", bound.title()));
    }
    if let Some((limit, at)) = row.rates.beyond_peak {
        let at = number(at, Unit::Percent);
        ui.label(format!(
            "{at} of the peak ({}) is impossible: the costs of the op or the peak are wrong",
            limit.title()
        ));
    }
    for (column, share) in [("of op time", row.self_of_op_time_percent), ("of the window", row.self_of_total_percent)] {
        if let Some(share) = share {
            ui.label(format!("self time: {} {column}", number(share, Unit::Percent)));
        }
    }
    let (flops, hbm) = (report.peaks.flops_text(), report.peaks.hbm_text());
    ui.weak(format!("Times: measured. Work: by the compiler's cost model. Peaks: {flops}; {hbm}."));
    for text in [&row.framework_name, &row.source].into_iter().flatten() {
        ui.weak(&**text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::time_format::TimeFormat;

    #[test]
    fn number_columns_shrink_for_long_names() {
        let titles = |room| columns(room).0.iter().map(|(_, column)| column.title).collect::<Vec<_>>();
        assert_eq!(titles(420.0), ["of limit", "of op time", "self time", "runs"]);
        times::write_as(TimeFormat::Exact);
        assert_eq!(titles(420.0), ["of op time", "self time"]);
        assert_eq!(titles(600.0), ["of limit", "of op time", "self time", "runs"]);
        times::write_as(TimeFormat::Digits);
    }
}
