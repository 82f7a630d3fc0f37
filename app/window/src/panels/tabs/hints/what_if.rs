//! What if: sliders that change links, copies, collectives or one op, and the step that a replay of the run predicts.

use crate::panels::tabs::prelude::*;
use analysis::hints::HintOp;
use analysis::what_if::{Prediction, Scenario, SharedReplay};
use egui::Slider;

use view::drawing::shortened;

/// Letters of the title of a slider.
const LETTERS: usize = 28;

/// What was changed, in percent so that it can be compared.
#[derive(Clone, Debug, PartialEq)]
struct WhatIfChanges {
    scope: Scope,
    links: u32,
    /// Speed of asynchronous copies.
    copies: u32,
    /// Collectives and copies take no time.
    hide_collectives: bool,
    hide_copies: bool,
    no_idle: bool,
    /// Ops, what they are called together, and their time.
    ops: Option<(BTreeSet<OpId>, String, u32)>,
    /// What this hint assumes.
    hint: Option<&'static str>,
}

/// The ops whose time can be changed.
struct WhatIfOps {
    /// What they are called together.
    title: String,
    ops: BTreeSet<OpId>,
}

/// State between frames.
pub struct WhatIfState {
    links: f32,
    copies: f32,
    op: f32,
    hide_collectives: bool,
    hide_copies: bool,
    no_idle: bool,
    job: Worker<WhatIfChanges, Prediction>,
}

impl WhatIfState {
    /// Nothing is changed yet.
    pub fn new(wake: &WakeUi) -> Self {
        let job = Worker::new("what if", wake);
        Self {
            links: 1.0,
            copies: 1.0,
            op: 1.0,
            hide_collectives: false,
            hide_copies: false,
            no_idle: false,
            job,
        }
    }

    /// Takes a finished prediction over.
    pub fn poll(&mut self) {
        self.job.poll();
    }

    /// Whether nothing is being computed.
    pub fn is_settled(&self) -> bool {
        !self.job.is_running()
    }
}

/// The sliders and what they would change; one is for the selected op.
pub fn what_if_ui(ui: &mut Ui, context: PanelContext<'_>, state: &mut WhatIfState) {
    let model = &context.trace.model;
    let selected = context.selected_op().map(|op| WhatIfOps {
        title: model.str(model.op(op).name).to_owned(),
        ops: BTreeSet::from([op]),
    });
    egui::Grid::new("what if")
        .num_columns(2)
        .spacing([12.0, 4.0])
        .show(ui, |ui| {
            slider_ui(ui, "Links faster by", &mut state.links, 1.0..=8.0);
            slider_ui(ui, "Copies faster by", &mut state.copies, 1.0..=8.0);
            if let Some(ops) = &selected {
                slider_ui(
                    ui,
                    &format!("Time of {}", ops.title),
                    &mut state.op,
                    0.0..=2.0,
                );
            }
        });
    if selected.is_none() {
        // Beside sliders it would take their room.
        ui.weak("Select an op to change its time");
    }
    ui.horizontal_wrapped(|ui| {
        check_box(ui, &mut state.hide_collectives, "collectives take no time");
        check_box(ui, &mut state.hide_copies, "copies take no time");
        check_box(ui, &mut state.no_idle, "never idle");
    });
    answer_ui(ui, context, state, selected, None);
}

