//! `systole pack`: a run as one file that can be sent and opened.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter};

use super::prelude::*;
use analysis::compare::to_json;
use analysis::engine::environment::RUN_FILE;
use importers::{ArchiveWriter, PACK_FACTS, PACKED_PROFILES, PACKED_SESSION};

use crate::common::{GateArgs, JudgeArgs, gating};
use render::{InputFile, html};
use session::files::write_with;
use view::sessions::SessionStore;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct PackArgs {
    #[command(flatten)]
    pub input: TraceRequest,
    /// The archive: a ZIP file, by convention with the ending .systole.zip
    #[arg(short, long, value_name = "FILE.systole.zip")]
    pub output: PathBuf,
    #[command(flatten)]
    pub force: ForceArgs,
    /// Session of the window to pack, by its name; by default the one of this run that was saved last
    #[arg(long, value_name = "NAME", conflicts_with = "no_session")]
    pub session: Option<String>,
    /// Leave out sessions, with their notes
    #[arg(long)]
    pub no_session: bool,
}

/// Runs the command; `version` is that of the program.
pub fn run(args: &PackArgs, version: &str, stderr: &Stderr) -> Result<CommandOutcome> {
    output::check_file(
        &args.output,
        &OutputGuard::new(args.input.files(), args.force.force),
    )?;
    let loading = Loading::new(&args.input.assume, stderr)?;
    let input = (&*args.input.path, args.input.run.clone());
    let session = loading
        .open(input, Session::open, OutputFormat::JSON, true)?
        .with_sha256(true);
    let files = profiles(&session)?;
    let (summary, page) = reports(args, &session, &loading, stderr)?;
    let view = view_of(args, &session, stderr)?;
    let facts = facts(version, &session, &files, view.is_some())?;
    let mut texts = vec![
        ("summary.json", summary),
        ("report.html", page),
        (PACK_FACTS, facts),
    ];
    texts.extend(view.map(|view| (PACKED_SESSION, view)));
    if let Some(environment) = &session.options().environment {
        texts.push((RUN_FILE, environment.to_json()?));
    }
    let written = write_with(&args.output, |file| {
        let mut archive = ArchiveWriter::new(BufWriter::new(file));
        // The reports come first: they are found at once in a list of files.
        for (name, text) in &texts {
            archive.add(name, text.as_bytes())?;
        }
        for (name, path) in &files {
            let mut add = || {
                File::open(path)
                    .and_then(|file| archive.add(&format!("{PACKED_PROFILES}/{name}"), file))
            };
            add().map_err(|error| {
                io::Error::new(error.kind(), format!("{error}: {}", path.display()))
            })?;
        }
        archive.finish().map(drop)
    });
    written.map_err(RequestError::write(&args.output))?;
    let bytes = std::fs::metadata(&args.output).map_or(0, |about| about.len());
    let profiles = counted(files.len() as u64, "profile");
    stderr.detail(&format!(
        "wrote {}: {profiles}, {}",
        args.output.display(),
        number::bytes(bytes)
    ));
    Ok(CommandOutcome::Done)
}

/// The view of the run in the window, with notes, if it was saved.
fn view_of(args: &PackArgs, session: &Session, stderr: &Stderr) -> Result<Option<String>> {
    let store = SessionStore::of_user();
    let saved = match &args.session {
        Some(name) => Some(store.load(name).map_err(RequestError::Usage)?),
        None if args.no_session => None,
        None => {
            let sources = session
                .model()
                .sources()
                .iter()
                .filter_map(|source| source.path.clone());
            store.of_trace(&sources.chain([args.input.path.clone()]).collect::<Vec<_>>())
        }
    };
    let Some(saved) = saved else { return Ok(None) };
    if !saved.view.may_be_of(session.model()) {
        let what =
            "was saved for another version of the profile: only its notes and its search come back";
        stderr.warn(&format!("session “{}” {what}", saved.name));
    }
    let notes = counted(saved.view.notes.len() as u64, "note");
    stderr.warn(&format!(
        "session “{}” with {notes} is packed, too; --no-session leaves it out",
        saved.name
    ));
    let text = saved.for_archive().map_err(RequestError::Internal)?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

/// The files that were read, by their names in the archive.
fn profiles(session: &Session) -> Result<Vec<(String, PathBuf)>> {
    let (mut files, mut names) = (Vec::new(), BTreeSet::new());
    for source in session.model().sources() {
        // What is in a bucket was copied to this machine.
        let Some(path) = source.copy.as_ref().or(source.path.as_ref()) else {
            return Err(RequestError::Usage(format!(
                "only files can be packed, and {} is none on this machine",
                source.name
            )));
        };
        let name = source.name.replace(['/', '\\', ':'], "_");
        if !names.insert(name.clone()) {
            return Err(RequestError::Usage(format!(
                "two files of this run are called {name}; pack one folder of them"
            )));
        }
        files.push((name, path.clone()));
    }
    Ok(files)
}

/// The summary and the page of the run.
fn reports(
    args: &PackArgs,
    session: &Session,
    loading: &Loading<'_>,
    stderr: &Stderr,
) -> Result<(String, String)> {
    let document = answers::document(session, Scope::WholeTrace, &[] as &[&str])?;
    let judge = JudgeArgs {
        budget: None,
        history: None,
        exit_code_on_fail: 0,
        exit_zero: true,
    };
    let gates = GateArgs {
        baseline: Vec::new(),
        judge,
    };
    let config = args.input.assume.reading.config.as_deref();
    let settings = (config, loading);
    let mut gated = gating::judge(session, document.scope, &gates, settings, true, stderr)?
        .expect("a run is judged where that is needed");
    let page = html::page(&document, &gated);
    for input in &mut gated.run.inputs {
        // Where it lay on this machine concerns nobody else.
        input.path = None;
    }
    Ok((to_json(std::slice::from_ref(&gated.run))?, page))
}

/// What the archive holds, for programs.
fn facts(
    version: &str,
    session: &Session,
    files: &[(String, PathBuf)],
    has_view: bool,
) -> Result<String> {
    let input = |(file, (name, _)): (InputFile, &(String, PathBuf))| {
        json!({
            "file": Path::new(PACKED_PROFILES).join(name).display().to_string().replace('\\', "/"),
            "format": file.format,
            "host": file.host,
            "bytes": file.bytes,
            "fingerprint": file.fingerprint,
            "sha256": file.sha256,
        })
    };
    let profiles: Vec<_> = InputFile::all(session)
        .into_iter()
        .zip(files)
        .map(input)
        .collect();
    let facts = json!({
        "schema": "systole.pack/1",
        "systole": version,
        "profiles": profiles,
        "summary": "summary.json",
        "report": "report.html",
        "session": has_view.then_some(PACKED_SESSION),
    });
    let text = serde_json::to_string_pretty(&facts)?;
    Ok(text + "\n")
}
