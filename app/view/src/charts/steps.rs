//! Step times as bars, stacked by part.

use crate::prelude::*;
use analysis::facts::Step;
use analysis::reports::{DividedStep, StepPart, StepPartsReport};

use super::stacked_bar::{StackedBar, outline, role_of};
use super::{Chart, ChartFrame, ChartSwatch};
use crate::drawing::{
    Anchor, ColorRole, Drawing, Ink, PlotArea, PlotRange, neighbours_per_label, width_of,
};

/// How much of the colour of steps that no statistics include differs from the ground.
const PALE: f32 = 0.45;

/// The steps of a trace; of many steps, a bar is the mean of several, with a line for the longest. A single step is
/// a horizontal bar.
pub struct StepsChart<'a> {
    pub bars: &'a StepBars,
    pub median_ps: Option<f64>,
}

/// What a title says of all steps.
pub fn title(report: &StepsReport, frame: &ChartFrame) -> String {
    let note = |time: &analysis::math::stats::Stats| {
        let steps = counted(time.count as u64, "step");
        format!(": median {} of {steps}", frame.time(time.median as i64))
    };
    report.time.as_ref().map_or_else(String::new, note)
}

impl StepsChart<'_> {
    fn area(&self, frame: &ChartFrame) -> PlotArea {
        let left = 7.0 * frame.font;
        let height = frame.height - 2.5 * frame.font - 6.0;
        // Above the highest bar there is room for the times of those that are cut.
        let above = 1.0 + f64::from(1.6 * frame.font / height.max(1.0));
        PlotArea {
            left,
            top: 6.0,
            width: frame.width - left - 12.0,
            height,
            range: PlotRange {
                x: (0.0, self.bars.bars.len().max(1) as f64),
                y: (0.0, self.bars.cut_ps as f64 * above),
            },
            font: frame.font,
        }
    }

    fn bar(&self, drawing: &mut Drawing, area: &PlotArea, frame: &ChartFrame, index: usize) {
        let Some(bar) = self.bars.bars.get(index) else {
            return;
        };
        let cut = self.bars.cut_ps;
        let (slot, time) = (
            area.width / self.bars.bars.len() as f32,
            frame.time(bar.time_ps),
        );
        let (x, width) = span_of_bar(area, slot, index);
        let y_of = |ps: i64| area.y_of(ps.min(cut) as f64);
        let share = if bar.is_counted { 1.0 } else { PALE };
        let mut part = |from: i64, to: i64, role: ColorRole, title: &dyn Fn() -> String| {
            let (top, height) = (y_of(to), y_of(from) - y_of(to));
            if height > 0.05 {
                let fill = Ink::from(role).over(ColorRole::Panel, share);
                drawing.rect(x, top, width, height, fill, &frame.titled(title));
                outline(drawing, role, (x, top), (width, height));
            }
        };
        if bar.parts.is_empty() {
            part(0, bar.time_ps, ColorRole::Accent, &|| {
                format!("{}: {time}", bar.title())
            });
        }
        let mut from = 0_i64;
        for &(step_part, ps) in &bar.parts {
            let to = from.saturating_add(ps);
            part(from, to, role_of(step_part), &|| {
                let (name, part_title, ps) = (bar.title(), step_part.title(), frame.time(ps));
                format!("{name} ({time}): {part_title} {ps}")
            });
            from = to;
        }
        let (number, ps) = bar.longest;
        if bar.steps.0 < bar.steps.1 {
            let title = frame.titled(|| format!("step {number}, the longest: {}", frame.time(ps)));
            drawing.rect(x, y_of(ps), width, 1.0, ColorRole::TextWeak, &title);
        }
        if bar.time_ps > cut {
            let (middle, y) = (x + width / 2.0, area.top + 0.8 * area.font);
            let text = format!("↑ {time}");
            drawing.text(
                middle,
                y,
                Anchor::Middle,
                area.font,
                ColorRole::Warning,
                &text,
            );
        }
        drawing.hit(area.x_of(index as f64), area.top, slot, area.height, index);
    }
}

