//! The ops with the most device time.

use std::collections::BTreeSet;

use analysis::reports::ops::op_stats::{OpRow, Ops, OpsReport};
use analysis::{Analysis as _, Cell, OpGroup, Percent, Table, Unit, counted};
use egui::{Response, RichText, ScrollArea, Sense, Ui, vec2};
use trace_model::Picos;

use crate::panels::context::PanelContext;
use crate::panels::context::section_ui;
use crate::panels::copy::row_menu;
use crate::panels::follow::ScrollToSelection;
use crate::panels::number::{fitting, number};
use crate::theme::{self, small_font};
use crate::timeline::elide::elided_middle;
use crate::timeline::paint::fold_mark;
use crate::times;
use view::panels::op_families::{OpFamily, families};
use view::state::{HighlightedLabels, ViewCommand};
use view::timeline::tree::group_digits;

/// Height of a row.
const ROW: f32 = 20.0;
/// Visible rows; the others are scrolled to.
const IN_SIGHT: usize = 12;

/// A family of ops, or an op of an unfolded one.
struct TopOpsRow {
    title: String,
    /// Tells families of one name apart.
    category: String,
    group: OpGroup,
    occurrences: u64,
    /// In a step on a device.
    self_time_ps: Picos,
    of_op_time_percent: Option<Percent>,
    of_limit_percent: Option<Percent>,
    /// Indices of its ops in the report.
    ops: Vec<usize>,
    /// Whether it is an op of the family above.
    is_inside: bool,
}

impl TopOpsRow {
    fn of_family(family: &OpFamily<'_>, report: &OpsReport) -> Self {
        Self {
            title: format!(
                "{} ×{}",
                family.title(),
                group_digits(family.rows.len() as u64)
            ),
            category: family.rows[0].category.to_string(),
            group: family.rows[0].group,
            occurrences: family.occurrences(),
            self_time_ps: report.sums_over.each_ps(family.self_time_ps),
            of_op_time_percent: Percent::of(family.self_time_ps, report.op_time_ps),
            of_limit_percent: family.efficiency_percent(),
            ops: family.places.clone(),
            is_inside: false,
        }
    }

    fn of_op(row: &OpRow, report: &OpsReport, op: usize, is_inside: bool) -> Self {
        Self {
            title: row.name.to_string(),
            category: row.category.to_string(),
            group: row.group,
            occurrences: row.occurrences,
            self_time_ps: report.sums_over.each_ps(row.self_time_ps),
            of_op_time_percent: row.self_of_op_time_percent,
            of_limit_percent: row.rates.efficiency_percent,
            ops: vec![op],
            is_inside,
        }
    }

    fn key(&self) -> (String, String) {
        (self.title.clone(), self.category.clone())
    }

    fn is_family(&self) -> bool {
        self.ops.len() > 1
    }
}

/// State between frames.
#[derive(Default)]
pub struct TopOps {
    follow: ScrollToSelection,
    /// Unfolded families.
    open: BTreeSet<(String, String)>,
    rows: Vec<TopOpsRow>,
    is_made: bool,
}

impl TopOps {
    /// Forgets the rows, because a new report replaces the old one.
    pub fn forget_made(&mut self) {
        self.is_made = false;
    }

    fn make(&mut self, report: &OpsReport) {
        if std::mem::replace(&mut self.is_made, true) {
            return;
        }
        self.rows.clear();
        for family in families(&report.rows) {
            if let [only] = family.places[..] {
                self.rows
                    .push(TopOpsRow::of_op(family.rows[0], report, only, false));
                continue;
            }
            let row = TopOpsRow::of_family(&family, report);
            let inside = if self.open.contains(&row.key()) {
                row.ops.clone()
            } else {
                Vec::new()
            };
            self.rows.push(row);
            let of_op = |op| Some(TopOpsRow::of_op(report.rows.get(op)?, report, op, true));
            let inside = inside.into_iter().filter_map(of_op);
            self.rows.extend(inside);
        }
    }
}

/// A column of numbers.
struct TopOpsColumn {
    title: &'static str,
    about: &'static str,
    width: f32,
    text: fn(&TopOpsRow) -> String,
}

