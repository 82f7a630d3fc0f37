//! Details of the selected slice: what it is, its times, its cost by the compiler's estimate, and its recorded
//! arguments.

mod op;
mod path;
mod rows;

use crate::panels::prelude::*;
use analysis::measured_range;
use analysis::reports::Overlap;
use trace_model::Arg;

use self::op::op_ui;
use self::path::{path_of, path_ui};
use self::rows::{section, time_row};
use super::context::side_ui;
use super::dock::PanelState;
use super::histogram::histogram_ui;
use super::tabs::hints::badge;
use super::tabs::ops;
use crate::panels::widgets::{value_grid, value_row};
use view::panels::histogram::Histogram;
use view::panels::transfer::transfer;
use view::timeline::bands::{heading_of, step_at};

/// Arguments longer than this are truncated.
const LONG: usize = 300;
/// What was read and computed about the selected slice.
#[derive(Clone, Copy)]
pub struct DetailsContext<'a> {
    pub args: &'a JobAnswer<Vec<Arg>>,
    /// The durations of all slices of the same name.
    pub durations: &'a JobAnswer<Histogram>,
    /// All steps in time order.
    pub steps: &'a [StepBand],
}

/// Ids of the reports that the details use.
pub const WANTED: [&str; 2] = [Ops::ID, Overlap::ID];

/// The drawer at the bottom.
pub fn details_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    known: DetailsContext<'_>,
    memory: &mut PanelState,
    out: &mut ViewCommands,
) {
    let trace = context.trace;
    let Some(selected) = context.state.place.selection else {
        ui.add_space(6.0);
        ui.strong("Nothing is selected.");
        let first = hint(
            ui.ctx(),
            "Click a slice, or select the first one in sight",
            "next",
        );
        ui.weak(format!("{first}. Drag over the tracks to measure a range."));
        return;
    };
    let slice = trace.model.slice(selected);
    heading_ui(ui, context, slice, memory, out);
    transfer_ui(ui, context, slice, out);
    ui.separator();
    // The details of another slice are scrolled to the top.
    ScrollArea::vertical()
        .id_salt(("details", selected))
        .auto_shrink([false, false])
        .show(ui, |ui| {
            let path = path_of(trace, slice);
            let parts = [
                Part::Timing,
                Part::Path,
                Part::Op,
                Part::Occurrences,
                Part::Args,
            ];
            let parts = parts.into_iter().filter(|part| match part {
                Part::Op => slice.op().is_some(),
                Part::Path => path.is_some(),
                _ => true,
            });
            let count = ((ui.available_width() / COLUMN) as usize).clamp(1, parts.clone().count());
            ui.columns(count, |columns| {
                for (i, part) in parts.enumerate() {
                    let ui = &mut columns[i % count];
                    match part {
                        Part::Timing => timing_ui(ui, trace, slice, known.steps, out),
                        Part::Path => path_ui(ui, path),
                        Part::Op => op_ui(ui, context, slice, out),
                        Part::Occurrences => {
                            let name_and_time =
                                (slice.name(), measured_range(slice, &trace.model).dur().ps());
                            histogram_ui(ui, known.durations, name_and_time, out);
                            flows_ui(ui, trace, slice, out);
                        }
                        Part::Args => args_ui(ui, known.args),
                    }
                    ui.add_space(8.0);
                }
            });
            if let Some(text) = slice.op().and_then(|op| trace.model.op(op).hlo_text) {
                ui.add_space(8.0);
                section(ui, "HLO");
                let mut text = trace.model.str(text);
                let field = TextEdit::multiline(&mut text).code_editor().desired_rows(2);
                let response = ui.add(field.desired_width(ui.available_width()));
                response.labeled(Role::MultilineTextInput, "HLO text");
            }
        });
}

