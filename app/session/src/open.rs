//! One open trace and the reports about it, shared by both front ends.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use analysis::facts::op_scan::forget_op_scans;
use analysis::hints::Hints;
use analysis::reports::summary::verdict::RunVerdict;
use analysis::what_if::SharedReplay;
use analysis::{
    ANALYSES, Analysis, AnalysisError, Context, Options, Report, ReportCache, Scope, host_event_use,
};
use importers::{HostEvents, ImportError, ImportOptions, Progress, return_free_memory};
use trace_model::{Severity, Source, TraceModel};

use crate::environment;
use crate::files::open_regular;
use crate::fingerprint::{fingerprint_of, fingerprint_text, sha256_of};
use crate::stdin;
use trace_model::locked;

/// Slices from which on it pays to return memory before more is needed.
const MANY_SLICES: usize = 4_000_000;

/// An open trace. Cheap to clone: clones share the model and the reports.
#[derive(Clone, Debug)]
pub struct Session {
    path: Option<PathBuf>,
    model: TraceModel,
    options: Arc<Options>,
    reports: Arc<ReportCache>,
    /// Standard input, if that was read.
    stdin: Option<Arc<stdin::Spooled>>,
    /// Whether the SHA-256 of the files is wanted.
    has_sha256: bool,
    /// What of the given arguments changes nothing, in sentences.
    unused_arguments: Arc<[String]>,
    /// Number of [`RequestSession`]s.
    requests: Arc<Mutex<usize>>,
}

impl Session {
    /// Imports what `path` names (see [`importers::locate`]), or standard input if it is `-`.
    pub fn open(
        path: &Path,
        import: &ImportOptions,
        options: Options,
        progress: &Progress,
    ) -> Result<Self, ImportError> {
        let import = ImportOptions {
            for_reports: None,
            ..import.clone()
        };
        Self::import(path, &import, options, progress)
    }

    /// Opens a trace of which only reports will be asked for: events of hosts that no report reads are only counted.
    pub fn open_for_reports(
        path: &Path,
        import: &ImportOptions,
        options: Options,
        progress: &Progress,
    ) -> Result<Self, ImportError> {
        let asked = options.clone();
        let wanted = HostEvents::new(move |name| host_event_use(name, &asked));
        let import = ImportOptions {
            for_reports: Some(wanted),
            ..import.clone()
        };
        Self::import(path, &import, options, progress)
    }

    fn import(
        path: &Path,
        import: &ImportOptions,
        options: Options,
        progress: &Progress,
    ) -> Result<Self, ImportError> {
        if path.as_os_str() == stdin::STANDARD {
            let stdin = stdin::Spooled::read()?;
            let model = importers::import_source(&stdin.source()?, import, progress)?;
            return Ok(Self {
                stdin: Some(Arc::new(stdin)),
                ..Self::from_model(model, options)
            });
        }
        let model = importers::import_path(path, import, progress)?;
        let options = Options {
            environment: environment::of(&model, path, import, progress).map(Arc::new),
            ..options
        };
        Ok(Self {
            path: Some(importers::shown_path(path)),
            ..Self::from_model(model, options)
        })
    }

    /// A session for a model from another source.
    pub fn from_model(model: TraceModel, options: Options) -> Self {
        Self {
            path: None,
            model,
            options: Arc::new(options),
            reports: Arc::default(),
            stdin: None,
            has_sha256: false,
            unused_arguments: Arc::default(),
            requests: Arc::default(),
        }
    }

    /// This trace with the peaks of a published chip for devices that record none, and no reports yet.
    #[must_use]
    pub fn with_chip(&self, chip: &str) -> Self {
        let options = Options {
            device_spec: Some(chip.to_owned()),
            own_chip: None,
            ..(*self.options).clone()
        };
        Self {
            options: Arc::new(options),
            ..self.anew()
        }
    }

    /// This trace; its files have a SHA-256, too, if it is `wanted`.
    #[must_use]
    pub fn with_sha256(self, wanted: bool) -> Self {
        Self {
            has_sha256: wanted,
            ..self
        }
    }

    /// This trace, with what of the given arguments changes nothing, in sentences.
    #[must_use]
    pub fn with_unused_arguments(self, said: impl IntoIterator<Item = String>) -> Self {
        Self {
            unused_arguments: said.into_iter().collect(),
            ..self
        }
    }

    /// What of the given arguments changes nothing, in sentences.
    pub fn unused_arguments(&self) -> &[String] {
        &self.unused_arguments
    }

    /// The fingerprint of a file of this trace, as it is written; `None` if it is not known and the file cannot be read
    /// any more.
    pub fn fingerprint_of(&self, source: &Source) -> Option<String> {
        let fingerprint = match (source.fingerprint, file_of(source)) {
            (Some(known), _) => Some(known),
            (None, Some(path)) => open_regular(path).and_then(fingerprint_of).ok(),
            (None, None) => self.stdin.as_ref().map(|stdin| stdin.fingerprint),
        };
        fingerprint.map(fingerprint_text)
    }

