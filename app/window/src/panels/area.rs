//! Exact sums of the slices in the marked area.

use super::prelude::*;

use super::copy::csv_ui;
use super::table::{RowReactions, SortedTable, table_ui};
use super::widgets::sentence_ui;
use crate::keys::LEAVE;
use view::panels::area::{AreaGrouping, AreaSummary};

#[derive(Default)]
pub struct AreaPanelState {
    /// How slices are grouped into rows.
    pub pivot: AreaGrouping,
    sorted: SortedTable,
    shown: Option<view::panels::area::MarkedArea>,
}

/// In less room than this, the buttons go below the title.
const BESIDE: f32 = 520.0;

/// Sums of the marked area, of one of two traces where a `side` is given.
pub fn area_ui(
    ui: &mut Ui,
    state: &ViewState,
    side: Option<TraceSide>,
    summary: &JobAnswer<AreaSummary>,
    choice: &mut AreaPanelState,
    out: &mut AppCommands,
) {
    let Some(mark) = state.place.mark else { return };
    ui.add_space(4.0);
    let title_ui = |ui: &mut Ui| {
        let of = side.map_or_else(String::new, |side| format!(" in {}", side.name()));
        ui.label(
            RichText::new(format!("Marked{of}: {}", time(mark.dur())))
                .heading()
                .strong(),
        )
        .on_hover_text(format!("{} ps", mark.dur().ps()));
        ui.weak(format!("from {}", time(mark.start.since_origin())));
    };
    if ui.available_width() < BESIDE {
        ui.horizontal(title_ui);
        ui.horizontal_wrapped(|ui| buttons_ui(ui, summary, out));
    } else {
        ui.horizontal(|ui| {
            title_ui(ui);
            at_right(ui, |ui| {
                buttons_ui(ui, summary, out);
            });
        });
    }
    if !state.mark_note.is_empty() {
        ui.strong(&*state.mark_note);
    }
    ui.horizontal_wrapped(|ui| {
        for (pivot, word) in AreaGrouping::ALL {
            ui.selectable_value(&mut choice.pivot, pivot, format!("by {word}"));
        }
        if let Some(summary) = summary.latest() {
            let union = time(summary.union_ps);
            // The sums may be those of the previous area while a new one is being dragged.
            let whole = summary.area.range.dur().ps();
            let share = summary.union_ps.as_ps_f64() * 100.0 / (whole as f64).max(1.0);
            let text = format!(
                "{} on {}, busy for {union} ({share:.1} of the area)",
                counted(summary.slices as u64, "slice"),
                counted(summary.tracks as u64, "track"),
                share = Percent(share)
            );
            ui.label(text).on_hover_text(
                "Busy: time during which at least one slice runs; overlapping slices count once",
            );
        }
    });
    if let Some(clocks) = summary.latest().and_then(AreaSummary::clocks) {
        remark_ui(ui, clocks);
    }
    ui.separator();
    match summary {
        JobAnswer::Failed { error, .. } => drop(ui.label(error)),
        memo => match memo.latest() {
            None => computing_ui(ui),
            Some(summary) => {
                for about in &summary.counters {
                    sentence_ui(ui, about, |text| text);
                }
                // Counters have no slices.
                if summary.counters.is_empty() || summary.slices > 0 {
                    rows_ui(ui, summary, choice, out);
                }
            }
        },
    }
}

fn buttons_ui(ui: &mut Ui, summary: &JobAnswer<AreaSummary>, out: &mut AppCommands) {
    ui.button("Close")
        .hint("Clear the mark", LEAVE)
        .sends(out, ViewCommand::Deselect);
    ui.button("Zoom to it")
        .hint("Fill the view", "focus")
        .sends(out, ViewCommand::Focus);
    ui.button("Note")
        .hint("Save it as a note", "keep-mark")
        .sends(out, ViewCommand::MarkSelection(true));
    if let Some(summary) = summary.latest() {
        csv_ui(ui, "area", || Some(summary.table.clone()), out);
    }
}

fn rows_ui(ui: &mut Ui, summary: &AreaSummary, choice: &mut AreaPanelState, out: &mut AppCommands) {
    if choice.shown.as_ref() != Some(&summary.area) {
        // The rows are different, so the prepared state of the old ones is dropped.
        choice.shown = Some(summary.area.clone());
        choice.sorted.forget();
    }
    let height = ui.available_height();
    if let Some(row) = table_ui(
        ui,
        &summary.table,
        &mut choice.sorted,
        height,
        RowReactions::clicks(&|_| true),
    ) && let Some(cells) = summary.table.rows.get(row)
    {
        let title = cells
            .first()
            .map(|cell| number::shown(cell, Unit::None))
            .unwrap_or_default();
        out.push(ViewCommand::highlight(title, summary.labels_of(row)).into());
    }
}