/// What the saving of a hint assumes, and the sliders that fit its ops.
pub fn hint_what_if_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    state: &mut WhatIfState,
    hint: &Hint,
) {
    let class = |op: &HintOp| context.trace.classes.class(op.op).group;
    let has = |group| hint.ops.iter().any(|op| class(op) == group);
    let title = if let [only] = &hint.ops[..] {
        only.name.clone()
    } else {
        format!("these {} ops", hint.ops.len())
    };
    let ops = WhatIfOps {
        title,
        ops: hint.ops.iter().map(|op| op.op).collect(),
    };
    let (collective, copy) = (has(OpGroup::Collective), has(OpGroup::AsyncWait));
    egui::Grid::new(("what if", hint.id))
        .num_columns(2)
        .spacing([12.0, 4.0])
        .show(ui, |ui| {
            if collective {
                slider_ui(ui, "Links faster by", &mut state.links, 1.0..=8.0);
            }
            if copy {
                slider_ui(ui, "Copies faster by", &mut state.copies, 1.0..=8.0);
            }
            if !ops.ops.is_empty() {
                slider_ui(
                    ui,
                    &format!("Time of {}", ops.title),
                    &mut state.op,
                    0.0..=2.0,
                );
            }
        });
    ui.horizontal_wrapped(|ui| {
        if collective {
            check_box(ui, &mut state.hide_collectives, "collectives take no time");
        }
        if copy {
            check_box(ui, &mut state.hide_copies, "copies take no time");
        }
        if ops.ops.is_empty() {
            check_box(ui, &mut state.no_idle, "never idle");
        }
    });
    answer_ui(
        ui,
        context,
        state,
        Some(ops).filter(|ops| !ops.ops.is_empty()),
        Some(hint),
    );
}

/// Asks for the replay with the changes of the sliders, or with those of the hint before one is moved, and shows the
/// step that it predicts.
fn answer_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    state: &mut WhatIfState,
    ops: Option<WhatIfOps>,
    hint: Option<&Hint>,
) {
    let percent = |factor: f32| (factor * 100.0).round() as u32;
    let mut changes = WhatIfChanges {
        scope: context.state.scope.into(),
        links: percent(state.links),
        copies: percent(state.copies),
        hide_collectives: state.hide_collectives,
        hide_copies: state.hide_copies,
        no_idle: state.no_idle,
        ops: ops
            .map(|ops| (ops.ops, ops.title, percent(state.op)))
            .filter(|(.., percent)| *percent != 100),
        hint: None,
    };
    let mut scenarios = scenarios(&changes);
    if scenarios.is_empty() {
        let Some(hint) = hint.filter(|hint| !hint.changes.is_empty()) else {
            state.job.clear();
            return drop(ui.weak("Move a slider: the recorded run is replayed with that change."));
        };
        (changes.hint, scenarios) = (Some(hint.id), hint.changes.clone());
        ui.weak("With what the saving of the hint assumes; move a slider for another change.");
    }
    let session = context.trace.session.clone();
    state.job.ask(changes.clone(), move |_| {
        let cx = session.context(changes.scope);
        cx.report::<SharedReplay>()
            .and_then(|replay| replay.with(&cx, &scenarios))
            .map_err(|error| error.to_string())
    });
    match state.job.memo() {
        JobAnswer::Failed { error, .. } => drop(ui.label(error)),
        JobAnswer::Ready(prediction) => prediction_ui(ui, prediction),
        memo => {
            memo.latest()
                .into_iter()
                .for_each(|prediction| prediction_ui(ui, prediction));
            ui.spinner();
        }
    }
}

fn slider_ui(ui: &mut Ui, title: &str, value: &mut f32, range: std::ops::RangeInclusive<f32>) {
    // A long name would push the slider out of the panel.
    let shown = shortened(title, LETTERS);
    let is_whole = shown == title;
    let label = ui.label(shown);
    if !is_whole {
        label.on_hover_text(title);
    }
    let slider = Slider::new(value, range)
        .suffix(" ×")
        .fixed_decimals(2)
        .step_by(0.05);
    let response = ui.add(slider);
    let now = f64::from(*value);
    response.widget_info(|| WidgetInfo::slider(true, now, title));
    ui.end_row();
}

