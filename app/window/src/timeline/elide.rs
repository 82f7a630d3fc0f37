//! Texts that are shortened to the room there is for them.

use std::borrow::Cow;
use std::sync::Arc;

use egui::epaint::text::FontsView;
use egui::{Align2, Color32, FontId, Id, Painter, Pos2, Vec2};

/// Widths of the letters of a font. egui looks each one up in the font's file each time, which takes longer than all else
/// that is done with a text in a frame.
struct LetterWidths<'a> {
    painter: &'a Painter,
    font: &'a FontId,
    ascii: Arc<[f32; 128]>,
}

impl<'a> LetterWidths<'a> {
    fn of(painter: &'a Painter, font: &'a FontId) -> Self {
        let id = Id::unique(("letter widths", font, painter.pixels_per_point().to_bits()));
        let kept = painter.ctx().data(|data| data.get_temp(id));
        let ascii = kept.unwrap_or_else(|| {
            let width = |fonts: &mut FontsView<'_>, at: usize| {
                fonts.glyph_width(font, char::from(at as u8))
            };
            let ascii =
                Arc::new(painter.fonts_mut(|fonts| std::array::from_fn(|at| width(fonts, at))));
            painter
                .ctx()
                .data_mut(|data| data.insert_temp(id, Arc::clone(&ascii)));
            ascii
        });
        Self {
            painter,
            font,
            ascii,
        }
    }

    fn width(&self, c: char) -> f32 {
        let other = || {
            self.painter
                .fonts_mut(|fonts| fonts.glyph_width(self.font, c))
        };
        self.ascii.get(c as usize).copied().unwrap_or_else(other)
    }

    /// How many bytes of `text` fit into `room`, and their width with that of the first letter that does not. Never
    /// reads more letters than fit, because names of ops can be long.
    fn beginning(&self, text: &str, room: f32) -> (usize, f32) {
        let mut used = 0.0;
        let beyond = text.char_indices().find(|&(_, c)| {
            used += self.width(c);
            used > room
        });
        (beyond.map_or(text.len(), |(at, _)| at), used)
    }
}

/// Writes as much of `text` as fits into `room` points, with an ellipsis if it is truncated.
pub fn elided(
    painter: &Painter,
    at: Pos2,
    align: Align2,
    text: &str,
    room: f32,
    font: &FontId,
    color: Color32,
) -> Vec2 {
    let widths = LetterWidths::of(painter, font);
    let fits = widths.beginning(text, room).0;
    let shown = if fits == text.len() {
        Cow::Borrowed(text)
    } else {
        match widths.beginning(&text[..fits], room - widths.width('…')).0 {
            0 => return Vec2::ZERO,
            fits => Cow::Owned(format!("{}…", &text[..fits])),
        }
    };
    if shown.is_empty() {
        return Vec2::ZERO;
    }
    // Texts come from files: a line break would spoil the row.
    let shown = if shown.contains(char::is_control) {
        shown.replace(char::is_control, " ")
    } else {
        shown.into_owned()
    };
    painter.text(at, align, shown, font.clone(), color).size()
}

/// Like [`elided`], but keeps the end as well: names of ops differ in their number.
pub fn elided_middle(
    painter: &Painter,
    at: Pos2,
    text: &str,
    room: f32,
    font: &FontId,
    color: Color32,
) -> Vec2 {
    let shortened = without_middle(&LetterWidths::of(painter, font), text, room);
    elided(
        painter,
        at,
        Align2::LEFT_CENTER,
        shortened.as_deref().unwrap_or(text),
        room + 1.0,
        font,
        color,
    )
}

/// Beginning and end of a text that is too long, if there is room for enough of both.
fn without_middle(widths: &LetterWidths<'_>, text: &str, room: f32) -> Option<String> {
    /// Letters of the end, and the least of the beginning; fewer where there is little room.
    const PARTS: [(usize, usize); 3] = [(8, 3), (4, 2), (2, 1)];
    /// In shorter texts the end identifies the op no better than the beginning.
    const SHORT: usize = 10;
    /// Where there is less room, only a beginning fits.
    const LEAST: f32 = 32.0;
    if room < LEAST || text.len() < SHORT || widths.beginning(text, room).0 == text.len() {
        return None;
    }
    PARTS.into_iter().find_map(|(tail, least)| {
        let cut = text
            .char_indices()
            .rev()
            .nth(tail - 1)
            .map_or(0, |(at, _)| at);
        let (head, tail) = text.split_at(cut);
        let (_, of_tail) = widths.beginning(tail, f32::INFINITY);
        let head = &head[..widths.beginning(head, room - of_tail - widths.width('…')).0];
        // An end without a beginning does not identify an op.
        (head.chars().count() >= least).then(|| format!("{head}…{tail}"))
    })
}

/// Width of a text on one line.
pub fn text_width(painter: &Painter, text: &str, font: &FontId) -> f32 {
    LetterWidths::of(painter, font)
        .beginning(text, f32::INFINITY)
        .1
}
