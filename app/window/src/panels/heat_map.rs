//! The heat map of devices and steps. A click on a cell shows the device in that step.

use super::prelude::*;
use analysis::reports::StepParts;

use super::widgets::choices_ui;
use view::drawing::neighbours_per_label;
use view::panels::heat_map::{HeatCell, HeatDevice, HeatMap, HeatQuantity, HeatStep};

/// Height of a row at most; many devices have lower ones.
const ROW: f32 = 18.0;
/// Height of a row at least: a pod of 64 chips fits one screen.
const LEAST_ROW: f32 = 5.0;
/// Height of a name.
const NAME: f32 = 12.0;
/// Width of the names.
const NAMES: f32 = 64.0;
/// Height of all rows at most; more devices scroll.
const MOST_HEIGHT: f32 = 460.0;
/// Height of the numbers of steps below the rows.
const AXIS: f32 = 16.0;
/// Width of a column at least and at most.
const COLUMN: (f32, f32) = (3.0, 56.0);

/// State between frames.
pub struct HeatMapState {
    pub is_open: bool,
    quantity: HeatQuantity,
    made: Option<HeatMap>,
}

impl Default for HeatMapState {
    fn default() -> Self {
        Self {
            is_open: true,
            quantity: HeatQuantity::default(),
            made: None,
        }
    }
}

impl HeatMapState {
    /// Forgets the map, because new reports replace the old ones.
    pub fn forget_made(&mut self) {
        self.made = None;
    }
}

/// The choice between tables and map, where several devices ran steps; returns whether the map is shown.
pub fn choice_ui(ui: &mut Ui, context: PanelContext<'_>, state: &mut HeatMapState) -> bool {
    let parts = context.whole.get::<StepParts>().ok().flatten();
    if !parts.is_some_and(|parts| parts.steps.iter().any(|step| step.cores.len() > 1)) {
        return false;
    }
    let choices = [(false, "Tables"), (true, "Heat map of devices")];
    ui.horizontal_wrapped(|ui| choices_ui(ui, &mut state.is_open, choices));
    state.is_open
}

pub fn heat_map_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    state: &mut HeatMapState,
    out: &mut ViewCommands,
) {
    let (Ok(Some(steps)), Ok(Some(parts))) = (
        context.whole.get::<Steps>(),
        context.whole.get::<StepParts>(),
    ) else {
        return;
    };
    if state
        .made
        .as_ref()
        .is_none_or(|made| made.quantity != state.quantity)
    {
        state.made = HeatMap::of(steps, parts, state.quantity);
    }
    let Some(map) = state.made.as_ref().filter(|map| map.devices.len() > 1) else {
        return;
    };
    let least = time(map.range.0);
    let most = time(map.range.1);
    let note = if least == most {
        format!("{least} in every complete step")
    } else {
        format!("{least} to {most} over complete steps")
    };
    section_ui(ui, "Devices and steps", &note);
    let mut wanted = state.quantity;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        for (quantity, title, about) in HeatQuantity::ALL {
            ui.selectable_value(&mut wanted, quantity, title)
                .on_hover_text(about);
        }
    });
    ui.horizontal(|ui| scale_ui(ui, map.scale));
    let hottest = map.hottest.and_then(|index| map.devices.get(index));
    if let Some((device, median)) = hottest.and_then(|device| Some((device, device.median?))) {
        let text = format!("{} stands out: median {}", device.name, time(median));
        ui.label(
            RichText::new(text)
                .small()
                .color(theme::current(ui).warning),
        );
    }
    rows_ui(ui, context, (steps, map), out);
    state.quantity = wanted;
}

/// The colours between the values of their ends.
fn scale_ui(ui: &mut Ui, (least, most): (Picos, Picos)) {
    let theme = theme::current(ui);
    let text = |time| RichText::new(times::time(time)).size(10.5).weak();
    ui.label(text(least));
    ui.add_space(4.0);
    let (bar, _) = ui.allocate_exact_size(vec2(44.0, 10.0), Sense::hover());
    let painter = ui.painter();
    for step in 0..11_u8 {
        let share = f32::from(step) / 10.0;
        let width = bar.width() / 11.0;
        let swatch = Rect::from_min_size(
            bar.min + vec2(f32::from(step) * width, 0.0),
            vec2(width + 0.5, bar.height()),
        );
        painter.rect_filled(swatch, 0.0, color(theme, share));
    }
    ui.add_space(4.0);
    ui.label(text(most));
}

