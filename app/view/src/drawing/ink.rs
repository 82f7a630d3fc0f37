//! Colours by what they are for, so that one description fits every palette.

use crate::prelude::*;

use crate::palette::{ColorKey, Palette, Rgb};

/// A colour of [`Palette`], by its use there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColorRole {
    Canvas,
    Labels,
    Heading,
    Panel,
    Raised,
    Edge,
    Grid,
    Text,
    TextWeak,
    TextStrong,
    Accent,
    Selection,
    Warning,
    Counter,
    FlowIn,
    FlowOut,
    /// The box of a slice.
    Slice(ColorKey),
    /// Text on the box of a slice.
    OnSlice(ColorKey),
}

impl ColorRole {
    /// The colour of a category.
    pub fn group(group: OpGroup) -> Self {
        Self::Slice(ColorKey::of_group(group))
    }
}

impl<C: Copy> Palette<C> {
    pub fn role(&self, role: ColorRole) -> C {
        match role {
            ColorRole::Canvas => self.canvas,
            ColorRole::Labels => self.labels,
            ColorRole::Heading => self.heading,
            ColorRole::Panel => self.panel,
            ColorRole::Raised => self.raised,
            ColorRole::Edge => self.edge,
            ColorRole::Grid => self.grid,
            ColorRole::Text => self.text,
            ColorRole::TextWeak => self.text_weak,
            ColorRole::TextStrong => self.text_strong,
            ColorRole::Accent => self.accent,
            ColorRole::Selection => self.selection,
            ColorRole::Warning => self.warning,
            ColorRole::Counter => self.counter,
            ColorRole::FlowIn => self.flow_in,
            ColorRole::FlowOut => self.flow_out,
            ColorRole::Slice(key) => self.slice(key).fill,
            ColorRole::OnSlice(key) => self.slice(key).text,
        }
    }
}

/// A colour, or a mixture of it and the colour of the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ink {
    pub role: ColorRole,
    /// `None`: whatever is below shows through.
    pub ground: Option<ColorRole>,
    /// How much of the mixture is `role`: 1 is all of it.
    pub share: f32,
}

impl From<ColorRole> for Ink {
    fn from(role: ColorRole) -> Self {
        Self {
            role,
            ground: None,
            share: 1.0,
        }
    }
}

impl Ink {
    /// This colour, paler on a ground.
    #[must_use]
    pub fn over(self, ground: ColorRole, share: f32) -> Self {
        Self {
            ground: Some(ground),
            share: self.share * share,
            ..self
        }
    }

    /// This colour, transparent.
    #[must_use]
    pub fn clear(self, share: f32) -> Self {
        Self { share, ..self }
    }

    /// The colour, and how much of it covers what is below.
    pub fn of(self, palette: &Palette<Rgb>) -> (Rgb, f32) {
        let role = palette.role(self.role);
        match self.ground {
            Some(ground) => (palette.role(ground).towards(role, self.share), 1.0),
            None => (role, self.share),
        }
    }
}
