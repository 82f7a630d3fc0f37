//! The hints as cards, the largest saving first, above the findings about the capture. A click shows the evidence.

mod code;
mod evidence;
mod what_if;

use analysis::counted;

use crate::panels::tabs::prelude::*;
use analysis::critical_path::CriticalPaths;
use analysis::hints::{HintSeverity, Hints, HintsReport, Page, SECTIONS, SavingBy, rule};
use egui::{CollapsingHeader, Margin};

pub use self::code::code_ui;
pub use self::evidence::{can_show, evidence_commands};
use self::evidence::{evidence_ui, heading, ops_ui, path_ui};
use self::what_if::{WhatIfState, hint_what_if_ui, what_if_ui};
use crate::panels::controls::with_controls;
use crate::panels::late::late_ui;
use crate::panels::widgets::sentence_ui;
use analysis::sentence;
use render::hints::{doubt, worth};

pub const TAB: Tab = Tab {
    id: "hints",
    title: "Hints",
    reports: Some(&["hints"]),
    also: &["critical_path"],
    of_whole: &["balance"],
    icon: "ring 0.5 0.36 0.31; line 0.36 0.78 0.64 0.78; line 0.41 0.94 0.59 0.94",
    why_empty: |_, _, _| Ok(None),
    panel: |wake| Box::new(HintCards::new(wake)),
    ..TABLES
};

/// Which cards are open.
struct HintCards {
    /// The sliders above the cards.
    what_if: WhatIfState,
    open: BTreeMap<&'static str, bool>,
    /// The card with sliders, and their state.
    card_what_if: Option<(&'static str, WhatIfState)>,
    wake: WakeUi,
}

impl HintCards {
    /// All are closed.
    fn new(wake: &WakeUi) -> Self {
        Self {
            what_if: WhatIfState::new(wake),
            open: BTreeMap::new(),
            card_what_if: None,
            wake: wake.clone(),
        }
    }
}

impl TabPanel for HintCards {
    fn poll(&mut self, _is_open: bool) {
        self.what_if.poll();
        if let Some((_, state)) = &mut self.card_what_if {
            state.poll();
        }
    }

    fn is_settled(&self) -> bool {
        let of_card = self.card_what_if.as_ref();
        self.what_if.is_settled() && of_card.is_none_or(|(_, state)| state.is_settled())
    }

    fn ui(&mut self, ui: &mut Ui, tab: TabContent<'_>) {
        tab.view_ui(ui, |ui, tab| {
            CollapsingHeader::new("What if")
                .id_salt("what if")
                .show(ui, |ui| what_if_ui(ui, tab.context, &mut self.what_if));
            if let Some(report) = tab.context.report_ui::<Hints>(ui) {
                report_ui(ui, tab.context, report, self, tab.view);
            }
        });
    }
}

fn report_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    report: &HintsReport,
    cards: &mut HintCards,
    out: &mut ViewCommands,
) {
    if report.hints.is_empty() {
        ui.strong("No rule found anything to improve.");
        ui.weak(format!(
            "{} checked this capture and found nothing; {} could not be applied.",
            counted(report.quiet.len(), "rule"),
            report.cannot_tell.len()
        ));
    } else if report
        .hints
        .iter()
        .all(|hint| hint.severity == HintSeverity::Health)
    {
        let text =
            "These findings are about the capture: they save no time, but limit what it can tell.";
        ui.label(remark(text));
    } else {
        let mut text = format!(
            "Savings are upper bounds per step ({}) and cannot be added up.",
            report.of
        );
        if let Some(all) = report.all_together(time) {
            text = format!("{text} {all}");
        }
        remark_ui(ui, &text);
    }
    for hint in &report.hints {
        card_ui(ui, context, hint, report, cards, out);
    }
    silent_ui(ui, report);
}

/// Where the card is kept that is wanted next.
fn wanted() -> Id {
    Id::unique("wanted hint")
}

/// Goes to a card when its tab is shown: its first button has the focus then, and Tab goes on to the others.
pub fn come_to(ui: &Ui, id: &'static str) {
    keep(ui, wanted(), id);
}

fn take_wanted(ui: &Ui, id: &'static str) -> bool {
    ui.data_mut(|data| {
        let is_wanted = data.get_temp(wanted()) == Some(id);
        if is_wanted {
            data.remove::<&str>(wanted());
        }
        is_wanted
    })
}

/// Hints about devices that keep the others waiting.
const ABOUT_DEVICES: [&str; 3] = ["K06", "K07", "K08"];