/// From the ground to the colour of warnings.
fn color(theme: &Theme, heat: f32) -> Color32 {
    theme
        .raised
        .lerp_to_gamma(theme.warning, 0.08 + 0.92 * heat)
}

fn rows_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    (steps, map): (&StepsReport, &HeatMap),
    out: &mut ViewCommands,
) {
    let most = (ui.available_height() - 16.0 - AXIS).clamp(120.0, MOST_HEIGHT);
    let row = (most / map.devices.len() as f32)
        .clamp(LEAST_ROW, ROW)
        .floor();
    let room = ui.available_width() - NAMES - 8.0;
    let column = (room / map.steps.len().max(1) as f32).clamp(COLUMN.0, COLUMN.1);
    let height = row * map.devices.len() as f32;
    // The first name is higher than a low row.
    let above = ((NAME - row) / 2.0).max(0.0);
    let size = vec2(
        NAMES + column * map.steps.len() as f32,
        above + height + AXIS,
    );
    let area = ScrollArea::both()
        .id_salt("heat map")
        .max_height(MOST_HEIGHT + 14.0 + AXIS)
        .auto_shrink([false, true]);
    area.show(ui, |ui| {
        let (rect, response) = ui.allocate_exact_size(size, Sense::click());
        let name = map.quantity.title();
        let counts = format!("{} devices, {} steps", map.devices.len(), map.steps.len());
        response.labeled(Role::Canvas, format_args!("Heat map of {name}: {counts}"));
        let rows = Rect::from_x_y_ranges(rect.x_range(), rect.top() + above..=rect.bottom() - AXIS);
        let place = HeatMapGrid {
            rect: rows,
            row,
            column,
        };
        paint(ui, context, map, &place);
        let font = FontId::proportional(10.0);
        for (index, step) in map
            .steps
            .iter()
            .enumerate()
            .step_by(neighbours_per_label(column, 36.0))
        {
            let below = place.cell(0, index).center_top() + vec2(0.0, height + 2.0);
            ui.painter().text(
                below,
                Align2::CENTER_TOP,
                step.number,
                font.clone(),
                theme::current(ui).text_weak,
            );
        }
        let Some((device, step)) = response
            .hover_pos()
            .and_then(|pos| place.at(map, pos.x, pos.y))
        else {
            return;
        };
        let clicked = response.clicked();
        response
            .on_hover_cursor(CursorIcon::PointingHand)
            .on_hover_ui_at_pointer(|ui| cell_ui(ui, map, device, step));
        if clicked {
            out.extend(lead(
                &context.trace.model,
                steps,
                device,
                step.and_then(|index| map.steps.get(index)),
            ));
        }
    });
}

struct HeatMapGrid {
    rect: Rect,
    row: f32,
    column: f32,
}

impl HeatMapGrid {
    fn cell(&self, device: usize, step: usize) -> Rect {
        let x = self.rect.left() + NAMES + self.column * step as f32;
        let y = self.rect.top() + self.row * device as f32;
        let gap = |size: f32, least: f32| if size > least { size - 1.0 } else { size };
        Rect::from_min_size(pos2(x, y), vec2(gap(self.column, 6.0), gap(self.row, 8.0)))
    }

    fn at<'a>(&self, map: &'a HeatMap, x: f32, y: f32) -> Option<(&'a HeatDevice, Option<usize>)> {
        let device = ((y - self.rect.top()) / self.row).floor();
        let step = ((x - self.rect.left() - NAMES) / self.column).floor();
        let device = map.devices.get(if device < 0.0 {
            return None;
        } else {
            device as usize
        })?;
        let step = (step >= 0.0)
            .then_some(step as usize)
            .filter(|&step| step < map.steps.len());
        Some((device, step))
    }
}

