//! Where the time of each device goes, as bars.

use std::fmt::Write as _;

use analysis::facts::category::OpGroup;
use analysis::reports::ops::op_stats::{CoreOps, Ops};
use analysis::reports::steps::balance::{Balance, BalanceReport};
use analysis::reports::summary::utilization::Utilization;
use analysis::{Percent, Scope, Unit};
use trace_model::Picos;
use unicode_width::UnicodeWidthStr as _;

use super::super::table::{padded, shortened, wrapped};
use super::super::{Document, TextLayout};
use super::INDENT;
use crate::number;

const NAME: usize = 14;
/// Room for the length of the window and a remark.
const AFTER: usize = 25;
const MAX_BAR: usize = 60;
/// Devices with a bar of their own; of more, the mean and those that work most and least.
const MAX_DEVICES: usize = 4;

/// A fill for each group: colour alone would say nothing in a pipe.
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
pub fn breakdown(document: &Document, layout: &TextLayout) -> String {
    let Ok(report) = document.session.report::<Ops>(document.scope) else { return String::new() };
    let cores: Vec<&CoreOps> = report.cores.iter().filter(|core| core.total_time_ps > 0).collect();
    if cores.is_empty() {
        return String::new();
    }
    let balance = document.session.report::<Balance>(document.scope).ok();
    let heading = wrapped(&heading(document), layout.width).into_iter();
    let mut text: String = heading.map(|line| layout.style.bold(&line) + "\n").collect();
    for (name, cores) in rows(&cores) {
        let parts = parts(&cores);
        let width = layout.width.saturating_sub(INDENT + NAME + AFTER).min(MAX_BAR);
        let bar = bar(&parts, width, layout);
        let mean = cores.iter().map(|core| core.total_time_ps).sum::<Picos>().ps() / cores.len() as i64;
        let remark = match (&cores[..], &balance) {
            ([core], Some(balance)) => remark(&core.name, balance),
            _ => "",
        };
        let _ = writeln!(
            text,
            "  {}{bar}  {}{remark}",
            padded(&shortened(&name, NAME - 1), NAME),
            layout.style.dim(&Picos::from_ps(mean).to_string())
        );
    }
    text.push_str(&legend(&parts(&cores), layout));
    text
}

/// What stands out of a device, behind its bar.
fn remark(name: &str, balance: &BalanceReport) -> &'static str {
    let device = balance.devices.iter().find(|device| device.core == name);
    match device {
        Some(device) if device.is_straggler => "  straggler",
        Some(device) if device.is_unused => "  hardly used",
        _ => "",
    }
}

/// What the bars are of, and how much of the capture that is.
fn heading(document: &Document) -> String {
    match document.scope {
        Scope::WholeTrace => {
            let report = document.session.report::<Utilization>(document.scope).ok();
            let covered = report.as_ref().and_then(|report| report.metric("window_of_capture_percent")?.value);
            let covered = covered.map(|value| format!(" ({} of the capture)", number::value(value, Unit::Percent)));
            format!("Time of each device, first op to last{}", covered.unwrap_or_default())
        }
        Scope::Range(_) => "Time of each device in the range".to_owned(),
        Scope::Steps { .. } => "Time of each device in these steps".to_owned(),
    }
}

fn rows<'a>(cores: &[&'a CoreOps]) -> Vec<(String, Vec<&'a CoreOps>)> {
    if cores.len() <= MAX_DEVICES {
        return cores.iter().map(|&core| (name(core), vec![core])).collect();
    }
    // Collectives make all of them equally busy: work tells them apart.
    let by_work = |core: &&&CoreOps| (work(core), std::cmp::Reverse(core.ordinal));
    let mut rows = vec![(format!("mean of {}", cores.len()), cores.to_vec())];
    for core in [cores.iter().max_by_key(by_work), cores.iter().min_by_key(by_work)].into_iter().flatten() {
        rows.push((name(core), vec![core]));
    }
    rows
}

