//! The verdict, and the utilizations that everybody asks for.

use analysis::reports::communication::overlap::Overlap;
use analysis::reports::steps::step_times::Steps;
use analysis::reports::summary::targets::{Target, TargetColor, Targets};
use analysis::reports::summary::utilization::Utilization;
use analysis::reports::summary::verdict::Verdict;
use analysis::{Metric, Provenance, Unit};
use egui::{Frame, Margin, RichText, Sense, Ui, vec2};

use super::figures::{self, KeyFigure};
use super::section_ui;
use crate::gui::panels::copy::text_menu;
use crate::gui::panels::dock::{PanelContext, computing_ui};
use crate::gui::panels::number::number;
use crate::gui::theme::Theme;
use crate::gui::timeline::paint::elided;
use crate::gui::times;
use crate::number::counted;
use crate::render::figures::utilization;
use crate::session::devices_in_words;

/// Utilization that only the window has room for.
const MORE: [&str; 2] = ["wait_percent", "window_of_capture_percent"];
/// Targets that a metric with the same value stands for.
const JUDGED: [(&str, &str); 1] = [("mxu_util_on_mxu_ops_percent", "mxu")];

/// The sentence to read first, and what it is about.
pub fn verdict_ui(ui: &mut Ui, sight: PanelContext<'_>) {
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
    facts.push(counted(model.slice_count() as u64, "slice"));
    facts.extend(devices_in_words(model));
    ui.label(RichText::new(facts.join("  ·  ")).small().weak());
}

/// The key figures as cards; the denominator is below the pointer.
pub fn figures_ui(ui: &mut Ui, sight: PanelContext<'_>) {
    let step = sight.reports.get::<Steps>().ok().flatten().and_then(figures::step);
    let exposed = sight.reports.get::<Overlap>().ok().flatten().and_then(figures::exposed);
    let times = [step, exposed];
    let times: Vec<TargetCard<'_>> = times.iter().flatten().map(TargetCard::of_figure).collect();
    match sight.reports.get::<Utilization>() {
        Ok(Some(report)) => {
            section_ui(ui, "Key figures", "point at one to see what it is of; a mark is a target");
            let targets = sight.reports.get::<Targets>().ok().flatten();
            let targets = targets.map_or(&[][..], |report| &report.targets);
            let target = |id: &str| targets.iter().find(|target| target.id == id);
            let judge =
                |metric: &Metric| JUDGED.iter().find(|(id, _)| *id == metric.id).and_then(|&(_, id)| target(id));
            let more = MORE.iter().filter_map(|id| report.metric(id)).map(|metric| (metric.title, metric));
            let metrics = utilization(report, true).into_iter().chain(more);
            let metrics = metrics.map(|(title, metric)| TargetCard::of_metric(title, metric, judge(metric)));
            // What no utilization stands for.
            let is_judged = |target: &&Target| JUDGED.iter().any(|(_, id)| *id == target.id);
            let others = targets.iter().filter(|target| !is_judged(target)).map(TargetCard::of_target);
            cards_ui(ui, &times.into_iter().chain(metrics).chain(others).collect::<Vec<_>>());
        }
        Ok(None) => {
            section_ui(ui, "Key figures", "");
            cards_ui(ui, &times);
            computing_ui(ui);
        }
        Err(reason) => {
            section_ui(ui, "Key figures", "");
            cards_ui(ui, &times);
            ui.weak(reason);
        }
    }
}

fn cards_ui(ui: &mut Ui, cards: &[TargetCard<'_>]) {
    let columns = if ui.available_width() > 520.0 { 3 } else { 2 };
    let gap = 6.0;
    let width = (ui.available_width() - gap * (columns - 1) as f32) / columns as f32;
    for row in cards.chunks(columns) {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = gap;
            for card in row {
                card.ui(ui, width);
            }
        });
    }
}

