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
        Some(id) => match rule(id) {
            Some(rule) if matches!(args.format, OutputFormat::Json | OutputFormat::Ndjson) => {
                let thresholds: Vec<_> = rule
                    .thresholds
                    .iter()
                    .map(|limit| json!({"id": limit.id, "value": limit.value, "unit": limit.unit, "why": limit.why}))
                    .collect();
                let page = json!({"schema": "systole.rule/1", "id": rule.id, "title": rule.title,
                    "confidence": rule.confidence, "thresholds": thresholds, "page": rule.page});
                if args.format == OutputFormat::Json {
                    format!("{page:#}\n")
                } else {
                    format!("{page}\n")
                }
            }
            _ => answers::explained(id)?,
        },
    };
    output::print_as(args.format, &text)
}

/// All hints.
pub fn list(format: OutputFormat) -> String {
    let mut text = match format {
        OutputFormat::Json => {
            let list: Vec<_> = rules()
                .iter()
                .map(|rule| json!({"id": rule.id, "title": rule.title}))
                .collect();
            return format!(
                "{:#}\n",
                json!({"schema": "systole.rules/1", "rules": list})
            );
        }
        OutputFormat::Ndjson => {
            let lines = rules()
                .iter()
                .map(|rule| json!({"id": rule.id, "title": rule.title}).to_string() + "\n");
            return lines.collect();
        }
        OutputFormat::Csv => {
            let list = Table::of("rules", "", rules().iter().copied())
                .derived("id", "", Unit::None, |rule| rule.id)
                .derived("title", "", Unit::None, |rule| rule.title);
            return csv::csv(&list.build(), 0, CsvCells::Exact);
        }
        OutputFormat::Md => "| id | what |\n|---|---|\n".to_owned(),
        OutputFormat::Text => String::new(),
    };
    for rule in rules() {
        let _ = match format {
            OutputFormat::Md => writeln!(text, "| {} | {} |", rule.id, rule.title),
            _ => writeln!(text, "{}  {}", rule.id, rule.title),
        };
    }
    if format == OutputFormat::Text {
        text += "\nSee systole explain ID for details.\n";
    }
    text
}
