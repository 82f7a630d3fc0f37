//! The time of each device by category, as bars.

use std::fmt::Write as _;

use analysis::facts::category::OpGroup;
use analysis::reports::summary::utilization::Utilization;
use analysis::{Scope, Unit};
use trace_model::Picos;
use unicode_width::UnicodeWidthStr as _;

use crate::layout::padded;
use crate::table::shortened;
use crate::{Document, TextLayout};
use session::number;
use view::overview::{DeviceBar, DeviceTime, share, sum};

/// Before each line.
const INDENT: usize = 2;
const NAME: usize = 14;
/// Width reserved for the length of the window and a remark.
const AFTER: usize = 25;
const MAX_BAR: usize = 60;
/// Maximum number of devices with a bar each; with more, the mean and the devices with the most and the least work.
const MAX_DEVICES: usize = 4;

/// The fill character of each category, because pipes have no colour.
fn fill(group: OpGroup) -> (char, usize) {
    match group {
        OpGroup::MatMul => ('█', 0),
        OpGroup::Vector => ('▓', 4),
        OpGroup::DataMovement => ('▒', 5),
        OpGroup::CustomKernel => ('#', 0),
        OpGroup::Collective => ('=', 1),
        OpGroup::AsyncWait => ('~', 2),
        OpGroup::HostIo => ('h', 2),
        OpGroup::SparseCore => ('s', 4),
        OpGroup::Control => ('c', 5),
        OpGroup::Other => ('?', 5),
        OpGroup::Idle => ('·', 3),
    }
}

/// The bars and their legend; nothing without devices.
pub fn breakdown(document: &Document, time: &DeviceTime, layout: &TextLayout) -> String {
    let devices: Vec<&DeviceBar> = time
        .devices
        .iter()
        .filter(|device| device.window_ps > Picos::ZERO)
        .collect();
    let mut text = layout.lines(0, &heading(document), |line| layout.style.bold(line));
    for (name, devices) in rows(&devices) {
        let width = layout
            .width
            .saturating_sub(INDENT + NAME + AFTER)
            .min(MAX_BAR);
        let bar = bar(&sum(devices.iter().copied()), width, layout);
        let mean = devices
            .iter()
            .map(|device| device.window_ps)
            .sum::<Picos>()
            .ps()
            / devices.len().max(1) as i64;
        let remark = if let [device] = devices[..] {
            device.remark
        } else {
            None
        };
        let _ = writeln!(
            text,
            "  {}{bar}  {}{}",
            padded(&shortened(&name, NAME - 1), NAME),
            layout.style.dim(&Picos::from_ps(mean).to_string()),
            remark.map_or_else(String::new, |remark| format!("  {remark}")),
        );
    }
    text.push_str(&legend(&time.parts, time.total_ps, layout));
    text
}

/// Heading of the bars, with the share of the capture that they cover.
fn heading(document: &Document) -> String {
    match document.scope {
        Scope::WholeTrace => {
            let report = document.session.report::<Utilization>(document.scope).ok();
            let covered = report
                .as_ref()
                .and_then(|report| report.metric("window_of_capture_percent"));
            let covered = covered.and_then(|metric| {
                let whole = metric.of.split([' ', ',']).next().unwrap_or_default();
                Some(format!(
                    " ({} of the {whole})",
                    number::value(metric.value?, Unit::Percent)
                ))
            });
            format!(
                "Time of each device, first op to last{}",
                covered.unwrap_or_default()
            )
        }
        Scope::Range(_) => "Time of each device in the range".to_owned(),
        Scope::Steps { .. } => "Time of each device in these steps".to_owned(),
    }
}

fn rows<'a>(devices: &[&'a DeviceBar]) -> Vec<(String, Vec<&'a DeviceBar>)> {
    // Without `/device:` where that does not fit.
    let name = |device: &DeviceBar| {
        if device.name.chars().count() < NAME {
            device.name.clone()
        } else {
            device.short_name().to_owned()
        }
    };
    if devices.len() <= MAX_DEVICES {
        return devices
            .iter()
            .map(|&device| (name(device), vec![device]))
            .collect();
    }
    // Collectives make all devices equally busy, so they are compared by work.
    let by_work = |device: &&&DeviceBar| (device.work_ps, std::cmp::Reverse(device.ordinal));
    let ends = [
        devices.iter().max_by_key(by_work),
        devices.iter().min_by_key(by_work),
    ]
    .into_iter()
    .flatten();
    let ends = ends.map(|&device| (name(device), vec![device]));
    std::iter::once((format!("mean of {}", devices.len()), devices.to_vec()))
        .chain(ends)
        .collect()
}

/// Number of cells of each part by the largest-remainder method: tiny parts may get none, and the sum is the width.
fn bar(parts: &[(OpGroup, Picos)], width: usize, layout: &TextLayout) -> String {
    let total = parts.iter().map(|&(_, time)| time).sum::<Picos>().ps();
    if total <= 0 {
        return " ".repeat(width);
    }
    let exact = |time: Picos| time.ps() as f64 * width as f64 / total as f64;
    let mut cells: Vec<usize> = parts
        .iter()
        .map(|&(_, time)| exact(time) as usize)
        .collect();
    let mut by_remainder: Vec<usize> = (0..parts.len()).collect();
    by_remainder.sort_by(|&a, &b| {
        exact(parts[b].1)
            .fract()
            .total_cmp(&exact(parts[a].1).fract())
    });
    let missing = width.saturating_sub(cells.iter().sum());
    for &index in by_remainder.iter().take(missing) {
        cells[index] += 1;
    }
    let painted = parts.iter().zip(cells).map(|(&(group, _), cells)| {
        let (glyph, color) = fill(group);
        layout.style.part(color, &glyph.to_string().repeat(cells))
    });
    painted.collect()
}

fn legend(parts: &[(OpGroup, Picos)], total: Picos, layout: &TextLayout) -> String {
    let mut text = String::new();
    let mut used = layout.width;
    for &(group, time) in parts {
        let (glyph, color) = fill(group);
        let words = format!("{} {}", group.title(), share(time, total));
        let len = words.width() + 5;
        if used + len > layout.width {
            text.push_str(if text.is_empty() { " " } else { "\n " });
            used = INDENT;
        }
        let _ = write!(
            text,
            " {} {words}  ",
            layout.style.part(color, &glyph.to_string())
        );
        used += len;
    }
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
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

    fn times((group, ps): (OpGroup, i64)) -> (OpGroup, Picos) {
        (group, Picos::from_ps(ps))
    }

    #[test]
    fn bar_has_exact_width_and_proportions() {
        let parts = [
            (OpGroup::MatMul, 10),
            (OpGroup::AsyncWait, 70),
            (OpGroup::Idle, 20),
        ]
        .map(times);
        assert_eq!(bar(&parts, 10, &LAYOUT), "█~~~~~~~··");
        for width in 1..50 {
            let thirds = [
                (OpGroup::MatMul, 1),
                (OpGroup::Vector, 1),
                (OpGroup::Idle, 1),
            ]
            .map(times);
            assert_eq!(bar(&thirds, width, &LAYOUT).chars().count(), width);
        }
    }

    #[test]
    fn legend_never_rounds_nonzero_to_zero() {
        let parts = [(OpGroup::AsyncWait, 9_999), (OpGroup::MatMul, 1)].map(times);
        assert_eq!(
            legend(&parts, Picos::from_ps(10_000), &LAYOUT),
            "  ~ Copy wait 99.99 %   █ Matmul <0.1 %\n"
        );
    }
}
