//! Lines of a text with a time in front of some of them, of which those in sight are drawn.

use super::prelude::*;

/// Height of a line.
const LINE: f32 = 17.0;
/// Width of the times.
const TIMES: f32 = 80.0;
/// Width of the shares and numbers behind them.
const SHARES: f32 = 50.0;
const NUMBERS: f32 = 42.0;
/// Width of a letter of the text.
const LETTER: f32 = 7.3;
/// More letters of a line are cut.
const MOST: usize = 2_000;

/// A line of a text.
#[derive(Default)]
pub struct TimedLine<'a> {
    pub text: &'a str,
    pub number: Option<u32>,
    /// Its time, and that as a share of the longest.
    pub time: Option<(Picos, f32)>,
    /// Its time as a share of that of all ops, as text.
    pub share: Option<String>,
    /// Whether the panel is about it.
    pub is_shown: bool,
    /// What it is called, if a click on it does something.
    pub label: Option<String>,
    /// Its tooltip.
    pub about: String,
}

/// The lines; returns the place of the one that was clicked. The line at `scrolls_to` is scrolled into view.
pub fn timed_lines_ui<'a>(
    ui: &mut Ui,
    id: &'static str,
    (count, letters): (usize, usize),
    scrolls_to: Option<usize>,
    line: impl Fn(usize) -> TimedLine<'a>,
) -> Option<usize> {
    let mut area = ScrollArea::both().auto_shrink([false, false]).id_salt(id);
    if let Some(row) = scrolls_to {
        let above = row as f32 * LINE - ui.available_height() * 0.35;
        // The first line in sight is whole.
        area = area.vertical_scroll_offset((above / LINE).floor().max(0.0) * LINE);
    }
    let width = letters.min(MOST) as f32 * LETTER + TIMES + SHARES + NUMBERS;
    let mut clicked = None;
    // Before the rows that fit are counted.
    ui.spacing_mut().item_spacing.y = 0.0;
    area.show_rows(ui, LINE, count, |ui, rows| {
        for row in rows {
            let size = vec2(width.max(ui.available_width()), LINE);
            let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
            // The visible part.
            let seen = rect.intersect(ui.clip_rect());
            let response = ui.interact(seen, ui.scope_id().with((id, row)), Sense::click());
            let line = line(row);
            let is_hovered = response.hovered() && line.label.is_some();
            line_ui(ui, rect, &line, is_hovered);
            let Some(label) = line.label else { continue };
            response.labeled(Role::Button, label);
            let mut response = response.on_hover_cursor(CursorIcon::PointingHand);
            if !line.about.is_empty() {
                response = response.on_hover_text(line.about);
            }
            if response.clicked() {
                clicked = Some(row);
            }
        }
    });
    clicked
}

fn line_ui(ui: &Ui, rect: Rect, line: &TimedLine<'_>, is_hovered: bool) {
    let (theme, painter) = (theme::current(ui), ui.painter());
    if line.is_shown {
        painter.rect_filled(rect, 0.0, theme.accent.gamma_multiply(0.22));
    } else if is_hovered {
        painter.rect_filled(rect, 0.0, theme.raised);
    }
    let (y, right) = (rect.center().y, Align2::RIGHT_CENTER);
    if let Some((time, share)) = line.time {
        let bar = vec2((TIMES - 6.0) * share, LINE - 4.0);
        let bar = Rect::from_min_size(rect.min + vec2(0.0, 2.0), bar);
        painter.rect_filled(bar, 1.0, theme.accent.gamma_multiply(0.35));
        let pos = pos2(rect.left() + TIMES - 8.0, y);
        painter.text(pos, right, times::time(time), small_font(), theme.text);
    }
    if let Some(share) = &line.share {
        let at = pos2(rect.left() + TIMES + SHARES - 8.0, y);
        painter.text(at, right, share, small_font(), theme.text_weak);
    }
    let mut left = rect.left() + TIMES + 4.0;
    if let Some(number) = line.number {
        left = rect.left() + TIMES + SHARES + NUMBERS;
        let font = FontId::monospace(11.0);
        painter.text(
            pos2(left - 10.0, y),
            right,
            number.to_string(),
            font,
            theme.text_weak,
        );
    }
    let end = line.text.char_indices().nth(MOST);
    let text = &line.text[..end.map_or(line.text.len(), |(end, _)| end)];
    let font = FontId::monospace(12.0);
    painter.text(pos2(left, y), Align2::LEFT_CENTER, text, font, theme.text);
}
