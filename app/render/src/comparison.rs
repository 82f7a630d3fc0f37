//! A comparison of two runs, in every format.

use crate::prelude::*;
use analysis::engine::json_text::{JsonText, TruncatedList};
use schemars::JsonSchema;
use serde::Serialize;

use crate::json::{FOLLOWING, ToolVersion, end, generator, name_file, parted};
use crate::table::table;
use crate::verdict_md::VerdictParts;
use crate::{NamedTable, comparison_md, comparison_screen, markdown, verdict_md};

pub use crate::compared_runs::{ComparedRuns, ShownTables};

/// Fields may be added to this version, but never changed or removed.
pub const SCHEMA: &str = "systole.comparison/3";

/// As text for a terminal.
pub fn text(compared: &ComparedRuns<'_>, layout: &TextLayout) -> String {
    match compared.shown {
        ShownTables::Screen => comparison_screen::screen(compared, layout),
        ShownTables::All => comparison_screen::in_full(compared, layout),
        ShownTables::Why => comparison_screen::why_in_full(compared, layout),
        ShownTables::Only(_) => {
            let tables = compared.chosen_tables();
            joined(tables.iter().map(|one| table(one, layout)), "\n")
        }
    }
}

/// As Markdown for pull requests.
pub fn markdown(compared: &ComparedRuns<'_>, layout: &TextLayout) -> String {
    let mut text = "# Comparison\n\n".to_owned();
    match compared.shown {
        ShownTables::Screen => return text + &verdict(compared),
        ShownTables::Only(_) => {}
        ShownTables::Why => text.push_str(&comparison_md::why_in_full(compared)),
        ShownTables::All => {
            if let Some(gates) = compared.gates {
                verdict_md::gates_table(&mut text, gates);
            }
            text += &comparison_md::blocks(compared.comparison).swap_remove(1);
        }
    }
    let tables = match compared.shown {
        ShownTables::Why => compared.tables_below_chain(comparison_md::ENVIRONMENT),
        _ => compared.chosen_tables(),
    };
    let parts = tables
        .iter()
        .map(|table| (table.title.clone(), markdown::markdown(table, layout.top)));
    markdown::within(&mut text, parts, markdown::MOST_BYTES);
    text
}

/// As Markdown for the step summary of CI, shortened to its size limit.
pub fn verdict(compared: &ComparedRuns<'_>) -> String {
    let Some(run) = compared.cand.first() else {
        return String::new();
    };
    let (gates, comparison) = (compared.gates, Some(compared.comparison));
    verdict_md::verdict(
        &VerdictParts {
            run,
            gates,
            comparison,
        },
        markdown::MOST_BYTES,
    )
}

/// All tables, for CSV.
pub fn tables(compared: &ComparedRuns<'_>) -> Vec<NamedTable> {
    let compare = compared
        .chosen_tables()
        .into_iter()
        .map(|table| NamedTable {
            report: "compare",
            table,
        });
    let gates = compared.gates.iter().flat_map(|gates| gates.tables());
    compare
        .chain(gates.map(|table| NamedTable {
            report: "gates",
            table,
        }))
        .collect()
}

/// A comparison of two runs. The name of a number ends with its unit, or a field `unit` stands beside it; numbers
/// without a unit are counts and ratios.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ComparisonDocument")]
struct WrittenComparison<'a> {
    /// Name and number of this format.
    schema: &'static str,
    /// The program that wrote it.
    tool: ToolVersion,
    #[serde(flatten)]
    comparison: &'a Comparison,
    /// The result of the gates, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    gates: Option<&'a GatesReport>,
    /// Whether lists were truncated; `--top` sets their maximum length.
    truncated: bool,
    /// The truncated lists with their original lengths.
    truncated_lists: Vec<TruncatedList>,
}

/// As JSON; lists have at most `top` entries, or all if it is 0.
pub fn json(compared: &ComparedRuns<'_>, top: usize) -> serde_json::Result<String> {
    let &ComparedRuns {
        comparison, gates, ..
    } = compared;
    let truncated_lists = Vec::new();
    let written = WrittenComparison {
        schema: SCHEMA,
        tool: ToolVersion::THIS,
        comparison,
        gates,
        truncated: false,
        truncated_lists,
    };
    let mut out = JsonText::after(String::new(), top);
    out.value(&written, &[])?;
    let (text, cuts) = out.finish();
    let (before, after) = parted(&text, "truncated", FOLLOWING);
    end(before.to_owned(), &cuts, after)
}

/// The JSON Schema of [`json`], generated from the types.
pub fn schema() -> serde_json::Value {
    let mut whole = generator()
        .into_root_schema_for::<WrittenComparison<'_>>()
        .to_value();
    name_file(&mut whole, SCHEMA);
    whole
}
