//! Draws a [`DrawList`] with egui: colours, one mesh for all boxes, texts. Decides nothing about what is shown or
//! where.

use crate::prelude::*;
use egui::Mesh;

use super::columns::ColumnTextures;
use super::elide::elided_name;
use crate::drawing::{self, color_of};
use crate::theme::{Theme, small_font};
use view::drawing::{ColorRole, Drawing};
use view::timeline::inks::{DIM, faint, key_of, slice_inks};
use view::timeline::layout::{DrawnRows, SliceBox};
use view::timeline::shapes;
use view::timeline::tree::TrackTree;

/// Space between the edge of a box and its text.
const TEXT_PAD: f32 = 4.0;

/// The colours of slices.
pub struct PaintColors<'a> {
    pub theme: &'static Theme,
    /// The colour of each label.
    pub keys: &'a [ColorKey],
    /// By label: whether to hatch it.
    pub hatched: &'a [bool],
    /// Whether slices that are not highlighted are hidden instead of dimmed.
    pub isolate: bool,
    /// The columns of lanes.
    pub columns: &'a ColumnTextures,
}

impl PaintColors<'_> {
    /// The colours of the box of a slice and of the text on it.
    fn of(&self, drawn: &SliceBox, is_dim: bool) -> (Color32, Color32) {
        let (fill, text) = slice_inks(key_of(drawn, self.keys), is_dim);
        (color_of(self.theme, fill), color_of(self.theme, text))
    }
}

pub fn canvas(
    painter: &Painter,
    canvas: Rect,
    list: &DrawList,
    (model, tree): (&TraceModel, &TrackTree),
    colors: &PaintColors<'_>,
) {
    let origin = canvas.min;
    let split = canvas.top() + list.pinned_height;
    let below = painter.with_clip_rect(canvas.with_min_y(split).intersect(painter.clip_rect()));
    part(
        &below,
        origin,
        &list.scrolled,
        list.is_dim,
        (model, tree),
        colors,
    );
    if list.pinned_height > 0.0 {
        let above = painter.with_clip_rect(canvas.with_max_y(split).intersect(painter.clip_rect()));
        part(
            &above,
            origin,
            &list.pinned,
            list.is_dim,
            (model, tree),
            colors,
        );
        painter.hline(canvas.x_range(), split, (2.0, colors.theme.edge));
    }
    let mut over = Drawing::new(canvas.width(), canvas.height(), ColorRole::Canvas);
    shapes::selection(&mut over, list, (0.0, 0.0));
    drawing::paint(painter, origin, &over, colors.theme);
}

fn part(
    painter: &Painter,
    origin: Pos2,
    part: &DrawnRows,
    is_dim: bool,
    (model, tree): (&TraceModel, &TrackTree),
    colors: &PaintColors<'_>,
) {
    if !(is_dim && colors.isolate) {
        let mut loads = Drawing::new(0.0, 0.0, ColorRole::Canvas);
        shapes::loads(&mut loads, part, (0.0, 0.0), is_dim);
        drawing::paint(painter, origin, &loads, colors.theme);
        let tint = if is_dim { DIM } else { 1.0 };
        for mesh in colors.columns.meshes(origin, &part.columns, tint) {
            painter.add(Shape::mesh(mesh));
        }
        painter.add(Shape::mesh(edges_mesh(origin, &part.boxes, is_dim, colors)));
        hatches(painter, origin, &part.boxes, is_dim, colors);
        texts(painter, origin, &part.boxes, is_dim, model, colors);
    }
    let mut derived = Drawing::new(0.0, 0.0, ColorRole::Canvas);
    let width = painter.clip_rect().right() - origin.x;
    shapes::derived(&mut derived, part, (0.0, 0.0), (width, is_dim));
    drawing::paint(painter, origin, &derived, colors.theme);
    let mut counters = Drawing::new(0.0, 0.0, ColorRole::Canvas);
    shapes::counters(&mut counters, part, (0.0, 0.0), (model, tree));
    drawing::paint(painter, origin, &counters, colors.theme);
    if is_dim {
        painter.add(Shape::mesh(boxes_mesh(origin, &part.highlighted, colors)));
        hatches(painter, origin, &part.highlighted, false, colors);
        texts(painter, origin, &part.highlighted, false, model, colors);
    }
}

