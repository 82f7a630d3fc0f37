//! Step times as bars, stacked by part.

use analysis::reports::steps::step_parts::{StepPart, StepParts};
use analysis::reports::steps::step_times::Steps;
use analysis::{Percent, Scope};
use trace_model::Picos;

use super::PictureStyle;
use super::drawing::{Anchor, Drawing, width_of};
use session::number::counted;
use view::timeline::bands::{StepBar, StepBars, group_of};
use view::timeline::trace::OpenTrace;

/// Space for the axis.
const LEFT: f32 = 76.0;
/// Space for title and legend.
const TOP: f32 = 58.0;
/// Space below the bars.
const BOTTOM: f32 = 30.0;

/// The steps of a trace; of many steps, a bar is the mean of several, with a line for the longest. The error explains why there are none.
#[expect(
    clippy::too_many_lines,
    reason = "the parts of a picture, from back to front"
)]
pub fn steps(trace: &OpenTrace, look: PictureStyle) -> Result<Drawing, String> {
    let report = trace
        .session
        .report::<Steps>(Scope::WholeTrace)
        .map_err(|error| error.to_string())?;
    if report.steps.is_empty() {
        return Err(report.why.join("; "));
    }
    let divided = trace.session.report::<StepParts>(Scope::WholeTrace).ok();
    let StepBars { bars, cut, .. } = StepBars::new(&report, divided.as_deref());
    let palette = look.palette();
    let text = |time: Picos| look.times.text(time);
    let mut drawing = Drawing::new(look.width, look.height, palette.panel);
    let note = report.time.as_ref().map_or_else(String::new, |time| {
        format!(
            ": median {} of {}",
            text(Picos::from_ps(time.median as i64)),
            counted(time.count as u64, "step")
        )
    });
    drawing.fitted(
        12.0,
        18.0,
        look.width - 24.0,
        13.0,
        palette.text_strong,
        &format!("{}{note}", trace.title()),
    );
    let mut x = LEFT;
    for part in StepPart::ALL {
        if bars.len() > 1
            && bars
                .iter()
                .any(|bar| bar.parts.iter().any(|&(other, _)| other == part))
        {
            drawing.rect(x, 34.0, 10.0, 10.0, palette.group(group_of(part)), "");
            drawing.text(
                x + 15.0,
                39.0,
                Anchor::Start,
                11.0,
                palette.text_weak,
                part.title(),
            );
            x += 29.0 + width_of(part.title(), 11.0);
        }
    }
    if let [only] = &bars[..] {
        one_step(&mut drawing, only, look);
        return Ok(drawing);
    }
    let (height, width) = (look.height - TOP - BOTTOM, look.width - LEFT - 12.0);
    let base = TOP + height;
    let y_of =
        |time: Picos| base - (time.min(cut).ps() as f64 / (cut.ps() as f64 * 1.06)) as f32 * height;
    let mark = round_mark(cut.ps());
    for i in 0..=cut.ps() / mark {
        let at = Picos::from_ps(i * mark);
        let y = y_of(at);
        drawing.line((LEFT, y), (LEFT + width, y), palette.edge, 0.6);
        drawing.text(
            LEFT - 8.0,
            y,
            Anchor::End,
            11.0,
            palette.text_weak,
            &text(at),
        );
    }
    let slot = width / bars.len() as f32;
    let every = bars.len().div_ceil(24);
    for (i, bar) in bars.iter().enumerate() {
        let (x, bar_width) = (LEFT + i as f32 * slot + slot * 0.07, slot * 0.86);
        let time = text(bar.time);
        if bar.parts.is_empty() {
            let top = y_of(bar.time);
            drawing.rect(
                x,
                top,
                bar_width,
                base - top,
                palette.accent,
                &format!("{}: {time}", bar.title()),
            );
        }
        let mut from = Picos::ZERO;
        for &(part, own) in &bar.parts {
            let to = from + own;
            let (top, bottom) = (y_of(to), y_of(from));
            let title = format!("{} ({time}): {} {}", bar.title(), part.title(), text(own));
            if bottom - top > 0.05 {
                drawing.rect(
                    x,
                    top,
                    bar_width,
                    bottom - top,
                    palette.group(group_of(part)),
                    &title,
                );
            }
            from = to;
        }
        if bar.steps.0 < bar.steps.1 {
            let title = format!(
                "step {}, the longest: {}",
                bar.longest.0,
                text(bar.longest.1)
            );
            drawing.rect(
                x,
                y_of(bar.longest.1),
                bar_width,
                1.0,
                palette.text_weak,
                &title,
            );
        }
        if bar.time > cut {
            drawing.text(
                x + bar_width / 2.0,
                TOP + 4.0,
                Anchor::Middle,
                10.0,
                palette.warning,
                &format!("↑ {time}"),
            );
        }
        if i % every == 0 {
            let number = bar.steps.0.to_string();
            drawing.text(
                x + bar_width / 2.0,
                base + 14.0,
                Anchor::Middle,
                11.0,
                palette.text_weak,
                &number,
            );
        }
    }
    Ok(drawing)
}

/// The only step as a horizontal bar of its parts, with their times.
fn one_step(drawing: &mut Drawing, bar: &StepBar, look: PictureStyle) {
    const LEFT: f32 = 12.0;
    const BAR: f32 = 40.0;
    /// Space between the bar and the lines below it, and their height.
    const LINE: f32 = 20.0;
    let palette = look.palette();
    let text = |time: Picos| look.times.text(time);
    let width = look.width - 2.0 * LEFT;
    let share = |own: Picos| {
        own.fraction_of(bar.time)
            .unwrap_or_default()
            .clamp(0.0, 1.0)
    };
    if bar.parts.is_empty() {
        drawing.rect(LEFT, TOP, width, BAR, palette.accent, &text(bar.time));
    }
    let (mut x, mut y) = (LEFT, TOP + BAR + LINE);
    for &(part, time) in &bar.parts {
        let own = width * share(time) as f32;
        let about = format!(
            "{} {}, {:.1}",
            part.title(),
            text(time),
            Percent(100.0 * share(time))
        );
        drawing.rect(x, TOP, own, BAR, palette.group(group_of(part)), &about);
        drawing.rect(LEFT, y - 5.0, 10.0, 10.0, palette.group(group_of(part)), "");
        drawing.fitted(LEFT + 16.0, y, width - 16.0, 11.0, palette.text, &about);
        x += own;
        y += LINE;
    }
    let about = format!(
        "step {}: {}, on the core that took longest",
        bar.longest.0,
        text(bar.time)
    );
    drawing.fitted(LEFT, y, width, 11.0, palette.text_weak, &about);
}

/// Distance of the axis' marks: three or four, at round numbers.
fn round_mark(top: i64) -> i64 {
    let mut power = 1_i64;
    loop {
        for step in [1, 2, 5] {
            let step = power.saturating_mul(step);
            if step.saturating_mul(4) >= top || step == i64::MAX {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}
