//! Opens inputs, with a progress bar on a terminal if it takes long.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use analysis::Options;
use importers::{ImportError, ImportOptions, ListedRun, Progress, ProgressStage};
use trace_model::{IssueKind, Severity};

use crate::common::stderr::{Stderr, harmless};
use crate::common::values::{OutputFormat, STANDARD};
use request::{Assumptions, RequestError, SettingsFile, TraceRequest};
use session::Session;
use session::fingerprint::BackgroundHash;
use session::stdin;

/// Delay before the bar appears.
const BAR_AFTER: Duration = Duration::from_millis(500);
const REDRAW_EVERY: Duration = Duration::from_millis(100);
const BAR_CELLS: usize = 30;

/// How inputs are opened: by the arguments and the configuration file, which are read once.
pub struct Loading<'a> {
    import: ImportOptions,
    options: Options,
    /// The configuration file.
    pub settings: SettingsFile,
    stderr: &'a Stderr,
}

impl<'a> Loading<'a> {
    /// Reads what the assumptions name.
    pub fn new(assume: &Assumptions, stderr: &'a Stderr) -> Result<Self, RequestError> {
        let settings = SettingsFile::of(assume.reading.config.as_deref())?;
        let options = assume.options(&settings)?;
        settings.expired().iter().for_each(|said| stderr.warn(said));
        Ok(Self {
            import: ImportOptions {
                short_lived: true,
                ..assume.import(None)?
            },
            options,
            settings,
            stderr,
        })
    }

    /// How a run is imported.
    pub fn import(&self, run: Option<String>) -> ImportOptions {
        ImportOptions {
            run,
            ..self.import.clone()
        }
    }

    /// The assumptions of reports.
    pub fn options(&self) -> Options {
        self.options.clone()
    }

    /// Opens an input and reports details on stderr.
    pub fn open(
        &self,
        path: &Path,
        run: Option<String>,
        format: OutputFormat,
    ) -> Result<Session, RequestError> {
        let session = self.read(path, &self.import(run), Session::open, hashes(format))?;
        self.say_losses(&session, format);
        Ok(session)
    }

    /// The same for commands that ask for nothing but reports.
    pub fn open_for_reports(
        &self,
        path: &Path,
        run: Option<String>,
        format: OutputFormat,
    ) -> Result<Session, RequestError> {
        let import = self.import(run);
        let session = self.read(path, &import, Session::open_for_reports, hashes(format))?;
        self.say_losses(&session, format);
        Ok(session)
    }

    /// The text report names the files itself.
    fn say_losses(&self, session: &Session, format: OutputFormat) {
        if format != OutputFormat::Text {
            warn_of_losses(session, self.stderr);
        }
    }

    /// The same for commands that print no digest of the input: it is not computed meanwhile.
    pub fn open_without_digest(
        &self,
        path: &Path,
        run: Option<String>,
    ) -> Result<Session, RequestError> {
        let session = self.read(path, &self.import(run), Session::open, false)?;
        warn_of_losses(&session, self.stderr);
        Ok(session)
    }

    /// The same for questions about programs, which need no times. Answers do not name losses.
    pub fn open_programs(
        &self,
        path: &Path,
        run: Option<String>,
        format: OutputFormat,
    ) -> Result<Session, RequestError> {
        let import = ImportOptions {
            programs_only: true,
            ..self.import(run)
        };
        let session = self.read(path, &import, Session::open, hashes(format))?;
        warn_of_losses(&session, self.stderr);
        Ok(session)
    }

    /// Imports an input, and computes its digest meanwhile if it `hashes`.
    fn read(
        &self,
        path: &Path,
        import: &ImportOptions,
        open: OpenSession,
        hashes: bool,
    ) -> Result<Session, RequestError> {
        let (started, stderr) = (Instant::now(), self.stderr);
        let is_stdin = path.as_os_str() == STANDARD;
        if let Some(why) = stdin::refusal().filter(|_| is_stdin) {
            return Err(RequestError::Usage(why.to_owned()));
        }
        let progress = Arc::new(Progress::new());
        let bar = (stderr.warns() && std::io::stderr().is_terminal())
            .then(|| ProgressLine::start(Arc::clone(&progress)))
            .flatten();
        let notice = if stderr.warns() {
            WaitNotice::start(path, &progress)
        } else {
            None
        };
        let hash = if hashes {
            BackgroundHash::start(path)
        } else {
            None
        };
        let opened = open(path, import, self.options(), &progress);
        if let Some(notice) = notice {
            notice.stop();
        }
        if let Some(bar) = bar {
            bar.stop();
        }
        let session = opened
            .map_err(|error| RequestError::import(error, path))?
            .with_hash(hash);
        say_what_was_read(&session, stderr, started.elapsed());
        say_which_files(&session, stderr);
        Ok(session)
    }
}

