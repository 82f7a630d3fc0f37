//! Where the time of the devices goes, by kind of work: one bar a device, and
//! what it adds up to.

use analysis::reports::ops::op_stats::{CoreOps, Ops};
use analysis::reports::steps::balance::{Balance, DeviceLoad};
use analysis::{OpGroup, Percent, counted};
use egui::{Rect, RichText, Sense, Ui, pos2, vec2};
use trace_model::Picos;

use super::section_ui;
use crate::gui::panels::copy::text_menu;
use crate::gui::panels::dock::PanelContext;
use crate::gui::theme::Theme;
use crate::gui::times;

/// Most devices that get a bar of their own.
const MAX_BARS: usize = 16;
/// Width of the names before the bars.
const NAME: f32 = 56.0;

/// Bars by device, and the sums.
pub fn breakdown_ui(ui: &mut Ui, sight: PanelContext<'_>) {
    let report = match sight.reports.get::<Ops>() {
        Ok(None) => return,
        Ok(Some(report)) if report.total_time_ps > 0 => report,
        Ok(Some(_)) => {
            section_ui(ui, "Device time", "");
            return drop(ui.weak("No device recorded ops."));
        }
        Err(reason) => {
            section_ui(ui, "Device time", "");
            return drop(ui.weak(reason));
        }
    };
    let total = times::time(Picos::from_ps(report.total_time_ps));
    let note = match report.cores.len() {
        1 => format!("of {total}, first op to the end of the last"),
        n => format!("of {total}: the windows of {n} devices"),
    };
    section_ui(ui, "Device time", &note);
    let loads = sight.reports.get::<Balance>().ok().flatten().map_or(&[][..], |balance| &balance.devices);
    for core in report.cores.iter().take(MAX_BARS) {
        bar_ui(ui, core, loads.iter().find(|load| load.core == core.name).and_then(remark));
    }
    if report.cores.len() > MAX_BARS {
        ui.weak(format!("and {}", counted(report.cores.len() - MAX_BARS, "more device")));
    }
    ui.add_space(4.0);
    let idle = (OpGroup::Idle, report.idle_ps);
    let groups = report.groups.iter().map(|row| (row.group, row.self_time_ps));
    for (group, time) in groups.chain([idle]).filter(|&(_, time)| time > 0) {
        sum_ui(ui, group, time, report.total_time_ps);
    }
}

/// What stands out of a device.
fn remark(load: &DeviceLoad) -> Option<&'static str> {
    match (load.is_straggler, load.is_unused) {
        (true, _) => Some("straggler: it works longer than the others"),
        (_, true) => Some("hardly used"),
        _ => None,
    }
}

/// The name of a device that stands out is in the colour of a warning.
fn bar_ui(ui: &mut Ui, core: &CoreOps, remark: Option<&'static str>) {
    let theme = Theme::current(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 15.0), Sense::click());
    let name = core.name.strip_prefix("/device:").unwrap_or(&core.name);
    let painter = ui.painter_at(rect);
    let font = crate::gui::theme::small_font();
    let color = if remark.is_some() { theme.warning } else { theme.text_weak };
    painter.text(rect.left_center(), egui::Align2::LEFT_CENTER, name, font, color);
    let label = remark.map_or_else(|| core.name.clone(), |remark| format!("{}, {remark}", core.name));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &label));
    let bar = rect.with_min_x(rect.left() + NAME);
    painter.rect_filled(bar, 2.0, theme.group(OpGroup::Idle));
    let whole = core.total_time_ps.max(1) as f32;
    let mut x = bar.left();
    for (group, &time) in OpGroup::ALL.iter().zip(&core.group_self_ps) {
        if *group == OpGroup::Idle {
            continue;
        }
        let width = bar.width() * time as f32 / whole;
        let part = Rect::from_min_max(pos2(x, bar.top()), pos2((x + width).min(bar.right()), bar.bottom()));
        painter.rect_filled(part, 0.0, theme.group(*group));
        x += width;
    }
    text_menu(&response, || format!("{label}\n{}", about(core).join("\n")));
    response.on_hover_ui(|ui| {
        ui.label(RichText::new(&label).strong());
        for line in about(core) {
            ui.label(line);
        }
    });
}

/// Every kind of work of a device, of its window.
fn about(core: &CoreOps) -> Vec<String> {
    let idle = (&OpGroup::Idle, &core.idle_ps);
    let busy =
        OpGroup::ALL.iter().zip(&core.group_self_ps).filter(|&(group, &time)| *group != OpGroup::Idle && time > 0);
    let line = |(group, &ps): (&OpGroup, &i64)| {
        let share = ps as f64 * 100.0 / core.total_time_ps.max(1) as f64;
        format!("{}: {} ({share:.1})", group.title(), times::time(Picos::from_ps(ps)), share = Percent(share))
    };
    let window = times::time(Picos::from_ps(core.total_time_ps));
    let of = format!("Measured; of {window}, from its first op to the end of its last.");
    busy.chain([idle]).map(line).chain([of]).collect()
}

fn sum_ui(ui: &mut Ui, group: OpGroup, time: i64, total: i64) {
    let theme = Theme::current(ui);
    let shown = ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.y = 1.0;
        let (rect, _) = ui.allocate_exact_size(vec2(11.0, 11.0), Sense::hover());
        ui.painter().rect_filled(rect, 2.0, theme.group(group));
        ui.label(group.title());
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let share = time as f64 * 100.0 / total as f64;
            let right = |ui: &mut Ui, width: f32, text: RichText| {
                let layout = egui::Layout::right_to_left(egui::Align::Center);
                ui.allocate_ui_with_layout(vec2(width, 16.0), layout, |ui| {
                    ui.set_min_width(width);
                    ui.label(text);
                });
            };
            let text = if share < 0.05 { "< 0.1 %".to_owned() } else { format!("{:.1}", Percent(share)) };
            right(ui, 64.0, RichText::new(text).color(theme.text_strong));
            right(ui, 64.0 + times::more_room(), RichText::new(times::time(Picos::from_ps(time))).weak());
        });
    });
    let (time, total) = (times::time(Picos::from_ps(time)), times::time(Picos::from_ps(total)));
    shown.response.on_hover_text(format!(
        "{}: {time} of {total}\nMeasured: self time of ops, summed up over devices, of the windows of all devices",
        group.title()
    ));
}
