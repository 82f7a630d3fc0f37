//! `systole anonymize`: a profile without names of people, machines and files.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::time::SystemTime;

use super::prelude::*;
use analysis::{ANALYSES, printable};
use flate2::Compression;
use flate2::write::GzEncoder;
use importers::InputSource;

use session::anonymize::{FileKind, Kept, NameKind, Names, learn, regions_of, replace};
use session::files::{KEPT_TEXTS, write_with};

/// Texts that are shown of each kind that stays.
const EXAMPLES: usize = 3;
const EXAMPLE_WIDTH: usize = 60;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct AnonymizeArgs {
    #[command(flatten)]
    pub input: TraceRequest,
    /// A file for a file, a directory for a run
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Replace these words, too, wherever they are: a project, a model, a scope
    #[arg(long, value_name = "WORD,…", value_delimiter = ',')]
    pub replace: Vec<String>,
    /// Write all texts that stay to this file, one a line, to look through before the profile is shared
    #[arg(long, value_name = "FILE")]
    pub list: Option<PathBuf>,
    #[command(flatten)]
    pub force: ForceArgs,
}

/// One file of the run.
struct OneFile {
    kind: FileKind,
    is_gzip: bool,
    out: PathBuf,
    bytes: Vec<u8>,
    /// When the original was written: a damaged file that is new looks as if it were still being written.
    modified: Option<SystemTime>,
}

pub fn run(args: &AnonymizeArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    if let Some(list) = &args.list {
        let read = args.input.files().into_iter().chain([args.output.clone()]);
        output::check_file(list, &OutputGuard::new(read, args.force.force))?;
    }
    let session = loading::open(&args.input, Session::open, OutputFormat::JSON, stderr)?;
    let mut names = Names::default();
    for word in args.replace.iter().filter(|word| !word.is_empty()) {
        names.learn(NameKind::Word, word.as_bytes());
    }
    let mut files = read(&session, &mut names, args)?;
    let mut kept = Kept::default();
    for file in &mut files {
        let regions = regions_of(file.kind, &file.bytes);
        replace(&mut file.bytes, &regions, &mut names, &mut kept);
    }
    // The input must stay, and what fails the check below is removed.
    if let Some(there) = files.iter().find(|file| file.out.exists()) {
        return Err(RequestError::Usage(format!(
            "-o: choose another place, this exists already: {}",
            there.out.display()
        )));
    }
    for file in &files {
        write(file)?;
    }
    check_figures(args, &session, &files, stderr)?;
    if let Some(list) = &args.list {
        let texts: BTreeSet<&String> = kept.texts.values().flatten().collect();
        let lines: String = texts
            .into_iter()
            .map(|text| text.replace('\n', "\\n") + "\n")
            .collect();
        output::write_to(list, &format!("{KEPT_TEXTS}\n{lines}"))?;
    }
    output::print_names(&in_words(&names, &kept, args.list.as_deref()))?;
    Ok(CommandOutcome::Done)
}

/// The files of the run, and the names in them.
fn read(session: &Session, names: &mut Names, args: &AnonymizeArgs) -> Result<Vec<OneFile>> {
    let sources = session.model().sources();
    for host in sources.iter().filter_map(|source| source.host.as_deref()) {
        names.learn(NameKind::Host, host.as_bytes());
    }
    let is_file = args.input.path.is_file();
    let mut files = Vec::new();
    for source in sources {
        let kind = match source.format {
            "xplane" => FileKind::XPlane,
            "trace-event-json" => FileKind::Json,
            other => {
                return Err(RequestError::Usage(format!(
                    "anonymize reads XLA profiles (xplane) and trace-event JSON, and {} is {other}",
                    source.name
                )));
            }
        };
        let Some(path) = &source.path else {
            return Err(RequestError::Usage(format!(
                "{} is no file on this machine: unpack or save it first",
                source.name
            )));
        };
        let failed = |error| RequestError::import(error, path);
        // What is in a bucket was copied to this machine.
        let file = source.copy.as_ref().unwrap_or(path);
        let modified = file
            .metadata()
            .and_then(|metadata| metadata.modified())
            .ok();
        let input = InputSource::open(file).map_err(failed)?;
        let is_gzip = Path::new(&source.name)
            .extension()
            .is_some_and(|ending| ending == "gz");
        let content = input.content(&Progress::new()).map_err(failed)?;
        if let Some(damage) = &content.damage {
            return Err(RequestError::Usage(format!(
                "copy the file again, its end is missing ({damage}): {}",
                path.display()
            )));
        }
        let bytes = (*content.bytes).as_ref().to_vec();
        learn(&bytes, &regions_of(kind, &bytes), names);
        let out = if is_file {
            args.output.clone()
        } else {
            args.output
                .join(file_name(path, source.host.as_deref(), names))
        };
        files.push(OneFile {
            kind,
            is_gzip,
            out,
            bytes,
            modified,
        });
    }
    Ok(files)
}

