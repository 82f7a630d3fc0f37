//! Compiled programs: the neighbourhood of an op, the text of a program, a search, with two runs what differs. A click
//! goes to the slices.

mod question;
mod text;

use analysis::reports::ops::op_stats::Ops;
use analysis::{Analysis as _, Scope};
use egui::{RichText, Role, ScrollArea, Ui, WidgetInfo};
use trace_model::{OpId, ProgramId, SliceId};

use self::question::{AroundOp, HloAnswer, HloQuestion};
use self::text::text_ui;
use super::context::{PanelContext, computing_ui};
use super::hlo_boxes::graph_ui;
use super::hlo_diff;
use super::table::{RowReactions, SortedTable};
use super::tables::one_table_ui;
use crate::AppCommand;
use crate::jobs::{JobAnswer, WakeUi, Worker};
use crate::theme;
use crate::times;
use view::compare::TraceSide;
use view::panels::target::RowTarget;
use view::state::{HighlightedLabels, ViewCommand};

/// Largest radius that can be chosen: larger graphs are unreadable.
const MOST_STEPS: u32 = 6;
/// What the tab shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum HloMode {
    /// The neighbourhood of an op.
    #[default]
    Around,
    /// The text of a program.
    Text,
    /// Instructions that were found.
    Found,
    /// What differs from the program of the same name in the other run.
    Diff,
}

/// State of the tab.
pub struct HloPanel {
    mode: HloMode,
    /// Program and instruction in the middle.
    center: Option<(ProgramId, String)>,
    /// The selection that was followed last.
    followed: Option<SliceId>,
    radius: u32,
    /// The program whose text is shown; that of the instruction in the middle unless one was chosen.
    program: Option<ProgramId>,
    words: String,
    /// Whether the field of words must take the focus.
    types: bool,
    sorted: SortedTable,
    programs: Worker<HloQuestion, HloAnswer>,
    answers: Worker<HloQuestion, HloAnswer>,
}

impl HloPanel {
    /// Nothing is requested yet.
    pub fn new(wake: &WakeUi) -> Self {
        Self {
            mode: HloMode::default(),
            center: None,
            followed: None,
            radius: 2,
            program: None,
            words: String::new(),
            types: false,
            sorted: SortedTable::default(),
            programs: Worker::new("programs", wake.clone()),
            answers: Worker::new("program", wake.clone()),
        }
    }

    /// Takes over finished results.
    pub fn poll(&mut self) {
        self.programs.poll();
        if self.answers.poll() {
            self.sorted.forget();
        }
    }

    /// Whether nothing is being computed.
    pub fn is_settled(&self) -> bool {
        !self.programs.memo().is_running() && !self.answers.memo().is_running()
    }

    /// Puts the op of the selected slice in the middle when the selection changes; without a selection, the op with
    /// the most self time.
    fn follow(&mut self, context: PanelContext<'_>) {
        let model = &context.trace.model;
        let place = |op: OpId| {
            Some((
                model.op(op).program?,
                model.str(model.op(op).name).to_owned(),
            ))
        };
        if let Some(slice) = context.state.place.selection
            && self.followed != Some(slice)
        {
            self.followed = Some(slice);
            if let Some(own) = model.slice(slice).op().and_then(place) {
                self.program = None;
                self.center = Some(own);
            }
        }
        if self.center.is_none() {
            let ops = context.reports.get::<Ops>().ok().flatten();
            self.center = ops.and_then(|ops| ops.rows.iter().find_map(|row| place(row.op?)));
        }
    }

    fn ask(&mut self, context: PanelContext<'_>) {
        let scope = Scope::from(context.state.scope);
        let ask = |worker: &mut Worker<HloQuestion, HloAnswer>, question: HloQuestion| {
            let (session, own) = (context.trace.session.clone(), question.clone());
            let other = context.other.map(|other| other.trace.session.clone());
            worker.ask(question, move |_| own.answer(&session, other.as_ref()));
        };
        ask(&mut self.programs, HloQuestion::Programs(scope));
        let question = match self.mode {
            HloMode::Around => self
                .center
                .clone()
                .map(|(program, name)| HloQuestion::Around(scope, program, name, self.radius)),
            HloMode::Text => self
                .text_of()
                .map(|program| HloQuestion::Text(scope, program)),
            HloMode::Diff => context.other.zip(self.text_of()).map(|(other, program)| {
                HloQuestion::Diff(scope, program, other.side, other.trace.path.clone())
            }),
            HloMode::Found => {
                let words = self.words.trim().to_owned();
                (!words.is_empty()).then_some(HloQuestion::Found(scope, words))
            }
        };
        match question {
            Some(question) => ask(&mut self.answers, question),
            None => self.answers.clear(),
        }
    }

