//! `systole memory`: why a program does not fit into memory, and what would make it fit.

use std::io::{BufRead as _, BufReader, Read as _};

use super::prelude::*;
use analysis::reports::memory::shortage::{
    MemoryFix, MemoryNeed, MemoryShortage, MessageReader, binary,
};
use analysis::{AnalysisError, Tabular as _, shortened};

use crate::common::values::STANDARD;
use analysis::sentence;
use session::files::{open_regular, read_small};

/// Fields may be added to this version, but never changed or removed.
const SCHEMA: &str = "systole.memory/1";
/// Longest line of a log that is read in one piece.
const MOST_LINE: u64 = 4 << 20;
/// Most text from standard input.
const MOST_STDIN: u64 = 256 << 20;
/// Kinds, buffers and fixes of the first screen.
const KINDS: usize = 7;
const BUFFERS: usize = 4;
const FIXES: usize = 3;
/// Messages after the first that are named.
const OTHERS: usize = 2;

const NO_MESSAGE: &str = "the text has no message about memory: Ran out of memory, Attempting to reserve, Attempting to allocate";

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct MemoryArgs {
    #[command(flatten)]
    pub input: TraceRequest,
    /// Format of stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    #[command(flatten)]
    pub csv: CsvArgs,
}

pub fn run(args: &MemoryArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let path = &args.input.path;
    let (mut shortages, is_text) = messages(path)?;
    if shortages.is_empty() {
        if path.as_os_str() == STANDARD {
            return Err(RequestError::DoesNotApply(NO_MESSAGE.to_owned()));
        }
        let planned = planned(args, stderr);
        // The compiler's plan tells more than an estimate.
        if !matches!(&planned, Ok(need) if !need.is_estimate) {
            shortages = plans_in(path)?;
        }
        if shortages.is_empty() {
            shortages.push(planned.inspect_err(|error| {
                // It may be meant as a log.
                let is_unread = matches!(
                    error,
                    RequestError::Import { .. } | RequestError::DoesNotApply(_)
                );
                if is_text && is_unread {
                    stderr.warn(NO_MESSAGE);
                }
            })?);
        }
    }
    output::print_as(args.format, &rendered(&shortages, args))
}

/// The program whose plan a file of a dump holds, as its name tells: `module_0004.jit_f`.
fn program_of_plan(path: &Path) -> Option<String> {
    let stem = path
        .file_name()?
        .to_str()?
        .strip_suffix("-buffer-assignment.txt")?;
    let staged = stem.rsplit_once('.');
    let program = staged.map_or(stem, |(program, _)| program);
    Some(program.to_owned())
}

/// The plans of the programs in a dump folder, the one that needs most first.
fn plans_in(folder: &Path) -> Result<Vec<MemoryShortage>> {
    // What cannot be listed is reported by the import.
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = files
        .map(|file| file.path())
        .filter(|file| program_of_plan(file).is_some())
        .collect();
    files.sort();
    let mut plans = Vec::new();
    for file in files {
        plans.extend(messages(&file)?.0);
    }
    plans.sort_by_key(|plan| std::cmp::Reverse(plan.needed_bytes));
    Ok(plans)
}

/// The messages of a log, and whether it is text.
fn messages(path: &Path) -> Result<(Vec<MemoryShortage>, bool)> {
    let mut reader = MessageReader::beside(program_of_plan(path));
    if path.as_os_str() == STANDARD {
        read_small(path, MOST_STDIN)
            .map_err(RequestError::unread(
                "standard input",
                "name the file",
                path,
            ))?
            .lines()
            .for_each(|line| reader.add(line));
        return Ok((reader.finish(), true));
    }
    // What cannot be read here is reported by the import.
    let Some(file) = open_regular(path).ok().filter(|_| path.is_file()) else {
        return Ok((Vec::new(), false));
    };
    let mut file = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = file.by_ref().take(MOST_LINE).read_until(b'\n', &mut line);
        if read.is_err() || line.contains(&0) {
            return Ok((reader.finish(), false));
        }
        if line.is_empty() {
            break;
        }
        reader.add(&String::from_utf8_lossy(&line));
    }
    Ok((reader.finish(), true))
}

/// What the program of a capture, or of a dump, needs.
fn planned(args: &MemoryArgs, stderr: &Stderr) -> Result<MemoryShortage> {
    let TraceRequest { path, run, .. } = &args.input;
    let loading = Loading::new(&args.input.assume, stderr)?;
    let session = loading.open_for_reports(path, run.clone(), args.format, false)?;
    let shortage = session.report::<MemoryNeed>(Scope::WholeTrace);
    let why = |why: AnalysisError| RequestError::DoesNotApply(format!("{}: {why}", path.display()));
    Ok(shortage.map_err(why)?.as_ref().clone())
}

