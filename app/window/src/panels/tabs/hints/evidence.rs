//! The evidence of a hint: its ops, its numbers, and the commands that show it in the timeline.

use crate::panels::tabs::prelude::*;
use analysis::counted;
use analysis::critical_path::CriticalPathReport;
use analysis::facts::SumOver;
use analysis::hints::{FindingPlace, HintEvidence};

use crate::times::provenance;
use view::state::DerivedRows;

/// Ops named on a card before it is opened.
const OPS_SHOWN: usize = 3;

pub(super) fn ops_ui(
    ui: &mut Ui,
    trace: &OpenTrace,
    (hint, over): (&Hint, SumOver),
    open: bool,
    out: &mut ViewCommands,
) {
    if hint.ops.is_empty() {
        return;
    }
    let theme = theme::current(ui);
    let shown = if open {
        hint.ops.len().min(12)
    } else {
        OPS_SHOWN
    };
    for op in hint.ops.iter().take(shown) {
        ui.horizontal(|ui| {
            ui.add_space(4.0);
            if ui
                .link(&op.name)
                .on_hover_text("Show the longest execution")
                .clicked()
            {
                let labels = trace.labels_of(&BTreeSet::from([op.op]));
                out.extend(trace.longest(&labels).map(ViewCommand::GoTo));
                out.push(ViewCommand::highlight(&op.name, labels));
            }
            let each = time(over.each_ps(op.self_time_ps));
            let of = over.title(["Self time in a step on a device", "Self time on a device"]);
            ui.small(each).on_hover_text(of);
            let place = op.source.as_deref().unwrap_or(&op.program);
            ui.add(Label::new(remark(place)).truncate());
        });
    }
    if hint.all_ops.len() > shown {
        ui.label(
            RichText::new(format!(
                "and {}",
                counted(hint.all_ops.len() - shown, "more op")
            ))
            .small()
            .color(theme.text_weak),
        );
    }
}

/// How much of the critical path of a step the ops of a hint take, with a link to its row.
pub(super) fn path_ui(
    ui: &mut Ui,
    hint: &Hint,
    report: Option<&CriticalPathReport>,
    out: &mut ViewCommands,
) {
    let Some(report) = report.filter(|_| !hint.ops.is_empty()) else {
        return;
    };
    let rows = report.ops.iter();
    let on_path = rows.filter(|row| row.op.is_some_and(|op| hint.all_ops.contains(&op)));
    let of_ops: Picos = on_path.map(|row| row.time_ps).sum();
    let each = |sum: Picos| Picos::from_ps(sum.ps() / report.steps.max(1) as i64);
    let text = if of_ops > Picos::ZERO {
        let (of_ops, whole) = (time(each(of_ops)), time(each(report.length_ps)));
        format!(
            "On the critical path, these ops and the transfers they wait for take {of_ops} of {whole} of a step"
        )
    } else {
        "These ops are not on the critical path of a step".to_owned()
    };
    ui.link(RichText::new(text).small())
        .on_hover_text(
            "Show the critical path above the devices; mean of complete steps after warm-up",
        )
        .sends(out, ViewCommand::ShowRows(DerivedRows::CriticalPath, true));
}

pub(super) fn evidence_ui(ui: &mut Ui, hint: &Hint) {
    if hint.evidence.is_empty() {
        return;
    }
    ui.add_space(6.0);
    heading(ui, "Seen");
    for seen in &hint.evidence {
        ui.horizontal_wrapped(|ui| row_ui(ui, seen));
    }
}

fn row_ui(ui: &mut Ui, seen: &HintEvidence) {
    ui.weak(&seen.what);
    ui.strong(number(seen.value, seen.unit));
    let limit = seen.threshold.map_or_else(String::new, |limit| {
        format!("limit {}; ", number(limit, seen.unit))
    });
    ui.label(remark(format!("{limit}{}", seen.of)))
        .on_hover_text(provenance(seen.provenance));
}

/// The ops of a hint, to be highlighted; if it names none, the ops of the slices it refers to.
fn ops_to_highlight(trace: &OpenTrace, hint: &Hint) -> Option<HighlightedLabels> {
    let mut labels = trace.labels_of(&hint.all_ops);
    if labels.is_empty() {
        let slices = hint.spots.iter().filter_map(|spot| spot.slice);
        labels = slices
            .map(|slice| trace.model.slice(slice).label_id())
            .collect();
    }
    (!labels.is_empty())
        .then(|| HighlightedLabels::new(format!("{} {}", hint.id, hint.title), labels))
}

/// Whether there is something on the timeline to show.
pub fn can_show(hint: &Hint) -> bool {
    !hint.ops.is_empty() || !hint.spots.is_empty()
}

/// What shows the evidence on the timeline.
pub fn evidence_commands(trace: &OpenTrace, hint: &Hint) -> ViewCommands {
    let highlighted = ops_to_highlight(trace, hint);
    let first = hint
        .ops
        .first()
        .map(|op| trace.labels_of(&BTreeSet::from([op.op])));
    let spot = hint.spots.first();
    let slice = spot.map_or_else(|| trace.longest(&first?), |spot| spot.slice);
    let span = spot
        .filter(|spot| spot.slice.is_none())
        .map(FindingPlace::range);
    let mark = |range| {
        [
            ViewCommand::Mark(range, BTreeSet::new()),
            ViewCommand::ShowAround(range),
        ]
    };
    let go = slice
        .map(ViewCommand::GoTo)
        .into_iter()
        .chain(span.into_iter().flat_map(mark));
    go.chain(highlighted.map(|highlighted| ViewCommand::Highlight(Some(highlighted))))
        .collect()
}

pub(super) fn heading(ui: &mut Ui, title: &str) {
    ui.label(
        RichText::new(title)
            .small()
            .strong()
            .color(theme::current(ui).text_weak),
    );
}
