//! Draws a [`DrawList`] with egui: colours, one mesh for all boxes, texts. Decides nothing about what is shown or
//! where.

use egui::{
    Align2, Color32, FontId, Mesh, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, pos2, vec2,
};
use trace_model::{CounterSeries, TraceModel};

use super::columns::{ColumnTextures, FAINT};
use super::elide::elided_middle;
use crate::theme::{Theme, ThemeSliceColor, small_font};
use view::palette::ColorKey;
use view::state::TreeItem;
use view::timeline::counter_text::counter_value;
use view::timeline::layout::{DrawList, DrawnRows, FlowArrow, LoadBox, SliceBox};
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

/// How much of the colour of dimmed slices differs from the ground.
const DIM: f32 = 0.22;

impl PaintColors<'_> {
    fn key(&self, drawn: &SliceBox) -> Option<ColorKey> {
        let key = self.keys.get(drawn.label.index());
        key.map(|key| {
            if drawn.beside_work {
                key.beside_work()
            } else {
                *key
            }
        })
    }

    fn of(&self, drawn: &SliceBox, dim: bool) -> ThemeSliceColor {
        let color = self.key(drawn).map_or(
            ThemeSliceColor {
                fill: self.theme.text_weak,
                text: self.theme.canvas,
            },
            |key| self.theme.slice(key),
        );
        if !dim {
            return color;
        }
        ThemeSliceColor {
            fill: self.dimmed(color.fill),
            text: self.theme.text_weak,
        }
    }

    fn of_load(&self, drawn: &LoadBox, is_dim: bool) -> Color32 {
        let fill = self.theme.counter;
        let fill = if drawn.is_faint {
            self.theme.heading.lerp_to_gamma(fill, 0.3)
        } else {
            fill
        };
        if is_dim { self.dimmed(fill) } else { fill }
    }

    fn dimmed(&self, fill: Color32) -> Color32 {
        self.theme.canvas.lerp_to_gamma(fill, DIM)
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
        painter.hline(canvas.x_range(), split, Stroke::new(2.0, colors.theme.edge));
    }
    if let Some(place) = list.selected {
        let (top, bottom) = (place.top, place.top + place.height);
        let rect = Rect::from_min_max(
            origin + vec2(place.left, top),
            origin + vec2(place.right, bottom),
        );
        painter.rect_stroke(
            rect,
            1.0,
            Stroke::new(2.0, colors.theme.selection),
            StrokeKind::Outside,
        );
    }
    for arrow in &list.arrows {
        paint_arrow(painter, origin, arrow, colors.theme);
    }
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
        painter.add(Shape::mesh(loads_mesh(origin, &part.loads, is_dim, colors)));
        let tint = if is_dim { DIM } else { 1.0 };
        for mesh in colors.columns.meshes(origin, &part.columns, tint) {
            painter.add(Shape::mesh(mesh));
        }
        painter.add(Shape::mesh(edges_mesh(origin, &part.boxes, is_dim, colors)));
        hatches(painter, origin, &part.boxes, is_dim, colors);
        texts(painter, origin, &part.boxes, is_dim, model, colors);
    }
    counters(painter, origin, part, colors.theme);
    counter_scales(painter, origin, part, (model, tree), colors.theme);
    if is_dim {
        painter.add(Shape::mesh(boxes_mesh(origin, &part.highlighted, colors)));
        hatches(painter, origin, &part.highlighted, false, colors);
        texts(painter, origin, &part.highlighted, false, model, colors);
    }
}

/// The load of folded groups as one mesh.
fn loads_mesh(origin: Pos2, loads: &[LoadBox], is_dim: bool, colors: &PaintColors<'_>) -> Mesh {
    let mut mesh = Mesh::default();
    mesh.reserve_triangles(loads.len() * 2);
    mesh.reserve_vertices(loads.len() * 4);
    for drawn in loads {
        let color = colors.of_load(drawn, is_dim);
        let rect = Rect::from_min_max(pos2(drawn.left, drawn.top), pos2(drawn.right, drawn.bottom));
        mesh.add_colored_rect(rect.translate(origin.to_vec2()), color);
    }
    mesh
}

