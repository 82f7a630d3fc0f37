//! `systole explain`: what a hint means, and what to do about it.

use super::prelude::*;

use analysis::hints::{rule, rules};

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Id of a hint, as in a report: K01; all are listed without it
    pub hint: Option<String>,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}

pub fn run(args: &ExplainArgs) -> Result<CommandOutcome> {
    let text = match &args.hint {
        None => list(args.format),
        Some(id) => match (rule(id), args.format.value) {
            (Some(rule), Some(write)) => write(
                &json!({"schema": "systole.rule/1", "id": rule.id, "title": rule.title,
                    "confidence": rule.confidence, "thresholds": rule.thresholds, "page": rule.page}),
            ),
            _ => answers::explained(id)?,
        },
    };
    output::print_as(args.format, &text)
}

/// All hints.
pub fn list(format: OutputFormat) -> String {
    let all = || rules().iter();
    let rows: Vec<Value> = all()
        .map(|rule| json!({"id": rule.id, "title": rule.title}))
        .collect();
    let table = Table::of("rules", "", all().copied())
        .derived("id", "", Unit::None, |rule| rule.id)
        .derived("title", "", Unit::None, |rule| rule.title);
    let text = |_: &Table| {
        let lines = all().map(|rule| format!("{}  {}\n", rule.id, rule.title));
        lines.collect::<String>() + "\nSee systole explain ID for details.\n"
    };
    let markdown = |_| {
        let lines = all().map(|rule| format!("| {} | {} |\n", rule.id, rule.title));
        "| id | what |\n|---|---|\n".to_owned() + &lines.collect::<String>()
    };
    let json = || json!({"schema": "systole.rules/1", "rules": rows});
    let answer = Answer::list("rules", table.build(), text, json);
    (format.answer)(answer.with_rows(rows.clone()).with_markdown(markdown))
}
