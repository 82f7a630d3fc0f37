//! The first hints: what to do, what it saves of a step, and one click to the evidence.

use crate::panels::tabs::prelude::*;
use analysis::hints::HintsReport;
use egui::Link;

use crate::panels::controls::with_controls;
use crate::panels::tabs::hints::{
    self, badge, can_show, code_ui, evidence_commands, severity_color,
};
use crate::panels::widgets::sentence_ui;
use analysis::sentence;
use render::hints::{doubt, first, shared, worth};

/// Number of hints on the overview.
const HINTS: usize = 3;
/// About the height of a hint with its code, left free until it is known.
const FIRST_HINT: f32 = 150.0;

/// The first hints; the first of them with its code.
pub fn to_do_ui(ui: &mut Ui, context: PanelContext<'_>, out: &mut ViewCommands) {
    let Some(report) = &context.reports.overview().hints else {
        if context.reports.limit().is_pending() {
            section_ui(ui, "What to do", "");
            ui.allocate_space(vec2(0.0, FIRST_HINT));
        }
        return;
    };
    let (hints, more) = first(report, HINTS);
    let open = report.open_limit();
    if hints.is_empty() && open.is_none() {
        return;
    }
    let saves = hints.iter().any(|hint| hint.saving_ps.is_some());
    let about = if saves {
        "savings are upper bounds and cannot be added up"
    } else {
        ""
    };
    section_ui(ui, "What to do", about).on_hover_text(
        "First what limits the loop, then by saving, weighted by how sure the rule is. The word in front says how \
         much of a step it may save.",
    );
    if let Some(open) = open {
        sentence_ui(ui, &open, |text| text);
    }
    for (place, &hint) in hints.iter().enumerate() {
        ui.add_space(if place == 0 { 0.0 } else { 6.0 });
        hint_ui(ui, context, (hint, report), &hints[..place], out);
        if place == 0 {
            code_ui(ui, hint.id, hint.code.as_deref());
        }
    }
    if more > 0 {
        ui.add_space(4.0);
        ui.link(format!("{more} more"))
            .sends(out, hints::TAB.show());
    }
}

/// A hint: its title, what it saves at most, and the first thing to do; of the first one, what was seen, too.
fn hint_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    (hint, report): (&Hint, &HintsReport),
    before: &[&Hint],
    out: &mut ViewCommands,
) {
    let theme = theme::current(ui);
    ui.horizontal_wrapped(|ui| {
        let color = severity_color(theme, hint.severity);
        badge(ui, hint.severity.title(), color);
        let title = RichText::new(hint.title).strong().color(theme.text_strong);
        let title = ui.add(Link::new(title));
        title.labeled(Role::Link, format_args!("Hint {}: {}", hint.id, hint.title));
        if title.on_hover_text("Show the whole hint").clicked() {
            hints::come_to(ui, hint.id);
            out.push(hints::TAB.show());
        }
        ui.label(remark(hint.id));
    });
    ui.horizontal_wrapped(|ui| {
        let saving = worth(hint, report, time);
        sentence_ui(ui, &saving, |text| text.small().color(theme.accent));
        if let Some(shared) = shared(hint, before) {
            ui.label(remark(shared));
        }
        if let Some(doubt) = doubt(hint) {
            ui.label(remark(doubt.replace(' ', "\u{a0}")));
        }
        if can_show(hint) {
            let show = ui.add(Link::new(RichText::new("Show\u{a0}evidence").small()));
            show.labeled(Role::Link, format_args!("Show evidence for {}", hint.id));
            let show = show.on_hover_text("Zoom to it on the timeline and highlight its ops");
            if show.clicked() {
                out.extend(evidence_commands(context.trace, hint));
            }
        }
    });
    if before.is_empty() {
        sentence_ui(ui, &sentence(&with_controls(&hint.statement)), |text| text);
    }
    sentence_ui(ui, &sentence(&hint.brief), |text| text);
}
