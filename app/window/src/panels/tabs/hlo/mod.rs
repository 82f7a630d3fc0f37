//! Compiled programs: the neighbourhood of an op, the text of a program, a search, with two runs what differs. A click
//! goes to the slices.

mod boxes;
mod diff;
mod question;
mod text;

use crate::panels::tabs::prelude::*;
use analysis::reports::hlo::programs;

use self::boxes::graph_ui;
use self::question::{AroundOp, HloQuestion, HloTabAnswer};
use self::text::text_ui;

use crate::panels::table::{RowReactions, SortedTable};
use crate::panels::tables::one_table_ui;

pub const TAB: Tab = Tab {
    id: "hlo",
    title: "HLO",
    also: &[Ops::ID],
    icon: "frame 0.3 0 0.7 0.28; frame 0 0.72 0.36 1; frame 0.64 0.72 1 1; line 0.5 0.28 0.18 0.72; \
           line 0.5 0.28 0.82 0.72",
    why_empty: |_, session, _| {
        let can_be_read = programs(&session.context(Scope::WholeTrace)).can_be_read();
        let reason = "the capture holds no program and no op with its HLO text";
        Ok((!can_be_read).then(|| reason.to_owned()))
    },
    panel: |wake| Box::new(HloPanel::new(wake)),
    ..TABLES
};

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
struct HloPanel {
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
    programs: Worker<HloQuestion, HloTabAnswer>,
    answers: Worker<HloQuestion, HloTabAnswer>,
}

impl HloPanel {
    /// Nothing is requested yet.
    fn new(wake: &WakeUi) -> Self {
        Self {
            mode: HloMode::default(),
            center: None,
            followed: None,
            radius: 2,
            program: None,
            words: String::new(),
            types: false,
            sorted: SortedTable::default(),
            programs: Worker::new("programs", wake),
            answers: Worker::new("program", wake),
        }
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
            if let Some(place_of_op) = model.slice(slice).op().and_then(place) {
                self.program = None;
                self.center = Some(place_of_op);
            }
        }
        if self.center.is_none() {
            let ops = context.reports.ready::<Ops>();
            self.center = ops.and_then(|ops| ops.rows.iter().find_map(|row| place(row.op?)));
        }
    }

    fn ask(&mut self, context: PanelContext<'_>) {
        let scope = Scope::from(context.state.scope);
        let ask = |worker: &mut Worker<HloQuestion, HloTabAnswer>, question: HloQuestion| {
            let (session, asked) = (context.trace.session.clone(), question.clone());
            let other = context.other.map(|other| other.trace.session.clone());
            worker.ask(question, move |_| asked.answer(&session, other.as_ref()));
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
        let first = || match self.programs.latest() {
            Some(HloTabAnswer::Programs(list)) => list.rows.first().map(|row| row.id),
            _ => None,
        };
        self.program
            .or_else(|| self.center.as_ref().map(|center| center.0))
            .or_else(first)
    }
}

impl TabPanel for HloPanel {
    fn poll(&mut self, _is_open: bool) {
        self.programs.poll();
        if self.answers.poll() {
            self.sorted.forget();
        }
    }

    fn is_settled(&self) -> bool {
        !self.programs.is_running() && !self.answers.is_running()
    }

    fn ui(&mut self, ui: &mut Ui, tab: TabContent<'_>) {
        let TabContent {
            context, out, view, ..
        } = tab;
        self.follow(context);
        if self.mode == HloMode::Diff && context.other.is_none() {
            self.mode = HloMode::default();
        }
        head_ui(ui, self, context);
        self.ask(context);
        let answer = match self.answers.memo() {
            JobAnswer::Failed { error, .. } => {
                ui.add_space(8.0);
                return drop(ui.label(error));
            }
            JobAnswer::Running { previous: None } => return computing_ui(ui),
            JobAnswer::Empty if self.mode == HloMode::Found => {
                let text = "Words that an instruction contains. name: opcode: shape: source: op_name: groups: look into one \
                            field, for example opcode:fusion shape:bf16[ train.py";
                return drop(ui.weak(text));
            }
            JobAnswer::Empty => return drop(ui.label("No op of a program is recorded here.")),
            memo => memo.latest(),
        };
        let mut next = None;
        match answer {
            Some(HloTabAnswer::Around(around)) => around_ui(ui, context, around, &mut next, view),
            Some(HloTabAnswer::Text(text)) => {
                let program = self.text_of();
                let center = self.center.as_ref().map(|center| center.1.as_str());
                let sums = context.sums_over();
                if let Some((name, ops)) = text_ui(ui, text, center, sums.as_deref()) {
                    next = program.map(|program| (program, name, ops));
                }
            }
            Some(HloTabAnswer::Found(rows_found, table)) => {
                if let Some(row) = one_table_ui(
                    ui,
                    table,
                    &mut self.sorted,
                    RowReactions::clicks(&|_| true),
                    out,
                ) && let Some(row) = rows_found.rows.get(row)
                {
                    next = Some((row.program_id, row.op.name.to_string(), row.op.ops.clone()));
                }
            }
            Some(HloTabAnswer::Diff(compared, table)) => {
                let side = context.other.map_or(TraceSide::A, |other| other.side);
                if let Some(op) = diff::diff_ui(ui, (compared, table), side, &mut self.sorted, out)
                {
                    next = self
                        .text_of()
                        .map(|program| (program, op.name.to_string(), op.ops.clone()));
                }
            }
            _ => {}
        }
        if let Some((program, name, ops)) = next {
            if self.mode == HloMode::Found {
                self.mode = HloMode::Around;
            }
            lead(context, &name, &ops, view);
            self.center = Some((program, name));
            ui.ctx().request_repaint();
        }
    }
}

