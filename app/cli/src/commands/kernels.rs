//! `systole kernels`: custom kernels, how long they take on the chip, and what they do inside.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::compare::TestOptions;
use analysis::kernels::compare_kernels;
use analysis::reports::ops::kernels::{Kernels, KernelsReport};
use analysis::{AnalysisError, Report, Scope};
use clap::Args;

use crate::common::args::{ForceArgs, OutputArgs};
use crate::common::loading::Loading;
use crate::common::outcome::CommandOutcome;
use crate::common::output;
use crate::common::stderr::Stderr;
use render::{Document, DocumentView, ReportSection};
use request::{PartRequest, RequestError, TraceRequest, checks};
use session::Session;
use session::files::OutputGuard;

/// Ids of the analyses: those of the tab *Kernels*.
const KERNELS: [&str; 3] = ["kernels", "hardware_counters", "sparse_cores"];

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct KernelsArgs {
    #[command(flatten)]
    pub input: TraceRequest,
    /// Another run: how long its kernels take against those of the first
    #[arg(value_name = "CAND")]
    pub cand: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub scope: PartRequest,
}

pub fn run(args: &KernelsArgs, stderr: &Stderr) -> Result<CommandOutcome, RequestError> {
    let files = args.input.files().into_iter().chain(args.cand.clone());
    let guard = OutputGuard::new(files, args.force.force);
    output::check(&args.output, &guard)?;
    let loading = Loading::new(&args.input.assume, stderr)?;
    let open = |path: &Path, run: Option<String>| {
        let is_identified = args.output.identifies_input();
        loading.open_for_reports(path, run, args.output.format, is_identified)
    };
    let session = open(&args.input.path, args.input.run.clone())?;
    checks::check_scope(&session, &args.input, &args.scope)?;
    let scope = args.scope.scope();
    let document = match &args.cand {
        Some(cand) => changes(&session, &open(cand, None)?, scope),
        None => Document::new(&session, scope, &KERNELS, DocumentView::Tables),
    };
    output::write(&document, &args.output, &guard, stderr)?;
    Ok(args.output.outcome(document.doubt()))
}

/// The path of a run, as a reader names it.
fn name_of(session: &Session) -> String {
    session
        .path()
        .map_or_else(|| "-".to_owned(), |path| path.display().to_string())
}

/// The kernels of two runs.
fn changes(base: &Session, cand: &Session, scope: Scope) -> Document {
    let compared = || -> Result<Arc<dyn Report>, AnalysisError> {
        let sides = [base, cand].map(|session| session.report::<Kernels>(scope));
        let timings = |side: &Result<Arc<KernelsReport>, AnalysisError>| {
            side.as_ref()
                .map_or_else(|_| Vec::new(), |report| report.timings.clone())
        };
        let timings = sides.each_ref().map(timings);
        let [first, second] = sides;
        if first.is_err() {
            // A run without kernels has none, which is an answer if the other has some.
            second?;
        }
        let compared = compare_kernels(
            (&name_of(base), &timings[0]),
            (&name_of(cand), &timings[1]),
            &TestOptions::default(),
        );
        Ok(Arc::new(compared))
    };
    let section = ReportSection {
        id: "kernels",
        title: "Kernels",
        result: compared(),
    };
    Document::of(base, scope, section)
}
