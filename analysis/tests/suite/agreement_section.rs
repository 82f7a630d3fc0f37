//! The lines of one capture in the table of agreement.

use std::fmt::Write as _;

/// Counts as equal.
pub(super) const CLOSE: f64 = 1e-3;

/// One capture's lines.
pub(super) struct Section {
    pub(super) text: String,
    pub(super) equal: usize,
    pub(super) explained: usize,
}

impl Section {
    pub(super) fn new(capture: &str, about: &str) -> Self {
        let head = "| number | XProf | here | |\n|---|---:|---:|---|\n";
        Self {
            text: format!("\n## {capture}\n\n{about}\n\n{head}"),
            equal: 0,
            explained: 0,
        }
    }

    /// One number; `printed` is half of the last digit where `XProf` prints few.
    pub(super) fn number(
        &mut self,
        name: &str,
        theirs: Option<f64>,
        ours: Option<f64>,
        printed: f64,
        why: &str,
    ) {
        if theirs.is_none() && ours.is_none() {
            return;
        }
        let close =
            |a: f64, b: f64| (a - b).abs() <= (CLOSE * a.abs().max(b.abs())).max(printed * 1.001);
        let equal = match (theirs, ours) {
            (Some(theirs), Some(ours)) => close(theirs, ours),
            _ => false,
        };
        self.line(name, &shown(theirs), &shown(ours), equal, why);
    }

    pub(super) fn texts(&mut self, name: &str, theirs: &str, ours: &str, why: &str) {
        self.line(name, theirs, ours, theirs == ours, why);
    }

    fn line(&mut self, name: &str, theirs: &str, ours: &str, equal: bool, why: &str) {
        assert!(
            equal || !why.is_empty(),
            "{}\n{name}: XProf {theirs}, here {ours}, and no reason",
            self.text
        );
        let remark = if equal { "=" } else { why };
        let _ = writeln!(self.text, "| {name} | {theirs} | {ours} | {remark} |");
        if equal {
            self.equal += 1;
        } else {
            self.explained += 1;
        }
    }
}

/// Six digits are more than the tolerance needs, and hide rounding of sums.
fn shown(value: Option<f64>) -> String {
    let Some(value) = value else {
        return "–".to_owned();
    };
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
