//! `systole chips`: the assumed facts of each TPU generation, with their sources.

use super::prelude::*;

use analysis::hardware::chips::{Chip, ChipFact, chips, sources};

use request::{ChipArg, Text};

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct ChipsArgs {
    /// Everything about this one: a name, or a file as for `--device-spec`
    pub chip: Option<Text<ChipArg>>,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}

pub fn run(args: &ChipsArgs) -> Result<CommandOutcome> {
    let named = args
        .chip
        .as_ref()
        .map(|chip| chip.0.chip())
        .transpose()
        .map_err(RequestError::Usage)?;
    let chips: Vec<&Chip> = match named.as_deref() {
        Some(chip) => vec![chip],
        None => chips().iter().collect(),
    };
    let facts = facts_table(&chips);
    let json = || {
        let chip =
            |chip: &&Chip| json!({"id": chip.id, "aliases": chip.aliases, "facts": chip.facts});
        json!({
            "schema": "systole.chips/1",
            "sources": sources(),
            "chips": chips.iter().map(chip).collect::<Vec<_>>(),
        })
    };
    let text = |_: &Table| text(&chips, args.chip.is_some());
    let answer = Answer::list("chips", facts, text, json)
        .with_markdown(|facts| markdown::markdown(&overview(&chips), 0) + &facts);
    output::print_as(args.format, &(args.format.answer)(answer))
}

/// One row per chip, with the most important numbers.
fn overview(chips: &[&Chip]) -> Table {
    let links = |chip: &Chip| Some(chip.links?.peak_bytes * f64::from(chip.links?.per_chip));
    Table::of("chips", "TPU generations, per chip", chips.iter().copied())
        .recorded("chip", "Chip", Unit::None, |chip| &chip.id)
        .recorded("bf16_flops", "bf16", Unit::FlopPerSecond, |chip| {
            chip.bf16_flops
        })
        .recorded("int8_ops", "int8", Unit::FlopPerSecond, |chip| {
            chip.int8_ops
        })
        .recorded("fp8_flops", "fp8", Unit::FlopPerSecond, |chip| {
            chip.fp8_flops
        })
        .recorded("hbm_bytes", "HBM", Unit::Bytes, |chip| chip.hbm_bytes)
        .recorded("hbm_bandwidth", "HBM", Unit::BytesPerSecond, |chip| {
            chip.hbm_bandwidth
        })
        .recorded("ridge", "Ridge", Unit::FlopPerByte, Chip::ridge)
        .recorded("ici_peak", "ICI one way", Unit::BytesPerSecond, links)
        .build()
}

/// One row per fact, with exact numbers.
fn facts_table(chips: &[&Chip]) -> Table {
    let values = |fact: &ChipFact| joined(fact.values.iter().map(f64::to_string), " x ");
    let others = |fact: &ChipFact| {
        joined(
            fact.others
                .iter()
                .map(|(source, value)| format!("{source} {value}")),
            "; ",
        )
    };
    let rows = chips
        .iter()
        .flat_map(|&chip| chip.facts.iter().map(move |fact| (chip, fact)));
    Table::of("chip_facts", "Every fact with its source", rows)
        .recorded("chip", "chip", Unit::None, |(chip, _)| &chip.id)
        .recorded("key", "key", Unit::None, |(_, fact)| fact.key)
        .recorded("value", "value", Unit::None, |(_, fact)| values(fact))
        .recorded("source", "source", Unit::None, |(_, fact)| &fact.source)
        .recorded("others", "others", Unit::None, |(_, fact)| others(fact))
        .recorded("ruling", "ruling", Unit::None, |(_, fact)| &fact.ruling)
        .build()
}

fn text(chips: &[&Chip], in_full: bool) -> String {
    if !in_full {
        let layout = terminal::whole_tables(AnsiStyle::PLAIN);
        let table = table::table(&overview(chips), &layout);
        return table + "\n`systole chips CHIP` lists all facts of one chip with their sources.\n";
    }
    let mut text = String::new();
    for chip in chips {
        let names = if chip.aliases.is_empty() {
            String::new()
        } else {
            format!(", also {}", chip.aliases.join(", "))
        };
        let _ = writeln!(text, "{}{names}", chip.id);
        for fact in &chip.facts {
            let Some(quantity) = fact.quantity() else {
                continue;
            };
            let shown = |value: f64| number::value(value, quantity.unit);
            let values = joined(fact.values.iter().map(|&value| shown(value)), " × ");
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
    text += "\nSources\n";
    for (name, meaning) in sources() {
        let _ = writeln!(text, "  {name:<10} {meaning}");
    }
    text
}
