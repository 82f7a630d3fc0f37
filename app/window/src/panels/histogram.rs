//! The durations of all slices of a name, with the selected one marked.

use egui::{Rect, RichText, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};
use trace_model::Picos;

use super::copy::text_menu;
use crate::jobs::JobAnswer;
use crate::theme::{self, Theme, small_font};
use crate::timeline::paint::text_on_ground;
use crate::times::time;
use session::number::counted;
use view::panels::histogram::Histogram;
use view::state::{Panel, ViewCommand};

/// Size of the drawing.
const SIZE: egui::Vec2 = vec2(250.0, 74.0);

/// Bars by duration, shortest at the left; a drag over some searches the slices of this name and these durations.
pub fn histogram_ui(
    ui: &mut Ui,
    histogram: &JobAnswer<Histogram>,
    (name, selected_ps): (&str, i64),
    out: &mut Vec<ViewCommand>,
) {
    let theme = theme::current(ui);
    let Some(histogram) = histogram.latest().filter(|histogram| histogram.count > 0) else {
        return;
    };
    let scale = if histogram.is_logarithmic() {
        ", logarithmic scale"
    } else {
        ""
    };
    let heading = format!("Distribution of durations{scale}");
    ui.label(
        RichText::new(heading)
            .small()
            .strong()
            .color(theme.text_weak),
    );
    let times = |ps: i64| time(Picos::from_ps(ps));
    ui.label(format!(
        "{}, {} together",
        counted(histogram.count as u64, "slice"),
        times(histogram.total)
    ));
    if histogram.count < 2 {
        return;
    }
    let (rect, response) = ui.allocate_exact_size(SIZE, Sense::click_and_drag());
    response.widget_info(|| {
        WidgetInfo::labeled(Role::Image, true, "Durations of all slices of this name")
    });
    text_menu(&response, || as_text(histogram));
    let bars = rect.with_max_y(rect.bottom() - 14.0);
    let painter = ui.painter_at(rect);
    painter.rect_filled(bars, 2.0, theme.raised);
    let most = histogram.bars.iter().copied().max().unwrap_or(1).max(1) as f32;
    let width = bars.width() / histogram.bars.len() as f32;
    let own = histogram.bar_of(selected_ps);
    for (i, &count) in histogram
        .bars
        .iter()
        .enumerate()
        .filter(|&(_, &count)| count > 0)
    {
        // Heights follow the square root, so that a single outlier stays visible next to thousands.
        let height = (bars.height() - 4.0) * (count as f32 / most).sqrt();
        let left = bars.left() + i as f32 * width;
        let bar = Rect::from_min_max(
            pos2(left, bars.bottom() - height.max(2.0)),
            pos2(left + (width - 1.0).max(1.0), bars.bottom()),
        );
        painter.rect_filled(
            bar,
            0.0,
            if i == own {
                theme.warning
            } else {
                theme.accent.gamma_multiply(0.75)
            },
        );
    }
    let mark = bars.left() + (own as f32 + 0.5) * width;
    painter.vline(mark, bars.y_range(), Stroke::new(1.0, theme.warning));
    let bottom = rect.bottom() - 6.0;
    let font = small_font();
    for (x, align, text) in [
        (rect.left(), egui::Align2::LEFT_CENTER, times(histogram.min)),
        (
            rect.center().x,
            egui::Align2::CENTER_CENTER,
            format!("median {}", times(histogram.median)),
        ),
        (
            rect.right(),
            egui::Align2::RIGHT_CENTER,
            times(histogram.max),
        ),
    ] {
        painter.text(pos2(x, bottom), align, text, font.clone(), theme.text_weak);
    }
    // The count of the highest bar.
    let most = counted(most as u64, "slice");
    text_on_ground(
        &painter,
        (bars.left_top() + vec2(3.0, 1.0), egui::Align2::LEFT_TOP),
        &most,
        &font,
        theme,
    );
    axis(&painter, bars, histogram, theme);
    brush_ui(ui, &response, bars, histogram, name, out);
    if let Some(at) = response.hover_pos().filter(|_| !response.dragged()) {
        let bar = (((at.x - bars.left()) / width) as usize).min(histogram.bars.len() - 1);
        let (from, to) = histogram.bounds(bar);
        let count = histogram.bars.get(bar).copied().unwrap_or(0);
        response.on_hover_text(format!(
            "{} of {} to {}; drag over bars to find their slices",
            counted(count as u64, "slice"),
            times(from as i64),
            times(to as i64)
        ));
    }
}

/// Marks at powers of ten, where the scale is logarithmic.
fn axis(painter: &egui::Painter, bars: Rect, histogram: &Histogram, theme: &Theme) {
    if !histogram.is_logarithmic() {
        return;
    }
    let [from, to] = [histogram.min, histogram.max].map(|ps| (ps.max(1) as f64).log10());
    let mut power = from.ceil();
    while power <= to {
        let x = bars.left() + bars.width() * ((power - from) / (to - from).max(1e-9)) as f32;
        painter.vline(
            x,
            bars.bottom() - 4.0..=bars.bottom(),
            Stroke::new(1.0, theme.text_weak),
        );
        power += 1.0;
    }
}

/// A drag over bars: shows which, and searches their slices when it ends.
fn brush_ui(
    ui: &Ui,
    response: &egui::Response,
    bars: Rect,
    histogram: &Histogram,
    name: &str,
    out: &mut Vec<ViewCommand>,
) {
    let theme = theme::current(ui);
    if response.drag_started()
        && let Some(from) = ui.input(|i| i.pointer.press_origin())
    {
        ui.data_mut(|data| data.insert_temp(response.id, from));
    }
    let from = ui.data(|data| data.get_temp::<egui::Pos2>(response.id));
    let (Some(from), Some(to)) = (from, response.interact_pointer_pos()) else {
        return;
    };
    if !(response.dragged() || response.drag_stopped()) {
        return;
    }
    let share = |x: f32| (x - bars.left()) / bars.width();
    let (covered, shortest, longest) = histogram.part(share(from.x), share(to.x));
    let x =
        |bar: usize| bars.left() + bars.width() * bar as f32 / histogram.bars.len().max(1) as f32;
    let band = Rect::from_x_y_ranges(x(*covered.start())..=x(*covered.end() + 1), bars.y_range());
    ui.painter()
        .rect_filled(band, 0.0, theme.selection.gamma_multiply(0.2));
    if response.drag_stopped() {
        out.push(ViewCommand::ShowPanel(Panel::Search, true));
        out.push(ViewCommand::Search(search_for(name, shortest, longest)));
    }
}

/// The search for the slices of a name that take between two times, in picoseconds.
fn search_for(name: &str, shortest: i64, longest: i64) -> String {
    // Characters other than letters and digits may have a special meaning in a pattern.
    let escaped: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_punctuation() {
                format!("\\{c}")
            } else {
                c.to_string()
            }
        })
        .collect();
    let pattern = if name.contains(char::is_whitespace) || name.contains('/') {
        format!("name:\"{}\"", name.replace('"', " "))
    } else {
        format!("/^{escaped}$/")
    };
    format!("{pattern} dur>={shortest}ps dur<={longest}ps")
}

/// The bars as text, one per line: from, to, count.
fn as_text(histogram: &Histogram) -> String {
    let line = |(bar, count): (usize, &usize)| {
        let (from, to) = histogram.bounds(bar);
        format!("{from:.0}\t{to:.0}\t{count}")
    };
    let lines: Vec<String> = histogram.bars.iter().enumerate().map(line).collect();
    format!("from_ps\tto_ps\tcount\n{}", lines.join("\n"))
}
