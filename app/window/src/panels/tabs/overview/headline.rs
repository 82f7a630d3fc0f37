//! What limits the run, and the key figures.

use std::borrow::Cow;
use std::task::Poll;

use crate::panels::tabs::prelude::*;
use analysis::reports::Utilization;
use analysis::reports::summary::targets::{Target, Targets};
use egui::{Galley, Margin};
use render::remark as remark_on;

use crate::panels::controls::with_controls;
use crate::panels::copy::text_menu;
use crate::panels::late::late_ui;
use crate::panels::widgets::{sentence_ui, with_whole_quantities};
use view::overview::{FIGURES, KeyFigure};

/// Height of the sentence about the run, which takes two lines.
const SENTENCE: f32 = 34.0;
/// Height of a card without its remark, and of one with a remark of two lines.
const CARD: [f32; 2] = [54.0, 82.0];

/// What limits the run in one sentence, what ran, and what happens once.
pub fn limit_ui(ui: &mut Ui, context: PanelContext<'_>, view: &mut ViewCommands) {
    let theme = theme::current(ui);
    let overview = context.reports.overview();
    let limit = context.reports.limit();
    if !matches!(limit, Poll::Ready(None)) {
        let frame = Frame::new()
            .fill(theme.raised)
            .corner_radius(5.0)
            .inner_margin(Margin::symmetric(10, 8));
        let shown = frame.show(ui, |ui| {
            ui.set_width(ui.available_width());
            let Poll::Ready(Some(limit)) = &limit else {
                ui.set_height(SENTENCE);
                return computing_ui(ui);
            };
            let size = size_of(ui, &with_whole_quantities(limit));
            sentence_ui(ui, limit, |text| text.size(size).color(theme.text_strong));
        });
        let bar = shown
            .response
            .rect
            .with_max_x(shown.response.rect.left() + 3.0);
        ui.painter().rect_filled(bar, 1.5, theme.accent);
        ui.add_space(4.0);
    }
    late_ui(ui, context, view);
    let slices = counted(context.trace.model.slice_count() as u64, "slice");
    let ran = overview
        .ran
        .on_devices_of(&context.whole.overview().ran)
        .words(time)
        .into_iter()
        .chain([slices]);
    remark_ui(ui, &joined(ran, "  ·  "));
    if let Some(outside) = overview.outside(time) {
        remark_ui(ui, &outside);
    }
}

/// The largest size in which a sentence takes two lines.
fn size_of(ui: &Ui, sentence: &str) -> f32 {
    let takes_two = |&size: &f32| {
        let (font, color) = (FontId::proportional(size), Color32::PLACEHOLDER);
        let width = ui.available_width();
        let text = ui.painter().layout(sentence.to_owned(), font, color, width);
        text.rows.len() <= 2
    };
    [14.5, 13.0, 12.0]
        .into_iter()
        .find(takes_two)
        .unwrap_or(12.0)
}

/// The key figures as cards; the tooltip says more.
pub fn figures_ui(ui: &mut Ui, context: PanelContext<'_>) {
    // Where devices have no time, the part about it says why.
    if let (Err(_), Err(_)) = (
        context.reports.get::<Utilization>(),
        context.reports.get::<Ops>(),
    ) {
        let mut figures = context.reports.overview().figures();
        if figures.all(|figure| figure.value.is_none() || figure.id == "step") {
            return;
        }
    }
    let overview = context.reports.overview();
    let are_chosen_later = are_chosen_later(context);
    let first = if are_chosen_later {
        Vec::new()
    } else {
        overview.figures_that_matter()
    };
    let mark = if first.iter().any(|figure| figure.mark().is_some()) {
        "the mark is the target"
    } else {
        ""
    };
    section_ui(ui, "Key figures", mark).on_hover_text("First those that miss their target.");
    if are_chosen_later {
        return waiting_ui(ui);
    }
    let badge = context.trace.model.badge();
    cards_ui(ui, &first, badge.as_deref());
    let others: Vec<&KeyFigure> = overview
        .figures()
        .filter(|figure| first.iter().all(|shown| !std::ptr::eq(*shown, *figure)))
        .collect();
    if !others.is_empty() {
        ui.collapsing("More figures", |ui| cards_ui(ui, &others, badge.as_deref()));
    }
    if context.reports.get::<Ops>().is_ok() {
        context.report_ui::<Utilization>(ui);
    }
}

/// Whether a report that is still computed decides which figures come first: those that are shown would change places.
fn are_chosen_later(context: PanelContext<'_>) -> bool {
    context.reports.limit().is_pending()
        || matches!(context.reports.get::<Utilization>(), Ok(None))
        || matches!(context.reports.get::<Targets>(), Ok(None))
}

/// Cards without figures, which take the place of those to come.
fn waiting_ui(ui: &mut Ui) {
    let theme = theme::current(ui);
    let height = |_: &Ui, (): &(), _| CARD[1];
    grid_ui(ui, &[(); FIGURES], height, |ui, (), size| {
        let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
        ui.painter().rect_filled(rect, 5.0, theme.raised);
    });
}