impl Chart for StepsChart<'_> {
    fn legend(&self, frame: &ChartFrame) -> Vec<ChartSwatch> {
        if let [only] = &self.bars.bars[..] {
            return only.divided().legend(frame);
        }
        let occurs = |part: &StepPart| {
            let mut parts = self.bars.bars.iter().flat_map(|bar| &bar.parts);
            parts.any(|(other, _)| other == part)
        };
        StepPart::ALL
            .into_iter()
            .filter(occurs)
            .map(|part| ChartSwatch::new(role_of(part), part.title()))
            .collect()
    }

    fn draw(&self, frame: &ChartFrame) -> Drawing {
        if let [only] = &self.bars.bars[..] {
            return only.draw(frame);
        }
        let area = self.area(frame);
        let mut drawing = Drawing::new(frame.width, frame.height, ColorRole::Panel);
        let cut = self.bars.cut_ps;
        let mark = round_mark(cut, (area.height / 45.0).clamp(2.0, 4.0) as i64);
        let text = |ps: i64| frame.times.tick(Picos::from_ps(ps), Picos::from_ps(mark));
        let marks = (0..=cut / mark).map(|mark_number| (mark_number * mark) as f64);
        area.y_marks(&mut drawing, marks.map(|ps| (ps, text(ps as i64))));
        let last = self.bars.bars.last().map_or(0, |bar| bar.steps.0);
        let room = width_of(&format!("{last} "), frame.font);
        let slot = area.width / self.bars.bars.len().max(1) as f32;
        let numbers = self
            .bars
            .bars
            .iter()
            .enumerate()
            .step_by(neighbours_per_label(slot, room))
            .map(|(index, bar)| (index as f64 + 0.5, bar.steps.0.to_string()));
        area.x_marks(&mut drawing, numbers);
        for index in 0..self.bars.bars.len() {
            self.bar(&mut drawing, &area, frame, index);
        }
        if let Some(median) = self.median_ps {
            let y = area.y_of(median);
            drawing.dashed_line((area.left, y), (area.right(), y), ColorRole::TextWeak);
        }
        drawing
    }
}

/// Left edge and width of a bar, at whole points with gaps of one width: others would be drawn wider here than there, which
/// looks like a change of the steps. Narrow bars have no gaps.
fn span_of_bar(area: &PlotArea, slot: f32, index: usize) -> (f32, f32) {
    const NARROW: f32 = 6.0;
    if slot < NARROW {
        return (area.x_of(index as f64), slot);
    }
    let gap = (0.14 * slot).round();
    let [left, right] = [index, index + 1].map(|index| area.x_of(index as f64).round());
    (left + (gap / 2.0).floor(), right - left - gap)
}

