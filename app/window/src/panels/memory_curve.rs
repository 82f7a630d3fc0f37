//! The recorded use of a memory over time, and the buffers that are live at a time: at the peak, or where it is
//! clicked.

use super::prelude::*;
use analysis::reports::Memory;
use analysis::reports::memory::hbm::{MemoryCurve, MemoryReport, memory_curve};

use super::table::{RowReactions, SortedTable};
use super::tables::one_table_ui;
use crate::drawing::hovered_share;
use view::charts::ChartFrame;
use view::charts::curve::bytes_curve;

/// Height of the curve.
const CURVE: f32 = 110.0;
/// Parts of the window for which the use is computed.
const COLUMNS: usize = 1_024;

/// What is shown: of which memory, in which scope, and at which time, or at the peak.
#[derive(Clone, Debug, PartialEq)]
struct MemoryMoment {
    memory: String,
    scope: Scope,
    at: Option<Timestamp>,
}

/// State between frames.
pub struct MemoryCurveState {
    /// The memory that was chosen; the fullest by default.
    memory: Option<String>,
    at: Option<Timestamp>,
    job: Worker<MemoryMoment, (MemoryCurve, Table)>,
    sorted: SortedTable,
}

impl MemoryCurveState {
    /// The fullest memory at its peak.
    pub fn new(wake: &WakeUi) -> Self {
        let job = Worker::new("memory over time", wake);
        Self {
            memory: None,
            at: None,
            job,
            sorted: SortedTable::default(),
        }
    }

    /// Takes a finished result over.
    pub fn poll(&mut self) {
        if self.job.poll() {
            self.sorted.forget();
        }
    }

    /// Whether nothing is being computed.
    pub fn is_settled(&self) -> bool {
        !self.job.memo().is_running()
    }
}

/// The curve and the table.
pub fn memory_curve_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    state: &mut MemoryCurveState,
    commands: &mut AppCommands,
    out: &mut ViewCommands,
) {
    let Some(report) = context.report_ui::<Memory>(ui) else {
        return;
    };
    let Some(memory) = choose_ui(ui, report, state) else {
        return;
    };
    let capacity = report
        .memories
        .iter()
        .find(|row| row.memory == memory)
        .and_then(|row| row.capacity_bytes);
    let scope = Scope::from(context.state.scope);
    let session = context.trace.session.clone();
    let moment = MemoryMoment {
        memory,
        scope,
        at: state.at,
    };
    state.job.ask(moment.clone(), move |_| {
        let curve = memory_curve(&session.context(scope), &moment.memory, moment.at, COLUMNS)
            .map_err(|error| error.to_string())?;
        let table = curve.table();
        Ok((curve, table))
    });
    let (curve, table) = match state.job.memo() {
        JobAnswer::Failed { error, .. } => return drop(ui.label(error)),
        memo => match memo.latest() {
            Some(answer) => answer,
            None => return computing_ui(ui),
        },
    };
    let mut next = curve_ui(ui, curve, capacity).map(Some);
    ui.horizontal_wrapped(|ui| {
        let what = if curve.at == curve.peak_at {
            "At the peak"
        } else {
            "At the cursor"
        };
        let used = number(curve.used_bytes as f64, Unit::Bytes);
        ui.strong(format!(
            "{what}, {}: {used} in use",
            time(curve.at.since_origin())
        ));
        if curve.at != curve.peak_at && ui.button("At the peak").clicked() {
            next = Some(None);
        }
        if let Some(slice) = context.selected()
            && ui.button("At the selected slice").clicked()
        {
            next = Some(Some(slice.start()));
        }
        ui.button("Show on the timeline")
            .sends(out, ViewCommand::Center(curve.at));
    });
    let target = |row: usize| {
        table
            .rows
            .get(row)
            .and_then(|row| RowTarget::of_row(context.trace, None, table, row))
    };
    let leads = |row: usize| target(row).is_some();
    let about = RowReactions {
        selected: None,
        is_marked: &|_| false,
        leads: &leads,
    };
    if let Some(row) = one_table_ui(ui, table, &mut state.sorted, about, commands)
        && let Some(target) = target(row)
    {
        out.extend(target.commands(context.trace));
    }
    if let Some(time) = next {
        state.at = time;
        ui.ctx().request_repaint();
    }
}

fn choose_ui(ui: &mut Ui, report: &MemoryReport, state: &mut MemoryCurveState) -> Option<String> {
    let is_there = |name: &String| report.memories.iter().any(|memory| memory.memory == *name);
    let first = || report.memories.first().map(|memory| memory.memory.clone());
    let chosen = state.memory.clone().filter(is_there).or_else(first)?;
    if report.memories.len() > 1 {
        let list = ComboBox::from_id_salt("memory")
            .width(220.0)
            .selected_text(&chosen)
            .show_ui(ui, |ui| {
                for memory in &report.memories {
                    if ui
                        .selectable_label(memory.memory == chosen, &memory.memory)
                        .clicked()
                    {
                        (state.memory, state.at) = (Some(memory.memory.clone()), None);
                    }
                }
            });
        list.response
            .labeled(Role::ComboBox, format_args!("Memory: {chosen}"));
    } else {
        ui.small(&chosen);
    }
    Some(state.memory.clone().filter(is_there).unwrap_or(chosen))
}

/// Bytes in use over time; returns the time that was clicked.
fn curve_ui(ui: &mut Ui, curve: &MemoryCurve, capacity: Option<i64>) -> Option<Timestamp> {
    let most = curve.columns.iter().flatten().max();
    let of = capacity.map_or_else(String::new, |bytes| {
        format!(" of {}", number(bytes as f64, Unit::Bytes))
    });
    let most = number(most.map_or(0.0, |most| *most as f64), Unit::Bytes);
    let span = curve.window.dur().as_ps_f64().max(1.0);
    let share = |instant: Timestamp| ((instant - curve.window.start).as_ps_f64() / span) as f32;
    let marked = (share(curve.peak_at), share(curve.at));
    let bytes = curve
        .columns
        .iter()
        .map(|bytes| bytes.map(|value| value as f64));
    let draw = |frame: &ChartFrame| bytes_curve(bytes, marked, &format!("{most}{of}"), frame);
    let size = vec2(ui.available_width() - 8.0, CURVE);
    let (response, _) = chart_ui(ui, (size, Sense::click()), "Bytes in use over time", draw);
    let hovered = hovered_share(&response).map(f64::from).map(|share| {
        let instant = curve.window.start + Picos::from_ps((share * span) as i64);
        (instant, (share * COLUMNS as f64) as usize)
    });
    let clicked = response.clicked();
    if let Some((instant, column)) = hovered {
        response
            .on_hover_cursor(CursorIcon::Crosshair)
            .on_hover_ui_at_pointer(|ui| {
                let bytes = curve
                    .columns
                    .get(column.min(COLUMNS - 1))
                    .copied()
                    .flatten();
                let bytes = bytes.map_or_else(
                    || "not known yet".to_owned(),
                    |bytes| number(bytes as f64, Unit::Bytes),
                );
                ui.label(format!(
                    "{bytes} in use at {}",
                    time(instant.since_origin())
                ));
                ui.weak("Click to list what is in memory then");
            });
    }
    hovered.filter(|_| clicked).map(|(instant, _)| instant)
}
