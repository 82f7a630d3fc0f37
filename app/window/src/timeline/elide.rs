//! Texts that are shortened to the room there is for them.

use std::borrow::Cow;

use crate::prelude::*;

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
                ascii: std::array::from_fn(|code| fonts.glyph_width(font, char::from(code as u8))),
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
        (beyond.map_or(text.len(), |(index, _)| index), used)
    }

    /// Writes as much of `text` as fits.
    fn write(&self, pos: Pos2, align: Align2, text: &str, room: f32, color: Color32) -> Vec2 {
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
            .text(pos, align, shown, self.font.clone(), color)
            .size()
    }
}

/// Writes as much of `text` as fits into `room` points, with an ellipsis if it is truncated.
pub fn elided(
    painter: &Painter,
    pos: Pos2,
    align: Align2,
    text: &str,
    room: f32,
    font: &FontId,
    color: Color32,
) -> Vec2 {
    LetterWidths::of(painter, font).write(pos, align, text, room, color)
}

/// Like [`elided`], but keeps an end that tells names apart: a number, or what follows the last stroke of a path.
pub fn elided_name(
    painter: &Painter,
    pos: Pos2,
    text: &str,
    room: f32,
    font: &FontId,
    color: Color32,
) -> Vec2 {
    let widths = LetterWidths::of(painter, font);
    let shortened = with_end(&widths, text, room);
    let text = shortened.as_deref().unwrap_or(text);
    widths.write(pos, Align2::LEFT_CENTER, text, room + 1.0, color)
}

/// A beginning of a text that is too long, and its telling end, if there is room for enough of both.
fn with_end(widths: &LetterWidths<'_>, text: &str, room: f32) -> Option<String> {
    /// The least letters of the beginning: an end without one does not identify an op.
    const LEAST: usize = 3;
    if widths.beginning(text, room).0 == text.len() {
        return None;
    }
    let (head, tail) = text.split_at(telling_end(text)?);
    let (_, of_tail) = widths.beginning(tail, room);
    let fits = widths.beginning(head, room - of_tail - widths.known.ellipsis);
    let head = &head[..fits.0];
    (head.chars().count() >= LEAST).then(|| format!("{head}…{tail}"))
}

/// Where the end of a name begins that tells it from names with the same beginning; `None` if its beginning tells as much.
fn telling_end(text: &str) -> Option<usize> {
    /// Longer numbers are identifiers, whose beginning tells as much.
    const DIGITS: usize = 6;
    /// Digits of the identifier of a thread, which leave room for the name in front of it.
    const OF_THREAD: usize = 4;
    let rest = text.trim_end_matches(|c: char| c.is_ascii_digit());
    if let Some(slash) = text.rfind('/') {
        let is_thread = rest.len() <= slash + 2 && text.len() - rest.len() > DIGITS;
        return Some(if is_thread {
            text.len() - OF_THREAD
        } else {
            slash
        });
    }
    if rest.len() == text.len() || text.len() - rest.len() > DIGITS {
        return None;
    }
    let sign = rest.chars().next_back().filter(|c| !c.is_alphanumeric());
    Some(rest.len() - sign.map_or(0, char::len_utf8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_file_names_at_the_end_tell_names_apart() {
        for (text, end) in [
            ("all-reduce-scatter.5", Some(".5")),
            ("fusion ×12", Some("×12")),
            ("layer12", Some("12")),
            (
                "/lib/site-packages/flax/module.py:1008",
                Some("/module.py:1008"),
            ),
            ("jit(f)/mlp/dot_general", Some("/dot_general")),
            ("tf_XLAEigen/-8098553554287613410", Some("3410")),
            ("tf_XLAEigen/42", Some("/42")),
            ("broadcast_add_fusion", None),
            ("XLA Modules", None),
            ("jit_train_step(12190760917235803885)", None),
            ("run 12190760917235803885", None),
            ("é…7", Some("…7")),
            ("", None),
        ] {
            assert_eq!(telling_end(text).map(|at| &text[at..]), end, "{text}");
        }
    }

    #[test]
    fn shortened_names_keep_their_beginning_and_the_telling_end() {
        let ctx = Context::default();
        let mut shown = ctx.run_ui(egui::RawInput::default(), |ui| {
            let font = FontId::monospace(10.0);
            let widths = LetterWidths::of(ui.painter(), &font);
            let letters = |count: f32| widths.width('a') * (count + 0.5);
            let shortened = |text, count| with_end(&widths, text, letters(count));
            assert_eq!(shortened("all-reduce.5", 12.0), None, "it fits");
            assert_eq!(shortened("all-reduce.5", 9.0).as_deref(), Some("all-re….5"));
            assert_eq!(shortened("all-reduce.5", 5.0), None, "too little remains");
            assert_eq!(shortened("HBM fragmentation", 8.0), None);
        });
        shown.textures_delta.clear();
    }
}