fn scenarios(changes: &WhatIfChanges) -> Vec<Scenario> {
    let slower = |speed: u32| 100.0 / f64::from(speed.max(1));
    let factor = |hide: bool, speed: u32| match (hide, speed) {
        (true, _) => Some(0.0),
        (false, 100) => None,
        (false, speed) => Some(slower(speed)),
    };
    let mut out: Vec<Scenario> = Vec::new();
    out.extend(factor(changes.hide_collectives, changes.links).map(Scenario::Collectives));
    out.extend(factor(changes.hide_copies, changes.copies).map(Scenario::Copies));
    out.extend(changes.ops.as_ref().map(|(ops, title, percent)| {
        Scenario::Ops {
            what: title.clone(),
            factors: ops
                .iter()
                .map(|&op| (op, f64::from(*percent) / 100.0))
                .collect(),
        }
    }));
    out.extend(changes.no_idle.then_some(Scenario::Idle(0.0)));
    out
}

/// Recorded and predicted, one above the other.
fn prediction_ui(ui: &mut Ui, prediction: &Prediction) {
    let (what, recorded, least, most) = if let Some(step) = &prediction.step {
        let what = format!("Median step of {}", step.steps);
        (
            what,
            step.median_ps,
            step.predicted_ps,
            step.predicted_at_most_ps,
        )
    } else {
        let window = [
            prediction.window_ps,
            prediction.predicted_ps,
            prediction.predicted_at_most_ps,
        ];
        let [window, least, most] = window.map(Picos::as_ps_f64);
        ("Window".to_owned(), window, least, most)
    };
    let shown = |ps: f64| times::time_ps(ps as i64);
    let saved = 100.0 * (recorded - least) / recorded.max(1.0);
    let range = if most > least * 1.001 {
        format!(" to {}", shown(most))
    } else {
        String::new()
    };
    let change = if saved >= 0.0 { "shorter" } else { "longer" };
    let text = format!(
        "{what}: {}{range}, {} {change}",
        shown(least),
        number(saved.abs(), Unit::Percent)
    );
    ui.strong(&text);
    let theme = theme::current(ui);
    let longest = recorded.max(most).max(1.0);
    for (name, ps, at_most) in [("recorded", recorded, recorded), ("predicted", least, most)] {
        let (rect, response) =
            ui.allocate_exact_size(vec2(ui.available_width() - 8.0, 18.0), Sense::hover());
        let label = format!("{name} {}", shown(ps));
        response.labeled(Role::ProgressIndicator, &label);
        let width = |ps: f64| (rect.width() * (ps / longest) as f32).max(1.0);
        let color = if name == "recorded" {
            theme.text_weak
        } else {
            theme.accent
        };
        let bar = |ps: f64| Rect::from_min_size(rect.min, vec2(width(ps), rect.height()));
        ui.painter()
            .rect_filled(bar(at_most), 2.0, color.gamma_multiply(0.25));
        ui.painter()
            .rect_filled(bar(ps), 2.0, color.gamma_multiply(0.5));
        let pos = rect.left_center() + vec2(6.0, 0.0);
        ui.painter().text(
            pos,
            Align2::LEFT_CENTER,
            &label,
            small_font(),
            theme.text_strong,
        );
    }
    for note in &prediction.notes {
        ui.label(remark(note));
    }
    ui.label(remark(
        "Predicted by replaying the recorded ops; a range where hidden transfers come to light.",
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sliders_at_default_change_nothing() {
        let rest = WhatIfChanges {
            scope: Scope::WholeTrace,
            links: 100,
            copies: 100,
            hide_collectives: false,
            hide_copies: false,
            no_idle: false,
            ops: None,
            hint: None,
        };
        assert_eq!(scenarios(&rest), []);
        let faster = WhatIfChanges {
            links: 200,
            no_idle: true,
            ..rest.clone()
        };
        assert_eq!(
            scenarios(&faster),
            [Scenario::Collectives(0.5), Scenario::Idle(0.0)]
        );
        let hidden = WhatIfChanges {
            links: 200,
            hide_collectives: true,
            ..rest
        };
        assert_eq!(scenarios(&hidden), [Scenario::Collectives(0.0)]);
    }
}
