//! Devices, data quality, and the first hints.

use analysis::Unit;
use analysis::hardware::peaks::PeakSource;
use analysis::reports::ops::op_stats::Ops;
use analysis::reports::summary::doctor::Doctor;
use egui::{CollapsingHeader, Grid, RichText, Role, Ui, WidgetInfo};
use trace_model::{Severity, TraceModel};

use crate::panels::context::PanelContext;
use crate::panels::context::section_ui;
use crate::panels::hints::{badge, severity_color};
use crate::panels::number::number;
use crate::theme;
use crate::times;
use render::hints::first;
use view::state::ViewCommand;

/// Number of hints on the overview.
const HINTS: usize = 3;

/// One line: whether the capture is complete enough to be trusted.
pub fn health_ui(ui: &mut Ui, context: PanelContext<'_>, out: &mut Vec<ViewCommand>) {
    let Ok(Some(_)) = context.whole.get::<Doctor>() else {
        return;
    };
    let theme = theme::current(ui);
    let health = &context.whole.overview().health;
    ui.horizontal(|ui| {
        let (word, color, text) = match health.first() {
            None => (
                "capture is complete",
                theme.accent,
                "nothing that matters was lost".to_owned(),
            ),
            Some(finding)
                if finding.severity == Severity::Loss && is_much_lost(&context.trace.model) =>
            {
                ("capture has losses", theme.error, finding.message.clone())
            }
            Some(finding) if finding.severity == Severity::Loss => {
                ("small losses", theme.warning, finding.message.clone())
            }
            Some(finding) => ("caution", theme.warning, finding.message.clone()),
        };
        badge(ui, word, color);
        let text = if health.len() > 1 {
            format!("{text} (and {} more)", health.len() - 1)
        } else {
            text
        };
        let label =
            egui::Label::new(RichText::new(&text).small().color(theme.text_weak)).truncate();
        if ui
            .add(label.sense(egui::Sense::click()))
            .on_hover_text(&text)
            .clicked()
        {
            out.push(ViewCommand::ShowTab("health".to_owned()));
        }
    });
}

/// Whether import lost enough to affect the figures: more than one event per thousand slices.
fn is_much_lost(model: &TraceModel) -> bool {
    const ONE_IN: u64 = 1000;
    let counts = model.import_log().counts();
    let lost: u64 = counts
        .iter()
        .filter(|issue| issue.kind.severity() == Severity::Loss)
        .map(|issue| issue.count)
        .sum();
    // Losses without a count come from the profiler: their number is unknown.
    lost == 0 || lost.saturating_mul(ONE_IN) > model.slice_count() as u64
}

/// The first hints, one line each.
pub fn hints_ui(ui: &mut Ui, context: PanelContext<'_>, out: &mut Vec<ViewCommand>) {
    let Some(report) = &context.reports.overview().hints else {
        return;
    };
    let (hints, more) = first(report, HINTS);
    if hints.is_empty() {
        return;
    }
    let theme = theme::current(ui);
    let saves = hints.iter().any(|hint| hint.saving_ps.is_some());
    let about = if saves {
        "savings are upper bounds and cannot be added up"
    } else {
        ""
    };
    let about = section_ui(ui, "What to do", about);
    about.on_hover_text(
        "First what the verdict starts with, then by saving, weighted by how sure the rule is. The word in front says how \
         much of a step it may save.",
    );
    for hint in hints {
        ui.horizontal(|ui| {
            badge(
                ui,
                hint.severity.title(),
                severity_color(theme, hint.severity),
            );
            let saves = match (hint.saving_ps, hint.once_ps) {
                (Some(saving), _) => format!("≤ {}", times::time(saving)),
                (None, Some(once)) => format!("{} once", times::time(once)),
                (None, None) => String::new(),
            };
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                ui.label(RichText::new(saves).color(theme.accent));
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    let title = egui::Label::new(hint.title)
                        .truncate()
                        .sense(egui::Sense::click());
                    let response = ui
                        .add(title)
                        .on_hover_cursor(egui::CursorIcon::PointingHand);
                    response.widget_info(|| {
                        WidgetInfo::labeled(
                            Role::Link,
                            true,
                            format!("Hint {}: {}", hint.id, hint.title),
                        )
                    });
                    if response.on_hover_text(&hint.action).clicked() {
                        out.push(ViewCommand::ShowTab("hints".to_owned()));
                    }
                });
            });
        });
    }
    if more > 0 && ui.link(format!("{more} more")).clicked() {
        out.push(ViewCommand::ShowTab("hints".to_owned()));
    }
}

/// Files, devices and peaks.
pub fn environment_ui(ui: &mut Ui, context: PanelContext<'_>) {
    let theme = theme::current(ui);
    section_ui(ui, "Run", "");
    Grid::new("environment")
        .num_columns(2)
        .spacing([14.0, 3.0])
        .show(ui, |ui| {
            let mut row = |title: &str, value: String, hint: &str| {
                ui.label(RichText::new(title).color(theme.text_weak));
                let response = ui.add(egui::Label::new(value).truncate());
                if !hint.is_empty() {
                    response.on_hover_text(hint);
                }
                ui.end_row();
            };
            if let Ok(Some(doctor)) = context.whole.get::<Doctor>() {
                for source in &doctor.sources {
                    let host = source
                        .host
                        .as_deref()
                        .map_or_else(String::new, |host| format!(" from {host}"));
                    row(
                        "File",
                        format!("{} ({}){host}", source.name, source.format),
                        &source.cannot_know.join("\n"),
                    );
                }
            }
            if let Ok(Some(ops)) = context.reports.get::<Ops>() {
                let device = ops
                    .peaks
                    .device_type
                    .clone()
                    .unwrap_or_else(|| "of unknown type".to_owned());
                row("Devices", format!("{} × {device}", ops.cores.len()), "");
                for (title, peak, unit) in [
                    ("Peak", ops.peaks.flops, Unit::FlopPerSecond),
                    ("Peak of HBM", ops.peaks.hbm, Unit::BytesPerSecond),
                ] {
                    if let Some(peak) = peak {
                        let from = match peak.source {
                            PeakSource::Recorded => "recorded in the capture",
                            PeakSource::Configured => "from the simulator's configuration",
                            PeakSource::Assumed => "of the chip named on the command line",
                            PeakSource::Published => {
                                "published for the chip that the capture names"
                            }
                        };
                        row(
                            title,
                            format!("{}, {from}", number(peak.per_second, unit)),
                            "of one device",
                        );
                    }
                }
            }
            let programs = context.trace.model.programs().len();
            row(
                "Programs",
                programs.to_string(),
                "compiled programs that the trace names",
            );
        });
    let Ok(Some(doctor)) = context.whole.get::<Doctor>() else {
        return;
    };
    if doctor.facts.is_empty() {
        return;
    }
    let title = format!("Recorded with the capture ({})", doctor.facts.len());
    CollapsingHeader::new(title)
        .id_salt("facts")
        .show_unindented(ui, |ui| {
            Grid::new("facts")
                .num_columns(2)
                .spacing([14.0, 3.0])
                .show(ui, |ui| {
                    for fact in &doctor.facts {
                        let of = format!("of {}", fact.of_whom());
                        ui.label(RichText::new(&fact.name).color(theme.text_weak))
                            .on_hover_text(&of);
                        let value = egui::Label::new(&fact.value).truncate().selectable(true);
                        ui.add(value).on_hover_text(format!("{}\n{of}", fact.value));
                        ui.end_row();
                    }
                });
            if let Some(note) = doctor.facts_note() {
                ui.weak(note);
            }
        });
}
