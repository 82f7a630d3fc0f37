//! Columns of lanes on the screen: a texture for tiles that stay the same from frame to frame, so that a frame draws one
//! rectangle per tile.

use std::collections::HashMap;

use crate::prelude::*;
use egui::{ColorImage, Mesh, TextureHandle, TextureOptions};

use crate::drawing::color_of;
use crate::theme::Theme;
use view::timeline::columns::{ColumnCell, ColumnTile, TILE_COLUMNS};
use view::timeline::inks::{faint, slice_inks};
use view::timeline::layout::DrawnColumns;
use view::timeline::tree::LANE;

/// Width and height of a texture.
const SIDE: usize = 1024;

/// The tiles that are in sight, as textures.
#[derive(Default)]
pub struct ColumnTextures {
    textures: Vec<TextureHandle>,
    /// By tile and height.
    slots: HashMap<(u64, usize), TextureSlot>,
    free: Vec<usize>,
    /// What they are drawn for.
    look: Option<(&'static Theme, f32)>,
    colors: CellColors,
    frame: u64,
}

/// By [`ColorKey`]: the colour of work, and of slices that are too short to be seen.
type CellColors = Vec<[Color32; 2]>;

struct TextureSlot {
    number: usize,
    used: u64,
}

impl ColumnTextures {
    /// Draws the tiles of `list` that are new.
    pub fn prepare(&mut self, ctx: &Context, list: &DrawList, theme: &'static Theme) {
        let scale = ctx.pixels_per_point();
        let same = self.look.is_some_and(|(last, drawn_scale)| {
            std::ptr::eq(last, theme) && (drawn_scale - scale).abs() < f32::EPSILON
        });
        if !same {
            let colors = (0..theme.slices().len()).map(|key| {
                let (fill, _) = slice_inks(Some(ColorKey(key as u8)), false);
                [fill, faint(fill)].map(|ink| color_of(theme, ink))
            });
            *self = Self {
                look: Some((theme, scale)),
                colors: colors.collect(),
                ..Self::default()
            };
        }
        self.frame += 1;
        for drawn in [&list.scrolled, &list.pinned]
            .into_iter()
            .flat_map(|part| &part.columns)
        {
            let (rows, frame) = (self.rows(drawn.height), self.frame);
            if let Some(slot) = self.slots.get_mut(&(drawn.tile.id, rows)) {
                slot.used = frame;
                continue;
            }
            let number = self.free_slot(ctx);
            let (texture, corner) = self.place_of(number);
            if let Some(texture) = self.textures.get_mut(texture) {
                texture.set_partial(
                    corner,
                    image(&drawn.tile, rows, &self.colors),
                    TextureOptions::NEAREST,
                );
            }
            self.slots.insert(
                (drawn.tile.id, rows),
                TextureSlot {
                    number,
                    used: frame,
                },
            );
        }
    }

    /// The rectangles of tiles, one mesh for each texture. `tint` weakens them.
    pub fn meshes(&self, origin: Pos2, columns: &[DrawnColumns], tint: f32) -> Vec<Mesh> {
        let mut meshes: Vec<Mesh> = self
            .textures
            .iter()
            .map(|texture| Mesh::with_texture(texture.id()))
            .collect();
        let scale = self.scale();
        let whole = |position: f32| (position * scale).round();
        for drawn in columns {
            let rows = self.rows(drawn.height);
            let Some(slot) = self.slots.get(&(drawn.tile.id, rows)) else {
                continue;
            };
            let (texture, corner) = self.place_of(slot.number);
            let Some(mesh) = meshes.get_mut(texture) else {
                continue;
            };
            // In pixels of the screen, on which columns lie exactly.
            let [left, from, to] =
                [drawn.left, drawn.shown.0, drawn.shown.1].map(|x| whole(origin.x + x));
            let column = (drawn.column * scale).max(f32::MIN_POSITIVE);
            let u = |x: f32| {
                (corner[0] as f32 + ((x - left) / column).clamp(0.0, TILE_COLUMNS as f32))
                    / SIDE as f32
            };
            let v = |row: usize| (corner[1] + row) as f32 / SIDE as f32;
            let top = whole(origin.y + drawn.top);
            let on_screen =
                Rect::from_min_max(pos2(from, top) / scale, pos2(to, top + rows as f32) / scale);
            let in_texture = Rect::from_min_max(pos2(u(from), v(0)), pos2(u(to), v(rows)));
            mesh.add_rect_with_uv(on_screen, in_texture, Color32::WHITE.gamma_multiply(tint));
        }
        meshes.retain(|mesh| !mesh.is_empty());
        meshes
    }

    fn scale(&self) -> f32 {
        self.look.map_or(1.0, |(_, scale)| scale)
    }

    /// Rows of pixels of this height.
    fn rows(&self, height: f32) -> usize {
        (height * self.scale()).round().clamp(1.0, SIDE as f32) as usize
    }

    /// Slots beside and above each other in a texture.
    fn grid(&self) -> (usize, usize) {
        (SIDE / TILE_COLUMNS, (SIDE / self.rows(LANE)).max(1))
    }

    /// The texture and the upper left corner of a slot.
    fn place_of(&self, number: usize) -> (usize, [usize; 2]) {
        let (beside, above) = self.grid();
        let within = number % (beside * above);
        (
            number / (beside * above),
            [
                within % beside * TILE_COLUMNS,
                within / beside * self.rows(LANE),
            ],
        )
    }

    /// A slot that nothing needs any more, or one of another texture.
    fn free_slot(&mut self, ctx: &Context) -> usize {
        if let Some(free) = self.free.pop() {
            return free;
        }
        let (frame, free) = (self.frame, &mut self.free);
        self.slots.retain(|_, slot| {
            let stays = slot.used + 1 >= frame;
            free.extend((!stays).then_some(slot.number));
            stays
        });
        if self.free.is_empty() {
            let (beside, above) = self.grid();
            let first = self.textures.len() * beside * above;
            self.free.extend((first..first + beside * above).rev());
            let empty = ColorImage::filled([SIDE, SIDE], Color32::TRANSPARENT);
            self.textures
                .push(ctx.load_texture("lanes", empty, TextureOptions::NEAREST));
        }
        self.free.pop().unwrap_or_default()
    }
}

/// The pixels of a tile.
fn image(tile: &ColumnTile, rows: usize, colors: &CellColors) -> ColorImage {
    let mut pixels = vec![Color32::TRANSPARENT; TILE_COLUMNS * rows];
    tile.draw_rows(rows, |column, within, cell| {
        let (key, of_key) = match cell {
            ColumnCell::Empty => return,
            ColumnCell::Work(key) => (key, 0),
            ColumnCell::Mark(key) => (key, 1),
        };
        let color = colors
            .get(usize::from(key.0))
            .map_or(Color32::TRANSPARENT, |colors| colors[of_key]);
        for row in within {
            if let Some(pixel) = pixels.get_mut(row * TILE_COLUMNS + column) {
                *pixel = color;
            }
        }
    });
    ColorImage {
        size: [TILE_COLUMNS, rows],
        source_size: vec2(TILE_COLUMNS as f32, rows as f32),
        pixels,
    }
}
