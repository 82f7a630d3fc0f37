//! The text of a program, with the time of each line beside it.

use crate::panels::tabs::prelude::*;
use analysis::reports::hlo::ProgramListing;

use crate::panels::timed_lines::{TimedLine, timed_lines_ui};

/// The text of a program; returns name and ops of the line that was clicked.
pub(super) fn text_ui(
    ui: &mut Ui,
    text: &ProgramListing,
    center: Option<&str>,
    sums: Option<&str>,
) -> Option<(String, Vec<OpId>)> {
    let id = ui.scope_id().with("program text filter");
    let mut filter = kept::<String>(ui, id).unwrap_or_default();
    ui.horizontal_wrapped(|ui| {
        text_field(ui, &mut filter, "Filter lines", "Lines that contain", 190.0);
        let known = text.self_time_ps.map_or_else(String::new, |ps| {
            let sums = sums.unwrap_or("on all devices");
            format!(" · self {}; times are {sums}", time(ps))
        });
        remark_ui(ui, &format!("{} lines{known}", text.lines.len()));
    });
    keep(ui, id, filter.clone());
    for note in &text.notes {
        ui.label(remark(note));
    }
    let wanted = filter.to_lowercase();
    let lines: Vec<usize> = match wanted.as_str() {
        "" => (0..text.lines.len()).collect(),
        wanted => {
            let holds = |line: &str| line.to_lowercase().contains(wanted);
            text.lines
                .iter()
                .enumerate()
                .filter(|(_, line)| holds(&line.text))
                .map(|(index, _)| index)
                .collect()
        }
    };
    let longest = text
        .lines
        .iter()
        .filter_map(|line| line.self_time_ps)
        .max()
        .unwrap_or_default()
        .ps()
        .max(1) as f32;
    let letters = text.lines.iter().map(|line| line.text.len()).max();
    let size = (lines.len(), letters.unwrap_or(0));
    let line_at = |index: usize| text.lines.get(*lines.get(index)?);
    let clicked = timed_lines_ui(ui, "program text", size, None, |index| {
        let Some(line) = line_at(index) else {
            return TimedLine::default();
        };
        let name = line.instruction.as_deref();
        TimedLine {
            text: &line.text,
            time: line
                .self_time_ps
                .map(|time| (time, time.ps() as f32 / longest)),
            is_shown: name.is_some() && name == center,
            label: name.map(|name| format!("Line of {name}")),
            ..TimedLine::default()
        }
    });
    let line = clicked.and_then(line_at)?;
    Some((line.instruction.as_deref()?.to_owned(), line.ops.clone()))
}
