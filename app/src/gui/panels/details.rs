//! The selected slice: what it is, when, how long, what it costs by the
//! compiler's account, and what the file says about it.

use egui::{Grid, RichText, ScrollArea, Ui};
use trace_model::{Arg, Op, Picos, SliceId, SliceRef};

use super::histogram::histogram_ui;
use super::number::number;
use crate::gui::jobs::Memo;
use crate::gui::keys::hint;
use crate::gui::theme::Theme;
use crate::gui::times::time;
use crate::view::histogram::Histogram;
use crate::view::state::{Spotlight, ViewCommand, ViewState};
use crate::view::trace::OpenTrace;
use analysis::Unit;

/// Longest text of an argument that is shown in its line.
const LONG: usize = 300;
/// Letters of a name in the heading; the buttons beside it need their room.
const NAME_LETTERS: usize = 56;
const STATIC: &str = "static: by the compiler's cost model, for one execution";
const ACHIEVED: &str = "static amount divided by the measured duration of this execution";

const SLOTS: &str =
    "issue slots of the unit that the code of the op uses; each bundle counts once, however often it runs";

/// The drawer at the bottom.
pub fn details_ui(
    ui: &mut Ui,
    trace: &OpenTrace,
    state: &ViewState,
    args: &Memo<Vec<Arg>>,
    histogram: &Memo<Histogram>,
    out: &mut Vec<ViewCommand>,
) {
    let Some(selected) = state.place.selection else {
        ui.add_space(6.0);
        ui.label(RichText::new("Nothing is selected.").strong());
        let first = hint(ui.ctx(), "Click a slice, or select the first one in sight", "next");
        ui.weak(format!("{first}. Drag over the tracks to measure a range."));
        return;
    };
    let slice = trace.model.slice(selected);
    heading_ui(ui, trace, slice, out);
    ui.separator();
    ScrollArea::both().auto_shrink([false, false]).show(ui, |ui| {
        ui.horizontal_top(|ui| {
            ui.vertical(|ui| timing_ui(ui, trace, slice));
            ui.add_space(24.0);
            if let Some(op) = slice.op() {
                ui.vertical(|ui| op_ui(ui, trace, slice, trace.model.op(op)));
                ui.add_space(24.0);
            }
            ui.vertical(|ui| histogram_ui(ui, histogram, slice.measured_dur().ps()));
            ui.add_space(24.0);
            ui.vertical(|ui| flows_ui(ui, trace, slice, out));
            ui.vertical(|ui| args_ui(ui, args));
        });
        if let Some(text) = slice.op().and_then(|op| trace.model.op(op).hlo_text) {
            ui.add_space(8.0);
            section(ui, "HLO");
            let mut text = trace.model.str(text);
            ui.add(
                egui::TextEdit::multiline(&mut text).code_editor().desired_width(ui.available_width()).desired_rows(2),
            );
        }
    });
}

fn heading_ui(ui: &mut Ui, trace: &OpenTrace, slice: SliceRef<'_>, out: &mut Vec<ViewCommand>) {
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        let short: String = slice.name().chars().take(NAME_LETTERS).collect();
        let short = if short.len() < slice.name().len() { format!("{short}…") } else { short };
        ui.label(RichText::new(short).heading().strong()).on_hover_text(slice.name());
        if let Some(op) = slice.op() {
            let group = trace.classes.class(op).group;
            badge(ui, group.title(), Theme::current(ui).group(group));
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            if ui.button("Close").on_hover_text(hint(ui.ctx(), "Close the details", "details")).clicked() {
                out.push(ViewCommand::ShowPanel(crate::view::state::Panel::Details, false));
            }
            if ui.button("Zoom to it").on_hover_text(hint(ui.ctx(), "Twice: it alone", "focus")).clicked() {
                out.push(ViewCommand::Focus);
            }
            if ui.button("Longest of this name").clicked()
                && let Some(longest) = crate::view::target::longest(
                    &trace.model,
                    &trace.labels_named(slice.name()).iter().copied().collect(),
                )
            {
                out.push(ViewCommand::GoTo(longest));
            }
            let lit = ViewCommand::LightUp(Some(Spotlight::new(
                slice.name(),
                trace.labels_named(slice.name()).iter().copied(),
            )));
            if ui.button("All of this name").on_hover_text("Light them up; then step through them").clicked() {
                out.push(lit);
            }
            if slice.op().is_some() && ui.button("In Ops").on_hover_text("Its row in the table of ops").clicked() {
                out.push(ViewCommand::ShowTab("ops".to_owned()));
            }
            if ui.button("Copy name").clicked() {
                ui.ctx().copy_text(slice.name().to_owned());
            }
        });
    });
}

fn timing_ui(ui: &mut Ui, trace: &OpenTrace, slice: SliceRef<'_>) {
    let model = &trace.model;
    section(ui, "Timing");
    Grid::new("timing").num_columns(2).spacing([14.0, 3.0]).show(ui, |ui| {
        let start = slice.start() - model.extent().start;
        time_row(ui, "Duration", slice.measured_dur());
        time_row(ui, "Self time", slice.self_dur());
        time_row(ui, "Start", start);
        if slice.device_range().is_some() && slice.dur() != slice.measured_dur() {
            let about = "Drawn on the timeline shared with the host; timed by the device's own clock.";
            row(ui, "On the timeline", &time(slice.dur()), about);
        }
        let track = model.track(slice.track());
        row(ui, "Track", model.str(track.name), &format!("lane {}", slice.depth()));
        row(ui, "On", model.str(model.group(track.group).name), "");
        if let Some(parent) = slice.parent() {
            row(ui, "Inside", parent.name(), "");
        }
        if let Some(step) = slice.attr(trace_model::SliceAttr::StepNum) {
            row(ui, "Step", &step.to_string(), "as the program numbered it");
        }
    });
}