/// A sentence about the transfer that the op starts or awaits, with a link to its other end.
fn transfer_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    slice: SliceRef<'_>,
    out: &mut ViewCommands,
) {
    let model = &context.trace.model;
    let overlap = context.reports.ready::<Overlap>();
    let Some(ends) = transfer(model, slice, overlap, times::format()) else {
        return;
    };
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        ui.label(ends.before);
        ui.link(model.slice(ends.other).name())
            .on_hover_text("Show the other end of the transfer")
            .sends(out, ViewCommand::GoTo(ends.other));
        ui.label(format!("({})", ends.about)).on_hover_text(
            "From the start of the first op to the end of the last, by the clock that timed them",
        );
    });
}

/// Minimum width of a column.
const COLUMN: f32 = 280.0;

/// The sections of the details, side by side if there is room.
#[derive(Clone, Copy)]
enum Part {
    Timing,
    /// The critical path of its step.
    Path,
    /// Costs, and how close the op comes to its limits.
    Op,
    /// All slices of the same name, and flows.
    Occurrences,
    Args,
}

fn heading_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    slice: SliceRef<'_>,
    memory: &mut PanelState,
    out: &mut ViewCommands,
) {
    let trace = context.trace;
    ui.add_space(4.0);
    if ui.available_width() < BESIDE {
        ui.horizontal(|ui| name_ui(ui, context, slice));
        ui.horizontal_wrapped(|ui| buttons_ui(ui, trace, slice, memory, out));
        return;
    }
    // The buttons are as wide as they were in the last frame, and in the same order as below the name.
    let id = ui.scope_id().with("width of buttons");
    let width: f32 = kept(ui, id).unwrap_or(0.0);
    ui.horizontal(|ui| {
        let left = ui.cursor().left();
        let room = ui.available_width();
        ui.scope(|ui| {
            ui.set_max_width((room - width - 8.0).max(0.0));
            name_ui(ui, context, slice);
        });
        ui.add_space((left + room - width - ui.cursor().left()).max(0.0));
        let needed = ui
            .horizontal(|ui| buttons_ui(ui, trace, slice, memory, out))
            .response
            .rect
            .width();
        if (needed - width).abs() > 0.5 {
            keep(ui, id, needed);
            ui.ctx().request_discard("the width of buttons is known");
        }
    });
}

/// In less room than this, the buttons go below the name.
const BESIDE: f32 = 760.0;

fn buttons_ui(
    ui: &mut Ui,
    trace: &OpenTrace,
    slice: SliceRef<'_>,
    memory: &mut PanelState,
    out: &mut ViewCommands,
) {
    ui.button("Zoom to it")
        .hint_above("Click twice to show only this slice", "focus")
        .sends(out, ViewCommand::Focus);
    if ui.button("Longest of this name").clicked()
        && let Some(longest) = trace.longest(trace.labels_named(slice.name()))
    {
        out.push(ViewCommand::GoTo(longest));
    }
    let labels = trace.labels_named(slice.name()).iter().copied();
    ui.button("All of this name")
        .hint_above("Highlight them, then step through them", "")
        .sends(out, ViewCommand::highlight(slice.name(), labels));
    if slice.op().is_some()
        && ui
            .button("In Ops")
            .hint_above("Show its row in the table of ops", "")
            .clicked()
    {
        let name = slice
            .op()
            .map_or(slice.name(), |op| trace.model.str(trace.model.op(op).name));
        memory.find_op(name);
        out.push(ops::TAB.show());
    }
    if ui.button("Copy name").clicked() {
        ui.ctx().copy_text(slice.name().to_owned());
    }
    let close = ViewCommand::ShowPanel(Panel::Details, false);
    ui.button("Close")
        .hint_above("Close the details", "details")
        .sends(out, close);
}

fn name_ui(ui: &mut Ui, context: PanelContext<'_>, slice: SliceRef<'_>) {
    let trace = context.trace;
    side_ui(ui, context);
    if let Some(op) = slice.op() {
        let group = trace.classes.class(op).group;
        badge(ui, group.title(), theme::current(ui).group(group));
    }
    let name = Label::new(RichText::new(heading_of(slice)).heading().strong()).truncate();
    ui.add(name.show_tooltip_when_elided(false))
        .on_hover_text(slice.name());
}

