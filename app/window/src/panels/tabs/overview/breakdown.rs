//! Device time by category: one bar per device, and the sum.

use crate::panels::tabs::prelude::*;
use analysis::counted;

use crate::drawing;
use crate::panels::context::reason_ui;
use crate::panels::copy::text_menu;
use view::charts::Chart as _;
use view::charts::stacked_bar::StackedBar;
use view::drawing::ColorRole;
use view::overview::{DeviceBar, DeviceTime, share};

/// At most this many devices get a bar of their own.
const MAX_BARS: usize = 16;
/// Width of the names before the bars.
const NAME: f32 = 56.0;
/// Width of the names where one is longer than [`SHORT`] letters.
const LONG_NAME: f32 = 116.0;
/// Letters that fit.
const SHORT: usize = 7;

/// Bars by device, and the sums.
pub fn breakdown_ui(ui: &mut Ui, context: PanelContext<'_>) {
    let Some(time) = &context.reports.overview().device_time else {
        match context.reports.get::<Ops>() {
            Ok(None) => {}
            Ok(Some(_)) => {
                section_ui(ui, "Device time", "");
                ui.weak("No device recorded ops.");
            }
            Err(reason) => {
                section_ui(ui, "Device time", "");
                reason_ui(ui, reason);
            }
        }
        return;
    };
    let total = times::time(time.each(time.total_ps));
    let note = match time.devices.len() {
        1 => format!("of {total}, first op to the end of the last"),
        several => {
            format!("mean of {several} devices, of {total} each, first op to the end of the last")
        }
    };
    section_ui(ui, "Device time", &note);
    let shown = time.devices.iter().take(MAX_BARS);
    let longest = shown
        .clone()
        .map(|device| device.short_name().chars().count())
        .max()
        .unwrap_or(0);
    let name_width = if longest > SHORT { LONG_NAME } else { NAME };
    for device in shown {
        bar_ui(ui, device, name_width);
    }
    if time.devices.len() > MAX_BARS {
        ui.weak(format!(
            "and {}",
            counted(time.devices.len() - MAX_BARS, "more device")
        ));
    }
    ui.add_space(4.0);
    for &(group, part) in &time.parts {
        sum_ui(ui, group, part, time);
    }
}

/// The bar of a device; the name of an unusual device has the warning colour.
fn bar_ui(ui: &mut Ui, device: &DeviceBar, name_width: f32) {
    let theme = theme::current(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 15.0), Sense::click());
    let painter = ui.painter_at(rect);
    let font = small_font();
    let color = if device.remark.is_some() {
        theme.warning
    } else {
        theme.text_weak
    };
    elided_name(
        &painter,
        rect.left_center(),
        device.short_name(),
        name_width - 6.0,
        &font,
        color,
    );
    let label = device.remark.map_or_else(
        || device.name.clone(),
        |remark| format!("{}, {remark}", device.name),
    );
    response.labeled(Role::Label, &label);
    let bar = rect.with_min_x(rect.left() + name_width);
    let work = device.parts.iter().filter(|part| part.0 != OpGroup::Idle);
    let parts = work.map(|&(group, time)| (ColorRole::group(group), group.title(), time.ps()));
    let whole = StackedBar {
        parts: parts.collect(),
        whole_ps: device.window_ps.ps(),
    };
    let drawn = whole.draw(&drawing::frame(bar.size()));
    drawing::paint(&painter, bar.min, &drawn, theme);
    text_menu(&response, || {
        format!("{label}\n{}", about(device).join("\n"))
    });
    response.on_hover_ui(|ui| {
        ui.strong(&label);
        for line in about(device) {
            ui.label(line);
        }
    });
}

/// The categories of a device, as shares of its window.
fn about(device: &DeviceBar) -> Vec<String> {
    let line = |&(group, time): &(OpGroup, Picos)| {
        format!(
            "{}: {} ({})",
            group.title(),
            times::time(time),
            share(time, device.window_ps)
        )
    };
    let window = time(device.window_ps);
    let of = format!(
        "Times {}; of {window}, from its first op to the end of its last.",
        times::origin()
    );
    device.parts.iter().map(line).chain([of]).collect()
}

/// The time of a kind of work on all devices, shown as its mean.
fn sum_ui(ui: &mut Ui, group: OpGroup, time: Picos, all: &DeviceTime) {
    let theme = theme::current(ui);
    let shown = ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.y = 1.0;
        let (rect, _) = ui.allocate_exact_size(vec2(11.0, 11.0), Sense::hover());
        ui.painter().rect_filled(rect, 2.0, theme.group(group));
        ui.label(group.title());
        at_right(ui, |ui| {
            let right = |ui: &mut Ui, width: f32, text: RichText| {
                let layout = Layout::right_to_left(Align::Center);
                ui.allocate_ui_with_layout(vec2(width, 16.0), layout, |ui| {
                    ui.set_min_width(width);
                    ui.label(text);
                });
            };
            right(
                ui,
                64.0,
                RichText::new(share(time, all.total_ps)).color(theme.text_strong),
            );
            let mean = times::time(all.each(time));
            right(ui, 64.0 + times::more_room(), RichText::new(mean).weak());
        });
    });
    let (time, total) = (times::time(time), times::time(all.total_ps));
    shown.response.on_hover_text(format!(
        "{}: {time} of {total}, sums over {}\nTimes {}: self time of ops, of the windows of the devices",
        group.title(),
        counted(all.devices.len(), "device"),
        times::origin()
    ));
}