fn card_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    hint: &Hint,
    report: &HintsReport,
    cards: &mut HintCards,
    out: &mut ViewCommands,
) {
    let (theme, trace) = (theme::current(ui), context.trace);
    let open = cards.open.entry(hint.id).or_insert(false);
    let what_if = &mut cards.card_what_if;
    let wake = &cards.wake;
    framed(ui, severity_color(theme, hint.severity), |ui| {
        head_ui(ui, hint, report);
        remedy_ui(
            ui,
            "Do",
            hint.id,
            [&hint.statement, &hint.action],
            hint.code.as_deref(),
        );
        also_ui(ui, hint);
        ui.add_space(2.0);
        ui.horizontal_wrapped(|ui| {
            let can_show = can_show(hint);
            let show = Button::new("Show evidence");
            let response = ui.add_enabled(can_show, show);
            response.widget_info(|| {
                WidgetInfo::labeled(
                    Role::Button,
                    can_show,
                    format!("Show evidence for {}", hint.id),
                )
            });
            let response =
                response.on_hover_text("Zoom to it on the timeline and highlight its ops");
            if response.clicked() {
                out.extend(evidence_commands(trace, hint));
            }
            // Its name stays, so that the buttons behind it do.
            let explain = ui.add(Button::new("Explanation").selected(*open));
            let name = format_args!("Explanation of {}", hint.id);
            explain.labeled_choice(Role::Button, *open, name);
            if take_wanted(ui, hint.id) {
                let first = if can_show { &response } else { &explain };
                first.request_focus();
                first.scroll_to_me(Some(Align::Center));
            }
            if explain.clicked() {
                *open = !*open;
            }
            if hint.severity != HintSeverity::Health {
                what_if_button(ui, hint.id, what_if, wake);
            }
            if ui
                .button("Copy")
                .on_hover_text("Copy this hint as text")
                .clicked()
            {
                ui.ctx().copy_text(as_text(hint, report));
            }
        });
        if let Some((_, state)) = what_if
            .as_mut()
            .filter(|(open_hint, _)| *open_hint == hint.id)
        {
            hint_what_if_ui(ui, context, state, hint);
        }
        if ABOUT_DEVICES.contains(&hint.id) {
            late_ui(ui, context, out);
        }
        ops_ui(ui, trace, (hint, report.sums_over), *open, out);
        path_ui(ui, hint, context.reports.ready::<CriticalPaths>(), out);
        if *open {
            evidence_ui(ui, hint);
            page_ui(ui, hint.id);
        }
    });
}

