//! Opens inputs, with a progress bar on a terminal if it takes long.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use crate::prelude::*;
use analysis::gates::GateConfig;
use analysis::reports::hlo::chosen;
use analysis::{Options, TraceFacts as _};
use importers::{
    ImportError, ImportOptions, ListedRun, ProgressStage, file_name, holds_programs_only,
};
use trace_model::{Severity, Source, UnreadSlices};

use crate::common::args::OutputArgs;
use crate::common::formats::OutputFormat;
use crate::common::stderr::{Stderr, harmless};
use crate::common::terminal;
use crate::common::values::STANDARD;
use request::checks::check_devices;
use request::ignored::IgnoredArgument;
use request::{SettingsFile, ignored, with_wait};
use session::stdin;

/// Delay before the bar appears.
const BAR_AFTER: Duration = Duration::from_millis(500);
const REDRAW_EVERY: Duration = Duration::from_millis(100);
const BAR_CELLS: usize = 30;

/// How inputs are opened: by the arguments and the configuration file, which are read once.
#[derive(Clone)]
pub struct Loading<'a> {
    import: ImportOptions,
    options: Options,
    /// The configuration file.
    pub settings: SettingsFile,
    stderr: &'a Stderr,
}

impl<'a> Loading<'a> {
    /// The same for runs with other programs of the compiler; these if none are named.
    pub fn with_programs(&self, hlo: &[PathBuf]) -> Self {
        let mut other = self.clone();
        if !hlo.is_empty() {
            other.import.hlo = hlo.to_vec();
        }
        other
    }

