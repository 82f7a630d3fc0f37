//! The most expensive ops; ops that differ only in their number share a row.

use crate::prelude::*;
use analysis::hardware::limits::BoundBy;
use analysis::hardware::peaks::Peaks;
use analysis::reports::Ops;

use crate::table::table;
use view::panels::op_families::{OpFamily, families};

/// Rows of the table at most.
const ROWS: usize = 8;
/// Lines of the table besides its rows, and the blank one before it.
const OTHER_LINES: usize = 4;

/// The top of the op table, with the columns that help to decide what to do; empty without `room` for a row.
pub fn top(document: &Document, room: usize, layout: &TextLayout) -> String {
    let room = room.saturating_sub(OTHER_LINES).min(ROWS);
    if room == 0 {
        return String::new();
    }
    let Ok(report) = document.session.report::<Ops>(document.scope) else {
        return String::new();
    };
    let (families, over) = (families(&report.rows), report.sums_over);
    let top = if layout.top == 0 {
        room
    } else {
        layout.top.min(room)
    };
    let (shown, rest) = families.split_at(families.len().min(top));
    let note = (!rest.is_empty()).then(|| {
        let count: usize = rest.iter().map(|family| family.rows.len()).sum();
        let time = over.each_ps(rest.iter().map(|family| family.self_time_ps).sum());
        let others = if count == 1 {
            "1 more op takes".to_owned()
        } else {
            format!("{count} more ops take")
        };
        format!("{others} {time}; each op by itself: --only ops")
    });
    let title = match (over.steps, over.devices) {
        (Some(_), 1) => "Top ops by self time in a step, mean",
        (Some(_), _) => "Top ops by self time in a step on a device, mean",
        (None, 1) => "Top ops by self time",
        (None, _) => "Top ops by self time on a device, mean",
    };
    let file = |source: &str| source.rsplit('/').next().unwrap_or(source).to_owned();
    let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
    let top_ops = Table::of("top_ops", title, shown)
        .derived("name", "Op", Unit::None, OpFamily::title)
        .derived("category", "Category", Unit::None, |family| {
            Cell::text(&*family.rows[0].category).non_empty()
        })
        .derived("ops", "Ops", Unit::Count, |family| family.rows.len())
        .derived("runs", "Runs", Unit::Count, OpFamily::occurrences)
        .derived(
            "self_time_each_ps",
            "Self time",
            Unit::Picoseconds,
            |family| over.each_ps(family.self_time_ps),
        )
        .derived("share", "of device", Unit::Percent, |family| {
            Percent::of(family.self_time_ps, report.total_time_ps)
        })
        .derived("limit", "Limit reached", Unit::None, |family| {
            limit(family, &report.peaks)
        })
        .derived("source", "Source", Unit::None, |family| {
            non_empty(family.rows[0].source.as_deref().map(file))
        })
        .notes(note)
        .build();
    table(
        &without_empty_columns(top_ops),
        &TextLayout { top: 0, ..*layout },
    )
}

/// `38.61 % Compute`: the least time that the limits of the device allow as a share of the time taken, and the limit of
/// the longest op. Only if it is known for all ops. A rate above the peak is reported as such.
fn limit(family: &OpFamily<'_>, peaks: &Peaks) -> Option<String> {
    peaks.flops.or(peaks.hbm)?;
    let percent = |share: Percent| number::value(share.0, Unit::Percent);
    if family
        .rows
        .iter()
        .any(|row| row.rates.beyond_peak.is_some())
    {
        return Some("impossible".to_owned());
    }
    if family.rows[0].rates.bound_by == Some(BoundBy::LinksOrWaiting) {
        return Some("links/wait".to_owned());
    }
    let limit = family.rows[0].rates.bound_by?;
    Some(format!(
        "{} {}",
        percent(family.efficiency_percent()?),
        limit.title()
    ))
}

/// Removes columns without content.
fn without_empty_columns(mut table: Table) -> Table {
    let used: Vec<bool> = (0..table.columns.len())
        .map(|column| table.rows.iter().any(|row| row[column] != Cell::Missing))
        .collect();
    let mut keep = used.iter();
    table.columns.retain(|_| *keep.next().unwrap_or(&true));
    for row in &mut table.rows {
        let mut keep = used.iter();
        row.retain(|_| *keep.next().unwrap_or(&true));
    }
    table
}
