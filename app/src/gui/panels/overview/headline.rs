//! The verdict, and the utilizations that everybody asks for.

use analysis::Metric;
use analysis::targets::{Light, Target, Targets};
use analysis::utilization::Utilization;
use analysis::verdict::Verdict;
use egui::{Frame, Margin, RichText, Sense, Ui, vec2};

use super::section_ui;
use crate::gui::panels::dock::{Sight, computing_ui};
use crate::gui::panels::number::number;
use crate::gui::theme::Theme;
use crate::gui::times;
use crate::view::tree::group_digits;

/// Metrics shown as gauges, by id, in this order, with the target that judges them.
const HEADLINES: [(&str, Option<&str>); 6] = [
    ("mfu_window_percent", None),
    ("hbm_util_busy_percent", Some("hbm")),
    ("mxu_util_on_mxu_ops_percent", Some("mxu")),
    ("wait_percent", None),
    ("duty_cycle_percent", None),
    ("device_idle_percent", None),
];

/// The sentence to read first, and what it is about.
pub fn verdict_ui(ui: &mut Ui, sight: Sight<'_>) {
    let theme = Theme::current(ui);
    if let Ok(Some(report)) = sight.reports.get::<Verdict>() {
        let frame = Frame::new().fill(theme.raised).corner_radius(5.0).inner_margin(Margin::symmetric(12, 9));
        let shown = frame.show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.label(RichText::new(&report.statement).size(14.5).color(theme.text_strong));
        });
        let bar = shown.response.rect.with_max_x(shown.response.rect.left() + 3.0);
        ui.painter().rect_filled(bar, 1.5, theme.accent);
        ui.add_space(4.0);
    }
    let model = &sight.trace.model;
    let mut facts = vec![times::time(model.extent().dur())];
    facts.push(format!("{} slices", group_digits(model.slice_count() as u64)));
    let devices = model.tensor_cores();
    if !devices.is_empty() {
        let kind = devices.iter().find_map(|&id| model.group(id).device.as_ref()?.type_name.clone());
        facts.push(format!("{} × {}", devices.len(), kind.unwrap_or_else(|| "TPU of unknown type".to_owned())));
    }
    ui.label(RichText::new(facts.join("  ·  ")).small().weak());
}

/// Utilization as cards; the denominator is below the pointer.
pub fn metrics_ui(ui: &mut Ui, sight: Sight<'_>) {
    section_ui(ui, "Utilization", "of what the hardware could do");
    let report = match sight.reports.get::<Utilization>() {
        Ok(Some(report)) => report,
        Ok(None) => return computing_ui(ui),
        Err(reason) => return drop(ui.weak(reason)),
    };
    let targets = sight.reports.get::<Targets>().ok().flatten();
    let target = |id: &str| targets.as_ref()?.targets.iter().find(|target| target.id == id);
    let metrics: Vec<(&Metric, Option<&Target>)> =
        HEADLINES.iter().filter_map(|&(id, judge)| Some((report.metric(id)?, judge.and_then(target)))).collect();
    let columns = if ui.available_width() > 520.0 { 3 } else { 2 };
    let gap = 6.0;
    let width = (ui.available_width() - gap * (columns - 1) as f32) / columns as f32;
    for row in metrics.chunks(columns) {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = gap;
            for &(metric, target) in row {
                card_ui(ui, metric, target, width);
            }
        });
    }
}

fn card_ui(ui: &mut Ui, metric: &Metric, target: Option<&Target>, width: f32) {
    let theme = Theme::current(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(width, 48.0), Sense::hover());
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
        gauge(&painter, rect, value, target, theme);
    }
    response.on_hover_ui(|ui| {
        ui.label(RichText::new(metric.title).strong());
        ui.label(format!("of {}", metric.of));
        ui.weak(metric.provenance.title());
        if let Some(target) = target {
            ui.weak(format!("target: {} (the mark), {}", target.goal(), target.light.title()));
        }
        if let Some(note) = &metric.note {
            ui.label(note);
        }
    });
}

/// The share as a line along the lower edge, and a mark at what is good.
fn gauge(painter: &egui::Painter, rect: egui::Rect, value: f64, target: Option<&Target>, theme: &Theme) {
    let share = |percent: f64| (percent / 100.0).clamp(0.0, 1.0) as f32;
    let missed = target.is_some_and(|target| matches!(target.light, Light::Amber | Light::Red));
    let color = if missed { theme.warning } else { theme.accent };
    let track = egui::Rect::from_min_max(rect.left_bottom() - vec2(0.0, 4.0), rect.right_bottom());
    painter.rect_filled(track, 0.0, theme.edge.gamma_multiply(0.6));
    painter.rect_filled(track.with_max_x(rect.left() + rect.width() * share(value)), 0.0, color);
    if let Some(target) = target {
        let x = rect.left() + rect.width() * share(target.green_percent);
        painter.vline(x, track.top() - 3.0..=track.bottom(), egui::Stroke::new(2.0, theme.text_strong));
    }
}
