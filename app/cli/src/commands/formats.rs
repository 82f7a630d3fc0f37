//! `systole formats`: the supported formats.

use super::prelude::*;

use importers::IMPORTERS;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct FormatsArgs {
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}

pub fn run(args: &FormatsArgs) -> Result<CommandOutcome> {
    let text = formats_text(args.format);
    output::print_as(args.format, &text)
}

fn formats_text(format: OutputFormat) -> String {
    let formats = IMPORTERS.iter().map(|importer| importer.format());
    let mut text = String::new();
    match format {
        OutputFormat::Json => {
            let list: Vec<_> = formats
                .map(|f| json!({"id": f.id, "title": f.title, "extensions": f.extensions, "about": f.about}))
                .collect();
            text = format!(
                "{:#}\n",
                json!({"schema": "systole.formats/1", "formats": list})
            );
        }
        OutputFormat::Ndjson => {
            for f in formats {
                let line = json!({"id": f.id, "title": f.title, "extensions": f.extensions, "about": f.about});
                let _ = writeln!(text, "{line}");
            }
        }
        OutputFormat::Csv => {
            let table = Table::of("formats", "", formats)
                .derived("id", "", Unit::None, |f| f.id)
                .derived("title", "", Unit::None, |f| f.title)
                .derived("extensions", "", Unit::None, |f| f.extensions.join(" "))
                .derived("about", "", Unit::None, |f| f.about);
            text = csv::csv(&table.build(), 0, CsvCells::Exact);
        }
        OutputFormat::Md => {
            text += "| id | format | endings | about |\n|---|---|---|---|\n";
            for f in formats {
                let _ = writeln!(
                    text,
                    "| {} | {} | {} | {} |",
                    f.id,
                    f.title,
                    f.extensions.join(", "),
                    f.about
                );
            }
        }
        OutputFormat::Text => {
            for f in formats {
                let _ = writeln!(text, "{} — {}", f.id, f.title);
                let _ = writeln!(text, "    {}", f.about);
                let _ = writeln!(text, "    usually called *.{}", f.extensions.join(", *."));
            }
            text.push_str(
                "\nGzip files are unpacked automatically. Formats are detected from the content, not from the name.\n",
            );
        }
    }
    text
}
