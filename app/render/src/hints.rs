//! Hints as cards: the finding, the saving, the remedy.

use crate::prelude::*;
use analysis::counted;
use analysis::hints::{Confidence, Hint, HintSeverity, HintsReport, SavingBy};

/// Columns before the lines of a card.
const INDENT: usize = 5;
/// Minimum saving of a card on the first screen, as a percentage of the step.
const LEAST: Percent = Percent(0.5);
/// Heading of the cards.
const TITLE: &str = "What to do";
/// Number of ops named on a card.
const OPS_SHOWN: usize = 3;

/// At most `most` hints for a first screen, and how many more there are. Leaves out findings about data quality, which
/// such a screen shows elsewhere, and hints with tiny savings that only answer the verdict.
pub fn first(report: &HintsReport, most: usize) -> (Vec<&Hint>, usize) {
    let hints = report
        .hints
        .iter()
        .filter(|hint| hint.severity != HintSeverity::Health);
    let is_worth_a_card = |hint: &&Hint| hint.saving_percent.is_none_or(|share| share >= LEAST);
    let all = hints.clone().count();
    let shown: Vec<&Hint> = hints.filter(is_worth_a_card).take(most).collect();
    let more = all - shown.len();
    (shown, more)
}

/// The saving of a hint; `time` formats times.
pub fn worth(hint: &Hint, report: &HintsReport, time: impl Fn(Picos) -> String) -> String {
    if hint.severity == HintSeverity::Health {
        return "about the capture".to_owned();
    }
    match (hint.saving_ps, hint.saving_percent) {
        (Some(saving), Some(percent)) => {
            let whole = time(Picos::from_ps(report.step_ps as i64));
            let (a_step, of) = match (report.of.as_str(), report.is_above_median) {
                ("whole window", _) => ("", "the window,"),
                (_, true) => (" a step", "the mean step and what follows it,"),
                (_, false) => (" a step", ""),
            };
            let of = format!("{of} {whole}");
            let by = hint.saved_by.map(|by| format!(" with {by}"));
            format!(
                "saves at most {}{a_step} ({percent:.1} of {}){}",
                time(saving),
                of.trim(),
                by.unwrap_or_default()
            )
        }
        (Some(saving), None) => format!("saves at most {}", time(saving)),
        (None, _) => match hint.once_ps {
            Some(once) => format!("saves {} once, nothing per warm step", time(once)),
            None => "saving unknown".to_owned(),
        },
    }
}

/// The hints of a list that come `before` this one and are about the same time, so that savings are not added up.
pub fn shared(hint: &Hint, before: &[&Hint]) -> Option<String> {
    let others: Vec<&str> = before
        .iter()
        .map(|other| other.id)
        .filter(|id| hint.overlaps_with.contains(id))
        .collect();
    (!others.is_empty()).then(|| format!("shares its time with {}", joined(others, ", ")))
}

/// What a first screen says of a hint besides its title: the saving, what it shares its time with, the confidence.
pub fn facts(hint: &Hint, report: &HintsReport, before: &[&Hint]) -> String {
    let facts = [worth(hint, report, |time| time.to_string())].into_iter();
    let facts = facts.chain(shared(hint, before));
    joined(facts.chain(doubt(hint).map(str::to_owned)), ", ")
}

/// The confidence of a hint, unless it is high.
pub fn doubt(hint: &Hint) -> Option<&'static str> {
    match hint.confidence {
        Confidence::Low => Some("low confidence"),
        Confidence::Medium => Some("medium confidence"),
        Confidence::High => None,
    }
}

/// The most detail of [`short`]: evidence, advice and code of the first hint, advice and code of the others.
pub const MOST_DETAIL: usize = 5;
/// The least detail of [`short`] with the code of the first hint.
pub const WITH_CODE: usize = 2;