/// The columns, from the right.
static COLUMNS: [TopOpsColumn; 4] = [
    TopOpsColumn {
        title: "of limit",
        about: "Least time that the tightest known limit allows, as a share of the time taken",
        width: 62.0,
        text: |row| percent(row.of_limit_percent),
    },
    TopOpsColumn {
        title: "of op time",
        about: "Self time as a share of all ops' self time, idle time left out",
        width: 72.0,
        text: |row| percent(row.of_op_time_percent),
    },
    TopOpsColumn {
        title: "self time",
        about: "Time of executions without their child ops: in a step on a device, the mean over all; where there are no \
                steps, on a device",
        width: 78.0,
        text: |row| times::time(row.self_time_ps),
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
    (
        placed
            .into_iter()
            .map(|(at, edge)| (edge, &COLUMNS[at]))
            .collect(),
        width,
    )
}

fn percent(share: Option<Percent>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| number(share.0, Unit::Percent))
}

/// A table; a click on an op goes to the longest execution, one on a family unfolds it.
pub fn top_ops_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    made: &mut TopOps,
    out: &mut Vec<ViewCommand>,
) {
    let Ok(Some(report)) = context.reports.get::<Ops>() else {
        return;
    };
    let trace = context.trace;
    if report.rows.is_empty() {
        return;
    }
    made.make(report);
    let each = report
        .sums_over
        .title(["in a step on a device", "on a device"]);
    let about = format!(
        "by self time {each}, those of one name together; click an op to see its longest execution"
    );
    section_ui(ui, "Ops", &about);
    heading_ui(ui);
    let width = ui.available_width();
    let selected = context.state.place.selection;
    let own = selected.and_then(|slice| trace.model.slice(slice).op());
    let TopOps {
        follow,
        open,
        rows,
        is_made,
    } = made;
    let is_own =
        |row: &TopOpsRow| own.is_some() && row.ops.iter().any(|&op| report.rows[op].op == own);
    // An op of an unfolded family lies below it.
    let row_of = |_| rows.iter().rposition(is_own);
    let mut area = ScrollArea::vertical();
    if let Some(offset) = follow.offset(selected, row_of, ROW) {
        area = area.vertical_scroll_offset(offset);
    }
    let area = area
        .id_salt("top ops")
        .max_height(ROW * IN_SIGHT as f32)
        .auto_shrink([false, true]);
    ui.scope(|ui| {
        // Must be set before the scroll area computes row heights, which include the spacing.
        ui.spacing_mut().item_spacing.y = 0.0;
        area.show_rows(ui, ROW, rows.len(), |ui, range| {
            follow.saw(&range, ui.max_rect().top(), ui.clip_rect(), ROW);
            for row in range.filter_map(|row| rows.get(row)) {
                let is_open = row.is_family() && open.contains(&row.key());
                let response = row_ui(
                    ui,
                    row,
                    width,
                    is_own(row) && !(row.is_family() && is_open),
                    is_open,
                );
                let response = match row.ops.first().and_then(|&op| report.rows.get(op)) {
                    Some(op) if !row.is_family() => {
                        row_menu(&response, || table_row(context, op));
                        response.on_hover_ui(|ui| hover_ui(ui, op, report))
                    }
                    _ => response.on_hover_text("Click to see its ops"),
                };
                if !response.clicked() {
                    continue;
                }
                let ops: BTreeSet<_> = row
                    .ops
                    .iter()
                    .filter_map(|&op| report.rows.get(op)?.op)
                    .collect();
                let labels = trace.labels_of(&ops);
                if row.is_family() {
                    if !open.remove(&row.key()) {
                        open.insert(row.key());
                    }
                    *is_made = false;
                } else {
                    out.extend(trace.longest(&labels).map(ViewCommand::GoTo));
                }
                if !labels.is_empty() {
                    out.push(ViewCommand::Highlight(Some(HighlightedLabels::new(
                        &*row.title,
                        labels,
                    ))));
                }
            }
        })
    });
}

/// The row of an op in the table of ops.
fn table_row<'a>(context: PanelContext<'a>, row: &OpRow) -> Option<(&'a Table, &'a [Cell])> {
    let table = context
        .reports
        .by_id(Ops::ID)
        .ok()??
        .tables
        .iter()
        .find(|table| table.id == "ops")?;
    let column = |id: &str| table.columns.iter().position(|column| column.id == id);
    let (name, program) = (column("name")?, column("program")?);
    let is = |cell: Option<&Cell>, text: &str| matches!(cell, Some(Cell::Text(own)) if own == text);
    let cells = table
        .rows
        .iter()
        .find(|cells| is(cells.get(name), &row.name) && is(cells.get(program), &row.program));
    Some((table, cells?))
}