/// How a session is opened.
type OpenSession = fn(&Path, &ImportOptions, Options, &Progress) -> Result<Session, ImportError>;

/// Opens the input of a command that has one.
pub fn open(
    input: &TraceRequest,
    format: OutputFormat,
    stderr: &Stderr,
) -> Result<Session, RequestError> {
    Loading::new(&input.assume, stderr)?.open(&input.path, input.run.clone(), format)
}

/// The same for commands that print no digest of the input.
pub fn open_without_digest(input: &TraceRequest, stderr: &Stderr) -> Result<Session, RequestError> {
    Loading::new(&input.assume, stderr)?.open_without_digest(&input.path, input.run.clone())
}

/// Of all formats, only JSON has the digest.
fn hashes(format: OutputFormat) -> bool {
    format == OutputFormat::Json
}

/// Lists the runs of a directory, and says so after a while.
pub fn list_runs(path: &Path, stderr: &Stderr) -> Result<Vec<ListedRun>, ImportError> {
    let progress = Arc::new(Progress::new());
    let notice = if stderr.warns() {
        WaitNotice::start(path, &progress)
    } else {
        None
    };
    let listed = importers::list_runs(path, &progress);
    if let Some(notice) = notice {
        notice.stop();
    }
    listed
}

fn say_what_was_read(session: &Session, stderr: &Stderr, elapsed: Duration) {
    let model = session.model();
    for source in model.sources() {
        stderr.detail(&format!(
            "read {} as {}, {} bytes",
            source.name, source.format, source.packed_bytes
        ));
    }
    let count = model.recorded_slices();
    stderr.detail(&format!(
        "{count} slices on {} tracks in {:.3} s",
        model.tracks().len(),
        elapsed.as_secs_f64()
    ));
    for issue in model.import_log().counts() {
        for example in &issue.examples {
            stderr.detail(&format!("{}: {example}", issue.kind.id()));
        }
    }
}

/// Reports which files were read if that does not follow from the given path, because not every format prints them.
fn say_which_files(session: &Session, stderr: &Stderr) {
    let about = [
        IssueKind::RunsJoined,
        IssueKind::RunNearby,
        IssueKind::SessionsApart,
        IssueKind::SameContent,
        IssueKind::StillWritten,
        IssueKind::ProgramFromDump,
        IssueKind::ProgramNotInDump,
    ];
    for issue in session
        .model()
        .import_log()
        .counts()
        .iter()
        .filter(|issue| about.contains(&issue.kind))
    {
        stderr.warn(&format!(
            "{} {}",
            issue.kind.explain(),
            issue.examples.join("; ")
        ));
    }
}

fn warn_of_losses(session: &Session, stderr: &Stderr) {
    let counts = session.model().import_log().counts().iter();
    for issue in counts.filter(|issue| issue.kind.severity() == Severity::Loss) {
        let first = issue
            .examples
            .first()
            .map_or(String::new(), |example| format!(" First: {example}"));
        stderr.warn(&format!(
            "{} ({}×){first}",
            issue.kind.explain(),
            issue.count
        ));
    }
}

/// Whether the path is a pipe or device, which can block the reader.
fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// A thread that reports, after a while, that a pipe delivers no data, or that files are still being written.
struct WaitNotice(ProgressLine);