/// Shows the sliders of a card, or hides them.
fn what_if_button(
    ui: &mut Ui,
    id: &'static str,
    what_if: &mut Option<(&'static str, WhatIfState)>,
    wake: &WakeUi,
) {
    let is_open = what_if
        .as_ref()
        .is_some_and(|(open_hint, _)| *open_hint == id);
    let button = ui.add(Button::new("What if").selected(is_open));
    button.labeled_choice(Role::Button, is_open, format_args!("What if without {id}"));
    if button
        .on_hover_text("Sliders that change its ops, and the step that a replay predicts")
        .clicked()
    {
        *what_if = (!is_open).then(|| (id, WhatIfState::new(wake)));
    }
}

/// Other rules about the same time, with their remedies.
fn also_ui(ui: &mut Ui, hint: &Hint) {
    for other in &hint.also {
        ui.add_space(2.0);
        ui.strong(format!("The same time: {} ({})", other.title, other.id));
        remedy_ui(
            ui,
            "or",
            other.id,
            [&other.statement, &other.action],
            other.code.as_deref(),
        );
    }
}

/// What was seen, what to do about it, and the code of it.
fn remedy_ui(ui: &mut Ui, head: &str, id: &str, [seen, action]: [&str; 2], code: Option<&str>) {
    let theme = theme::current(ui);
    sentence_ui(ui, &sentence(&with_controls(seen)), |text| {
        text.color(theme.text)
    });
    ui.add_space(2.0);
    ui.horizontal_top(|ui| {
        ui.label(RichText::new(head).strong().color(theme.accent));
        sentence_ui(ui, &with_controls(action), |text| {
            text.color(theme.text_strong)
        });
    });
    code_ui(ui, id, code);
}

fn head_ui(ui: &mut Ui, hint: &Hint, report: &HintsReport) {
    let theme = theme::current(ui);
    ui.horizontal_wrapped(|ui| {
        badge(
            ui,
            hint.severity.title(),
            severity_color(theme, hint.severity),
        );
        ui.label(
            RichText::new(hint.title)
                .size(14.5)
                .strong()
                .color(theme.text_strong),
        );
        ui.label(remark(hint.id));
    });
    ui.horizontal_wrapped(|ui| {
        let worth = worth(hint, report, time);
        if hint.severity == HintSeverity::Health {
            ui.label(remark(worth));
            return;
        }
        let how = match hint.saving_by {
            SavingBy::Replay => "From a replay of the recorded run without the cause.",
            SavingBy::Formula => "Computed from the times of ops.",
            SavingBy::Unknown => "No saving in time can be stated.",
        };
        sentence_ui(ui, &worth, |text| text.strong().color(theme.accent)).on_hover_text(how);
        if let Some(doubt) = doubt(hint) {
            ui.label(remark(doubt));
        }
        if !hint.overlaps_with.is_empty() {
            let text = format!("shares its time with {}", hint.overlaps_with.join(", "));
            ui.label(remark(text));
        }
    });
}

/// The page that `systole explain` prints.
fn page_ui(ui: &mut Ui, id: &str) {
    let Some(rule) = rule(id) else { return };
    let page = Page(rule.page);
    for name in SECTIONS {
        if let Some(text) = page.section(name).filter(|text| !text.is_empty()) {
            ui.add_space(6.0);
            heading(ui, name);
            for paragraph in text.split("\n\n") {
                paragraph_ui(ui, paragraph);
            }
        }
    }
    for limit in rule.thresholds {
        let text = format!("{} = {}: {}", limit.id, limit.value, limit.why);
        ui.label(remark(text));
    }
}

/// A paragraph; lists and code keep their lines.
fn paragraph_ui(ui: &mut Ui, text: &str) {
    let keeps_lines =
        text.starts_with("```") || text.lines().all(|line| line.starts_with(['-', ' ', '|']));
    if text.starts_with("```") {
        let code = joined(text.lines().filter(|line| !line.starts_with("```")), "\n");
        ui.label(RichText::new(code).monospace().size(11.5));
    } else if keeps_lines {
        sentence_ui(ui, text, |text| text);
    } else {
        let text = joined(text.split_whitespace(), " ");
        sentence_ui(ui, &with_controls(&text), |text| text);
    }
}

fn silent_ui(ui: &mut Ui, report: &HintsReport) {
    for open in &report.unanswered {
        remark_ui(ui, &open.text());
    }
    if report.cannot_tell.is_empty() && report.suppressed.is_empty() {
        return;
    }
    ui.add_space(10.0);
    let title = format!(
        "{} could not be applied to this capture",
        counted(report.cannot_tell.len(), "rule")
    );
    CollapsingHeader::new(RichText::new(title).small()).show(ui, |ui| {
        for rule in &report.cannot_tell {
            ui.small(format!("{}  {}", rule.id, rule.title));
            remark_ui(ui, &with_controls(&rule.reason));
        }
        for hint in &report.suppressed {
            ui.small(format!(
                "{}  {} — suppressed: {}",
                hint.id, hint.title, hint.reason
            ));
        }
    });
}

fn as_text(hint: &Hint, report: &HintsReport) -> String {
    let saving = worth(hint, report, time);
    let remedy = |statement, action, code: Option<&String>| {
        let code = code.map_or_else(String::new, |code| format!("\n{code}"));
        format!("Seen: {}\nDo: {action}{code}", sentence(statement))
    };
    let fix = remedy(&hint.statement, &hint.action, hint.code.as_ref());
    let text = format!("{} {} ({saving})\n{fix}", hint.id, hint.title);
    hint.also.iter().fold(text, |text, other| {
        let fix = remedy(&other.statement, &other.action, other.code.as_ref());
        format!("{text}\nThe same time: {} {}\n{fix}", other.id, other.title)
    })
}

/// A card with a bar of its colour at the left.
fn framed(ui: &mut Ui, color: Color32, content: impl FnOnce(&mut Ui)) {
    let theme = theme::current(ui);
    ui.add_space(6.0);
    let frame = Frame::new()
        .fill(theme.raised)
        .corner_radius(5.0)
        .inner_margin(Margin {
            left: 14,
            ..Margin::same(10)
        });
    let shown = frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 4.0;
        // Buttons, boxes to tick and the rails of sliders must stand out from a card that has their colour.
        let inactive = &mut ui.visuals_mut().widgets.inactive;
        (inactive.weak_bg_fill, inactive.bg_fill) = (theme.edge, theme.edge);
        content(ui);
    });
    let rect = shown.response.rect;
    ui.painter()
        .rect_filled(rect.with_max_x(rect.left() + 4.0), 2.0, color);
}

/// The colour of a severity.
pub fn severity_color(theme: &Theme, severity: HintSeverity) -> Color32 {
    match severity {
        HintSeverity::Critical => theme.error,
        HintSeverity::High | HintSeverity::Health => theme.warning,
        HintSeverity::Medium => theme.accent,
        HintSeverity::Low => theme.text_weak,
    }
}

/// A word on a coloured background.
pub fn badge(ui: &mut Ui, text: &str, fill: Color32) {
    let color = readable_on(fill);
    Frame::new()
        .fill(fill)
        .corner_radius(3.0)
        .inner_margin(Margin::symmetric(5, 0))
        .show(ui, |ui| {
            ui.label(RichText::new(text).small().color(color));
        });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::{install, theme_of};

    #[test]
    fn widgets_stand_out_from_their_card() {
        let ctx = Context::default();
        install(&ctx);
        for dark in [true, false] {
            ctx.set_theme(if dark {
                egui::Theme::Dark
            } else {
                egui::Theme::Light
            });
            let mut shown = ctx.run_ui(egui::RawInput::default(), |ui| {
                framed(ui, Color32::RED, |ui| {
                    // Of boxes to tick and rails of sliders, and of buttons.
                    let own = &ui.visuals().widgets.inactive;
                    assert!(
                        ![own.bg_fill, own.weak_bg_fill].contains(&theme_of(dark).raised),
                        "dark: {dark}"
                    );
                });
            });
            shown.textures_delta.clear();
        }
    }
}
