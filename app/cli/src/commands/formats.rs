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
    let formats = || IMPORTERS.iter().map(|importer| importer.format());
    let rows: Vec<Value> = formats()
        .map(
            |f| json!({"id": f.id, "title": f.title, "extensions": f.extensions, "about": f.about}),
        )
        .collect();
    let table = Table::of("formats", "", formats())
        .derived("id", "", Unit::None, |f| f.id)
        .derived("title", "", Unit::None, |f| f.title)
        .derived("extensions", "", Unit::None, |f| f.extensions.join(" "))
        .derived("about", "", Unit::None, |f| f.about);
    let text = |_: &Table| {
        let mut text = String::new();
        for f in formats() {
            let _ = writeln!(text, "{} — {}", f.id, f.title);
            let _ = writeln!(text, "    {}", f.about);
            let _ = writeln!(text, "    usually called *.{}", f.extensions.join(", *."));
        }
        text + "\nGzip files are unpacked automatically. Formats are detected from the content, not from the name.\n"
    };
    let markdown = |_| {
        let mut text = "| id | format | endings | about |\n|---|---|---|---|\n".to_owned();
        for f in formats() {
            let endings = f.extensions.join(", ");
            let _ = writeln!(text, "| {} | {} | {endings} | {} |", f.id, f.title, f.about);
        }
        text
    };
    let json = || json!({"schema": "systole.formats/1", "formats": rows});
    let answer = Answer::list("formats", table.build(), text, json);
    (format.answer)(answer.with_rows(rows.clone()).with_markdown(markdown))
}