fn op_ui(ui: &mut Ui, trace: &OpenTrace, slice: SliceRef<'_>, op: &Op) {
    let model = &trace.model;
    section(ui, "Op");
    Grid::new("op").num_columns(2).spacing([14.0, 3.0]).show(ui, |ui| {
        if let Some(id) = slice.op() {
            row(ui, "Category", trace.classes.category(id), "");
        }
        if let Some(program) = op.program {
            row(ui, "Module", model.str(model.program(program).name), "");
        }
        let rate = |amount: u64| {
            let seconds = slice.measured_dur().as_secs_f64();
            (seconds > 0.0).then(|| amount as f64 / seconds)
        };
        for (title, amount, unit, per_second) in [
            ("FLOPs", op.flops, Unit::Flop, Unit::FlopPerSecond),
            ("Bytes accessed", op.bytes_accessed, Unit::Bytes, Unit::BytesPerSecond),
        ] {
            let Some(amount) = amount else { continue };
            static_row(ui, title, &number(amount as f64, unit), STATIC);
            if let Some(rate) = rate(amount) {
                row(ui, "  achieved", &number(rate, per_second), ACHIEVED);
            }
        }
        for (title, text) in [("Shape", op.shape), ("Framework", op.framework_name), ("Source", op.source)] {
            if let Some(text) = text {
                row(ui, title, model.str(text), "");
            }
        }
        if let Some(bundles) = &op.bundles {
            static_row(ui, "Bundles", &number(bundles.count as f64, Unit::Count), STATIC);
            for unit in bundles.units.iter().filter(|unit| unit.used > 0) {
                let Some(percent) = unit.percent(bundles.count) else { continue };
                let title = format!("  {}", model.str(unit.unit));
                row(ui, &title, &number(percent, Unit::Percent), SLOTS);
            }
        }
    });
}

fn flows_ui(ui: &mut Ui, trace: &OpenTrace, slice: SliceRef<'_>, out: &mut Vec<ViewCommand>) {
    let model = &trace.model;
    let incoming: Vec<SliceId> = model.flows_to(slice.id()).map(|flow| flow.from).take(8).collect();
    let outgoing: Vec<SliceId> = model.flows_from(slice.id()).iter().map(|flow| flow.to).take(8).collect();
    if incoming.is_empty() && outgoing.is_empty() {
        return;
    }
    section(ui, "Arrows");
    for (direction, ends) in [("from", incoming), ("to", outgoing)] {
        for end in ends {
            ui.horizontal(|ui| {
                ui.weak(direction);
                if ui.link(model.slice(end).name()).clicked() {
                    out.push(ViewCommand::GoTo(end));
                }
            });
        }
    }
    ui.add_space(24.0);
}

fn args_ui(ui: &mut Ui, args: &Memo<Vec<Arg>>) {
    section(ui, "Recorded with it");
    match args {
        Memo::Failed { error, .. } => drop(ui.label(error)),
        Memo::Ready(args) if args.is_empty() => drop(ui.weak("nothing")),
        Memo::Ready(args) => {
            Grid::new("args").num_columns(2).spacing([14.0, 3.0]).show(ui, |ui| {
                for arg in args {
                    let value = arg.value.to_string();
                    let short: String = value.chars().take(LONG).collect();
                    row(ui, &arg.name, &short, if short.len() < value.len() { &value } else { "" });
                }
            });
        }
        Memo::Empty | Memo::Running { .. } => drop(ui.weak("reading …")),
    }
}

/// A time as it is written, and to be copied as it is.
fn time_row(ui: &mut Ui, title: &str, value: Picos) {
    ui.label(RichText::new(title).color(Theme::current(ui).text_weak));
    let label = ui.add(egui::Label::new(time(value)).selectable(true).extend());
    label.context_menu(|ui| {
        if ui.button(format!("Copy {} (picoseconds)", value.ps())).clicked() {
            ui.ctx().copy_text(value.ps().to_string());
            ui.close();
        }
    });
    label.on_hover_text(format!("{} ps; right-click to copy", value.ps()));
    ui.end_row();
}

fn section(ui: &mut Ui, title: &str) {
    ui.label(RichText::new(title).small().strong().color(Theme::current(ui).text_weak));
}

fn row(ui: &mut Ui, title: &str, value: &str, hint: &str) {
    ui.label(RichText::new(title).color(Theme::current(ui).text_weak));
    let response = ui.add(egui::Label::new(value).selectable(true).extend());
    if !hint.is_empty() {
        response.on_hover_text(hint);
    }
    ui.end_row();
}

fn static_row(ui: &mut Ui, title: &str, value: &str, hint: &str) {
    ui.label(RichText::new(title).color(Theme::current(ui).text_weak));
    ui.horizontal(|ui| {
        ui.label(value);
        badge(ui, "static", Theme::current(ui).edge);
    })
    .response
    .on_hover_text(hint);
    ui.end_row();
}

fn badge(ui: &mut Ui, text: &str, fill: egui::Color32) {
    let color = crate::gui::theme::readable_on(fill);
    egui::Frame::new().fill(fill).corner_radius(3.0).inner_margin(egui::Margin::symmetric(5, 0)).show(ui, |ui| {
        ui.label(RichText::new(text).small().color(color));
    });
}
