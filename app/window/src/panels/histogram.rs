//! The durations of all slices of a name, with the selected one marked.

use super::prelude::*;

use super::copy::text_menu;
use view::charts::histogram::BELOW;
use view::charts::{self, ChartFrame};
use view::panels::histogram::Histogram;

/// Size of the drawing.
const SIZE: Vec2 = vec2(250.0, 74.0);

/// Bars by duration, shortest at the left; a drag over some searches the slices of this name and these durations.
pub fn histogram_ui(
    ui: &mut Ui,
    histogram: &JobAnswer<Histogram>,
    (name, selected_ps): (&str, i64),
    out: &mut ViewCommands,
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
    let draw = |frame: &ChartFrame| charts::histogram::histogram(histogram, selected_ps, frame);
    let label = "Durations of all slices of this name";
    let (response, bar) = chart_ui(ui, (SIZE, Sense::click_and_drag()), label, draw);
    text_menu(&response, || as_text(histogram));
    let bars = response.rect.with_max_y(response.rect.bottom() - BELOW);
    brush_ui(ui, &response, bars, histogram, name, out);
    if let Some(bar) = bar.filter(|_| !response.dragged()) {
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

/// A drag over bars: shows which, and searches their slices when it ends.
fn brush_ui(
    ui: &Ui,
    response: &Response,
    bars: Rect,
    histogram: &Histogram,
    name: &str,
    out: &mut ViewCommands,
) {
    let theme = theme::current(ui);
    if response.drag_started()
        && let Some(from) = ui.input(|i| i.pointer.press_origin())
    {
        keep(ui, response.id, from);
    }
    let from = kept::<Pos2>(ui, response.id);
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
    format!(
        "from_ps\tto_ps\tcount\n{}",
        joined(histogram.bars.iter().enumerate().map(line), "\n")
    )
}