    /// The SHA-256 of a file of this trace, in hexadecimal digits; `None` if it is not wanted, or if the file cannot be
    /// read any more.
    pub fn sha256_of(&self, source: &Source) -> Option<String> {
        if !self.has_sha256 {
            return None;
        }
        let sha256 = match file_of(source) {
            Some(path) => sha256_of(open_regular(path).ok()?, source.fingerprint),
            None => self.stdin.as_ref()?.sha256(),
        };
        sha256.ok().flatten()
    }

    /// The path that the user opened.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub fn model(&self) -> &TraceModel {
        &self.model
    }

    /// The model, for what shows slices or flows themselves: lists, tables, exports.
    ///
    /// # Panics
    ///
    /// The session was opened for reports, and the model lacks what no report reads.
    pub fn whole_model(&self) -> &TraceModel {
        assert!(
            !self.model.is_partial(),
            "a session that was opened for reports was asked for its slices"
        );
        &self.model
    }

    /// The assumptions that all reports share.
    pub fn options(&self) -> &Options {
        &self.options
    }

    pub fn context(&self, scope: Scope) -> Context<'_> {
        Context {
            model: &self.model,
            scope,
            options: &self.options,
            reports: &self.reports,
        }
    }

    /// One report by its type; computed on first use.
    pub fn report<A: Analysis>(&self, scope: Scope) -> Result<Arc<A::Report>, AnalysisError> {
        self.context(scope).report::<A>()
    }

    /// What limits the run, in the words of the first screen; those of the verdict where no device shows it.
    pub fn limit(&self, scope: Scope) -> Option<String> {
        let hints = self.report::<Hints>(scope).ok();
        let limit = hints.and_then(|hints| Some(hints.limit.as_ref()?.statement.clone()));
        let verdict = || Some(self.report::<RunVerdict>(scope).ok()?.statement.clone());
        limit.or_else(verdict)
    }

    /// Drops the reports of a scope that nobody looks at any more.
    pub fn forget(&self, scope: Scope) {
        self.reports.forget(scope);
    }

    /// Drops what analyses found on their way and no front end reads, before long reports are written: the self time of
    /// every op, and replays. Reports stay.
    pub fn forget_ops(&self) {
        self.reports.forget_analysis(SharedReplay::ID);
        forget_op_scans(&self.context(Scope::WholeTrace));
        if self.model.slice_count() >= MANY_SLICES {
            return_free_memory();
        }
    }

    /// Stops the analyses of a scope that nobody waits for any more, and drops its reports.
    pub fn cancel(&self, scope: Scope) {
        self.reports.cancel(scope);
    }

    /// Allows reports of a scope again after [`Self::cancel`].
    pub fn resume(&self, scope: Scope) {
        self.reports.resume(scope);
    }

    /// A session for one of several requests about the trace. If analyses were stopped, reports begin anew.
    pub fn for_request(&mut self) -> RequestSession {
        let requests = Arc::clone(&self.requests);
        let mut count = locked(&requests);
        if self.reports.is_stopped() {
            *self = self.anew();
            return self.for_request();
        }
        *count += 1;
        RequestSession(self.clone())
    }

    /// This trace without reports.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self {
            reports: Arc::default(),
            requests: Arc::default(),
            ..self.clone()
        }
    }

    /// One report by its name; computed on first use.
    pub fn report_by_id(&self, id: &str, scope: Scope) -> Result<Arc<dyn Report>, AnalysisError> {
        let entry = ANALYSES.iter().find(|entry| entry.id == id);
        let entry = entry
            .ok_or_else(|| AnalysisError::NotApplicable(format!("no analysis is called {id:?}")))?;
        (entry.run)(&self.context(scope))
    }
}

/// A session for one of several requests about a trace. When the last of them has ended or was given up, analyses of the
/// trace that still run are stopped; the next request begins with [`Session::anew`].
#[derive(Debug)]
pub struct RequestSession(Session);

impl Deref for RequestSession {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl Drop for RequestSession {
    fn drop(&mut self) {
        // Held meanwhile, so that a request that begins now is not stopped.
        let mut count = locked(&self.0.requests);
        *count -= 1;
        if *count == 0 && self.0.reports.is_busy() {
            self.0.reports.stop();
        }
    }
}

/// Where the bytes of a file of a trace are on this machine.
pub(crate) fn file_of(source: &Source) -> Option<&Path> {
    source.copy.as_deref().or(source.path.as_deref())
}

/// That so much was lost, without what.
pub fn lost_on_import(lost: u64) -> String {
    match lost {
        1 => "1 event, file or part of a file was lost on import".to_owned(),
        lost => format!("{lost} events, files or parts of files were lost on import"),
    }
}

/// What is missing from a model because the capture is damaged or cut off; `None` if nothing is.
pub fn losses_in_words(model: &TraceModel) -> Option<String> {
    let lost = model
        .import_log()
        .counts()
        .iter()
        .filter(|issue| issue.kind.severity() == Severity::Loss);
    let lost: Vec<_> = lost
        .map(|issue| issue.kind.explain().trim_end_matches('.'))
        .collect();
    (!lost.is_empty()).then(|| lost.join("; "))
}

#[cfg(test)]
mod tests {
    use trace_model::TraceBuilder;

