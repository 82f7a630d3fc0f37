//! The bar of a log directory that is followed: the step times of its last runs.

use super::prelude::*;

use crate::command::FollowCommand;
use crate::following::{FollowedRun, FollowedStep, Following};

/// Size of the bar of a run.
const BAR: Vec2 = vec2(16.0, 26.0);
/// Least height of a bar whose time is known.
const LEAST: f32 = 2.0;

/// The directory, the last runs as bars, and what stops following; `open` is the path of the open trace.
pub fn followed_ui(ui: &mut Ui, following: &Following, open: Option<&Path>, out: &mut AppCommands) {
    EguiPanel::top("followed").show(ui, |ui| {
        ui.horizontal(|ui| {
            let (label, about) = if following.is_paused {
                (
                    "Follow again",
                    "Open newer runs again as soon as they are complete",
                )
            } else {
                ("Pause", "Stay at the open run, also if a newer one comes")
            };
            ui.button(label)
                .on_hover_text(about)
                .sends(out, FollowCommand::Pause(!following.is_paused));
            ui.button("Stop following").sends(out, FollowCommand::Stop);
            let folder = following.folder().display();
            ui.weak(if following.is_paused {
                format!("Paused: {folder}")
            } else {
                format!("Follows the newest run of {folder}")
            });
            let runs = following.runs();
            let longest = runs
                .iter()
                .filter_map(|run| match run.step {
                    FollowedStep::Time(time) => Some(time),
                    _ => None,
                })
                .max()
                .unwrap_or_default();
            for (index, run) in runs.iter().enumerate() {
                let is_newest = index + 1 == runs.len();
                run_ui(ui, run, (is_newest, open == Some(&run.path)), longest, out);
            }
            if runs.is_empty() {
                ui.weak("No runs yet. They appear here when there are some.");
            }
            if let Some(error) = following.error() {
                ui.colored_label(theme::current(ui).error, error);
            }
        });
    });
}

/// One run: a click opens it.
fn run_ui(
    ui: &mut Ui,
    run: &FollowedRun,
    (is_newest, is_open): (bool, bool),
    longest: Picos,
    out: &mut AppCommands,
) {
    let (rect, response) = ui.allocate_exact_size(BAR, Sense::click());
    let step = match &run.step {
        FollowedStep::NotRead => "not opened yet".to_owned(),
        FollowedStep::Unknown => "step time not known".to_owned(),
        FollowedStep::Time(step) => format!("step {}", time(*step)),
        FollowedStep::Failed(error) => format!("cannot be opened: {error}"),
    };
    let newest = if is_newest { ", the newest" } else { "" };
    let text = format!("{}{newest}: {step}", run.name);
    response.labeled(Role::Button, &text);
    let theme = theme::current(ui);
    let painter = ui.painter();
    painter.rect_filled(rect, 2.0, ui.visuals().faint_bg_color);
    if let FollowedStep::Time(step) = run.step {
        let share = step.fraction_of(longest).unwrap_or(0.0) as f32;
        let height = (share * rect.height()).max(LEAST);
        let bar = rect.with_min_y(rect.bottom() - height);
        let color = if is_newest {
            ui.visuals().selection.bg_fill
        } else {
            theme.text_weak
        };
        painter.rect_filled(bar, 1.0, color);
    } else if let FollowedStep::Failed(_) = run.step {
        painter.line_segment([rect.left_top(), rect.right_bottom()], (1.5, theme.error));
    }
    if is_open {
        let stroke = (1.5, ui.visuals().strong_text_color());
        painter.rect_stroke(rect, 2.0, stroke, StrokeKind::Inside);
    }
    response
        .on_hover_text(text)
        .sends(out, FollowCommand::OpenRun(run.path.clone()));
}
