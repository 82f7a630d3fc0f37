//! The ops with the most device time.

use crate::panels::tabs::prelude::*;
use analysis::counted;
use analysis::reports::{OpRow, OpsReport};

use crate::panels::copy::row_menu;
use crate::panels::op_rows::{OpRowLook, OpRowNumbers, ROW, heading_ui, row_ui};
use view::panels::op_families::{OpFamily, families};
use view::panels::optree::above_limit;

/// Rows shown at first.
const IN_SIGHT: usize = 12;

/// A family of ops, or an op of an unfolded one.
struct TopOpsRow {
    title: String,
    /// Tells families of one name apart.
    category: String,
    group: OpGroup,
    /// In a step on a device.
    numbers: OpRowNumbers,
    /// Indices of its ops in the report.
    ops: Vec<usize>,
    /// Whether it is an op of the family above.
    is_inside: bool,
}

impl TopOpsRow {
    fn of_family(family: &OpFamily<'_>, report: &OpsReport) -> Self {
        let each = report.sums_over.each_ps(family.self_time_ps);
        Self {
            title: format!(
                "{} ×{}",
                family.title(),
                group_digits(family.rows.len() as u64)
            ),
            category: family.rows[0].category.to_string(),
            group: family.rows[0].group,
            numbers: OpRowNumbers {
                above_limit_ps: above_limit(each, family.efficiency_percent()),
                of_limit_percent: family.efficiency_percent(),
                of_op_time_percent: Percent::of(family.self_time_ps, report.op_time_ps),
                self_time_ps: each,
                occurrences: family.occurrences(),
            },
            ops: family.places.clone(),
            is_inside: false,
        }
    }

    fn of_op(row: &OpRow, report: &OpsReport, op: usize, is_inside: bool) -> Self {
        let each = report.sums_over.each_ps(row.self_time_ps);
        Self {
            title: row.name.to_string(),
            category: row.category.to_string(),
            group: row.group,
            numbers: OpRowNumbers {
                above_limit_ps: above_limit(each, row.rates.efficiency_percent),
                of_limit_percent: row.rates.efficiency_percent,
                of_op_time_percent: row.self_of_op_time_percent,
                self_time_ps: each,
                occurrences: row.occurrences,
            },
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

    fn look(&self, is_open: bool, is_own: bool) -> OpRowLook<'_> {
        OpRowLook {
            kind: if self.is_family() { "Ops" } else { "Op" },
            title: &self.title,
            group: self.group,
            indent: if self.is_inside { 16.0 } else { 0.0 },
            open: self.is_family().then_some(is_open),
            is_own,
        }
    }
}

/// State between frames.
#[derive(Default)]
pub struct TopOps {
    /// Unfolded families.
    open: BTreeSet<(String, String)>,
    rows: Vec<TopOpsRow>,
    is_made: bool,
    /// Whether the rows beyond the first are shown, too.
    shows_all: bool,
    /// The op of the selected slice, and its last row.
    own: Option<(OpId, Option<usize>)>,
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
        self.own = None;
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

/// A table; a click on an op goes to the longest execution, one on a family unfolds it.
pub fn top_ops_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    made: &mut TopOps,
    out: &mut ViewCommands,
) {
    let Some(report) = context.reports.ready::<Ops>() else {
        return;
    };
    let trace = context.trace;
    if report.rows.is_empty() {
        return;
    }
    made.make(report);
    let each = report.sums_over.title([
        "in a step on a device, with what runs outside of steps",
        "on a device",
    ]);
    let about = format!(
        "by self time {each}, those of one name together; click an op to see its longest execution"
    );
    section_ui(ui, "Ops", &about);
    let width = ui.available_width();
    heading_ui(ui, width, report.sums_over);
    let selected = context.selected_op();
    let TopOps {
        open,
        rows,
        is_made,
        shows_all,
        own: own_place,
    } = made;
    let is_own = |row: &TopOpsRow| {
        selected.is_some() && row.ops.iter().any(|&op| report.rows[op].op == selected)
    };
    // An op of an unfolded family lies below it.
    if own_place.map(|(op, _)| op) != selected {
        *own_place = selected.map(|op| (op, rows.iter().rposition(is_own)));
    }
    let own_row = own_place.and_then(|(_, row)| row);
    let first = if *shows_all {
        rows.len()
    } else {
        rows.len().min(IN_SIGHT)
    };
    // The op of the selected slice is shown, too, wherever it is in the list.
    let shown: Vec<usize> = (0..first)
        .chain(own_row.filter(|&row| row >= first))
        .collect();
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        // Rows of the list around it: only those in sight are drawn.
        let (top, clip) = (ui.cursor().top(), ui.clip_rect());
        let row_at = |y: f32| ((y - top) / ROW).clamp(0.0, shown.len() as f32);
        let range = row_at(clip.top()).floor() as usize..row_at(clip.bottom()).ceil() as usize;
        ui.add_space(range.start as f32 * ROW);
        let in_sight = shown.get(range.clone()).unwrap_or_default();
        for row in in_sight.iter().filter_map(|&row| rows.get(row)) {
            let is_open = row.is_family() && open.contains(&row.key());
            let is_own = is_own(row) && !is_open;
            let response = row_ui(ui, width, &row.look(is_open, is_own), &row.numbers.texts());
            let response = match row.ops.first().and_then(|&op| report.rows.get(op)) {
                Some(op) if !row.is_family() => {
                    row_menu(&response, || table_row(context, op));
                    response.hint_left(|ui| hover_ui(ui, op, report))
                }
                _ => response.on_hover_text("Click to see its ops"),
            };
            if !response.clicked() {
                continue;
            }
            if row.is_family() {
                if !open.remove(&row.key()) {
                    open.insert(row.key());
                }
                *is_made = false;
            }
            out.extend(shows(row, report, trace));
        }
        ui.add_space((shown.len() - range.end) as f32 * ROW);
    });
    let beyond = rows.len() - shown.len();
    if beyond > 0
        && ui
            .link(format!("{} more", group_digits(beyond as u64)))
            .clicked()
    {
        *shows_all = true;
    }
}

/// What a click shows: the slices of the row, and of a single op the longest.
fn shows(row: &TopOpsRow, report: &OpsReport, trace: &OpenTrace) -> ViewCommands {
    let ops: BTreeSet<_> = row
        .ops
        .iter()
        .filter_map(|&op| report.rows.get(op)?.op)
        .collect();
    let labels = trace.labels_of(&ops);
    let longest = (!row.is_family()).then(|| trace.longest(&labels)).flatten();
    let mut commands: ViewCommands = longest.map(ViewCommand::GoTo).into_iter().collect();
    if !labels.is_empty() {
        commands.push(ViewCommand::highlight(&row.title, labels));
    }
    commands
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

fn hover_ui(ui: &mut Ui, row: &OpRow, report: &OpsReport) {
    ui.strong(&*row.name);
    ui.weak(format!("{} · {}", row.category, &row.program));
    ui.label(format!(
        "{} on all devices, {} each on average",
        counted(row.occurrences, "execution"),
        times::time_ps(row.mean_time_ps as i64)
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
    if let Some((limit, reached)) = row.rates.beyond_peak {
        let reached = number(reached, Unit::Percent);
        ui.label(format!(
            "{reached} of the peak ({}) is impossible: the costs of the op or the peak are wrong",
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
