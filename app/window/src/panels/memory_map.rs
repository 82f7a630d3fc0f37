//! The buffers of a program as the compiler placed them: program order × offset, and the live
//! buffers at one instruction.

use super::prelude::*;
use analysis::reports::Buffers;
use analysis::reports::memory::buffers::{BufferBox, BufferMap, BuffersReport, buffer_map};

use super::table::{RowReactions, SortedTable};
use super::tables::one_table_ui;
use super::widgets::choices_ui;
use crate::drawing::hovered_share;
use view::charts::ChartFrame;
use view::charts::curve::bytes_curve;

/// Height of the curve of live bytes.
const CURVE: f32 = 56.0;
/// Height of the boxes.
const BOXES: f32 = 190.0;

/// Buffers that are live at the chosen instruction.
struct ShownMap {
    cursor: usize,
    live: Table,
}

/// What the tab shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryView {
    /// The tables of the reports.
    #[default]
    Tables,
    /// The recorded use over time.
    Recorded,
    /// Buffers as the compiler placed them.
    Planned,
}

/// State between frames.
pub struct MemoryMapState {
    pub view: MemoryView,
    /// Program and number of the memory; by default the program that needs most, in its fullest memory.
    chosen: Option<(ProgramId, u64)>,
    job: Worker<(ProgramId, u64), Arc<BufferMap>>,
    shown: Option<ShownMap>,
    sorted: SortedTable,
}

impl MemoryMapState {
    /// Nothing is chosen yet.
    pub fn new(wake: &WakeUi) -> Self {
        let job = Worker::new("buffer map", wake);
        Self {
            view: MemoryView::Tables,
            chosen: None,
            job,
            shown: None,
            sorted: SortedTable::default(),
        }
    }

    /// Takes a finished map over.
    pub fn poll(&mut self) {
        if self.job.poll() {
            self.shown = None;
        }
    }

    /// Whether nothing is being computed.
    pub fn is_settled(&self) -> bool {
        !self.job.memo().is_running()
    }

    fn look_at(&mut self, map: &BufferMap, cursor: usize) {
        self.sorted.forget();
        self.shown = Some(ShownMap {
            cursor,
            live: live_table(map, cursor),
        });
    }
}

/// The choice between tables and pictures; returns what is shown.
pub fn choice_ui(ui: &mut Ui, state: &mut MemoryMapState) -> MemoryView {
    let choices = [
        (MemoryView::Tables, "Tables"),
        (MemoryView::Recorded, "Use over time"),
        (MemoryView::Planned, "Planned buffers"),
    ];
    ui.horizontal_wrapped(|ui| choices_ui(ui, &mut state.view, choices));
    state.view
}

pub fn memory_map_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    state: &mut MemoryMapState,
    commands: &mut AppCommands,
    out: &mut ViewCommands,
) {
    let Some(report) = context.report_ui::<Buffers>(ui) else {
        return;
    };
    choose_ui(ui, report, state);
    let Some((program, space)) = state.chosen else {
        return drop(ui.label("No program plans buffers that share memory."));
    };
    let session = context.trace.session.clone();
    state.job.ask((program, space), move |_| {
        buffer_map(&session.context(Scope::WholeTrace), program, space)
            .map(Arc::new)
            .map_err(|error| error.to_string())
    });
    let map = match state.job.memo() {
        JobAnswer::Failed { error, .. } => return drop(ui.label(error)),
        JobAnswer::Ready(map) => Arc::clone(map),
        _ => return computing_ui(ui),
    };
    if state.shown.is_none() {
        state.look_at(&map, map.peak);
    }
    let Some(shown) = &state.shown else { return };
    let capacity = report.capacity_of(space).map_or_else(String::new, |bytes| {
        format!(" · {} has {}", map.memory, number::bytes(bytes))
    });
    let text = format!(
        "heap {} · most live {} at {} · arguments, results and constants beside it {}{capacity}",
        number::bytes(map.heap_bytes),
        number::bytes(map.live_bytes.get(map.peak).copied().unwrap_or(0)),
        map.instructions.get(map.peak).map_or("?", String::as_str),
        number::bytes(map.other_bytes),
    );
    ui.label(remark(text))
        .on_hover_text("By the compiler's plan, padding included");
    if map.untimed > 0 {
        ui.small(format!(
            "{} buffers whose lifetime is not recorded are left out",
            map.untimed
        ));
    }
    let cursor = shown.cursor;
    let mut next = curve_ui(ui, &map, cursor);
    boxes_ui(ui, context, &map, cursor, out);
    ui.horizontal(|ui| {
        let instruction = map.instructions.get(cursor).map_or("?", String::as_str);
        let what = if cursor == map.peak {
            "at the peak"
        } else {
            "at the cursor"
        };
        ui.strong(format!("Live {what}, {instruction}"));
        if cursor != map.peak && ui.button("At the peak").clicked() {
            next = Some(map.peak);
        }
    });
    let about = RowReactions {
        selected: context.state.place.selection,
        is_marked: &|_| false,
        leads: &|_| true,
    };
    if let Some(row) = one_table_ui(ui, &shown.live, &mut state.sorted, about, commands)
        && let Some(live) = map.live_at(cursor).get(row)
    {
        out.extend(lead(context, &live.buffer.instruction));
    }
    if let Some(next) = next {
        state.look_at(&map, next);
    }
}