/// The right edges of boxes, which separate neighbours, in their own colours, because they belong to the time of their
/// slice; and a notch in boxes whose length is not the measured one.
fn edges_mesh(origin: Pos2, boxes: &[SliceBox], is_dim: bool, colors: &PaintColors<'_>) -> Mesh {
    let mut mesh = Mesh::default();
    mesh.reserve_triangles(boxes.len() * 2);
    mesh.reserve_vertices(boxes.len() * 4);
    let weakened = |fill: Color32| {
        let fill = if is_dim { colors.dimmed(fill) } else { fill };
        colors.theme.canvas.lerp_to_gamma(fill, FAINT)
    };
    let by_key: Vec<Color32> = colors
        .theme
        .slices()
        .iter()
        .map(|slice| weakened(slice.fill))
        .collect();
    let without_key = weakened(colors.theme.text_weak);
    for drawn in boxes {
        let color = colors
            .key(drawn)
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
        let color = colors.of(drawn, false).fill;
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
        let color = colors.of(drawn, false).text.gamma_multiply(0.25);
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
        let color = colors.of(drawn, is_dim).text;
        let middle = origin.y + drawn.top + drawn.height / 2.0;
        elided_middle(painter, pos2(left, middle), name, room, &font, color);
    }
}

fn counters(painter: &Painter, origin: Pos2, part: &DrawnRows, theme: &Theme) {
    for counter in &part.counters {
        let base = origin.y + counter.top + counter.height - 1.0;
        let mut mesh = Mesh::default();
        for step in &counter.steps {
            let (left, right) = (
                origin.x + step.left,
                origin.x + step.right.max(step.left + 1.0),
            );
            let top = origin.y + counter.top + counter.y(step.level);
            mesh.add_colored_rect(
                Rect::from_min_max(pos2(left, top), pos2(right, base)),
                theme.counter.gamma_multiply(0.35),
            );
            mesh.add_colored_rect(
                Rect::from_min_max(pos2(left, top - 1.0), pos2(right, top)),
                theme.counter,
            );
        }
        painter.add(Shape::mesh(mesh));
    }
}

/// The values at the top and the bottom of counters.
fn counter_scales(
    painter: &Painter,
    origin: Pos2,
    part: &DrawnRows,
    (model, tree): (&TraceModel, &TrackTree),
    theme: &Theme,
) {
    let left = origin.x.max(painter.clip_rect().left()) + TEXT_PAD;
    for counter in &part.counters {
        let TreeItem::Track(track) = tree.node(counter.node).item else {
            continue;
        };
        let unit = model
            .counter(track)
            .and_then(CounterSeries::unit)
            .map_or("", |unit| model.str(unit));
        let write = |level: f32, align: Align2, value: f64| {
            let at = pos2(left, origin.y + counter.top + counter.y(level));
            text_on_ground(
                painter,
                (at, align),
                &counter_value(value, unit),
                &small_font(),
                theme,
            );
        };
        write(1.0, Align2::LEFT_TOP, counter.max);
        if counter.max > counter.min && counter.height > 34.0 {
            write(0.0, Align2::LEFT_BOTTOM, counter.min);
        }
    }
}

/// Writes over what is drawn, on a ground that keeps the text legible.
pub fn text_on_ground(
    painter: &Painter,
    (at, align): (Pos2, Align2),
    text: &str,
    font: &FontId,
    theme: &Theme,
) {
    let galley = painter.layout_no_wrap(text.to_owned(), font.clone(), theme.text);
    let at = align.anchor_size(at, galley.size());
    painter.rect_filled(
        at.expand2(vec2(2.0, 0.0)),
        2.0,
        theme.canvas.gamma_multiply(0.7),
    );
    painter.galley(at.min, galley, theme.text);
}

fn paint_arrow(painter: &Painter, origin: Pos2, arrow: &FlowArrow, theme: &Theme) {
    let color = if arrow.outgoing {
        theme.flow_out
    } else {
        theme.flow_in
    };
    let stroke = Stroke::new(if arrow.is_chosen { 3.0 } else { 1.5 }, color);
    let points = arrow.curve().map(|(x, y)| origin + vec2(x, y));
    let to = points[3];
    painter.add(egui::epaint::CubicBezierShape::from_points_stroke(
        points,
        false,
        Color32::TRANSPARENT,
        stroke,
    ));
    painter.line_segment([to, to + vec2(-6.0, -4.0)], stroke);
    painter.line_segment([to, to + vec2(-6.0, 4.0)], stroke);
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
