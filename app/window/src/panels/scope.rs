//! The scope of the reports, and how to change it.

use super::prelude::*;

use super::tabs::tab::TabSubject;

/// What the reports cover, in the line above them.
pub fn scope_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    subject: TabSubject,
    out: &mut ViewCommands,
) {
    let steps = context
        .whole
        .ready::<Steps>()
        .filter(|report| report.has_steps());
    let mark = context.state.place.mark;
    let scope = context.state.scope;
    if scope == ReportScope::Capture && subject == TabSubject::Other {
        return;
    }
    if scope == ReportScope::Capture && steps.is_none() && mark.is_none() {
        // There is nothing to choose from.
        return;
    }
    let is_followed = subject == TabSubject::Scope;
    let shown = if is_followed {
        scope
    } else {
        ReportScope::Capture
    };
    let mut text = RichText::new(format!("{} ▾", name(shown, steps))).small();
    if shown != ReportScope::Capture {
        text = text.color(theme::current(ui).accent).strong();
    }
    let menu = ui.menu_button(text, |ui| {
        ui.set_min_width(220.0);
        let steady = steps.and_then(ReportScope::steady);
        let slowest = steps.and_then(ReportScope::slowest);
        let choices = [
            ("", Some(ReportScope::Capture)),
            ("Steady: ", steady),
            ("Slowest: ", slowest),
            ("Marked: ", mark.map(ReportScope::Range)),
        ];
        for (before, choice) in choices {
            let Some(choice) = choice else { continue };
            ui.selectable_label(scope == choice, format!("{before}{}", name(choice, steps))).chooses(ui, out, ViewCommand::Scope(choice));
        }
        ui.separator();
        ui.weak("Drag over the tracks or click a bar of the step times to choose another part of the trace.");
    });
    menu.response.labeled(
        Role::Button,
        format_args!("Reports cover: {}", name(shown, steps)),
    );
    menu.response
        .on_hover_text("The part of the trace that the verdict, hints and tables cover");
    if scope == ReportScope::Capture {
        return;
    }
    close_button(ui, "Whole capture")
        .on_hover_text("Make the reports cover the whole capture")
        .sends(out, ViewCommand::Scope(ReportScope::Capture));
    if !is_followed {
        ui.add(Label::new(remark("this tab always covers the whole capture")).truncate());
    } else if !context.reports.is_settled() {
        ui.spinner();
    }
}

fn name(scope: ReportScope, steps: Option<&StepsReport>) -> String {
    match scope {
        ReportScope::Capture => "whole capture".to_owned(),
        ReportScope::Range(range) => {
            format!(
                "{} from {}",
                time(range.dur()),
                time(range.start.since_origin())
            )
        }
        ReportScope::Steps { first, last } if first == last => {
            let step =
                steps.and_then(|report| report.steps.iter().find(|step| step.number == first));
            let length = step.map_or_else(String::new, |step| format!(" ({})", time(step.time_ps)));
            format!("step {first}{length}")
        }
        ReportScope::Steps { first, last } => format!("steps {first} to {last}"),
    }
}