/// Where a file of a run is written: in a run folder of the same name, with another name of the host.
fn file_name(path: &Path, host: Option<&str>, names: &mut Names) -> PathBuf {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let name = match host.and_then(|host| Some((host, name.strip_prefix(host)?))) {
        Some((host, ending)) => {
            let mut host = host.as_bytes().to_vec();
            names.replace_host(&mut host);
            format!("{}{ending}", String::from_utf8_lossy(&host))
        }
        None => name,
    };
    let run = path.parent().filter(|run| {
        run.parent()
            .is_some_and(|profile| profile.ends_with("plugins/profile"))
    });
    run.and_then(Path::file_name)
        .map(|run| Path::new("plugins").join("profile").join(run))
        .unwrap_or_default()
        .join(name)
}

fn write(file: &OneFile) -> Result<()> {
    let failed = RequestError::write(&file.out);
    if let Some(folder) = file.out.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let written = write_with(&file.out, |out| -> io::Result<()> {
        if !file.is_gzip {
            return out.write_all(&file.bytes);
        }
        let mut encoder = GzEncoder::new(out, Compression::default());
        encoder.write_all(&file.bytes)?;
        encoder.finish().map(drop)
    });
    written.map_err(failed)?;
    match file.modified {
        Some(time) => File::options()
            .write(true)
            .open(&file.out)
            .and_then(|out| out.set_modified(time))
            .map_err(failed),
        None => Ok(()),
    }
}

/// Opens what was written, and compares all numbers of all reports. What differs is not kept.
fn check_figures(
    args: &AnonymizeArgs,
    before: &Session,
    files: &[OneFile],
    stderr: &Stderr,
) -> Result<()> {
    let written = TraceRequest {
        path: args.output.clone(),
        run: None,
        assume: args.input.assume.clone(),
    };
    let after = loading::open(&written, Session::open, OutputFormat::JSON, stderr)?;
    let differing: Vec<&str> = ANALYSES
        .iter()
        .map(|entry| entry.id)
        .filter(|id| figures(before, id) != figures(&after, id))
        .collect();
    if differing.is_empty() {
        return Ok(());
    }
    for file in files {
        // Nobody shall share it by mistake; a file that cannot be removed is named below.
        let _ = std::fs::remove_file(&file.out);
    }
    let cure = if args.replace.is_empty() {
        "they depend on names that had to be replaced"
    } else {
        "leave out words of --replace that are names of ops or kinds of ops"
    };
    Err(RequestError::Usage(format!(
        "nothing is written: with other names these reports have other figures: {}; {cure}",
        differing.join(", ")
    )))
}

/// All numbers of a report, sorted: the order of rows may depend on names.
fn figures(session: &Session, id: &str) -> Vec<String> {
    fn collect(value: &Value, numbers: &mut Vec<String>) {
        match value {
            Value::Number(number) => numbers.push(number.to_string()),
            Value::Array(values) => values.iter().for_each(|value| collect(value, numbers)),
            Value::Object(fields) => {
                // How this program stores names is no figure of the profile.
                let of_profile = fields.iter().filter(|(name, _)| *name != "string_bytes");
                of_profile.for_each(|(_, value)| collect(value, numbers));
            }
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
    let mut numbers = Vec::new();
    if let Ok(report) = session.report_by_id(id, Scope::WholeTrace) {
        let json = serde_json::to_value(report.json()).unwrap_or_default();
        collect(&json, &mut numbers);
    }
    numbers.sort();
    numbers
}

fn in_words(names: &Names, kept: &Kept, list: Option<&Path>) -> String {
    let mut text = "Replaced, each by a name of the same length\n".to_owned();
    for kind in NameKind::ALL {
        let of: Vec<_> = names.replaced().filter(|(of, _, _)| *of == kind).collect();
        if !of.is_empty() {
            let _ = writeln!(text, "  {}: {}", kind.title(), of.len());
        }
        for (_, name, stand_in) in of.iter().take(EXAMPLES) {
            let [name, stand_in] =
                [name, stand_in].map(|name| printable(&String::from_utf8_lossy(name)));
            let _ = writeln!(text, "     {name} → {stand_in}");
        }
    }
    text.push_str(
        "Checked: all numbers of all reports are the same\nKept, look at them before you share the profile\n",
    );
    for (kind, texts) in &kept.texts {
        let _ = writeln!(text, "  {}: {}", kind.title(), texts.len());
        for example in texts
            .iter()
            .filter(|text| text.chars().any(char::is_alphabetic))
            .take(EXAMPLES)
        {
            let line: String = printable(example).chars().take(EXAMPLE_WIDTH).collect();
            let _ = writeln!(
                text,
                "     {line}{}",
                if example.chars().count() > EXAMPLE_WIDTH {
                    "…"
                } else {
                    ""
                }
            );
        }
    }
    if kept.opaque_bytes > 0 {
        let _ = writeln!(
            text,
            "  {} of data that is no text",
            counted(kept.opaque_bytes, "byte")
        );
    }
    if let (bytes @ 1.., places) = kept.unreadable {
        let _ = writeln!(
            text,
            "Lost: {} in {} that cannot be read because of damage are zeros now; no report has read them",
            counted(bytes, "byte"),
            counted(places, "place"),
        );
    }
    match list {
        Some(list) => text + &format!("All of them: {}\n", list.display()),
        None => text + "All of them: --list FILE. Replace more: --replace WORD,…\n",
    }
}