/// The right edges of boxes, which separate neighbours, in their own colours, because they belong to the time of their
/// slice; and a notch in boxes whose length is not the measured one.
fn edges_mesh(origin: Pos2, boxes: &[SliceBox], is_dim: bool, colors: &PaintColors<'_>) -> Mesh {
    let mut mesh = Mesh::default();
    mesh.reserve_triangles(boxes.len() * 2);
    mesh.reserve_vertices(boxes.len() * 4);
    let weakened = |key| color_of(colors.theme, faint(slice_inks(key, is_dim).0));
    let keys = 0..colors.theme.slices().len();
    let by_key: Vec<Color32> = keys
        .map(|key| weakened(Some(ColorKey(key as u8))))
        .collect();
    let without_key = weakened(None);
    for drawn in boxes {
        let color = key_of(drawn, colors.keys)
            .and_then(|key| by_key.get(usize::from(key.0)))
            .copied()
            .unwrap_or(without_key);
        let edge = Rect::from_min_max(
            pos2(drawn.right - 1.0, drawn.top),
            pos2(drawn.right, drawn.top + drawn.height),
        );
        mesh.add_colored_rect(edge.translate(origin.to_vec2()), color);
        if let Some(corners) = drawn.notch() {
            let first = mesh.vertices.len() as u32;
            for (x, y) in corners {
                mesh.colored_vertex(origin + vec2(x, y), colors.theme.canvas);
            }
            mesh.add_triangle(first, first + 1, first + 2);
        }
    }
    mesh
}

/// All boxes as one mesh; one shape per box would cost ten times as much.
fn boxes_mesh(origin: Pos2, boxes: &[SliceBox], colors: &PaintColors<'_>) -> Mesh {
    let mut mesh = Mesh::default();
    mesh.reserve_triangles(boxes.len() * 2);
    mesh.reserve_vertices(boxes.len() * 4);
    for drawn in boxes {
        let color = colors.of(drawn, false).0;
        let (left, right) = (origin.x + drawn.left, origin.x + drawn.right);
        let (top, bottom) = (origin.y + drawn.top, origin.y + drawn.top + drawn.height);
        if drawn.count == 1 {
            // A thin gap separates neighbours if there is room for it.
            let gap = if right - left > 4.0 { 1.0 } else { 0.0 };
            mesh.add_colored_rect(
                Rect::from_min_max(pos2(left, top), pos2(right - gap, bottom)),
                color,
            );
        } else {
            // At least a quarter high: a lone short slice must stay visible.
            let height = drawn.height * (0.25 + 0.75 * drawn.fill);
            mesh.add_colored_rect(
                Rect::from_min_max(pos2(left, bottom - height), pos2(right, bottom)),
                color,
            );
        }
    }
    mesh
}

/// Hatching as one mesh.
fn hatches(
    painter: &Painter,
    origin: Pos2,
    boxes: &[SliceBox],
    is_dim: bool,
    colors: &PaintColors<'_>,
) {
    const PITCH: f32 = 7.0;
    const THICK: f32 = 2.0;
    if colors.hatched.is_empty() || is_dim {
        return;
    }
    let is_hatched = |drawn: &&SliceBox| {
        colors
            .hatched
            .get(drawn.label.index())
            .is_some_and(|&only| only)
    };
    let mut mesh = Mesh::default();
    for drawn in boxes
        .iter()
        .filter(is_hatched)
        .filter(|drawn| drawn.count == 1)
    {
        let (left, right) = (origin.x + drawn.left, origin.x + drawn.right - 1.0);
        let (bottom, height) = (origin.y + drawn.top + drawn.height, drawn.height);
        let color = colors.of(drawn, false).1.gamma_multiply(0.25);
        let mut start = left - height;
        while start < right {
            let first = mesh.vertices.len() as u32;
            for start in [start, start + THICK] {
                // From the bottom to the top right, cut at the sides of the box.
                for along in [
                    (left - start).clamp(0.0, height),
                    (right - start).clamp(0.0, height),
                ] {
                    mesh.colored_vertex(
                        pos2((start + along).clamp(left, right), bottom - along),
                        color,
                    );
                }
            }
            mesh.add_triangle(first, first + 1, first + 2);
            mesh.add_triangle(first + 1, first + 2, first + 3);
            start += PITCH;
        }
    }
    painter.add(Shape::mesh(mesh));
}

fn texts(
    painter: &Painter,
    origin: Pos2,
    boxes: &[SliceBox],
    is_dim: bool,
    model: &TraceModel,
    colors: &PaintColors<'_>,
) {
    let font = small_font();
    let clip = painter.clip_rect();
    for drawn in boxes.iter().filter(|drawn| drawn.has_text) {
        // The name stays visible when the left end of the slice is not.
        let left = (origin.x + drawn.left).max(clip.left()) + TEXT_PAD;
        let room = (origin.x + drawn.right).min(clip.right()) - TEXT_PAD - left;
        let name = model.str(model.label(drawn.label).name);
        let color = colors.of(drawn, is_dim).1;
        let middle = origin.y + drawn.top + drawn.height / 2.0;
        elided_name(painter, pos2(left, middle), name, room, &font, color);
    }
}

/// A triangle that points right (folded) or down.
pub fn fold_mark(painter: &Painter, center: Pos2, folded: bool, color: Color32) {
    let r = 3.5;
    let points = if folded {
        vec![
            center + vec2(-r * 0.6, -r),
            center + vec2(r, 0.0),
            center + vec2(-r * 0.6, r),
        ]
    } else {
        vec![
            center + vec2(-r, -r * 0.6),
            center + vec2(r, -r * 0.6),
            center + vec2(0.0, r),
        ]
    };
    painter.add(Shape::convex_polygon(points, color, Stroke::NONE));
}