impl WaitNotice {
    fn start(path: &Path, progress: &Arc<Progress>) -> Option<Self> {
        let is_stream = is_stream(path);
        let (shown, progress) = (importers::shown_path(path), Arc::clone(progress));
        let (stop, stopped) = sync_channel(1);
        let say = move || {
            if stopped.recv_timeout(BAR_AFTER) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let what = if is_stream {
                format!("waiting for data from {}; Ctrl+C stops", shown.display())
            } else if progress.stage() == ProgressStage::Waiting {
                format!("waiting until {} is written; Ctrl+C stops", shown.display())
            } else if progress.stage() == ProgressStage::Looking {
                format!("looking for runs below {}; Ctrl+C stops", shown.display())
            } else {
                return;
            };
            write_stderr(&format!("{}\n", harmless(&what)));
        };
        let thread = thread::Builder::new()
            .name("wait-notice".to_owned())
            .spawn(say)
            .ok()?;
        Some(Self(ProgressLine { stop, thread }))
    }

    fn stop(self) {
        self.0.stop();
    }
}

/// A thread that draws the progress bar until stopped.
struct ProgressLine {
    stop: std::sync::mpsc::SyncSender<()>,
    thread: thread::JoinHandle<()>,
}

impl ProgressLine {
    /// `None` if no thread can be started; then there is no bar.
    fn start(progress: Arc<Progress>) -> Option<Self> {
        let (stop, stopped) = sync_channel(1);
        let draw = move || {
            let mut wait = BAR_AFTER;
            let mut drawn = false;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                draw_bar(&progress);
                drawn = true;
                wait = REDRAW_EVERY;
            }
            if drawn {
                write_stderr("\r\x1b[K");
            }
        };
        let thread = thread::Builder::new()
            .name("progress-bar".to_owned())
            .spawn(draw)
            .ok()?;
        Some(Self { stop, thread })
    }

    fn stop(self) {
        drop(self.stop);
        let _ = self.thread.join();
    }
}

fn draw_bar(progress: &Progress) {
    let (done, total) = progress.bytes();
    let line = match progress.fraction() {
        Some(fraction) => {
            let full = ((fraction * BAR_CELLS as f32) as usize).min(BAR_CELLS);
            let (bar, rest) = ("█".repeat(full), "░".repeat(BAR_CELLS - full));
            let megabytes = |bytes: u64| bytes as f64 / 1e6;
            let what = match progress.stage() {
                ProgressStage::Reading | ProgressStage::Waiting | ProgressStage::Looking => "",
                ProgressStage::Downloading => " downloaded",
            };
            let percent = fraction * 100.0;
            format!(
                "{bar}{rest} {percent:3.0} %  {:.0} of {:.0} MB{what}",
                megabytes(done),
                megabytes(total)
            )
        }
        None => match progress.stage() {
            ProgressStage::Reading => "reading …".to_owned(),
            ProgressStage::Downloading => "waiting for the server …".to_owned(),
            ProgressStage::Waiting => "waiting until the run is written …".to_owned(),
            ProgressStage::Looking => "looking for runs …".to_owned(),
        },
    };
    write_stderr(&format!("\r\x1b[K{line}"));
}

fn write_stderr(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // A bar that cannot be drawn is no reason to stop.
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

#[cfg(all(test, unix))]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::common::args::MessageArgs;
    use session::fingerprint::sha256_of;

    #[derive(Parser)]
    struct AnyCommand {
        #[command(flatten)]
        input: TraceRequest,
    }

    /// The file is gone when the digest is asked for: only who computes it meanwhile still has its bytes.
    #[test]
    fn the_digest_is_computed_meanwhile_for_those_who_print_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cpu.xplane.pb");
        let sample = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../assets/samples/jax_cpu_small.xplane.pb"
        );
        let sha256 = sha256_of(Path::new(sample)).unwrap();
        let input = AnyCommand::try_parse_from(["systole".as_ref(), path.as_os_str()])
            .unwrap()
            .input;
        let stderr = Stderr::new(&MessageArgs {
            quiet: true,
            verbose: false,
            no_color: true,
            jobs: None,
        });
        let digest = |open: &dyn Fn() -> Result<Session, RequestError>| {
            std::fs::copy(sample, &path).unwrap();
            let session = open().unwrap();
            std::fs::remove_file(&path).unwrap();
            session.sha256_of(&session.model().sources()[0])
        };
        assert_eq!(
            digest(&|| open(&input, OutputFormat::Json, &stderr)),
            Some(sha256)
        );
        assert_eq!(digest(&|| open(&input, OutputFormat::Text, &stderr)), None);
        assert_eq!(digest(&|| open_without_digest(&input, &stderr)), None);
    }
}