fn paint(ui: &Ui, context: PanelContext<'_>, map: &HeatMap, place: &HeatMapGrid) {
    let theme = theme::current(ui);
    let painter = ui.painter();
    let clip = ui.clip_rect();
    let scope = match context.state.scope {
        ReportScope::Steps { first, last } => Some(first..=last),
        _ => None,
    };
    // Names every row if there is room, else some rows.
    let every = (11.0 / place.row).ceil().max(1.0) as usize;
    for (row, device) in map.devices.iter().enumerate() {
        let first = place.cell(row, 0);
        if first.bottom() < clip.top() || first.top() > clip.bottom() {
            continue;
        }
        let is_hottest = map.hottest == Some(row);
        // The name of the device that stands out must not overlap other names.
        let is_covered = map
            .hottest
            .is_some_and(|hottest| hottest.abs_diff(row) < every);
        if row.is_multiple_of(every) && !is_covered || is_hottest {
            let color = if is_hottest {
                theme.warning
            } else {
                theme.text
            };
            let font = FontId::proportional(if place.row >= 14.0 { 12.0 } else { 10.0 });
            let name = device.name.trim_start_matches("/device:");
            elided_name(
                painter,
                pos2(place.rect.left(), first.center().y),
                name,
                NAMES - 6.0,
                &font,
                color,
            );
        }
        for (step, cell) in device.cells.iter().enumerate() {
            let rect = place.cell(row, step);
            let is_counted = map.steps.get(step).is_some_and(|step| step.is_counted);
            match cell {
                Some(HeatCell { heat, .. }) => {
                    let fill = color(theme, *heat);
                    painter.rect_filled(
                        rect,
                        0.0,
                        if is_counted {
                            fill
                        } else {
                            fill.gamma_multiply(0.45)
                        },
                    );
                }
                None => drop(painter.hline(rect.x_range(), rect.center().y, (1.0, theme.edge))),
            }
            let number = map.steps.get(step).map_or(0, |step| step.number);
            if row == 0 && scope.as_ref().is_some_and(|scope| scope.contains(&number)) {
                let column = rect.with_max_y(place.rect.bottom());
                painter.rect_stroke(column, 0.0, (1.0, theme.accent), StrokeKind::Inside);
            }
        }
    }
}

fn cell_ui(ui: &mut Ui, map: &HeatMap, device: &HeatDevice, step: Option<usize>) {
    ui.strong(&device.name);
    let median = device
        .median
        .map_or_else(|| "no complete step".to_owned(), time);
    let title = map.quantity.title();
    let Some((column, cell)) =
        step.and_then(|column| Some((map.steps.get(column)?, device.cells.get(column)?)))
    else {
        ui.label(format!("median {title}: {median}"));
        ui.weak("Click to show all of its tracks");
        return;
    };
    ui.label(format!("Step {}", column.label));
    match cell {
        Some(cell) => {
            let share = cell.value.as_ps_f64() * 100.0 / cell.time.ps().max(1) as f64;
            ui.label(format!(
                "{title}: {}, {} of the step",
                time(cell.value),
                number(share, Unit::Percent)
            ));
            ui.weak(format!("median of this device: {median}"));
        }
        None => drop(ui.weak("this device recorded no ops in this step")),
    }
    if !column.is_counted {
        ui.weak("not among the complete steps after warm-up: the scale leaves it out");
    }
    let origin = capitalised(&times::origin());
    ui.weak(format!("{origin}, by the clock of the ops. Click to show it and to let the reports be about this step."));
}

/// The commands that show a device, in one step or in the whole capture.
fn lead(
    model: &TraceModel,
    steps: &StepsReport,
    device: &HeatDevice,
    step: Option<&HeatStep>,
) -> ViewCommands {
    let tracks: BTreeSet<TrackId> = model.tracks_of(device.group).into_iter().collect();
    let range_of = |step: &HeatStep| {
        steps
            .range_on(model, device.group, step.number, step.number)
            .or(step.range)
    };
    let range = step.and_then(range_of).unwrap_or(model.extent());
    let first = tracks
        .iter()
        .flat_map(|&track| model.lanes(track))
        .filter_map(|lane| model.slices_in(lane, range).next())
        .map(SliceRef::id)
        .next();
    let mut commands: ViewCommands = first.map(ViewCommand::Reveal).into_iter().collect();
    commands.push(ViewCommand::Mark(range, tracks));
    if let Some(step) = step {
        commands.push(ViewCommand::ShowAround(range));
        commands.push(ViewCommand::Scope(ReportScope::step(step.number)));
    }
    commands
}