    /// Reads what the assumptions name.
    pub fn new(assume: &Assumptions, stderr: &'a Stderr) -> Result<Self> {
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

    /// The same for runs that this program wrote: nobody writes them any more.
    #[must_use]
    pub fn of_own_files(mut self) -> Self {
        self.import.wait = Some(Duration::ZERO);
        self
    }

    /// How a run is imported.
    pub fn import(&self, run: Option<String>) -> ImportOptions {
        ImportOptions {
            run,
            ..self.import.clone()
        }
    }

    /// The gates of a file, if one is named.
    pub fn gates_in(&self, file: Option<&Path>) -> Result<Option<GateConfig>> {
        file.map(|file| self.settings.at(file)?.gates()).transpose()
    }

    /// The assumptions of reports.
    pub fn options(&self) -> Options {
        self.options.clone()
    }

    /// Opens an input, whole or for reports, and reports details on stderr. What it is identified by is found while its
    /// bytes are at hand, for who writes that.
    pub fn open(
        &self,
        (path, run): (&Path, Option<String>),
        open: OpenSession,
        format: OutputFormat,
        is_identified: bool,
    ) -> Result<Session> {
        let import = ImportOptions {
            fingerprints: is_identified,
            ..self.import(run)
        };
        self.opened(path, &import, open, format)
    }

    /// The same for reports; of what can have no times the programs.
    pub fn open_for_reports(
        &self,
        path: &Path,
        run: Option<String>,
        format: OutputFormat,
        is_identified: bool,
    ) -> Result<Session> {
        let import = self.import(run.clone());
        let input = (path, run.clone());
        let opened = self.open(input, Session::open_for_reports, format, is_identified);
        let is_program = || holds_programs_only(path, &import, &Progress::new());
        match opened {
            Err(error) if is_program() => {
                let session = self.open_programs(path, run, is_identified)?;
                // Sums are those of whole programs.
                match cut_of(&session) {
                    None => Ok(session),
                    // What can be played says so itself.
                    Some(_) if session.model().sources().iter().any(is_played) => Err(error),
                    Some(place) => Err(RequestError::DoesNotApply(format!(
                        "its text ends {place}, and sums are of whole programs: save it again; systole hlo reads what there \
                         is: {}",
                        path.display()
                    ))),
                }
            }
            opened => opened,
        }
    }

    /// The same for questions about programs, which need no times, and whose answers are reports. They do not name losses.
    pub fn open_programs(
        &self,
        path: &Path,
        run: Option<String>,
        is_identified: bool,
    ) -> Result<Session> {
        let import = ImportOptions {
            programs_only: true,
            fingerprints: is_identified,
            ..self.import(run)
        };
        let open = Session::open_for_reports;
        self.opened(path, &import, open, OutputFormat::JSON)
    }

    fn opened(
        &self,
        path: &Path,
        import: &ImportOptions,
        open: OpenSession,
        format: OutputFormat,
    ) -> Result<Session> {
        let session = self.read(path, import, open)?;
        check_devices(&session, &self.options.devices)?;
        ignored::check_topology(&session)?;
        let unused = ignored::ignored(&session, import.clock_mhz.is_some());
        let unused: Vec<String> = unused
            .iter()
            .map(IgnoredArgument::on_command_line)
            .collect();
        for said in &unused {
            self.stderr.warn(said);
        }
        // The text report names the files itself.
        if !format.is_text {
            warn_of_losses(&session, self.stderr);
        }
        Ok(session.with_unused_arguments(unused))
    }

    fn read(&self, path: &Path, import: &ImportOptions, open: OpenSession) -> Result<Session> {
        let (started, stderr) = (Instant::now(), self.stderr);
        let is_stdin = path.as_os_str() == STANDARD;
        if let Some(why) = stdin::refusal().filter(|_| is_stdin) {
            return Err(RequestError::Usage(why.to_owned()));
        }
        let progress = Arc::new(Progress::new());
        let bar = (stderr.warns() && std::io::stderr().is_terminal())
            .then(|| progress_bar(Arc::clone(&progress)))
            .flatten();
        let notice = wait_notice(path, &progress, stderr);
        let opened = open(path, import, self.options(), &progress);
        notice.into_iter().chain(bar).for_each(Narrator::stop);
        let session = opened.map_err(|error| RequestError::import(error, path))?;
        say_what_was_read(&session, stderr, started.elapsed());
        // Not every format prints them.
        for (_, said) in ignored::which_files(&session) {
            stderr.warn(&with_wait(&said));
        }
        Ok(session)
    }
}

/// Where the largest program of a session ends too early.
fn cut_of(session: &Session) -> Option<String> {
    let cx = session.context(Scope::WholeTrace);
    let largest = *chosen(&cx, None).ok()?.first()?;
    cx.hlo(largest).ok()?.cut.clone()
}

fn is_played(source: &Source) -> bool {
    source.format == "scheduled-hlo"
}

/// How a session is opened: [`Session::open`], or [`Session::open_for_reports`] where nothing shows slices.
pub type OpenSession =
    fn(&Path, &ImportOptions, Options, &Progress) -> Result<Session, ImportError>;

/// Opens the input of a command that has one.
pub fn open(
    input: &TraceRequest,
    open: OpenSession,
    format: OutputFormat,
    stderr: &Stderr,
) -> Result<Session> {
    let path = (&*input.path, input.run.clone());
    Loading::new(&input.assume, stderr)?.open(path, open, format, false)
}

/// The same for commands that write documents.
pub fn open_for(
    output: &OutputArgs,
    input: &TraceRequest,
    open: OpenSession,
    stderr: &Stderr,
) -> Result<Session> {
    let path = (&*input.path, input.run.clone());
    let is_identified = output.identifies_input();
    Loading::new(&input.assume, stderr)?.open(path, open, output.format, is_identified)
}

/// Lists the runs of a directory, and says so after a while.
pub fn list_runs(path: &Path, stderr: &Stderr) -> Result<Vec<ListedRun>, ImportError> {
    let progress = Arc::new(Progress::new());
    let notice = wait_notice(path, &progress, stderr);
    let listed = importers::list_log_directory(path, &progress);
    notice.into_iter().for_each(Narrator::stop);
    let (runs, beside) = listed?;
    if !beside.is_empty() {
        let names = joined(beside.iter().take(3).map(|path| file_name(path)), ", ");
        stderr.warn(&format!(
            "{} beside the runs not listed: open one by its path. First: {names}",
            counted(beside.len() as u64, "profile"),
        ));
    }
    Ok(runs)
}

fn say_what_was_read(session: &Session, stderr: &Stderr, elapsed: Duration) {
    let model = session.model();
    for source in model.sources() {
        stderr.detail(&format!(
            "read {} as {}, {} bytes",
            source.name, source.format, source.packed_bytes
        ));
    }
    let unread: u64 = model.unread().iter().map(UnreadSlices::count).sum();
    let only = match unread {
        0 => String::new(),
        unread => format!("; {unread} of them were only counted"),
    };
    stderr.detail(&format!(
        "{} slices on {} tracks in {:.3} s{only}",
        model.recorded_slices(),
        model.tracks().len(),
        elapsed.as_secs_f64()
    ));
    for issue in model.import_log().counts() {
        for example in &issue.examples {
            stderr.detail(&format!("{}: {example}", issue.kind.id()));
        }
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
fn wait_notice(path: &Path, progress: &Arc<Progress>, stderr: &Stderr) -> Option<Narrator> {
    let is_stream = is_stream(path);
    let (shown, progress) = (importers::shown_path(path), Arc::clone(progress));
    let say = move |stopped: Receiver<()>| {
        if stopped.recv_timeout(BAR_AFTER) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let shown = shown.display();
        let what = match progress.stage() {
            _ if is_stream => format!("waiting for data from {shown}; Ctrl+C stops"),
            ProgressStage::Waiting => format!("waiting until {shown} is written; Ctrl+C stops"),
            ProgressStage::Looking => format!("looking for runs below {shown}; Ctrl+C stops"),
            _ => return,
        };
        terminal::write_stderr(&format!("{}\n", harmless(&what)));
    };
    if stderr.warns() {
        Narrator::start("wait-notice", say)
    } else {
        None
    }
}

/// A thread that draws the progress bar.
fn progress_bar(progress: Arc<Progress>) -> Option<Narrator> {
    Narrator::start("progress-bar", move |stopped| {
        let mut wait = BAR_AFTER;
        let mut drawn = false;
        while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            draw_bar(&progress);
            drawn = true;
            wait = REDRAW_EVERY;
        }
        if drawn {
            terminal::write_stderr("\r\x1b[K");
        }
    })
}

/// A thread that tells of the work of another until stopped.
struct Narrator {
    stop: SyncSender<()>,
    thread: thread::JoinHandle<()>,
}

impl Narrator {
    /// `None` if no thread can be started; then nothing is told.
    fn start(name: &str, tell: impl FnOnce(Receiver<()>) + Send + 'static) -> Option<Self> {
        let (stop, stopped) = sync_channel(1);
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(|| tell(stopped))
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
    terminal::write_stderr(&format!("\r\x1b[K{line}"));
}

#[cfg(all(test, unix))]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::common::args::MessageArgs;

    #[derive(Parser)]
    struct AnyCommand {
        #[command(flatten)]
        input: TraceRequest,
        #[command(flatten)]
        output: OutputArgs,
    }

    /// There is another file when the fingerprint is asked for: only the import had the bytes.
    #[test]
    fn the_import_finds_the_fingerprint_for_those_who_write_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cpu.xplane.pb");
        let sample = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../assets/samples/jax_cpu_small.xplane.pb"
        );
        let stderr = Stderr::new(&MessageArgs {
            quiet: true,
            verbose: false,
            no_color: true,
            jobs: None,
        });
        let found = |arguments: &[&str]| {
            std::fs::copy(sample, &path).unwrap();
            let start = ["systole".as_ref(), path.as_os_str()];
            let words = start.into_iter().chain(arguments.iter().map(AsRef::as_ref));
            let AnyCommand { input, output } = AnyCommand::try_parse_from(words).unwrap();
            let session = open_for(&output, &input, Session::open, &stderr)
                .unwrap()
                .with_sha256(true);
            let source = &session.model().sources()[0];
            let there = session.fingerprint_of(source);
            assert!(there.is_some(), "as long as the file is there");
            let sha256 = session.sha256_of(source).unwrap();
            assert_eq!(sha256.len(), 64, "{sha256}");
            std::fs::write(&path, "another file").unwrap();
            let after = session.fingerprint_of(source);
            (after == there, session.sha256_of(source).is_some())
        };
        let [json, html] = [["--format", "json"], ["-o", "html=a.html"]].map(|words| found(&words));
        assert_eq!(json, (true, false), "the other file has another SHA-256");
        assert_eq!(html, (true, false));
        assert_eq!(found(&["--format", "text"]), (false, true), "as it is now");
    }
}