/// Whether a hint answers the limit; the first hints: cause, saving, and the first of them with as much `detail` as
/// asked; nothing without any of it.
pub fn short(report: &HintsReport, cards: usize, detail: usize, layout: &TextLayout) -> String {
    let (shown, more) = first(report, cards);
    let open = report.open_limit();
    if shown.is_empty() && open.is_none() {
        return String::new();
    }
    let more = if more > 0 {
        format!("{more} more and the reasons: --only hints")
    } else {
        "reasons: --only hints".to_owned()
    };
    let mut text = layout.heading(TITLE);
    if TITLE.len() + 2 + more.len() <= layout.width {
        text = format!(
            "{}  {}\n",
            layout.style.bold(TITLE),
            layout.style.dim(&more)
        );
    } else {
        lines(&mut text, "", &more, layout);
    }
    text.extend(open.map(|open| layout.plain_lines(0, &open)));
    for (place, &hint) in shown.iter().enumerate() {
        let facts = facts(hint, report, &shown[..place]);
        let head = format!(
            "{} {}",
            place + 1,
            layout.style.bold(&format!("{:<4}", hint.id))
        );
        let body = format!("{}: {facts}", hint.title);
        text += &layout.beside(&head, INDENT + 1, &body);
        // From this much detail on: of the first hint, of the others.
        let shows = |[first, other]: [usize; 2]| detail >= if place == 0 { first } else { other };
        if shows([3, MOST_DETAIL + 1]) {
            lines(&mut text, " ", &sentence(&hint.statement), layout);
        }
        if shows([1, 5]) {
            lines(&mut text, " ", &hint.brief, layout);
        }
        if shows([2, 4]) {
            code(&mut text, hint.code.as_deref());
        }
    }
    text
}

/// Other rules about the same time.
fn also(text: &mut String, hint: &Hint, layout: &TextLayout) {
    for other in &hint.also {
        lines(
            text,
            "also  ",
            &format!("{} {}: the same time", other.id, other.title),
            layout,
        );
        let code = other.code.as_deref();
        remedy(text, [&other.statement, &other.action], code, layout);
    }
}

/// Every card in full, and why other rules gave no hint.
pub fn full(report: &HintsReport, layout: &TextLayout) -> String {
    let mut text = layout.heading(TITLE);
    if report.hints.is_empty() {
        let looked = counted(report.quiet.len(), "rule");
        lines(
            &mut text,
            "",
            &format!("Nothing found by the {looked} that could be applied."),
            layout,
        );
    }
    for hint in &report.hints {
        head(&mut text, hint, report, layout);
        let code = hint.code.as_deref();
        remedy(&mut text, [&hint.statement, &hint.action], code, layout);
        let over = report.sums_over;
        let ops: Vec<String> = hint
            .ops
            .iter()
            .take(OPS_SHOWN)
            .map(|op| {
                let source = op
                    .source
                    .as_ref()
                    .map_or_else(String::new, |source| format!(" at {source}"));
                format!("{} ({}){source}", op.name, over.each_ps(op.self_time_ps))
            })
            .collect();
        if !ops.is_empty() {
            let more = hint.all_ops.len().saturating_sub(OPS_SHOWN);
            let more = if more > 0 {
                format!(", {more} more")
            } else {
                String::new()
            };
            let of = over.title(if over.are_busy {
                [
                    "self time in a step on a busy device",
                    "self time on a busy device",
                ]
            } else {
                ["self time in a step on a device", "self time on a device"]
            });
            lines(
                &mut text,
                "ops   ",
                &format!("{}{more}; {of}", ops.join(", ")),
                layout,
            );
        }
        also(&mut text, hint, layout);
        if !hint.overlaps_with.is_empty() {
            let with = format!("shares its time with {}", hint.overlaps_with.join(", "));
            lines(&mut text, "note  ", &with, layout);
        }
    }
    text += &footer(report, layout);
    text
}

/// `1  K25  The core waits for copies          saves ≤ 760.3 ms of a step (96.9 %) · critical`
fn head(text: &mut String, hint: &Hint, report: &HintsReport, layout: &TextLayout) {
    let worth = worth(hint, report, |time| time.to_string());
    if hint.severity == HintSeverity::Health {
        title(text, hint, layout);
        lines(text, "", &worth, layout);
        return;
    }
    let mut facts = vec![worth, hint.severity.title().to_owned()];
    facts.extend(doubt(hint).map(str::to_owned));
    if hint.saving_by == SavingBy::Formula {
        facts.push("by formula".to_owned());
    }
    title(text, hint, layout);
    lines(text, "", &facts.join(" · "), layout);
}