fn heading_ui(ui: &mut Ui) {
    let theme = theme::current(ui);
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), ROW - 4.0), Sense::hover());
    for (offset, TopOpsColumn { title, about, .. }) in columns(rect.width()).0 {
        let at = rect.right_center() - vec2(offset + 6.0, 0.0);
        let drawn = ui.painter().text(
            at,
            egui::Align2::RIGHT_CENTER,
            title,
            small_font(),
            theme.text_weak,
        );
        ui.interact(
            drawn,
            ui.scope_id().with(("top ops heading", title)),
            Sense::hover(),
        )
        .on_hover_text(*about);
    }
}

/// One op or family.
fn row_ui(ui: &mut Ui, row: &TopOpsRow, width: f32, is_own: bool, is_open: bool) -> Response {
    let theme = theme::current(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(width, ROW), Sense::click());
    let verb = if row.is_family() { "Ops" } else { "Op" };
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Button, true, format!("{verb} {}", &row.title))
    });
    let painter = ui.painter_at(rect);
    if is_own {
        painter.rect_filled(rect, 2.0, theme.accent.gamma_multiply(0.22));
    } else if response.hovered() {
        painter.rect_filled(rect, 2.0, theme.raised);
    }
    let indent = if row.is_inside { 16.0 } else { 0.0 };
    let center = rect.left_center() + vec2(8.0 + indent, 0.0);
    if row.is_family() {
        fold_mark(&painter, center, !is_open, theme.group(row.group));
    } else {
        painter.rect_filled(
            egui::Rect::from_center_size(center, vec2(9.0, 9.0)),
            2.0,
            theme.group(row.group),
        );
    }
    let font = egui::FontId::proportional(12.0);
    let (columns, numbers) = columns(rect.width());
    let room = rect.width() - numbers - 18.0 - indent;
    elided_middle(
        &painter,
        center + vec2(10.0, 0.0),
        &row.title,
        room,
        &font,
        theme.text,
    );
    for (offset, column) in columns {
        let at = rect.right_center() - vec2(offset + 6.0, 0.0);
        painter.text(
            at,
            egui::Align2::RIGHT_CENTER,
            (column.text)(row),
            font.clone(),
            theme.text,
        );
    }
    response.on_hover_cursor(egui::CursorIcon::PointingHand)
}

fn hover_ui(ui: &mut Ui, row: &OpRow, report: &OpsReport) {
    ui.label(RichText::new(&*row.name).strong());
    ui.weak(format!("{} · {}", row.category, &row.program));
    ui.label(format!(
        "{} on all devices, {} each on average",
        counted(row.occurrences, "execution"),
        times::time(Picos::from_ps(row.mean_time_ps as i64))
    ));
    for (title, value, unit) in [
        ("achieved", row.rates.flops_per_second, Unit::FlopPerSecond),
        (
            "of peak FLOP/s",
            row.rates.flops_percent.map(|share| share.0),
            Unit::Percent,
        ),
        ("HBM", row.rates.hbm_bytes_per_second, Unit::BytesPerSecond),
        (
            "of peak HBM bandwidth",
            row.rates.hbm_percent.map(|share| share.0),
            Unit::Percent,
        ),
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
    for (column, share) in [
        ("of op time", row.self_of_op_time_percent),
        ("of the window", row.self_of_total_percent),
    ] {
        if let Some(share) = share {
            ui.label(format!(
                "self time: {} {column}",
                number(share.0, Unit::Percent)
            ));
        }
    }
    let (flops, hbm) = (report.peaks.flops_text(), report.peaks.hbm_text());
    ui.weak(format!(
        "Times: {}. Work: by the compiler's cost model. Peaks: {flops}; {hbm}.",
        times::origin()
    ));
    for text in [&row.framework_name, &row.source].into_iter().flatten() {
        ui.weak(&**text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use view::time_format::TimeFormat;

    #[test]
    fn number_columns_shrink_for_long_names() {
        let titles = |room| {
            columns(room)
                .0
                .iter()
                .map(|(_, column)| column.title)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            titles(420.0),
            ["of limit", "of op time", "self time", "runs"]
        );
        times::write_as(TimeFormat::Exact);
        assert_eq!(titles(420.0), ["of op time", "self time"]);
        assert_eq!(
            titles(600.0),
            ["of limit", "of op time", "self time", "runs"]
        );
        times::write_as(TimeFormat::Digits);
    }
}