/// One number and what it is of.
struct TargetCard<'a> {
    title: &'static str,
    value: Option<f64>,
    unit: Unit,
    of: &'a str,
    provenance: Provenance,
    note: Option<&'a str>,
    target: Option<&'a Target>,
}

impl<'a> TargetCard<'a> {
    fn of_figure(figure: &'a KeyFigure) -> Self {
        let KeyFigure { title, value, unit, ref of, provenance } = *figure;
        Self { title, value: Some(value), unit, of, provenance, note: None, target: None }
    }

    fn of_metric(title: &'static str, metric: &'a Metric, target: Option<&'a Target>) -> Self {
        let Metric { value, unit, ref of, provenance, ref note, .. } = *metric;
        Self { title, value, unit, of, provenance, note: note.as_deref(), target }
    }

    fn of_target(target: &'a Target) -> Self {
        let Target { title, value_percent, ref of, provenance, ref note, .. } = *target;
        let (unit, note) = (Unit::Percent, note.as_deref());
        Self { title, value: value_percent, unit, of, provenance, note, target: Some(target) }
    }

    fn ui(&self, ui: &mut Ui, width: f32) {
        let theme = Theme::current(ui);
        let (rect, response) = ui.allocate_exact_size(vec2(width, 48.0), Sense::click());
        let value = self.value.map_or_else(|| "–".to_owned(), |value| number(value, self.unit));
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{}: {value}", self.title)));
        let painter = ui.painter_at(rect);
        painter.rect_filled(rect, 5.0, theme.raised);
        let color = if self.value.is_some() { theme.text_strong } else { theme.text_weak };
        let (align, left) = (egui::Align2::LEFT_CENTER, rect.left_top() + vec2(10.0, 0.0));
        painter.text(left + vec2(0.0, 15.0), align, &value, egui::FontId::proportional(17.0), color);
        let (font, room) = (crate::gui::theme::small_font(), rect.width() - 20.0);
        elided(&painter, left + vec2(0.0, 34.0), align, self.title, room, &font, theme.text_weak);
        if let Some(value) = self.value.filter(|_| self.unit == Unit::Percent) {
            gauge(&painter, rect, value, self.target, theme);
        }
        text_menu(&response, || format!("{}: {value}\n{}", self.title, self.about().join("\n")));
        response.on_hover_ui(|ui| {
            ui.label(RichText::new(self.title).strong());
            for line in self.about() {
                ui.label(line);
            }
        });
    }

    /// What the number is of, where it comes from, how it is judged.
    fn about(&self) -> Vec<String> {
        let of = (!self.of.is_empty()).then(|| format!("of {}", self.of));
        let target =
            self.target.map(|target| format!("target: {} (the mark), {}", target.goal(), target.light.title()));
        let lines = of.into_iter().chain([self.provenance.title().to_owned()]).chain(target);
        lines.chain(self.note.map(str::to_owned)).collect()
    }
}

/// The share as a line along the lower edge, and a mark at what is good.
fn gauge(painter: &egui::Painter, rect: egui::Rect, value: f64, target: Option<&Target>, theme: &Theme) {
    let share = |percent: f64| (percent / 100.0).clamp(0.0, 1.0) as f32;
    let missed = target.is_some_and(|target| matches!(target.light, TargetColor::Amber | TargetColor::Red));
    let color = if missed { theme.warning } else { theme.accent };
    let track = egui::Rect::from_min_max(rect.left_bottom() - vec2(0.0, 4.0), rect.right_bottom());
    painter.rect_filled(track, 0.0, theme.edge.gamma_multiply(0.6));
    painter.rect_filled(track.with_max_x(rect.left() + rect.width() * share(value)), 0.0, color);
    if let Some(target) = target {
        let x = rect.left() + rect.width() * share(target.green_percent);
        painter.vline(x, track.top() - 3.0..=track.bottom(), egui::Stroke::new(2.0, theme.text_strong));
    }
}
