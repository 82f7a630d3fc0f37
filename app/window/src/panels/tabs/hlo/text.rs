//! The text of a program, with the time of each line beside it.

use analysis::reports::hlo::ProgramListing;
use egui::{CursorIcon, FontId, Rect, Role, ScrollArea, Sense, Ui, pos2, vec2};
use trace_model::OpId;

use crate::panels::widgets::{ResponseExt as _, remark, remark_ui};
use crate::theme::{self, small_font};
use crate::times;

/// Height of a line of text.
const LINE: f32 = 17.0;

/// Width of the times beside the text.
const MARGIN: f32 = 84.0;

/// The text of a program; returns name and ops of the line that was clicked.
#[expect(
    clippy::too_many_lines,
    reason = "the parts of a panel, from top to bottom"
)]
pub(super) fn text_ui(
    ui: &mut Ui,
    text: &ProgramListing,
    center: Option<&str>,
    sums: Option<&str>,
) -> Option<(String, Vec<OpId>)> {
    let theme = theme::current(ui);
    let id = ui.scope_id().with("program text filter");
    let mut filter = ui
        .data(|data| data.get_temp::<String>(id))
        .unwrap_or_default();
    ui.horizontal_wrapped(|ui| {
        let field = egui::TextEdit::singleline(&mut filter).hint_text("Lines that contain");
        let response = ui.add(field.desired_width(190.0));
        response.labeled(Role::TextInput, "Filter lines");
        let known = text.self_time_ps.map_or_else(String::new, |ps| {
            let sums = sums.unwrap_or("on all devices");
            format!(" · self {}; times are {sums}", times::time(ps))
        });
        remark_ui(ui, &format!("{} lines{known}", text.lines.len()));
    });
    ui.data_mut(|data| data.insert_temp(id, filter.clone()));
    for note in &text.notes {
        ui.label(remark(note));
    }
    let wanted = filter.to_lowercase();
    let lines: Vec<usize> = match wanted.as_str() {
        "" => (0..text.lines.len()).collect(),
        wanted => {
            let holds = |line: &str| line.to_lowercase().contains(wanted);
            text.lines
                .iter()
                .enumerate()
                .filter(|(_, line)| holds(&line.text))
                .map(|(at, _)| at)
                .collect()
        }
    };
    let longest = text
        .lines
        .iter()
        .filter_map(|line| line.self_time_ps)
        .max()
        .unwrap_or_default();
    let longest = longest.ps().max(1) as f32;
    let width = text
        .lines
        .iter()
        .map(|line| line.text.len())
        .max()
        .unwrap_or(0)
        .min(2_000) as f32
        * 7.3
        + MARGIN;
    let mut clicked = None;
    // Before the rows that fit are counted.
    ui.spacing_mut().item_spacing.y = 0.0;
    ScrollArea::both()
        .auto_shrink([false, false])
        .id_salt("program text")
        .show_rows(ui, LINE, lines.len(), |ui, rows| {
            let shown = lines
                .get(rows)
                .into_iter()
                .flatten()
                .filter_map(|&at| Some((at, text.lines.get(at)?)));
            for (at, line) in shown {
                let (rect, _) = ui.allocate_exact_size(
                    vec2(width.max(ui.available_width()), LINE),
                    Sense::hover(),
                );
                // The visible lines.
                let seen = rect.intersect(ui.clip_rect());
                let response = ui.interact(
                    seen,
                    ui.scope_id().with(("program line", at)),
                    Sense::click(),
                );
                let painter = ui.painter();
                let is_center = line.instruction.is_some() && line.instruction.as_deref() == center;
                if is_center {
                    painter.rect_filled(rect, 0.0, theme.accent.gamma_multiply(0.22));
                } else if response.hovered() && line.instruction.is_some() {
                    painter.rect_filled(rect, 0.0, theme.raised);
                }
                if let Some(time) = line.self_time_ps {
                    let share = time.ps() as f32 / longest;
                    let bar = vec2((MARGIN - 10.0) * share, LINE - 4.0);
                    let bar = Rect::from_min_size(rect.min + vec2(0.0, 2.0), bar);
                    painter.rect_filled(bar, 1.0, theme.accent.gamma_multiply(0.35));
                    let at = pos2(rect.left() + MARGIN - 12.0, rect.center().y);
                    let time = times::time(time);
                    painter.text(
                        at,
                        egui::Align2::RIGHT_CENTER,
                        time,
                        small_font(),
                        theme.text,
                    );
                }
                let at = pos2(rect.left() + MARGIN, rect.center().y);
                painter.text(
                    at,
                    egui::Align2::LEFT_CENTER,
                    &line.text,
                    FontId::monospace(12.0),
                    theme.text,
                );
                let Some(name) = &line.instruction else {
                    continue;
                };
                response.labeled(Role::Button, format_args!("Line of {name}"));
                if response.on_hover_cursor(CursorIcon::PointingHand).clicked() {
                    clicked = Some((name.to_string(), line.ops.clone()));
                }
            }
        });
    clicked
}
