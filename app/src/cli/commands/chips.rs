//! `systole chips`: what is assumed of each TPU generation, and who says so.

use clap::Args;
use std::fmt::Write as _;

use analysis::hardware::chips::{Chip, ChipFact, chips, sources};
use analysis::{Cell, Column, Provenance, Table, Unit};
use serde_json::json;

use crate::cli::common::chip_arg::ChipArg;
use crate::cli::common::failure::{Failure, Outcome};
use crate::cli::common::values::Format;
use crate::cli::common::{output, terminal};
use crate::number;
use crate::render::{Layout, NamedTable, Style, csv, md, ndjson, table};

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct ChipsArgs {
    /// Everything about this one: a name, or a file as for `--device-spec`
    pub chip: Option<ChipArg>,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Runs the command.
pub fn run(args: &ChipsArgs) -> Result<Outcome, Failure> {
    let chips: Vec<&Chip> = match &args.chip {
        Some(chip) => vec![chip.chip()],
        None => chips().iter().collect(),
    };
    let text = match args.format {
        Format::Json => format!(
            "{:#}\n",
            json!({
                "schema": "systole.chips/1",
                "sources": sources(),
                "chips": chips.iter().map(|chip| json!({
                    "id": chip.id, "aliases": chip.aliases, "facts": chip.facts,
                })).collect::<Vec<_>>(),
            })
        ),
        Format::Csv => csv::csv(&facts_table(&chips), 0),
        Format::Ndjson => {
            let facts = NamedTable { report: "chips", table: facts_table(&chips) };
            ndjson::lines(&[&facts], &[], 0)
        }
        Format::Md => md::markdown(&overview(&chips), 0) + &md::markdown(&facts_table(&chips), 0),
        Format::Text => text(&chips, args.chip.is_some()),
    };
    if args.format == Format::Text {
        output::print_text(&text)?;
    } else {
        output::print(&text)?;
    }
    Ok(Outcome::Done)
}

fn column(id: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { id, title, unit, provenance: Provenance::Profile }
}

/// A row a chip, what most people look for.
fn overview(chips: &[&Chip]) -> Table {
    let columns = vec![
        column("chip", "Chip", Unit::None),
        column("bf16_flops", "bf16", Unit::FlopPerSecond),
        column("int8_ops", "int8", Unit::FlopPerSecond),
        column("fp8_flops", "fp8", Unit::FlopPerSecond),
        column("hbm_bytes", "HBM", Unit::Bytes),
        column("hbm_bandwidth", "HBM", Unit::BytesPerSecond),
        column("ridge", "Ridge", Unit::FlopPerByte),
        column("ici_peak", "ICI one way", Unit::BytesPerSecond),
    ];
    let row = |chip: &&Chip| {
        let links = chip.links;
        vec![
            Cell::text(&chip.id),
            Cell::Float(chip.bf16_flops),
            Cell::maybe(chip.int8_ops),
            Cell::maybe(chip.fp8_flops),
            Cell::count(chip.hbm_bytes),
            Cell::Float(chip.hbm_bandwidth),
            Cell::Float(chip.ridge()),
            Cell::maybe(links.map(|links| links.peak_bytes * f64::from(links.per_chip))),
        ]
    };
    Table {
        id: "chips",
        title: "TPU generations, per chip".to_owned(),
        columns,
        rows: chips.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// A row a fact, exact numbers.
fn facts_table(chips: &[&Chip]) -> Table {
    let names = ["chip", "key", "value", "source", "others", "ruling"];
    let columns = names.map(|name| column(name, name, Unit::None)).into();
    let row = |chip: &Chip, fact: &ChipFact| {
        let values = fact.values.iter().map(f64::to_string).collect::<Vec<_>>().join(" x ");
        let others = fact.others.iter().map(|(source, value)| format!("{source} {value}")).collect::<Vec<_>>();
        let cells = [&chip.id, fact.key, &values, &fact.source, &others.join("; ")];
        let ruling = fact.ruling.as_ref().map_or(Cell::Missing, Cell::text);
        cells.into_iter().map(Cell::text).chain([ruling]).collect()
    };
    let rows = chips.iter().flat_map(|chip| chip.facts.iter().map(move |fact| row(chip, fact))).collect();
    Table { id: "chip_facts", title: "Every fact with its source".to_owned(), columns, rows, notes: Vec::new() }
}

fn text(chips: &[&Chip], in_full: bool) -> String {
    if !in_full {
        let layout = Layout { width: terminal::width(), top: 0, entries: 0, style: Style::PLAIN };
        let table = table::table(&overview(chips), &layout);
        return table + "\n`systole chips CHIP` says everything about one, and who says so.\n";
    }
    let mut text = String::new();
    for chip in chips {
        let names = if chip.aliases.is_empty() { String::new() } else { format!(", also {}", chip.aliases.join(", ")) };
        let _ = writeln!(text, "{}{names}", chip.id);
        for fact in &chip.facts {
            let Some(quantity) = fact.quantity() else { continue };
            let shown = |value: f64| number::value(value, quantity.unit);
            let values = fact.values.iter().map(|&value| shown(value)).collect::<Vec<_>>().join(" × ");
            let mut line = format!("  {:<40} {values:<14} {}", quantity.title, fact.source);
            for (source, other) in &fact.others {
                let _ = write!(line, "; {source}: {}", shown(*other));
            }
            let _ = writeln!(text, "{line}");
            if let Some(ruling) = &fact.ruling {
                let _ = writeln!(text, "  {:<40} {:<14} {ruling}", "", "");
            }
        }
    }
    text.push_str("\nSources\n");
    for (name, meaning) in sources() {
        let _ = writeln!(text, "  {name:<10} {meaning}");
    }
    text
}
