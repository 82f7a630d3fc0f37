//! Texts that are shortened to the room there is for them.

use std::borrow::Cow;
use std::sync::Arc;

use egui::{Align2, Color32, FontId, Id, Painter, Pos2, Vec2};

/// Widths of the letters of a font. egui looks each one up in the font's file each time, which takes longer than all else
/// that is done with a text in a frame.
struct LetterWidths<'a> {
    painter: &'a Painter,
    font: &'a FontId,
    known: Arc<KnownWidths>,
}

struct KnownWidths {
    ascii: [f32; 128],
    ellipsis: f32,
}

impl<'a> LetterWidths<'a> {
    fn of(painter: &'a Painter, font: &'a FontId) -> Self {
        let id = Id::unique(("letter widths", font, painter.pixels_per_point().to_bits()));
        let kept = painter.ctx().data(|data| data.get_temp(id));
        let known = kept.unwrap_or_else(|| {
            let known = painter.fonts_mut(|fonts| KnownWidths {
                ascii: std::array::from_fn(|at| fonts.glyph_width(font, char::from(at as u8))),
                ellipsis: fonts.glyph_width(font, '…'),
            });
            let known = Arc::new(known);
            painter
                .ctx()
                .data_mut(|data| data.insert_temp(id, Arc::clone(&known)));
            known
        });
        Self {
            painter,
            font,
            known,
        }
    }

    fn width(&self, c: char) -> f32 {
        let other = || {
            self.painter
                .fonts_mut(|fonts| fonts.glyph_width(self.font, c))
        };
        self.known
            .ascii
            .get(c as usize)
            .copied()
            .unwrap_or_else(other)
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

    /// Writes as much of `text` as fits.
    fn write(&self, at: Pos2, align: Align2, text: &str, room: f32, color: Color32) -> Vec2 {
        let fits = self.beginning(text, room).0;
        let shown = if fits == text.len() {
            Cow::Borrowed(text)
        } else {
            match self.beginning(&text[..fits], room - self.known.ellipsis).0 {
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
        self.painter
            .text(at, align, shown, self.font.clone(), color)
            .size()
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
    LetterWidths::of(painter, font).write(at, align, text, room, color)
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
    let widths = LetterWidths::of(painter, font);
    let shortened = without_middle(&widths, text, room);
    let text = shortened.as_deref().unwrap_or(text);
    widths.write(at, Align2::LEFT_CENTER, text, room + 1.0, color)
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
        let head = &head[..widths
            .beginning(head, room - of_tail - widths.known.ellipsis)
            .0];
        // An end without a beginning does not identify an op.
        (head.chars().count() >= least).then(|| format!("{head}…{tail}"))
    })
}