fn rendered(shortages: &[MemoryShortage], args: &MemoryArgs) -> String {
    let tables = shortages
        .iter()
        .take(1)
        .flat_map(MemoryShortage::tables)
        .map(|table| NamedTable {
            report: "memory",
            table,
        });
    let json = || json!({ "schema": SCHEMA, "path": args.input.path.display().to_string(), "shortages": shortages });
    let markdown = |tables| {
        let first = shortages
            .first()
            .map_or_else(String::new, |first| sentence(&first.decimal_statement()));
        format!("## {}\n\n{tables}", markdown::escaped(&first))
    };
    let answer = Answer {
        main: "buffers",
        cells: args.csv.cells(),
        ..Answer::new(tables.collect(), |_| text(shortages), json)
    };
    (args.format.answer)(answer.with_markdown(markdown))
}

/// One screen.
fn text(shortages: &[MemoryShortage]) -> String {
    let layout = terminal::whole_tables(AnsiStyle::PLAIN);
    let Some(first) = shortages.first() else {
        return String::new();
    };
    let line = |indent, text: &str| layout.plain_lines(indent, text);
    let mut out = line(0, &sentence(&first.statement));
    out += &kinds(first);
    out += &buffers(first, &layout);
    out += &fixes(first, &layout);
    if !first.unknown.is_empty() {
        out += &line(
            0,
            &sentence(&format!("unknown: {}", first.unknown.join("; "))),
        );
    }
    for other in shortages.iter().skip(1).take(OTHERS) {
        out += &line(0, &sentence(&format!("also: {}", other.statement)));
    }
    let more = shortages.len().saturating_sub(1 + OTHERS);
    if more > 0 {
        out += &line(
            0,
            &format!(
                "And {}: --format json.",
                counted(
                    more as u64,
                    match first.told_by.as_str() {
                        "the compiler's plan" => "more plan",
                        _ => "more message",
                    }
                )
            ),
        );
    }
    out
}

fn kinds(of: &MemoryShortage) -> String {
    let mut kinds: Vec<_> = of.kinds.iter().collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.bytes));
    let mut text = String::new();
    for kind in kinds.iter().take(KINDS) {
        let padding = kind
            .padding_bytes
            .filter(|bytes| *bytes > 0)
            .map_or_else(String::new, |bytes| {
                format!(", {} of it padding", binary(bytes))
            });
        let _ = writeln!(text, "  {:>11}  {}{padding}", binary(kind.bytes), kind.kind);
    }
    let all = kinds
        .iter()
        .map(|kind| kind.bytes)
        .fold(0, u64::saturating_add);
    // What is reserved, and results that share no memory, are listed beside it.
    if let Some(needed) = of.needed_bytes.filter(|needed| all > needed + needed / 200) {
        let _ = writeln!(
            text,
            "  {:>11}  together; {} count as needed",
            binary(all),
            binary(needed)
        );
    }
    titled("What is needed, by kind", &text)
}

fn buffers(of: &MemoryShortage, layout: &TextLayout) -> String {
    let mut text = String::new();
    for buffer in of.buffers.iter().take(BUFFERS) {
        let shape = buffer.shape.as_deref().map(without_layouts);
        let file = buffer
            .source
            .as_deref()
            .and_then(|source| source.rsplit('/').next())
            .map(str::to_owned);
        let padding = buffer
            .padding_bytes
            .filter(|bytes| bytes * 20 >= buffer.bytes && *bytes > 0)
            .map(|bytes| format!("{} padding", binary(bytes)));
        let parts = [
            Some(buffer.instruction.clone()),
            shape,
            file,
            padding,
            Some(buffer.kind.clone()),
        ];
        let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
        let about = shortened(&joined(parts, " · "), layout.width.saturating_sub(15));
        let _ = writeln!(text, "  {:>11}  {about}", binary(buffer.bytes));
    }
    let more = of.buffers.len().saturating_sub(BUFFERS);
    if more > 0 {
        let _ = writeln!(text, "  and {more} smaller ones: --format csv");
    }
    let title = if of.shares_memory() {
        "The largest buffers, some in the memory of others that are over"
    } else {
        "What is in memory then, the largest first"
    };
    titled(title, &text)
}

/// `(f32[8,4], s32[])` of `(f32[8,4]{1,0}, s32[])`.
fn without_layouts(shape: &str) -> String {
    let mut depth = 0_usize;
    let keep = |letter: &char| {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    };
    shape.chars().filter(keep).collect()
}

fn fixes(of: &MemoryShortage, layout: &TextLayout) -> String {
    let mut text = String::new();
    let line = |fix: &MemoryFix| {
        let suffices = match fix.suffices {
            Some(true) => ", which suffices",
            Some(false) => ", which does not suffice alone",
            None => "",
        };
        format!(
            "{} Frees at most {}{suffices}.",
            fix.action,
            binary(fix.frees_bytes)
        )
    };
    for fix in of.fixes.iter().take(FIXES) {
        text += &layout.plain_lines(2, &line(fix));
    }
    let more = of.fixes.len().saturating_sub(FIXES);
    if more > 0 {
        let _ = writeln!(
            text,
            "  and {}: --format md",
            counted(more as u64, "more way")
        );
    }
    titled("What would free memory", &text)
}

/// A title above lines, if there are any.
fn titled(title: &str, lines: &str) -> String {
    if lines.is_empty() {
        String::new()
    } else {
        format!("\n{title}\n{lines}")
    }
}