fn timing_ui(
    ui: &mut Ui,
    trace: &OpenTrace,
    slice: SliceRef<'_>,
    steps: &[StepBand],
    out: &mut ViewCommands,
) {
    let model = &trace.model;
    section(ui, "Timing");
    value_grid(ui, "timing", |ui| {
        let start = slice.start().since_origin();
        let dur = measured_range(slice, model).dur();
        time_row(ui, "Duration", dur);
        time_row(
            ui,
            "Self time",
            if slice.has_children() {
                slice.self_dur()
            } else {
                dur
            },
        );
        time_row(ui, "Start", start);
        // The texts differ if the clocks disagree by more than rounding.
        if time(slice.dur()) != time(dur) {
            let about =
                "Drawn on the timeline shared with the host; timed by the device's own clock.";
            value_row(ui, "On the timeline", time(slice.dur()), about);
        }
        let track = slice.track_ref();
        value_row(
            ui,
            "Track",
            model.str(track.name),
            &format!("lane {}", slice.depth()),
        );
        value_row(ui, "On", model.str(model.group(track.group).name), "");
        if let Some(parent) = slice.parent() {
            value_row(ui, "Inside", parent.name(), parent.name());
        }
        if let Some(step) = slice.attr(SliceAttr::StepNum) {
            value_row(
                ui,
                "Step",
                step.to_string(),
                "number that the program gave the step",
            );
        } else if let Some(step) = step_at(steps, slice.start()).and_then(|place| steps.get(place))
        {
            ui.weak("Step");
            ui.link(step.name())
                .on_hover_text(format!(
                    "{}: the slice begins while it runs. Click to show the step",
                    step.title
                ))
                .sends(out, ViewCommand::Show(step.range));
            ui.end_row();
        }
    });
}

/// The slices at the other ends of its flows.
fn flows_ui(ui: &mut Ui, trace: &OpenTrace, slice: SliceRef<'_>, out: &mut ViewCommands) {
    let model = &trace.model;
    let incoming: Vec<SliceId> = model
        .flows_to(slice.id())
        .map(|flow| flow.from)
        .take(8)
        .collect();
    let outgoing: Vec<SliceId> = model
        .flows_from(slice.id())
        .iter()
        .map(|flow| flow.to)
        .take(8)
        .collect();
    if incoming.is_empty() && outgoing.is_empty() {
        return;
    }
    ui.add_space(8.0);
    section(ui, "Arrows");
    for (direction, ends) in [("from", incoming), ("to", outgoing)] {
        for end in ends {
            ui.horizontal(|ui| {
                ui.weak(direction);
                let name = model.slice(end).name();
                let link =
                    Label::new(RichText::new(name).color(ui.visuals().hyperlink_color)).truncate();
                let link = ui.add(link.sense(Sense::click()));
                link.labeled(Role::Link, name);
                link.sends(out, ViewCommand::GoTo(end));
            });
        }
    }
}

fn args_ui(ui: &mut Ui, args: &JobAnswer<Vec<Arg>>) {
    ui.horizontal(|ui| {
        section(ui, "Recorded arguments");
        if let JobAnswer::Ready(args) = args
            && !args.is_empty()
            && ui
                .small_button("Copy")
                .on_hover_text("All arguments, one per line")
                .clicked()
        {
            let lines = joined(
                args.iter()
                    .map(|arg| format!("{}\t{}", arg.name, arg.value)),
                "\n",
            );
            ui.ctx().copy_text(lines);
        }
    });
    match args {
        JobAnswer::Failed { error, .. } => drop(ui.label(error)),
        JobAnswer::Ready(args) if args.is_empty() => drop(ui.weak("nothing")),
        JobAnswer::Ready(args) => {
            value_grid(ui, "args", |ui| {
                for arg in args {
                    let value = arg.value.to_string();
                    let short: String = value.chars().take(LONG).collect();
                    value_row(
                        ui,
                        &arg.name,
                        &short,
                        if short.len() < value.len() {
                            &value
                        } else {
                            ""
                        },
                    );
                }
            });
        }
        JobAnswer::Empty | JobAnswer::Running { .. } => drop(ui.weak("reading …")),
    }
}
