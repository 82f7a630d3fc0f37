//! The bar that shows the result of a comparison and how the two timelines are linked.

use crate::prelude::*;
use analysis::compare::{ChangeVerdict, Comparison, signed};
use egui::{DragValue, ProgressBar};

use super::{TraceComparison, second_later};
use crate::command::{AppCommands, ComparisonCommand};
use crate::jobs::JobAnswer;
use crate::keys::hint;
use crate::panels::widgets::{ResponseExt as _, at_right, remark};
use crate::theme;
use crate::times;
use crate::workspace::Workspace;
use view::compare::CANCELLED;
use view::time_format;

/// In less room, what changes the comparison is in menus, so that its result has room.
const ROOMY: f32 = 640.0;

/// The bar below the toolbar.
pub fn bar_ui(ui: &mut Ui, comparison: &TraceComparison, first: &Workspace, out: &mut AppCommands) {
    EguiPanel::top("comparison").show(ui, |ui| {
        ui.spacing_mut().button_padding.y = 0.0;
        ui.spacing_mut().interact_size.y = 18.0;
        ui.horizontal(|ui| {
            let is_narrow = ui.available_width() < ROOMY;
            if is_narrow {
                let lock = ViewLock::ALL.into_iter();
                let current = lock.filter(|(lock, ..)| *lock == comparison.link.lock);
                let title: String = current.map(|(_, title, _)| title).collect();
                ui.menu_button(format!("Lock: {title}"), |ui| {
                    locks_ui(ui, comparison, first, out);
                })
                .response
                .on_hover_text("How the two timelines are locked");
            } else {
                ui.label(remark("Locked by"));
                locks_ui(ui, comparison, first, out);
            }
            ui.separator();
            at_right(ui, |ui| {
                if is_narrow {
                    ui.menu_button("Runs", |ui| ends_ui(ui, comparison, out));
                } else {
                    ends_ui(ui, comparison, out);
                }
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    statement_ui(ui, comparison, out);
                });
            });
        });
    });
}

fn locks_ui(ui: &mut Ui, comparison: &TraceComparison, first: &Workspace, out: &mut AppCommands) {
    ui.spacing_mut().item_spacing.x = 3.0;
    let has_steps = !comparison.alignment().is_empty();
    for (lock, title, about) in ViewLock::ALL {
        let is_on = comparison.link.lock == lock;
        let enabled = lock != ViewLock::Step || has_steps;
        let button = ui.add_enabled(enabled, Button::selectable(is_on, title));
        button.widget_info(|| {
            WidgetInfo::selected(Role::Button, enabled, is_on, format!("Lock: {title}"))
        });
        let button = button.on_disabled_hover_text("The traces have no matching steps");
        button
            .hint(&format!("{about}. Lock, unlock"), "lock")
            .sends(out, ComparisonCommand::Lock(lock));
    }
    if comparison.link.lock == ViewLock::Offset {
        let zero = second_later(first, &comparison.second);
        let mut ps = (comparison.link.offset - zero).as_ps_f64();
        let speed = first.state.place.time.span_ps() / 1000.0;
        let field = DragValue::new(&mut ps)
            .speed(speed)
            .custom_formatter(|ps, _| times::time_ps(ps as i64))
            .custom_parser(|text| time_format::read(text).map(Picos::as_ps_f64));
        let response = ui.add(field);
        response.labeled(Role::SpinButton, "Offset of B");
        if response
            .on_hover_text("How much later B is shown, counted from both beginnings: 1.5ms")
            .changed()
        {
            out.push(ComparisonCommand::Offset(Picos::from_ps(ps as i64)).into());
        }
    }
}

fn ends_ui(ui: &mut Ui, comparison: &TraceComparison, out: &mut AppCommands) {
    ui.menu_button("Close", |ui| {
        for side in TraceSide::BOTH {
            let label = format!(
                "Close {} and continue with {}",
                side.other().name(),
                side.name()
            );
            ui.button(label)
                .chooses(ui, out, ComparisonCommand::Keep(side));
        }
    });
    ui.button("Swap A and B")
        .hint("Swap which run is the base", "swap")
        .sends(out, ComparisonCommand::Swap);
    let is_on = comparison.tracks_are_interleaved();
    let button = ui.add(Button::selectable(is_on, "Interleave"));
    button.labeled_choice(Role::Button, is_on, "Interleave tracks");
    let about = hint(
        ui.ctx(),
        "Show each track of B directly below the matching track of A",
        "interleave",
    );
    button
        .on_hover_text(about)
        .sends(out, ComparisonCommand::Interleave);
}

/// The result in few words, because the bar has one line: the tooltip has all of it.
fn short(comparison: &Comparison) -> String {
    if let Some(prediction) = &comparison.prediction {
        let ratio = prediction
            .ratio
            .map_or(String::new(), |ratio| format!(": {ratio:.2}"));
        return format!("Measured ÷ predicted step{ratio}");
    }
    let Some(step) = comparison.step_time().filter(|_| comparison.is_comparable) else {
        return "The steps cannot be compared".to_owned();
    };
    let Some(change) = step.change else {
        return "The step time is known on one side only".to_owned();
    };
    let percent = step
        .change_percent
        .map_or(String::new(), |percent| format!(" ({percent:+.2})"));
    let doubt = match step.finding {
        ChangeVerdict::Changed => "",
        ChangeVerdict::Noise => ", within noise",
        _ => ", may be noise",
    };
    format!("Median step {}{percent}{doubt}", signed(change))
}

fn statement_ui(ui: &mut Ui, comparison: &TraceComparison, out: &mut AppCommands) {
    let theme = theme::current(ui);
    match comparison.compared() {
        JobAnswer::Ready(compared) => {
            let statement = capitalised(&compared.comparison.statement);
            let strong = RichText::new(short(&compared.comparison)).color(theme.text_strong);
            let text = compared.why_not.as_ref().map_or(statement.clone(), |why| {
                format!("{statement}\n{}", capitalised(why))
            });
            if let Some(why) = &compared.why_not {
                ui.colored_label(theme.warning, capitalised(why));
            }
            let label = ui.add(
                Label::new(strong)
                    .truncate()
                    .show_tooltip_when_elided(false),
            );
            label.labeled(Role::Label, &statement);
            label.on_hover_text(text);
        }
        JobAnswer::Failed { error, .. } if error == CANCELLED => {
            ui.weak("The comparison was stopped.");
            ui.button("Resume comparing")
                .sends(out, ComparisonCommand::Resume);
        }
        JobAnswer::Failed { error, .. } => {
            let text =
                format!("The traces cannot be compared: {error}. The timelines are not linked.");
            ui.add(Label::new(RichText::new(&text).color(theme.warning)).truncate());
        }
        _ => progress_ui(ui, comparison, out),
    }
}

/// Progress of the comparison, with a button to stop it.
fn progress_ui(ui: &mut Ui, comparison: &TraceComparison, out: &mut AppCommands) {
    let Some(progress) = comparison.progress() else {
        return drop(ui.weak("Comparing …"));
    };
    if progress.check().is_err() {
        ui.spinner();
        return drop(ui.weak("Stopping …"));
    }
    let (done, total) = progress.bytes();
    let bar = ProgressBar::new(progress.fraction().unwrap_or(0.0))
        .text(format!("Comparing: {done} of {total} reports"));
    ui.add(bar.desired_width(260.0));
    ui.button("Stop")
        .on_hover_text("Show both traces without comparing them")
        .sends(out, ComparisonCommand::Stop);
}
