//! The verdict, and the utilizations that everybody asks for.

use analysis::Metric;
use analysis::utilization::UtilizationReport;
use analysis::verdict::VerdictReport;
use egui::{Frame, Margin, RichText, Sense, Ui, vec2};

use super::{Answer, section_ui};
use crate::gui::panels::table::number;
use crate::gui::theme::Theme;
use crate::gui::timeline::tree::group_digits;
use crate::gui::trace::OpenTrace;

/// Metrics shown as large numbers, by id, in this order.
const HEADLINES: [&str; 6] = [
    "mfu_window_percent",
    "hbm_util_window_percent",
    "mxu_util_on_mxu_ops_percent",
    "wait_percent",
    "duty_cycle_percent",
    "device_idle_percent",
];

/// The sentence to read first, and what it is about.
pub fn verdict_ui(ui: &mut Ui, verdict: &Answer<VerdictReport>, trace: &OpenTrace) {
    let theme = Theme::current(ui);
    if let Ok(report) = verdict {
        let frame = Frame::new().fill(theme.raised).corner_radius(5.0).inner_margin(Margin::symmetric(12, 9));
        let shown = frame.show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.label(RichText::new(&report.statement).size(14.5).color(theme.text_strong));
        });
        let bar = shown.response.rect.with_max_x(shown.response.rect.left() + 3.0);
        ui.painter().rect_filled(bar, 1.5, theme.accent);
        ui.add_space(4.0);
    }
    let model = &trace.model;
    let mut facts = vec![model.extent().dur().to_string()];
    facts.push(format!("{} slices", group_digits(model.slice_count() as u64)));
    let devices = model.tensor_cores();
    if !devices.is_empty() {
        let kind = devices.iter().find_map(|&id| model.group(id).device.as_ref()?.type_name.clone());
        facts.push(format!("{} × {}", devices.len(), kind.unwrap_or_else(|| "TPU of unknown type".to_owned())));
    }
    ui.label(RichText::new(facts.join("  ·  ")).small().weak());
}

/// Utilization as cards; the denominator is below the pointer.
pub fn metrics_ui(ui: &mut Ui, report: &Answer<UtilizationReport>) {
    section_ui(ui, "Utilization", "of what the hardware could do");
    let report = match report {
        Ok(report) => report,
        Err(reason) => return drop(ui.weak(reason)),
    };
    let metrics: Vec<&Metric> = HEADLINES.iter().filter_map(|id| report.metric(id)).collect();
    let columns = if ui.available_width() > 520.0 { 3 } else { 2 };
    let gap = 6.0;
    let width = (ui.available_width() - gap * (columns - 1) as f32) / columns as f32;
    for row in metrics.chunks(columns) {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = gap;
            for metric in row {
                card_ui(ui, metric, width);
            }
        });
    }
}

fn card_ui(ui: &mut Ui, metric: &Metric, width: f32) {
    let theme = Theme::current(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(width, 46.0), Sense::hover());
    let value = metric.value.map_or_else(|| "–".to_owned(), |value| number(value, metric.unit));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{}: {value}", metric.title)));
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 5.0, theme.raised);
    let color = if metric.value.is_some() { theme.text_strong } else { theme.text_weak };
    let left = rect.left_top() + vec2(10.0, 0.0);
    painter.text(left + vec2(0.0, 15.0), egui::Align2::LEFT_CENTER, value, egui::FontId::proportional(17.0), color);
    let font = crate::gui::theme::small_font();
    let room = rect.width() - 20.0;
    let at = left + vec2(0.0, 34.0);
    crate::gui::timeline::paint::elided(
        &painter,
        at,
        egui::Align2::LEFT_CENTER,
        metric.title,
        room,
        &font,
        theme.text_weak,
    );
    if let Some(value) = metric.value {
        // The share as a line along the lower edge.
        let share = (value / 100.0).clamp(0.0, 1.0) as f32;
        let track = egui::Rect::from_min_max(rect.left_bottom() - vec2(0.0, 2.0), rect.right_bottom());
        painter.rect_filled(track.with_max_x(rect.left() + rect.width() * share), 0.0, theme.accent);
    }
    response.on_hover_ui(|ui| {
        ui.label(RichText::new(metric.title).strong());
        ui.label(format!("of {}", metric.of));
        ui.weak(metric.provenance.title());
        if let Some(note) = &metric.note {
            ui.label(note);
        }
    });
}