fn cards_ui(ui: &mut Ui, figures: &[&KeyFigure], badge: Option<&str>) {
    let (known, unknown): (Vec<&KeyFigure>, Vec<&KeyFigure>) =
        figures.iter().partition(|figure| figure.value.is_some());
    let height = |ui: &Ui, figure: &&KeyFigure, width: f32| {
        CARD[0] + remark_of(ui, figure, badge, width).size().y
    };
    grid_ui(ui, &known, height, |ui, figure, size| {
        card_ui(ui, figure, badge, size);
    });
    if !unknown.is_empty() {
        unknown_ui(ui, &unknown);
    }
}

/// Metrics without a value, in one line; the tooltip has the reasons.
fn unknown_ui(ui: &mut Ui, figures: &[&KeyFigure]) {
    let titles = joined(figures.iter().map(|figure| figure.title), "; ");
    // Some names hold commas.
    let text = format!("Not known: {titles}");
    let label = Label::new(remark(text)).wrap().sense(Sense::click());
    ui.add(label).on_hover_ui(|ui| {
        for figure in figures {
            ui.strong(figure.title);
            for line in about(figure) {
                ui.label(line);
            }
        }
    });
}

/// Cards beside each other, those of a row equally high; each is told its size.
fn grid_ui<T>(
    ui: &mut Ui,
    cards: &[T],
    height: impl Fn(&Ui, &T, f32) -> f32,
    card: impl Fn(&mut Ui, &T, Vec2),
) {
    let columns = if ui.available_width() > 520.0 { 3 } else { 2 };
    let gap = 6.0;
    let width = (ui.available_width() - gap * (columns - 1) as f32) / columns as f32;
    for row in cards.chunks(columns) {
        let heights = row.iter().map(|card| height(ui, card, width));
        let height = heights.fold(0.0, f32::max);
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = gap;
            for of_row in row {
                card(ui, of_row, vec2(width, height));
            }
        });
    }
}

/// The target of a figure and its denominator, as on every first screen, in the lines that a card of this width needs.
fn remark_of(ui: &Ui, figure: &KeyFigure, badge: Option<&str>, width: f32) -> Arc<Galley> {
    let text = with_whole_quantities(&remark_on(figure, badge));
    let (font, color) = (FontId::proportional(10.5), theme::current(ui).text_weak);
    ui.painter().layout(text, font, color, width - 20.0)
}

/// A card: one number, its target and its denominator.
fn card_ui(ui: &mut Ui, figure: &KeyFigure, badge: Option<&str>, size: Vec2) {
    let theme = theme::current(ui);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let value = figure.text(number).unwrap_or_else(|| "–".to_owned());
    response.labeled(Role::Label, format_args!("{}: {value}", figure.title));
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 5.0, theme.raised);
    let color = if figure.value.is_some() {
        theme.text_strong
    } else {
        theme.text_weak
    };
    let (align, left) = (Align2::LEFT_CENTER, rect.left_top() + vec2(10.0, 0.0));
    painter.text(
        left + vec2(0.0, 15.0),
        align,
        &value,
        FontId::proportional(17.0),
        color,
    );
    let (font, room) = (small_font(), rect.width() - 20.0);
    elided(
        &painter,
        left + vec2(0.0, 34.0),
        align,
        figure.title,
        room,
        &font,
        theme.text,
    );
    let remark = remark_of(ui, figure, badge, size.x);
    painter.galley(rect.left_top() + vec2(10.0, 45.0), remark, theme.text_weak);
    if figure.unit == Unit::Percent {
        gauge(&painter, rect, figure, theme);
    }
    text_menu(&response, || {
        format!("{}: {value}\n{}", figure.title, about(figure).join("\n"))
    });
    response.on_hover_ui(|ui| {
        ui.strong(figure.title);
        for line in about(figure) {
            ui.label(line);
        }
    });
}

/// Denominator, provenance and target of the number.
fn about(figure: &KeyFigure) -> Vec<String> {
    let of = (!figure.of.is_empty()).then(|| format!("of {}", figure.of));
    let target = figure.target.as_ref().map(|target| {
        let mark = if target.is_judged() {
            " (the mark)"
        } else {
            ""
        };
        format!("target: {}{mark}, {}", target.goal(), target.light.title())
    });
    let lines = of
        .into_iter()
        .chain([times::provenance(figure.provenance)])
        .chain(target);
    let note = figure.note.as_deref().map(with_controls);
    lines.chain(note.map(Cow::into_owned)).collect()
}

/// The share as a line along the lower edge, with a mark at the target.
fn gauge(painter: &Painter, rect: Rect, figure: &KeyFigure, theme: &Theme) {
    let Some(value) = figure.bar() else { return };
    let x_of = |percent: f64| rect.left() + rect.width() * (percent / 100.0).clamp(0.0, 1.0) as f32;
    let missed = figure.target.as_ref().is_some_and(Target::is_missed);
    let color = if missed { theme.warning } else { theme.accent };
    let track = Rect::from_min_max(rect.left_bottom() - vec2(0.0, 4.0), rect.right_bottom());
    painter.rect_filled(track, 0.0, theme.edge.gamma_multiply(0.6));
    painter.rect_filled(track.with_max_x(x_of(value)), 0.0, color);
    if let Some(mark) = figure.mark() {
        let stroke = Stroke::new(2.0, theme.text_strong);
        painter.vline(x_of(mark), track.top() - 3.0..=track.bottom(), stroke);
    }
}