    use super::*;

    #[test]
    fn sessions_are_send_and_share_the_model() {
        fn shared<T: Send + Sync + 'static>(_: &T) {}
        let session = Session::from_model(TraceBuilder::new().finish(), Options::default());
        shared(&session);
        let other = session.clone();
        assert!(std::ptr::eq(
            &raw const **session.model(),
            &raw const **other.model()
        ));
    }

    /// A pipe keeps waiting whoever opens it.
    #[cfg(unix)]
    #[test]
    fn what_is_no_file_any_more_is_not_identified() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let session = Session::from_model(TraceBuilder::new().finish(), Options::default());
        let session = session.with_sha256(true);
        for path in [pipe, dir.path().to_owned(), dir.path().join("missing")] {
            let source = Source {
                path: Some(path),
                ..Source::default()
            };
            assert_eq!(session.fingerprint_of(&source), None);
            assert_eq!(session.sha256_of(&source), None);
        }
    }

    /// Runs until nobody waits for it any more.
    struct Endless;

    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct NoReport {}

    impl analysis::Tabular for NoReport {
        fn tables(&self) -> Vec<analysis::Table> {
            Vec::new()
        }
    }

    impl Analysis for Endless {
        type Report = NoReport;
        const ID: &'static str = "endless";
        const TITLE: &'static str = "Endless";

        fn run(cx: &Context<'_>) -> Result<NoReport, AnalysisError> {
            while !cx.reports.is_stopped() {
                std::thread::yield_now();
            }
            Ok(NoReport {})
        }
    }

    #[test]
    fn analyses_stop_when_the_last_request_is_given_up() {
        let mut session = Session::from_model(TraceBuilder::new().finish(), Options::default());
        let scope = Scope::WholeTrace;
        let (first, second) = (session.for_request(), session.for_request());
        let running = Session::clone(&first);
        std::thread::scope(|threads| {
            let endless =
                threads.spawn(|| (analysis::entry::<Endless>().run)(&running.context(scope)).err());
            while !first.reports.is_busy() {
                std::thread::yield_now();
            }
            drop(first);
            assert!(!second.reports.is_stopped(), "one still waits");
            drop(second);
            assert_eq!(endless.join().unwrap(), Some(AnalysisError::Cancelled));
        });
        let third = session.for_request();
        assert!(!third.reports.is_stopped(), "asked again");
        drop(third);
        assert!(
            !session.reports.is_stopped(),
            "nothing was running: complete reports stay"
        );
    }

    type OpenSession =
        fn(&Path, &ImportOptions, Options, &Progress) -> Result<Session, ImportError>;

    /// A sample; the import is asked for everything or for reports.
    fn opened(open: OpenSession, import: &ImportOptions) -> Session {
        const SAMPLE: &str = "../../assets/samples/synthetic_v5e_8chip_overlap.xplane.pb";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE);
        open(&path, import, Options::default(), &Progress::new()).unwrap()
    }

    #[test]
    fn session_is_whole_unless_it_is_for_reports() {
        let whole = opened(Session::open, &ImportOptions::default());
        let asked = ImportOptions {
            for_reports: Some(HostEvents::new(|_| trace_model::HostEventUse::Count)),
            ..ImportOptions::default()
        };
        for session in [&whole, &opened(Session::open, &asked)] {
            assert!(!session.whole_model().is_partial());
        }
        let part = opened(Session::open_for_reports, &ImportOptions::default());
        assert!(part.model().is_partial());
        assert_eq!(
            part.model().recorded_slices(),
            whole.model().recorded_slices()
        );
    }

    #[test]
    #[should_panic(expected = "asked for its slices")]
    fn session_for_reports_does_not_show_slices() {
        opened(Session::open_for_reports, &ImportOptions::default()).whole_model();
    }

    #[test]
    fn an_unknown_report_is_an_error() {
        let session = Session::from_model(TraceBuilder::new().finish(), Options::default());
        assert!(session.report_by_id("no-such", Scope::WholeTrace).is_err());
    }

    #[test]
    fn no_analysis_panics_on_an_empty_trace() {
        let session = Session::from_model(TraceBuilder::new().finish(), Options::default());
        for entry in ANALYSES {
            // Err is fine, panicking or hanging is not.
            let _ = session
                .report_by_id(entry.id, Scope::WholeTrace)
                .map(|report| (report.json(), report.tables()));
        }
    }
}