    /// The program whose text is shown.
    fn text_of(&self) -> Option<ProgramId> {
        let first = || match self.programs.memo().latest() {
            Some(HloAnswer::Programs(list)) => list.rows.first().map(|row| row.id),
            _ => None,
        };
        self.program
            .or_else(|| self.center.as_ref().map(|center| center.0))
            .or_else(first)
    }
}

pub fn hlo_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    panel: &mut HloPanel,
    out: &mut Vec<AppCommand>,
    view: &mut Vec<ViewCommand>,
) {
    panel.follow(context);
    if panel.mode == HloMode::Diff && context.other.is_none() {
        panel.mode = HloMode::default();
    }
    head_ui(ui, panel, context.other.is_some());
    panel.ask(context);
    let answer = match panel.answers.memo() {
        JobAnswer::Failed { error, .. } => {
            ui.add_space(8.0);
            return drop(ui.label(error));
        }
        JobAnswer::Running { previous: None } => return computing_ui(ui),
        JobAnswer::Empty if panel.mode == HloMode::Found => {
            let text = "Words that an instruction contains. name: opcode: shape: source: op_name: groups: look into one \
                        field, for example opcode:fusion shape:bf16[ train.py";
            return drop(ui.weak(text));
        }
        JobAnswer::Empty => return drop(ui.label("No op of a program is recorded here.")),
        memo => memo.latest(),
    };
    let mut next = None;
    match answer {
        Some(HloAnswer::Around(around)) => around_ui(ui, context, around, &mut next, view),
        Some(HloAnswer::Text(text)) => {
            let program = panel.text_of();
            if let Some((name, ops)) = text_ui(
                ui,
                text,
                panel.center.as_ref().map(|center| center.1.as_str()),
            ) {
                next = program.map(|program| (program, name, ops));
            }
        }
        Some(HloAnswer::Found(found, table)) => {
            let selected = context.state.place.selection;
            let about = RowReactions {
                selected,
                is_marked: &|_| false,
                leads: &|_| true,
            };
            if let Some(row) = one_table_ui(ui, table, &mut panel.sorted, about, out)
                && let Some(row) = found.rows.get(row)
            {
                next = Some((row.program_id, row.op.name.to_string(), row.op.ops.clone()));
            }
        }
        Some(HloAnswer::Diff(found, table)) => {
            let side = context.other.map_or(TraceSide::A, |other| other.side);
            if let Some(op) = hlo_diff::diff_ui(ui, (found, table), side, &mut panel.sorted, out) {
                next = panel
                    .text_of()
                    .map(|program| (program, op.name.to_string(), op.ops.clone()));
            }
        }
        _ => {}
    }
    if let Some((program, name, ops)) = next {
        if panel.mode == HloMode::Found {
            panel.mode = HloMode::Around;
        }
        lead(context, &name, &ops, view);
        panel.center = Some((program, name));
        ui.ctx().request_repaint();
    }
}

/// The command that goes to the longest slice of an instruction; `None` if it has no slices of its own.
fn lead(context: PanelContext<'_>, name: &str, ops: &[OpId], view: &mut Vec<ViewCommand>) {
    let labels = context.trace.labels_of(&ops.iter().copied().collect());
    if !labels.is_empty() {
        view.extend(
            RowTarget::Slices(HighlightedLabels::new(name, labels)).commands(context.trace),
        );
    }
}

fn head_ui(ui: &mut Ui, panel: &mut HloPanel, compares: bool) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        let modes = [
            (HloMode::Around, "Around an op"),
            (HloMode::Text, "Program text"),
            (HloMode::Found, "Find instructions"),
        ];
        for (mode, title) in modes
            .into_iter()
            .chain(compares.then_some((HloMode::Diff, "Changes from A to B")))
        {
            if ui.selectable_label(panel.mode == mode, title).clicked() {
                panel.mode = mode;
                panel.types = mode == HloMode::Found;
            }
        }
        ui.add_space(8.0);
        match panel.mode {
            HloMode::Around => radius_ui(ui, panel),
            HloMode::Text | HloMode::Diff => program_ui(ui, panel),
            HloMode::Found => {
                let field = egui::TextEdit::singleline(&mut panel.words)
                    .hint_text("opcode:fusion train.py");
                let response = ui.add(field.desired_width(220.0));
                response.widget_info(|| {
                    WidgetInfo::labeled(Role::TextInput, true, "Search instructions")
                });
                if std::mem::take(&mut panel.types) {
                    response.request_focus();
                }
            }
        }
    });
}