fn choose_ui(ui: &mut Ui, report: &BuffersReport, state: &mut MemoryMapState) {
    let with_heap = |program: &&analysis::reports::memory::buffers::ProgramPlan| {
        program.plans.iter().any(|plan| plan.heap_bytes > 0)
    };
    let programs: Vec<_> = report.programs.iter().filter(with_heap).collect();
    let of = |id: ProgramId| programs.iter().find(|program| program.id == id);
    let heaps = |id: ProgramId| {
        of(id)
            .into_iter()
            .flat_map(|it| &it.plans)
            .filter(|plan| plan.heap_bytes > 0)
    };
    let fullest = |id: ProgramId| {
        heaps(id)
            .max_by_key(|plan| plan.heap_bytes)
            .map(|plan| plan.space)
    };
    if state.chosen.is_none_or(|(id, _)| of(id).is_none()) {
        state.chosen = programs
            .first()
            .and_then(|program| Some((program.id, fullest(program.id)?)));
    }
    let Some((mut program, mut space)) = state.chosen else {
        return;
    };
    ui.horizontal_wrapped(|ui| {
        let title = of(program).map_or("", |program| program.program.as_str());
        ComboBox::from_id_salt("planned program")
            .width(220.0)
            .selected_text(title)
            .show_ui(ui, |ui| {
                for program_plan in &programs {
                    ui.selectable_value(&mut program, program_plan.id, &program_plan.program);
                }
            });
        for plan in heaps(program) {
            ui.selectable_value(&mut space, plan.space, report.memory_name(plan.space));
        }
    });
    if !heaps(program).any(|plan| plan.space == space) {
        space = fullest(program).unwrap_or(space);
    }
    state.chosen = Some((program, space));
}

/// Live bytes over the program; returns where it was clicked.
fn curve_ui(ui: &mut Ui, map: &BufferMap, cursor: usize) -> Option<usize> {
    let count = map.live_bytes.len();
    let live = |index: usize| map.live_bytes.get(index).copied().unwrap_or(0);
    let share = |index: usize| (index as f32 + 0.5) / count.max(1) as f32;
    let marked = (share(map.peak), share(cursor));
    let bytes = (0..count).map(|index| Some(live(index) as f64));
    let most = number::bytes(live(map.peak));
    let draw = |frame: &ChartFrame| bytes_curve(bytes, marked, &most, frame);
    let size = vec2(ui.available_width() - 8.0, CURVE);
    let label = "Live bytes over the program";
    let (response, _) = chart_ui(ui, (size, Sense::click()), label, draw);
    let instruction_at =
        |share: f32| ((share * count as f32) as usize).min(count.saturating_sub(1));
    let hovered = hovered_share(&response).map(instruction_at);
    let clicked = response.clicked();
    if let Some(index) = hovered {
        response
            .on_hover_cursor(CursorIcon::Crosshair)
            .on_hover_ui_at_pointer(|ui| {
                ui.label(map.instructions.get(index).map_or("?", String::as_str));
                ui.label(format!("{} live", number::bytes(live(index))));
                ui.weak("Click to list what is live here");
            });
    }
    hovered.filter(|_| clicked)
}