/// `K25  The core waits for copies`
fn title(text: &mut String, hint: &Hint, layout: &TextLayout) {
    let lines = layout.bold_lines(INDENT, hint.title);
    let id = layout.style.bold(&format!("{:<INDENT$}", hint.id));
    text.extend(lines.get(INDENT..).map(|lines| id + lines));
}

fn lines(text: &mut String, label: &str, body: &str, layout: &TextLayout) {
    let head = format!("{}{}", " ".repeat(INDENT), layout.style.dim(label));
    text.push_str(&layout.beside(&head, INDENT + label.len(), body));
}

/// What was seen and what to do.
fn remedy(text: &mut String, [seen, action]: [&str; 2], copied: Option<&str>, layout: &TextLayout) {
    lines(text, "seen  ", &sentence(seen), layout);
    lines(text, "do    ", action, layout);
    code(text, copied);
}

/// Code stands on lines of its own, as it is to be copied: whatever the width, no line is broken.
fn code(text: &mut String, copied: Option<&str>) {
    for line in copied.into_iter().flat_map(str::lines) {
        let _ = writeln!(text, "{:1$}{2}", "", INDENT + 2, printable(line));
    }
}

fn footer(report: &HintsReport, layout: &TextLayout) -> String {
    let mut text = String::new();
    if let Some(all) = report.all_together(|saving| saving.to_string()) {
        lines(&mut text, "", &all, layout);
    }
    for open in &report.unanswered {
        lines(&mut text, "", &open.text(), layout);
    }
    if !report.suppressed.is_empty() {
        let named = report
            .suppressed
            .iter()
            .map(|hint| format!("{} ({})", hint.id, hint.reason));
        lines(
            &mut text,
            "",
            &format!("Suppressed: {}.", joined(named, ", ")),
            layout,
        );
    }
    if !report.cannot_tell.is_empty() {
        let ids: Vec<_> = report.cannot_tell.iter().map(|rule| rule.id).collect();
        let why = format!(
            "{} could not be applied to this capture: {}. The reasons are in --format json.",
            counted(ids.len(), "rule"),
            ids.join(", ")
        );
        lines(&mut text, "", &why, layout);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnsiStyle;
    use analysis::hints::Hints;
    use analysis::{Options, Scope};
    use sample_traces::text_trace;
    use session::Session;

    /// Columns of copies that are computed a second time, and of other ops that are.
    fn first_screen(copies: &str, others: &str) -> String {
        let work = "M".repeat(80 - copies.len() - others.len());
        let picture = format!(
            "@column 10us\nops: {work}{copies}{others}\nM = f [convolution fusion]\nx = copy.2.remat [copy]\n\
             y = copy.2 [copy]\nz = add.3.remat [loop fusion]"
        );
        let session = Session::from_model(text_trace(&picture), Options::default());
        let report = session.report::<Hints>(Scope::WholeTrace).unwrap();
        let layout = TextLayout {
            width: 140,
            top: 10,
            entries: 0,
            style: AnsiStyle::PLAIN,
        };
        short(&report, 3, 0, &layout)
    }

    #[test]
    fn a_limit_without_a_hint_is_said_first() {
        let text = first_screen("", "");
        let said = text.lines().nth(1).unwrap_or_default();
        assert!(said.starts_with("No hint answers the limit: "), "{text}");
        assert!(!first_screen("", &"z".repeat(70)).contains("answers"));
    }

    #[test]
    fn hints_about_the_same_time_say_so_on_the_first_screen() {
        let shared = first_screen("xxxxxxxxxx", "zzzzzz");
        assert_eq!(
            shared.matches("shares its time with").count(),
            1,
            "{shared}"
        );
        let second = shared.lines().find(|line| line.starts_with("2 K19"));
        assert!(
            second.is_some_and(|line| line.contains("shares its time with K24")),
            "{shared}"
        );
        // Other ops are other time.
        let apart = first_screen("yyyyyyyyyy", "zzzzzz");
        assert!(
            apart.contains("K24") && !apart.contains("shares"),
            "{apart}"
        );
    }
}