/// Time in ops that neither communicate nor wait.
fn work(core: &CoreOps) -> i64 {
    let waits = [OpGroup::Collective, OpGroup::AsyncWait, OpGroup::HostIo];
    let waiting = waits.map(|group| core.group_self(group).ps()).into_iter().fold(0, i64::saturating_add);
    core.busy_ps.saturating_sub(waiting)
}

/// Without `/device:` where that does not fit.
fn name(core: &CoreOps) -> String {
    let short = core.name.strip_prefix("/device:").filter(|_| core.name.chars().count() >= NAME);
    short.unwrap_or(&core.name).to_owned()
}

/// Time of each group and of idling.
fn parts(cores: &[&CoreOps]) -> Vec<(OpGroup, i64)> {
    OpGroup::ALL
        .into_iter()
        .map(|group| {
            let time = match group {
                OpGroup::Idle => cores.iter().map(|core| core.idle_ps).sum::<Picos>(),
                group => cores.iter().map(|core| core.group_self(group)).sum(),
            };
            (group, time.ps())
        })
        .filter(|&(_, time)| time > 0)
        .collect()
}

/// Cells by largest remainder: what is there but tiny may show no cell, and all
/// cells together are the whole.
fn bar(parts: &[(OpGroup, i64)], width: usize, layout: &TextLayout) -> String {
    let total = parts.iter().map(|&(_, time)| time).sum::<Picos>().ps();
    if total <= 0 {
        return " ".repeat(width);
    }
    let exact = |time: i64| time as f64 * width as f64 / total as f64;
    let mut cells: Vec<usize> = parts.iter().map(|&(_, time)| exact(time) as usize).collect();
    let mut by_remainder: Vec<usize> = (0..parts.len()).collect();
    by_remainder.sort_by(|&a, &b| exact(parts[b].1).fract().total_cmp(&exact(parts[a].1).fract()));
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

fn legend(parts: &[(OpGroup, i64)], layout: &TextLayout) -> String {
    let total = parts.iter().map(|&(_, time)| time).sum::<Picos>().ps();
    let mut sorted = parts.to_vec();
    sorted.sort_by_key(|&(group, time)| (std::cmp::Reverse(time), group));
    let mut text = String::new();
    let mut used = layout.width;
    for (group, time) in sorted {
        let (glyph, color) = fill(group);
        let percent = 100.0 * time as f64 / total.max(1) as f64;
        let share = if percent < 0.05 { "<0.1 %".to_owned() } else { format!("{:.1}", Percent(percent)) };
        let words = format!("{} {share}", group.title());
        let len = words.width() + 5;
        if used + len > layout.width {
            text.push_str(if text.is_empty() { " " } else { "\n " });
            used = INDENT;
        }
        let _ = write!(text, " {} {words}  ", layout.style.part(color, &glyph.to_string()));
        used += len;
    }
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::AnsiStyle;

    const LAYOUT: TextLayout = TextLayout { width: 100, top: 10, entries: 0, style: AnsiStyle::PLAIN };

    #[test]
    fn a_bar_has_exactly_its_width_and_the_right_proportions() {
        let parts = [(OpGroup::MatMul, 10), (OpGroup::AsyncWait, 70), (OpGroup::Idle, 20)];
        assert_eq!(bar(&parts, 10, &LAYOUT), "█~~~~~~~··");
        for width in 1..50 {
            let thirds = [(OpGroup::MatMul, 1), (OpGroup::Vector, 1), (OpGroup::Idle, 1)];
            assert_eq!(bar(&thirds, width, &LAYOUT).chars().count(), width);
        }
    }

    #[test]
    fn the_legend_is_sorted_and_never_rounds_something_to_nothing() {
        let parts = [(OpGroup::MatMul, 1), (OpGroup::AsyncWait, 9_999)];
        assert_eq!(legend(&parts, &LAYOUT), "  ~ Copy wait 99.99 %   █ Matmul / convolution <0.1 %\n");
    }
}