/// The command that goes to the longest slice of an instruction; `None` if it has no slices of its own.
fn lead(context: PanelContext<'_>, name: &str, ops: &[OpId], view: &mut ViewCommands) {
    let labels = context.trace.labels_of(&ops.iter().copied().collect());
    if !labels.is_empty() {
        view.extend(
            RowTarget::Slices(HighlightedLabels::new(name, labels)).commands(context.trace),
        );
    }
}

fn head_ui(ui: &mut Ui, panel: &mut HloPanel, context: PanelContext<'_>) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        let modes = [
            (HloMode::Around, "Around an op"),
            (HloMode::Text, "Program text"),
            (HloMode::Found, "Find instructions"),
        ];
        for (mode, title) in modes.into_iter().chain(
            context
                .other
                .map(|_| (HloMode::Diff, "Changes from A to B")),
        ) {
            if ui.selectable_label(panel.mode == mode, title).clicked() {
                panel.mode = mode;
                panel.types = mode == HloMode::Found;
            }
        }
        ui.add_space(8.0);
        match panel.mode {
            HloMode::Around => {}
            HloMode::Text | HloMode::Diff => program_ui(ui, panel, context),
            HloMode::Found => {
                let (label, hint) = ("Search instructions", "opcode:fusion train.py");
                let field = text_field(ui, &mut panel.words, label, hint, 220.0);
                if std::mem::take(&mut panel.types) {
                    field.request_focus();
                }
            }
        }
    });
    if panel.mode == HloMode::Around {
        ui.horizontal(|ui| radius_ui(ui, panel));
    }
}

fn radius_ui(ui: &mut Ui, panel: &mut HloPanel) {
    for (text, label, change) in [("−", "Smaller radius", -1_i32), ("+", "Larger radius", 1)] {
        let next = panel
            .radius
            .saturating_add_signed(change)
            .clamp(1, MOST_STEPS);
        let button = ui.add_enabled(next != panel.radius, Button::new(text));
        button.labeled(Role::Button, label);
        if button
            .on_hover_text("How many steps to operands and users")
            .clicked()
        {
            panel.radius = next;
        }
        if change < 0 {
            ui.small(format!("radius {}", panel.radius));
        }
    }
}

fn program_ui(ui: &mut Ui, panel: &mut HloPanel, context: PanelContext<'_>) {
    let Some(HloTabAnswer::Programs(list)) = panel.programs.latest() else {
        return;
    };
    let text_program = panel.text_of();
    let title = |id: Option<ProgramId>| {
        list.rows
            .iter()
            .find(|row| Some(row.id) == id)
            .map(|row| row.program.clone())
    };
    let mut wanted = text_program;
    let sums = context.sums_over();
    let sums = sums.as_deref().unwrap_or("on all devices");
    ComboBox::from_id_salt("program")
        .width(220.0)
        .selected_text(title(text_program).unwrap_or_default())
        .show_ui(ui, |ui| {
            for row in &list.rows {
                let time = row
                    .self_time_ps
                    .map_or_else(String::new, |ps| format!("  {}, {sums}", time(ps)));
                ui.selectable_value(&mut wanted, Some(row.id), format!("{}{time}", row.program));
            }
        });
    if wanted != text_program {
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
    view: &mut ViewCommands,
) {
    let neighbourhood = &around.found;
    ui.horizontal_wrapped(|ui| {
        ui.strong(&neighbourhood.center);
        ui.label(remark(format!(
            "in {} · {}",
            neighbourhood.program,
            neighbourhood.known_from.title()
        )));
        for caller in &neighbourhood.called_by {
            if ui
                .link(RichText::new(format!("inside {caller}")).small())
                .clicked()
            {
                *next = Some((neighbourhood.program_id, caller.clone(), Vec::new()));
            }
        }
    });
    let sums = context.sums_over();
    let sums = sums.as_deref();
    if let Some(sums) = sums {
        ui.label(remark(format!(
            "Times: self time, {sums}; shares: of the self time of all ops"
        )));
    }
    for note in &neighbourhood.notes {
        ui.label(remark(note));
    }
    if neighbourhood.left_out > 0 {
        let text = format!(
            "{} more within this radius are left out: choose a smaller one",
            neighbourhood.left_out
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
            clicked = graph_ui(ui, neighbourhood, &around.around, sums).or(clicked);
            if !around.inside.boxes.is_empty() {
                ui.add_space(8.0);
                ui.strong(format!("Inside {}", neighbourhood.center));
                if neighbourhood.left_out_inside > 0 {
                    ui.label(remark(format!(
                        "{} more are left out",
                        neighbourhood.left_out_inside
                    )));
                }
                clicked = graph_ui(ui, neighbourhood, &around.inside, sums).or(clicked);
            }
        });
    if let Some(node) = clicked {
        *next = Some((
            neighbourhood.program_id,
            node.op.name.to_string(),
            node.op.ops.clone(),
        ));
    }
    if let Some((_, name, ops)) = next
        && ops.is_empty()
    {
        // A link names the instruction only: its ops are those of that name.
        let ops = context.trace.model.op_ids().filter(|&op| {
            let op = context.trace.model.op(op);
            op.program == Some(neighbourhood.program_id) && context.trace.model.str(op.name) == name
        });
        lead(context, name, &ops.collect::<Vec<_>>(), view);
    }
}