/// Buffers by time and offset.
fn boxes_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    map: &BufferMap,
    cursor: usize,
    out: &mut ViewCommands,
) {
    let theme = theme::current(ui);
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width() - 8.0, BOXES), Sense::click());
    let label = format!(
        "Buffers by program order and offset: {} buffers",
        map.boxes.len()
    );
    response.labeled(Role::Canvas, &label);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 2.0, theme.canvas);
    let width = rect.width() / map.instructions.len().max(1) as f32;
    let height = |bytes: u64| rect.height() * (bytes as f32 / map.heap_bytes.max(1) as f32);
    let place = |boxed: &BufferBox| {
        let bottom = rect.bottom() - height(boxed.offset);
        let (left, right) = (
            rect.left() + width * boxed.from as f32,
            rect.left() + width * boxed.to.max(boxed.from + 1) as f32,
        );
        Rect::from_min_max(
            pos2(left, bottom - height(boxed.buffer.bytes)),
            pos2(right.max(left + 1.0), bottom),
        )
    };
    for boxed in &map.boxes {
        paint_box(&painter, theme, boxed, place(boxed));
    }
    let x = rect.left() + width * (cursor as f32 + 0.5);
    painter.vline(x, rect.y_range(), (1.5, theme.text_strong));
    let Some(boxed) = response.hover_pos().and_then(|pos| {
        map.boxes
            .iter()
            .rev()
            .find(|boxed| place(boxed).contains(pos))
    }) else {
        return;
    };
    painter.rect_stroke(
        place(boxed),
        0.0,
        (1.5, theme.text_strong),
        StrokeKind::Inside,
    );
    if response.clicked() {
        out.extend(lead(context, &boxed.buffer.instruction));
    }
    response
        .on_hover_cursor(CursorIcon::PointingHand)
        .on_hover_ui_at_pointer(|ui| about_box_ui(ui, map, boxed));
}

/// Paints a buffer, with its name where there is room.
fn paint_box(painter: &Painter, theme: &Theme, boxed: &BufferBox, area: Rect) {
    let name = boxed
        .buffer
        .instruction
        .split('{')
        .next()
        .unwrap_or_default();
    let fill = theme.slice(ColorKey::of_name(name)).fill;
    let inner = if area.width() > 4.0 && area.height() > 4.0 {
        area.shrink(0.5)
    } else {
        area
    };
    painter.rect_filled(inner, 0.0, fill);
    if area.width() > 46.0 && area.height() > 12.0 {
        let start = pos2(area.left() + 4.0, area.center().y);
        let font = FontId::proportional(10.5);
        elided(
            painter,
            start,
            Align2::LEFT_CENTER,
            name,
            area.width() - 6.0,
            &font,
            readable_on(fill),
        );
    }
}

/// The tooltip of a buffer.
fn about_box_ui(ui: &mut Ui, map: &BufferMap, boxed: &BufferBox) {
    ui.strong(&boxed.buffer.instruction);
    ui.label(format!(
        "{} at offset {}",
        number::bytes(boxed.buffer.bytes),
        number::bytes(boxed.offset)
    ));
    ui.label(format!(
        "of these padding: {}",
        boxed.buffer.element_bytes.map_or_else(
            || "not known".to_owned(),
            |elements| number::bytes(boxed.buffer.bytes.saturating_sub(elements)),
        )
    ));
    let name = |index: usize| {
        map.instructions
            .get(index)
            .map_or("the end", String::as_str)
    };
    ui.label(format!("from {} to {}", name(boxed.from), name(boxed.to)));
    for text in [
        &boxed.buffer.shape,
        &boxed.buffer.op_name,
        &boxed.buffer.source,
    ]
    .into_iter()
    .flatten()
    {
        ui.weak(text);
    }
}

/// The command that goes to the slices of the instruction that defines a buffer (`copy-start{0}`).
fn lead(context: PanelContext<'_>, instruction: &str) -> ViewCommands {
    let name = instruction.split('{').next().unwrap_or_default();
    let labels = context.trace.labels_named(name);
    let target = RowTarget::Slices(HighlightedLabels::new(name, labels.iter().copied()));
    if labels.is_empty() {
        Vec::new()
    } else {
        target.commands(context.trace)
    }
}

/// Buffers that are live after an instruction.
fn live_table(map: &BufferMap, cursor: usize) -> Table {
    Table::of("live_buffers", "Live buffers", map.live_at(cursor))
        .compiler("instruction", "Made by", Unit::None, |live| {
            &live.buffer.instruction
        })
        .compiler("bytes", "Size", Unit::Bytes, |live| live.buffer.bytes)
        .compiler("padding_bytes", "Padding", Unit::Bytes, |live| {
            live.buffer
                .element_bytes
                .map(|elements| live.buffer.bytes.saturating_sub(elements))
        })
        .compiler("offset", "Offset", Unit::Bytes, |live| live.offset)
        .compiler("shape", "Shape", Unit::None, |live| &live.buffer.shape)
        .compiler("op_name", "Framework name", Unit::None, |live| {
            &live.buffer.op_name
        })
        .compiler("source", "Source", Unit::None, |live| &live.buffer.source)
        .build()
}