fn radius_ui(ui: &mut Ui, panel: &mut HloPanel) {
    for (text, label, change) in [("−", "Smaller radius", -1_i32), ("+", "Larger radius", 1)] {
        let next = panel
            .radius
            .saturating_add_signed(change)
            .clamp(1, MOST_STEPS);
        let button = ui.add_enabled(next != panel.radius, egui::Button::new(text));
        button.widget_info(|| WidgetInfo::labeled(Role::Button, true, label));
        if button
            .on_hover_text("How many steps to operands and users")
            .clicked()
        {
            panel.radius = next;
        }
        if change < 0 {
            ui.label(RichText::new(format!("radius {}", panel.radius)).small());
        }
    }
}

fn program_ui(ui: &mut Ui, panel: &mut HloPanel) {
    let Some(HloAnswer::Programs(list)) = panel.programs.memo().latest() else {
        return;
    };
    let own = panel.text_of();
    let title = |id: Option<ProgramId>| {
        list.rows
            .iter()
            .find(|row| Some(row.id) == id)
            .map(|row| row.program.clone())
    };
    let mut wanted = own;
    egui::ComboBox::from_id_salt("program")
        .width(220.0)
        .selected_text(title(own).unwrap_or_default())
        .show_ui(ui, |ui| {
            for row in &list.rows {
                let time = row.self_time_ps.map_or_else(String::new, |time| {
                    format!("  {} on all devices", times::time(time))
                });
                ui.selectable_value(&mut wanted, Some(row.id), format!("{}{time}", row.program));
            }
        });
    if wanted != own {
        panel.program = wanted;
    }
}

/// Program, instruction and ops of the clicked item.
type Clicked = Option<(ProgramId, String, Vec<OpId>)>;

fn around_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    around: &AroundOp,
    next: &mut Clicked,
    view: &mut Vec<ViewCommand>,
) {
    let found = &around.found;
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(&found.center).strong());
        ui.label(
            RichText::new(format!(
                "in {} · {}",
                found.program,
                found.known_from.title()
            ))
            .small()
            .weak(),
        );
        for caller in &found.called_by {
            if ui
                .link(RichText::new(format!("inside {caller}")).small())
                .clicked()
            {
                *next = Some((found.program_id, caller.clone(), Vec::new()));
            }
        }
    });
    for note in &found.notes {
        ui.label(RichText::new(note).small().weak());
    }
    if found.left_out > 0 {
        let text = format!(
            "{} more within this radius are left out: choose a smaller one",
            found.left_out
        );
        ui.label(
            RichText::new(text)
                .small()
                .color(theme::current(ui).warning),
        );
    }
    let mut clicked = None;
    ScrollArea::both()
        .auto_shrink([false, false])
        .id_salt("hlo graph")
        .show(ui, |ui| {
            clicked = graph_ui(ui, found, &around.around).or(clicked);
            if !around.inside.boxes.is_empty() {
                ui.add_space(8.0);
                ui.label(RichText::new(format!("Inside {}", found.center)).strong());
                if found.left_out_inside > 0 {
                    ui.label(
                        RichText::new(format!("{} more are left out", found.left_out_inside))
                            .small()
                            .weak(),
                    );
                }
                clicked = graph_ui(ui, found, &around.inside).or(clicked);
            }
        });
    if let Some(node) = clicked {
        *next = Some((
            found.program_id,
            node.op.name.to_string(),
            node.op.ops.clone(),
        ));
    }
    if let Some((_, name, ops)) = next
        && ops.is_empty()
    {
        // A link names the instruction only: its ops are those of that name.
        let own = context.trace.model.op_ids().filter(|&op| {
            let op = context.trace.model.op(op);
            op.program == Some(found.program_id) && context.trace.model.str(op.name) == name
        });
        lead(context, name, &own.collect::<Vec<_>>(), view);
    }
}

/// Reports that the tab needs.
pub const WANTED: [&str; 1] = [Ops::ID];
