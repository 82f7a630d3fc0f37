//! Rows about ops: a name, and numbers in columns at the right.

use super::prelude::*;
use analysis::CellType as _;
use analysis::facts::SumOver;

use super::number::shown;
use crate::timeline::paint::fold_mark;

/// Height of a row.
pub const ROW: f32 = 20.0;
/// Minimum width of names beside the numbers.
const NAME: f32 = 110.0;

/// Titles and tooltips of the columns, from the right.
pub const COLUMNS: [(&str, &str); 5] = [
    (
        "above limit",
        "Time above the roofline: self time less the least time that the tightest known limit allows for the work, in a \
         step on a device. Rows without a known limit are sorted by their self time, the most that it can be",
    ),
    (
        "of limit",
        "Least time that the tightest known limit allows for the work, as a share of the time taken, waiting included",
    ),
    (
        "of op time",
        "Self time as a share of all ops' self time, idle time left out",
    ),
    (
        "self time",
        "Time of executions without their child ops: in a step on a device, the mean over all, with what runs \
         outside of steps; where there are no steps, on a device",
    ),
    ("all runs", "Executions on all devices, in all steps"),
];
/// The column whose title says what each number is of.
const SELF_TIME: usize = 3;
/// The columns that a narrow list leaves out, in this order: executions, the share of the limit, the share of the time,
/// the time above the limit.
const SPARE: [usize; 4] = [4, 1, 2, 0];

/// The numbers of a row; times are of a step on a device.
pub struct OpRowNumbers {
    pub above_limit_ps: Option<Picos>,
    pub of_limit_percent: Option<Percent>,
    pub of_op_time_percent: Option<Percent>,
    pub self_time_ps: Picos,
    pub occurrences: u64,
}

impl OpRowNumbers {
    /// The texts of the columns.
    pub fn texts(&self) -> [String; COLUMNS.len()] {
        let percent = |value: Option<Percent>| shown(&value.cell(), Unit::Percent);
        [
            shown(&self.above_limit_ps.cell(), Unit::Picoseconds),
            percent(self.of_limit_percent),
            percent(self.of_op_time_percent),
            time(self.self_time_ps),
            number(self.occurrences as f64, Unit::Count),
        ]
    }
}

/// What a row looks like besides its numbers.
pub struct OpRowLook<'a> {
    /// What kind of thing it is, for screen readers.
    pub kind: &'static str,
    pub title: &'a str,
    pub group: OpGroup,
    pub indent: f32,
    /// Whether its children are shown; `None` without children.
    pub open: Option<bool>,
    pub is_own: bool,
}

/// The columns that fit beside the names, with their right edges, and their total width.
fn columns(room: f32) -> (Vec<(usize, f32)>, f32) {
    let time = 68.0 + times::more_room();
    let widths = [time, 64.0, 72.0, time, 54.0];
    let mut kept: Vec<usize> = (0..widths.len()).collect();
    let width = |kept: &[usize]| kept.iter().map(|&column| widths[column]).sum::<f32>();
    for spare in SPARE {
        if room - width(&kept) < NAME {
            kept.retain(|&column| column != spare);
        }
    }
    let edge = |(n, &column): (usize, &usize)| (column, width(&kept[..n]));
    (kept.iter().enumerate().map(edge).collect(), width(&kept))
}

/// The headings of the columns above rows of this width.
pub fn heading_ui(ui: &mut Ui, width: f32, over: SumOver) {
    let color = theme::current(ui).text_weak;
    let (rect, _) = ui.allocate_exact_size(vec2(width, ROW), Sense::hover());
    for (column, edge) in columns(rect.width()).0 {
        let pos = rect.right_center() - vec2(edge + 6.0, 0.0);
        let (mut title, about) = COLUMNS[column];
        if column == SELF_TIME {
            title = over.title(["self a step", "self a device"]);
        }
        let drawn = ui
            .painter()
            .text(pos, Align2::RIGHT_CENTER, title, small_font(), color);
        let id = ui.scope_id().with(("heading of ops", title));
        ui.interact(drawn, id, Sense::hover()).on_hover_text(about);
    }
}

/// A row with its numbers.
pub fn row_ui(
    ui: &mut Ui,
    width: f32,
    row: &OpRowLook<'_>,
    texts: &[String; COLUMNS.len()],
) -> Response {
    let theme = theme::current(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(width, ROW), Sense::click());
    response.labeled(Role::Button, format_args!("{} {}", row.kind, row.title));
    let painter = ui.painter_at(rect);
    if row.is_own {
        painter.rect_filled(rect, 2.0, theme.accent.gamma_multiply(0.22));
    } else if response.hovered() {
        painter.rect_filled(rect, 2.0, theme.raised);
    }
    let mark = pos2(rect.left() + 9.0 + row.indent, rect.center().y);
    let color = theme.group(row.group);
    if let Some(open) = row.open {
        fold_mark(&painter, mark, !open, color);
    } else {
        let swatch = Rect::from_center_size(mark, vec2(9.0, 9.0));
        painter.rect_filled(swatch, 2.0, color);
    }
    let font = FontId::proportional(12.0);
    let (columns, numbers) = columns(rect.width());
    let name = mark + vec2(11.0, 0.0);
    let room = (rect.right() - numbers - 6.0 - name.x).max(40.0);
    elided_name(&painter, name, row.title, room, &font, theme.text);
    let most = 90.0 + times::more_room();
    for (column, edge) in columns {
        let (pos, text) = (rect.right_center() - vec2(edge + 6.0, 0.0), &texts[column]);
        elided(
            &painter,
            pos,
            Align2::RIGHT_CENTER,
            text,
            most,
            &font,
            theme.text,
        );
    }
    response.on_hover_cursor(CursorIcon::PointingHand)
}

#[cfg(test)]
mod tests {
    use super::*;
    use view::time_format::TimeFormat;

    #[test]
    fn number_columns_shrink_for_long_names() {
        let shown = |room| columns(room).0;
        let kept = |room| shown(room).iter().map(|&(at, _)| at).collect::<Vec<_>>();
        assert_eq!(
            shown(460.0),
            [(0, 0.0), (1, 68.0), (2, 132.0), (3, 204.0), (4, 272.0)]
        );
        assert_eq!(kept(435.0), [0, 1, 2, 3]);
        assert_eq!(
            kept(342.0),
            [0, 2, 3],
            "the reports beside a timeline of 1280 points"
        );
        assert_eq!(kept(200.0), [3]);
        times::write_as(TimeFormat::Exact);
        let (narrow, wide) = (kept(420.0), kept(700.0));
        times::write_as(TimeFormat::Digits);
        assert_eq!(narrow, [3]);
        assert_eq!(wide.len(), 5);
    }
}
