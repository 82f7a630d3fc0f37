//! Where the time of a step goes, as one bar.

use crate::prelude::*;
use analysis::facts::TimeUse;
use analysis::hints::{LoopLimit, TimePart};

use view::overview::share;

const INDENT: usize = 2;
const MAX_BAR: usize = 60;

/// The fill character of each use and its colour, because pipes have no colour.
fn fill(id: TimeUse) -> (char, usize) {
    match id {
        TimeUse::MatMul => ('█', 0),
        TimeUse::Vector => ('▓', 4),
        TimeUse::DataMovement => ('▒', 5),
        TimeUse::CustomKernel => ('#', 0),
        TimeUse::Collective => ('=', 1),
        TimeUse::AsyncWait => ('~', 2),
        TimeUse::HostIo => ('h', 2),
        TimeUse::SparseCore => ('s', 4),
        TimeUse::Control => ('c', 5),
        TimeUse::Other | TimeUse::SlowSteps => ('?', 5),
        TimeUse::Idle => ('·', 3),
        TimeUse::Input => ('i', 3),
        // A bar has one of them at most.
        TimeUse::Compile | TimeUse::Upload | TimeUse::Results | TimeUse::Launch => (':', 3),
    }
}

/// What the bar shows: `A step, 11.74 ms`.
pub fn title(limit: &LoopLimit) -> String {
    let what = match limit.of {
        "device time" => "Time of a device",
        "the mean step" => "The mean step",
        _ => "A step",
    };
    format!("{what}, {}", Picos::rounded(limit.of_ps))
}

/// `matrix products 28.9 %`
pub fn in_words(part: &TimePart, parts: &[TimePart], whole_ps: f64) -> String {
    let share = share(Picos::rounded(part.time_ps), Picos::rounded(whole_ps));
    format!("{} {share}", part.title_among(parts))
}

/// The bar and its legend: a step on a device.
pub fn of_step(limit: &LoopLimit, layout: &TextLayout) -> String {
    let title = title(limit);
    let head = format!("{}  ", layout.style.bold(&title));
    let width = layout
        .width
        .saturating_sub(title.width() + INDENT)
        .min(MAX_BAR);
    format!(
        "{head}{}\n{}",
        bar(&limit.parts, width, layout),
        legend(&limit.parts, limit.of_ps, layout)
    )
}

/// Number of cells of each part by the largest-remainder method: tiny parts may get none, and the sum is the width.
fn bar(parts: &[TimePart], width: usize, layout: &TextLayout) -> String {
    let total: f64 = parts.iter().map(|part| part.time_ps).sum();
    if total <= 0.0 {
        return " ".repeat(width);
    }
    let exact: Vec<f64> = parts
        .iter()
        .map(|part| part.time_ps * width as f64 / total)
        .collect();
    let mut cells: Vec<usize> = exact.iter().map(|&cells| cells as usize).collect();
    let mut by_remainder: Vec<usize> = (0..parts.len()).collect();
    by_remainder.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
    let missing = width.saturating_sub(cells.iter().sum());
    for &index in by_remainder.iter().take(missing) {
        cells[index] += 1;
    }
    let painted = parts.iter().zip(cells).map(|(part, cells)| {
        let (glyph, color) = fill(part.id);
        layout.style.part(color, &glyph.to_string().repeat(cells))
    });
    painted.collect()
}

fn legend(parts: &[TimePart], whole: f64, layout: &TextLayout) -> String {
    let mut text = String::new();
    let mut used = layout.width;
    for part in parts {
        let (glyph, color) = fill(part.id);
        let words = in_words(part, parts, whole);
        let len = words.width() + 5;
        if used + len > layout.width {
            text += if text.is_empty() { " " } else { "\n " };
            used = INDENT;
        }
        let _ = write!(
            text,
            " {} {words}  ",
            layout.style.part(color, &glyph.to_string())
        );
        used += len;
    }
    joined(text.lines().map(str::trim_end), "\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnsiStyle;

    const LAYOUT: TextLayout = TextLayout {
        width: 100,
        top: 10,
        entries: 0,
        style: AnsiStyle::PLAIN,
    };

    fn parts<const N: usize>(parts: [(TimeUse, f64); N]) -> [TimePart; N] {
        parts.map(|(id, time_ps)| TimePart {
            id,
            time_ps,
            in_ops_ps: 0.0,
        })
    }

    #[test]
    fn bar_has_exact_width_and_proportions() {
        let shares = parts([
            (TimeUse::MatMul, 10.0),
            (TimeUse::AsyncWait, 70.0),
            (TimeUse::Idle, 20.0),
        ]);
        assert_eq!(bar(&shares, 10, &LAYOUT), "█~~~~~~~··");
        let thirds = parts([
            (TimeUse::MatMul, 1.0),
            (TimeUse::Vector, 1.0),
            (TimeUse::Idle, 1.0),
        ]);
        for width in 1..50 {
            assert_eq!(bar(&thirds, width, &LAYOUT).chars().count(), width);
        }
    }

    #[test]
    fn legend_never_rounds_nonzero_to_zero() {
        let shares = parts([(TimeUse::AsyncWait, 9_999.0), (TimeUse::MatMul, 1.0)]);
        assert_eq!(
            legend(&shares, 10_000.0, &LAYOUT),
            "  ~ waiting for copies 99.99 %   █ matrix products <0.1 %\n"
        );
    }
}