/// Distance of the marks of an axis: at most so many, at round numbers.
fn round_mark(top: i64, most: i64) -> i64 {
    let mut power = 1_i64;
    loop {
        for step in [1, 2, 5] {
            let step = power.saturating_mul(step);
            if step.saturating_mul(most) >= top || step == i64::MAX {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// A step as a bar, or the mean of several.
#[derive(Clone, Debug)]
pub struct StepBar {
    /// The first and the last step.
    pub steps: (u32, u32),
    /// The mean time, in picoseconds.
    pub time_ps: i64,
    /// The number of the longest step, and its time.
    pub longest: (u32, i64),
    /// Mean parts on the slowest core of each step, from the bottom; empty if unknown.
    pub parts: Vec<(StepPart, i64)>,
    /// Whether the statistics include one of them.
    pub is_counted: bool,
}

impl StepBar {
    pub fn title(&self) -> String {
        match self.steps {
            (first, last) if first == last => format!("Step {first}"),
            (first, last) => format!("Steps {first} to {last}, mean"),
        }
    }

    /// A single step as a bar; in a picture there is room for what it is.
    fn draw(&self, frame: &ChartFrame) -> Drawing {
        const HEIGHT: f32 = 40.0;
        const LEFT: f32 = 12.0;
        if frame.height < 2.0 * HEIGHT {
            return self.divided().draw(frame);
        }
        let mut drawing = Drawing::new(frame.width, frame.height, ColorRole::Panel);
        let bar = ChartFrame {
            width: frame.width - 2.0 * LEFT,
            height: HEIGHT,
            ..*frame
        };
        self.divided().draw_at(&mut drawing, (LEFT, 0.0), &bar);
        let (number, time) = (self.longest.0, frame.time(self.time_ps));
        let about = format!("step {number}: {time}, on the core that took longest");
        let (y, color) = (HEIGHT + 20.0, ColorRole::TextWeak);
        drawing.fitted(LEFT, y, bar.width, frame.font, color, &about);
        drawing
    }

    /// The parts of a single step.
    fn divided(&self) -> StackedBar {
        let bar = StackedBar::of_step(&self.parts, self.time_ps);
        if self.parts.is_empty() {
            let parts = vec![(ColorRole::Accent, "whole step", self.time_ps)];
            return StackedBar { parts, ..bar };
        }
        bar
    }
}

/// Maximum number of bars.
const MOST_BARS: usize = 400;

#[derive(Debug, Default)]
pub struct StepBars {
    /// In time order.
    pub bars: Vec<StepBar>,
    /// Height at which bars are cut, so that one compiling step does not flatten all others.
    pub cut_ps: i64,
    /// Number of steps per bar.
    pub each: usize,
}

impl StepBars {
    /// One bar for each of some steps, without parts.
    pub fn of_times(times: impl Iterator<Item = (u32, i64)>) -> Self {
        let bars = times.map(|(number, ps)| StepBar {
            steps: (number, number),
            time_ps: ps,
            longest: (number, ps),
            parts: Vec::new(),
            is_counted: true,
        });
        let bars: Vec<StepBar> = bars.collect();
        let cut_ps = bars.iter().map(|bar| bar.time_ps).max();
        Self {
            cut_ps: cut_ps.unwrap_or(1).max(1),
            bars,
            each: 1,
        }
    }

    /// From all steps, with the parts where known.
    pub fn new(steps: &StepsReport, divided: Option<&StepPartsReport>) -> Self {
        let parts: BTreeMap<u32, &DividedStep> = divided
            .map_or(&[][..], |report| &report.steps)
            .iter()
            .map(|step| (step.step, step))
            .collect();
        let each = steps.steps.len().div_ceil(MOST_BARS).max(1);
        let bar = |chunk: &[Step]| {
            let longest = chunk.iter().max_by_key(|step| step.time_ps)?;
            let mean = |time: &dyn Fn(&Step) -> Option<i64>| {
                let sum = chunk
                    .iter()
                    .map(time)
                    .try_fold(0_i64, |sum, time| Some(sum.saturating_add(time?)))?;
                Some((sum as f64 / chunk.len() as f64).round() as i64)
            };
            let of_part = |part: StepPart, step: &Step| {
                Some(parts.get(&step.number)?.critical()?.parts.get(part).ps())
            };
            let by_part = StepPart::ALL
                .into_iter()
                .filter_map(|part| Some((part, mean(&|step| of_part(part, step))?)));
            Some(StepBar {
                steps: (chunk.first()?.number, chunk.last()?.number),
                time_ps: mean(&|step| Some(step.time_ps.ps()))?,
                longest: (longest.number, longest.time_ps.ps()),
                parts: by_part.filter(|&(_, ps)| ps > 0).collect(),
                is_counted: chunk
                    .iter()
                    .any(|step| !(step.is_partial || step.is_warmup)),
            })
        };
        let bars: Vec<StepBar> = steps.steps.chunks(each).filter_map(bar).collect();
        let highest = |counted: bool| {
            bars.iter()
                .filter(|bar| bar.is_counted || !counted)
                .map(|bar| bar.time_ps)
                .max()
        };
        let cut = highest(true).map_or(i64::MAX, |ps| ps.saturating_mul(2));
        let cut_ps = cut.min(highest(false).unwrap_or(1)).max(1);
        Self { bars, cut_ps, each }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_marks_are_few_round_numbers() {
        for top in [1, 9_700_000_000, 58_690_000_000, 1_000_000_000_000] {
            let count = top / round_mark(top, 3);
            assert!((1..=3).contains(&count), "{top}: {count}");
        }
        assert_eq!(round_mark(58_690_000_000, 3), 20_000_000_000);
    }

    #[test]
    fn gaps_between_bars_have_one_width() {
        let gaps = |width: f32| {
            let area = PlotArea {
                left: 77.0,
                top: 6.0,
                width,
                height: 100.0,
                range: PlotRange {
                    x: (0.0, 99.0),
                    y: (0.0, 1.0),
                },
                font: 11.0,
            };
            let spans: Vec<_> = (0..99)
                .map(|at| span_of_bar(&area, width / 99.0, at))
                .collect();
            let gap = |pair: &[(f32, f32)]| pair[1].0 - pair[0].0 - pair[0].1;
            spans.windows(2).map(gap).collect::<Vec<f32>>()
        };
        assert!(gaps(301.0).iter().all(|gap| gap.abs() < 0.01));
        assert!(gaps(700.0).iter().all(|gap| (gap - 1.0).abs() < 0.01));
        assert!(gaps(1_900.0).iter().all(|gap| (gap - 3.0).abs() < 0.01));
    }
}
