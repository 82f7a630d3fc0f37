//! Colours of what the tracks hold.

use crate::drawing::{ColorRole, Ink};
use crate::palette::ColorKey;
use crate::timeline::layout::SliceBox;

/// How much of the colour of dimmed slices differs from the ground.
pub const DIM: f32 = 0.22;
/// How much marks of what is too short to be seen, and the edges of slices, differ from the ground.
pub const FAINT: f32 = 0.45;

/// The colour of a slice, by the colours of labels; `None` if its label has none.
pub fn key_of(drawn: &SliceBox, keys: &[ColorKey]) -> Option<ColorKey> {
    let key = *keys.get(drawn.label.index())?;
    Some(if drawn.beside_work {
        key.beside_work()
    } else {
        key
    })
}

pub fn dimmed(ink: Ink, is_dim: bool) -> Ink {
    if is_dim {
        ink.over(ColorRole::Canvas, DIM)
    } else {
        ink
    }
}

/// The fill of a slice, and of the text on it.
pub fn slice_inks(key: Option<ColorKey>, is_dim: bool) -> (Ink, Ink) {
    let (fill, text) = match key {
        Some(key) => (ColorRole::Slice(key), ColorRole::OnSlice(key)),
        None => (ColorRole::TextWeak, ColorRole::Canvas),
    };
    let text = if is_dim { ColorRole::TextWeak } else { text };
    (dimmed(fill.into(), is_dim), text.into())
}

/// The colour of marks and of the edges of slices.
pub fn faint(fill: Ink) -> Ink {
    fill.over(ColorRole::Canvas, FAINT)
}
