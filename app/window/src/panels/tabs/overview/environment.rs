//! Devices and data quality.

use crate::panels::tabs::prelude::*;
use analysis::hardware::peaks::PeakSource;
use analysis::reports::Doctor;
use analysis::reports::summary::doctor::is_little_lost;
use egui::CollapsingHeader;
use trace_model::Severity;

use crate::panels::tabs::health;
use crate::panels::tabs::hints::badge;
use crate::panels::widgets::{value_grid, value_row};

/// Height of the line about the capture, left free until it is known.
const HEALTH: f32 = 20.0;

/// Whether the capture is complete enough to be trusted.
pub fn health_ui(ui: &mut Ui, context: PanelContext<'_>, out: &mut ViewCommands) {
    match context.whole.get::<Doctor>() {
        Ok(Some(_)) => {}
        Ok(None) => return ui.add_space(HEALTH),
        Err(_) => return,
    }
    let theme = theme::current(ui);
    let health = &context.whole.overview().health;
    ui.horizontal_wrapped(|ui| {
        let (word, color, text) = match health.first() {
            None => (
                "capture is complete",
                theme.accent,
                "nothing that matters was lost".to_owned(),
            ),
            Some(finding)
                if finding.severity == Severity::Loss && !is_little_lost(&context.trace.model) =>
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
        ui.add(Label::new(remark(text)).sense(Sense::click()))
            .on_hover_text("Show what is known about the capture")
            .sends(out, health::TAB.show());
    });
}

/// Files, devices and peaks.
pub fn environment_ui(ui: &mut Ui, context: PanelContext<'_>) {
    section_ui(ui, "Run", "");
    value_grid(ui, "environment", |ui| {
        if let Some(doctor) = context.whole.ready::<Doctor>() {
            for source in &doctor.sources {
                let host = source
                    .host
                    .as_deref()
                    .map_or_else(String::new, |host| format!(" from {host}"));
                value_row(
                    ui,
                    "File",
                    format!("{} ({}){host}", source.name, source.format),
                    &source.cannot_know.join("\n"),
                );
            }
        }
        if let Some(ops) = context.reports.ready::<Ops>() {
            let device = ops
                .peaks
                .device_type
                .clone()
                .or_else(|| Some(context.trace.session.options().chip()?.id.clone()))
                .unwrap_or_else(|| "of unknown type".to_owned());
            value_row(ui, "Devices", format!("{} × {device}", ops.cores.len()), "");
            for (title, peak, unit) in [
                ("Peak", ops.peaks.flops, Unit::FlopPerSecond),
                ("Peak of HBM", ops.peaks.hbm, Unit::BytesPerSecond),
            ] {
                if let Some(peak) = peak {
                    let from = match peak.source {
                        PeakSource::Recorded => "recorded in the capture",
                        PeakSource::Configured => "of the simulated device",
                        PeakSource::Assumed => "of the chip that you named",
                        PeakSource::Published => "published for the chip that the capture names",
                    };
                    value_row(
                        ui,
                        title,
                        format!("{}, {from}", number(peak.per_second, unit)),
                        "of one device",
                    );
                }
            }
        }
        let programs = context.trace.model.programs().len();
        value_row(
            ui,
            "Programs",
            programs.to_string(),
            "compiled programs that the trace names",
        );
    });
    let Some(doctor) = context.whole.ready::<Doctor>() else {
        return;
    };
    if doctor.facts.is_empty() {
        return;
    }
    let title = format!("Recorded with the capture ({})", doctor.facts.len());
    CollapsingHeader::new(title)
        .id_salt("facts")
        .show_unindented(ui, |ui| {
            value_grid(ui, "facts", |ui| {
                for fact in &doctor.facts {
                    let of = format!("of {}", fact.of_whom());
                    ui.weak(&fact.name).on_hover_text(&of);
                    let value = Label::new(&fact.value).truncate().selectable(true);
                    ui.add(value).on_hover_text(format!("{}\n{of}", fact.value));
                    ui.end_row();
                }
            });
            if let Some(note) = doctor.facts_note() {
                ui.weak(note);
            }
        });
}
