//! The durations of all slices of a name, with the selected one marked.

use egui::{Rect, RichText, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};
use trace_model::Picos;

use super::copy::text_menu;
use crate::gui::jobs::JobAnswer;
use crate::gui::theme::{Theme, small_font};
use crate::gui::times::time;
use crate::number::counted;
use crate::view::panels::histogram::Histogram;

/// Size of the drawing.
const SIZE: egui::Vec2 = vec2(250.0, 74.0);

/// Bars by duration, shortest at the left.
pub fn histogram_ui(ui: &mut Ui, histogram: &JobAnswer<Histogram>, selected_ps: i64) {
    let theme = Theme::current(ui);
    let Some(histogram) = histogram.latest().filter(|histogram| histogram.count > 0) else { return };
    ui.label(RichText::new("Distribution of durations").small().strong().color(theme.text_weak));
    let times = |ps: i64| time(Picos::from_ps(ps));
    ui.label(format!("{}, {} together", counted(histogram.count as u64, "slice"), times(histogram.total)));
    if histogram.count < 2 {
        return;
    }
    let (rect, response) = ui.allocate_exact_size(SIZE, Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, "Durations of all slices of this name"));
    text_menu(&response, || as_text(histogram));
    let bars = rect.with_max_y(rect.bottom() - 14.0);
    let painter = ui.painter_at(rect);
    painter.rect_filled(bars, 2.0, theme.raised);
    let most = histogram.bars.iter().copied().max().unwrap_or(1).max(1) as f32;
    let width = bars.width() / histogram.bars.len() as f32;
    let own = histogram.bar_of(selected_ps);
    for (i, &count) in histogram.bars.iter().enumerate().filter(|&(_, &count)| count > 0) {
        // By the root: a single outlier stays visible beside thousands.
        let height = (bars.height() - 4.0) * (count as f32 / most).sqrt();
        let left = bars.left() + i as f32 * width;
        let bar = Rect::from_min_max(
            pos2(left, bars.bottom() - height.max(2.0)),
            pos2(left + (width - 1.0).max(1.0), bars.bottom()),
        );
        painter.rect_filled(bar, 0.0, if i == own { theme.warning } else { theme.accent.gamma_multiply(0.75) });
    }
    let mark = bars.left() + (own as f32 + 0.5) * width;
    painter.vline(mark, bars.y_range(), Stroke::new(1.0, theme.warning));
    let bottom = rect.bottom() - 6.0;
    let font = small_font();
    for (x, align, text) in [
        (rect.left(), egui::Align2::LEFT_CENTER, times(histogram.min)),
        (rect.center().x, egui::Align2::CENTER_CENTER, format!("median {}", times(histogram.median))),
        (rect.right(), egui::Align2::RIGHT_CENTER, times(histogram.max)),
    ] {
        painter.text(pos2(x, bottom), align, text, font.clone(), theme.text_weak);
    }
    if let Some(at) = response.hover_pos() {
        let bar = (((at.x - bars.left()) / width) as usize).min(histogram.bars.len() - 1);
        let (from, to) = histogram.bounds(bar);
        let count = histogram.bars.get(bar).copied().unwrap_or(0);
        response.on_hover_text(format!(
            "{} of {} to {}",
            counted(count as u64, "slice"),
            times(from as i64),
            times(to as i64)
        ));
    }
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
